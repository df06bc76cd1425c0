"""A running treatment: its sessions, the connection that controls and checks them, and their slices.

During a slice, the control connection samples the sessions' waits 20 times a second (Oracle Database
Reference 19c, "V$SESSION": EVENT, STATE, WAIT_CLASS; no part of the Diagnostics Pack), and reads V$SYSTEM_EVENT before
and after it.
"""

from __future__ import annotations

import contextlib
import queue
import random
import time
from typing import Any

import threadwise_oracle_rows as rows
from threadwise_failure import Failed
from threadwise_load import Load
from threadwise_oracle_address import Target
from threadwise_oracle_clock import uncertainty_note
from threadwise_oracle_failure import failed, is_missing, statement_failed
from threadwise_oracle_options import Insert, LogicalIo, Tpch, Work
from threadwise_oracle_place import NotPlaced, Places, locate, place
from threadwise_oracle_query import QuerySession, ShortSession
from threadwise_oracle_schema import Loaded
from threadwise_oracle_server import Connection, fill, numbers, text_of
from threadwise_oracle_server import Session as Identity
from threadwise_oracle_session import (
    GET_READY,
    BlocksSession,
    Done,
    OracleSession,
    Order,
    RowsSession,
    Setup,
    StepSession,
)
from threadwise_oracle_steps import Window
from threadwise_session import AtWork, wait_until_ns

#: Sampling interval.
PERIOD_NS = 50_000_000

#: Time limit for a session to report after a window's end, and after it was cancelled.
GRACE_S, CANCEL_S = 60.0, 10.0

NO_WAITS = ("what sessions wait for is not sampled: the account lacks SELECT on V_$SESSION (GRANT SELECT ON "
            "SYS.V_$SESSION TO the account)")
NO_EVENTS = ("the server's waits are not counted: the account lacks SELECT on V_$SYSTEM_EVENT (GRANT SELECT ON "
             "SYS.V_$SYSTEM_EVENT TO the account)")
HINTS_OF_TPCH = ("plans are in the library cache from the warm-up on, so planning is not separated; adaptive "
                 "plans and adaptive statistics are off")


