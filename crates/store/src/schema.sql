-- The result file, schema 8. docs/STORE.md explains it to readers.
--
-- The text of every CREATE statement is stored in the file and compared byte for byte when a file is opened,
-- comments included: any change here needs a new user_version, which crates/store/convert.py has to write.
-- Numbers have their unit last in the name. Counts and durations are below 2^50, moments below 2^60, CPU numbers
-- below 2^16, so that sums of them cannot overflow. Ids are dense and follow the order of storing; those of
-- treatments start at 0, all others at 1.

PRAGMA application_id = 0x74687769; -- 'thwi'
PRAGMA user_version = 8;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY, -- program, engine, engine_version, created_utc, state, planned_blocks, salt, asked
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE study (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  toml TEXT NOT NULL -- the resolved study, whole
) STRICT;

CREATE TABLE machine (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  json TEXT NOT NULL -- as declared; CPU sets are lists like '0-3,8' of OS numbers
) STRICT;

CREATE TABLE treatments ( -- a copy from study.toml
  id   INTEGER PRIMARY KEY, -- in report order
  name TEXT NOT NULL UNIQUE,
  json TEXT NOT NULL -- group, role, placement, sessions, pin, options, factors and others
) STRICT;

CREATE TABLE boots ( -- one row per start on another boot or machine
  id   INTEGER PRIMARY KEY,
  json TEXT NOT NULL -- null is unknown
) STRICT;

-- What was done and seen. Rows are only ever added.

CREATE TABLE blocks (
  block      INTEGER NOT NULL CHECK (block BETWEEN 0 AND 1048575), -- from 524288 on: of long windows
  attempt    INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 1048575),
  boot       INTEGER REFERENCES boots (id), -- NULL: unknown
  started_s  REAL NOT NULL, -- seconds since the study's start
  complete_s REAL,          -- NULL until the block is complete
  superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)), -- interrupted and redone
  PRIMARY KEY (block, attempt),
  CHECK (superseded = 0 OR complete_s IS NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_live_attempt ON blocks (block) WHERE superseded = 0;

CREATE TABLE runs (
  id              INTEGER PRIMARY KEY,
  block           INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  treatment       INTEGER NOT NULL REFERENCES treatments (id),
  cpus            TEXT NOT NULL, -- JSON: logical CPUs in order of use, '[4,0,1]'
  status          TEXT NOT NULL CHECK (status IN ('valid', 'failed', 'invalid')),
  kind            TEXT, -- of the failure
  message         TEXT, -- of the failure
  superseded      INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)), -- its block was redone
  started_s       REAL NOT NULL, -- seconds since the study's start
  prepare_ns      INTEGER NOT NULL CHECK (prepare_ns BETWEEN 0 AND 1125899906842623),
  other_cpu_times TEXT NOT NULL, -- JSON: each online logical CPU that slices.cpu_times leaves out, over all slices
  CHECK ((status = 'valid') = (kind IS NULL) AND (status = 'valid') = (message IS NULL)),
  FOREIGN KEY (block, attempt) REFERENCES blocks (block, attempt)
) STRICT;

CREATE TABLE slices (
  id         INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL REFERENCES runs (id),
  sequence   INTEGER NOT NULL CHECK (sequence BETWEEN 0 AND 1125899906842623), -- order of execution
  round      INTEGER NOT NULL CHECK (round BETWEEN 0 AND 1048575),
  start_ns   INTEGER NOT NULL CHECK (start_ns BETWEEN 0 AND 1152921504606846975), -- since the study's start
  window_ns  INTEGER NOT NULL CHECK (window_ns BETWEEN 1 AND 1125899906842623),
  counters   TEXT NOT NULL, -- JSON: of no session, by name
  cpu_times  TEXT NOT NULL, -- JSON: of the run's logical CPUs and their siblings
  other_cpus TEXT NOT NULL  -- JSON: of all other online logical CPUs together
) STRICT;

CREATE INDEX slices_of_run ON slices (run);

CREATE TABLE looks (
  id     INTEGER PRIMARY KEY,
  slice  INTEGER NOT NULL REFERENCES slices (id),
  moment TEXT NOT NULL CHECK (moment IN ('before', 'during', 'after')),
  json   TEXT NOT NULL -- start_ns and took_ns; cpus, pairs and alone (docs/PROBE.md, "Looks")
) STRICT;

