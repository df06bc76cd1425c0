"""The bench of the workers: its arithmetic, its refusals, and that it runs. No test asserts a time."""

from __future__ import annotations

import contextlib
import io
import random
import subprocess
import sys
import unittest
from collections import Counter

from support import ENGINES, WORKERS, Data

BENCHES = WORKERS / "benches"
sys.path.insert(0, str(BENCHES))

import direct  # noqa: E402

DATA: Data


def setUpModule() -> None:  # noqa: N802 (unittest's name)
    global DATA
    DATA = Data()


def tearDownModule() -> None:  # noqa: N802
    DATA.remove()


def run(*arguments: str) -> subprocess.CompletedProcess:
    """Runs the bench on the tables."""
    command = [sys.executable, "-B", BENCHES / "direct.py", "--data", DATA.tables, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Side:
    """A side that answers at once."""

    def __init__(self, name: str, rows: int) -> None:
        self.name, self.rows = name, rows

    def execute(self, number: int) -> dict[str, int]:
        return {f"{self.name}_ns": number, f"{self.name}_rows": self.rows}


class Arithmetic(unittest.TestCase):
    """Quantiles, intervals and sums."""

    def test_quantiles_are_those_of_the_tables(self) -> None:
        for degrees, wanted in ((1, 12.7062), (4, 2.7764), (9, 2.2622), (30, 2.0423)):
            self.assertAlmostEqual(direct.t_quantile(degrees), wanted, places=4)

    def test_an_interval_lies_around_the_geometric_mean(self) -> None:
        got = direct.estimate([1.0, 4.0])
        self.assertAlmostEqual(got.value, 2.0)
        # t of one degree is 12.7062, and the standard error of ln 1 and ln 4 is ln 2.
        self.assertAlmostEqual(got.high, 2.0 ** 13.7062, delta=2)
        self.assertAlmostEqual(got.low * got.high, 4.0)

    def test_a_round_sums_queries_and_refuses_other_answers(self) -> None:
        subject, draw = Side("worker", 4), random.Random(1)
        sums = direct.one_round(subject, Side("plain", 4), (1, 6), draw)
        self.assertEqual(sums, Counter(worker_ns=7, plain_ns=7, worker_rows=8, plain_rows=8))
        with self.assertRaisesRegex(direct.Unmeasured, "q01 has 4 rows .* and 3 directly"):
            direct.one_round(subject, Side("plain", 3), (1, 6), draw)

    def test_the_bound_decides(self) -> None:
        def rounds(worker_ns: int) -> list[Counter]:
            names = [f"{side}_{name}" for side in ("plain", "worker")
                     for name in ("same_ns", "same_cpu_ns", "whole_ns", "whole_cpu_ns")]
            same = dict.fromkeys([*names, "main_cpu_ns", "session_cpu_ns"], 1000)
            return [Counter(same | {"worker_same_ns": ns})
                    for ns in (worker_ns, worker_ns + 1)]

        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertTrue(direct.report(rounds(1020)))
            self.assertFalse(direct.report(rounds(1049)))
        self.assertIn("planning and execution    1.0205 [", said.getvalue())


class Bench(unittest.TestCase):
    """The program."""

    def test_it_measures_both_engines(self) -> None:
        for engine in ENGINES:
            done = run("--engine", engine, "--dop", "2", "--rounds", "2", "--queries", "1,6,11")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertIn(f"{engine} ", done.stdout)
            self.assertIn("scale 0.05, dop 2, 3 queries, 2 rounds", done.stdout)
            kept = "is below 1.05" if done.returncode == 0 else "is not below 1.05"
            self.assertTrue(done.stdout.rstrip().endswith(kept), done.stdout)

    def test_what_cannot_be_measured_is_said_in_one_line(self) -> None:
        for arguments in (("--engine", "duckdb", "--data", "/nowhere"),
                          ("--engine", "duckdb", "--rounds", "1"),
                          ("--engine", "duckdb", "--queries", "23"),
                          ("--engine", "sqlite")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("direct.py:", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
