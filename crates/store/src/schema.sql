-- The study file, schema 1. docs/STORE.md explains it to readers.
--
-- The text of every CREATE statement is stored in the file and compared byte for byte when a file
-- is opened, comments included: any change here needs a new user_version and a way to read the old.
-- Numbers have their unit last in the name. Counts and durations are below 2^50, moments below
-- 2^60, CPU numbers below 2^16, so that sums of them cannot overflow.

PRAGMA application_id = 0x74687769; -- 'thwi'
PRAGMA user_version = 1;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY, -- program, engine, engine_version, created_utc, state, planned_blocks
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE study (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  name     TEXT NOT NULL,
  seed     TEXT NOT NULL, -- decimal; up to 2^64 - 1, which INTEGER cannot hold
  engine   TEXT NOT NULL,
  workload TEXT NOT NULL,
  toml     TEXT NOT NULL  -- the resolved study, whole; everything else of the study is a copy of it
) STRICT;

-- The machine. CPU sets are lists like '0-3,8' of OS numbers; ids are dense and start at 0.

CREATE TABLE machine (
  id                 INTEGER PRIMARY KEY CHECK (id = 1),
  cpu_model          TEXT,
  cpu_vendor         TEXT,
  hypervisor         TEXT,
  smt_control        TEXT,
  kernel             TEXT,
  memory_bytes       INTEGER CHECK (memory_bytes >= 0),
  cpuset             TEXT,
  affinity           TEXT,
  quota_cpus         REAL,
  quota_source       ANY CHECK (typeof(quota_source) IN ('null', 'text', 'blob')), -- blob: not UTF-8
  limit_memory_bytes INTEGER CHECK (limit_memory_bytes >= 0)
) STRICT;

CREATE TABLE packages (
  id    INTEGER PRIMARY KEY,
  os_id INTEGER,
  cpus  TEXT NOT NULL
) STRICT;

CREATE TABLE dies (
  id    INTEGER PRIMARY KEY,
  os_id INTEGER,
  cpus  TEXT NOT NULL
) STRICT;

CREATE TABLE clusters (
  id    INTEGER PRIMARY KEY,
  os_id INTEGER,
  cpus  TEXT NOT NULL
) STRICT;

CREATE TABLE llc_domains (
  id    INTEGER PRIMARY KEY,
  os_id INTEGER,
  cpus  TEXT NOT NULL
) STRICT;

CREATE TABLE numa_nodes (
  id           INTEGER PRIMARY KEY,
  os_id        INTEGER,
  cpus         TEXT NOT NULL,
  memory_bytes INTEGER CHECK (memory_bytes >= 0)
) STRICT;

CREATE TABLE caches (
  id         INTEGER PRIMARY KEY,
  level      INTEGER NOT NULL CHECK (level BETWEEN 0 AND 255),
  kind       TEXT NOT NULL,
  size_bytes INTEGER CHECK (size_bytes >= 0),
  cpus       TEXT NOT NULL
) STRICT;

CREATE TABLE core_kinds (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  evidence TEXT NOT NULL,
  cpus     TEXT NOT NULL
) STRICT;

CREATE TABLE cores (
  id      INTEGER PRIMARY KEY,
  os_id   INTEGER,
  cpus    TEXT NOT NULL,
  package INTEGER REFERENCES packages (id),
  kind    INTEGER NOT NULL REFERENCES core_kinds (id)
) STRICT;

CREATE TABLE logical_cpus (
  os_id     INTEGER PRIMARY KEY CHECK (os_id BETWEEN 0 AND 65535),
  core      INTEGER REFERENCES cores (id),
  package   INTEGER REFERENCES packages (id),
  die       INTEGER REFERENCES dies (id),
  cluster   INTEGER REFERENCES clusters (id),
  numa_node INTEGER REFERENCES numa_nodes (id),
  llc       INTEGER REFERENCES llc_domains (id),
  siblings  TEXT NOT NULL, -- all online logical CPUs of its core, itself included
  kind      INTEGER REFERENCES core_kinds (id),
  allowed   INTEGER NOT NULL CHECK (allowed IN (0, 1)),
  online    INTEGER NOT NULL CHECK (online IN (0, 1))
) STRICT;

-- What is compared: a copy of study.toml for queries.

