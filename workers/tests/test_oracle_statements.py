"""The statements of the worker for Oracle Database against parsers of others, and what it uses of the driver `oracledb`
against the driver itself.

Tests that need the driver, `sqlglot`, or PMD's parser of PL/SQL (jars of net.sourceforge.pmd:pmd-plsql and pmd-cli in
the folder that THREADWISE_TEST_PMD names, and `java`) say that they are skipped where these are absent.
"""

from __future__ import annotations

import contextlib
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_model import statement_patterns  # noqa: E402
from oracle_support import PASSWORD, WORKERS  # noqa: E402

import threadwise_oracle_address as address  # noqa: E402


#: Text for the places of statements, so that parsers see whole ones.
SAMPLES = {"prefix": "TW_", "says": "ours", "pause": "DBMS_SESSION.SLEEP(LEAST(think_s, 0.1));", "shared": "0",
           "commit": "COMMIT WRITE BATCH NOWAIT", "draw": "from_key + place - 1", "numbers": "1, 2", "sids": "1, 2",
           "columns": "a", "places": ":a", "filler_bytes": "480", "last_k": "63", "view": "v$session", "value": "1"}

#: Statements that sqlglot does not know, or takes for commands without looking into them.
BEYOND = {"blocks_create", "blocks_explain", "blocks_index", "blocks_loop", "burn", "commit_full", "commit_relaxed",
          "gather_statistics", "lock_request", "rows_create", "rows_loop", "session_no_result_cache",
          "session_parallel", "session_serial", "session_set", "session_settings", "tpch_create", "tpch_index"}

#: Of these PMD's grammar has no EXPLAIN PLAN.
BEYOND_PMD = {"blocks_explain"}


def filled(name: str, pattern_text: str) -> str:
    """A statement with samples in its places."""
    text = re.sub(r"\{([a-z_]+)\}", lambda found: SAMPLES.get(found[1], f"tw_{found[1]}"), pattern_text)
    return text.replace("(a)", "(a NUMBER(19) NOT NULL)") if name == "tpch_create" else text


def statements() -> Iterator[tuple[str, str]]:
    """Names and sample texts of all files."""
    for path in sorted(WORKERS.glob("oracle_*.sql")):
        name = path.stem.removeprefix("oracle_")
        yield name, filled(name, path.read_text(encoding="utf-8"))


class Statements(unittest.TestCase):
    """The .sql files."""

    def test_each_file_is_used_and_each_use_has_a_file(self) -> None:
        sources = "".join(path.read_text() for path in WORKERS.glob("threadwise_oracle_*.py"))
        used = set(re.findall(r"(?:text_of|fill|_ask)\(\s*\"([a-z_]+)\"", sources))
        computed = {"drop_table", "drop_procedure", "list_create", "loads_create", "tpch_index", "tpch_key",
                    "session_parallel", "session_serial", "commit_full", "commit_relaxed"}
        self.assertTrue(all(f'"{name}"' in sources or name.startswith("drop_") for name in computed))
        self.assertEqual(used | computed, {name for name, _ in statements()})

    def test_the_model_knows_all_of_them(self) -> None:
        import oracle_statements

        self.assertEqual(set(oracle_statements.STATEMENTS) - {"query"}, {name for name, _ in statement_patterns()})

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
    """What the worker uses of the driver."""

    USED = {"inner": {"cursor", "commit", "rollback", "close", "cancel", "version", "call_timeout"},
            "cursor": {"execute", "executemany", "fetchall", "callproc", "var", "parse", "rowcount", "arraysize",
                       "prefetchrows"}}
    CONNECT = {"user", "password", "host", "port", "service_name", "protocol", "server_type", "tcp_connect_timeout",
               "expire_time", "program", "stmtcachesize"}

    def test_no_more_is_used_than_is_looked_for(self) -> None:
        sources = "".join(path.read_text() for path in WORKERS.glob("threadwise_oracle_*.py"))
        for what, names in self.USED.items():
            self.assertEqual(set(re.findall(rf"\b{what}\.(\w+)", sources)), names)
        self.assertEqual(set(re.findall(r"\boracledb\.(\w+)", sources)), {"connect", "defaults", "Error"})

    def test_the_stand_in_has_it(self) -> None:
        import oracle_driver

        self.assertEqual(set(inspect.signature(oracle_driver.connect).parameters), self.CONNECT)
        for name in self.USED["cursor"] - {"rowcount", "arraysize", "prefetchrows"}:
            self.assertTrue(hasattr(oracle_driver.Cursor, name))

    @unittest.skipUnless(importlib.util.find_spec("oracledb"), "oracledb is not installed")
    def test_the_driver_has_it(self) -> None:
        import oracledb

        self.assertTrue(oracledb.is_thin_mode())
        self.assertLessEqual(self.CONNECT, set(inspect.signature(oracledb.connect).parameters))
        for name in self.USED["inner"]:
            self.assertTrue(hasattr(oracledb.Connection, name), name)
        self.assertIsNotNone(oracledb.Connection.call_timeout.fset)
        for name in self.USED["cursor"] | {"__enter__", "__exit__"}:
            self.assertTrue(hasattr(oracledb.Cursor, name), name)
        for name, given in [("execute", ("a", {})), ("executemany", ("a", [])), ("callproc", ("a", [])),
                            ("parse", ("a",)), ("var", (int,))]:
            inspect.signature(getattr(oracledb.Cursor, name)).bind(None, *given)
        self.assertTrue(hasattr(oracledb.Var, "getvalue"))
        self.assertTrue(issubclass(oracledb.DatabaseError, oracledb.Error))
        self.assertTrue(issubclass(oracledb.InterfaceError, oracledb.Error))
        self.assertIsInstance(oracledb.defaults.fetch_decimals, bool)

    @unittest.skipUnless(importlib.util.find_spec("oracledb"), "oracledb is not installed")
    def test_the_real_driver_finds_nobody(self) -> None:
        """A port of this machine on which nothing listens: a real error of the driver's, in our words."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import threadwise_oracle_worker as w; w.main()")
        reading, writing = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", code.replace("sys.argv[1]", repr(str(WORKERS)))], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[writing],
            env=os.environ | {"THREADWISE_REPLY_FD": str(writing), address.VARIABLE: PASSWORD,
                              "PYTHONPATH": os.pathsep.join(sys.path)})
        os.close(writing)
        with contextlib.closing(os.fdopen(reading, encoding="utf-8")) as replies:
            json.loads(replies.readline())
            asked = {"type": "server", "protocol": 1, "points": True,
                     "engine_options": {"url": f"oracle://bench@127.0.0.1:{port}/APP"}}
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            reply = json.loads(replies.readline())
        process.stdin.close()
        self.assertEqual(process.wait(timeout=30), 1)
        self.assertEqual((reply["type"], reply["kind"]), ("failed", "engine"), reply)
        for word in (f"127.0.0.1:{port}/APP", "DPY-6005", "no answer"):
            self.assertIn(word, reply["message"])


if __name__ == "__main__":
    unittest.main()
