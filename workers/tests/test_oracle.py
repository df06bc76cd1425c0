"""The worker for Oracle Database against a model of a server (`oracle_model`): conversations, `logical-io`, `insert`,
objects, errors, and the request `server`. Runs with any interpreter from 3.11 on.
"""

from __future__ import annotations

import signal
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_model import VIEWS, Fault, Rows  # noqa: E402
from oracle_support import BLOCKS, PASSWORD, SECOND_NS, URL, WithModel, Worker, load_of  # noqa: E402

import threadwise_oracle_address as address  # noqa: E402
import threadwise_oracle_blocks as blocks  # noqa: E402
import threadwise_oracle_options as options  # noqa: E402


class Conversation(WithModel):
    """Life cycle, and requests that must be refused."""

    def test_hello_says_what_the_engine_is_like(self) -> None:
        worker = self.worker()
        self.assertEqual(worker.hello["type"], "hello")
        self.assertEqual((worker.hello["engine"], worker.hello["version"], worker.hello["pieces"]),
                         ("oracle", "unknown", True))
        self.assertEqual({name: worker.hello["properties"][name] for name in ("block_bytes", "service_threads",
                                                                              "dialect")},
                         {"block_bytes": 8192, "service_threads": True, "dialect": "oracle"})
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertEqual(self.model.logins, [])

    def test_a_whole_study_leaves_nothing(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        keeper = self.worker()
        reply = keeper.load(load, connections=9)
        self.assertEqual((reply["rows_per_session"], reply["bytes_per_session"]), (200, 200 * 8192))
        self.assertIn("each alone on a block of 8192 bytes", reply["notes"][0])
        self.assertIn("worker's own", reply["notes"][0])
        self.assertEqual(keeper.load(load)["notes"], reply["notes"], "found, not made again")
        self.assertEqual(self.model.statements.count("blocks_create"), 2)
        worker = self.worker()
        ready = worker.prepare(load)
        self.assertEqual((ready["type"], len(set(ready["tids"]))), ("ready", 2), ready)
        self.assertEqual(worker.go()["type"], "slice")
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertTrue(self.model.names())
        self.assertEqual(keeper.ask("stop"), {"type": "done"})
        self.assertEqual(keeper.process.wait(timeout=10), 0)
        self.assert_nothing_is_left()

    def test_check_looks_at_options_alone(self) -> None:
        worker = self.worker("check", password=None)
        self.assertEqual(worker.load(load_of("insert"))["keep"], False)
        self.assert_failed(worker.load(load_of("insert", table="unlogged")), "option", "table", "logs every row")
        self.assertEqual(self.model.logins, [])

    def test_requests_out_of_order_and_unknown_fields(self) -> None:
        for line, words in [
            ('{"type":"go","sequence":1,"warmup_ns":0,"window_ns":5}\n', ["before prepare"]),
            ('{"type":"load","protocol":2,"load":{}}\n', ["protocol 2"]),
            ('{"type":"load","protocol":1,"load":{},"x":1}\n', ["'x'"]),
            ('{"type":"server","protocol":1,"engine_options":{}}\n', ["points"]),
            ('{"type":"server","protocol":3,"engine_options":{},"points":true}\n', ["protocol 3"]),
            ('{"type":"dance"}\n', ["dance"]),
            ("no json\n", ["JSON"]),
        ]:
            worker = self.worker()
            self.assert_failed(worker.raw(line), "protocol", *words)
            self.assertEqual(worker.process.wait(timeout=10), 1)

    def test_prepare_without_load_and_with_too_many_sessions(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        self.assert_failed(self.worker().prepare(load_of("logical-io", blocks=300)), "engine", "load comes before")
        self.assert_failed(self.worker().prepare(load, sessions=3), "protocol", "3 sessions")

    def test_a_driver_that_is_missing(self) -> None:
        worker = Worker("no-driver")
        self.addCleanup(worker.close)
        self.assert_failed(worker.load(load_of("insert")), "engine", "oracledb", "threadwise engine add oracle")


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
        self.assertTrue(any(row[0] != blocks.BASE for row in table.values()))
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
        self.assert_failed(worker.go(), "wrong-answer", "steps on TW_B_")
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
        self.assert_failed(self.worker().load(load_of("logical-io", **BLOCKS)), "engine", "procedure TW_P_", "line 12")

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
        for durability, words in (("full", "COMMIT WRITE IMMEDIATE WAIT"), ("relaxed", "COMMIT WRITE BATCH NOWAIT")):
            keeper = self.loaded(load_of("insert", seed_rows=10, durability=durability))
            (made,) = [what for kind, what in self.model.objects.values() if kind == "PROCEDURE"]
            self.assertEqual(made["commit"], words)
            keeper.end()

    def test_a_fixed_amount_of_work(self) -> None:
        for loop in ("server", "client"):
            load = load_of("insert", seed_rows=10, rows_per_session=40, loop=loop)
            keeper, worker = self.loaded(load), self.ready(load)
            reply = worker.go(window_ns=20 * SECOND_NS)
            self.assertEqual([one["rows"] for one in reply["sessions"]], [40, 40])
            self.assertEqual(reply["window_ns"], max(one["finished_ns"] for one in reply["sessions"]))
            self.assert_failed(worker.go(window_ns=1000), "engine", "of 40 rows", "rows_per_session")
            keeper.end()

    def test_rows_that_are_lost_are_noticed_and_the_rest_is_put_back(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        worker = self.ready(load)
        worker.go()
        table = self.table()
        table.rows.pop(next(key for key, owner in table.rows.items() if owner))
        last, status = worker.end()
        self.assert_failed(last, "wrong-answer", "after the run", "inserted ones")
        self.assertEqual((status, len(table.rows)), (1, 20))

    def test_what_a_killed_run_left_is_taken_out_by_the_next(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        worker = self.ready(load)
        worker.go()
        worker.process.kill()
        worker.process.wait()
        self.assertGreater(len(self.table().rows), 20)
        self.ready(load)
        self.assertEqual(len(self.table().rows), 20)

    def test_a_seeded_row_that_is_lost_is_no_leftover(self) -> None:
        load = load_of("insert", seed_rows=20)
        self.loaded(load)
        self.table().rows.pop(next(iter(self.table().rows)))
        self.assert_failed(self.worker().prepare(load), "wrong-answer", "19 seeded rows")

    def test_sigterm_puts_rows_back_and_a_keeper_drops_all(self) -> None:
        load = load_of("insert", seed_rows=20)
        keeper, worker = self.loaded(load), self.ready(load)
        timer = threading.Timer(0.5, lambda: worker.process.send_signal(signal.SIGTERM))
        timer.start()
        reply = worker.go(window_ns=600 * SECOND_NS)
        self.assert_failed(reply, "engine", "stopped by a signal")
        self.assertEqual((worker.process.wait(timeout=10), len(self.table().rows)), (1, 20))
        keeper.process.send_signal(signal.SIGTERM)
        self.assertEqual(keeper.process.wait(timeout=20), 1)
        self.assert_nothing_is_left()


class Objects(WithModel):
    """The mark, the list, the lock, and what a kill leaves."""

    def test_foreign_objects_are_left_alone(self) -> None:
        self.model.objects["TW_MINE"] = ("TABLE", [])
        self.assert_failed(self.worker().load(load_of("insert", seed_rows=5)), "engine", "TW_MINE", "prefix=")
        self.assertEqual(self.model.names(), ["TW_MINE"])
        other = load_of("insert", seed_rows=5, engine={"prefix": "tx_"})
        keeper = self.worker()
        self.assertEqual(keeper.load(other)["type"], "loaded")
        self.assertTrue(all(name.startswith("TX_") for name in self.model.names() if name != "TW_MINE"))
        keeper.end()
        self.assertEqual(self.model.names(), ["TW_MINE"])

    def test_what_came_beside_ours_is_named_and_nothing_is_dropped(self) -> None:
        keeper = self.loaded(load_of("insert", seed_rows=5))
        before = self.model.names()
        self.model.objects["TW_MINE"] = ("VIEW", [])
        last, status = keeper.end()
        self.assert_failed(last, "engine", "TW_MINE", "not created by threadwise")
        self.assertEqual((status, self.model.names()), (1, sorted([*before, "TW_MINE"])))

    def test_the_next_study_drops_what_a_killed_one_left(self) -> None:
        for has_dbms_lock in (True, False):
            self.model.has_dbms_lock = has_dbms_lock
            keeper = self.loaded(load_of("insert", seed_rows=5))
            keeper.process.kill()
            keeper.process.wait()
            self.model.wait_until_idle()
            self.assertTrue(self.model.names())
            keeper = self.loaded(load_of("logical-io", **BLOCKS))
            self.assertFalse(any(name.startswith("TW_R") for name in self.model.names()))
            keeper.end()
            self.assert_nothing_is_left()

    def test_one_study_at_a_time(self) -> None:
        for has_dbms_lock in (True, False):
            self.model.has_dbms_lock = has_dbms_lock
            keeper = self.loaded(load_of("insert", seed_rows=5))
            self.assertEqual(self.model.statements.count("mark_lock") > 0, not has_dbms_lock)
            before = self.model.names()
            self.assert_failed(self.worker().load(load_of("insert", seed_rows=6)), "engine", "another study", "prefix=")
            self.assertEqual(self.model.names(), before)
            self.assertEqual(keeper.end(), ({"type": "done"}, 0))
            self.assert_nothing_is_left()

    def test_a_load_that_was_interrupted_is_made_anew(self) -> None:
        load = load_of("insert", seed_rows=5)
        keeper = self.loaded(load)
        self.model.objects["TW_LOADS"][1].clear()
        self.assertEqual(keeper.load(load)["rows_per_session"], 5)

    def test_names_have_at_most_thirty_bytes(self) -> None:
        one = blocks.names("ABCDEFG", "0123456789ABCDEF", options.MAX_SESSIONS - 1)
        self.assertLessEqual(max(map(len, (one.table, one.index, one.procedure))), 30)


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
            ("rows_create", "ORA-01031", "insufficient privileges", ["ORA-01031", "GRANT"]),
            ("rows_seed", "ORA-01653", "unable to extend table BENCH.TW_R by 128 in tablespace USERS",
             ["seed table TW_R_", "tablespace USERS", "extend it"]),
            ("rows_seed", "ORA-01536", "space quota exceeded for tablespace 'USERS'", ["quota", "ALTER USER"]),
            ("gather_statistics", "DPY-4011", "the database or network closed the connection", ["alert log"]),
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
            self.model.faults = [Fault("callproc", number, message)]
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
                             ({"password_file": 7}, "absolute path")]:
            self.assert_failed(self.worker(password=None).load(load_of("insert", engine=engine)), "option", word)

    def test_tls_is_asked_for_by_the_address(self) -> None:
        keeper = self.worker()
        keeper.load(load_of("insert", seed_rows=5, engine={"url": "oracles://bench@db.example/APP"}))
        self.assertEqual({(one["protocol"], one["port"], one["server_type"]) for one in self.model.logins},
                         {("tcps", address.TLS_PORT, "dedicated")})


class Server(WithModel):
    """The request `server`."""

    def ask(self, with_points: bool = True, **engine: Any) -> dict[str, Any]:
        """Its reply."""
        return self.worker().ask("server", protocol=1, engine_options={"url": URL} | engine, points=with_points)

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
        self.assertEqual((self.model.names(), self.model.locks), ([], {}))
        written = {"create", "insert", "drop", "add", "commit", "lock_request", "mark_lock"}
        self.assertEqual([name for name in self.model.statements if set(name.split("_")) & written], [])


if __name__ == "__main__":
    unittest.main()