CREATE TABLE treatments (
  id         INTEGER PRIMARY KEY, -- from 0, in report order
  name       TEXT NOT NULL UNIQUE,
  group_name TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('baseline', 'baseline-twin', 'compared')),
  placement  TEXT NOT NULL,
  sessions   INTEGER NOT NULL CHECK (sessions >= 0),
  pin        TEXT NOT NULL CHECK (pin IN ('each', 'set'))
) STRICT;

CREATE TABLE treatment_options (
  treatment INTEGER NOT NULL REFERENCES treatments (id),
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (treatment, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE treatment_factors (
  treatment INTEGER NOT NULL REFERENCES treatments (id),
  factor    TEXT NOT NULL,
  level     TEXT NOT NULL,
  PRIMARY KEY (treatment, factor)
) STRICT, WITHOUT ROWID;

-- What was done and seen. Rows are only ever added; ids of runs, slices and session_slices are
-- dense, start at 1 and follow the order of storing.

CREATE TABLE blocks (
  block      INTEGER NOT NULL CHECK (block BETWEEN 0 AND 1048575),
  attempt    INTEGER NOT NULL CHECK (attempt BETWEEN 0 AND 1048575),
  started_s  REAL NOT NULL, -- seconds since the study's start
  complete_s REAL,          -- NULL until the block is complete
  superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)), -- interrupted and redone
  PRIMARY KEY (block, attempt),
  CHECK (superseded = 0 OR complete_s IS NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX one_live_attempt ON blocks (block) WHERE superseded = 0;

CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  block      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  treatment  INTEGER NOT NULL REFERENCES treatments (id),
  cpus       TEXT NOT NULL, -- logical CPUs in order of use, '4,0,1'
  status     TEXT NOT NULL CHECK (status IN ('valid', 'failed', 'invalid')),
  kind       TEXT, -- of the failure
  message    TEXT, -- of the failure
  superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1)), -- its block was redone
  started_s  REAL NOT NULL, -- seconds since the study's start
  prepare_ns INTEGER NOT NULL CHECK (prepare_ns BETWEEN 0 AND 1125899906842623),
  CHECK ((status = 'valid') = (kind IS NULL) AND (status = 'valid') = (message IS NULL)),
  FOREIGN KEY (block, attempt) REFERENCES blocks (block, attempt)
) STRICT;

CREATE TABLE slices (
  id        INTEGER PRIMARY KEY,
  run       INTEGER NOT NULL REFERENCES runs (id),
  sequence  INTEGER NOT NULL CHECK (sequence BETWEEN 0 AND 1125899906842623), -- order of execution
  round     INTEGER NOT NULL CHECK (round BETWEEN 0 AND 1048575),
  start_ns  INTEGER NOT NULL CHECK (start_ns BETWEEN 0 AND 1152921504606846975), -- since the study's start
  window_ns INTEGER NOT NULL CHECK (window_ns BETWEEN 1 AND 1125899906842623)
) STRICT;

CREATE INDEX slices_of_run ON slices (run);

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
  UNIQUE (slice, session)
) STRICT;

