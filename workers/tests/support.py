"""What the tests share: data at a small scale, queries with the validation parameters of the TPC-H
specification, and the runner's side of the worker protocol."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORKERS = Path(__file__).resolve().parent.parent
QUERIES = WORKERS.parent / "crates" / "tpch" / "queries"

#: Engines of the environment that runs the tests.
ENGINES = ("duckdb", "datafusion")

#: Engines with an environment of their own, beside that one, and their packages.
APART = {"clickhouse": "chdb-core"}

#: Large enough that lineitem has several row groups, which is what engines divide among threads.
SCALE = "0.05"

SECOND_NS = 1_000_000_000

#: Takes both engines long enough to be measured, and is divided among threads.
HEAVY = """SELECT count(*) AS pairs, max(a.l_extendedprice * b.l_discount) AS most
FROM lineitem a, lineitem b WHERE a.l_suppkey = b.l_suppkey AND b.l_orderkey < 20000"""

#: Does not end within any time limit of a test.
ENDLESS = """SELECT count(*) AS n FROM lineitem a, lineitem b, lineitem c
WHERE a.l_partkey + b.l_partkey + c.l_partkey = 17"""

#: Needs memory for every row of lineitem.
WIDE = """SELECT count(*) AS n, max(t.c) AS most FROM (
  SELECT l_orderkey, l_linenumber, concat(l_comment, l_comment, l_comment, l_comment) AS wide,
    count(*) AS c
  FROM lineitem
  GROUP BY l_orderkey, l_linenumber, concat(l_comment, l_comment, l_comment, l_comment)) t"""

#: Written by hand, with answers that are exact in every engine.
BY_HAND = {
    1: """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS q, count(*) AS n,
          min(l_shipdate) AS d FROM lineitem
          GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    2: """SELECT n_name, max(s_acctbal) AS most FROM nation LEFT JOIN supplier
          ON n_nationkey = s_nationkey AND s_acctbal > 9000 GROUP BY n_name ORDER BY n_name""",
    3: """SELECT o_orderkey, o_orderdate, o_comment FROM orders, customer
          WHERE o_custkey = c_custkey AND c_mktsegment = 'BUILDING'
          ORDER BY o_totalprice DESC, o_orderkey LIMIT 7""",
    4: "SELECT count(*) AS n FROM region WHERE r_name = 'NOWHERE'",
    5: "SELECT r_name FROM region WHERE r_name = 'NOWHERE' ORDER BY r_name",
}


def _words(**values: str) -> dict[str, str]:
    return {name: f"'{value}'" for name, value in values.items()}


def _dates(**values: str) -> dict[str, str]:
    return {name: f"DATE '{value}'" for name, value in values.items()}


def _numbers(name: str, *values: int | str) -> dict[str, str]:
    return {f"{name}{at}": str(value) for at, value in enumerate(values, 1)}


_YEAR_1994 = _dates(date="1994-01-01", date_end="1995-01-01")

#: Validation parameters (specification, clauses 2.4.1.4 to 2.4.22.4).
VALIDATION: dict[int, dict[str, str]] = {
    1: _dates(date_end="1998-09-02"),
    2: _words(type_like="%BRASS", region="EUROPE") | {"size": "15"},
    3: _words(segment="BUILDING") | _dates(date="1995-03-15"),
    4: _dates(date="1993-07-01", date_end="1993-10-01"),
    5: _words(region="ASIA") | _YEAR_1994,
    6: {"discount_low": "0.05", "discount_high": "0.07", "quantity": "24"} | _YEAR_1994,
    7: _words(nation1="FRANCE", nation2="GERMANY"),
    8: _words(nation="BRAZIL", region="AMERICA", type="ECONOMY ANODIZED STEEL"),
    9: _words(color_like="%green%"),
    10: _dates(date="1993-10-01", date_end="1994-01-01"),
    11: _words(nation="GERMANY") | {"fraction": "0.002"},
    12: _words(shipmode1="MAIL", shipmode2="SHIP") | _YEAR_1994,
    13: _words(words_like="%special%requests%"),
    14: _dates(date="1995-09-01", date_end="1995-10-01"),
    15: _dates(date="1996-01-01", date_end="1996-04-01"),
    16: _words(brand="Brand#45", type_like="MEDIUM POLISHED%")
    | _numbers("size", 49, 14, 23, 45, 19, 3, 36, 9),
    17: _words(brand="Brand#23", container="MED BOX"),
    18: {"quantity": "300"},
    19: _words(brand1="Brand#12", brand2="Brand#23", brand3="Brand#34")
    | {"quantity1": "1", "quantity1_end": "11", "quantity2": "10", "quantity2_end": "20",
       "quantity3": "20", "quantity3_end": "30"},
    20: _words(color_like="forest%", nation="CANADA") | _YEAR_1994,
    21: _words(nation="SAUDI ARABIA"),
    22: _numbers("code", *(f"'{code}'" for code in (13, 31, 23, 29, 30, 18, 17))),
}


def python_of(engine: str) -> Path:
    """The interpreter of the engine's environment; it need not exist."""
    if engine in ENGINES:
        return Path(sys.executable)
    return Path(sys.prefix).parents[1] / engine / "venv" / "bin" / "python"


