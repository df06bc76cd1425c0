"""The scripts that make and check data sets."""

from __future__ import annotations

import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import WORKERS, Data

DATA: Data


def setUpModule() -> None:  # noqa: N802 (unittest's name)
    global DATA
    DATA = Data()


def tearDownModule() -> None:  # noqa: N802
    DATA.remove()


def run(script: str, *arguments: Path) -> subprocess.CompletedProcess:
    """Runs a script as the runner does."""
    return subprocess.run([sys.executable, "-I", "-B", WORKERS / script, *arguments],
                          capture_output=True, text=True, timeout=300)


class CountRows(unittest.TestCase):
    """count_rows.py"""

    def test_rows_of_whole_files(self) -> None:
        result = run("count_rows.py", DATA.tables)
        rows = dict(line.split() for line in result.stdout.splitlines())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(rows), 8)
        # Specification, clause 4.2.5.1: 5 and 25, and multiples of the scale, which is 0.05.
        self.assertEqual([rows[name] for name in ("region", "nation", "supplier", "orders")],
                         ["5", "25", "500", "75000"])

    def test_damage_is_told(self) -> None:
        folder = DATA.root / "damaged"
        shutil.copytree(DATA.tables, folder)
        path = folder / "part.parquet"
        whole = path.read_bytes()
        # Cut off; empty; a hole in the middle, so that chunks lie beyond the end.
        for damaged in (whole[:-1], b"", whole[:100] + whole[-60_000:]):
            path.write_bytes(damaged)
            result = run("count_rows.py", folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn(str(path), result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)


class Cluster(unittest.TestCase):
    """cluster_by_shipdate.py"""

    def test_rows_are_sorted_and_columns_as_they_were(self) -> None:
        import datafusion
        import pyarrow.parquet

        target = DATA.root / "sorted"
        target.mkdir()
        result = run("cluster_by_shipdate.py", DATA.tables, target)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([path.name for path in target.iterdir()], ["lineitem.parquet"])
        files = [pyarrow.parquet.ParquetFile(folder / "lineitem.parquet")
                 for folder in (DATA.tables, target)]
        self.assertTrue(files[0].schema.equals(files[1].schema))
        groups = [file.metadata.num_row_groups for file in files]
        self.assertEqual(groups[0], groups[1])
        names = ["l_shipdate", "l_orderkey", "l_linenumber"]
        keys = [list(zip(*(file.read(names).column(name).to_pylist() for name in names)))
                for file in files]
        self.assertNotEqual(keys[0], keys[1])
        self.assertEqual(sorted(keys[0]), keys[1])
        sums = []
        for folder in (DATA.tables, target):
            context = datafusion.SessionContext()
            context.register_parquet("t", str(folder / "lineitem.parquet"))
            fields = [(field.name, field.type, field.nullable) for field in
                      context.table("t").schema()]
            rows = context.sql("SELECT sum(l_extendedprice), sum(l_tax), min(l_comment), "
                               "max(l_receiptdate) FROM t").to_pylist()
            sums.append((fields, [list(row.values()) for row in rows]))
        self.assertEqual(sums[0], sums[1])

    def test_faults_leave_nothing_behind(self) -> None:
        for name, content in (("absent", None), ("no-parquet", b"PAR1 is not enough PAR1")):
            source, target = DATA.root / name, DATA.root / f"{name}-target"
            source.mkdir()
            target.mkdir()
            if content:
                (source / "lineitem.parquet").write_bytes(content)
            result = run("cluster_by_shipdate.py", source, target)
            self.assertEqual(result.returncode, 1)
            self.assertIn("could not be written", result.stderr)
            self.assertEqual(list(target.iterdir()), [])
        result = run("cluster_by_shipdate.py", DATA.tables, DATA.tables)
        self.assertEqual(result.returncode, 1)
        self.assertIn("same file", result.stderr)


if __name__ == "__main__":
    unittest.main()
