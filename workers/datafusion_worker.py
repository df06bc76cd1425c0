"""Worker for Apache DataFusion, on the Python package `datafusion` (written against 55.0.0).

Facts that this program relies on, each observed with 55.0.0 on Linux:

* Threads. `target_partitions` is the degree of parallelism. The threads of one Tokio runtime, which
  all streams share, work on the partitions: it has TOKIO_WORKER_THREADS of them, read when the
  runtime is created, at the first use. Where a plan has one partition only (dop 1) it is the
  session's thread that works, not one of the runtime. With more partitions that thread runs the
  last operators (the merge of sorted rows, for 18,314 rows of Q16 a tenth of a worker's time); it
  is not counted beside the workers then.
* Reading files is done by further threads of the runtime, which come and go as they are needed and
  have no setting; they take 5 to 30% of a scan's CPU time. They do not count into the observed
  degree; their CPU time is the counter `io_cpu_ns`.
* Planning. `SessionContext.sql` parses and plans logically, `DataFrame.execution_plan` optimises
  and plans physically, and `SessionContext.execute` takes that plan: nothing is planned twice.
  `DataFrame.collect` would plan again.
* Caches. Footers, statistics and lists of files are cached as by default with cache=warm; with
  cache=cold their limits are 0. File contents are never cached by the engine.
* Options of Parquet and of the optimiser are the engine's own (filters are not pushed down into the
  decoder, files under 1 MiB are not split, …); `settings.NAME` changes them.
"""

from __future__ import annotations

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from typing import TYPE_CHECKING, Any  # noqa: E402

from threadwise_failure import Failed, first_sentence  # noqa: E402
from threadwise_load import TABLES, Options, Value, data_file  # noqa: E402
from threadwise_measure import sleeps, thread_times  # noqa: E402
from threadwise_plan import datafusion_plan  # noqa: E402
from threadwise_session import After, Setup  # noqa: E402
from threadwise_worker import main  # noqa: E402

if TYPE_CHECKING:
    import datafusion

#: Settings that have an option of their own, and those that cannot be set this way.
RESERVED = {
    "datafusion.execution.target_partitions": "use the option dop",
    "datafusion.execution.batch_size": "use the option batch_rows",
    "datafusion.runtime.memory_limit": "use the option memory_limit_mb",
    "datafusion.runtime.max_temp_directory_size": "use the option spill_limit_mb",
    "datafusion.runtime.temp_directory": "use the option spill_dir",
}

#: Memory per byte of encoded column data: 2633 MB of batches from 661 MB at scale 1, 55.0.0.
MEMORY_FACTOR = 4.2

#: Time limit for the start of the runtime's threads, seconds.
START_S = 30.0

#: Caches of the runtime, which are emptied and kept empty for cache=cold.
CACHES = ("metadata_cache_limit", "file_statistics_cache_limit", "list_files_cache_limit")


def setting_text(value: Value) -> str:
    """A value as DataFusion reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def config_of(options: Options, dop: int) -> datafusion.SessionConfig:
    """The configuration of a session; an unknown setting is an error of the option."""
    import datafusion

    config = datafusion.SessionConfig().with_target_partitions(dop)
    if options.batch_rows is not None:
        config = config.with_batch_size(options.batch_rows)
    for name, value in options.settings.items():
        if name in RESERVED:
            raise Failed("option", f"settings.{name} cannot be set: {RESERVED[name]}")
        if name.startswith("datafusion.runtime."):
            raise Failed("option", f"settings.{name} cannot be set: settings of the runtime are "
                                   "chosen by the options cache, memory_limit_mb and spill_dir")
        try:
            config = config.set(name, setting_text(value))
        except BaseException as cause:  # a panic of the engine is no Exception
            if isinstance(cause, (KeyboardInterrupt, SystemExit)):
                raise
            raise Failed("option", f"settings.{name} = {value!r} was refused by DataFusion: "
                                   f"{first_sentence(str(cause))}; its settings and their values "
                                   "are in its documentation (\"Configuration Settings\")"
                         ) from cause
    return config


class DataFusionStream:
    """A session context with its own memory pool and spill folder."""

    def __init__(self, setup: Setup, worker_tids: set[int], tables: dict[str, Any] | None) -> None:
        import datafusion

        options = setup.options
        runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_specified(str(setup.spill))
        if options.memory_limit_bytes is not None:
            runtime = runtime.with_fair_spill_pool(options.memory_limit_bytes // setup.streams)
        self.context = datafusion.SessionContext(config_of(options, setup.dop), runtime)
        if options.spill_limit_bytes is not None:
            kilobytes = options.spill_limit_bytes // setup.streams // 1024
            self._set_runtime("max_temp_directory_size", f"{kilobytes}K")
        if options.cache == "cold":
            for name in CACHES:
                self._set_runtime(name, "0K")
        for table in TABLES:
            if tables is None:
                self.context.register_parquet(table, data_file(setup.data_dir, table))
            else:
                self.context.register_record_batches(table, tables[table])
        self.worker_tids = worker_tids

    def _set_runtime(self, name: str, value: str) -> None:
        self.context.sql(f"SET datafusion.runtime.{name} = '{value}'")

    def warm(self, number: int, sql: str) -> None:
        """Plans once, which also reads the footers."""
        self.plan(sql)

    def plan(self, sql: str) -> datafusion.plan.ExecutionPlan:
        """The whole of planning."""
        plan = self.context.sql(sql).execution_plan()
        if plan.partition_count != 1:
            raise Failed("engine", f"datafusion gives the answer in {plan.partition_count} "
                                   "partitions; queries need an ORDER BY or a single group")
        return plan

    def run(self, planned: datafusion.plan.ExecutionPlan) -> Any:
        """Executes the plan; rows arrive in batches."""
        import pyarrow

        batches = [batch.to_pyarrow() for batch in self.context.execute(planned, 0)]
        return pyarrow.Table.from_batches(batches) if batches else pyarrow.table({})

    def after(self, number: int, planned: datafusion.plan.ExecutionPlan) -> After:
        """The plan that was executed, with what its operators spilled."""
        spilled = sum(metrics.spilled_bytes or 0 for _, metrics in planned.collect_metrics())
        plan = datafusion_plan(planned.display_indent())
        return After(None, plan, {"spill_bytes": spilled})

    def interrupt(self) -> bool:
        """DataFusion's Python package cannot cancel from another thread; the process ends."""
        return False

    def close(self) -> None:
        """Drops the context with its pool and its files."""
        self.context = None


