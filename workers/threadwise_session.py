"""The sessions of a worker: what an engine has to offer, its threads, and the slices they work.

One OS thread per session (a stream of TPC-H) binds itself first, opens its part of the engine, and
waits in a lock between slices. The main thread waits in a lock for the sessions, with the time
limit of the slice; nothing polls, so that the interpreter is idle while queries run.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

from threadwise_failure import Failed, first_sentence
from threadwise_load import Load, Options, Spill, read_queries, warm_page_cache
from threadwise_measure import (
    Growth,
    answer_text,
    counters_between,
    growth,
    process_counters,
    thread_times,
)

#: How long sessions may take to stop after they were interrupted.
INTERRUPT_S = 10.0


@dataclass(frozen=True)
class Setup:
    """What a session of an engine is opened with."""

    session: int
    sessions: int
    options: Options
    #: Degree of parallelism of this stream.
    dop: int
    data_dir: Path
    #: The session's own folder for spill files.
    spill: Path


@dataclass(frozen=True)
class After:
    """What an engine says of the query that it has just executed."""

    #: Planning that took place inside `run`, by the engine's own clock; None where `plan` did all.
    planning_inside_ns: int | None
    plan: str
    counters: dict[str, int]
    #: Whether planning can be told apart; where it cannot, it is part of the execution.
    planning_known: bool = True
    #: Whether the threads that took part were as many as worked at a time.
    dop_known: bool = True


class Stream(Protocol):
    """One session of an engine. All methods are called by its own thread, but `interrupt`."""

    #: Threads of the engine that compute, where it also has others, and where the session's own
    #: thread mostly waits for them; None where every thread of the process counts.
    worker_tids: set[int] | None

    def plan(self, sql: str) -> Any:
        """Plans a query, as far as the engine can do so apart from executing it."""

    def run(self, planned: Any) -> Any:
        """Executes it until the last row of the answer is in memory, as a pyarrow.Table."""

    def after(self, number: int, planned: Any) -> After:
        """Called after `run`, outside of all clocks."""

    def warm(self, number: int, sql: str) -> None:
        """Plans a query for the first time."""

    def interrupt(self) -> bool:
        """Cancels what runs; False where the engine cannot."""

    def close(self) -> None:
        """Ends the session."""


class Engine(Protocol):
    """An engine, and the options that it cannot follow (name and reason)."""

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


@dataclass
class Execution:
    """One query, executed."""

    query: int
    started_ns: int
    elapsed_ns: int
    #: None where it cannot be told apart.
    planning_ns: int | None
    cpu_ns: int
    table: Any
    after: After
    #: None where streams share the process.
    grown: Growth | None
    counters: dict[str, int]
    dop: int | None


@dataclass
class Done:
    """What a session's thread reports: that it is open, or what it did in a slice."""

    session: int
    executions: list[Execution] = field(default_factory=list)
    finished_ns: int = 0


def one_error(engine: str, action: str, cause: BaseException) -> Failed:
    """An engine's error on one line, with what can be done about it. All of its text is in the log,
    with the traceback."""
    text = str(cause) or type(cause).__name__
    hint = "if the data is damaged, remove its folder, it is made anew"
    lower = text.lower()
    if "max_temp_directory_size" in lower or "no space left" in lower:
        hint = "raise spill_limit_mb or memory_limit_mb, or name a roomier spill_dir"
    elif "out of memory" in lower or "resources exhausted" in lower:
        hint = "raise memory_limit_mb, lower dop or scale"
    return Failed("engine", f"{engine} could not {action}: {first_sentence(text)}; {hint}")


class Session(threading.Thread):
    """The thread of one stream: bound first, then opened, then parked until it gets an order."""

    def __init__(self, engine: Engine, setup: Setup, cpus: set[int],
                 results: queue.SimpleQueue) -> None:
        super().__init__(name=f"session {setup.session}", daemon=True)
        self.engine, self.setup, self.cpus, self.results = engine, setup, cpus, results
        self.queries = read_queries(setup.data_dir, setup.session, setup.options.queries)
        self.orders: queue.SimpleQueue = queue.SimpleQueue()
        self.stream: Stream | None = None

    def run(self) -> None:
        """Works until the order None; what goes wrong is a result, too."""
        try:
            self._bind()
            self.stream = self.engine.open(self.setup)
            self._warm()
            self.results.put(Done(self.setup.session))
            for start_ns, numbers in iter(self.orders.get, None):
                self.results.put(self._slice(start_ns, numbers))
            self.stream.close()
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
        alone = self.setup.sessions == 1
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
            # Its CPU time cannot be told apart (a planner that waits for a CPU takes time and uses
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


