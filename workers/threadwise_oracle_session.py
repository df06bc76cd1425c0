"""The threads of sessions: each binds itself, logs in, reads its data once, and is parked between slices.

A loop inside the server counts steps that ended inside the window. The server's usage is read over the whole call and
scaled by rows in the window over rows of the call (docs/WORKER.md, "Loops inside a server").
"""

from __future__ import annotations

import queue
import random
import time
from dataclasses import dataclass, field
from typing import Any

import threadwise_oracle_blocks as blocks
import threadwise_oracle_rows as rows
from threadwise_failure import Failed
from threadwise_load import Load
from threadwise_oracle_address import Target
from threadwise_oracle_clock import Call, ServerClock, measure
from threadwise_oracle_failure import advice, failed, log_traceback
from threadwise_oracle_options import Insert, LogicalIo, Work, first_key, key_check
from threadwise_oracle_place import locate
from threadwise_oracle_schema import Loaded
from threadwise_oracle_server import Connection, text_of
from threadwise_oracle_server import Session as Identity
from threadwise_oracle_steps import Window, add_usage, closed_loop, fixed_work, server_slice, too_long
from threadwise_oracle_usage import Meter, Usage
from threadwise_session import AtWork, Session, wait_until_ns


#: Share of the blocks that the second reading of all data may fetch from files.
UNCACHED_PART = 1000

#: The order to read the usage so far.
GET_READY = object()


@dataclass(frozen=True)
class Setup:
    """What a session is opened with."""

    session: int
    sessions: int
    target: Target
    load: Load
    work: Work
    suffix: str
    #: The record of the load.
    said: Loaded
    cpus: set[int]
    #: Seed of the block.
    seed: int


@dataclass(frozen=True)
class Order:
    """The work of a session in a slice."""

    window: Window
    #: Queries of a stream, in order.
    queries: list[int]
    at_work: AtWork


@dataclass
class Done:
    """What a session's thread reports: that it is open, or its part of a slice."""

    session: int
    slice_json: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Named:
    """The engine, for the base class."""

    name = "oracle"


