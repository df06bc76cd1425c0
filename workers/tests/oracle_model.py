"""A model of an Oracle server, for tests of the worker: a few of its tables, rights, locks and clocks, behind a socket.

It contains no part of Oracle and knows no SQL: each statement has to be the text of one of the engine's .sql files
(crates/engine-oracle/src/sql) with its places filled in, and what that does is modelled here. It runs in the test's
process, so that tests see what is left in it; the proxy talks to it by `oracle_driver`, a stand-in for the driver.
"""

from __future__ import annotations

import contextlib
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

WORKERS = Path(__file__).resolve().parent.parent

#: The engine's statements.
STATEMENT_FILES = WORKERS.parent / "crates" / "engine-oracle" / "src" / "sql"

#: Views that an account without rights may not read.
VIEWS = ("v$statname", "v$mystat", "v$sesstat", "v$sess_time_model", "v$process", "v$session", "v$system_event",
         "v$sql", "v$sql_plan", "v$pq_sesstat", "v$resource_limit", "v$buffer_pool")

#: Server's clock minus ours, microseconds: whole windows away.
SKEW_US = 3_600_123_456

#: How long a step of a loop takes.
STEP_S = 0.001

MESSAGES = {
    "ORA-00942": "table or view does not exist",
    "ORA-00955": "name is already used by an existing object",
    "ORA-01013": "user requested cancel of current operation",
    "ORA-01017": "invalid username/password; logon denied",
    "ORA-01031": "insufficient privileges",
    "ORA-04043": "object does not exist",
    "ORA-14452": "attempt to create, alter or drop an index on temporary table already in use",
    "ORA-00054": "resource busy and acquire with NOWAIT specified or timeout expired",
    "DPY-4011": "the database or network closed the connection",
    "DPY-4024": "call timeout exceeded",
}


class OracleError(Exception):
    """An error of the model's: number and message."""

    def __init__(self, number: str, more: str = "") -> None:
        super().__init__(f"{number}: {more or MESSAGES[number]}\nHelp: https://example.invalid/{number}")
        self.number = number


#: Statements of the crate engine-sql, which are not in files.
OTHERS = {
    "mark_read": "SELECT says FROM {schema}threadwise_mark",
    "list_read": "SELECT kind, name FROM {schema}threadwise_objects",
    "loads_read": "SELECT bytes, counted, notes FROM {schema}threadwise_loads WHERE suffix = :p1",
    "loads_other": "SELECT suffix FROM {schema}threadwise_loads WHERE suffix LIKE 'tpch %'",
    "loads_add": "INSERT INTO {schema}threadwise_loads (suffix, bytes, counted, notes) VALUES (:p1, :p2, :p3, :p4)",
    "read_only": "SET TRANSACTION READ ONLY",
    "read_write": "SET TRANSACTION READ WRITE",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
}


def parts_of(path: Path) -> list[tuple[str, str]]:
    """Names and texts of the statements of a file: those of a script have numbers."""
    parts = path.read_text(encoding="utf-8").rstrip("\n").split("\nGO\n")
    return [(path.stem if len(parts) == 1 else f"{path.stem}_{number}", part) for number, part in enumerate(parts)]


def pattern_of(text: str) -> tuple[re.Pattern[str], bool]:
    """What a template can be filled in to (crates/engine-sql/src/template.rs), and whether it has places."""
    pattern, seen, has_places = "", set(), False
    for line in text.splitlines():
        if line.lstrip().startswith("--"):
            continue
        is_optional = line.startswith("?")
        if is_optional:
            line = line.split(" ", 1)[1]
        found = ""
        for part in re.split(r"(\[\[.*?\]\]|\{[a-z0-9_]+\})", line):
            place = part[1:-1] if part.startswith("{") else ""
            has_places = has_places or bool(place)
            if part.startswith("[[") or place and is_optional:
                found += "[^\\n]*?"
            elif not place:
                found += re.escape(part)
            elif place in seen:
                found += f"(?P={place})"
            else:
                seen.add(place)
                found += f"(?P<{place}>[^\\n]*?)"
        pattern += f"(?:{found}\\n)?" if is_optional else f"{found}\\n"
    return re.compile(pattern), has_places


