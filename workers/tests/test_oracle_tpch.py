"""`tpch` of the engine oracle against a model of a server, which executes queries by SQLite."""

from __future__ import annotations

import os
import re
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_model import Fault  # noqa: E402
from oracle_support import SECOND_NS, WORKERS, WithModel, Worker, load_of  # noqa: E402

TABLES = (WORKERS.parent / "crates" / "engine" / "src" / "workloads" / "tpch" / "tables.rs").read_text()

#: Columns of the tables: names and kinds, with lengths of texts.
COLUMNS = {name: [(column, kind, int(length or 0)) for column, kind, length in
                  re.findall(r'\("(\w+)", (\w+)(?:\((\d+)\))?\)', columns)]
           for name, columns in re.findall(r'name: "(\w+)",\s*columns: &\[(.*?)\],\s*key:', TABLES, re.DOTALL)}

#: Rows at the smallest scale; of `lineitem`, as few as there may be.
ROWS = {"region": 5, "nation": 25, "supplier": 100, "customer": 1500, "part": 2000, "partsupp": 8000,
        "orders": 15_000, "lineitem": 15_000}

#: A generator of tables with the right columns and numbers of rows, and few values.
GENERATOR = """#!{python} -IB
import os, sys
assert list(os.environ) in ([], ["LC_CTYPE"]), os.environ
words = sys.argv[1:]
assert words[:4] == ["csv", "--stdout", "--quiet", "--tables"] and words[5:] == ["--scale-factor", "0.01"], words
name, columns = words[4], {columns!r}[words[4]]
if name == {failing!r}:
    print("no room", file=sys.stderr)
    sys.exit(3)
print(",".join(column for column, _, _ in columns))
for row in range({rows!r}[name]):
    key = (row + 1) // 8 * 32 + (row + 1) % 8 if name == "orders" else row
    values = {{"Identifier": key, "Integer": row % 50, "Decimal": f"{{row % 1000}}.25", "Date": f"199{{row % 8}}-03-15"}}
    print(",".join(str(values[kind]) if kind in values else f'"text, {{row % 7}}"'[:2 + length].rstrip('"') + '"'
                   for _, kind, length in columns))
"""

QUERIES = {
    1: "SELECT n_name, count(*) AS n, sum(s_acctbal) AS most, min(o_orderdate) AS d FROM nation, supplier s, orders\n"
       "WHERE n_nationkey = s.s_nationkey AND o_orderkey = n_nationkey GROUP BY n_name ORDER BY n_name",
    6: "WITH revenue AS (SELECT l_suppkey AS k, max(l_tax) AS t FROM lineitem GROUP BY l_suppkey)\n"
       "SELECT count(*) AS n, (SELECT max(p_size) FROM part) AS p FROM revenue",
}


