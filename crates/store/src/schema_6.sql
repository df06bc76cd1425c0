-- What version 6 of the study file has more than version 5 (schema_5.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- On which boot of which machine blocks were measured. meta has one key more, salt: 64 random hexadecimal digits.

PRAGMA user_version = 6;

CREATE TABLE boots ( -- one row per start on another boot or machine; from 1, in order; NULL is unknown
  id             INTEGER PRIMARY KEY,
  boot_id        TEXT,          -- drawn by the kernel
  machine_hash   TEXT,          -- SHA-256 of the salt and the machine's id, hexadecimal
  started_utc    TEXT NOT NULL,
  arm            TEXT,          -- NULL in a study without external arms
  kernel         TEXT,
  microcode      TEXT,
  smt_active     INTEGER CHECK (smt_active IN (0, 1)),
  smt_control    TEXT,
  online_cpus    INTEGER CHECK (online_cpus BETWEEN 1 AND 65536),
  engine_version TEXT NOT NULL,
  instance_type  TEXT,
  parameters     TEXT           -- kernel parameters that decide over SMT and mitigations
) STRICT;

CREATE TABLE block_boots ( -- the boot of each attempt at a block; none where it is not known
  block   INTEGER NOT NULL CHECK (block BETWEEN 0 AND 1048575),
  attempt INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 1048575),
  boot    INTEGER NOT NULL REFERENCES boots (id),
  PRIMARY KEY (block, attempt),
  FOREIGN KEY (block, attempt) REFERENCES blocks (block, attempt)
) STRICT, WITHOUT ROWID;
