"""A stream of queries, and a session of short queries beside streams.

What is measured of a query:

* `elapsed_ns` from the call to the last row in the client. Planning is part of it, since a statement is parsed,
  planned and executed in one call; its plan is in the library cache after the first time, which the warm-up is.
* `cpu_ns` of a serial query: the session's DB CPU. Of a parallel one: V$SQL.CPU_TIME of its cursor, which the
  coordinator and the parallel execution servers add to (Oracle Database Reference 19c, "V$SQL"). V$PX_SESSTAT has a
  server's statistics only while that works, so that nothing is left there when a query has ended. Each session's text
  is its own by a comment, so that no other session adds to its cursor.
* `dop` from V$PQ_SESSTAT (DOP of the last query), which a session can ask for itself alone.
* the executed plan from V$SQL_PLAN. The cursor is the one of the text's SQL_ID whose executions grew: SQL_ID is the
  last 64 bits of the MD5 of the text and a zero byte, in digits of base 32 (T. Poder, "SQL_ID is just a fancy
  representation of hash value", 2009).

Adaptive plans and adaptive statistics are off in the session, since a plan must not change while it is executed, nor
by having been executed (SQL Tuning Guide 19c, "Query Optimizer Concepts").
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import queue
import struct
import time
from typing import Any

import threadwise_oracle_tpch as tpch
from threadwise_failure import Failed
from threadwise_load import read_queries
from threadwise_oracle_clock import Call
from threadwise_oracle_failure import advice, failed, is_missing, number_of, statement_failed
from threadwise_oracle_options import Tpch
from threadwise_oracle_plan import answer, canonical
from threadwise_oracle_server import fill, text_of
from threadwise_oracle_session import OracleSession, Order, Setup
from threadwise_oracle_steps import Window, add_usage
from threadwise_oracle_tables import with_hint, with_tables
from threadwise_session import wait_until_ns
from threadwise_short import Histogram, order_keys

#: Minimum time limit of a call, milliseconds.
LEAST_MS = 1

#: Orders that are looked up before the first slice.
WARM_LOOKUPS = 100

#: Parameter by version, and what it is set to.
ADAPTIVE = {"optimizer_adaptive_plans": "FALSE", "optimizer_adaptive_statistics": "FALSE"}
ADAPTIVE_12_1 = {"optimizer_adaptive_features": "FALSE"}

NO_PLAN = ("plans and the CPU time of parallel queries are not known: the account lacks SELECT on V_$SQL and "
           "V_$SQL_PLAN (GRANT SELECT ON SYS.V_$… TO the account)")
NO_DOP = ("observed degree of parallelism unknown: the account lacks SELECT on V_$PQ_SESSTAT (GRANT SELECT ON "
          "SYS.V_$PQ_SESSTAT TO the account)")

#: By plan of a statement: executions, CPU time in microseconds, bytes read, bytes written.
Usage = dict[int, tuple[int, int, int, int]]


def sql_id(text: str) -> str:
    """A statement's SQL_ID."""
    words = struct.unpack("<IIII", hashlib.md5(text.encode() + b"\0", usedforsecurity=False).digest())
    value = words[2] << 32 | words[3]
    return "".join("0123456789abcdfghjkmnpqrstuvwxyz"[value >> shift & 31] for shift in range(60, -1, -5))


def too_long(number: int, window: Window) -> Failed:
    """A query was not done at the window's end."""
    limit_s = (window.end_ns - window.start_ns) / 1e9
    return failed(f"execute query q{number:02}", f"the time limit of {limit_s:.1f} s was reached: allow more "
                                                 "(slice_ms), use a smaller scale, or leave the query out (queries)")


