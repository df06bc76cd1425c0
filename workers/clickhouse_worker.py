"""Worker for ClickHouse, on the Python package `chdb-core` (written against 26.9.0).

Facts that this program relies on, each observed with 26.9.0 on Linux:

* Threads. `max_threads` is the degree of parallelism of a query's pipeline, without the session's
  own thread, which plans and then waits. Parquet files are decoded by as many further threads as
  `max_parsing_threads` says, which is set to the same number; with 1 the pipeline's thread decodes.
  A file is read ahead by one more thread, which takes a twentieth of a scan's CPU time. Threads of one
  pool take turns in all of that within a query (5 to 12 of them at a degree of 2), so their number
  does not show the degree: it is not observed. `max_threads_min_free_memory_per_thread`
  would lower the degree by itself, so it is 0.
* The engine starts threads when it is imported. They inherit the worker's mask, but for the background
  threads of its allocator, each of which binds itself to one logical CPU: they are ended by
  `jemalloc_enable_background_threads`.
* Timers. The thread MemoryWorker looks at the memory of the process 20 times a second (0.2% of a
  logical CPU); `memory_worker_period_ms` makes that once in 10 s.
* Planning cannot be separated: a query is planned in the call that executes it, and subqueries that
  give one value (in Q11, Q15 and Q22) or rows to look up (in Q18 and Q20) are executed while it is
  planned.
* Learning from earlier executions is off: sizes of hash tables (`collect_hash_table_stats_…`)
  reordered the joins of Q2, Q5, Q7, Q8 and Q9 after they had run once, and there are caches of what
  filters and counts found. Expressions are compiled before the first execution instead of the fourth,
  which took 35 ms more: EXPLAIN PIPELINE compiles them.
* Standard SQL. Columns of an outer join that have no partner are NULL only with `join_use_nulls`
  (Q13), and a sum over no rows is NULL only with `aggregate_functions_null_for_empty` (Q17).
* One engine for the process. Connections have settings of their own and share tables, memory and the
  folder for temporary files, which lies below TMPDIR as it is when the first one is opened.
"""

from __future__ import annotations

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from typing import TYPE_CHECKING, Any  # noqa: E402

from threadwise_failure import Failed, first_sentence  # noqa: E402
from threadwise_load import TABLES, Options, Value, data_file  # noqa: E402
from threadwise_plan import clickhouse_plan  # noqa: E402
from threadwise_session import After, Setup  # noqa: E402
from threadwise_worker import main  # noqa: E402

if TYPE_CHECKING:
    import chdb
    import pyarrow

#: Address of the engine, in memory, with its global settings: see "Timers" and its threads.
ADDRESS = ":memory:?memory_worker_period_ms=10000&jemalloc_enable_background_threads=0"

#: Settings that have an option of their own, and those that the measurement depends on.
RESERVED = {
    "max_threads": "use the option dop",
    "max_parsing_threads": "use the option dop",
    "max_threads_min_free_memory_per_thread": "it would change the degree of parallelism",
    "max_block_size": "use the option batch_rows",
    "input_format_parquet_max_block_size": "use the option batch_rows",
    "max_memory_usage": "use the option memory_limit_mb",
    "max_temporary_data_on_disk_size_for_query": "use the option spill_limit_mb",
    "use_parquet_metadata_cache": "use the option cache",
    "join_use_nulls": "answers are checked, and depend on it",
    "aggregate_functions_null_for_empty": "answers are checked, and depend on it",
    "collect_hash_table_stats_during_joins": "plans would change from one execution to the next",
    "collect_hash_table_stats_during_aggregation": "executions would differ from the first one",
    "use_hash_table_stats_for_join_reordering": "plans would change from one execution to the next",
    "use_query_cache": "answers would come from it",
    "use_query_condition_cache": "executions would skip what the first one read",
    "use_cache_for_count_from_files": "executions would skip what the first one read",
}

