"""An engine called directly, as its own documentation does: the reference of `direct.py`.

Usage: PYTHON plain.py ENGINE DOP DATA_DIR. Reads the name of a query file from each line of stdin
and answers with one line of JSON. It has the engine settings of the workers (degree of parallelism,
no additional threads if that is a setting, no cache of file contents), views of the same files,
and nothing else: no profiling, no counters, no session thread.

`whole_ns` is the wall time of both calls that an answer takes. `same_ns` is that of the part that
a worker reports as planning and execution: all of it for DataFusion, and for DuckDB, which plans
when the rows are fetched and binds a relation before that, the fetching. So the reference is the
shorter of the two. `same_cpu_ns` and `whole_cpu_ns` are this process's CPU time of both.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")


def duckdb_sql(dop: int, tables: Path) -> Callable[[str], Any]:
    """Returns a function from a statement to a relation."""
    import duckdb

    config = {"threads": dop, "async_threads": 0, "pin_threads": "off",
              "enable_external_file_cache": False}
    connection = duckdb.connect(config=config)
    for table in TABLES:
        path = str(tables / f"{table}.parquet").replace("'", "''")
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{path}')")
    return connection.sql


def datafusion_sql(dop: int, tables: Path) -> Callable[[str], Any]:
    """Returns a function from a statement to a data frame."""
    os.environ["TOKIO_WORKER_THREADS"] = str(dop)  # read when the engine starts its threads
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(dop))
    for table in TABLES:
        context.register_parquet(table, str(tables / f"{table}.parquet"))
    return context.sql


def call(sql: Callable[[str], Any], text: str, binds_first: bool) -> dict[str, int]:
    """Executes one query; both engines' relations have `to_arrow_table`."""
    cpu_ns, began_ns = time.process_time_ns(), time.monotonic_ns()
    relation = sql(text)
    bound_cpu_ns, bound_ns = time.process_time_ns(), time.monotonic_ns()
    table = relation.to_arrow_table()
    ended_ns = time.monotonic_ns()
    ended_cpu_ns = time.process_time_ns()
    same_ns = ended_ns - (bound_ns if binds_first else began_ns)
    same_cpu_ns = ended_cpu_ns - (bound_cpu_ns if binds_first else cpu_ns)
    return {"whole_ns": ended_ns - began_ns, "whole_cpu_ns": ended_cpu_ns - cpu_ns,
            "same_ns": same_ns, "same_cpu_ns": same_cpu_ns, "rows": table.num_rows}


def main() -> None:
    """Answers until the end of stdin."""
    engine, dop, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    make = {"duckdb": duckdb_sql, "datafusion": datafusion_sql}[engine]
    sql = make(dop, folder / "tpch")
    for line in sys.stdin:
        text = Path(line.rstrip("\n")).read_text(encoding="utf-8")
        print(json.dumps(call(sql, text, engine == "duckdb")), flush=True)


if __name__ == "__main__":
    main()
