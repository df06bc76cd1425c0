"""Talks the worker protocol to the workers of all engines, on data that is made for it.

Run with the interpreter of the environment that DuckDB and DataFusion share:
`PYTHON -m unittest discover -s workers/tests`. Engines in environments of their own are tested where
these are beside it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from support import (
    APART,
    BY_HAND,
    ENDLESS,
    ENGINES,
    HEAVY,
    SECOND_NS,
    WIDE,
    Data,
    Worker,
    python_of,
    tpch_queries,
    version_of,
)

DATA: Data

#: A setting of each engine that changes the plan of query 5 and not that of query 6.
REPLANS: dict[str, dict[str, Any]] = {
    "duckdb": {"settings__disabled_optimizers": "join_order"},
    "datafusion": {"settings__datafusion.optimizer.prefer_hash_join": False},
    "clickhouse": {"settings__query_plan_optimize_join_order_limit": 0},
}


def setUpModule() -> None:  # noqa: N802 (unittest's name)
    global DATA
    DATA = Data()


def tearDownModule() -> None:  # noqa: N802
    DATA.remove()


@contextlib.contextmanager
def working(engine: str, cpus: set[int] | None = None,
            interpreter: Sequence[str] = (),
            words: Sequence[str] = ()) -> Iterator[Worker]:
    """A worker that is ended in any case."""
    worker = Worker(engine, cpus, interpreter, words)
    try:
        yield worker
    finally:
        worker.process.kill()
        worker.close()


@contextlib.contextmanager
def prepared(engine: str, folder: Path, sessions: int = 1, cpus: set[int] | None = None,
             **options: Any) -> Iterator[Worker]:
    """A worker whose sessions are open."""
    with working(engine, cpus) as worker:
        for reply in (worker.ask_load(folder, sessions, **options), worker.ask_prepare()):
            if reply["type"] not in ("loaded", "ready"):
                raise AssertionError(f"{engine}: {reply}")
        yield worker


def only(slice_reply: dict[str, Any]) -> dict[str, Any]:
    """The one query of a slice of one session."""
    if slice_reply["type"] != "slice":
        raise AssertionError(slice_reply)
    (session,) = slice_reply["sessions"]
    (query,) = session["queries"]
    return query


def inexact(text: str | None) -> bool:
    """Whether a value may differ between engines in its last digits."""
    return text is not None and re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) is not None


def in_order(answer: list[list[str | None]]) -> list[list[str]]:
    """Rows by their exact values first: engines need not agree on the order of equal keys."""
    rows = [[text or "" for text in row] for row in answer]
    return sorted(rows, key=lambda row: ([text for text in row if not inexact(text)],
                                         [float(text) for text in row if inexact(text)]))


def without_movers(plan: str) -> str:
    """The plan without the lines of parallelism; what stood below them moves out."""
    lines, dropped = [], []
    for line in plan.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        while dropped and dropped[-1] >= depth:
            dropped.pop()
        if line.lstrip().startswith("~ "):
            dropped.append(depth)
        else:
            lines.append("  " * (depth - len(dropped)) + line.lstrip())
    return "\n".join(lines)


class OneEngine(unittest.TestCase):
    """Base of the test cases, which `load_tests` makes for every engine."""

    engine = ""

    def assert_failed(self, reply: dict[str, Any], kind: str, *words: str) -> None:
        """The reply is `failed`, of that kind, on one line that has those words."""
        self.assertEqual((reply.get("type"), reply.get("kind")), ("failed", kind), reply)
        self.assertNotIn("\n", reply["message"])
        self.assertLess(len(reply["message"]), 700)
        for word in words:
            self.assertIn(word, reply["message"])


class Conversation(OneEngine):
    """Life cycle, and requests that must be refused."""

    def test_life_cycle(self) -> None:
        engine = self.engine
        with working(engine) as worker:
            self.assertEqual(worker.hello, {"type": "hello", "protocol": 1, "engine": engine,
                                            "version": version_of(engine)})
            loaded = worker.ask_load(DATA.dir(BY_HAND), queries="1-5")
            self.assertEqual(loaded["type"], "loaded", loaded)
            self.assertEqual(loaded["bytes_per_session"], 0)
            self.assertGreater(loaded["rows_per_session"], 300_000)
            ready = worker.ask_prepare()
            self.assertEqual(ready["type"], "ready", ready)
            self.assertIn(ready["tids"][0], worker.threads())
            reply = worker.ask_go([1])
            query, session = only(reply), reply["sessions"][0]
            self.assertEqual((reply["sequence"], reply["window_ns"]), (3, query["elapsed_ns"]))
            self.assertEqual((session["steps"], session["rows"], session["latency"]), (1, 1, ""))
            self.assertEqual(session["cpu_ns"], query["cpu_ns"])
            # ClickHouse does not say how long it planned.
            self.assertEqual(query["planning_ns"] is None, engine == "clickhouse")
            busy_ns = (query["planning_ns"] or 0) + query["elapsed_ns"]
            self.assertLessEqual(query["started_ns"] + busy_ns, session["finished_ns"])
            self.assertGreater(min(query["planning_ns"] or 1, query["cpu_ns"]), 0)
            self.assertEqual(worker.ask("stop"), {"type": "done"})
            self.assertEqual(worker.process.wait(timeout=60), 0)

    def test_options_are_checked_before_there_is_data(self) -> None:
        engine = self.engine
        folder = DATA.root / "nowhere"
        good = REPLANS[engine]
        with working(engine, words=["check"]) as worker:
            for _ in range(2):
                reply = worker.ask_load(folder, **good)
                self.assertEqual((reply["type"], reply["rows_per_session"]), ("loaded", 0), reply)
            bad = {"settings__no_such_thing": 1}
            self.assert_failed(worker.ask_load(folder, **bad), "option", "settings.no_such_thing",
                               "documentation")
        self.assertFalse(folder.exists())
        with working(engine) as worker:
            self.assert_failed(worker.ask_load(folder, **good), "engine", "does not exist")
        with working(engine, words=["chekc"]) as worker:
            self.assertEqual((worker.hello, worker.process.wait(timeout=60)), ({}, 1))

    def test_end_of_stdin_is_stop(self) -> None:
        engine = self.engine
        folder = DATA.dir(BY_HAND)
        with prepared(engine, folder, queries="1") as worker:
            self.assertEqual(len(list((folder / "spill").iterdir())), 1)
            worker.process.stdin.close()
            self.assertEqual(worker.read(), {"type": "done"})
            self.assertEqual(worker.process.wait(timeout=60), 0)
            self.assertEqual(list((folder / "spill").iterdir()), [])

    def test_options_are_checked_by_name_and_value(self) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("", {"colour": "red"}, "'colour'"),
            ("", {"jit": True}, "'jit'"),
            ("", {"hold_plan": False}, "'hold_plan'"),
            ("", {"scale": 0}, "above 0"),
            ("", {"scale": 1e300}, "at most 100000"),
            ("", {"dop": 0}, "at least 1"),
            ("", {"dop": True}, "at least 1"),
            ("", {"dop": "two"}, "at least 1"),
            ("", {"queries": "1-23"}, "1 to 22"),
            ("", {"queries": "6-2"}, "1 to 22"),
            ("", {"cache": "hot"}, "warm or cold"),
            ("", {"storage": "tape"}, "parquet or memory"),
            ("", {"storage": "memory", "cache": "cold"}, "cache=cold"),
            ("", {"spill_dir": "/nowhere/at/all"}, "'spill_dir'"),
            ("", {"settings__no_such_thing": 1}, "settings.no_such_thing"),
            ("duckdb", {"batch_rows": 4096}, "'batch_rows'"),
            ("duckdb", {"short": 65, "test": "throughput"}, "at most 64"),
            ("duckdb", {"short": 2}, "test=throughput"),
            ("duckdb", {"settings__threads": 3}, "option dop"),
            ("duckdb", {"settings__default_null_order": "x"}, "default_null_order"),
            ("datafusion", {"batch_rows": 0}, "at least 1"),
            ("datafusion", {"settings__datafusion.execution.batch_size": 1}, "batch_rows"),
            ("datafusion", {"settings__datafusion.optimizer.max_passes": "x"}, "max_passes"),
            ("clickhouse", {"batch_rows": 0}, "at least 1"),
            ("clickhouse", {"settings__max_threads": 3}, "option dop"),
            ("clickhouse", {"settings__join_use_nulls": 0}, "answers"),
            ("clickhouse", {"settings__max_bytes_in_join": "x"}, "max_bytes_in_join"),
        ]
        folder = DATA.dir(BY_HAND)
        engine = self.engine
        for only_for, options, word in cases:
            if only_for in ("", engine):
                with self.subTest(options=options), working(engine) as worker:
                    self.assert_failed(worker.ask_load(folder, **options), "option", word)
                    self.assertEqual(worker.process.wait(timeout=60), 1)
        self.assertFalse((folder / "spill").exists())

    def test_requests_are_checked(self) -> None:
        folder = DATA.dir(BY_HAND)
        bad_lines = {"x\n": "not JSON", "[]\n": "not a request", "{\"type\": \"fly\"}\n": "'fly'",
                     "{\"type\": NaN}\n": "NaN", "[" * 9999 + "\n": "not JSON"}
        engine = self.engine
        for line, word in bad_lines.items():
            with self.subTest(line=line[:20]), working(engine) as worker:
                self.assert_failed(worker.raw(line), "protocol", word)
        with working(engine) as worker:
            self.assert_failed(worker.ask_go([1]), "protocol", "before prepare")
        for change in ({"protocol": 2}, {"colour": 1}, {"service": 3}, {"seed": -1},
                       {"sessions": []}, {"sessions": [{"cpus": "0-"}]},
                       {"sessions": [{"cpus": "0", "mem": 1}]}):
            with self.subTest(change=change), working(engine) as worker:
                worker.ask_load(folder, queries="1")
                request = {"protocol": 1, "load": worker.load, "sessions": [{"cpus": "0"}],
                           "seed": 1} | change
                self.assert_failed(worker.ask("prepare", **request), "protocol")
        with working(engine) as worker:
            worker.ask_load(folder)
            load = worker.load | {"colour": "red"}
            self.assert_failed(worker.ask("load", protocol=1, load=load), "protocol", "colour")
        for change in ({"window_ns": 0}, {"colour": 1}, {"queries": [[2]]}, {"queries": []},
                       {"queries": [[]]}, {"queries": [["1"]]}, {"warmup_ns": 10**18}):
            with self.subTest(change=change), prepared(engine, folder, queries="1") as worker:
                self.assert_failed(worker.ask_go([1], **change), "protocol")
        with prepared(engine, folder, queries="1") as worker:
            self.assert_failed(worker.ask_prepare(), "protocol", "twice")

    def test_an_engine_that_cannot_be_loaded_is_named(self) -> None:
        # The interpreter without the environment's packages: -I leaves those of the system alone.
        folder = Path(DATA.root / "no packages")
        folder.mkdir(exist_ok=True)
        bare = folder / "python"
        if not bare.exists():
            bare.symlink_to(os.path.realpath(sys.executable))
        with working(self.engine, interpreter=[str(bare), "-S"]) as worker:
            self.assert_failed(worker.hello, "engine", f"threadwise engine add {self.engine}")

    def test_a_placement_outside_of_the_allowed_cpus_is_a_lost_pin(self) -> None:
        engine = self.engine
        with working(engine) as worker:
            worker.ask_load(DATA.dir(BY_HAND), queries="1")
            worker.cpus = {4095}
            self.assert_failed(worker.ask_prepare(), "lost-pin", "4095")


class Answers(OneEngine):
    """Both engines give the same answers, whatever the treatment."""

    def answers(self, engine: str, queries: dict[int, str], **options: Any) -> dict[int, Any]:
        """The answers to all of the queries."""
        numbers = ",".join(map(str, queries))
        with prepared(engine, DATA.dir(queries), queries=numbers, **options) as worker:
            return {number: only(worker.ask_go([number]))["answer"] for number in queries}

    def assert_alike(self, found: list, expected: list) -> None:
        """Equal but for the last digits of fractions, which averages are cut to by DataFusion."""
        self.assertEqual(len(found), len(expected))
        for one, other in zip(in_order(found), in_order(expected), strict=True):
            for text, wanted in zip(one, other, strict=True):
                if inexact(wanted):
                    self.assertAlmostEqual(float(text) / (float(wanted) or 1.0),
                                           1.0 if float(wanted) else 0.0, delta=1e-4)
                else:
                    self.assertEqual(text, wanted)

    def test_queries_by_hand(self) -> None:
        expected = self.answers("duckdb", BY_HAND, dop=1)
        self.assertEqual(len(expected[1]), 4)
        self.assertRegex(expected[1][0][2], r"^\d+\.00$")
        self.assertRegex(expected[1][0][4], r"^199\d-\d\d-\d\d$")
        self.assertIn(None, [row[1] for row in expected[2]] + [None])
        self.assertEqual((len(expected[3]), expected[4], expected[5]), (7, [["0"]], []))
        engine = self.engine
        for options in ({"dop": 1}, {"dop": 2}, {"dop": 3, "storage": "memory"},
                        {"dop": 2, "cache": "cold"}):
            with self.subTest(options=options):
                self.assertEqual(self.answers(engine, BY_HAND, **options), expected)

    def test_all_22_queries(self) -> None:
        expected = self.answers("duckdb", tpch_queries("duckdb"), dop=1)
        self.assertEqual(len(expected), 22)
        self.assertGreater(sum(bool(answer) for answer in expected.values()), 19)
        engine = self.engine
        for options in ({"dop": 2}, {"dop": 2, "storage": "memory"}):
            found = self.answers(engine, tpch_queries(engine), **options)
            for number, answer in expected.items():
                with self.subTest(query=number, options=options):
                    self.assert_alike(found[number], answer)

    def test_two_streams(self) -> None:
        engine = self.engine
        queries = {number: BY_HAND[number] for number in (1, 2, 3)}
        other = queries | {2: BY_HAND[4]}
        with prepared(engine, DATA.dir(queries, other), 2, test="throughput", queries="1-3",
                      dop=1) as worker:
            reply = worker.ask_go([1, 2, 3], [3, 2, 1], warmup_ns=1000)
            self.assertEqual(reply["type"], "slice", reply)
            first, second = reply["sessions"]
            self.assertEqual([one["query"] for one in second["queries"]], [3, 2, 1])
            self.assertEqual(second["queries"][1]["answer"], [["0"]])
            self.assertEqual(first["queries"][0]["answer"], second["queries"][2]["answer"])
            longest = max(first["finished_ns"], second["finished_ns"])
            self.assertEqual(reply["window_ns"], longest)
            for one in first["queries"] + second["queries"]:
                self.assertEqual((one["cpu_ns"], one["dop"]), (None, None))
            self.assertEqual(first["cpu_ns"], second["cpu_ns"])
            self.assertGreater(first["cpu_ns"], 0)
            self.assertEqual(worker.ask("stop"), {"type": "done"})

    def test_short_queries_beside_a_stream(self) -> None:
        options = {"test": "throughput", "queries": "1,3", "dop": 1, "short": 2}
        if self.engine != "duckdb":
            with working(self.engine) as worker:
                reply = worker.ask_load(DATA.dir(BY_HAND), 3, **options)
                self.assert_failed(reply, "option", "short", "duckdb or postgres")
            return
        for storage in ("parquet", "memory"):
            with (self.subTest(storage=storage),
                  prepared(self.engine, DATA.dir(BY_HAND), 3, storage=storage,
                           **options) as worker):
                reply = worker.ask_go([1, 3], [], [], warmup_ns=1000)
                self.assertEqual(reply["type"], "slice", reply)
                stream, *short = reply["sessions"]
                self.assertEqual([one["query"] for one in stream["queries"]], [1, 3])
                self.assertEqual(reply["window_ns"], stream["finished_ns"])
                # It is not alone, so nothing of the process is its queries' own.
                for one in stream["queries"]:
                    self.assertEqual((one["cpu_ns"], one["dop"]), (None, None))
                self.assertGreater(stream["cpu_ns"], 0)
                self.assertEqual(len(short), 2)
                for one in short:
                    self.assertNotIn("queries", one)
                    self.assertGreater(one["steps"], 0)
                    checked = (one["rows"], one["answers_checked"], one["answers_wrong"])
                    self.assertEqual(checked, (one["steps"], one["steps"], 0))
                    self.assertGreater(one["cpu_ns"], 0)
                    latency = base64.b64decode(one["latency"])
                    self.assertTrue(latency.startswith(b"\x1c\x84\x93\x13"))
                self.assert_failed(worker.ask_go([1], [3], []), "protocol", "short")

    def test_wrong_answers_of_short_queries_are_counted(self) -> None:
        if self.engine != "duckdb":
            return
        folder = DATA.dir(BY_HAND, copy=True)
        without = ("import pyarrow.parquet as p, pyarrow.compute as c, sys; f = sys.argv[1]; "
                   "t = p.read_table(f); other = c.add(t[0], 100000000); "
                   "p.write_table(t.set_column(0, 'o_orderkey', other), f)")
        path = folder / "tpch" / "orders.parquet"
        subprocess.run([python_of("duckdb"), "-I", "-c", without, path], check=True)
        with prepared(self.engine, folder, 2, test="throughput", queries="1", dop=1,
                      short=1) as worker:
            one = worker.ask_go([1], [])["sessions"][1]
            self.assertEqual(one["answers_wrong"], one["answers_checked"])
            self.assertGreater(one["answers_wrong"], 0)

    def test_short_queries_stop_with_a_stream_that_is_stopped(self) -> None:
        if self.engine != "duckdb":
            return
        with prepared(self.engine, DATA.dir({1: ENDLESS}), 2, test="throughput", queries="1", dop=1,
                      short=1) as worker:
            reply = worker.ask_go([1], [], limit_ns=SECOND_NS)
            self.assert_failed(reply, "engine", "q01", "did not finish")

    def test_power_has_one_session(self) -> None:
        engine = self.engine
        with working(engine) as worker:
            worker.ask_load(DATA.dir(BY_HAND, BY_HAND), 2, queries="1")
            self.assert_failed(worker.ask_prepare(), "option", "throughput")


class Threads(OneEngine):
    """Who runs, where, and when."""

    def test_all_threads_stay_in_the_placement(self) -> None:
        allowed = os.sched_getaffinity(0)
        # Also with several: threads that bind themselves to one of them would be seen.
        for cpus in ({max(allowed)}, allowed):
            with prepared(self.engine, DATA.dir({1: HEAVY}), cpus=cpus, queries="1", dop=3) as worker:
                only(worker.ask_go([1]))
                self.assertEqual({frozenset(mask) for mask in worker.masks()}, {frozenset(cpus)})

    def test_observed_degree(self) -> None:
        for dop in (1, 2):
            with prepared(self.engine, DATA.dir({1: HEAVY}), queries="1", dop=dop) as worker:
                if self.engine == "clickhouse":  # threads of its pool take turns
                    self.assertIsNone(only(worker.ask_go([1]))["dop"])
                    continue
                # On a busy machine one thread may have done all before another was given a CPU.
                seen = [only(worker.ask_go([1]))["dop"] for _ in range(8)]
                self.assertEqual(max(seen), dop, seen)

    def test_degree_is_that_of_the_placement_by_default(self) -> None:
        one = {min(os.sched_getaffinity(0))}
        engine = self.engine
        with prepared(engine, DATA.dir({1: HEAVY}), cpus=one, queries="1") as worker:
            expected = None if engine == "clickhouse" else 1
            self.assertEqual(only(worker.ask_go([1]))["dop"], expected)

    def test_threads_are_as_many_as_asked_for(self) -> None:
        counts = []
        for dop in (1, 4):
            with prepared(self.engine, DATA.dir({1: HEAVY}), queries="1", dop=dop) as worker:
                counts.append(len(worker.threads()))
        if self.engine == "duckdb":
            self.assertEqual(counts[1] - counts[0], 3)
        else:  # the main thread, the session's, the runtime's four, and some that read files
            self.assertGreaterEqual(counts[1], 6)

    def test_parked_between_slices(self) -> None:
        engine = self.engine
        with prepared(engine, DATA.dir({1: HEAVY}), queries="1", dop=2) as worker:
            only(worker.ask_go([1]))
            time.sleep(1.0)  # pools may look for work once more before they sleep
            before = worker.threads()
            time.sleep(1.0)
            after = worker.threads()
            self.assertEqual(before.keys(), after.keys() & before.keys())
            grown_ns = sum(after[tid] - before.get(tid, 0) for tid in after)
            self.assertLess(grown_ns, 5_000_000)

    def test_the_interpreter_is_idle_while_a_query_runs(self) -> None:
        engine = self.engine
        with prepared(engine, DATA.dir({1: HEAVY}), queries="1", dop=2) as worker:
            only(worker.ask_go([1]))
            before = worker.threads()
            query = only(worker.ask_go([1]))
            after = worker.threads()
            grown = {tid: after[tid] - before.get(tid, 0) for tid in after}
            # In DuckDB the session's thread is one of those that compute.
            waiting = {worker.process.pid}
            if engine == "datafusion":
                waiting.add(worker.tids[0])
            idle_ns = sum(grown.get(tid, 0) for tid in waiting)
            self.assertGreater(query["cpu_ns"], 0)
            self.assertLess(idle_ns, sum(grown.values()) * 0.1)


class Plans(OneEngine):
    """Canonical plans."""

    def plans(self, engine: str, **options: Any) -> dict[int, str]:
        """Plans of the 22 queries, without estimates."""
        queries = tpch_queries(engine)
        with prepared(engine, DATA.dir(queries), **options) as worker:
            plans = {number: only(worker.ask_go([number]))["plan"] for number in queries}
        if engine == "duckdb":
            self.assertRegex(plans[6], r"(?m)lineitem # rows=\d+$")
        return {number: re.sub(r"(?m) # rows=.*$", "", plan) for number, plan in plans.items()}

    def test_a_plan_is_the_same_at_any_degree_but_for_movers(self) -> None:
        engine = self.engine
        serial, parallel = self.plans(engine, dop=1), self.plans(engine, dop=2)
        self.assertEqual({number: without_movers(plan) for number, plan in serial.items()},
                         {number: without_movers(plan) for number, plan in parallel.items()})
        if engine == "datafusion":
            self.assertIn("~ RepartitionExec Hash([", parallel[1])
        else:
            self.assertEqual(serial, parallel)
        for plan in parallel.values():
            self.assertLessEqual(max(map(len, plan.splitlines())), 200)
            self.assertNotRegex(plan, r"\d\.parquet|Cardinality|@\d|199\d-")
        for table in ("lineitem", "customer", "orders"):
            self.assertRegex(parallel[3], rf"(?m)^ +\S+ {table}$")

    def test_a_setting_that_changes_the_plan_changes_the_text(self) -> None:
        engine = self.engine
        usual = self.plans(engine, dop=2)
        other = self.plans(engine, dop=2, **REPLANS[engine])
        self.assertNotEqual(without_movers(usual[5]), without_movers(other[5]))
        self.assertEqual(without_movers(usual[6]), without_movers(other[6]))


class Faults(OneEngine):
    """Limits, damage and leftovers."""

    def test_memory_and_spill_limits_fail_clearly(self) -> None:
        engine = self.engine
        folder = DATA.dir({1: WIDE})
        with prepared(engine, folder, queries="1", dop=2, memory_limit_mb=24,
                      spill_limit_mb=0) as worker:
            reply = worker.ask_go([1])
            self.assert_failed(reply, "engine", engine, "q01", "memory_limit_mb")
            # The engines go on with advice that would be refused here, and with lists of consumers.
            for theirs in ("SET ", "PRAGMA", "Possible", "consumed", "http", "\\n"):
                self.assertNotIn(theirs, reply["message"])
            self.assertEqual(worker.process.wait(timeout=60), 1)
        self.assertEqual(list((folder / "spill").iterdir()), [])
        # Blocks of ClickHouse are larger: each of its threads works on 8.5 MB.
        enough = 192 if engine == "clickhouse" else 48
        with prepared(engine, folder, queries="1", dop=2, memory_limit_mb=enough) as worker:
            query = only(worker.ask_go([1]))
            self.assertGreater(query["counters"]["spill_bytes"], 0)

    def test_the_time_limit(self) -> None:
        engine = self.engine
        folder = DATA.dir({1: ENDLESS})
        with prepared(engine, folder, queries="1", dop=2) as worker:
            reply = worker.ask_go([1], limit_ns=SECOND_NS // 4)
            self.assert_failed(reply, "engine", engine, "q01", "0.250 s")
            self.assertEqual(worker.process.wait(timeout=60), 1)
        self.assertEqual(list((folder / "spill").iterdir()), [])

    def test_damaged_data(self) -> None:
        engine = self.engine
        folder = DATA.dir(BY_HAND, copy=True)
        path = folder / "tpch" / "lineitem.parquet"
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with working(engine) as worker:
            self.assert_failed(worker.ask_load(folder), "engine", str(path), "creates it again")
        quarter = len(whole) // 4
        path.write_bytes(whole[:quarter] + bytes(2 * quarter) + whole[3 * quarter:])
        with prepared(engine, folder, queries="1") as worker:
            self.assert_failed(worker.ask_go([1]), "engine", engine, "q01", "created again")
        path.unlink()
        with working(engine) as worker:
            self.assert_failed(worker.ask_load(folder), "engine", str(path), "does not exist")

    def test_unsupported_and_missing_queries(self) -> None:
        engine = self.engine
        with working(engine) as worker:
            worker.ask_load(DATA.dir({1: "SELECT frobnicate(r_name) FROM region"}), queries=1)
            self.assert_failed(worker.ask_prepare(), "engine", engine, "q01", "frobnicate")
        with working(engine) as worker:
            worker.ask_load(DATA.dir(BY_HAND), queries="1-6")
            self.assert_failed(worker.ask_prepare(), "engine", "q06.sql")

    def test_leftovers_of_a_killed_worker_are_removed_and_those_of_a_living_one_kept(self) -> None:
        engine = self.engine
        folder = DATA.dir(BY_HAND)
        with prepared(engine, folder, queries="1"):
            pass  # killed
        (left,) = (folder / "spill").iterdir()
        with prepared(engine, folder, queries="1"):
            (first,) = (folder / "spill").iterdir()
            self.assertNotEqual(first, left)
            with prepared(engine, folder, queries="1"):
                self.assertEqual(len(list((folder / "spill").iterdir())), 2)

    def test_memory_of_tables_is_told(self) -> None:
        engine = self.engine
        with working(engine) as worker:
            one = worker.ask_load(DATA.dir(BY_HAND), storage="memory")["bytes_per_session"]
            self.assertGreater(one, 50_000_000)
            two = worker.ask_load(DATA.dir(BY_HAND), 2, storage="memory")["bytes_per_session"]
            # DuckDB's streams have a copy each, DataFusion's share one.
            self.assertEqual(two, one if engine == "duckdb" else one // 2)


def there() -> list[str]:
    """Engines with an environment of their own, where that is; for each of the others a line."""
    for engine in APART:
        if not python_of(engine).exists():
            print(f"SKIPPED: workers of {engine}: its environment is not beside this one: threadwise "
                  f"engine add {engine}", file=sys.stderr)
    return [engine for engine in APART if python_of(engine).exists()]


def load_tests(loader: unittest.TestLoader, _tests: object, _pattern: object
               ) -> unittest.TestSuite:
    """Every test case once for every engine (the load_tests protocol of unittest)."""
    suite = unittest.TestSuite()
    for case in (Conversation, Answers, Threads, Plans, Faults):
        for engine in (*ENGINES, *there()):
            own = type(f"{case.__name__}_{engine}", (case,), {"engine": engine})
            suite.addTests(loader.loadTestsFromTestCase(own))
    return suite


if __name__ == "__main__":
    unittest.main()