class QuerySession(OracleSession):
    """The thread of one stream."""

    def __init__(self, setup: Setup, results: queue.SimpleQueue) -> None:
        super().__init__(setup, results)
        self.spec: Tpch = setup.work.spec
        self.dop = self.spec.options.dop or len(setup.cpus)
        texts = read_queries(setup.load.data_dir, setup.session, self.spec.options.queries)
        self.texts = {number: self._text(number, sql) for number, sql in texts.items()}
        self.sees_cursors = self.sees_dop = True

    def _text(self, number: int, sql: str) -> str:
        """The query as it is executed."""
        hint = f"PARALLEL({self.dop})" if self.dop > 1 else "NO_PARALLEL"
        try:
            text = with_hint(with_tables(sql.strip().rstrip(";"), self.setup.target.prefix), hint)
        except ValueError as cause:
            raise failed(f"read query q{number:02}", f"{cause}; start the study again, the runner writes it") from cause
        return f"{text}\n/* threadwise stream {self.setup.session} */"

    def prepare(self) -> None:
        """Sets up the session, reads the tables once, and plans every query."""
        connection = self.connection
        old = connection.inner.version.startswith("12.1.")
        for name, value in (ADAPTIVE_12_1 if old else ADAPTIVE).items():
            connection.set(name, value)
        tpch.try_settings(connection, self.spec)
        kind = "session_parallel" if self.dop > 1 else "session_serial"
        connection.run("choose parallel execution", text_of(kind))
        if self.setup.session == 0:
            tpch.read_all(connection, self.setup.target.prefix)
        for number, sql in self.texts.items():
            try:
                with connection.inner.cursor() as cursor:
                    cursor.parse(sql)
            except connection.errors as cause:
                raise statement_failed(f"plan query q{number:02}", cause) from cause
        self._usage(0)
        self._plan(next(iter(self.texts)), 0)
        if self.dop > 1:
            self._observed()

    def slice_of(self, order: Order) -> dict[str, Any]:
        """Executes the queries of a slice, one after another from the common start."""
        window, done = order.window, []
        wait_until_ns(window.start_ns)
        client_ns = time.thread_time_ns()
        for number in order.queries:
            done.append(self._execute(number, window))
        finished_ns = time.monotonic_ns() - window.start_ns
        client_ns = time.thread_time_ns() - client_ns
        count = len(done)
        slice_json = {"steps": count, "rows": count, "answers_checked": 0, "answers_wrong": 0, "cpu_ns": 0,
                      "counters": {}, "latency": "", "finished_ns": max(finished_ns, 1), "queries": done}
        add_usage(slice_json, self.meter.after().since(self.before, Call(count, count, 1)), client_ns)
        known = [one["cpu_ns"] for one in done if one["cpu_ns"] is not None]
        slice_json["cpu_ns"] = sum(known) if len(known) == count else 0
        return slice_json

    def _execute(self, number: int, window: Window) -> dict[str, Any]:
        """One query. Its usage is read outside the measured time."""
        usage_before, before = self._usage(number), self.meter.before()
        started_ns = time.monotonic_ns() - window.start_ns
        found, elapsed_ns = self._rows(number, window)
        # Read first, since it describes the last query.
        dop = self._observed() if self.dop > 1 else 1
        after, usage = self.meter.after(), self._usage(number)
        child, grown = _grown(usage_before, usage)
        if self.dop > 1:
            cpu_ns = grown[1] * 1000 if grown else None
        else:
            known = after.cpu_ns is not None and before.cpu_ns is not None
            cpu_ns = max(after.cpu_ns - before.cpu_ns, 0) if known else None
        return {
            "query": number,
            "started_ns": max(started_ns, 0),
            "elapsed_ns": elapsed_ns,
            "planning_ns": None,
            "cpu_ns": cpu_ns,
            "dop": dop,
            "rows": len(found),
            "plan": self._plan(number, child),
            "counters": {"read_bytes": grown[2], "spill_bytes": grown[3]} if grown else {},
            "answer": answer(found),
        }

    def _rows(self, number: int, window: Window) -> tuple[list[tuple], int]:
        """The answer, and how long it took; no longer than the window."""
        left_ms = (window.end_ns - time.monotonic_ns()) // 1_000_000
        if left_ms < LEAST_MS:
            raise too_long(number, window)
        connection = self.connection
        connection.limit_ms(left_ms)
        began_ns = time.monotonic_ns()
        try:
            found = connection.rows(self.texts[number])
        except connection.errors as cause:
            if number_of(cause) in ("DPY-4024", "ORA-01013"):
                raise too_long(number, window) from cause
            raise failed(f"execute query q{number:02}", advice(cause)) from cause
        elapsed_ns = time.monotonic_ns() - began_ns
        connection.limit_ms(0)
        return found, elapsed_ns

    def _ask(self, name: str, binds: dict[str, Any]) -> list[tuple] | None:
        """Rows of a view that the account may not be allowed to read."""
        try:
            return self.connection.rows(text_of(name), binds)
        except self.connection.errors as cause:
            if not is_missing(cause):
                raise statement_failed("read what a query used", cause) from cause
            return None

    def _usage(self, number: int) -> Usage | None:
        """What all executions of a query took so far, by child cursor; number 0 is no query. None if that may
        not be read."""
        if not self.sees_cursors:
            return None
        rows = self._ask("query_usage", {"sql_id": sql_id(self.texts.get(number, ""))})
        if rows is None:
            self.sees_cursors = False
            self.notes.append(NO_PLAN)
            return None
        return {int(child): tuple(int(value or 0) for value in values) for child, *values in rows}

    def _plan(self, number: int, child: int | None) -> str | None:
        """The plan that was executed."""
        if not self.sees_cursors or child is None:
            return None
        rows = self._ask("query_plan", {"sql_id": sql_id(self.texts[number]), "child": child})
        if rows is None:
            self.sees_cursors = False
            self.notes.append(NO_PLAN)
            return None
        return canonical(rows, self.setup.target.prefix) or None

    def _observed(self) -> int | None:
        """The degree of parallelism of the session's last query."""
        if not self.sees_dop:
            return None
        rows = self._ask("query_parallel", {})
        if rows is None:
            self.sees_dop = False
            self.notes.append(NO_DOP)
            return None
        found = {str(name): int(value or 0) for name, value in rows}
        if found.get("Queries Parallelized") == 0:
            return 1
        return max(found.get("DOP") or found.get("Allocation Height") or 1, 1)