def statement_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Names and patterns of all statements, those without places first, then the longest first."""
    found = []
    files = [part for path in sorted(STATEMENT_FILES.glob("*.sql")) for part in parts_of(path)]
    for name, text in [*files, *OTHERS.items()]:
        pattern, has_places = pattern_of(text)
        found.append((has_places, -len(text), name, pattern))
    return [(name, pattern) for _, _, name, pattern in sorted(found, key=lambda one: one[:3])]


@dataclass
class Fault:
    """What goes wrong: the next `times` statements of that name fail, or take long."""

    statement: str
    number: str = ""
    message: str = ""
    seconds: float = 0.0
    times: int = 1
    #: Statements of that name that come to pass before.
    after: int = 0


@dataclass
class Session:
    """A session of the model's."""

    sid: int
    program: str
    cancelled: threading.Event = field(default_factory=threading.Event)
    undo: list[Callable[[], None]] = field(default_factory=list)
    cpu_us: int = 1000
    reads: int = 10
    redo: int = 0
    commits: int = 0
    plan: list[tuple] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    timeout_s: float | None = None


@dataclass
class Blocks:
    """A table of `logical-io`."""

    rows: dict[int, list[int]] = field(default_factory=dict)


@dataclass
class Rows:
    """The table of `insert`: c1 to c4."""

    rows: dict[int, int] = field(default_factory=dict)


