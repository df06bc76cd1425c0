-- What version 4 of the study file has more than version 3 (schema_3.sql), whose tables it keeps as they
-- are. The same holds for this text: any change needs a new user_version and a way to read the old.
--
-- In each look two logical CPUs are seen without each other (docs/PROBE.md, "Looks"): if it is the other that
-- takes half of a core, each has the whole of it while the other stands still.

PRAGMA user_version = 4;

CREATE TABLE look_tests (
  look                  INTEGER PRIMARY KEY REFERENCES looks (id),
  a                     INTEGER NOT NULL CHECK (a BETWEEN 0 AND 65535),
  b                     INTEGER NOT NULL CHECK (b BETWEEN 0 AND 65535),
  a_adds_per_1000_steps INTEGER NOT NULL CHECK (a_adds_per_1000_steps BETWEEN 0 AND 1125899906842623), -- without b
  b_adds_per_1000_steps INTEGER NOT NULL CHECK (b_adds_per_1000_steps BETWEEN 0 AND 1125899906842623), -- without a
  CHECK (a < b)
) STRICT;
