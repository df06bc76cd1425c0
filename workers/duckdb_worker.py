"""Worker for DuckDB, on the Python package `duckdb` (written against 2.0.0; 1.5.6 was tested too).

Facts that this program relies on, each observed with 2.0.0 on Linux:

* Threads. `threads` is the degree of parallelism and includes the calling thread (the number that
  is started is `threads - external_threads`, and `external_threads` is 1 by default). The 8 further
  threads of a fresh database are `async_threads`: they read ahead, and for files in the page cache
  they take about a tenth of a scan's CPU time, beside the `threads` asked for. With 0 every thread
  reads for itself, at the same speed on a warm cache, and `threads` is what runs: 0 is set here.
  (duckdb/duckdb pull requests 23142 and 23662; `settings.async_threads` brings them back.)
* `pin_threads` is `off`: from 64 CPUs on DuckDB would bind its threads to logical CPUs itself.
* Planning. DuckDB binds and optimises a prepared statement again on every EXECUTE (its profile
  shows both), so a planned query cannot be handed over. Planning time is therefore that of the
  very execution, by DuckDB's own profile (`planner`, `optimizer`, `physical_planner`), and it is
  taken off the time of the call. Only these metrics are tracked: no operator is timed. Profiling
  at all costs about 0.1 to 0.5 ms a query.
* The answer. `execute` returns before the query has ended (rows are streamed) and `fetchall` spends
  more time on Python objects than on rows. `Relation.to_arrow_table` returns when the whole answer
  is in memory, in columns; it is converted to text outside the measured time.
* Caches. The external file cache is off, so that file contents come from the page cache alone;
  `parquet_metadata_cache` stays off as by default: footers are read in planning.
* `max_temp_directory_size` given to `connect` is shown but not enforced: it is set by SET.
* Before 2.0.0 there is no `async_threads` (every thread reads for itself), metrics are chosen by
  `custom_profiling_settings`, and the profile has them side by side instead of in groups.
"""

from __future__ import annotations

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from typing import TYPE_CHECKING, Any  # noqa: E402

from threadwise_failure import Failed, first_sentence  # noqa: E402
from threadwise_load import TABLES, Options, Value, data_file  # noqa: E402
from threadwise_plan import duckdb_plan  # noqa: E402
from threadwise_session import After, Setup  # noqa: E402
from threadwise_worker import main  # noqa: E402

if TYPE_CHECKING:
    import duckdb

#: Settings that have an option of their own, and those that the measurement depends on.
RESERVED = {
    "threads": "use the option dop",
    "worker_threads": "use the option dop",
    "memory_limit": "use the option memory_limit_mb",
    "max_memory": "use the option memory_limit_mb",
    "temp_directory": "use the option spill_dir",
    "max_temp_directory_size": "use the option spill_limit_mb",
    "external_threads": "the measurement depends on it",
    "pin_threads": "threadwise places the threads",
    "enable_profiling": "planning time is read by it",
    "profiling_coverage": "planning time is read by it",
    "profiling_mode": "planning time is read by it",
    "tracked_metrics": "planning time is read by it",
}

#: Memory per byte of encoded column data: 1365 MB of tables from 661 MB at scale 1, 2.0.0.
MEMORY_FACTOR = 2.1

#: Part of all tables' memory that two columns of orders are: 24 MB of 1365 MB at scale 1, rounded
#: up.
SHORT_PART = 0.02

#: Given to `connect`, before the engine has threads. Nothing is installed, loaded or kept.
BASE: dict[str, Value] = {
    "external_threads": 1,
    "async_threads": 0,
    "pin_threads": "off",
    "enable_external_file_cache": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}

#: What `tracked_metrics` is set to.
METRICS = ("planner.total_time", "optimizer.total_time", "physical_planner.total_time",
           "system.peak_temp_dir_size")

#: The same before 2.0.0, and settings that do not exist there.
OLD_METRICS = ("PLANNER", "ALL_OPTIMIZERS", "PHYSICAL_PLANNER", "SYSTEM_PEAK_TEMP_DIR_SIZE")
NEW_SETTINGS = ("async_threads",)


def is_old() -> bool:
    """Whether the package is older than 2.0.0."""
    import duckdb

    return int(duckdb.__version__.split(".")[0]) < 2


def base() -> dict[str, Value]:
    """The settings of `BASE` that the package has."""
    left_out = NEW_SETTINGS if is_old() else ()
    return {name: value for name, value in BASE.items() if name not in left_out}


def track_metrics(connection: duckdb.DuckDBPyConnection) -> None:
    """Enables timing of planning, and nothing else."""
    connection.execute("SET enable_profiling = 'no_output'")
    if is_old():
        wanted = json.dumps(dict.fromkeys(OLD_METRICS, "true"))
        connection.execute(f"SET custom_profiling_settings = {quoted(wanted)}")
    else:
        connection.execute(f"SET tracked_metrics = [{', '.join(map(quoted, METRICS))}]")


def planning_s(profile: dict[str, Any]) -> float:
    """Seconds of planning in the profile of an execution."""
    if "planner" in profile and not isinstance(profile["planner"], dict):
        return sum(profile.get(part, 0.0) for part in ("planner", "all_optimizers", "physical_planner"))
    parts = ("planner", "optimizer", "physical_planner")
    return sum(profile[part]["total_time"] for part in parts if part in profile)


def spilled_bytes(profile: dict[str, Any]) -> int:
    """Peak size of spill files; the total written is not reported."""
    if "system" in profile:
        return profile["system"]["peak_temp_dir_size"]
    return profile["system_peak_temp_dir_size"]