class Model:
    """The server, listening on a socket below a folder."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "oracle.socket")
        self.user, self.password, self.version, self.service = "BENCH", "s3cret-Pa55", "19.22.0.0.0", "APP"
        self.tls_only = False
        self.missing: set[str] = set()
        self.privileges = {"CREATE SESSION", "CREATE TABLE", "CREATE PROCEDURE"}
        self.has_dbms_lock = True
        self.host = socket.gethostname()
        self.spid: int | None = None
        self.quota: tuple[int | None, int | None] = (1 << 20, 1 << 30)
        self.profile_limit = "UNLIMITED"
        self.blocks_a_row = 1
        self.reads_files = 0
        self.dop = 4
        self.compile_errors: list[tuple[int, str]] = []
        self.faults: list[Fault] = []
        self.objects: dict[str, tuple[str, Any]] = {}
        self.sessions: dict[int, Session] = {}
        self.statements: list[str] = []
        self.unknown: list[str] = []
        self.logins: list[dict[str, Any]] = []
        #: Sessions that are bound to the temporary table that is the lock.
        self.bound: set[int] = set()
        self.usage: dict[str, int] = {}
        #: Texts of the user's statements, with their rows.
        self.theirs: dict[str, list[tuple]] = {}
        #: What a unit of the workload burn gives.
        self.unit_answer = Decimal(sum(number * number % 10007 for number in range(10_000)))
        self.tpch = sqlite3.connect(":memory:", check_same_thread=False)
        self.patterns = statement_patterns()
        self.lock = threading.RLock()
        self.listener = Listener(self.address, "AF_UNIX", backlog=64)
        self.is_open = True
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    def close(self) -> None:
        """Ends the server. Its thread has to leave first: waiting for a number that is closed, it would take
        connections of whoever is given that number next."""
        self.is_open = False
        with contextlib.suppress(OSError):
            Client(self.address, "AF_UNIX").close()
        self.acceptor.join(10)
        self.listener.close()

    def names(self) -> list[str]:
        """Names of all objects that are there."""
        return sorted(self.objects)

    def wait_until_idle(self) -> None:
        """Until all sessions have ended, for at most some seconds."""
        until = time.monotonic() + 5
        while self.sessions and time.monotonic() < until:
            time.sleep(0.01)

    def _accept(self) -> None:
        while True:
            peer = self.listener.accept()
            if not self.is_open:
                peer.close()
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: Connection) -> None:
        session: Session | None = None
        try:
            while True:
                kind, *what = peer.recv()
                try:
                    if kind == "connect":
                        session = self._log_in(*what)
                        peer.send(("ok", (session.sid, self.version)))
                    elif kind == "cancel":
                        with self.lock:
                            if what[0] in self.sessions:
                                self.sessions[what[0]].cancelled.set()
                        peer.send(("ok", None))
                    else:
                        peer.send(("ok", self._work(session, kind, *what)))
                except OracleError as cause:
                    if cause.number == "DPY-4011" and kind != "connect":
                        peer.send(("error", cause.number, str(cause)))
                        return
                    peer.send(("error", cause.number, str(cause)))
        except (EOFError, OSError):
            pass
        finally:
            if session is not None:
                self._log_out(session)
            peer.close()

    def _log_in(self, asked: dict[str, Any]) -> Session:
        self.logins.append({name: value for name, value in asked.items() if name != "password"})
        self._fail("connect", None)
        if (asked["user"].upper(), asked["password"]) != (self.user, self.password):
            raise OracleError("ORA-01017")
        if asked["service_name"] != self.service:
            raise OracleError("DPY-6001", f'Service "{asked["service_name"]}" is not registered')
        with self.lock:
            session = Session(max(self.sessions, default=10) + 1, asked["program"])
            session.settings["protocol"] = asked["protocol"]
            self.sessions[session.sid] = session
        return session

    def _log_out(self, session: Session) -> None:
        with self.lock:
            self._roll_back(session)
            self.bound.discard(session.sid)
            del self.sessions[session.sid]

    def _roll_back(self, session: Session) -> None:
        for undo in reversed(session.undo):
            undo()
        session.undo.clear()

    def _commit(self, session: Session) -> None:
        session.undo.clear()
        session.commits += 1

    def _fail(self, name: str, session: Session | None) -> None:
        """Does what a test asked for."""
        for fault in self.faults:
            if fault.statement != name or fault.times == 0:
                continue
            if fault.after:
                fault.after -= 1
                continue
            fault.times -= 1
            if fault.seconds and session is not None:
                self._pause(session, fault.seconds)
            if fault.number:
                raise OracleError(fault.number, fault.message)

    def _pause(self, session: Session, seconds: float) -> None:
        """Lets time pass in a call, as far as it may take."""
        limit = session.timeout_s
        if session.cancelled.wait(seconds if limit is None else min(seconds, limit)):
            session.cancelled.clear()
            raise OracleError("ORA-01013")
        if limit is not None and limit < seconds:
            raise OracleError("DPY-4024", f"call timeout of {limit * 1000:.0f} ms exceeded")

    def match(self, sql: str) -> tuple[str, dict[str, str]]:
        """Which statement a text is, and what stands in its places."""
        called = re.fullmatch(r"BEGIN (\w+)\((:p\d+(?:, :p\d+)*)\); END;", sql)
        if called:
            return "call", {"procedure": called[1].upper()}
        for name, pattern in self.patterns:
            found = pattern.fullmatch(sql.rstrip("\n") + "\n")
            if found:
                return name, {place: text or "" for place, text in found.groupdict().items()} | {"sql": sql}
        if re.search(r"/\* threadwise stream \d+ \*/$", sql):
            return "query", {"sql": sql}
        if sql in self.theirs:
            return "theirs", {"sql": sql}
        self.unknown.append(sql)
        raise OracleError("ORA-00900", f"the text is not in the engine's files: {sql[:200]}")

    def _work(self, session: Session, kind: str, sql: str, binds: Any, timeout_ms: int, autocommit: bool) -> Any:
        """Rows or None, the number of changed rows, and numbers that a block gives."""
        session.timeout_s = timeout_ms / 1000 if timeout_ms else None
        name, places = self.match(sql)
        self.statements.append(name)
        self._fail(name, session)
        self._may_read(sql)
        if kind == "parse":
            return None, 0, []
        if name == "call":
            return None, 0, self._call(session, places["procedure"], list(binds.values()))
        from oracle_statements import STATEMENTS

        with self.lock:
            for row in binds if kind == "executemany" else [binds]:
                result = STATEMENTS[name](self, session, places, row)
            if autocommit and session.undo:
                self._commit(session)
        session.cpu_us += 100
        if kind == "executemany":
            return None, len(binds), []
        match result:
            case dict():
                return None, 0, list(result.values())
            case list():
                return result, 0, []
        return None, result or 0, []

    def _may_read(self, sql: str) -> None:
        """Whether the account may read the views that a statement names."""
        for view in re.findall(r"\bv\$\w+", sql):
            if view in self.missing:
                raise OracleError("ORA-00942")

    def sql_error(self, number: str) -> OracleError:
        """An error of that number."""
        return OracleError(number)

    def now_us(self) -> int:
        """The server's clock, microseconds since 1970."""
        return time.time_ns() // 1000 + SKEW_US

    def _call(self, session: Session, name: str, values: list[Any]) -> list[Any]:
        """Calls a procedure with its arguments; gives its answers."""
        if self.objects.get(name, ("", None))[0] != "PROCEDURE":
            raise OracleError("ORA-06550", f"line 1, column 7:\nPLS-00201: identifier '{name}' must be declared")
        made = self.objects[name][1]
        table = self.objects[made["table"].upper()][1]
        loop = self._blocks if isinstance(table, Blocks) else self._rows
        return loop(session, table, made, values)

    def _step(self, session: Session) -> int:
        """Some time of a loop, and the clock behind it."""
        if session.cancelled.wait(STEP_S):
            session.cancelled.clear()
            raise OracleError("ORA-01013")
        session.cpu_us += 500
        return self.now_us()

    def _blocks(self, session: Session, table: Blocks, made: dict[str, str], values: list[Any]) -> list[int]:
        start_us, end_us, seed = values
        unit, updates = int(made["unit"]), "UPDATE" in made["sql"]
        starts = len(table.rows) - unit + 1
        steps = calls = wrong = 0
        while True:
            first = hash((seed, calls)) % starts
            found = [table.rows[key] for key in range(first, first + unit) if key in table.rows]
            if updates and calls % 2:
                for row in found:
                    row[0], row[1] = row[0] + 1, row[1] - 1
            good = len(found) == unit and sum(map(sum, found)) == sum(7 * k + 3 for k in range(first, first + unit))
            wrong, calls = wrong + (not good), calls + 1
            session.reads += 2 * unit
            now_us = self._step(session)
            if now_us > end_us:
                return [steps, calls, wrong]
            steps += now_us > start_us

    def _rows(self, session: Session, table: Rows, made: dict[str, str], values: list[Any]) -> list[int]:
        owner, next_key, x, y, start_us, end_us, wanted = values
        per_tx = int(made["per_tx"])
        steps = calls = key_sum = 0
        while True:
            for place in range(per_tx):
                drawn = hash((x, y, next_key, calls, place)) % 2**60
                key = drawn if "DBMS_RANDOM.VALUE" in made["sql"] else next_key + calls * per_tx + place
                if key in table.rows:
                    raise OracleError("ORA-00001", "unique constraint violated")
                table.rows[key] = owner
                key_sum += key % 1_000_000_007
            session.redo, session.commits, calls = session.redo + 300 * per_tx, session.commits + 1, calls + 1
            now_us = self._step(session)
            if now_us > end_us or (steps := steps + (now_us > start_us)) and calls * per_tx == wanted:
                return [steps, calls, key_sum, x, y, now_us]


def oracle_value(column: str, value: Any) -> Any:
    """A value of the model's SQLite as the driver gives it: exact numbers, dates with a time, CHAR with blanks."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return datetime.fromisoformat(value)
    if isinstance(value, (int, float)):
        return Decimal(repr(value))
    return f"{value:<25}" if column == "n_name" else value
