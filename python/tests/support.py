"""What the tests share: the stored studies, a simulated one that is made for them, and what the program exports."""

from __future__ import annotations

import csv
import functools
import io
import os
import sqlite3
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))

import threadwise  # noqa: E402
from threadwise import _program  # noqa: E402

STORED = ROOT / "crates" / "report" / "tests" / "it" / "frozen" / "studies"

#: A study that takes some seconds.
SHORT: dict[str, Any] = {
    "engine": "simulated",
    "blocks": 8,
    "seed": 1,
    "no_probe": True,
    "allow_busy": True,
    "no_html": True,
}
#: One that ends only when it is interrupted.
ENDLESS = {**SHORT, "blocks": 100000}

#: Further studies to try, such as large ones, separated by `:`.
MORE = "THREADWISE_TEST_STUDIES_MORE"


def studies() -> list[Path]:
    """All studies that are tried."""
    more = [Path(name) for name in os.environ.get(MORE, "").split(":") if name]
    return [*sorted(STORED.glob("*.threadwise")), *more]


def exported(path: Path, what: str) -> list[list[str]]:
    """The lines of `threadwise export`, the names of the columns first."""
    return list(csv.reader(io.StringIO(_program.asked("export", str(path), "--what", what))))


def as_exported(value: Any) -> str:
    """A value as the cell of a line."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def is_exported(value: Any, cell: str) -> bool:
    """Whether a cell has this value. A line marks texts that a spreadsheet would take for formulas by `'`."""
    if isinstance(value, float):
        return cell != "" and float(cell) == value
    return as_exported(value) == cell or "'" + as_exported(value) == cell


def observed(path: Path) -> None:
    """Makes a file of `threadwise observe` with the tables of its schema."""
    connection = sqlite3.connect(path)
    connection.executescript((ROOT / "crates" / "store" / "src" / "observed" / "schema.sql").read_text())
    statements = [(1, "shop 1 top 7", "shop", "app", "SELECT ?\x1b[2J", 0), (2, "shop 1 top 8", None, None, None, 1)]
    connection.executemany("INSERT INTO statements VALUES (?, ?, ?, ?, ?, ?)", statements)
    for number, gap, busy in [(1, None, 0.25), (2, "restart", None)]:
        values = [
            number,
            1000,
            2000,
            10**9,
            gap,
            "day",
            "on",
            None,
            2,
            "15.1",
            busy,
            *[None] * 4,
            *[None] * 3,
            *[0] * 6,
        ]
        connection.execute(f"INSERT INTO intervals VALUES ({', '.join('?' * len(values))})", values)
    connection.execute("INSERT INTO counts VALUES (1, 1, 3, 4000000, 5)")
    connection.commit()
    connection.close()


@functools.lru_cache(maxsize=None)
def made() -> bytes:
    """The contents of a simulated study."""
    with tempfile.TemporaryDirectory() as folder:
        return threadwise.run(output=f"{folder}/made.threadwise", **SHORT).path.read_bytes()


class InFolder(unittest.TestCase):
    """Tests in a temporary folder, which has `simulated.threadwise`."""

    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        cls.folder = Path(kept.name)
        os.chdir(cls.folder)
        Path("simulated.threadwise").write_bytes(made())
        cls.study = threadwise.open("simulated.threadwise")
