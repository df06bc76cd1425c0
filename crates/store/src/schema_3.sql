-- What version 3 of the study file has more than version 2 (schema_2.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- Looks: where the logical CPUs of the study were at one moment (docs/PROBE.md). Numbers are whole
-- thousandths of what is shown, since a small integer takes two or three bytes and a real number eight.

PRAGMA user_version = 3;

CREATE TABLE looks ( -- ids are dense, start at 1 and follow the order of storing
  id       INTEGER PRIMARY KEY,
  slice    INTEGER NOT NULL REFERENCES slices (id),
  moment   TEXT NOT NULL CHECK (moment IN ('before', 'during', 'after')),
  start_ns INTEGER NOT NULL CHECK (start_ns BETWEEN 0 AND 1152921504606846975), -- since the study's start
  took_ns  INTEGER NOT NULL CHECK (took_ns BETWEEN 0 AND 1125899906842623)
) STRICT;

CREATE TABLE look_cpus (
  look                INTEGER NOT NULL REFERENCES looks (id),
  cpu                 INTEGER NOT NULL CHECK (cpu BETWEEN 0 AND 65535),
  chain_ps            INTEGER CHECK (chain_ps BETWEEN 0 AND 1125899906842623), -- NULL: it did not run in time
  adds_per_1000_steps INTEGER CHECK (adds_per_1000_steps BETWEEN 0 AND 1125899906842623), -- NULL: as above, or width not known
  PRIMARY KEY (look, cpu)
) STRICT, WITHOUT ROWID;

CREATE TABLE look_pairs (
  look    INTEGER NOT NULL REFERENCES looks (id),
  a       INTEGER NOT NULL CHECK (a BETWEEN 0 AND 65535),
  b       INTEGER NOT NULL CHECK (b BETWEEN 0 AND 65535),
  line_ps INTEGER CHECK (line_ps BETWEEN 0 AND 1125899906842623), -- one move; NULL: not to and fro in time
  PRIMARY KEY (look, a),
  CHECK (a < b)
) STRICT, WITHOUT ROWID;
