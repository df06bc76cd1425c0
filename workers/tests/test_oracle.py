"""The engine oracle against a model of a server (`oracle_model`): `logical-io`, `insert`, `transaction`, objects, errors,
and the request `server`. Runs with any interpreter from 3.11 on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_model import VIEWS, Fault, Rows  # noqa: E402
from oracle_support import (  # noqa: E402
    BASE,
    BLOCKS,
    PASSWORD,
    SECOND_NS,
    URL,
    VARIABLE,
    WithModel,
    Worker,
    environment,
    load_of,
    program,
)


class Conversation(WithModel):
    """Life cycle."""

    def test_a_whole_study_leaves_nothing(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        keeper = self.worker()
        self.assertEqual({name: keeper.hello["properties"][name] for name in ("block_bytes", "dialect")},
                         {"block_bytes": 8192, "dialect": "oracle"})
        self.assertEqual(self.model.logins, [])
        reply = keeper.load(load, connections=9)
        self.assertEqual((reply.get("rows_per_session"), reply.get("bytes_per_session")), (200, 200 * 8192), reply)
        self.assertIn("each alone on a block of 8192 bytes", reply["notes"][0])
        self.assertEqual(keeper.load(load)["notes"], reply["notes"], "found, not made again")
        self.assertEqual(self.model.statements.count("blocks"), 2)
        worker = self.worker()
        ready = worker.prepare(load)
        self.assertEqual((ready["type"], len(set(ready.get("tids", [])))), ("ready", 2), ready)
        self.assertEqual(worker.go()["type"], "slice")
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertTrue(self.model.names())
        self.assertTrue(all(name.isupper() for name in self.model.names()))
        self.assertEqual(keeper.ask("stop"), {"type": "done"})
        self.assertEqual(keeper.process.wait(timeout=10), 0)
        self.assert_nothing_is_left()

    def test_the_program_runs_a_study(self) -> None:
        for preset, more in (("cached-reads", ["--set", "data_mib=1"]), ("pool", ["--transaction", "page.sql"])):
            (self.folder / "page.sql").write_text("SELECT 1 FROM dual;\n")
            self.model.theirs = {"SELECT 1 FROM dual": [(1,)]}
            words = [preset] if preset == "pool" else ["run", preset, "--placement", "all"]
            said = subprocess.run(
                [program(), *words, "--engine", URL, "--engine-option", f"python={self.python}", "--no-probe", "--allow-busy",
                 "--blocks", "2", "--rounds", "2", *more], cwd=self.folder, capture_output=True, text=True, timeout=300,
                env=os.environ | {"XDG_DATA_HOME": str(self.folder), VARIABLE: PASSWORD,
                                  "THREADWISE_STATE_DIR": str(self.folder / "state")})
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
            self.assertIn("oracle 19.22", said.stdout)
            self.assertNotIn(PASSWORD, said.stdout + said.stderr)
            self.assert_nothing_is_left()
            self.assertEqual(self.model.unknown, [])

    def test_a_driver_that_is_missing(self) -> None:
        folder = self.folder / "other"
        worker = Worker(self.folder, environment(folder, "no-driver"))
        self.addCleanup(worker.close)
        self.assert_failed(worker.load(load_of("insert")), "engine", "oracledb", "threadwise engine add oracle")

    def test_a_proxy_ends_with_its_worker_and_cancels_its_call(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        worker = self.worker()
        self.assertEqual(worker.prepare(load)["type"], "ready")
        threading.Timer(0.5, worker.process.kill).start()
        worker.go(window_ns=600 * SECOND_NS)
        until = time.monotonic() + 30
        while len(self.model.sessions) > 1 and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(len(self.model.sessions), 1, "the keeper's")


class LogicalIo(WithModel):
    """Loads, steps and checks of `logical-io`."""

    def slice_of(self, worker: Worker, load: dict, **more: Any) -> dict[str, Any]:
        """One slice of two sessions."""
        ready = worker.prepare(load)
        self.assertEqual(ready["type"], "ready", ready)
        reply = worker.go(**more)
        self.assertEqual((reply["type"], reply["sequence"], len(reply["sessions"])), ("slice", 3, 2), reply)
        return reply

    def test_a_loop_in_the_server_counts_its_window_and_scales_what_it_used(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        reply = self.slice_of(self.worker(), load, window_ns=200_000_000)
        self.assertEqual(reply["window_ns"], 200_000_000)
        for one in reply["sessions"]:
            self.assertGreater(one["steps"], 0)
            self.assertLessEqual(one["steps"], 201, "a step takes a millisecond")
            self.assertEqual((one["rows"], one["answers_checked"], one["answers_wrong"]),
                             (8 * one["steps"], one["steps"], 0))
            # A step of the model takes 500 us of CPU and 16 reads; a statement beside takes 100 us.
            self.assertGreaterEqual(one["cpu_ns"], 500_000 * one["steps"])
            self.assertLess(one["cpu_ns"], 500_000 * one["steps"] + 1_000_000)
            self.assertEqual(one["counters"]["logical_reads"], 16 * one["steps"])
            self.assertAlmostEqual(one["counters"]["db_time_ns"] / one["cpu_ns"], 2, delta=0.01)
            self.assertEqual((one["counters"]["physical_reads"], one["latency"]), (0, ""))
            self.assertIn("client_cpu_ns", one["counters"])
        self.assertGreater(reply["counters"]["waits_sampled"], 0)
        self.assertEqual(reply["counters"]["waits_sampled"],
                         sum(value for name, value in reply["counters"].items() if name.startswith("waits/")))
        self.assertIn("log_file_sync_waits", reply["counters"])

    def test_a_loop_in_the_client_has_latencies_and_halves_or_pieces(self) -> None:
        load = load_of("logical-io", loop="client", update_pct=50, think_time_us=100, **BLOCKS)
        self.loaded(load)
        worker = self.worker()
        reply = self.slice_of(worker, load)
        for one in reply["sessions"]:
            self.assertGreater(one["steps"], 0)
            self.assertTrue(one["latency"])
            self.assertLessEqual(one["counters"]["rows_first_half"], one["rows"])
            self.assertGreater(one["cpu_ns"], 0)
        pieces = worker.go(piece_ns=20_000_000)
        for one in pieces["sessions"]:
            self.assertEqual((len(one["rows_by_piece"]), sum(one["rows_by_piece"])), (5, one["rows"]))
        self.assertEqual(worker.end(), ({"type": "done"}, 0))

    def test_updates_keep_the_sums(self) -> None:
        load = load_of("logical-io", shared=True, update_pct=40, **BLOCKS)
        self.loaded(load)
        reply = self.slice_of(self.worker(), load)
        self.assertGreater(sum(one["rows"] for one in reply["sessions"]), 0)
        (table,) = [what.rows for kind, what in self.model.objects.values() if hasattr(what, "rows")]
        self.assertTrue(any(row[0] != BASE for row in table.values()))
        self.assertTrue(all(sum(row) == 7 * key + 3 for key, row in table.items()))

    def test_rows_that_share_blocks_are_noticed(self) -> None:
        self.model.blocks_a_row = 2
        keeper = self.worker()
        self.assert_failed(keeper.load(load_of("logical-io", **BLOCKS)), "engine", "200 rows of 200", "100 blocks")
        self.assert_nothing_is_left()

    def test_a_wrong_answer_is_noticed(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        worker = self.worker()
        self.assertEqual(worker.prepare(load)["type"], "ready")
        for _, what in self.model.objects.values():
            if hasattr(what, "rows"):
                for row in what.rows.values():
                    row[0] += 1
        self.assert_failed(worker.go(), "wrong-answer", "steps on TW_blocks_")
        self.assertEqual(worker.process.wait(timeout=10), 1)
        self.assert_failed(self.worker().prepare(load), "wrong-answer", "instead of")

    def test_a_plan_that_reads_the_whole_table_and_data_that_is_not_cached(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        self.model.usage["uncached"] = 50
        self.assert_failed(self.worker().prepare(load), "engine", "not cached", "db_cache_size")
        self.model.usage["full scan"] = 1
        self.assert_failed(self.worker().prepare(load), "engine", "TABLE ACCESS FULL")

    def test_a_procedure_that_does_not_compile(self) -> None:
        self.model.compile_errors = [(12, "PL/SQL: ORA-00904: invalid identifier")]
        self.assert_failed(self.worker().load(load_of("logical-io", **BLOCKS)), "engine", "TW_READ_BLOCKS_", "line 12")

    def test_without_rights_counters_are_left_out_and_named(self) -> None:
        self.model.missing = {"v$mystat", "v$statname", "v$sess_time_model", "v$session", "v$system_event",
                              "v$process"}
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        worker = self.worker()
        ready = worker.prepare(load)
        self.assertEqual(ready["type"], "ready", ready)
        for view in ("V_$MYSTAT", "V_$SESS_TIME_MODEL", "V_$SESSION", "V_$SYSTEM_EVENT", "V_$PROCESS"):
            self.assertTrue(any(view in note and "GRANT SELECT" in note for note in ready["notes"]), (view, ready))
        self.assertTrue(any(note.startswith("server not pinned") for note in ready["notes"]))
        reply = worker.go()
        for one in reply["sessions"]:
            self.assertGreater(one["steps"], 0)
            self.assertEqual((one["cpu_ns"], set(one["counters"])), (0, {"client_cpu_ns"}))
        self.assertEqual(reply["counters"], {})
        self.assertEqual(worker.end(), ({"type": "done"}, 0))


class Insert(WithModel):
    """Loads, steps and checks of `insert`."""

    def ready(self, load: dict) -> Worker:
        """A worker that was prepared."""
        worker = self.worker()
        reply = worker.prepare(load)
        self.assertEqual(reply["type"], "ready", reply)
        return worker

    def table(self) -> Rows:
        """The model's table."""
        (found,) = [what for _, what in self.model.objects.values() if isinstance(what, Rows)]
        return found

    def test_inserted_rows_are_checked_and_taken_out(self) -> None:
        for chosen in ({}, {"key": "random"}, {"loop": "client", "durability": "relaxed"},
                       {"key": "random", "loop": "client", "rows_per_tx": 5}):
            with self.subTest(**chosen):
                load = load_of("insert", seed_rows=300, **chosen)
                keeper, worker = self.loaded(load), self.ready(load)
                for sequence in (0, 1):
                    for one in worker.go(sequence=sequence)["sessions"]:
                        self.assertGreater(one["rows"], 0)
                        self.assertEqual(one["rows"], one["steps"] * chosen.get("rows_per_tx", 2))
                self.assertGreater(len(self.table().rows), 300)
                self.assertEqual(worker.end(), ({"type": "done"}, 0))
                self.assertEqual(len(self.table().rows), 300)
                self.assertEqual(keeper.end(), ({"type": "done"}, 0))
                self.assert_nothing_is_left()

    def test_durability_is_the_commit_of_the_loop(self) -> None:
        for durability, words in (("full", "COMMIT WRITE IMMEDIATE WAIT;"), ("relaxed", "COMMIT WRITE BATCH NOWAIT;")):
            keeper = self.loaded(load_of("insert", seed_rows=10, durability=durability))
            (made,) = [what for kind, what in self.model.objects.values() if kind == "PROCEDURE"]
            self.assertEqual(made["sql"].count("COMMIT"), 1)
            self.assertIn(words, made["sql"])
            keeper.end()

    def test_a_fixed_amount_of_work(self) -> None:
        for loop in ("server", "client"):
            load = load_of("insert", seed_rows=10, rows_per_session=40, loop=loop)
            keeper, worker = self.loaded(load), self.ready(load)
            reply = worker.go(window_ns=20 * SECOND_NS)
            self.assertEqual([one["rows"] for one in reply["sessions"]], [40, 40])
            self.assertEqual(reply["window_ns"], max(one["finished_ns"] for one in reply["sessions"]))
            self.assert_failed(worker.go(window_ns=1000), "engine", "of 40 rows")
            keeper.end()

    def test_rows_that_are_lost_are_noticed_and_the_rest_is_put_back(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        worker = self.ready(load)
        worker.go()
        table = self.table()
        table.rows.pop(next(key for key, owner in table.rows.items() if owner))
        last, status = worker.end()
        self.assert_failed(last, "wrong-answer", "after the run", "rows with key sum")
        self.assertEqual((status, len(table.rows)), (1, 20))

    def test_what_a_killed_run_left_is_taken_out_by_the_next(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        worker = self.ready(load)
        worker.go()
        worker.process.kill()
        worker.process.wait()
        self.assertGreater(len(self.table().rows), 20)
        self.assertEqual(self.ready(load).end(), ({"type": "done"}, 0))
        self.assertEqual(len(self.table().rows), 20)

    def test_a_seeded_row_that_is_lost_is_no_leftover(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        self.table().rows.pop(next(iter(self.table().rows)))
        self.assert_failed(self.worker().prepare(load), "wrong-answer", "19 rows")

    def test_what_a_worker_leaves_that_is_ended_is_taken_out_by_the_next(self) -> None:
        load = load_of("insert", seed_rows=20)
        keeper, worker = self.loaded(load), self.ready(load)
        timer = threading.Timer(0.5, lambda: worker.process.send_signal(signal.SIGTERM))
        timer.start()
        worker.go(window_ns=600 * SECOND_NS)
        self.assertNotEqual(worker.process.wait(timeout=10), 0)
        self.assertEqual(self.ready(load).end(), ({"type": "done"}, 0))
        self.assertEqual(len(self.table().rows), 20)
        self.assertEqual(keeper.end(), ({"type": "done"}, 0))
        self.assert_nothing_is_left()


class Transaction(WithModel):
    """The user's statements."""

    SQL = "-- :id 1..9\nSELECT name FROM customers WHERE id = :id;\nSELECT 1 FROM dual;"

    def setUp(self) -> None:
        super().setUp()
        self.model.theirs = {"SELECT name FROM customers WHERE id = :p1": [("x",)] * 3, "SELECT 1 FROM dual": [(1,)],
                             "UPDATE customers SET n = 1": []}

    def test_statements_are_executed_in_transactions_and_nothing_is_made(self) -> None:
        load = load_of("transaction", sql=self.SQL)
        keeper = self.worker()
        reply = keeper.load(load)
        self.assertEqual((reply["type"], reply.get("keep")), ("loaded", False), reply)
        worker = self.worker()
        ready = worker.prepare(load)
        self.assertEqual(ready["type"], "ready", ready)
        reply = worker.go()
        for one in reply["sessions"]:
            self.assertGreater(one["steps"], 0)
            self.assertTrue(one["latency"])
            self.assertGreater(one["counters"]["client_cpu_ns"], 0)
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        said = self.model.statements
        self.assertEqual(said.count("read_only"), said.count("rollback"))
        self.assertEqual(2 * said.count("read_only"), said.count("theirs") - 6, "each is parsed three times")
        self.assertEqual((said.count("commit"), said.count("session_settings")), (0, 2), "of control connections")
        keeper.end()
        self.assert_nothing_is_left()

    def test_what_fails_is_told_with_its_line_and_a_large_answer_is_not_read(self) -> None:
        self.model.faults = [Fault("theirs", "ORA-01456", "may not perform insert/delete/update operation")]
        self.assert_failed(self.worker().load(load_of("transaction", sql=self.SQL)), "engine", "line 2", "ORA-01456",
                           "--may-write")
        self.model.theirs["SELECT 1 FROM dual"] = [("x" * 1000,)] * 70_000
        self.assert_failed(self.worker().load(load_of("transaction", sql=self.SQL)), "engine", "line 3", "64 MiB")

    def test_units_are_checked_and_nothing_is_made(self) -> None:
        load = load_of("burn", rate_per_s=50)
        keeper = self.worker()
        reply = keeper.load(load)
        self.assertEqual((reply["type"], reply.get("keep")), ("loaded", False), reply)
        worker = self.worker()
        ready = worker.prepare(load)
        self.assertEqual(ready["type"], "ready", ready)
        # Fewer than the 20 units from which on a load may be ended because another connection waits.
        window_ns = 400_000_000
        reply = worker.go(window_ns)
        steps = sum(one["steps"] for one in reply["sessions"])
        self.assertEqual(reply["counters"]["arrivals_due"], steps + reply["counters"]["arrivals_unserved"], reply)
        self.assertGreater(reply["counters"]["other_connection_units"], 0)
        self.assertGreaterEqual(sum(one["answers_checked"] for one in reply["sessions"]), steps)
        self.model.unit_answer += 1
        reply = worker.go(window_ns)
        self.assert_failed(reply, "wrong-answer", "a unit gave 49", "instead of 49")
        keeper.end()
        self.assert_nothing_is_left()

    def test_a_mix_draws_values_from_a_query_and_counts_its_transactions(self) -> None:
        self.model.theirs |= {"SELECT id FROM customers": [(7,), (5,)], "SELECT city FROM customers": [("Ulm",)] * 3,
                              "SELECT n FROM customers WHERE city = :p1 AND id > :p2": [(1,)], "SELECT NULL FROM dual": [(None,)]}
        mix = ("-- :transaction one weight 2\n-- :id from SELECT id FROM customers\n-- :city from SELECT city FROM customers\n"
               "SELECT n FROM customers WHERE city = :city AND id > :id;\n"
               "-- :transaction two\n\\set id 1.5 * 2\nSELECT name FROM customers WHERE id = :id;\n")
        load = load_of("transaction", sql=mix)
        self.assertEqual(self.worker().load(load)["type"], "loaded")
        worker = self.worker()
        self.assertEqual(worker.prepare(load, 1)["type"], "ready")
        session = worker.go()["sessions"][0]
        counted = [session["counters"].get(f"script/{name}", 0) for name in ("one", "two")]
        self.assertEqual(sum(counted), session["steps"])
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertEqual(self.model.statements.count("commit"), 0)
        load = load_of("transaction", sql="-- :n from SELECT NULL FROM dual\nSELECT 1 FROM dual WHERE 1 = :n")
        self.model.theirs["SELECT 1 FROM dual WHERE 1 = :p1"] = []
        self.assert_failed(self.worker().load(load), "engine", "line 1", "NULL")

    def test_one_that_may_write_is_committed(self) -> None:
        load = load_of("transaction", sql="UPDATE customers SET n = 1", may_write="APP")
        self.assertEqual(self.worker().load(load)["type"], "loaded")
        worker = self.worker()
        self.assertEqual(worker.prepare(load, 1)["type"], "ready")
        self.assertGreater(worker.go()["sessions"][0]["steps"], 0)
        self.assertEqual(self.model.statements.count("rollback"), 1, "of the load")
        self.assertEqual(self.model.statements.count("read_write"), self.model.statements.count("commit") + 1)


class Objects(WithModel):
    """The mark, the list, the lock, and what a kill leaves."""

    def test_foreign_objects_are_left_alone(self) -> None:
        self.model.objects["TW_MINE"] = ("TABLE", [])
        self.assert_failed(self.worker().load(load_of("insert", seed_rows=5)), "engine", "'TW_'", "prefix=NAME")
        self.model.wait_until_idle()
        self.assertEqual([name for name in self.model.names() if "LOCK" not in name], ["TW_MINE"])
        other = load_of("insert", seed_rows=5, engine={"prefix": "tx_"})
        keeper = self.worker()
        self.assertEqual(keeper.load(other)["type"], "loaded")
        self.assertTrue(all(name.startswith("TX_") for name in self.model.names() if not name.startswith("TW_")))
        keeper.end()
        self.assertTrue(all(name.startswith("TW_") for name in self.model.names()))

    def test_what_came_beside_ours_is_named_and_nothing_is_dropped(self) -> None:
        keeper = self.loaded(load_of("insert", seed_rows=5))
        before = self.model.names()
        self.model.objects["TW_MINE"] = ("VIEW", [])
        last, status = keeper.end()
        self.assert_failed(last, "engine", "MINE", "did not make", "prefix=NAME")
        self.assertEqual((status, self.model.names()), (1, sorted([*before, "TW_MINE"])))

    def test_the_next_study_drops_what_a_killed_one_left(self) -> None:
        keeper = self.loaded(load_of("insert", seed_rows=5))
        keeper.process.kill()
        keeper.process.wait()
        self.model.wait_until_idle()
        self.assertTrue(self.model.names())
        keeper = self.loaded(load_of("logical-io", **BLOCKS))
        self.assertFalse(any(name.startswith("TW_INSERTED") for name in self.model.names()))
        keeper.end()
        self.assert_nothing_is_left()

    def test_one_study_at_a_time(self) -> None:
        keeper = self.loaded(load_of("insert", seed_rows=5))
        before = self.model.names()
        self.assert_failed(self.worker().load(load_of("insert", seed_rows=6)), "engine", "another study", "prefix=")
        self.assertEqual(self.model.names(), before)
        self.assertEqual(keeper.end(), ({"type": "done"}, 0))
        self.assert_nothing_is_left()

    def test_a_load_that_was_interrupted_is_made_anew(self) -> None:
        load = load_of("insert", seed_rows=5)
        keeper = self.loaded(load)
        self.model.objects["TW_THREADWISE_LOADS"][1].clear()
        self.assertEqual(keeper.load(load)["rows_per_session"], 5)


class Errors(WithModel):
    """One line: what failed, on what, what to do next; and never a password."""

    def test_login(self) -> None:
        load = load_of("insert", seed_rows=5)
        cases = [
            (load, "wrong-Pa55word", "engine",
             ["log in to db.example:1521/APP as 'bench'", "ORA-01017", "ORACLE_PASSWORD"]),
            (load, None, "option", ["no password", "ORACLE_PASSWORD", "password_file"]),
            (load_of("insert", engine={"url": "oracle://bench@nowhere.example:1521/APP"}), PASSWORD, "engine",
             ["nowhere.example", "DPY-6005", "firewall"]),
            (load_of("insert", engine={"url": "oracle://bench@db.example/NONE"}), PASSWORD, "engine",
             ["NONE", "DPY-6001", "lsnrctl"]),
        ]
        for chosen, password, kind, words in cases:
            self.assert_failed(self.worker(password=password).load(chosen), kind, *words)

    def test_what_a_server_says(self) -> None:
        cases = [
            ("connect", "ORA-28000", "The account is locked", ["ORA-28000", "UNLOCK"]),
            ("rows", "ORA-01031", "insufficient privileges", ["ORA-01031", "GRANT"]),
            ("rows_seed", "ORA-01653", "unable to extend table BENCH.TW_R by 128 in tablespace USERS",
             ["seed rows", "tablespace USERS", "extend it"]),
            ("rows_seed", "ORA-01536", "space quota exceeded for tablespace 'USERS'", ["quota", "ALTER USER"]),
            ("blocks_settle", "DPY-4011", "the database or network closed the connection", ["alert log"]),
        ]
        for name, number, message, words in cases:
            self.model.faults = [Fault(name, number, f"{message}\nHelp: more, and {PASSWORD}")]
            worker = self.worker()
            self.assert_failed(worker.load(load_of("insert", seed_rows=5)), "engine", "oracle could not", *words)
            self.assertEqual(worker.process.wait(timeout=10), 1)
            self.model.faults = []
            self.assert_nothing_is_left()

    def test_a_deadlock_and_a_lost_connection_end_the_run(self) -> None:
        load = load_of("logical-io", shared=True, update_pct=50, **BLOCKS)
        self.loaded(load)
        for number, message, words in [("ORA-00060", "deadlock detected while waiting for resource", ["shared"]),
                                       ("DPY-4011", "the database or network closed the connection", ["alert log"])]:
            worker = self.worker()
            self.assertEqual(worker.prepare(load)["type"], "ready")
            self.model.faults = [Fault("call", number, message)]
            self.assert_failed(worker.go(), "engine", "run its loop", number, *words)
            self.assertEqual(worker.process.wait(timeout=20), 1)

    def test_a_password_file(self) -> None:
        path = self.folder / "password"
        path.write_text(f"{PASSWORD}\nmore\n")
        load = load_of("insert", seed_rows=5, engine={"password_file": str(path)})
        path.chmod(0o640)
        self.assert_failed(self.worker(password=None).load(load), "option", "password_file", "0640", "chmod 600")
        path.chmod(0o600)
        keeper = self.worker(password="is not taken")
        reply = keeper.load(load)
        self.assertEqual(reply["type"], "loaded", (reply, self.model.statements, keeper.logged()))
        for engine, word in [({"password_file": "password"}, "absolute path"),
                             ({"password_file": str(path) + ".none"}, "cannot be read"),
                             ({"password_file": 7}, "not text")]:
            self.assert_failed(self.worker(password=None).load(load_of("insert", engine=engine)), "option", word)

    def test_tls_is_asked_for_by_the_address(self) -> None:
        keeper = self.worker()
        keeper.load(load_of("insert", seed_rows=5, engine={"url": "oracles://bench@db.example/APP"}))
        self.assertEqual({(one["protocol"], one["port"], one["server_type"]) for one in self.model.logins},
                         {("tcps", 2484, "dedicated")})


class Server(WithModel):
    """The request `server`."""

    def ask(self, with_points: bool = True, **engine: Any) -> dict[str, Any]:
        """Its reply."""
        worker = self.worker()
        options = worker.with_python({"url": URL} | engine)
        return worker.ask("server", protocol=1, engine_options=options, points=with_points)

    def test_limits(self) -> None:
        reply = self.ask(with_points=False)
        self.assertEqual(reply, {"type": "server", "version": "19.22.0.0.0", "points": [], "limits": [
            {"name": "processes of the instance", "most": 300, "set_aside": 0, "in_use": 59},
            {"name": "sessions of the instance", "most": 472, "set_aside": 0, "in_use": 69}]})
        self.model.profile_limit = "8"
        self.model.missing = {"v$session"}
        self.assertIn("not known", self.ask(with_points=False)["limits"][2]["name"])
        self.model.missing = set()
        self.assertEqual(self.ask(with_points=False)["limits"][2],
                         {"name": "SESSIONS_PER_USER of the account's profile", "most": 8, "set_aside": 0, "in_use": 0})

    def test_everything_may_be_done(self) -> None:
        points = self.ask()["points"]
        failing = [point["name"] for point in points if not point["works"]]
        self.assertEqual(failing, ["encryption (TLS)"])
        self.assertGreaterEqual(len(points), 16)
        points = {point["name"]: point for point in self.ask(url="oracles://bench@db.example/APP")["points"]}
        self.assertTrue(points["encryption (TLS)"]["works"])
        self.assertIn("1024 MiB", points["memory for data (V$BUFFER_POOL)"]["says"])

    def test_what_is_missing_is_named_with_its_right_and_the_rest_goes_on(self) -> None:
        self.model.missing, self.model.privileges = set(VIEWS), {"CREATE SESSION"}
        self.model.has_dbms_lock, self.model.version, self.model.quota = False, "12.2.0.1.0", (None, None)
        self.model.faults = [Fault("session_parallel", "ORA-01031", "insufficient privileges")]
        reply = self.ask()
        self.assertEqual((reply["limits"], reply["version"]), ([], "12.2.0.1.0"))
        points = reply["points"]
        self.assertEqual([point["name"] for point in points if point["works"]], ["login and version"])
        says = " ".join(point["says"] for point in points)
        for words in ("GRANT CREATE TABLE", "GRANT CREATE PROCEDURE", "QUOTA … ON USERS", "SYS.V_$SESS_TIME_MODEL",
                      "SYS.V_$STATNAME and SYS.V_$MYSTAT", "SYS.V_$PQ_SESSTAT", "EXECUTE ON SYS.DBMS_LOCK", "dop=1"):
            self.assertIn(words, says)
        for point in points:
            self.assertNotIn("\n", point["says"])

    def test_it_changes_nothing(self) -> None:
        self.ask()
        self.model.wait_until_idle()
        self.assert_nothing_is_left()
        written = ("schema_", "drop", "announce", "loads_add", "lock", "blocks", "rows")
        self.assertEqual([name for name in self.model.statements if name.startswith(written)], [])


if __name__ == "__main__":
    unittest.main()
