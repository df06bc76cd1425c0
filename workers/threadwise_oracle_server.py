"""Connections to a server, and statements from the .sql files beside this one.

Statements are the files `oracle_*.sql`, without the comments at their heads, with names of objects in the places that
braces mark. Values are bound. The driver is python-oracledb in its thin mode, which needs no client libraries
(python-oracledb, "Initializing python-oracledb"); it is imported where it is first needed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from threadwise_failure import Failed
from threadwise_oracle_address import Target
from threadwise_oracle_failure import advice, failed, number_of, statement_failed, without_secrets

#: Time limit for the listener, seconds.
CONNECT_S = 10.0

#: Keepalive interval of a parked connection in minutes, so that no firewall drops it.
KEEPALIVE_MIN = 2

#: Rows that are fetched at once.
FETCH_ROWS = 1000

Binds = dict[str, Any] | Sequence[Any]


def driver() -> Any:
    """The module `oracledb`, set up."""
    try:
        import oracledb
    except ImportError as cause:
        raise Failed("engine", f"the driver oracledb cannot be loaded ({cause}); run: threadwise engine add oracle"
                     ) from cause
    # NUMBER unchanged, not converted through doubles ("Fetched Number Precision").
    oracledb.defaults.fetch_decimals = True
    return oracledb


@functools.cache
def text_of(name: str) -> str:
    """The statement of a file, without the comment at its head."""
    path = Path(__file__).resolve().parent / f"oracle_{name}.sql"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as cause:
        raise Failed("engine", f"the worker's file {path} cannot be read ({cause}): reinstall threadwise") from cause
    while lines and lines[0].startswith("--"):
        lines.pop(0)
    return "\n".join(lines).strip()


def fill(file: str, /, **places: object) -> str:
    """The statement of a file with its places filled in; a missing one is a bug."""
    return re.sub(r"\{([a-z_]+)\}", lambda found: str(places[found[1]]), text_of(file))


class Connection:
    """One session of the server, used by one thread at a time."""

    def __init__(self, target: Target, what: str) -> None:
        oracledb = driver()
        try:
            self.inner = oracledb.connect(
                user=target.user, password=target.password, host=target.host, port=target.port,
                service_name=target.service, protocol="tcps" if target.tls else "tcp", server_type="dedicated",
                tcp_connect_timeout=CONNECT_S, expire_time=KEEPALIVE_MIN, program=f"threadwise-{what}",
                stmtcachesize=40)
        except oracledb.Error as cause:
            raise failed(f"log in to {target.place()} as '{target.user}'", advice(cause)) from None
        self.errors = oracledb.Error
        try:
            self.run("set up a connection", text_of("session_settings"))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, cause: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def run(self, action: str, sql: str, binds: Binds = ()) -> int:
        """Executes a statement without a result; returns the number of changed rows."""
        try:
            with self.inner.cursor() as cursor:
                cursor.execute(sql, binds or None)
                return cursor.rowcount
        except self.errors as cause:
            raise statement_failed(action, cause) from cause

    def attempt(self, sql: str) -> BaseException | None:
        """Executes a statement without a result; returns why it failed, if it did."""
        try:
            with self.inner.cursor() as cursor:
                cursor.execute(sql)
                return None
        except self.errors as cause:
            return cause

    def run_many(self, action: str, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Executes a statement once for each row, in one call."""
        try:
            with self.inner.cursor() as cursor:
                cursor.executemany(sql, rows)
        except self.errors as cause:
            raise statement_failed(action, cause) from cause

    def ask(self, action: str, sql: str, binds: Binds = ()) -> list[tuple]:
        """All rows of a query."""
        try:
            return self.rows(sql, binds)
        except self.errors as cause:
            raise statement_failed(action, cause) from cause

    def rows(self, sql: str, binds: Binds = ()) -> list[tuple]:
        """All rows of a query; raises the driver's own error."""
        with self.inner.cursor() as cursor:
            cursor.arraysize = FETCH_ROWS
            cursor.prefetchrows = FETCH_ROWS + 1
            cursor.execute(sql, binds or None)
            return cursor.fetchall()

    def call(self, action: str, procedure: str, values: Sequence[Any], results: int) -> list[int]:
        """Calls a procedure whose last parameters are `results` output numbers."""
        try:
            with self.inner.cursor() as cursor:
                outs = [cursor.var(int) for _ in range(results)]
                cursor.callproc(procedure, [*values, *outs])
                given = [out.getvalue() for out in outs]
        except self.errors as cause:
            raise statement_failed(action, cause) from cause
        if any(one is None for one in given):
            raise failed(action, "it gave no result")
        return [round(one) for one in given]

    def make_procedure(self, name: str, sql: str) -> None:
        """Creates a procedure. One that does not compile is created anyway, and only a view has the errors."""
        self.run(f"make procedure {name}", sql)
        errors = self.ask("look for errors of compilation", text_of("compile_errors"), {"name": name})
        if errors:
            raise failed(f"make procedure {name}", f"line {errors[0][0]}: {errors[0][1]}")

    def set(self, name: str, value: object, option: str | None = None) -> None:
        """Sets a parameter of the session; errors of the user's settings name the option."""
        try:
            with self.inner.cursor() as cursor:
                cursor.execute(fill("session_set", name=name, value=value))
        except self.errors as cause:
            if option is None:
                raise statement_failed(f"set {name}", cause) from cause
            raise Failed("option", without_secrets(f"option '{option}': the server refuses it: {advice(cause)}")
                         ) from cause

    def commit(self) -> None:
        """Ends the transaction."""
        try:
            self.inner.commit()
        except self.errors as cause:
            raise statement_failed("commit", cause) from cause

    def rollback(self) -> None:
        """Rolls back the transaction."""
        try:
            self.inner.rollback()
        except self.errors as cause:
            raise statement_failed("roll back", cause) from cause

    def limit_ms(self, milliseconds: int) -> None:
        """Time limit of every further call; 0 for none."""
        self.inner.call_timeout = milliseconds

    def cancel(self) -> None:
        """Cancels what another thread is doing with it."""
        try:
            self.inner.cancel()
        except self.errors:
            return  # it is gone, and with it what was to be cancelled

    def close(self) -> None:
        """Ends the session; uncommitted changes are rolled back."""
        try:
            self.inner.close()
        except self.errors:
            return  # it has ended by itself


class Session:
    """The server's facts about a connection."""

    def __init__(self, connection: Connection) -> None:
        ((sid, instance, host, protocol, user),) = connection.ask("ask who it is", text_of("session_own"))
        self.sid, self.instance = int(sid), str(instance)
        self.host, self.protocol, self.user = str(host or ""), str(protocol or ""), str(user)


def numbers(values: Iterable[int]) -> str:
    """A list of whole numbers for a statement's place."""
    return ", ".join(str(int(value)) for value in values)


def is_lost(cause: BaseException) -> bool:
    """Whether a session has ended, so that it cannot be used any more."""
    return number_of(cause) in ("DPY-4011", "DPY-1001", "ORA-03113", "ORA-03114", "ORA-03135", "ORA-00028")

