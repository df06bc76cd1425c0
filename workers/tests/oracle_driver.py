"""A stand-in for the driver `oracledb` that talks to `oracle_model`, with the part of its interface that the worker
uses; and the program that runs the worker with it: `oracle_driver.py SOCKET [check]`.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Client
from types import SimpleNamespace
from typing import Any

defaults = SimpleNamespace(fetch_decimals=False)

#: Socket of the model.
ADDRESS = ""


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

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.found = None

    def var(self, typ: Any) -> Var:
        """A variable."""
        assert typ is int
        return Var()

    def _ask(self, kind: str, statement: str, parameters: Any) -> dict[str, Any]:
        outs = {}
        if isinstance(parameters, dict):
            outs = {name: value for name, value in parameters.items() if isinstance(value, Var)}
            parameters = {name: value for name, value in parameters.items() if name not in outs}
        self.found, self.rowcount, given = self.connection.ask(kind, statement, parameters)
        for name, value in given.items():
            outs[name].value = value
        return given

    def execute(self, statement: str, parameters: Any = None) -> Cursor:
        """Executes a statement."""
        assert parameters is None or len(parameters) > 0
        self._ask("execute", statement, parameters)
        return self

    def executemany(self, statement: str, parameters: Any) -> None:
        """Executes a statement for each row."""
        assert parameters and all(isinstance(row, tuple) for row in parameters)
        self._ask("executemany", statement, parameters)

    def parse(self, statement: str) -> None:
        """Parses a statement."""
        self.connection.ask("parse", statement, None)

    def callproc(self, name: str, parameters: Any) -> list[Any]:
        """Calls a procedure."""
        outs = [one for one in parameters if isinstance(one, Var)]
        values = [None if isinstance(one, Var) else one for one in parameters]
        for out, value in zip(outs, self.connection.ask("callproc", name, values), strict=True):
            out.value = value
        return []

    def fetchall(self) -> list[tuple]:
        """All rows."""
        if self.found is None:
            raise _error("DPY-1003", "the executed statement does not return rows")
        return self.found


class Connection:
    """A connection."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.call_timeout = 0
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
        return self._receive(kind, statement, parameters, self.call_timeout)

    def cursor(self) -> Cursor:
        """A cursor."""
        return Cursor(self)

    def commit(self) -> None:
        """Ends the transaction."""
        self._receive("commit")

    def rollback(self) -> None:
        """Takes it back."""
        self._receive("rollback")

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
    assert defaults.fetch_decimals
    return Connection({"user": user, "password": password, "service_name": service_name, "protocol": protocol,
                       "port": port, "server_type": server_type, "program": program})


if __name__ == "__main__":
    ADDRESS = sys.argv.pop(1)
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if ADDRESS == "no-driver":
        sys.modules["oracledb"] = None  # type: ignore[assignment]
    else:
        sys.modules["oracledb"] = sys.modules["__main__"]
    from threadwise_oracle_worker import main

    main()