CREATE TABLE counter_names (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE counters (
  session_slice INTEGER NOT NULL REFERENCES session_slices (id),
  counter       INTEGER NOT NULL REFERENCES counter_names (id),
  value         INTEGER NOT NULL CHECK (value BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (session_slice, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE slice_counters ( -- what belongs to no session of the slice
  slice   INTEGER NOT NULL REFERENCES slices (id),
  counter INTEGER NOT NULL REFERENCES counter_names (id),
  value   INTEGER NOT NULL CHECK (value BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (slice, counter)
) STRICT, WITHOUT ROWID;

-- Executions of queries (workload tpch). Ids are dense, start at 1 and follow the order of storing.

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
  plan          INTEGER REFERENCES plans (id), -- NULL: the engine does not tell it
  UNIQUE (session_slice, ordinal)
) STRICT;

CREATE TABLE query_counters (
  query_execution INTEGER NOT NULL REFERENCES query_executions (id),
  counter         INTEGER NOT NULL REFERENCES counter_names (id),
  value           INTEGER NOT NULL CHECK (value BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (query_execution, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE cpu_times (
  slice    INTEGER NOT NULL REFERENCES slices (id),
  cpu      INTEGER NOT NULL CHECK (cpu BETWEEN 0 AND 65535),
  busy_ns  INTEGER NOT NULL CHECK (busy_ns BETWEEN 0 AND 1125899906842623),
  steal_ns INTEGER NOT NULL CHECK (steal_ns BETWEEN 0 AND 1125899906842623),
  total_ns INTEGER NOT NULL CHECK (total_ns BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (slice, cpu)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics (
  id      INTEGER PRIMARY KEY,
  sampler TEXT NOT NULL,
  metric  TEXT NOT NULL,
  UNIQUE (sampler, metric)
) STRICT;

CREATE TABLE readings (
  id       INTEGER PRIMARY KEY,
  run      INTEGER NOT NULL REFERENCES runs (id),
  metric   INTEGER NOT NULL REFERENCES metrics (id),
  cpu      INTEGER CHECK (cpu BETWEEN 0 AND 65535),
  start_ns INTEGER NOT NULL CHECK (start_ns BETWEEN 0 AND 1152921504606846975),
  end_ns   INTEGER NOT NULL CHECK (end_ns BETWEEN 0 AND 1152921504606846975),
  value    REAL, -- NULL: a gap
  gap      TEXT  -- why there is a gap
) STRICT;

CREATE INDEX readings_of_run ON readings (run);

CREATE TABLE notes (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

-- What was measured of the hardware: one probe when the study starts, one at each resume. Ids are
-- dense, start at 1 and follow the order of storing. Ratios, times and clocks are from 0 to below
-- 2^50, shares from 0 to 1.

CREATE TABLE probes (
  id          INTEGER PRIMARY KEY,
  started_s   REAL NOT NULL, -- seconds since the study's start
  form        TEXT NOT NULL CHECK (form IN ('short', 'standard', 'full')),
  cpus        TEXT NOT NULL,
  duration_s  REAL NOT NULL CHECK (duration_s BETWEEN 0 AND 1125899906842623),
  interrupted INTEGER NOT NULL CHECK (interrupted IN (0, 1)) -- by the user; what is there was measured
) STRICT;

CREATE TABLE probe_pairs (
  id                INTEGER PRIMARY KEY,
  probe             INTEGER NOT NULL REFERENCES probes (id),
  a                 INTEGER NOT NULL CHECK (a BETWEEN 0 AND 65535),
  b                 INTEGER NOT NULL CHECK (b BETWEEN 0 AND 65535),
  sharing           TEXT NOT NULL CHECK (sharing IN
                      ('same-cpu', 'same-core', 'different-cores', 'masked', 'moving', 'unclear')),
  wide_median       REAL CHECK (wide_median BETWEEN 0 AND 1125899906842623), -- time together over alone
  wide_low          REAL CHECK (wide_low BETWEEN 0 AND 1125899906842623), -- first quartile
  wide_high         REAL CHECK (wide_high BETWEEN 0 AND 1125899906842623), -- third quartile
  chain_median      REAL CHECK (chain_median BETWEEN 0 AND 1125899906842623),
  chain_low         REAL CHECK (chain_low BETWEEN 0 AND 1125899906842623),
  chain_high        REAL CHECK (chain_high BETWEEN 0 AND 1125899906842623),
  load_store_median REAL CHECK (load_store_median BETWEEN 0 AND 1125899906842623),
  load_store_low    REAL CHECK (load_store_low BETWEEN 0 AND 1125899906842623),
  load_store_high   REAL CHECK (load_store_high BETWEEN 0 AND 1125899906842623),
  on_cpu_share      REAL CHECK (on_cpu_share BETWEEN 0 AND 1),
  rounds_used       INTEGER NOT NULL CHECK (rounds_used BETWEEN 0 AND 4294967295),
  rounds            INTEGER NOT NULL CHECK (rounds BETWEEN 0 AND 4294967295),
  why               TEXT NOT NULL
) STRICT;

CREATE TABLE probe_sets (
  id            INTEGER PRIMARY KEY,
  probe         INTEGER NOT NULL REFERENCES probes (id),
  ran           TEXT NOT NULL, -- who ran the wide kernel at once
  at_full_width TEXT NOT NULL  -- who of them ran as fast as alone
) STRICT;

CREATE TABLE strangers (
  id                 INTEGER PRIMARY KEY,
  probe              INTEGER NOT NULL REFERENCES probes (id),
  cpu                INTEGER NOT NULL CHECK (cpu BETWEEN 0 AND 65535),
  windows            INTEGER NOT NULL CHECK (windows BETWEEN 0 AND 4294967295),
  adds_per_step_p10  REAL CHECK (adds_per_step_p10 BETWEEN 0 AND 1125899906842623), -- NULL: no window could be used
  adds_per_step_p50  REAL CHECK (adds_per_step_p50 BETWEEN 0 AND 1125899906842623), -- NULL: no window could be used
  adds_per_step_p90  REAL CHECK (adds_per_step_p90 BETWEEN 0 AND 1125899906842623), -- NULL: no window could be used
  busy_share         REAL CHECK (busy_share BETWEEN 0 AND 1), -- NULL: unknown, and why says why
  off_cpu_share      REAL NOT NULL CHECK (off_cpu_share BETWEEN 0 AND 1),
  why                TEXT NOT NULL
) STRICT;

CREATE TABLE latency_levels (
  id      INTEGER PRIMARY KEY,
  probe   INTEGER NOT NULL REFERENCES probes (id), -- nearest level of a probe first
  name    TEXT, -- NULL: nothing is declared
  low_ns  REAL NOT NULL CHECK (low_ns BETWEEN 0 AND 1125899906842623),
  high_ns REAL NOT NULL CHECK (high_ns BETWEEN 0 AND 1125899906842623)
) STRICT;

CREATE TABLE latency_groups (
  id    INTEGER PRIMARY KEY,
  level INTEGER NOT NULL REFERENCES latency_levels (id),
  cpus  TEXT NOT NULL
) STRICT;

CREATE TABLE latencies (
  id                  INTEGER PRIMARY KEY,
  probe               INTEGER NOT NULL REFERENCES probes (id),
  a                   INTEGER NOT NULL CHECK (a BETWEEN 0 AND 65535),
  b                   INTEGER NOT NULL CHECK (b BETWEEN 0 AND 65535),
  cas_min_ns          REAL NOT NULL CHECK (cas_min_ns BETWEEN 0 AND 1125899906842623), -- one way
  cas_median_ns       REAL NOT NULL CHECK (cas_median_ns BETWEEN 0 AND 1125899906842623),
  cas_spread_ns       REAL NOT NULL CHECK (cas_spread_ns BETWEEN 0 AND 1125899906842623),
  cas_samples         INTEGER NOT NULL CHECK (cas_samples BETWEEN 0 AND 4294967295),
  two_lines_min_ns    REAL NOT NULL CHECK (two_lines_min_ns BETWEEN 0 AND 1125899906842623),
  two_lines_median_ns REAL NOT NULL CHECK (two_lines_median_ns BETWEEN 0 AND 1125899906842623),
  two_lines_spread_ns REAL NOT NULL CHECK (two_lines_spread_ns BETWEEN 0 AND 1125899906842623),
  two_lines_samples   INTEGER NOT NULL CHECK (two_lines_samples BETWEEN 0 AND 4294967295),
  level               INTEGER REFERENCES latency_levels (id)
) STRICT;

CREATE TABLE clocks (
  id        INTEGER PRIMARY KEY,
  probe     INTEGER NOT NULL REFERENCES probes (id),
  cpu       INTEGER NOT NULL CHECK (cpu BETWEEN 0 AND 65535),
  busy_cpus INTEGER NOT NULL CHECK (busy_cpus BETWEEN 0 AND 65536),
  source    TEXT NOT NULL CHECK (source IN ('perf', 'cpufreq', 'chain')),
  avg_mhz   REAL CHECK (avg_mhz BETWEEN 0 AND 1125899906842623),
  busy_pct  REAL CHECK (busy_pct BETWEEN 0 AND 1125899906842623),
  bzy_mhz   REAL CHECK (bzy_mhz BETWEEN 0 AND 1125899906842623),
  tsc_mhz   REAL CHECK (tsc_mhz BETWEEN 0 AND 1125899906842623)
) STRICT;

CREATE TABLE probe_gaps (
  id    INTEGER PRIMARY KEY,
  probe INTEGER NOT NULL REFERENCES probes (id),
  text  TEXT NOT NULL -- what could not be had, and why
) STRICT;