class DataFusion:
    """See `threadwise_session.Engine`."""

    name = "datafusion"
    package = "datafusion"
    refused = {"short": "DataFusion has no short queries beside its streams; use duckdb or "
                        "postgres"}

    def __init__(self) -> None:
        self.notes = ["DataFusion reads files on further threads of its runtime, beside the dop; "
                      "their CPU time is io_cpu_ns"]
        self.worker_tids: set[int] | None = None
        self.workers = 1
        self.tables: dict[str, Any] | None = None

    def check(self, options: Options) -> None:
        """Tries the settings on a temporary configuration."""
        config_of(options, 1)

    def memory_bytes(self, options: Options, encoded_bytes: int, sessions: int) -> int:
        """All streams share the batches in memory."""
        whole = round(encoded_bytes * MEMORY_FACTOR) if options.storage == "memory" else 0
        return whole // sessions

    def start(self, dop: int, sessions: int) -> None:
        """Sizes the runtime that all streams share."""
        self.workers = dop * sessions
        os.environ["TOKIO_WORKER_THREADS"] = str(self.workers)

    def open(self, setup: Setup) -> DataFusionStream:
        """A context with the files, or the batches, as tables."""
        if self.worker_tids is None:
            self.worker_tids = self._start_runtime()
        if setup.options.storage == "memory" and self.tables is None:
            self.tables = self._read_tables(setup)
        return DataFusionStream(setup, self.worker_tids, self.tables)

    def _start_runtime(self) -> set[int]:
        """Makes the runtime with a statement that reads no file: the threads that appear are its
        workers, once each has run and gone to sleep. A thread that had not run yet could still
        exchange its part with one that is started later, to read files."""
        import datafusion

        before = thread_times().keys()
        datafusion.SessionContext().sql("SELECT 1")
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            tids = sorted(thread_times().keys() - before)[: self.workers]
            if len(tids) == self.workers and all(map(sleeps, tids)):
                return set(tids)
            time.sleep(0.001)
        raise Failed("engine", f"the {self.workers} threads of DataFusion did not start within "
                               f"{START_S:.0f} s; check the limits on threads (ulimit -u, "
                               "pids.max), or lower dop")

    def _read_tables(self, setup: Setup) -> dict[str, Any]:
        """Batches of every table, dealt out to `dop` partitions in the order of the file."""
        import datafusion

        context = datafusion.SessionContext(config_of(setup.options, setup.dop))
        tables, count = {}, 0
        for table in TABLES:
            context.register_parquet(table, data_file(setup.data_dir, table))
            parts = context.table(table).collect_partitioned()
            batches = [batch for part in parts for batch in part]
            ends = [len(batches) * i // setup.dop for i in range(setup.dop + 1)]
            tables[table] = [batches[a:b] for a, b in zip(ends, ends[1:])]
            count += len(batches)
        self.notes.append(f"DataFusion holds the tables in {count} batches, shared by the streams, "
                          f"in {setup.dop} partitions per table")
        return tables


if __name__ == "__main__":
    main(DataFusion())
