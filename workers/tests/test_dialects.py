"""The texts of TPC-H for servers that no test starts: T-SQL and Oracle, read by sqlglot, translated
for DuckDB and answered by it like DuckDB's own.

This finds words that a dialect lacks, and texts that ask for something else. What a server computes
in another way (types of quotients, whole numbers that overflow) only the server shows.
"""

from __future__ import annotations

import decimal
import math
import os
import re
import sys
import unittest
from collections import Counter
from itertools import product
from typing import Any

from support import QUERIES, SCALE, Data

#: Where sqlglot is; `cargo xtask lab engines` sets it.
VARIABLE = "THREADWISE_TEST_SQLGLOT"

#: Dialects by their names in `queries/`, and as sqlglot calls them.
DIALECTS = {"sqlserver": "tsql", "oracle": "oracle"}

#: Words of the texts that sqlglot writes in another way of the same dialect, and what it writes.
TASTE = {
    "sqlserver": ({"(", ")", "DOUBLE PRECISION"}, {"AS", "C_CUSTKEY", "C_ACCTBAL", "FLOAT"}),
    "oracle": ({"DATE", "INTEGER"}, {"TO_DATE", "(", ")", ",", "YYYY-MM-DD", "INT"}),
}

#: The queries.
NUMBERS = range(1, 23)

#: Differences of numbers that are let pass, absolute and as a fraction: the narrowest of
#: `crates/tpch/src/answers` (clause 2.1.3.5 allows more).
ABSOLUTE, FRACTION = 1.01e-8, 1e-9

DATA: Data
SQLGLOT: Any


def find_sqlglot() -> None:
    """Loads sqlglot."""
    global SQLGLOT
    place = os.environ.get(VARIABLE)
    if place is None:
        raise RuntimeError(f"{VARIABLE} is not set: cargo xtask lab engines")
    sys.path.append(place)
    import sqlglot
    SQLGLOT = sqlglot


def setUpModule() -> None:  # noqa: N802 (unittest's name)
    global DATA
    find_sqlglot()
    DATA = Data()


def tearDownModule() -> None:  # noqa: N802
    DATA.remove()


def literals(dialect: str, number: int) -> dict[str, str]:
    """The validation parameters of a query as the program writes them in the dialect."""
    lines = (QUERIES / "validation.tsv").read_text(encoding="utf-8").splitlines()
    if not lines[0].endswith(f" {SCALE}"):
        raise AssertionError(f"not of the scale factor {SCALE}: {lines[0]}")
    rows = (line.split("\t") for line in lines[1:])
    return {name: literal for whose, query, name, literal in rows
            if (whose, query) == (dialect, str(number))}


def text(dialect: str, number: int) -> str:
    """A query's text as the program makes it (`threadwise_tpch::sql`)."""
    own = QUERIES / dialect / f"q{number:02}.sql"
    path = own if own.exists() else QUERIES / f"q{number:02}.sql"
    lines = path.read_text(encoding="utf-8").splitlines()
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    values = literals(dialect, number)
    return re.sub(r":([a-z][a-z_0-9]*)", lambda found: values[found[1]], sql)


def parsed(sql: str, dialect: str) -> Any:
    """The one statement, each of whose parts sqlglot knows."""
    known = DIALECTS.get(dialect, dialect)
    [tree] = SQLGLOT.parse(sql, read=known, error_level=SQLGLOT.ErrorLevel.RAISE)
    # What it does not understand becomes a command or a function without a meaning.
    strange = list(tree.find_all(SQLGLOT.exp.Command, SQLGLOT.exp.Anonymous))
    if strange or not isinstance(tree, SQLGLOT.exp.Select):
        raise AssertionError(f"not understood: {strange or tree!r} in {sql}")
    return tree


