"""A proxy of one connection to an Oracle server: requests and replies are lines of JSON on stdin and stdout.

It contains no statement and knows no workload: the engine (crates/engine-oracle) has both. The driver is python-oracledb
in its thin mode, which needs no client libraries (python-oracledb, "Initializing python-oracledb"; written against
26.1.0). One process has one connection, so that connections share no interpreter lock, and it inherits the logical CPUs
of the thread that starts it.

| `do` | fields | reply |
|---|---|---|
| `connect` | what `oracledb.connect` takes, `autocommit`, `call_timeout_ms` | `version` |
| `prepare` | `sql`, `parse`: whether the server reads it now | `statement`: its number, `sql_id` |
| `execute` | `sql` or `statement`, `values`, `outs`: how many numbers it gives in parameters | `rows`, `changed` |
| `many` | `sql`, `rows` of values | `changed` |
| `drain` | `statement`, `values`, `most_bytes` | `bytes` of its rows, which are read and dropped |
| `column` | `statement`, `most`, `most_bytes` | `rows` with the first column, up to a little more than these |
| `limit` | `call_timeout_ms` | |

A statement's parameters are `:p1`, `:p2`, …; numbers that it gives come after its values. An error is
`{"error": {"code": "ORA-00942", "text": "…"}}`, with the code `driver` where the driver cannot be loaded. The end of
stdin closes the connection.

SIGTERM, which the kernel sends when the starting thread ends however it ends (prctl(2), PR_SET_PDEATHSIG), cancels what
the server is doing for the connection, and ends the process.
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
import hashlib
import json
import os
import re
import signal
import struct
import sys
import threading
import time
from typing import Any

#: Rows that are fetched at once.
FETCH_ROWS = 1000

#: Time after SIGTERM for a cancelled call to return, seconds.
GRACE_S = 5.0

#: Numbers of JSON that every reader takes for whole numbers.
LARGEST = 2**63 - 1

PR_SET_PDEATHSIG = 1


class Proxy:
    """The connection and its statements."""

    def __init__(self) -> None:
        #: Filled by `connect`.
        self.driver: Any = None
        self.inner: Any = None
        #: A cursor and a text for each prepared statement.
        self.statements: list[tuple[Any, str]] = []
        #: What executes statements that are not prepared.
        self.cursor: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        asked = request.pop("do")
        try:
            if asked == "connect":
                return self._connect(**request)
            return getattr(self, f"_{asked}")(**request)
        except Exception as cause:
            return {"error": error_of(cause)}

    def _connect(self, autocommit: bool, call_timeout_ms: int, **parameters: Any) -> dict[str, Any]:
        import oracledb

        self.driver = oracledb
        # NUMBER unchanged, not converted through doubles ("Fetched Number Precision").
        oracledb.defaults.fetch_decimals = True
        oracledb.defaults.fetch_lobs = False
        self.inner = oracledb.connect(server_type="dedicated", **parameters)
        self.inner.autocommit = autocommit
        self.inner.call_timeout = call_timeout_ms
        self.cursor = self._new_cursor()
        return {"version": self.inner.version}

    def _new_cursor(self) -> Any:
        cursor = self.inner.cursor()
        cursor.arraysize = FETCH_ROWS
        cursor.prefetchrows = FETCH_ROWS + 1
        return cursor

    def _prepare(self, sql: str, parse: bool) -> dict[str, Any]:
        cursor = self._new_cursor()
        if parse:
            cursor.parse(sql)
        self.statements.append((cursor, sql))
        return {"statement": len(self.statements) - 1, "sql_id": sql_id(sql)}

    def _execute(self, values: list[Any], outs: int, sql: str | None = None, statement: int | None = None
                 ) -> dict[str, Any]:
        cursor, text = (self.cursor, sql) if statement is None else self.statements[statement]
        given = [cursor.var(int) for _ in range(outs)]
        cursor.execute(text, named([*values, *given]))
        if given:
            return {"rows": [[plain(one.getvalue()) for one in given]], "changed": None}
        if cursor.description is None:
            return {"rows": [], "changed": max(cursor.rowcount, 0)}
        return {"rows": [[plain(value) for value in row] for row in cursor.fetchall()], "changed": None}

    def _many(self, sql: str, rows: list[list[Any]]) -> dict[str, Any]:
        self.cursor.executemany(sql, [named(row) for row in rows])
        return {"changed": max(self.cursor.rowcount, 0)}

    def _drain(self, statement: int, values: list[Any], most_bytes: int) -> dict[str, Any]:
        cursor, text = self.statements[statement]
        cursor.execute(text, named(values))
        total = 0
        while cursor.description is not None and total <= most_bytes:
            rows = cursor.fetchmany(FETCH_ROWS)
            if not rows:
                break
            total += sum(size_of(value) for row in rows for value in row) + 8 * len(rows)
        return {"bytes": total}

    def _column(self, statement: int, most: int, most_bytes: int) -> dict[str, Any]:
        cursor, text = self.statements[statement]
        cursor.execute(text)
        found: list[list[Any]] = []
        total = 0
        while cursor.description is not None and len(found) <= most and total <= most_bytes:
            rows = cursor.fetchmany(FETCH_ROWS)
            if not rows:
                break
            found += [[plain(row[0])] for row in rows]
            total += sum(size_of(row[0]) for row in rows)
        return {"rows": found}

    def _limit(self, call_timeout_ms: int) -> dict[str, Any]:
        self.inner.call_timeout = call_timeout_ms
        return {}

    def cancel(self) -> None:
        """Cancels what the main thread waits for."""
        try:
            if self.inner is not None:
                self.inner.cancel()
        except Exception:
            return  # it is gone, and with it what was to be cancelled

    def close(self) -> None:
        """Ends the session; uncommitted changes are rolled back."""
        try:
            if self.inner is not None:
                self.inner.close()
        except Exception:
            return  # it has ended by itself


def named(values: list[Any]) -> dict[str, Any] | None:
    """Values by the names of their parameters."""
    return {f"p{at}": value for at, value in enumerate(values, 1)} or None


def plain(value: Any) -> Any:
    """A value as JSON has it: whole numbers, else text."""
    if isinstance(value, decimal.Decimal):
        if value.as_tuple().exponent < 0:
            return format(value, "f")
        value = int(value)
    match value:
        case None | str():
            return value
        case int():
            return value if -LARGEST <= value <= LARGEST else str(value)
        case float():
            return repr(value)
        case datetime.datetime():
            is_day = value.time() == datetime.time()
            return value.date().isoformat() if is_day else value.isoformat(" ")
        case bytes():
            return value.hex()
    return str(value)


def sql_id(text: str) -> str:
    """A statement's SQL_ID: the last 64 bits of the MD5 of its text and a zero byte, in digits of base 32 (T. Poder,
    "SQL_ID is just a fancy representation of hash value", 2009)."""
    words = struct.unpack("<IIII", hashlib.md5(text.encode() + b"\0", usedforsecurity=False).digest())
    value = words[2] << 32 | words[3]
    return "".join("0123456789abcdfghjkmnpqrstuvwxyz"[value >> shift & 31] for shift in range(60, -1, -5))


def size_of(value: Any) -> int:
    """Bytes of a value; only texts can be large."""
    return len(value) if isinstance(value, (str, bytes)) else 8


def error_of(cause: Exception) -> dict[str, str]:
    """Code and text of an error. The driver's errors hold one object with a message ("_Error Objects")."""
    if isinstance(cause, ImportError):
        return {"code": "driver", "text": str(cause)}
    inner = cause.args[0] if cause.args else None
    text = str(getattr(inner, "message", None) or cause) or type(cause).__name__
    found = re.search(r"\b(ORA|DPY)-(\d{4,5})\b", text)
    if found is None:
        return {"code": "", "text": text if inner is not None else f"{type(cause).__name__}: {text}"}
    return {"code": f"ORA-{int(found[2]):05}" if found[1] == "ORA" else f"DPY-{found[2]}", "text": text}


def obey(proxy: Proxy) -> None:
    """Waits for the signal, in a thread of its own: the main thread may be in a call."""
    signal.sigwait({signal.SIGTERM})
    proxy.cancel()
    time.sleep(GRACE_S)
    os._exit(1)


def main() -> None:
    """Answers requests until the end of stdin."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the starting process decides what ends
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(sys.argv[1]):
        return  # it has ended before that
    # Nothing else may be among the replies.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    proxy = Proxy()
    threading.Thread(target=obey, args=(proxy,), daemon=True).start()
    for line in sys.stdin.buffer:
        try:
            replies.write(json.dumps(proxy.answer(json.loads(line)), separators=(",", ":")).encode() + b"\n")
            replies.flush()
        except BrokenPipeError:
            break
    proxy.close()
    # Not by `sys.exit`: a thread waits for the signal.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
