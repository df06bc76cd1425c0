"""Usage of a session: the server's counters of it, and the kernel's of its process.

Sources: Oracle Database Reference 19c, "V$SESS_TIME_MODEL" (DB CPU and DB time, microseconds, of calls that have ended;
up to 5 s of one that is under way may be missing), "V$MYSTAT", "V$STATNAME", "Statistics Descriptions" (session logical
reads is db block gets and consistent gets together); proc_pid_status(5) and the kernel's sched-stats.rst for a process
on this machine. A session reads its own: a reading is a short call of its own, whose CPU time counts with what follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from threadwise_oracle_clock import Call
from threadwise_oracle_failure import is_missing, statement_failed
from threadwise_oracle_server import Connection, fill, numbers, text_of

#: Statistic, and its counter.
STATISTICS = {
    "session logical reads": "logical_reads",
    "physical reads": "physical_reads",
    "redo size": "redo_bytes",
    "user commits": "commits",
}

NO_STATISTICS = ("logical_reads and physical_reads are left out: the account lacks SELECT on V_$MYSTAT and V_$STATNAME "
                 "(GRANT SELECT ON SYS.V_$… TO the account)")
NO_TIME = ("the server's CPU time is unknown and shown as 0: the account lacks SELECT on V_$SESS_TIME_MODEL "
           "(GRANT SELECT ON SYS.V_$SESS_TIME_MODEL TO the account)")


@dataclass(frozen=True)
class Usage:
    """Usage of a session since its start; None if unknown."""

    cpu_ns: int | None = None
    db_time_ns: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    voluntary: int = 0
    involuntary: int = 0
    wait_ns: int | None = None

    def since(self, before: Usage, call: Call) -> dict:
        """The window's share of what was used between two readings, as part of a session's slice."""
        counters = {name: call.share(value - before.counters[name])
                    for name, value in self.counters.items() if name in before.counters}
        if self.db_time_ns is not None and before.db_time_ns is not None:
            counters["db_time_ns"] = call.share(self.db_time_ns - before.db_time_ns)
        known = self.cpu_ns is not None and before.cpu_ns is not None
        waited = self.wait_ns is not None and before.wait_ns is not None
        return {
            "cpu_ns": call.share(self.cpu_ns - before.cpu_ns) if known else 0,
            "voluntary_switches": call.share(self.voluntary - before.voluntary),
            "involuntary_switches": call.share(self.involuntary - before.involuntary),
            "run_queue_wait_ns": call.share(self.wait_ns - before.wait_ns) if waited else None,
            "counters": counters,
        }


class Meter:
    """Reads the usage of one session, as far as its account may."""

    def __init__(self, connection: Connection, sid: int, pid: int | None) -> None:
        self.connection, self.sid, self.pid = connection, sid, pid
        self.notes: list[str] = []
        self.names: dict[int, str] = {}
        self.has_time = True
        self._find()

    def _find(self) -> None:
        """Finds the numbers of the statistics, and which are not readable."""
        try:
            found = self.connection.rows(text_of("statistic_numbers"))
            self.names = {int(number): STATISTICS[name] for name, number in found if name in STATISTICS}
            if self.names:
                self._statistics()
        except self.connection.errors as cause:
            self._lacks(cause, NO_STATISTICS)
            self.names = {}
        try:
            self._time()
        except self.connection.errors as cause:
            self._lacks(cause, NO_TIME)
            self.has_time = False

    def _lacks(self, cause: BaseException, note: str) -> None:
        if not is_missing(cause):
            raise statement_failed("read what its session used", cause) from cause
        self.notes.append(note)

    def _statistics(self) -> dict[str, int]:
        rows = self.connection.rows(fill("session_statistics", numbers=numbers(self.names)))
        return {self.names[int(number)]: int(value) for number, value in rows}

    def _time(self) -> dict[str, int]:
        return {name: int(us) * 1000 for name, us in self.connection.rows(text_of("session_time"), {"sid": self.sid})}

    def before(self) -> Usage:
        """A reading before a call: the time last, so that little else is between."""
        return self._read(time_last=True)

    def after(self) -> Usage:
        """A reading after a call: the time first."""
        return self._read(time_last=False)

    def _read(self, time_last: bool) -> Usage:
        times: dict[str, int] = {}
        statistics: dict[str, int] = {}
        try:
            if self.has_time and not time_last:
                times = self._time()
            if self.names:
                statistics = self._statistics()
            if self.has_time and time_last:
                times = self._time()
        except self.connection.errors as cause:
            raise statement_failed("read what its session used", cause) from cause
        voluntary, involuntary, wait_ns = of_process(self.pid)
        return Usage(times.get("DB CPU"), times.get("DB time"), statistics, voluntary, involuntary, wait_ns)


def of_process(pid: int | None) -> tuple[int, int, int | None]:
    """Context switches and run-queue wait of a process of one thread; zeros if not readable."""
    if pid is None:
        return 0, 0, None
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        voluntary = int(lines["voluntary_ctxt_switches"])
        involuntary = int(lines["nonvoluntary_ctxt_switches"])
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return voluntary, involuntary, int(file.read().split()[1])
    except (OSError, KeyError, ValueError, IndexError):
        return 0, 0, None