class Crew:
    """The sessions of a prepared worker."""

    def __init__(self, target: Target, load: Load, work: Work, suffix: str, said: Loaded, cpus: list[set[int]],
                 service: set[int] | None, seed: int, journal: str | None) -> None:
        self.target, self.work, self.said, self.suffix = target, work, said, suffix
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.sessions: list[OracleSession] = []
        self.places: Places | None = None
        self.notes: list[str] = []
        self.phases = random.Random(f"threadwise phases {seed}")
        self.sees_waits, self.sees_events = target.waits, True
        self.control = Connection(target, "control")
        try:
            self.identity = Identity(self.control)
            self._find_data()
            setups = [Setup(number, len(cpus), target, load, work, suffix, said, own, seed)
                      for number, own in enumerate(cpus)]
            for setup in setups:
                session = self._kind(setup)(setup, self.results)
                self.sessions.append(session)
                session.start()
                for done in self._collect(1, None):
                    self._note(*done.notes)
            pids = [session.process for session in self.sessions]
            self.placed, self.places, notes = place(self.control, locate(self.control, self.identity), pids, cpus,
                                                    service or set().union(*cpus), journal)
            self._note(*notes, *self._standing())
        except BaseException:
            self.close()
            raise

    def _kind(self, setup: Setup) -> type[OracleSession]:
        match self.work.spec:
            case LogicalIo():
                return BlocksSession
            case Insert():
                return RowsSession
        streams = setup.sessions - self.work.spec.options.short
        return QuerySession if setup.session < streams else ShortSession

    def _note(self, *notes: str) -> None:
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def _find_data(self) -> None:
        """Removes the rows that a killed run left in a table of inserts."""
        if isinstance(self.work.spec, Insert):
            one, seed = rows.names(self.target.prefix, self.suffix), rows.seeded(self.said)
            if rows.held(self.control, one) != (seed, rows.Content()):
                rows.put_back(self.control, one, seed)

    def _standing(self) -> list[str]:
        """Notes for the report, once all sessions are open."""
        notes = []
        if len({session.identity.instance for session in self.sessions}) > 1:
            notes.append("sessions are on several instances of a cluster: give the service of one")
        if any(session.identity.instance != self.identity.instance for session in self.sessions):
            self.sees_waits = False
        if isinstance(self.work.spec, Tpch):
            notes.append(HINTS_OF_TPCH)
            if self.work.spec.options.dop != 1 and self.places is not None:
                notes.append(NotPlaced("server not pinned: parallel execution servers come from the instance's pool "
                                       "and run where they are; only the coordinators are bound"))
        elif self.work.in_server:
            notes.append("loops run inside the server")
            clocks = [session.clock for session in self.sessions if isinstance(session, StepSession)]
            notes += uncertainty_note(max(clock.uncertainty_ns for clock in clocks))
        self._events()
        if self.sees_waits:
            self._look()
        return notes

    def tids(self) -> list[int]:
        """Thread ids of the sessions, in their order."""
        return [session.native_id for session in self.sessions]

    def _collect(self, count: int, until: float | None) -> list[Done]:
        done = []
        for _ in range(count):
            left_s = None if until is None else max(until - time.monotonic(), 0.001)
            result = self.results.get(timeout=left_s)
            if isinstance(result, Failed):
                raise result
            done.append(result)
        return sorted(done, key=lambda one: one.session)

    def go(self, window: Window, queries: list[list[int]]) -> dict[str, Any]:
        """One slice, as a reply."""
        streams = sum(isinstance(session, QuerySession) for session in self.sessions)
        at_work = AtWork(streams or len(self.sessions))
        for session, numbers_of in zip(self.sessions, queries, strict=True):
            session.orders.put(Order(window, numbers_of, _counted(session, streams, at_work)))
        samples = self._sample(window)
        try:
            done = self._collect(len(self.sessions), window.end_ns / 1e9 + GRACE_S)
        except queue.Empty:
            raise failed("finish a slice", f"a session did not come back {GRACE_S:.0f} s after its end; check whether "
                                           "the server or the network is stuck") from None
        sessions = [one.slice_json for one in done]
        counters = self._counted_events(sessions) | samples
        return {"type": "slice", "sequence": window.sequence, "start_ns": window.start_ns,
                "window_ns": self._window_ns(window, sessions), "sessions": sessions, "counters": counters}

    def before(self) -> None:
        """Places service processes again, reads the server's waits, and lets every session read its usage so far,
        so that none of this is inside a window."""
        if self.places is not None:
            self.places.keep_service()
        for session in self.sessions:
            session.orders.put(GET_READY)
        self._collect(len(self.sessions), time.monotonic() + GRACE_S)
        self.events_before = self._events()

    def _window_ns(self, window: Window, sessions: list[dict[str, Any]]) -> int:
        """The requested window; for fixed work and streams until the last one ended, for a single query its own time."""
        streams = [one for one in sessions if "queries" in one]
        if len(sessions) == 1 and streams and len(streams[0]["queries"]) == 1:
            return max(streams[0]["queries"][0]["elapsed_ns"], 1)
        finished = [one["finished_ns"] for one in streams or sessions if "finished_ns" in one]
        return max(finished) if finished else window.end_ns - window.start_ns

    def _events(self) -> dict[str, tuple[int, int]]:
        """Waits of the whole server and their time, microseconds, by event."""
        if not self.sees_events:
            return {}
        try:
            found = self.control.rows(text_of("system_events"))
            return {str(event): (int(waits), int(us)) for event, waits, us in found}
        except self.control.errors as cause:
            if not is_missing(cause):
                raise statement_failed("read the server's waits", cause) from cause
            self.sees_events = False
            self._note(NO_EVENTS)
            return {}

    def _counted_events(self, sessions: list[dict[str, Any]]) -> dict[str, int]:
        """The server's waits over the calls, scaled to the rows of the windows."""
        called = sum(session.call_rows for session in self.sessions)
        in_window = sum(one["rows"] for one in sessions)
        counters = {}
        for event, (waits, us) in self._events().items():
            waits_before, us_before = self.events_before.get(event, (waits, us))
            name = event.replace(" - ", " ").replace(": ", " ").replace(" ", "_").lower()
            for unit, amount in (("waits", waits - waits_before), ("wait_us", us - us_before)):
                share = amount * in_window // called if called else amount
                counters[f"{name}_{unit}"] = max(share, 0)
        return counters

    def _look(self) -> list[str]:
        """The state of each session: the name of an event, or `running`."""
        sids = numbers(session.identity.sid for session in self.sessions)
        try:
            found = self.control.rows(fill("session_waits", sids=sids))
        except self.control.errors as cause:
            if not is_missing(cause):
                raise statement_failed("look at what sessions wait for", cause) from cause
            self.sees_waits = False
            self._note(NO_WAITS)
            return []
        names = []
        for _, state, event, wait_class in found:
            if state != "WAITING":
                names.append("running")
            elif wait_class != "Idle":
                names.append(str(event))
            elif not self.work.in_server:
                names.append("client")
        return names

    def _sample(self, window: Window) -> dict[str, int]:
        """Samples during a window, until it ends or all sessions are done."""
        counters: dict[str, int] = {}
        at_ns = window.start_ns + int(self.phases.random() * PERIOD_NS)
        while self.sees_waits and at_ns < window.end_ns:
            wait_until_ns(at_ns)
            if self._are_done(window):
                break
            names, now_ns = self._look(), time.monotonic_ns()
            # A late answer describes the time between windows.
            if now_ns < window.end_ns and not self._are_done(window):
                for name in names:
                    counters[f"waits/{name}"] = counters.get(f"waits/{name}", 0) + 1
            at_ns = max(at_ns + PERIOD_NS, now_ns)
        return counters | ({"waits_sampled": sum(counters.values())} if counters else {})

    def _are_done(self, window: Window) -> bool:
        """Whether every session has reported; one that failed counts as well."""
        return self.results.qsize() >= len(self.sessions) or any(not session.is_alive() for session in self.sessions)

    def end(self) -> None:
        """Closes the sessions, checks and restores the data that they changed, and the masks of processes."""
        try:
            for session in self.sessions:
                session.orders.put(None)
            self._collect(len(self.sessions), time.monotonic() + GRACE_S)
            if isinstance(self.work.spec, Insert):
                self._check_rows()
        except queue.Empty:
            raise failed("end its sessions", "one did not end") from None
        finally:
            self.close()

    def _check_rows(self) -> None:
        one, seed = rows.names(self.target.prefix, self.suffix), rows.seeded(self.said)
        inserted = rows.Content()
        for session in self.sessions:
            inserted = inserted + session.inserted
        found = rows.held(self.control, one)
        rows.put_back(self.control, one, seed)
        rows.check("after the run", (seed, inserted), found)

    def give_up(self) -> None:
        """Ends everything after a failure, and restores what it can; the next study does the rest."""
        self.close_sessions()
        if isinstance(self.work.spec, Insert):
            with contextlib.suppress(Failed):
                rows.put_back(self.control, rows.names(self.target.prefix, self.suffix), rows.seeded(self.said))
        self.close()

    def close(self) -> None:
        """Ends all connections. May be called again."""
        self.close_sessions()
        self.control.close()

    def close_sessions(self) -> None:
        """Restores masks, and ends the sessions; running calls are cancelled."""
        places, self.places = self.places, None
        if places is not None:
            places.put_back()
        until = time.monotonic() + CANCEL_S
        for session in self.sessions:
            session.orders.put(None)
            session.cancel()
        for session in self.sessions:
            if session.is_alive():
                session.join(max(until - time.monotonic(), 0))


def _counted(session: OracleSession, streams: int, at_work: AtWork) -> AtWork:
    """Only streams count as work, not short queries."""
    return at_work if not streams or isinstance(session, QuerySession) else Beside(at_work)


class Beside(AtWork):
    """The stream counter for a session of short queries, which is not a stream."""

    def __init__(self, streams: AtWork) -> None:
        super().__init__(0)
        self.streams = streams

    def one_is_done(self) -> None:
        """Does nothing."""

    def any(self) -> bool:
        """Whether a stream is still at work."""
        return self.streams.any()