def version_of(engine: str) -> str:
    """Version of the engine's package."""
    ask = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    return subprocess.run([python_of(engine), "-I", "-c", ask, APART.get(engine, engine)],
                          check=True, capture_output=True, text=True).stdout.strip()


def tpch_queries(engine: str) -> dict[int, str]:
    """The 22 queries in the engine's dialect, parameters filled in."""
    filled = {}
    for number, values in VALIDATION.items():
        own = QUERIES / engine / f"q{number:02}.sql"
        path = own if own.exists() else QUERIES / f"q{number:02}.sql"
        text = path.read_text(encoding="utf-8")
        filled[number] = re.sub(r":([a-z][a-z_0-9]*)", lambda m, v=values: v[m[1]], text)
    return filled


class Data:
    """The eight tables in a temporary folder, made by the environment's own generator."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="threadwise-workers-test-")
        self.root = Path(self.folder.name)
        self.tables = self.root / "tables"
        generator = Path(sys.executable).parent / "tpchgen-cli"
        subprocess.run([generator, "parquet", "-s", SCALE, "--output-dir", self.tables], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.count = 0

    def dir(self, *streams: dict[int, str], copy: bool = False) -> Path:
        """A data folder as the runner makes it, with these queries for each stream."""
        self.count += 1
        folder = self.root / f"data {self.count}"  # a blank, since users' folders have some
        folder.mkdir()
        if copy:
            shutil.copytree(self.tables, folder / "tpch")
        else:
            (folder / "tpch").symlink_to(self.tables)
        for stream, queries in enumerate(streams):
            own = folder / "queries" / str(stream)
            own.mkdir(parents=True)
            for number, sql in queries.items():
                (own / f"q{number:02}.sql").write_text(sql, encoding="utf-8")
        return folder

    def remove(self) -> None:
        """Removes everything."""
        self.folder.cleanup()


class Worker:
    """A worker process and the runner's side of the conversation."""

    def __init__(self, engine: str, cpus: set[int] | None = None,
                 interpreter: Sequence[str] = (),
                 words: Sequence[str] = ()) -> None:
        interpreter = interpreter or [str(python_of(engine))]
        self.cpus = cpus or os.sched_getaffinity(0)
        reading, writing = os.pipe()
        self.log = tempfile.TemporaryFile()
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cpus)  # inherited, as a runner starts its workers
        try:
            self.process = subprocess.Popen(
                [*interpreter, "-I", "-B", str(WORKERS / f"{engine}_worker.py"), *words],
                stdin=subprocess.PIPE, stdout=self.log, stderr=self.log, pass_fds=[writing],
                env={**os.environ, "THREADWISE_REPLY_FD": str(writing)})
        finally:
            os.sched_setaffinity(0, before)
        os.close(writing)
        self.replies = os.fdopen(reading, encoding="utf-8")
        self.hello = self.read()
        self.load: dict[str, Any] = {}
        self.tids: list[int] = []

    def read(self) -> dict[str, Any]:
        """The next reply; `{}` at the end of the stream."""
        line = self.replies.readline()
        return json.loads(line) if line else {}

    def raw(self, line: str) -> dict[str, Any]:
        """Sends a line as it is."""
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return self.read()

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Sends a request and reads its reply."""
        return self.raw(json.dumps({"type": kind} | fields) + "\n")

    def ask_load(self, data_dir: Path, sessions: int = 1, **options: Any) -> dict[str, Any]:
        """Sends `load`. Dots in names of options are written as two underscores."""
        self.load = {"workload": "tpch", "data_dir": str(data_dir), "treatment": "t",
                     "options": {name.replace("__", "."): v for name, v in options.items()},
                     "engine_options": {}, "sessions": sessions, "seed": 2**64 - 1}
        return self.ask("load", protocol=1, load=self.load)

    def ask_prepare(self, **more: Any) -> dict[str, Any]:
        """Sends `prepare` with every session on all of the worker's logical CPUs."""
        cpus = ",".join(map(str, sorted(self.cpus)))
        sessions = [{"cpus": cpus}] * self.load["sessions"]
        reply = self.ask("prepare", protocol=1, load=self.load, sessions=sessions, seed=7, **more)
        self.tids = reply.get("tids", [])
        return reply

    def ask_go(self, *queries: list[int], limit_ns: int = 120 * SECOND_NS, **more: Any
               ) -> dict[str, Any]:
        """Sends `go`."""
        fields = {"sequence": 3, "warmup_ns": 0, "window_ns": limit_ns, "queries": list(queries)}
        return self.ask("go", **(fields | more))

    def threads(self) -> dict[int, int]:
        """CPU time of every thread, nanoseconds."""
        folder = Path(f"/proc/{self.process.pid}/task")
        return {int(task.name): int((task / "schedstat").read_text().split()[0])
                for task in folder.iterdir()}

    def masks(self) -> list[set[int]]:
        """The mask of every thread."""
        return [os.sched_getaffinity(int(task)) for task in os.listdir(
            f"/proc/{self.process.pid}/task")]

    def close(self) -> int:
        """Ends it by the end of stdin, and says its exit status."""
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.replies.close()
        self.log.close()
        return status