def differences(sql: str, dialect: str) -> tuple[set[str], set[str]]:
    """Words that sqlglot would not write in the dialect, and those that it would write in their
    place, both without what is a matter of taste: it reads more than a dialect has, and writes what
    it has."""
    ours, theirs = (
        Counter(token.text.upper() for token in SQLGLOT.tokenize(written, read=DIALECTS[dialect]))
        for written in (sql, parsed(sql, dialect).sql(dialect=DIALECTS[dialect])))
    less, more = TASTE[dialect]
    return set(ours - theirs) - less, set(theirs - ours) - more


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same; numbers with fractions within the tolerance."""
    fractions = (float, decimal.Decimal)
    if isinstance(one, fractions) and isinstance(other, fractions):
        return math.isclose(one, other, rel_tol=FRACTION, abs_tol=ABSOLUTE)
    return type(one) is type(other) and one == other


class Dialects(unittest.TestCase):
    """Texts of the dialects"""

    def setUp(self) -> None:
        import duckdb
        self.connection = duckdb.connect()
        self.addCleanup(self.connection.close)
        self.connection.execute("SET threads = 1")  # so that sums are added in one order
        for path in DATA.tables.glob("*.parquet"):
            self.connection.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")

    def rows(self, sql: str) -> list[tuple]:
        return self.connection.execute(sql).fetchall()

    def test_every_text_is_of_its_dialect(self) -> None:
        for dialect, number in product(DIALECTS, NUMBERS):
            with self.subTest(dialect=dialect, query=number):
                self.assertEqual(differences(text(dialect, number), dialect), (set(), set()))

    def test_what_is_not_of_a_dialect_is_found(self) -> None:
        # Common texts that a dialect has its own in place of. Those of T-SQL that are not here are
        # answered, but not exactly enough, or not at every scale factor.
        for dialect, numbers in (("sqlserver", (2, 3, 7, 8, 9, 10, 18, 21)),
                                 ("oracle", (2, 3, 7, 8, 9, 10, 13, 18, 21, 22))):
            for number in numbers:
                with self.subTest(dialect=dialect, query=number):
                    found = differences(text("duckdb", number), dialect)
                    self.assertNotEqual(found, (set(), set()))
        for dialect in DIALECTS:
            for strange in ("SELECT substrr(a, 1, 2) FROM t", "EXEC a", "DELETE FROM t"):
                with self.subTest(dialect=dialect, text=strange):
                    self.assertRaises(AssertionError, parsed, strange, dialect)
            for broken in ("SELECT a FROM", "SELECT (a FROM t", "SELECT a FROM t WHERE b IN (1"):
                with self.subTest(dialect=dialect, text=broken):
                    self.assertRaises(SQLGLOT.ParseError, parsed, broken, dialect)

    def test_what_an_engine_adds_is_of_the_dialect(self) -> None:
        for number in NUMBERS:
            with self.subTest(query=number):
                tree = parsed(f"{text('sqlserver', number)} OPTION (MAXDOP 2)", "sqlserver")
                self.assertEqual([str(one.this) for one in tree.args["options"]], ["MAXDOP"])
                # Behind the SELECT that is outside of all parentheses.
                hinted = re.sub(r"^SELECT\b", "SELECT /*+ PARALLEL(2) */", text("oracle", number),
                                count=1, flags=re.MULTILINE)
                hint = parsed(hinted, "oracle").args["hint"]
                self.assertEqual(hint.sql(dialect="oracle").strip(), "/*+ PARALLEL(2) */")

    def test_every_text_asks_for_the_same(self) -> None:
        for number in NUMBERS:
            wanted = self.rows(text("duckdb", number))
            self.assertTrue(any(value is not None for row in wanted for value in row))
            for dialect in DIALECTS:
                with self.subTest(dialect=dialect, query=number):
                    translated = parsed(text(dialect, number), dialect).sql(dialect="duckdb")
                    answer = self.rows(translated)
                    self.assertEqual(len(answer), len(wanted))
                    for got, right in zip(answer, wanted, strict=True):
                        self.assertEqual(len(got), len(right))
                        self.assertTrue(all(map(alike, got, right)), (got, right))


if __name__ == "__main__":
    unittest.main()