#: Set in every session.
BASE: dict[str, Value] = {
    "join_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "max_threads_min_free_memory_per_thread": 0,
    "collect_hash_table_stats_during_joins": 0,
    "collect_hash_table_stats_during_aggregation": 0,
    "use_hash_table_stats_for_join_reordering": 0,
    "use_query_condition_cache": 0,
    "use_cache_for_count_from_files": 0,
    "min_count_to_compile_expression": 0,
    "min_count_to_compile_aggregate_expression": 0,
    "min_count_to_compile_sort_description": 0,
    "max_download_threads": 1,
    "input_format_parquet_enable_row_group_prefetch": 0,
}

#: Memory per byte of encoded column data: 154 MB of tables from 61 MB at scale 0.1, 26.9.0.
MEMORY_FACTOR = 2.6

#: Characters that a path must not have: in file names they are patterns.
PATTERN = re.compile(r"[*?{}]")


def quoted(value: Value) -> str:
    """A value as a literal of SQL; a backslash is an escape in ClickHouse."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def said(cause: Exception) -> str:
    """The engine's message without its frame: `Code: 60. DB::Exception: … (UNKNOWN_TABLE)`."""
    text = re.sub(r"^Code: \d+\. DB::\w+: ", "", str(cause))
    kind = re.search(r"\(([A-Z_0-9]+)\)\s*$", text)
    text = text[: kind.start()].rstrip() if kind else text
    # Words that messages about limits share with those of other engines.
    word = {"MEMORY_LIMIT_EXCEEDED": "out of memory: ",
            "TOO_MANY_ROWS_OR_BYTES": "no space left for spill files: "}
    return word.get(kind[1], "") + text if kind else text


def rows_of(connection: chdb.Connection, sql: str) -> pyarrow.Table:
    """The whole answer to a query, in memory."""
    import pyarrow

    try:
        answer = connection.query(sql, "ArrowStream").bytes()
    except Exception as cause:
        raise RuntimeError(said(cause)) from cause
    return pyarrow.ipc.open_stream(answer).read_all() if answer else pyarrow.table({})


def do(connection: chdb.Connection, sql: str) -> str:
    """Executes a statement and returns what it prints."""
    try:
        return connection.query(sql, "TSVRaw").bytes().decode()
    except Exception as cause:
        raise RuntimeError(said(cause)) from cause


def set_settings(connection: chdb.Connection, settings: dict[str, Value]) -> None:
    """SET NAME = VALUE for each; an unknown name or value is an error of the option."""
    for name, value in settings.items():
        if name.lower() in RESERVED:
            raise Failed("option", f"settings.{name} cannot be set: {RESERVED[name.lower()]}")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise Failed("option", f"settings.{name}: ClickHouse has no setting of that name")
        try:
            do(connection, f"SET {name} = {quoted(value)}")
        except Exception as cause:
            raise Failed("option", f"settings.{name} = {value!r} was refused by ClickHouse: "
                                   f"{first_sentence(str(cause))}; its settings and their values "
                                   "are in its documentation (SELECT * FROM system.settings)"
                         ) from cause


