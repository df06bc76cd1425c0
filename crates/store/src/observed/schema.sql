-- The file of observed statements, schema 3. docs/OBSERVE.md explains it to readers.
--
-- As for a study's file, the text of every CREATE statement is compared byte for byte when a file is opened: any
-- change here needs a new user_version. Ids are dense, from 1, in the order of storing.

PRAGMA application_id = 0x74686f62; -- 'thob'
PRAGMA user_version = 3;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY, -- program, engine, engine_version, server, host, most, texts, interval_ns, created_utc
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE statements (
  id        INTEGER PRIMARY KEY,
  key       TEXT NOT NULL UNIQUE, -- the server's: database, user and number, or database and digest
  database  TEXT, -- NULL: unknown
  user_name TEXT,
  text      TEXT, -- without literals; NULL: unknown, or not wanted
  is_ours   INTEGER NOT NULL CHECK (is_ours IN (0, 1)) -- by which the statistics were read
) STRICT;

-- What was executed between two looks. Rows are only ever added; those of statements are completed when their texts
-- have been asked for.

CREATE TABLE intervals (
  id            INTEGER PRIMARY KEY,
  start_unix_ms INTEGER NOT NULL CHECK (start_unix_ms BETWEEN 0 AND 1152921504606846975),
  end_unix_ms   INTEGER NOT NULL CHECK (end_unix_ms BETWEEN 0 AND 1152921504606846975),
  length_ns     INTEGER NOT NULL CHECK (length_ns BETWEEN 0 AND 1152921504606846975), -- by a clock that is never set
  gap           TEXT, -- nothing is known of it, and why: a word of docs/OBSERVE.md
  state         TEXT, -- as given by --state
  smt           TEXT,
  clock         TEXT,
  cpus          INTEGER CHECK (cpus BETWEEN 1 AND 65536),
  version       TEXT, -- of the server
  busy_share    REAL, -- the host's, if the server runs on it; NULL: unknown
  used_low      REAL,
  used_high     REAL,
  stolen_share  REAL,
  busy_mhz      REAL,
  looks         INTEGER CHECK (looks BETWEEN 0 AND 1152921504606846975), -- at logical CPUs; NULL: none were wanted
  neighbour_share   REAL CHECK (neighbour_share BETWEEN 0 AND 1), -- of these looks; NULL: unknown
  neighbour_unknown TEXT, -- why, if looks were wanted
  rest          INTEGER NOT NULL CHECK (rest BETWEEN 0 AND 1152921504606846975), -- statements beyond the most
  rest_calls    INTEGER NOT NULL CHECK (rest_calls BETWEEN 0 AND 1152921504606846975),
  rest_time_ns  INTEGER NOT NULL CHECK (rest_time_ns BETWEEN 0 AND 1152921504606846975),
  rest_rows     INTEGER NOT NULL CHECK (rest_rows BETWEEN 0 AND 1152921504606846975),
  evicted       INTEGER NOT NULL CHECK (evicted BETWEEN 0 AND 1152921504606846975), -- dropped by the server
  restarted     INTEGER NOT NULL CHECK (restarted BETWEEN 0 AND 1152921504606846975) -- counters that ran backwards
) STRICT;

CREATE TABLE counts (
  interval  INTEGER NOT NULL REFERENCES intervals (id),
  statement INTEGER NOT NULL REFERENCES statements (id),
  calls     INTEGER NOT NULL CHECK (calls BETWEEN 1 AND 1152921504606846975),
  time_ns   INTEGER NOT NULL CHECK (time_ns BETWEEN 0 AND 1152921504606846975),
  rows      INTEGER NOT NULL CHECK (rows BETWEEN 0 AND 1152921504606846975),
  PRIMARY KEY (interval, statement)
) STRICT, WITHOUT ROWID;
