"""Worker for a server of Oracle Database, on the driver `oracledb` in its thin mode (written against 26.1.0).

No server was available when this was written: statements were checked with third-party parsers and the program was
tested against a model. Facts that it relies on, with their sources:

* A COMMIT in PL/SQL does not wait for the log before the whole call ends (Database Advanced Application Developer's
  Guide, "COMMIT … WRITE"): `durability=full` is COMMIT WRITE IMMEDIATE WAIT, `relaxed` is COMMIT WRITE BATCH NOWAIT.
* A block that has a row of more than 1% of its size takes no second one with PCTFREE 99.
* Sessions are DEDICATED, so that each has a process of its own.
* CPU time is DB CPU of V$SESS_TIME_MODEL, in microseconds; statistics in hundredths of a second are not used.
* Views of the Diagnostics Pack and of the Tuning Pack (V$ACTIVE_SESSION_HISTORY, V$SQL_MONITOR, DBA_HIST_…) need a
  separate licence, and are never read.
* Names of the objects that it creates have at most 30 bytes, for 12.1.

Modules: `threadwise_oracle_worker` (protocol), `_address` and `_options` (what is asked for), `_server` (connections
and statements), `_schema` (what we make), `_blocks`, `_rows`, `_tpch`, `_tables` (data), `_session`, `_query`, `_crew`
(at work), `_clock`, `_steps`, `_usage`, `_plan` (what is measured), `_place`, `_journal` (placement), `_points` (the
request `server`), `_failure` (errors).
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from threadwise_oracle_worker import main  # noqa: E402

if __name__ == "__main__":
    main()