def _grown(before: Usage | None, after: Usage | None) -> tuple[int | None, tuple[int, int, int, int] | None]:
    """The plan that was executed in between, and what that took."""
    nothing = (0, 0, 0, 0)
    for child, now in (after or {}).items():
        then = (before or {}).get(child, nothing)
        if now[0] > then[0]:
            return child, tuple(max(new - old, 0) for new, old in zip(now, then, strict=True))
    return None, None


class ShortSession(OracleSession):
    """A session beside the streams: one order by its key, again and again until the last stream is done."""

    def __init__(self, setup: Setup, results: queue.SimpleQueue) -> None:
        super().__init__(setup, results)
        self.orders_there = int(1_500_000 * setup.work.spec.scale)
        self.sql = fill("tpch_short", table=tpch.name_of(setup.target.prefix, "orders"))

    def prepare(self) -> None:
        """Looks up some orders that no slice uses."""
        self.connection.run("choose serial execution", text_of("session_serial"))
        for key in itertools.islice(self._keys(-1), WARM_LOOKUPS):
            self._look_up(key)

    def _keys(self, sequence: int) -> Any:
        return order_keys(self.setup.seed, self.setup.session, sequence, self.orders_there)

    def _look_up(self, key: int) -> bool:
        """Whether an order is found by its key, and no other."""
        found = self.connection.ask(f"look up order {key}", self.sql, {"order_key": key})
        return len(found) == 1 and found[0][0] == key

    def slice_of(self, order: Order) -> dict[str, Any]:
        """Look-ups from the common start until the last stream is done."""
        keys, histogram, window = self._keys(order.window.sequence), Histogram(), order.window
        client_ns, steps, wrong = time.thread_time_ns(), 0, 0
        wait_until_ns(window.start_ns)
        while order.at_work.any() and time.monotonic_ns() < window.end_ns:
            began_ns = time.monotonic_ns()
            wrong += not self._look_up(next(keys))
            histogram.record(time.monotonic_ns() - began_ns)
            steps += 1
        client_ns = time.thread_time_ns() - client_ns
        slice_json = {"steps": steps, "rows": steps, "answers_checked": steps, "answers_wrong": wrong, "cpu_ns": 0,
                      "counters": {}, "latency": base64.b64encode(histogram.to_bytes()).decode(),
                      "finished_ns": max(time.monotonic_ns() - window.start_ns, 1)}
        add_usage(slice_json, self.meter.after().since(self.before, Call(steps, steps, 1)), client_ns)
        return slice_json