class OracleSession(Session):
    """The thread of one session, whatever its workload is."""

    def __init__(self, setup: Setup, results: queue.SimpleQueue) -> None:
        super().__init__(Named(), setup, setup.cpus, results)
        self.connection: Connection | None = None
        self.identity: Identity | None = None
        self.meter: Meter | None = None
        #: Its process, or why that is not known.
        self.process: tuple[int | None, str] = (None, "")
        self.notes: list[str] = []
        #: Rows of the last call, in the window and outside of it.
        self.call_rows = 0
        #: Usage before the slice.
        self.before = Usage()
        #: Whether a call may be running.
        self.is_busy = True

    def run(self) -> None:
        """Works until the order None; an error is a result, too."""
        try:
            self._bind()
            self.open()
            self.results.put(Done(self.setup.session, notes=self.notes))
            self.is_busy = False
            for order in iter(self.orders.get, None):
                self.is_busy = True
                done = self.work(order)
                self.is_busy = False
                self.results.put(done)
            self.close()
            self.results.put(Done(self.setup.session))
        except Failed as why:
            if why.__cause__ is not None:
                log_traceback()
            self.results.put(why)
        except BaseException as cause:
            log_traceback()
            self.results.put(failed(f"work in session {self.setup.session}", advice(cause)))
        finally:
            self.close()

    def open(self) -> None:
        """Logs in, finds its process and what it may read, and prepares the workload."""
        self.connection = Connection(self.setup.target, f"session-{self.setup.session}")
        cause = self.connection.attempt(text_of("session_no_result_cache"))
        if cause is not None:
            self.notes.append(f"RESULT_CACHE_MODE could not be set: {advice(cause)}")
        self.identity = Identity(self.connection)
        self.process = locate(self.connection, self.identity)
        self.meter = Meter(self.connection, self.identity.sid, self.process[0])
        self.notes += self.meter.notes
        self.prepare()

    def prepare(self) -> None:
        """What the workload needs before its first slice."""
        raise NotImplementedError

    def slice_of(self, order: Order) -> dict[str, Any]:
        """One slice, as an entry of `sessions`."""
        raise NotImplementedError

    def work(self, order: Order | object) -> Done:
        """Prepares or runs a slice. In any case the other sessions are then notified."""
        if order is GET_READY:
            self.get_ready()
            return Done(self.setup.session)
        try:
            return Done(self.setup.session, self.slice_of(order))
        finally:
            order.at_work.one_is_done()

    def get_ready(self) -> None:
        """Reads the usage so far."""
        self.before = self.meter.before()

    def close(self) -> None:
        """Logs out."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def cancel(self) -> None:
        """Cancels what runs; called by another thread."""
        connection = self.connection
        if connection is not None and self.is_busy:
            connection.cancel()


class StepSession(OracleSession):
    """A session of a workload of steps."""

    def prepare(self) -> None:
        """Measures the server's clock, and reads the data once."""
        self.clock: ServerClock = measure(self.connection, self.process[0] is not None)
        self.warm()

    def warm(self) -> None:
        """Brings its data into the cache, and checks it."""
        raise NotImplementedError

    def in_server(self, window: Window) -> tuple[dict[str, Any], Call]:
        """A loop inside the server."""
        raise NotImplementedError

    def in_client(self, window: Window) -> tuple[dict[str, Any], Call]:
        """A loop in the client."""
        raise NotImplementedError

    def get_ready(self) -> None:
        """Measures the clock again if needed, and reads the usage so far."""
        if self.setup.work.in_server and self.clock.is_stale():
            self.clock = measure(self.connection, self.process[0] is not None)
        super().get_ready()

    def slice_of(self, order: Order) -> dict[str, Any]:
        """One slice, with the server's usage."""
        client_ns = time.thread_time_ns()
        loop = self.in_server if self.setup.work.in_server else self.in_client
        slice_json, call = loop(order.window)
        client_ns = time.thread_time_ns() - client_ns
        self.call_rows = call.all_rows()
        add_usage(slice_json, self.meter.after().since(self.before, call), call.share(client_ns))
        return slice_json

    def server_window(self, window: Window) -> tuple[int, int]:
        """The window in the server's microseconds."""
        return self.clock.to_server_us(window.start_ns), self.clock.to_server_us(window.end_ns)