class Crew:
    """The sessions of a worker that was prepared."""

    def __init__(self, engine: Engine, load: Load, options: Options, cpus: list[set[int]]) -> None:
        self.engine, self.options = engine, options
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.sessions: list[Session] = []
        dop = options.dop or len(cpus[0])
        engine.start(dop, len(cpus))
        self.spill = Spill(options.spill_dir or load.data_dir / "spill")
        try:
            for index, own in enumerate(cpus):
                folder = self.spill.of_session(index)
                setup = Setup(index, len(cpus), options, dop, load.data_dir, folder)
                session = Session(engine, setup, own, self.results)
                self.sessions.append(session)
                session.start()
                self._collect(1, None)  # one after the other: opening may need much memory
            self._check_masks(set().union(*cpus))
        except BaseException:
            self.spill.remove()
            raise

    def _collect(self, count: int, deadline_ns: int | None) -> list[Done]:
        done = []
        for _ in range(count):
            left_s = None
            if deadline_ns is not None:
                left_s = max(deadline_ns - time.monotonic_ns(), 0) / 1e9
            result = self.results.get(timeout=left_s)
            if isinstance(result, Failed):
                raise result
            done.append(result)
        return sorted(done, key=lambda one: one.session)

    @staticmethod
    def _check_masks(cpus: set[int]) -> None:
        for name in os.listdir("/proc/self/task"):
            try:
                if not os.sched_getaffinity(int(name)) <= cpus:
                    raise Failed("lost-pin", f"thread {name} of the engine may run outside of the "
                                             "placement; a setting of the engine binds its threads")
            except ProcessLookupError:
                continue

    def tids(self) -> list[int]:
        """Thread ids of the sessions, in their order."""
        return [session.native_id for session in self.sessions]

    def go(self, sequence: int, start_ns: int, limit_ns: int, lists: list[list[int]]) -> dict:
        """One slice: every session executes its list, from `start_ns` on."""
        before, cpu_ns = process_counters(), time.process_time_ns()
        for session, numbers in zip(self.sessions, lists, strict=True):
            session.orders.put((start_ns, numbers))
        try:
            done = self._collect(len(self.sessions), start_ns + limit_ns)
        except queue.Empty:
            self._too_long(limit_ns, lists)
        cpu_ns = time.process_time_ns() - cpu_ns
        after = process_counters()
        shared = len(self.sessions) > 1
        sessions = [self._session_json(one, cpu_ns) for one in done]
        if not shared:
            sessions[0]["voluntary_switches"] = after.voluntary_switches - before.voluntary_switches
            switches = after.involuntary_switches - before.involuntary_switches
            sessions[0]["involuntary_switches"] = switches
        if self.options.test == "power":
            window_ns = sum(one.elapsed_ns for every in done for one in every.executions)
        else:
            window_ns = max(every.finished_ns for every in done)
        return {"type": "slice", "sequence": sequence, "start_ns": start_ns,
                "window_ns": max(window_ns, 1), "sessions": sessions,
                "counters": counters_between(before, after)}

    def _session_json(self, done: Done, process_cpu_ns: int) -> dict[str, Any]:
        stream = self.sessions[done.session].stream
        queries = [execution_json(one, stream) for one in done.executions]
        shared = len(self.sessions) > 1
        counters: dict[str, int] = {}
        for one in queries:
            for name, value in one["counters"].items():
                counters[name] = counters.get(name, 0) + value
        cpu_ns = process_cpu_ns // len(self.sessions)
        waits = [one.grown.wait_ns for one in done.executions if one.grown]
        return {
            "steps": len(queries),
            "rows": len(queries),
            "answers_checked": 0,
            "answers_wrong": 0,
            # Of streams the process's time in every case, so that one stream and several compare.
            "cpu_ns": cpu_ns if shared or self.options.test == "throughput"
            else sum(one["cpu_ns"] for one in queries),
            "run_queue_wait_ns": None if shared or None in waits else sum(waits),
            "counters": counters,
            "latency": "",
            "finished_ns": done.finished_ns,
            "queries": queries,
        }

    def _too_long(self, limit_ns: int, lists: list[list[int]]) -> NoReturn:
        if all(session.stream.interrupt() for session in self.sessions):
            deadline_s = time.monotonic() + INTERRUPT_S
            for _ in self.sessions:  # what they answer no longer counts, only that they stopped
                try:
                    self.results.get(timeout=max(deadline_s - time.monotonic(), 0))
                except queue.Empty:
                    break
        asked = "; ".join(",".join(f"q{n:02}" for n in numbers) for numbers in lists)
        raise Failed("engine", f"{self.engine.name} did not finish {asked} within "
                               f"{limit_ns / 1e9:.3f} s and was stopped; allow more time, a higher "
                               "dop or memory_limit_mb, or a smaller scale")

    def end(self) -> None:
        """Closes the sessions and removes the spill files."""
        try:
            for session in self.sessions:
                session.orders.put(None)
            self._collect(len(self.sessions), None)
        finally:
            self.spill.remove()
