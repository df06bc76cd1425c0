"""The interface of an engine, and the thread of a session that is a stream of queries.

One OS thread per session binds itself first, opens its part of the engine, and waits in a lock
between slices. Nothing polls, so that the interpreter is idle while queries run.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from threadwise_failure import Failed, first_sentence
from threadwise_load import Options, read_queries, warm_page_cache
from threadwise_measure import (
    Growth,
    answer_text,
    counters_between,
    growth,
    process_counters,
    thread_times,
)

@dataclass(frozen=True)
class Setup:
    """Inputs of a session of an engine."""

    session: int
    #: How many sessions are streams; those of short queries follow them.
    streams: int
    options: Options
    #: Degree of parallelism of this stream.
    dop: int
    data_dir: Path
    #: The session's own folder for spill files.
    spill: Path
    #: Seed of the block.
    seed: int

    @property
    def is_alone(self) -> bool:
        """Whether all work of the process is this session's."""
        return self.streams == 1 and self.options.short == 0


@dataclass(frozen=True)
class After:
    """An engine's report on the query that it has just executed."""

    #: Planning that took place inside `run`, by the engine's own clock; None if `plan` did all.
    planning_inside_ns: int | None
    plan: str
    counters: dict[str, int]
    #: Whether planning is reported separately; if not, it is part of the execution.
    planning_known: bool = True
    #: Whether the threads that took part were as many as worked at a time.
    dop_known: bool = True


class Stream(Protocol):
    """One session of an engine. All methods except `interrupt` are called by its own thread."""

    #: Threads of the engine that compute, where it also has others, and where the session's own
    #: thread mostly waits for them; None if every thread of the process counts.
    worker_tids: set[int] | None

    def plan(self, sql: str) -> Any:
        """Plans a query, as far as the engine can do so without executing it."""

    def run(self, planned: Any) -> Any:
        """Executes it until the last row of the answer is in memory, as a pyarrow.Table."""

    def after(self, number: int, planned: Any) -> After:
        """Called after `run`, not timed."""

    def warm(self, number: int, sql: str) -> None:
        """Plans a query for the first time."""

    def interrupt(self) -> bool:
        """Cancels the running query; False if the engine cannot."""

    def close(self) -> None:
        """Ends the session."""


class Short(Protocol):
    """A session of short queries. All methods are called by its own thread."""

    def look_up(self, key: int) -> bool:
        """Executes the short query for an order; whether the answer is that order alone."""

    def close(self) -> None:
        """Ends the session."""


class Engine(Protocol):
    """An engine, and the options that it does not support (name and reason)."""

    name: str
    package: str
    refused: dict[str, str]
    notes: list[str]

    def check(self, options: Options) -> None:
        """Refuses settings that the engine does not have."""

    def memory_bytes(self, options: Options, encoded_bytes: int, sessions: int) -> int:
        """Memory that the data takes per session, estimated from its encoded size."""

    def start(self, dop: int, sessions: int) -> None:
        """Called once, before any session is opened and before the engine has threads."""

    def open(self, setup: Setup) -> Stream:
        """Opens a session on the calling thread."""

    def open_short(self, setup: Setup) -> Short:
        """Opens a session of short queries on the calling thread, where `short` is not refused."""


@dataclass
class Execution:
    """One query, executed."""

    query: int
    started_ns: int
    elapsed_ns: int
    #: None if not reported separately.
    planning_ns: int | None
    cpu_ns: int
    table: Any
    after: After
    #: None if streams share the process.
    grown: Growth | None
    counters: dict[str, int]
    dop: int | None


@dataclass
class Done:
    """What a session's thread reports: that it is open, or what it did in a slice."""

    session: int
    executions: list[Execution] = field(default_factory=list)
    finished_ns: int = 0
    #: A whole entry of `sessions` in the reply, of a session that is no stream.
    whole: dict[str, Any] | None = None


class AtWork:
    """Number of streams of a slice that are not done."""

    def __init__(self, streams: int) -> None:
        self._left, self._lock = streams, threading.Lock()

    def one_is_done(self) -> None:
        """Counts a stream as done, however it ended."""
        with self._lock:
            self._left -= 1

    def any(self) -> bool:
        """Whether a stream is still running."""
        return self._left > 0


@dataclass(frozen=True)
class Order:
    """The work of a session in a slice."""

    sequence: int
    start_ns: int
    #: Queries of a stream, in order.
    numbers: list[int]
    at_work: AtWork


def one_error(engine: str, action: str, cause: BaseException) -> Failed:
    """An engine's error on one line, with what to do. The full text is in the log, with the
    traceback."""
    text = str(cause) or type(cause).__name__
    hint = "if the data is damaged, remove its folder, and it is created again"
    lower = text.lower()
    if "max_temp_directory_size" in lower or "no space left" in lower:
        hint = "raise spill_limit_mb or memory_limit_mb, or give a spill_dir with more space"
    elif "out of memory" in lower or "resources exhausted" in lower:
        hint = "raise memory_limit_mb, lower dop or scale"
    return Failed("engine", f"{engine} could not {action}: {first_sentence(text)}; {hint}")


