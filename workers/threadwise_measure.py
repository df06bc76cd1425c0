"""The kernel's counters of this process and its threads, and answers as text.

Sources: proc(5) for /proc/self/io and /proc/PID/task/TID/stat; Documentation/scheduler/
sched-stats.rst of the kernel for schedstat (time on a CPU and time waiting for one, nanoseconds).
"""

from __future__ import annotations

import datetime
import decimal
import os
import resource
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

#: A thread took part in a query when its CPU time grew by more than this share of the largest
#: growth: threads that only hand over results stay below it.
TOOK_PART = 0.05

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ThreadTime:
    """Counters of one thread since its start."""

    cpu_ns: int
    #: Waiting for a CPU; None if the kernel does not count it.
    wait_ns: int | None


def thread_times() -> dict[int, ThreadTime]:
    """CPU time of every thread of this process, by thread id."""
    times = {}
    for name in os.listdir("/proc/self/task"):
        try:
            times[int(name)] = _thread_time(name)
        except (FileNotFoundError, ProcessLookupError):  # it ended since the folder was read
            continue
    return times


def _thread_time(name: str) -> ThreadTime:
    try:
        with open(f"/proc/self/task/{name}/schedstat", encoding="ascii") as file:
            cpu_ns, wait_ns, _ = file.read().split()
            return ThreadTime(int(cpu_ns), int(wait_ns))
    except (FileNotFoundError, ValueError):
        # Without CONFIG_SCHED_INFO there are ticks (10 ms mostly) and no waiting time.
        with open(f"/proc/self/task/{name}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return ThreadTime((int(fields[11]) + int(fields[12])) * _TICK_NS, None)


def sleeps(tid: int) -> bool:
    """Whether a thread of this process waits for something (state S); not before it ran."""
    try:
        with open(f"/proc/self/task/{tid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass(frozen=True)
class Growth:
    """What the threads did between two readings."""

    #: The thread that called, which is that of the session.
    caller: int
    cpu_ns: dict[int, int]
    wait_ns: int | None

    def degree(self, of: Collection[int] | None) -> int | None:
        """Threads that took part, of those given (None: of all); None if no time was counted.

        The calling thread counts among others only when it is given; when none of those given
        took part beside it, it worked alone.
        """
        counted = self.cpu_ns.keys() if of is None else self.cpu_ns.keys() & of
        largest = max((self.cpu_ns[tid] for tid in {*counted, self.caller}), default=0)
        if largest == 0:
            return None
        return max(sum(self.cpu_ns[tid] > largest * TOOK_PART for tid in counted), 1)

    def cpu_of_others_ns(self, than: Collection[int]) -> int:
        """CPU time of all threads except those given, the caller's and the main one."""
        known = {*than, self.caller, os.getpid()}
        return sum(ns for tid, ns in self.cpu_ns.items() if tid not in known)


def growth(before: dict[int, ThreadTime], after: dict[int, ThreadTime]) -> Growth:
    """Differences of two readings; a new thread starts at 0."""
    nothing = ThreadTime(0, 0)
    cpu_ns, wait_ns = {}, 0
    for tid, now in after.items():
        then = before.get(tid, nothing)
        cpu_ns[tid] = max(now.cpu_ns - then.cpu_ns, 0)
        if now.wait_ns is None:
            wait_ns = None
        elif wait_ns is not None:
            wait_ns += max(now.wait_ns - (then.wait_ns or 0), 0)
    return Growth(threading.get_native_id(), cpu_ns, wait_ns)


@dataclass(frozen=True)
class ProcessCounters:
    """Counters of this process since its start."""

    #: Bytes that had to be fetched from storage; None if /proc/self/io may not be read.
    read_bytes: int | None
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int


def process_counters() -> ProcessCounters:
    """Reads /proc/self/io and getrusage(2)."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return ProcessCounters(_read_bytes(), usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw)


def _read_bytes() -> int | None:
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            lines = dict(line.split(": ") for line in file)
            return int(lines["read_bytes"])
    except (OSError, KeyError, ValueError):
        return None


def counters_between(before: ProcessCounters, after: ProcessCounters) -> dict[str, int]:
    """Differences, under the names that the report uses; unknown ones are left out."""
    counters = {"major_faults": after.major_faults - before.major_faults}
    if before.read_bytes is not None and after.read_bytes is not None:
        counters["read_bytes"] = after.read_bytes - before.read_bytes
    return counters


def value_text(value: Any) -> str | None:
    """A value of an answer as text: exact numbers plain, floats in repr precision, ISO dates."""
    if value is None:
        return None
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value)
    return str(value)


def answer_text(table: Any) -> list[list[str | None]]:
    """The rows of an Arrow table (pyarrow.Table) as text."""
    columns = [[value_text(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]
