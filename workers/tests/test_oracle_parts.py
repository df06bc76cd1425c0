"""Parts of the worker for Oracle Database that need no server: addresses, options, keys, clocks, errors, plans.
"""

from __future__ import annotations

import datetime
import sys
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_support import URL, load_of  # noqa: E402

import threadwise_oracle_address as address  # noqa: E402
import threadwise_oracle_blocks as blocks  # noqa: E402
import threadwise_oracle_failure as failure  # noqa: E402
import threadwise_oracle_options as options  # noqa: E402
import threadwise_oracle_plan as plans  # noqa: E402
from threadwise_failure import Failed  # noqa: E402
from threadwise_load import Load  # noqa: E402
from threadwise_oracle_clock import Call, ServerClock, uncertainty_note  # noqa: E402
from threadwise_oracle_query import sql_id  # noqa: E402
from threadwise_oracle_steps import Pieces, Window, closed_loop  # noqa: E402


class Parts(unittest.TestCase):
    """Functions without a server."""

    def test_addresses(self) -> None:
        target = address.read_target({"url": "oracle://bench@db:1522/app.example", "prefix": "x_"})
        self.assertEqual((target.user, target.host, target.port, target.service, target.tls, target.prefix),
                         ("bench", "db", 1522, "app.example", False, "X_"))
        self.assertEqual(address.read_target({"url": "oracle://b@[::1]/s"}).host, "::1")
        self.assertEqual(address.read_target({"url": "oracle://C%23%23ADMIN@h/s"}).user, "C##ADMIN")
        self.assertNotIn("hidden", repr(address.Target("u", "h", 1, "s", False, "TW_", True, "hidden")))

    def test_addresses_with_a_password_are_refused_and_not_repeated(self) -> None:
        for url in ("oracle://bench:hidden@db/app", "oracle://bench/hidden@db:1521/app", "oracle://bench:h@hidden@db/a",
                    "oracles://bench:hidden@db:1521/app", "oracle://bench:@db/app", "bench/hidden@db", "oracle:hidden",
                    "oracle://bench@db/app?password=hidden", "oracle://bench@db:hidden/app", "oracle://db/hidden x"):
            with self.assertRaises(Failed) as caught:
                address.read_target({"url": url})
            self.assertEqual(caught.exception.kind, "option")
            self.assertNotIn("hidden", str(caught.exception))

    def test_other_engine_options(self) -> None:
        for given, word in [({}, "needs your server"), ({"url": URL, "schema": "x"}, "schema"), ({"url": 5}, "not a text"),
                            ({"url": URL, "prefix": "TOOLONG__"}, "prefix"), ({"url": URL, "prefix": "1A"}, "prefix"),
                            ({"url": URL, "prefix": "A'B"}, "prefix"), ({"url": URL, "waits": "all"}, "waits"),
                            ({"url": "oracle://db/app"}, "no user"), ({"url": "oracle://u@db"}, "no service")]:
            with self.assertRaises(Failed) as caught:
                address.read_target(given)
            self.assertIn(word, str(caught.exception))

    def read(self, workload: str, **chosen: Any) -> options.Work:
        """The workload, checked."""
        load = load_of(workload, **chosen)
        return options.read_work(Load(**{**load, "data_dir": Path("/tmp")}))

    def test_options_of_workloads(self) -> None:
        self.assertEqual(self.read("logical-io", data="l2", data_mib=1.5).spec.blocks, 384)
        self.assertEqual(self.read("logical-io", blocks=100.0).spec.blocks, 100)
        self.assertEqual(self.read("logical-io", loop="client", think_time_us=70).spec.think_time_us, 70)
        usual = self.read("insert").spec
        self.assertEqual((usual.is_random, usual.rows_per_tx, usual.is_full, usual.seed_rows, usual.rows_per_session),
                         (False, 2, True, 200_000, None))
        for workload, chosen, word in [
            ("logical-io", {"blocks": 0}, "whole number from 1"), ("logical-io", {"blocks": 63}, "63 blocks"),
            ("logical-io", {"blocks": True}, "blocks"), ("logical-io", {"update_pct": 101}, "0 to 100"),
            ("logical-io", {"hot_pct": 5}, "hot_pct needs"), ("logical-io", {"hot_blocks": 64}, "without hot_pct"),
            ("logical-io", {"shared": 1}, "neither true nor false"), ("logical-io", {"data": "llc"}, "without blocks"),
            ("logical-io", {"scale": 1}, "allowed: blocks"), ("logical-io", {"think_time_us": 70}, "loop=client"),
            ("insert", {"key": "uuid"}, "sequential, random"), ("insert", {"rows_per_tx": 0}, "all rows in one"),
            ("insert", {"rows_per_tx": 1001}, "0 to 1000"), ("insert", {"rows_per_session": 7}, "multiple"),
            ("insert", {"loop": True}, "loop"), ("parallel-scan", {}, "it has: logical-io, insert, tpch"),
        ]:
            with self.assertRaises(Failed) as caught:
                self.read(workload, **chosen)
            self.assertIn(word, str(caught.exception))
            self.assertEqual(caught.exception.kind, "option")

    def test_data_is_shared_by_equals_that_change_nothing(self) -> None:
        def suffix(treatment: str = "t", **chosen: Any) -> str:
            load = Load(**{**load_of("logical-io", **chosen), "treatment": treatment, "data_dir": Path("/tmp")})
            return options.suffix_of(load, options.read_work(load))

        self.assertEqual(suffix("a"), suffix("b"))
        self.assertNotEqual(suffix("a"), suffix("a", blocks=100))
        self.assertNotEqual(suffix("a", update_pct=5), suffix("b", update_pct=5))

    def test_keys_steps_and_sums_are_a_function_of_the_seed(self) -> None:
        keys = blocks.shuffled_keys(5, 1000)
        self.assertEqual((keys, sorted(keys)), (blocks.shuffled_keys(5, 1000), list(range(1000))))
        self.assertNotEqual(keys, blocks.shuffled_keys(6, 1000))
        self.assertLess(sum(abs(one - next_one) == 1 for one, next_one in zip(keys, keys[1:])), 10)
        for first, count in [(0, 1), (5, 64), (8128, 64)]:
            self.assertEqual(options.range_sum(first, count), sum(7 * key + 3 for key in range(first, first + count)))
        spec = self.read("logical-io", blocks=100, hot_pct=50, hot_blocks=64, update_pct=25).spec

        def some(seed: int, session: int) -> list:
            drawn = blocks.steps(spec, seed, session)
            return [next(drawn) for _ in range(2000)]

        steps = some(1, 0)
        self.assertEqual(steps, some(1, 0))
        self.assertNotEqual(steps, some(1, 1))
        self.assertTrue(all(0 <= first <= 36 for first, _ in steps))
        self.assertTrue(400 < sum(update for _, update in steps) < 600)

    def test_clock_and_shares(self) -> None:
        clock = ServerClock(1_795_313_194_000_000_123, 0, 0)
        self.assertEqual(clock.to_server_us(5_000_000_877), 1_795_313_199_000_001)
        self.assertEqual(clock.monotonic_ns_of(1_795_313_199_000_001), 5_000_000_877)
        for ns, said in [(0, []), (100_000, []), (100_001, ["the server's clock is known to 200 us"]),
                         (7_000_000, ["the server's clock is known to 10000 us"])]:
            self.assertEqual(uncertainty_note(ns), said)
        self.assertEqual((Call(30, 40, 64).share(4000), Call(0, 0, 1).share(9)), (3000, 0))

    def test_pieces(self) -> None:
        for window, added, rows in [
            (Window(0, 1000, 1010, 4), [(1001, 1), (1004, 2), (1005, 4), (1009, 8), (1010, 16)], [3, 4, 24]),
            (Window(0, 1000, 1005), [(1003, 1), (1004, 2), (1005, 4)], [1, 6]),
        ]:
            pieces = Pieces(window)
            for ended_ns, count in added:
                pieces.add(ended_ns, count)
            self.assertEqual(pieces.rows, rows)

    def test_steps_count_where_they_end(self) -> None:
        now_ns = 0

        def step() -> None:
            nonlocal now_ns
            now_ns += 10

        with mock.patch("threadwise_oracle_steps.time") as clock:
            clock.monotonic_ns = lambda: now_ns
            # Steps end at 10, 20, …; those at 40 to 100 are inside of (30, 105], and the one at 110 ends the loop.
            slice_json, call = closed_loop(Window(0, 30, 105), 3, True, step)
        self.assertEqual((slice_json["steps"], slice_json["rows"], slice_json["answers_checked"]), (7, 21, 7))
        self.assertEqual((call, slice_json["counters"]["rows_first_half"]), (Call(7, 11, 3), 9))

    def test_numbers_and_advice(self) -> None:
        class Driver(Exception):
            """As the driver's."""

        def error(message: str) -> Driver:
            return Driver(type("E", (), {"message": message})())

        self.assertEqual(failure.number_of(error("ORA-1653: no room")), "ORA-01653")
        self.assertTrue(failure.is_missing(error("ORA-06550: line 1:\nPLS-00201: identifier 'DBMS_LOCK' must be")))
        self.assertFalse(failure.is_missing(error("ORA-06550: line 1:\nPLS-00103: Encountered the symbol")))
        self.assertIn("PLS-00103", failure.advice(error("ORA-06550: line 1:\nPLS-00103: Encountered the symbol")))
        self.assertTrue(failure.is_missing(error("ORA-41900: missing READ privilege on \"SYS\".\"V_$SESSION\"")))
        self.assertEqual(failure.advice(ValueError("odd")), "odd")

    def test_sql_ids(self) -> None:
        self.assertEqual(sql_id("select * from dual"), "a5ks9fhw2v9s1")

    def test_values_of_answers(self) -> None:
        given = [(Decimal("24.00"), Decimal("1E+3"), datetime.datetime(1995, 3, 15), "AIR       ", None, 0.5, 7,
                  datetime.datetime(1995, 3, 15, 1))]
        self.assertEqual(plans.answer(given),
                         [["24.00", "1000", "1995-03-15", "AIR", None, "0.5", "7", "1995-03-15 01:00:00"]])

    def test_made_up_names_are_no_part_of_a_plan(self) -> None:
        rows = [(0, "TABLE ACCESS", "FULL", "SYS_TEMP_0FD9D6601_1", None), (0, "JOIN FILTER", "CREATE", ":BF0000", 3),
                (0, "VIEW", None, "VW_NSO_1", None), (0, "INDEX", "UNIQUE SCAN", "TW_ORDERS_K0", 1)]
        self.assertEqual(plans.canonical(rows, "TW_").splitlines(),
                         ["TABLE ACCESS FULL", "JOIN FILTER CREATE # rows=3", "VIEW",
                          "INDEX UNIQUE SCAN ORDERS_K0 # rows=1"])


if __name__ == "__main__":
    unittest.main()
