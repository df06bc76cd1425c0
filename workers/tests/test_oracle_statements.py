"""The statements of the engine oracle against parsers of others, what its proxy uses of the driver `oracledb` against the
driver itself, and what the proxy makes of values.

Tests that need the driver, `sqlglot`, or PMD's parser of PL/SQL (jars of net.sourceforge.pmd:pmd-plsql and pmd-cli in
the folder that THREADWISE_TEST_PMD names, and `java`) say that they are skipped where these are absent.
"""

from __future__ import annotations

import datetime
import importlib.util
import inspect
import json
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_model import OTHERS, STATEMENT_FILES, parts_of, statement_patterns  # noqa: E402
from oracle_support import PASSWORD, WORKERS  # noqa: E402

import oracle_proxy as proxy  # noqa: E402


#: Text for the places of statements, so that parsers see whole ones.
SAMPLES = {"schema": "TW_", "says": "ours", "numbers": "1, 2", "sids": "1, 2", "columns": "a", "values": ":p1",
           "view": "v$session", "value": "1", "kind": "table", "first": ":p1", "last": "63", "starts": "100",
           "hot_starts": "10", "hot_pct": "50.0", "update_pct": "5.0", "unit": "64", "sum_at_0": "1", "sum_per_key": "448",
           "think_us": "10000", "per_tx": "1", "modulus": "1000000007", "owner": ":p1", "key": ":p2", "number": "0",
           "create": "CREATE TABLE a (a NUMBER(19) NOT NULL)"}

#: Flags of lines that are left out, so that each statement is whole.
WITHOUT = ("!hot", "updates&shared", "!random", "!relaxed", "!counts")

#: Statements that sqlglot does not know, or takes for commands without looking into them.
BEYOND = {"adaptive", "adaptive_12_1", "blocks", "blocks_explain", "blocks_index", "blocks_loop", "blocks_settle",
          "ddl_wait", "drop", "lock", "no_result_cache", "rows",
          "rows_loop", "rows_step", "schema_0", "session_parallel", "session_serial", "session_set", "session_settings",
          "session_work",
          "tpch_create", "tpch_index", "tpch_order_1", "tpch_order_2"}

#: Of these PMD's grammar has no EXPLAIN PLAN.
BEYOND_PMD = {"blocks_explain"}


def filled(text: str) -> str:
    """A statement with all its optional lines but the other ones of two, and samples in its places."""
    lines = []
    for line in text.splitlines():
        flags, _, rest = line[1:].partition(" ") if line.startswith("?") else ("", "", line)
        if not line.lstrip().startswith("--") and flags not in WITHOUT:
            lines.append(rest)
    text = re.sub(r"\[\[(.*?)\|.*?\]\]", lambda found: found[1].replace("{row}", "0"), "\n".join(lines))
    return re.sub(r"\{([a-z0-9_]+)\}", lambda found: SAMPLES.get(found[1], f"tw_{found[1]}"), text)


def statements() -> Iterator[tuple[str, str]]:
    """Names and sample texts of all statements."""
    for path in sorted(STATEMENT_FILES.glob("*.sql")):
        yield from ((name, filled(text)) for name, text in parts_of(path))