def limits(options: Options, sessions: int) -> dict[str, Value]:
    """Settings of a stream's limits. It spills from a quarter of its memory on, since merging
    spilled data takes memory again."""
    settings: dict[str, Value] = {}
    if options.memory_limit_bytes is not None:
        own_bytes = options.memory_limit_bytes // sessions
        settings["max_memory_usage"] = own_bytes
        settings["max_bytes_before_external_group_by"] = own_bytes // 4
        settings["max_bytes_before_external_sort"] = own_bytes // 4
    if options.spill_limit_bytes is not None:
        # 0 is no limit.
        own_bytes = max(options.spill_limit_bytes // sessions, 1)
        settings["max_temporary_data_on_disk_size_for_query"] = own_bytes
    return settings


class ClickHouseStream:
    """A connection to the single engine of the process, with its own settings."""

    worker_tids = None

    def __init__(self, setup: Setup, control: chdb.Connection) -> None:
        import chdb

        self.connection, self.control = chdb.connect(ADDRESS), control
        options = setup.options
        settings = BASE | {"max_threads": setup.dop, "max_parsing_threads": setup.dop}
        settings |= limits(options, setup.streams)
        if options.batch_rows is not None:
            settings["max_block_size"] = options.batch_rows
            settings["input_format_parquet_max_block_size"] = options.batch_rows
        if options.cache == "cold":
            settings["use_parquet_metadata_cache"] = 0
        for name, value in settings.items():
            do(self.connection, f"SET {name} = {quoted(value)}")
        set_settings(self.connection, options.settings)
        self.alone = setup.is_alone
        self.spilled_bytes = 0
        self.plans: dict[int, str] = {}

    def warm(self, number: int, sql: str) -> None:
        """Plans once and compiles; the plan of a stream's query stays the same (BASE)."""
        text = do(self.connection, f"EXPLAIN PLAN pretty = 1, compact = 1 {sql}")
        self.plans[number] = clickhouse_plan(text)
        do(self.connection, f"EXPLAIN PIPELINE {sql}")
        self._spilled()  # by subqueries of both

    def plan(self, sql: str) -> str:
        """Nothing: ClickHouse plans in `run`."""
        return sql

    def run(self, planned: str) -> pyarrow.Table:
        """Plans and executes."""
        return rows_of(self.connection, planned)

    def after(self, number: int, planned: str) -> After:
        """Spilled bytes, which the engine counts for the process."""
        return After(None, self.plans[number], self._spilled(), planning_known=False,
                     dop_known=False)

    def _spilled(self) -> dict[str, int]:
        if not self.alone:
            return {}
        total = do(self.control, "SELECT sum(value) FROM system.events WHERE event = "
                                 "'ExternalProcessingCompressedBytesTotal'")
        before, self.spilled_bytes = self.spilled_bytes, int(total)
        return {"spill_bytes": self.spilled_bytes - before}

    def interrupt(self) -> bool:
        """Cancels all queries of the process: all of its streams are interrupted together."""
        do(self.control, "KILL QUERY WHERE query_id != queryID() ASYNC")
        return True

    def close(self) -> None:
        """Closes the connection; the last one that closes ends the engine's threads."""
        self.connection.close()


class ClickHouse:
    """See `threadwise_session.Engine`."""

    name = "clickhouse"
    package = "chdb-core"
    refused = {"short": "ClickHouse has no short queries beside its streams; use duckdb or "
                        "postgres"}

    def __init__(self) -> None:
        self.notes = ["ClickHouse decodes files on as many further threads as the dop where that is "
                      "above 1; its planning is part of the execution, and its dop is not observed"]
        self.control: chdb.Connection | None = None

    def check(self, options: Options) -> None:
        """Tries the settings on a temporary engine."""
        import chdb

        connection = chdb.connect(ADDRESS)
        try:
            set_settings(connection, options.settings)
        finally:
            connection.close()

    def memory_bytes(self, options: Options, encoded_bytes: int, sessions: int) -> int:
        """All streams share the tables in memory."""
        whole = round(encoded_bytes * MEMORY_FACTOR) if options.storage == "memory" else 0
        return whole // sessions

    def start(self, dop: int, sessions: int) -> None:
        """Every session has its own degree."""

    def open(self, setup: Setup) -> ClickHouseStream:
        """A session; the first one opens the engine and creates the tables."""
        if self.control is None:
            self.control = self._open_engine(setup)
        return ClickHouseStream(setup, self.control)

    def _open_engine(self, setup: Setup) -> chdb.Connection:
        import chdb

        os.environ["TMPDIR"] = str(setup.spill)
        control = chdb.connect(ADDRESS)
        for table in TABLES:
            path = data_file(setup.data_dir, table)
            if PATTERN.search(path):
                raise Failed("option", f"ClickHouse reads {path} as a pattern of names; use a "
                                       "folder whose path has none of * ? { }")
            file = f"file({quoted(path)}, Parquet)"
            if setup.options.storage == "memory":
                do(control, f"CREATE TABLE {table} ENGINE = Memory AS SELECT * FROM {file}")
            else:
                do(control, f"CREATE TABLE {table} ENGINE = File(Parquet, {quoted(path)})")
        return control


if __name__ == "__main__":
    main(ClickHouse())
