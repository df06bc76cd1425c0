"""All sessions of a worker: opens them one after the other, and runs their slices.

The main thread waits in a lock for the sessions, with the time limit of the slice.
"""

from __future__ import annotations

import os
import queue
import time
from typing import Any, NoReturn

from threadwise_failure import Failed
from threadwise_load import Load, Options, Spill
from threadwise_measure import counters_between, process_counters
from threadwise_session import (
    AtWork,
    Done,
    Engine,
    Order,
    Session,
    Setup,
    StreamSession,
    execution_json,
)
from threadwise_short import ShortSession

#: Time limit for sessions to stop after an interrupt.
INTERRUPT_S = 10.0


class Crew:
    """The sessions of a prepared worker."""

    def __init__(self, engine: Engine, load: Load, options: Options, cpus: list[set[int]],
                 seed: int) -> None:
        self.engine, self.options = engine, options
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.sessions: list[Session] = []
        dop, streams = options.dop or len(cpus[0]), len(cpus) - options.short
        engine.start(dop, streams)
        self.spill = Spill(options.spill_dir or load.data_dir / "spill")
        try:
            for index, own in enumerate(cpus):
                folder = self.spill.of_session(index)
                setup = Setup(index, streams, options, dop, load.data_dir, folder, seed)
                kind = StreamSession if index < streams else ShortSession
                session = kind(engine, setup, own, self.results)
                self.sessions.append(session)
                session.start()
                self._collect(1, None)  # one after the other: opening may need much memory
            self._check_masks(set().union(*cpus))
        except BaseException:
            self.spill.remove()
            raise

    def streams(self) -> list[StreamSession]:
        """The sessions that are streams, which come first."""
        return [session for session in self.sessions if isinstance(session, StreamSession)]

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
        """One slice: every stream executes its list, from `start_ns` on."""
        before, cpu_ns = process_counters(), time.process_time_ns()
        at_work = AtWork(len(self.streams()))
        for session, numbers in zip(self.sessions, lists, strict=True):
            session.orders.put(Order(sequence, start_ns, numbers, at_work))
        try:
            done = self._collect(len(self.sessions), start_ns + limit_ns)
        except queue.Empty:
            self._too_long(limit_ns, lists)
        cpu_ns = time.process_time_ns() - cpu_ns
        after = process_counters()
        # Each session of short queries reports its own; the rest is the streams'.
        cpu_ns = max(cpu_ns - sum(one.whole["cpu_ns"] for one in done if one.whole), 0)
        sessions = [one.whole or self._session_json(one, cpu_ns) for one in done]
        if len(self.sessions) == 1:
            sessions[0]["voluntary_switches"] = after.voluntary_switches - before.voluntary_switches
            switches = after.involuntary_switches - before.involuntary_switches
            sessions[0]["involuntary_switches"] = switches
        if self.options.test == "power":
            window_ns = sum(one.elapsed_ns for every in done for one in every.executions)
        else:
            window_ns = max(every.finished_ns for every in done if every.whole is None)
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
        cpu_ns = process_cpu_ns // len(self.streams())
        waits = [one.grown.wait_ns for one in done.executions if one.grown]
        return {
            "steps": len(queries),
            "rows": len(queries),
            "answers_checked": 0,
            "answers_wrong": 0,
            # For streams always the process's time, so that one stream and several are comparable.
            "cpu_ns": cpu_ns if shared or self.options.test == "throughput"
            else sum(one["cpu_ns"] for one in queries),
            "run_queue_wait_ns": None if shared or None in waits else sum(waits),
            "counters": counters,
            "latency": "",
            "finished_ns": done.finished_ns,
            "queries": queries,
        }

    def _too_long(self, limit_ns: int, lists: list[list[int]]) -> NoReturn:
        if all(session.stream.interrupt() for session in self.streams()):
            deadline_s = time.monotonic() + INTERRUPT_S
            for _ in self.sessions:  # what they answer no longer counts, only that they stopped
                try:
                    self.results.get(timeout=max(deadline_s - time.monotonic(), 0))
                except queue.Empty:
                    break
        asked = "; ".join(",".join(f"q{n:02}" for n in numbers) for numbers in lists if numbers)
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
