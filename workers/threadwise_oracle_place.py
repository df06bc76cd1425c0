"""Placement of the server's processes: those of sessions, and the log writers, database writers and checkpoint.

Source: Oracle Database Reference 19c, "V$PROCESS" (SPID, STID, PNAME) and "V$SESSION" (SERVER). A process ID
is no proof: the server may run on another machine or in another PID namespace. So its host name must be this one's,
the process must be Oracle's, and it must use CPU time on request. Processes that start others (PSP0, LREG and similar)
are not bound, since what they start would inherit a mask; parallel execution servers are taken from a pool of the
instance, and stay where they are.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, field

from threadwise_failure import Failed
from threadwise_oracle_failure import is_missing, statement_failed
from threadwise_oracle_journal import Journal, NoJournal, bind, cpu_text, mask_of, threads_of
from threadwise_oracle_server import Connection, Session, text_of

#: CPU time that the proof must show, nanoseconds.
PROOF_NS = 1_000_000

#: How often the proof is tried: its process may have been without a CPU.
PROOFS = 5

NO_JOURNAL = "its masks could not be restored: there is no folder for a journal, set THREADWISE_STATE_DIR"


def locate(connection: Connection, session: Session) -> tuple[int | None, str]:
    """The process that serves a connection, or why it is out of reach."""
    if session.host.split(".")[0].lower() != socket.gethostname().split(".")[0].lower():
        return None, f"it runs on another machine ({session.host or 'its name is unknown'})"
    try:
        rows = connection.rows(text_of("session_process"), {"sid": session.sid})
    except connection.errors as cause:
        if is_missing(cause):
            return None, ("its processes are unknown: the account lacks SELECT on V_$PROCESS and V_$SESSION (GRANT "
                          "SELECT ON SYS.V_$PROCESS TO the account, and likewise)")
        raise statement_failed("find the process of a session", cause) from cause
    if len(rows) != 1:
        return None, "its processes are unknown"
    spid, stid, server = rows[0]
    if server != "DEDICATED":
        return None, f"its sessions have no processes of their own (V$SESSION.SERVER is {server})"
    if stid not in (None, spid):
        return None, "its sessions are threads of a few processes (threaded_execution)"
    if not str(spid).isdigit() or not _is_oracle(int(spid)) or not _burns(connection, int(spid)):
        return None, f"process {spid} is not one of its processes here: it runs in another PID namespace (a container)"
    return int(spid), ""


def _is_oracle(pid: int) -> bool:
    """Whether a process has Oracle's title: `oracleSID (LOCAL=NO)`, `ora_lgwr_SID`."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            title = file.read(200)
    except OSError:
        return False
    return title.rpartition(b"/")[2].startswith((b"oracle", b"ora_"))


def _cpu_ns(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _burns(connection: Connection, pid: int) -> bool:
    for _ in range(PROOFS):
        before = _cpu_ns(pid)
        connection.run("find the process of a session", text_of("burn"))
        time.sleep(0.002)
        if _cpu_ns(pid) >= before + PROOF_NS:
            return True
    return False


@dataclass
class Places:
    """What was bound, and how to restore it."""

    journal: Journal
    service: set[int]
    #: Log writers and similar: name and process.
    service_pids: list[tuple[str, int]] = field(default_factory=list)

    def keep_service(self) -> None:
        """Before a slice: other treatments of the study bind them for theirs."""
        threads = [(pid, tid) for _, pid in self.service_pids for tid in threads_of(pid)]
        try:
            bind(self.journal, threads, self.service)
        except NoJournal as cause:
            raise Failed("engine", f"oracle could not place the server's processes: {cause}") from cause

    def put_back(self) -> None:
        """Gives service processes their first masks again, if they still have this study's. Sessions' processes end."""
        for _, pid in self.service_pids:
            for tid in threads_of(pid):
                try:
                    first = self.journal.first_mask(pid, tid)
                    if first is not None and mask_of(tid) == self.service:
                        os.sched_setaffinity(tid, first)
                except (OSError, NoJournal):
                    continue  # it has ended, or threadwise puts it back by the journal


class NotPlaced(str):
    """A note that the server is not on the placement, and why; reports go by its code."""

    code = "not-placed"


def place(control: Connection, own: tuple[int | None, str], pids: list[tuple[int | None, str]], cpus: list[set[int]],
          service: set[int], journal_path: str | None) -> tuple[list[dict], Places | None, list[str]]:
    """Binds the sessions' processes, that of the control connection (`own`) and the service processes; all or nothing.
    Returns the entries of `placed`, what must be kept, and notes."""
    why = next((why for pid, why in [*pids, own] if pid is None), "")
    if not why and journal_path is None:
        why = NO_JOURNAL
    if why:
        return [], None, [NotPlaced(f"server not pinned: {why}")]
    try:
        _may_bind(pids[0][0])
        places = Places(Journal(journal_path), service)
        placed = []
        wanted = [(f"session {number}", pid, cpus[number]) for number, (pid, _) in enumerate(pids)]
        for name, pid, mask in [*wanted, ("control connection", own[0], service)]:
            bind(places.journal, [(pid, tid) for tid in threads_of(pid)], mask)
            placed.append({"name": name, "pid": pid, "tid": pid, "cpus": cpu_text(mask)})
        notes = _find_service(control, places)
        places.keep_service()
    except NoJournal as cause:
        return [], None, [NotPlaced(f"server not pinned: {cause}")]
    # They are ours for our slices only, since all treatments share the server.
    placed += [{"name": name.lower(), "pid": pid, "tid": pid, "cpus": ""} for name, pid in places.service_pids]
    return placed, places, notes


def _may_bind(pid: int) -> None:
    """Tries to set the mask that a process has."""
    mask = mask_of(pid)
    try:
        os.sched_setaffinity(pid, mask or set())
    except PermissionError:
        raise NoJournal(f"thread {pid} may not be bound: run as the user that the server runs as, or as root, or "
                        "with CAP_SYS_NICE") from None
    except OSError as cause:
        raise NoJournal(f"thread {pid} cannot be bound ({cause.strerror})") from None


def _find_service(control: Connection, places: Places) -> list[str]:
    rows = control.ask("find the server's processes", text_of("service_processes"))
    found = [(str(name), int(spid)) for name, spid in rows if str(spid).isdigit()]
    places.service_pids = [(name, pid) for name, pid in found if _is_oracle(pid)]
    return [] if places.service_pids else ["the server's log writer was not found, and stays where it is"]
