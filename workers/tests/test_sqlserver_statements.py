"""The statements that the client of SQL Server sends (`crates/engine-sqlserver/src/sql`), read by sqlglot.

Places such as `{table}` are filled with samples. What sqlglot takes for a command without looking into it is listed,
and has to be of whole blocks: every BEGIN has its END, every parenthesis its other half.
"""

from __future__ import annotations

import re
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import test_dialects  # noqa: E402

STATEMENTS = Path(__file__).resolve().parents[2] / "crates" / "engine-sqlserver" / "src" / "sql"

#: Samples for the places of statements.
SAMPLES = {
    "table": "[threadwise].[t]", "from": "[threadwise].[u]", "staging": "[threadwise].[k]", "schema": "threadwise",
    "procedure": "[threadwise].[p]", "says": "ours", "kind": "table", "name": "t", "text": "xxx", "first": "1",
    "last": "1000", "modulus": "1000000007", "buckets": "1024", "durability": "SCHEMA_AND_DATA", "delayed": "ON",
    "right": "CREATE TABLE", "begins": "/* q */", "unit": "64", "sum": "448 * @first + 9", "per_tx": "2",
    "begin": "BEGIN TRANSACTION;", "end": "COMMIT TRANSACTION;", "keys": "@k0 bigint = 0, @k1 bigint = 0",
    "parameters": "@k0 bigint", "draw": "SET @x = (@x * 48271) % 2147483647;",
    "insert": "INSERT INTO [threadwise].[t] (c1) VALUES (@k0);",
    "inserts": "INSERT INTO [threadwise].[t] (c1) VALUES (@k0);",
    "step": "SELECT @n = COUNT(*), @s = SUM(value + twin) FROM [threadwise].[t] WHERE k BETWEEN @first AND @first + 63;",
    "commit": "IF @now >= @commit_at BEGIN COMMIT TRANSACTION; BEGIN TRANSACTION; END",
    "list": "0 TO 3, 8", "but": "threadwise%",
    "pause": "IF @left > 0 BEGIN WAITFOR DELAY @pause; END",
}

#: Places of one file that mean something else there.
OF_FILE = {"rows_loop": {"sum": "SET @key_sum = @key_sum + @k0 % 1000000007;"},
           "rows_batch": {"sum": "SET @key_sum = @key_sum + @k0 % 1000000007;"}}

#: Statements that sqlglot does not look into, or does not know: CHECKPOINT and DBCC, SET of what it has no word for,
#: ALTER SERVER CONFIGURATION, CLUSTERED and HASH behind PRIMARY KEY, EXEC of a text, loops and atomic blocks.
BEYOND = {"cold", "schema", "set_affinity", "settings", "rows", "rows_memory", "rows_batch", "blocks_loop"}


def filled(path: Path) -> str:
    """A statement with samples in its places, without its comments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("--")]
    samples = SAMPLES | OF_FILE.get(path.stem, {})
    return re.sub(r"\{([a-z_]+)\}", lambda found: samples[found[1]], "\n".join(lines))


def statements() -> list[Path]:
    return sorted(STATEMENTS.glob("*.sql"))


def is_understood(sql: str) -> bool:
    """Whether sqlglot parses it, and takes no part for a command."""
    glot: Any = test_dialects.SQLGLOT
    try:
        trees = glot.parse(sql, read="tsql", error_level=glot.ErrorLevel.RAISE)
    except glot.errors.SqlglotError:
        return False
    return all(tree is None or not list(tree.find_all(glot.exp.Command)) for tree in trees)


def setUpModule() -> None:  # noqa: N802 (unittest's name)
    test_dialects.find_sqlglot()


class Statements(unittest.TestCase):
    """Statements in T-SQL"""

    def test_there_are_statements_and_every_place_has_a_sample(self) -> None:
        self.assertGreater(len(statements()), 25)
        for path in statements():
            with self.subTest(path.stem):
                self.assertNotIn("{", filled(path))

    def test_sqlglot_reads_all_but_those_that_are_listed(self) -> None:
        self.assertEqual({path.stem for path in statements() if not is_understood(filled(path))}, BEYOND)

    def test_blocks_and_parentheses_are_whole(self) -> None:
        for path in statements():
            with self.subTest(path.stem):
                # Without texts in quotes; sqlglot's tokens would not do, since END begins a command for it.
                bare = re.sub(r"'[^']*'", "''", filled(path)).upper()
                self.assertEqual(bare.count("("), bare.count(")"))
                opened = re.findall(r"\b(?:CASE|BEGIN(?!\s+TRAN))\b", bare)
                self.assertEqual(len(opened), len(re.findall(r"\bEND\b", bare)))


if __name__ == "__main__":
    unittest.main()