CREATE TABLE session_slices (
  id                   INTEGER PRIMARY KEY,
  slice                INTEGER NOT NULL REFERENCES slices (id),
  session              INTEGER NOT NULL CHECK (session BETWEEN 0 AND 1048575),
  steps                INTEGER NOT NULL CHECK (steps BETWEEN 0 AND 1125899906842623),
  rows                 INTEGER NOT NULL CHECK (rows BETWEEN 0 AND 1125899906842623),
  answers_checked      INTEGER NOT NULL CHECK (answers_checked BETWEEN 0 AND 1125899906842623),
  answers_wrong        INTEGER NOT NULL CHECK (answers_wrong BETWEEN 0 AND 1125899906842623),
  cpu_ns               INTEGER NOT NULL CHECK (cpu_ns BETWEEN 0 AND 1125899906842623),
  voluntary_switches   INTEGER NOT NULL CHECK (voluntary_switches BETWEEN 0 AND 1125899906842623),
  involuntary_switches INTEGER NOT NULL CHECK (involuntary_switches BETWEEN 0 AND 1125899906842623),
  run_queue_wait_ns    INTEGER CHECK (run_queue_wait_ns BETWEEN 0 AND 1125899906842623), -- NULL: unknown
  latency              BLOB NOT NULL, -- HdrHistogram V2, nanoseconds; empty: the engine has no steps
  finished_ns          INTEGER CHECK (finished_ns BETWEEN 0 AND 1125899906842623), -- NULL: a fixed time
  counters             TEXT NOT NULL, -- JSON: the engine's, by name
  rows_by_piece        TEXT NOT NULL, -- JSON: rows by tenth of a long window; '[]' of a slice
  UNIQUE (slice, session)
) STRICT;

-- Executions of queries (workload tpch).

CREATE TABLE plans (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE -- canonical: one operator a line, '~ ' before those that only move rows
) STRICT;

CREATE TABLE query_executions (
  id            INTEGER PRIMARY KEY,
  session_slice INTEGER NOT NULL REFERENCES session_slices (id),
  ordinal       INTEGER NOT NULL CHECK (ordinal BETWEEN 0 AND 1048575), -- order of execution
  query         INTEGER NOT NULL CHECK (query BETWEEN 1 AND 22),
  started_ns    INTEGER NOT NULL CHECK (started_ns BETWEEN 0 AND 1125899906842623), -- since the window's start
  elapsed_ns    INTEGER NOT NULL CHECK (elapsed_ns BETWEEN 1 AND 1125899906842623), -- without planning_ns
  planning_ns   INTEGER CHECK (planning_ns BETWEEN 0 AND 1125899906842623), -- NULL: inside elapsed_ns
  cpu_ns        INTEGER CHECK (cpu_ns BETWEEN 0 AND 1125899906842623), -- NULL: streams share a process
  dop           INTEGER CHECK (dop BETWEEN 1 AND 1048575), -- observed; NULL: unknown
  rows          INTEGER NOT NULL CHECK (rows BETWEEN 0 AND 1125899906842623), -- of the answer
  plan          INTEGER REFERENCES plans (id), -- NULL: the engine does not report it
  counters      TEXT NOT NULL, -- JSON: of the execution, by name
  UNIQUE (session_slice, ordinal)
) STRICT;

CREATE TABLE readings (
  id       INTEGER PRIMARY KEY,
  run      INTEGER NOT NULL REFERENCES runs (id),
  sampler  TEXT NOT NULL,
  metric   TEXT NOT NULL,
  cpu      INTEGER CHECK (cpu BETWEEN 0 AND 65535),
  start_ns INTEGER NOT NULL CHECK (start_ns BETWEEN 0 AND 1152921504606846975),
  end_ns   INTEGER NOT NULL CHECK (end_ns BETWEEN 0 AND 1152921504606846975),
  value    REAL, -- NULL: a gap
  gap      TEXT  -- why there is a gap
) STRICT;

CREATE INDEX readings_of_run ON readings (run);

CREATE TABLE notes (
  id   INTEGER PRIMARY KEY,
  code TEXT NOT NULL, -- what it means to reports; 'other': for the reader alone
  text TEXT NOT NULL
) STRICT;

CREATE TABLE probes ( -- one probe when the study starts, one at each resume
  id        INTEGER PRIMARY KEY,
  started_s REAL NOT NULL, -- seconds since the study's start
  json      TEXT NOT NULL
) STRICT;
