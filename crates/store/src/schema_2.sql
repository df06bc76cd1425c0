-- What version 2 of the study file has more than version 1 (schema.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- From version 2 on, cpu_times has the logical CPUs of the run and their siblings alone, and what all
-- others did is here. In the part of a file that version 1 wrote, cpu_times has every logical CPU.

PRAGMA user_version = 2;

CREATE TABLE other_cpus ( -- all online logical CPUs together that cpu_times leaves out
  slice    INTEGER PRIMARY KEY REFERENCES slices (id),
  cpus     INTEGER NOT NULL CHECK (cpus BETWEEN 1 AND 65536),
  busy_ns  INTEGER NOT NULL CHECK (busy_ns BETWEEN 0 AND 1152921504606846975),
  steal_ns INTEGER NOT NULL CHECK (steal_ns BETWEEN 0 AND 1152921504606846975),
  total_ns INTEGER NOT NULL CHECK (total_ns BETWEEN 0 AND 1152921504606846975)
) STRICT;

CREATE TABLE other_cpu_times ( -- each of them, over all slices of a run
  run      INTEGER NOT NULL REFERENCES runs (id),
  cpu      INTEGER NOT NULL CHECK (cpu BETWEEN 0 AND 65535),
  busy_ns  INTEGER NOT NULL CHECK (busy_ns BETWEEN 0 AND 1125899906842623),
  steal_ns INTEGER NOT NULL CHECK (steal_ns BETWEEN 0 AND 1125899906842623),
  total_ns INTEGER NOT NULL CHECK (total_ns BETWEEN 0 AND 1125899906842623),
  PRIMARY KEY (run, cpu)
) STRICT, WITHOUT ROWID;