class BlocksSession(StepSession):
    """A session of `logical-io`."""

    def __init__(self, setup: Setup, results: queue.SimpleQueue) -> None:
        super().__init__(setup, results)
        self.spec: LogicalIo = setup.work.spec
        table = 0 if self.spec.shared else setup.session
        self.names = blocks.names(setup.target.prefix, setup.suffix, table)
        self.steps = blocks.steps(self.spec, setup.seed, setup.session)
        self.seeds = random.Random(f"threadwise slices {setup.seed} {setup.session}")

    def warm(self) -> None:
        """Reads every row, and refuses a plan without visits by the index. Reading everything again shows whether it
        stays in memory."""
        self.notes.append(f"plan of a step: {blocks.plan(self.connection, self.names, self.spec)}")
        blocks.warm(self.connection, self.names, self.spec)
        if "physical_reads" not in self.meter.names.values():
            return
        most, read = max(self.spec.blocks // UNCACHED_PART, 1), 0
        for _ in range(2):
            before = self.meter.before()
            blocks.warm(self.connection, self.names, self.spec)
            read = self.meter.after().counters["physical_reads"] - before.counters["physical_reads"]
            if read <= most:
                return
        raise failed("keep the data in memory", f"not cached: reading it again read {read} blocks from files; make the "
                                                "instance's buffer cache larger (db_cache_size), or the "
                                                "data smaller (--set data_mib=N)")

    def in_server(self, window: Window) -> tuple[dict[str, Any], Call]:
        """The procedure's loop."""
        spec, (start_us, end_us) = self.spec, self.server_window(window)
        steps, calls, wrong = self.connection.call(
            "run its loop", self.names.procedure,
            [start_us, end_us, f"{self.seeds.getrandbits(64):x}", spec.work_unit, spec.starts(), spec.hot_pct,
             max(spec.hot_blocks - spec.work_unit + 1, 1), spec.update_pct, spec.think_time_us / 1e6], 3)
        if wrong:
            raise Failed("wrong-answer", f"{wrong} of {calls} steps on {self.names.table} gave another number of rows "
                                         "or another sum")
        call = Call(steps, calls, spec.work_unit)
        return server_slice(call, is_checked=True), call

    def in_client(self, window: Window) -> tuple[dict[str, Any], Call]:
        """A statement a step."""
        def step() -> None:
            first, update = next(self.steps)
            (blocks.change if update else blocks.visit)(self.connection, self.names, self.spec, first)

        return closed_loop(window, self.spec.work_unit, True, step, self.spec.think_time_us * 1000)


class RowsSession(StepSession):
    """A session of `insert`."""

    def __init__(self, setup: Setup, results: queue.SimpleQueue) -> None:
        super().__init__(setup, results)
        self.spec: Insert = setup.work.spec
        self.names = rows.names(setup.target.prefix, setup.suffix)
        self.keys = rows.random_keys(setup.seed, setup.session + 1)
        #: Inserted content so far, and the number of its next row.
        self.inserted, self.next_row = rows.Content(), 0

    def warm(self) -> None:
        """Reads the table once."""
        rows.held(self.connection, self.names)

    def in_server(self, window: Window) -> tuple[dict[str, Any], Call]:
        """The procedure's loop."""
        spec, wanted = self.spec, self.spec.rows_per_session or 0
        start_us, end_us = self.server_window(window)
        if wanted:
            wait_until_ns(window.start_ns)
        session = self.setup.session
        # Its own random stream for each call, since keys must not repeat.
        stream = f"{self.setup.seed:x}/{session}/{self.next_row}"
        steps, calls, key_sum, ended_us = self.connection.call(
            "run its loop", self.names.procedure,
            [start_us, end_us, stream, session + 1, first_key(session) + self.next_row, spec.rows_per_tx, wanted], 4)
        call = Call(steps, calls, spec.rows_per_tx)
        self._tell(call, key_sum)
        slice_json = server_slice(call, is_checked=False)
        # Steps are not checked one by one; the whole table is checked at the end.
        slice_json["answers_checked"] = call.steps
        if wanted:
            if call.all_rows() < wanted or ended_us > end_us:
                raise too_long(window, call.all_rows(), wanted)
            slice_json["finished_ns"] = max(self.clock.monotonic_ns_of(ended_us) - window.start_ns, 1)
        return slice_json, call

    def in_client(self, window: Window) -> tuple[dict[str, Any], Call]:
        """An array of rows and a commit a step."""
        spec, owner = self.spec, self.setup.session + 1
        first, key_sum = first_key(self.setup.session), 0
        sql, commit = rows.insert_sql(self.names), rows.commit_sql(spec)

        def step() -> None:
            nonlocal key_sum
            keys = [next(self.keys) if spec.is_random else first + self.next_row + place
                    for place in range(spec.rows_per_tx)]
            self.connection.run_many("insert rows", sql, [(key, owner, place, key) for place, key in enumerate(keys)])
            self.connection.run("commit rows", commit)
            self.next_row += spec.rows_per_tx
            key_sum += sum(map(key_check, keys))

        if spec.rows_per_session:
            slice_json, call = fixed_work(window, spec.rows_per_session, spec.rows_per_tx, step)
        else:
            slice_json, call = closed_loop(window, spec.rows_per_tx, False, step)
        self.inserted = self.inserted + rows.Content(call.all_rows(), key_sum)
        return slice_json, call

    def _tell(self, call: Call, key_sum: int) -> None:
        self.next_row += call.all_rows()
        self.inserted = self.inserted + rows.Content(call.all_rows(), key_sum)

