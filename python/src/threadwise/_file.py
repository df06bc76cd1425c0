"""Files of threadwise: identified by their first bytes, and read by SQLite without changing anything.

Source of the layout: https://www.sqlite.org/fileformat2.html, section 1.3.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Union

#: `application_id` and the `user_version` that this module reads, of the result file of a study (docs/STORE.md).
STUDY = (0x74687769, 8)
#: The same of statements in production (docs/OBSERVE.md).
OBSERVED = (0x74686F62, 3)

FilePath = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """What failed, on what, and what to do next, in one line."""


@functools.lru_cache(maxsize=65536)
def marked(text: str) -> str:
    """A text with U+FFFD for each control and format character but line ends and tabs: files come from elsewhere, and
    such characters change what a terminal shows."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in _DECEPTIVE and c not in "\n\t" else c for c in text)


_DECEPTIVE = ("Cc", "Cf", "Zl", "Zp")


class File:
    """A file that was identified. It is opened for each question, so that nothing of it stays open."""

    def __init__(self, path: FilePath) -> None:
        self.path = Path(path)
        try:
            with open_regular(self.path) as file:
                header = file.read(100)
        except OSError as error:
            raise Error(f"cannot read {self.path}: {error.strerror}") from None
        if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
            raise Error(f"{self.path} is not a result file of threadwise: it is not an SQLite file")
        self.id = int.from_bytes(header[68:72], "big")
        version = int.from_bytes(header[60:64], "big")
        known = dict([STUDY, OBSERVED]).get(self.id)
        if known is None:
            raise Error(f"{self.path} is not a result file of threadwise: it is another program's SQLite file")
        if version != known:
            remedy = "install a newer threadwise" if version > known else "run the study again with this one"
            raise Error(f"{self.path} has schema {version}, and this module reads {known}: {remedy}")
        if header[18:20] != b"\x01\x01":
            raise Error(f"{self.path} was put into WAL mode by another program: use the original file")

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reader]:
        """The file for one question. What goes wrong meanwhile is an `Error` that names it."""
        uri = self.path.resolve().as_uri() + "?mode=ro"
        try:
            with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                reader = Reader(connection)
                if reader.value("SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"):
                    raise Error(f"{self.path} has views or triggers, which threadwise does not write: use the original")
                yield reader
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise Error(f"{self.path} is in use, probably by a running study: wait until that ends") from None
            if "readonly" in str(error):
                text = f"{self.path} was interrupted while it was written: `threadwise run --resume FILE` repairs it"
                raise Error(text) from None
            raise Error(f"{self.path} cannot be read ({error}): use a complete copy of it") from None
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise Error(f"{self.path} is damaged ({type(error).__name__}: {error}): use a complete copy") from error


class Reader:
    """An open file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """The rows of a query, one after the other."""
        return self._connection.execute(sql, values)

    def value(self, sql: str, *values: Any) -> Any:
        """The first value of a query, `None` without a row."""
        row: Sequence[Any] = self.rows(sql, *values).fetchone() or [None]
        return row[0]


def open_regular(path: Path) -> Any:
    """Opens a file that is neither a pipe nor a device, which could wait for ever."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")
    return path.open("rb")