class Tpch(WithModel):
    """Loads and queries of `tpch`."""

    def data(self, failing: str = "") -> str:
        """A data folder with queries of two streams and a generator."""
        folder = self.folder / f"data {len(list(self.folder.iterdir()))}"
        for stream in (0, 1):
            own = folder / "queries" / str(stream)
            own.mkdir(parents=True)
            for number, sql in QUERIES.items():
                (own / f"q{number:02}.sql").write_text(sql + "\n")
        program = folder / "generator"
        program.write_text(GENERATOR.format(python=sys.executable, columns=COLUMNS, rows=ROWS, failing=failing))
        program.chmod(0o700)
        return str(folder)

    def load(self, folder: str | None = None, **chosen: Any) -> dict:
        """`load` of two queries at the smallest scale."""
        return load_of("tpch", folder or self.data(), **({"scale": 0.01, "queries": "1,6"} | chosen))

    def prepared(self, load: dict, sessions: int = 1) -> tuple[Worker, dict]:
        """A worker whose streams are open, and what it said."""
        worker = self.worker()
        ready = worker.prepare(load, sessions)
        self.assertEqual(ready["type"], "ready", ready)
        return worker, ready

    def test_a_data_set_is_made_and_queries_are_answered(self) -> None:
        load = self.load(dop=1)
        keeper = self.loaded(load)
        rows = sum(self.model.tpch.execute(f"SELECT count(*) FROM TW_{name}").fetchone()[0] for name in COLUMNS)
        self.assertEqual(rows, sum(ROWS.values()))
        self.assertEqual(self.model.statements.count("tpch_index"), 7)
        self.assertEqual(keeper.load(load)["rows_per_session"], rows)
        self.assertEqual(self.model.statements.count("tpch_key"), 8, "found, not made again")
        worker, ready = self.prepared(load)
        reply = worker.go(window_ns=60 * SECOND_NS, warmup_ns=0, queries=[[6, 1]])
        (session,) = reply["sessions"]
        self.assertEqual((session["steps"], session["rows"], session["answers_checked"]), (2, 2, 0))
        six, one = session["queries"]
        self.assertEqual((six["query"], one["query"], one["planning_ns"], one["dop"]), (6, 1, None, 1))
        self.assertGreater(one["started_ns"], six["elapsed_ns"])
        self.assertGreater(reply["window_ns"], one["elapsed_ns"])
        self.assertGreaterEqual(one["cpu_ns"], 5_000_000)
        self.assertEqual(session["cpu_ns"], six["cpu_ns"] + one["cpu_ns"])
        self.assertEqual(one["answer"][0], ["text, 0", "1", "7.25", "1996-03-15"])
        self.assertEqual(one["plan"].splitlines(), ["SELECT STATEMENT", "  HASH GROUP BY # rows=4",
                                                    "    TABLE ACCESS FULL NATION # rows=25"])
        self.assertEqual(one["counters"], {"read_bytes": 8192, "spill_bytes": 0})
        single = worker.go(window_ns=60 * SECOND_NS, warmup_ns=0, queries=[[1]])
        self.assertEqual(single["window_ns"], single["sessions"][0]["queries"][0]["elapsed_ns"])
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertEqual(keeper.end(), ({"type": "done"}, 0))
        self.assert_nothing_is_left()

    def test_parallel_queries_have_cpu_of_all_servers_and_a_degree(self) -> None:
        load = self.load(dop=4)
        self.loaded(load)
        worker, _ = self.prepared(load)
        (query,) = worker.go(window_ns=60 * SECOND_NS, warmup_ns=0, queries=[[1]])["sessions"][0]["queries"]
        self.assertEqual((query["dop"], query["cpu_ns"]), (4, 9_000_000))
        self.assertEqual(query["plan"].splitlines(), [
            "SELECT STATEMENT", "  ~ PX COORDINATOR", "    ~ PX SEND QC (RANDOM) # rows=4",
            "      HASH GROUP BY # rows=4", "        ~ PX RECEIVE # rows=4", "          ~ PX SEND HASH # rows=4",
            "            ~ HASH GROUP BY # rows=4", "              ~ PX BLOCK ITERATOR # rows=25",
            "                TABLE ACCESS FULL NATION # rows=25"])
        texts = [sql for sql in self.model.usage if "threadwise stream" in sql]
        self.assertTrue(texts and all("/*+ PARALLEL(4) */" in sql and "TW_" in sql
                                      for sql in texts), texts)

    def test_without_rights_plan_degree_and_cpu_are_null(self) -> None:
        self.model.missing = {"v$sql", "v$sql_plan", "v$pq_sesstat", "v$session"}
        load = self.load(dop=2)
        self.loaded(load)
        worker, ready = self.prepared(load)
        for view in ("V_$SQL_PLAN", "V_$PQ_SESSTAT"):
            self.assertTrue(any(view in note for note in ready["notes"]), ready["notes"])
        (query,) = worker.go(window_ns=60 * SECOND_NS, queries=[[1]])["sessions"][0]["queries"]
        self.assertEqual((query["plan"], query["dop"], query["cpu_ns"], query["counters"]), (None, None, None, {}))

    def test_streams_and_short_queries_beside(self) -> None:
        load = self.load(test="throughput", short=1, dop=1) | {"sessions": 3}
        self.loaded(load)
        self.model.faults = [Fault("query", seconds=1.0, times=2)]
        worker, _ = self.prepared(load, 3)
        reply = worker.go(window_ns=60 * SECOND_NS, queries=[[1], [6, 1], []])
        first, second, short = reply["sessions"]
        self.assertEqual([len(one["queries"]) for one in (first, second)], [1, 2])
        self.assertNotIn("queries", short)
        self.assertEqual((short["answers_wrong"], short["rows"]), (0, short["steps"]))
        self.assertGreater(short["steps"], 0)
        self.assertTrue(short["latency"])
        self.assertEqual(reply["window_ns"], max(first["finished_ns"], second["finished_ns"]))
        self.assert_failed(worker.go(queries=[[1], [2], []]), "engine", "q02", "requested queries")

    def test_a_query_that_takes_too_long_is_stopped(self) -> None:
        load = self.load(dop=1)
        self.loaded(load)
        worker, _ = self.prepared(load)
        self.model.faults = [Fault("query", seconds=30)]
        self.assert_failed(worker.go(window_ns=SECOND_NS // 2, queries=[[6]]), "engine", "q06", "time limit of 0.5 s")
        self.assertEqual(worker.process.wait(timeout=10), 1)

    def test_the_order_by_ship_date(self) -> None:
        load = self.load(cluster="shipdate")
        keeper = self.loaded(load)
        dates = [row[0] for row in self.model.tpch.execute("SELECT l_shipdate FROM TW_LINEITEM ORDER BY rowid")]
        self.assertEqual((dates, len(dates)), (sorted(dates), 15_000))
        self.assertNotIn("TW_LINEITEM_O", self.model.names())
        self.assert_failed(keeper.load(self.load()), "option", "scale", "one data set at a time")

    def test_a_generator_that_fails_and_one_that_is_missing(self) -> None:
        self.assert_failed(self.worker().load(self.load(self.data(failing="orders"))), "engine", "table orders",
                           "no room")
        self.assert_nothing_is_left()
        folder = self.data()
        os.remove(f"{folder}/generator")
        self.assert_failed(self.worker().load(self.load(folder)), "engine", "generator", "engine add duckdb")

    def test_a_setting_that_the_server_does_not_take(self) -> None:
        self.model.faults = [Fault("session_set", "ORA-02248", "invalid option for ALTER SESSION")]
        load = self.load(settings__optimizer_nonsense=True)
        self.assert_failed(self.worker().load(load), "option", "settings.optimizer_nonsense", "ORA-02248")


if __name__ == "__main__":
    unittest.main()