class Session(threading.Thread):
    """The thread of one session: bound first, then opened, then parked until it gets an order."""

    def __init__(self, engine: Engine, setup: Setup, cpus: set[int],
                 results: queue.SimpleQueue) -> None:
        super().__init__(name=f"session {setup.session}", daemon=True)
        self.engine, self.setup, self.cpus, self.results = engine, setup, cpus, results
        self.orders: queue.SimpleQueue = queue.SimpleQueue()

    def open(self) -> None:
        """Opens the session and warms it, on its thread."""
        raise NotImplementedError

    def work(self, order: Order) -> Done:
        """One slice."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends what was opened."""
        raise NotImplementedError

    def run(self) -> None:
        """Works until the order None; an error is a result, too."""
        try:
            self._bind()
            self.open()
            self.results.put(Done(self.setup.session))
            for order in iter(self.orders.get, None):
                self.results.put(self.work(order))
            self.close()
            self.results.put(Done(self.setup.session))
        except Failed as failed:
            self.results.put(failed)
        except BaseException as cause:  # also the panics of an engine written in Rust
            traceback.print_exc()
            self.results.put(one_error(self.engine.name, "open its session", cause))

    def _bind(self) -> None:
        wanted = ",".join(map(str, sorted(self.cpus)))
        try:
            os.sched_setaffinity(0, self.cpus)  # 0 is the calling thread, sched_setaffinity(2)
        except OSError as cause:
            raise Failed("lost-pin", f"{self.name} could not be bound to logical CPUs {wanted} "
                                     f"({cause}); choose a placement inside the allowed CPUs"
                         ) from cause
        if os.sched_getaffinity(0) != self.cpus:
            raise Failed("lost-pin", f"{self.name} was bound to logical CPUs {wanted} but reads "
                                     "back another mask; a cpuset of the system changed it")



class StreamSession(Session):
    """The thread of one stream."""

    def __init__(self, engine: Engine, setup: Setup, cpus: set[int],
                 results: queue.SimpleQueue) -> None:
        super().__init__(engine, setup, cpus, results)
        self.queries = read_queries(setup.data_dir, setup.session, setup.options.queries)
        self.stream: Stream | None = None

    def open(self) -> None:
        """Opens the stream and plans its queries."""
        self.stream = self.engine.open(self.setup)
        self._warm()

    def close(self) -> None:
        """Ends the stream."""
        self.stream.close()

    def work(self, order: Order) -> Done:
        """Executes the queries of a slice. In any case the sessions beside it then end."""
        try:
            return self._slice(order.start_ns, order.numbers)
        finally:
            order.at_work.one_is_done()

    def _warm(self) -> None:
        if self.setup.session == 0 and self.setup.options.cache == "warm":
            warm_page_cache(self.setup.data_dir)
        for number, sql in self.queries.items():
            try:
                self.stream.warm(number, sql)
            except Exception as cause:
                traceback.print_exc()
                raise one_error(self.engine.name, f"plan query q{number:02}", cause) from cause

    def _slice(self, start_ns: int, numbers: list[int]) -> Done:
        done = Done(self.setup.session)
        wait_until_ns(start_ns)
        for number in numbers:
            try:
                done.executions.append(self._execute(start_ns, number))
            except Exception as cause:
                traceback.print_exc()
                action = f"execute query q{number:02} of stream {self.setup.session}"
                raise one_error(self.engine.name, action, cause) from cause
        done.finished_ns = time.monotonic_ns() - start_ns
        return done

    def _execute(self, start_ns: int, number: int) -> Execution:
        alone = self.setup.is_alone
        stream, sql = self.stream, self.queries[number]
        began_ns = time.monotonic_ns()
        planned = stream.plan(sql)
        planning_ns = time.monotonic_ns() - began_ns
        counters = process_counters() if alone else None
        threads = thread_times() if alone else {}
        cpu_ns, run_ns = time.process_time_ns(), time.monotonic_ns()
        table = stream.run(planned)
        elapsed_ns = time.monotonic_ns() - run_ns
        cpu_ns = time.process_time_ns() - cpu_ns
        grown = growth(threads, thread_times()) if alone else None
        between = counters_between(counters, process_counters()) if alone else {}
        after = stream.after(number, planned)
        if after.planning_inside_ns is not None:
            # Its CPU time cannot be separated (a planner that waits for a CPU takes time and uses
            # none), so it stays in that of the execution.
            planning_ns = min(after.planning_inside_ns, elapsed_ns - 1)
            elapsed_ns -= planning_ns
        known_ns = planning_ns if after.planning_known else None
        dop = grown.degree(stream.worker_tids) if grown and after.dop_known else None
        return Execution(number, began_ns - start_ns, elapsed_ns, known_ns, cpu_ns, table, after,
                         grown, between, dop)


def wait_until_ns(moment_ns: int) -> None:
    """Sleeps until CLOCK_MONOTONIC reads `moment_ns`."""
    while (left_ns := moment_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)


def execution_json(execution: Execution, stream: Stream) -> dict[str, Any]:
    """One entry of `queries` in a slice's session."""
    grown = execution.grown
    counters = execution.counters | execution.after.counters
    if grown and stream.worker_tids is not None:
        counters["io_cpu_ns"] = grown.cpu_of_others_ns(stream.worker_tids)
    return {
        "query": execution.query,
        "started_ns": max(execution.started_ns, 0),
        "elapsed_ns": execution.elapsed_ns,
        "planning_ns": execution.planning_ns,
        "cpu_ns": execution.cpu_ns if grown else None,
        "dop": execution.dop,
        "rows": execution.table.num_rows,
        "plan": execution.after.plan,
        "counters": counters,
        "answer": answer_text(execution.table),
    }
