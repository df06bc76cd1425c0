"""A stand-in for the driver `oracledb` that talks to `oracle_model`, with the part of its interface that the proxy uses.
The model's socket is named in THREADWISE_TEST_ORACLE_MODEL.
"""

from __future__ import annotations

import os
from multiprocessing.connection import Client
from types import SimpleNamespace
from typing import Any

ADDRESS = os.environ.get("THREADWISE_TEST_ORACLE_MODEL", "")
if ADDRESS == "no-driver":
    raise ImportError("No module named 'oracledb'")

defaults = SimpleNamespace(fetch_decimals=False, fetch_lobs=True)


class Error(Exception):
    """As the driver's: its first argument is an object with code, full_code and message."""


def _error(number: str, message: str) -> Error:
    kind, code = number.split("-")
    return Error(SimpleNamespace(full_code=number, code=int(code) if kind == "ORA" else 0, message=message))


class Var:
    """A variable that a call fills in."""

    def __init__(self) -> None:
        self.value: Any = None

    def getvalue(self) -> Any:
        """What it was given."""
        return self.value


class Cursor:
    """A cursor."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize, self.prefetchrows, self.rowcount = 100, 2, -1
        self.found: list[tuple] | None = None
        self.description: list[tuple] | None = None

    def var(self, typ: Any) -> Var:
        """A variable."""
        assert typ is int
        return Var()

    def _ask(self, kind: str, statement: str, parameters: Any) -> None:
        outs = {}
        if isinstance(parameters, dict):
            outs = {name: value for name, value in parameters.items() if isinstance(value, Var)}
            parameters = {name: value for name, value in parameters.items() if name not in outs}
        self.found, self.rowcount, given = self.connection.ask(kind, statement, parameters)
        self.description = None if self.found is None else [("column",)]
        for out, value in zip(outs.values(), given, strict=True):
            out.value = value

    def execute(self, statement: str, parameters: Any = None) -> None:
        """Executes a statement."""
        assert parameters is None or len(parameters) > 0
        self._ask("execute", statement, parameters)

    def executemany(self, statement: str, parameters: Any) -> None:
        """Executes a statement for each row."""
        assert parameters and all(isinstance(row, dict) for row in parameters)
        self._ask("executemany", statement, parameters)

    def parse(self, statement: str) -> None:
        """Parses a statement."""
        self.connection.ask("parse", statement, None)

    def fetchall(self) -> list[tuple]:
        """All rows."""
        if self.found is None:
            raise _error("DPY-1003", "the executed statement does not return rows")
        return self.found

    def fetchmany(self, size: int) -> list[tuple]:
        """Some rows."""
        some, self.found = self.fetchall()[:size], self.fetchall()[size:]
        return some


class Connection:
    """A connection."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.call_timeout, self.autocommit = 0, False
        try:
            self.peer = Client(ADDRESS, "AF_UNIX")
        except OSError as cause:
            raise _error("DPY-6005", f"cannot connect to database ({cause})") from None
        self.sid, self.version = self._receive("connect", asked)

    def _receive(self, *message: Any) -> Any:
        try:
            self.peer.send(message)
            kind, *what = self.peer.recv()
        except (EOFError, OSError):
            raise _error("DPY-4011", "DPY-4011: the database or network closed the connection") from None
        if kind == "error":
            raise _error(*what)
        return what[0]

    def ask(self, kind: str, statement: str, parameters: Any) -> Any:
        """One round trip."""
        return self._receive(kind, statement, parameters, self.call_timeout, self.autocommit)

    def cursor(self) -> Cursor:
        """A cursor."""
        return Cursor(self)

    def cancel(self) -> None:
        """Cancels what another thread does."""
        with Client(ADDRESS, "AF_UNIX") as other:
            other.send(("cancel", self.sid))
            other.recv()

    def close(self) -> None:
        """Ends it."""
        self.peer.close()


def connect(*, user: str, password: str, host: str, port: int, service_name: str, protocol: str, server_type: str,
            tcp_connect_timeout: float, expire_time: int, program: str, stmtcachesize: int) -> Connection:
    """Logs in. `host` must be one that is there."""
    if host == "nowhere.example":
        raise _error("DPY-6005", f"DPY-6005: cannot connect to database (CONNECTION_ID=x).\n[Errno 111] {host}")
    assert defaults.fetch_decimals and not defaults.fetch_lobs
    return Connection({"user": user, "password": password, "service_name": service_name, "protocol": protocol,
                       "port": port, "server_type": server_type, "program": program})