class Statements(unittest.TestCase):
    """The .sql files."""

    def test_each_file_is_used_and_each_use_has_a_file(self) -> None:
        sources = "".join(path.read_text() for path in STATEMENT_FILES.parent.rglob("*.rs"))
        used = set(re.findall(r"include_str!\(\"(?:\.\./)?sql/(\w+)\.sql\"\)", sources))
        self.assertEqual(used, {path.stem for path in STATEMENT_FILES.glob("*.sql")})

    def test_the_model_knows_all_of_them(self) -> None:
        import oracle_statements

        known = set(oracle_statements.STATEMENTS) - {"query", "theirs"}
        self.assertEqual(known, {name for name, _ in statement_patterns()})
        self.assertLessEqual(set(OTHERS), known)

    def test_files_are_plain(self) -> None:
        for name, text in statements():
            self.assertTrue(text.isascii(), name)
            self.assertLessEqual(max(map(len, text.splitlines())), 120, name)
            self.assertNotIn("{", text, name)
            # The driver takes a statement without its terminator, and a block with it.
            self.assertEqual(text.rstrip().endswith(";"), text.rstrip().endswith("END;"), name)

    @unittest.skipUnless(importlib.util.find_spec("sqlglot"), "sqlglot is not installed")
    def test_sqlglot_parses_what_it_can(self) -> None:
        import sqlglot

        logging.getLogger("sqlglot").setLevel(logging.ERROR)
        beyond = set()
        for name, text in statements():
            try:
                trees = sqlglot.parse(text, read="oracle")
            except sqlglot.errors.SqlglotError:
                beyond.add(name)
                continue
            if any(isinstance(tree, sqlglot.exp.Command) for tree in trees):
                beyond.add(name)
            else:
                self.assertEqual(len(trees), 1, name)
        self.assertEqual(beyond, BEYOND)

    @unittest.skipUnless(importlib.util.find_spec("sqlglot"), "sqlglot is not installed")
    def test_blocks_are_closed(self) -> None:
        from sqlglot.dialects.oracle import Oracle

        for name, text in statements():
            if name not in BEYOND:
                continue
            depth, opened = 0, []
            words = [token.text.upper() for token in Oracle().tokenize(text)]
            for place, word in enumerate(words):
                if word == "(":
                    depth += 1
                elif word == ")":
                    depth -= 1
                elif word == "END":
                    closed = words[place + 1] if place + 1 < len(words) else ""
                    self.assertTrue(opened, name)
                    kind = opened.pop()
                    self.assertEqual(closed if closed in ("IF", "LOOP") else "", kind if kind in ("IF", "LOOP") else "",
                                     (name, kind, closed))
                elif word in ("BEGIN", "CASE", "IF", "LOOP") and (place == 0 or words[place - 1] != "END"):
                    opened.append(word)
                self.assertGreaterEqual(depth, 0, name)
            self.assertEqual((depth, opened), (0, []), name)

    @unittest.skipUnless(os.environ.get("THREADWISE_TEST_PMD") and shutil.which("java"),
                         "THREADWISE_TEST_PMD names no folder with PMD's jars")
    def test_pmd_parses_all(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in statements():
                text = text.rstrip().removesuffix(";") + (";\n/\n" if "BEGIN" in text else ";\n")
                (Path(folder) / f"{name}.sql").write_text(text)
            done = subprocess.run(
                ["java", "-cp", f"{os.environ['THREADWISE_TEST_PMD']}/*", "net.sourceforge.pmd.cli.PmdCli", "check",
                 "--no-cache", "-d", folder, "-R", "category/plsql/errorprone.xml", "-f", "json"],
                capture_output=True, text=True)
            report = json.loads(done.stdout)
        failed = {Path(one["filename"]).stem for one in report["processingErrors"]}
        self.assertEqual(failed, BEYOND_PMD, report["processingErrors"])


class Driver(unittest.TestCase):
    """What the proxy uses of the driver."""

    USED = {"inner": {"cursor", "close", "cancel", "version", "call_timeout", "autocommit"},
            "cursor": {"execute", "executemany", "fetchall", "fetchmany", "var", "parse", "rowcount", "arraysize",
                       "prefetchrows", "description"}}
    CONNECT = {"user", "password", "host", "port", "service_name", "protocol", "server_type", "tcp_connect_timeout",
               "expire_time", "program", "stmtcachesize"}

    def test_no_more_is_used_than_is_looked_for(self) -> None:
        source = (WORKERS / "oracle_proxy.py").read_text()
        for what, names in self.USED.items():
            self.assertEqual(set(re.findall(rf"\b{what}\.(\w+)", source)), names)
        self.assertEqual(set(re.findall(r"\boracledb\.(\w+)", source)) - {"connect`"}, {"connect", "defaults"})
        connect = (STATEMENT_FILES.parent / "proxy.rs").read_text().split("Connect {")[1].split("    },")[0]
        named = set(re.findall(r"^        (\w+):", connect, re.MULTILINE)) - {"autocommit", "call_timeout_ms"}
        self.assertEqual(named | {"server_type"}, self.CONNECT)

    def test_the_stand_in_has_it(self) -> None:
        import oracle_driver

        self.assertEqual(set(inspect.signature(oracle_driver.connect).parameters), self.CONNECT)
        for name in self.USED["cursor"] - {"rowcount", "arraysize", "prefetchrows", "description"}:
            self.assertTrue(hasattr(oracle_driver.Cursor, name))

    @unittest.skipUnless(importlib.util.find_spec("oracledb"), "oracledb is not installed")
    def test_the_driver_has_it(self) -> None:
        import oracledb

        self.assertTrue(oracledb.is_thin_mode())
        self.assertLessEqual(self.CONNECT, set(inspect.signature(oracledb.connect).parameters))
        for name in self.USED["inner"]:
            self.assertTrue(hasattr(oracledb.Connection, name), name)
        self.assertIsNotNone(oracledb.Connection.call_timeout.fset)
        self.assertIsNotNone(oracledb.Connection.autocommit.fset)
        for name in self.USED["cursor"]:
            self.assertTrue(hasattr(oracledb.Cursor, name), name)
        for name, given in [("execute", ("a", {})), ("executemany", ("a", [])), ("fetchmany", (1,)), ("parse", ("a",)),
                            ("var", (int,))]:
            inspect.signature(getattr(oracledb.Cursor, name)).bind(None, *given)
        self.assertTrue(hasattr(oracledb.Var, "getvalue"))
        self.assertIsInstance(oracledb.defaults.fetch_decimals, bool)
        self.assertIsInstance(oracledb.defaults.fetch_lobs, bool)

    @unittest.skipUnless(importlib.util.find_spec("oracledb"), "oracledb is not installed")
    def test_the_real_driver_finds_nobody(self) -> None:
        """A port of this machine on which nothing listens: a real error of the driver's, by its number."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        asked = {"do": "connect", "user": "bench", "password": PASSWORD, "host": "127.0.0.1", "port": port,
                 "service_name": "APP", "protocol": "tcp", "tcp_connect_timeout": 10, "expire_time": 2, "program": "x",
                 "stmtcachesize": 40, "autocommit": True, "call_timeout_ms": 0}
        done = subprocess.run([sys.executable, "-B", str(WORKERS / "oracle_proxy.py"), str(os.getpid())],
                              input=json.dumps(asked) + "\n", capture_output=True, text=True, timeout=60,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        error = json.loads(done.stdout)["error"]
        self.assertEqual((error["code"], done.returncode), ("DPY-6005", 0), error)
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)


class Values(unittest.TestCase):
    """What the proxy makes of values and errors."""

    def test_values_are_whole_numbers_or_text(self) -> None:
        given = [Decimal("24.00"), Decimal("1E+3"), datetime.datetime(1995, 3, 15), "AIR  ", None, 0.5, 7, 2**63,
                 datetime.datetime(1995, 3, 15, 1), b"\x01\xff"]
        self.assertEqual([proxy.plain(value) for value in given],
                         ["24.00", 1000, "1995-03-15", "AIR  ", None, "0.5", 7, str(2**63), "1995-03-15 01:00:00", "01ff"])

    def test_errors_have_a_number_of_one_length(self) -> None:
        self.assertEqual(proxy.error_of(ValueError("ORA-1653: no room"))["code"], "ORA-01653")
        self.assertEqual(proxy.error_of(ImportError("no oracledb")), {"code": "driver", "text": "no oracledb"})
        self.assertEqual(proxy.error_of(KeyError("x"))["code"], "")

    def test_sql_ids(self) -> None:
        self.assertEqual(proxy.sql_id("select * from dual"), "a5ks9fhw2v9s1")


if __name__ == "__main__":
    unittest.main()