def quoted(value: Value) -> str:
    """A value as a literal of SQL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + value.replace("'", "''") + "'"


def set_settings(connection: duckdb.DuckDBPyConnection, settings: dict[str, Value]) -> None:
    """SET NAME = VALUE for each; an unknown name or value is an error of the option."""
    for name, value in settings.items():
        if name.lower() in RESERVED:
            raise Failed("option", f"settings.{name} cannot be set: {RESERVED[name.lower()]}")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise Failed("option", f"settings.{name}: DuckDB has no setting of that name")
        try:
            connection.execute(f"SET {name} = {quoted(value)}")
        except Exception as cause:
            raise Failed("option", f"settings.{name} = {value!r} was refused by DuckDB: "
                                   f"{first_sentence(str(cause))}; its settings and their values "
                                   "are in its documentation (SELECT * FROM duckdb_settings())"
                         ) from cause


class DuckDbStream:
    """A database of its own: `threads` is then per stream, and nothing is shared."""

    worker_tids = None

    def __init__(self, setup: Setup) -> None:
        import duckdb

        options = setup.options
        config = base() | {"threads": setup.dop}
        if options.memory_limit_bytes is not None:
            config["memory_limit"] = f"{options.memory_limit_bytes // setup.streams}B"
        self.connection = duckdb.connect(":memory:", config=config)
        run = self.connection.execute
        run(f"SET temp_directory = {quoted(str(setup.spill))}")
        if options.spill_limit_bytes is not None:
            limit = f"{options.spill_limit_bytes // setup.streams}B"
            run(f"SET max_temp_directory_size = {quoted(limit)}")
        set_settings(self.connection, options.settings)
        for table in TABLES:
            kind = "TABLE" if options.storage == "memory" else "VIEW"
            path = quoted(data_file(setup.data_dir, table))
            run(f"CREATE {kind} {table} AS FROM read_parquet({path})")
        track_metrics(self.connection)
        self.plans: dict[int, str] = {}

    def warm(self, number: int, sql: str) -> None:
        """Plans once; the plan of a stream's query stays the same, since its data does."""
        rows = self.connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        self.plans[number] = duckdb_plan(json.loads(rows[0][1]))

    def plan(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Only binds: DuckDB plans in `run`, and `after` says how long."""
        return self.connection.sql(sql)

    def run(self, planned: duckdb.DuckDBPyRelation) -> Any:
        """Plans and executes."""
        return planned.to_arrow_table()

    def after(self, number: int, planned: duckdb.DuckDBPyRelation) -> After:
        """Reads the profile of the execution."""
        profile = json.loads(self.connection.get_profiling_information("json"))
        spilled = {"spill_bytes": spilled_bytes(profile)}
        return After(round(planning_s(profile) * 1e9), self.plans[number], spilled)

    def interrupt(self) -> bool:
        """Cancels the query; its thread gets an InterruptException."""
        self.connection.interrupt()
        return True

    def close(self) -> None:
        """Closes the database, which ends its threads."""
        self.connection.close()


class DuckDbShort:
    """A database of its own with one thread, which holds the two requested columns in memory,
    whatever `storage` says.

    A lookup then takes CPU time of the session's thread alone, and shares only the CPUs
    with the streams. In a Parquet file a group of rows would have to be decoded for it: 6.8 ms at scale
    1 in place of 0.8 ms (medians, 2.0.0). There is no index: DuckDB keeps the range of keys of
    every 122,880 rows, and reads those that may have the key."""

    SQL = "SELECT o_orderkey, o_totalprice FROM orders WHERE o_orderkey = ?"

    def __init__(self, setup: Setup) -> None:
        import duckdb

        self.connection = duckdb.connect(":memory:", config=base() | {"threads": 1})
        set_settings(self.connection, setup.options.settings)
        path = quoted(data_file(setup.data_dir, "orders"))
        self.connection.execute(f"CREATE TABLE orders AS SELECT o_orderkey, o_totalprice "
                                f"FROM read_parquet({path})")

    def look_up(self, key: int) -> bool:
        """Whether an order is found by its key, and no other."""
        rows = self.connection.execute(self.SQL, [key]).fetchall()
        return len(rows) == 1 and rows[0][0] == key

    def close(self) -> None:
        """Closes the database."""
        self.connection.close()


class DuckDb:
    """See `threadwise_session.Engine`."""

    name = "duckdb"
    package = "duckdb"
    refused = {"batch_rows": "the rows of a vector (2048) are fixed when DuckDB is built"}
    notes = ["DuckDB reads files on the query's own threads (async_threads = 0), so that dop is "
             "the number of threads that run"]

    def check(self, options: Options) -> None:
        """Tries the settings on a temporary database."""
        import duckdb

        with duckdb.connect(":memory:", config=base() | {"threads": 1}) as connection:
            set_settings(connection, options.settings)

    def memory_bytes(self, options: Options, encoded_bytes: int, sessions: int) -> int:
        """Every stream has its own copy of tables in memory, or views that take next to nothing;
        every session of short queries has two columns."""
        streams = max(sessions - options.short, 0) if options.storage == "memory" else 0
        copies = streams + SHORT_PART * options.short
        return round(encoded_bytes * MEMORY_FACTOR * copies / sessions)

    def start(self, dop: int, sessions: int) -> None:
        """Nothing is shared between streams."""

    def open(self, setup: Setup) -> DuckDbStream:
        """A database with views of the files, or tables made of them."""
        return DuckDbStream(setup)

    def open_short(self, setup: Setup) -> DuckDbShort:
        """A database with orders alone."""
        return DuckDbShort(setup)


if __name__ == "__main__":
    main(DuckDb())
