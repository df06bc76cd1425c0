"""Placement of a server's processes by the worker for Oracle Database, with test processes in their place, and the
journal of their masks.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_support import BLOCKS, WORKERS, WithModel, load_of  # noqa: E402

import threadwise_oracle_journal as journal  # noqa: E402


class Placement(WithModel):
    """Processes of sessions, with a test process in the place of the server's."""

    def server_process(self) -> subprocess.Popen:
        """A process with the title of one of Oracle's that burns CPU time."""
        code = "while True: pass"
        process = subprocess.Popen(["oracleTEST", "-c", code], executable=sys.executable)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_a_server_elsewhere_is_not_pinned(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        self.model.host = "elsewhere.example"
        ready = self.worker().prepare(load)
        self.assertEqual(ready["placed"], [])
        self.assertIn("server not pinned: it runs on another machine (elsewhere.example)", ready["notes"])
        self.assertIn("not-placed", ready["note_codes"])
        self.model.host = socket.gethostname() + ".domain.example"
        ready = self.worker().prepare(load)
        self.assertTrue(any("not one of its processes here" in note for note in ready["notes"]), ready)

    def test_processes_are_written_down_bound_and_put_back(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        process = self.server_process()
        self.model.spid = process.pid
        before = os.sched_getaffinity(process.pid)
        cpus = {min(os.sched_getaffinity(0))}
        ready = self.worker().prepare(load)
        self.assertTrue(any("no folder for a journal" in note for note in ready["notes"]), ready)
        self.assertEqual(os.sched_getaffinity(process.pid), before)
        state = self.folder / "state"
        state.mkdir(mode=0o700)
        path = state / "masks.x"
        worker = self.worker()
        text = journal.cpu_text(cpus)
        ready = worker.ask("prepare", protocol=1, load=load, sessions=[{"cpus": text}] * 2, seed=7, service=text,
                           journal=str(path))
        self.assertEqual(ready["type"], "ready", ready)
        self.assertEqual([(one["name"], one["pid"], one["cpus"]) for one in ready["placed"]],
                         [("session 0", process.pid, text), ("session 1", process.pid, text),
                          ("control connection", process.pid, text), ("lgwr", process.pid, "")])
        self.assertEqual(os.sched_getaffinity(process.pid), cpus)
        lines = path.read_text().splitlines()
        place = journal.here()
        self.assertEqual(lines[0], f"owner {place} {worker.process.pid} "
                                   f"{journal.start_time(worker.process.pid, worker.process.pid)}")
        if before != cpus:
            start = journal.start_time(process.pid, process.pid)
            self.assertEqual(lines[1:], [f"v1 {place} {process.pid} {process.pid} {start} {journal.cpu_text(before)}"])
        self.assertGreater(worker.go()["sessions"][0]["involuntary_switches"], -1)
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        self.assertEqual(os.sched_getaffinity(process.pid), before)

    def test_a_journal_that_others_may_write_is_not_used(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        self.model.spid = self.server_process().pid
        state = self.folder / "state"
        state.mkdir()
        state.chmod(0o755)
        ready = self.worker().prepare(load, journal=str(state / "masks.x"))
        self.assertTrue(any("0700" in note and note.startswith("server not pinned") for note in ready["notes"]), ready)


class Journals(unittest.TestCase):
    """The form of a journal (crates/process/src/journal.rs)."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.path = self.folder / "masks.x"

    def test_the_first_mask_counts_and_a_cut_line_is_none(self) -> None:
        one = journal.Journal(str(self.path))
        pid = os.getpid()
        start, place = journal.start_time(pid, pid), journal.here()
        with open(self.path, "a") as file:
            file.write(f"v1 {place} {pid} {pid} {start} 0-3,8\nv1 {place} {pid} 77 cut")
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        child = (other.pid, other.pid)
        self.assertEqual(one.record([(pid, pid), child, (2**22 + 1, 2**22 + 1)]), [(pid, pid), child])
        self.assertEqual(one.first_mask(pid, pid), {0, 1, 2, 3, 8})
        self.assertEqual(one.first_mask(*child), os.sched_getaffinity(other.pid))
        text = self.path.read_text()
        self.assertNotIn("cut", text)
        self.assertEqual(text.count(f" {pid} {pid} "), 1)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)

    def test_a_new_thread_of_a_process_that_is_written_down_gets_its_first_mask(self) -> None:
        one, pid = journal.Journal(str(self.path)), os.getpid()
        with open(self.path, "a") as file:
            file.write(f"v1 {journal.here()} {pid} {pid} {journal.start_time(pid, pid)} 5\n")
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        try:
            one.record([(pid, thread.native_id)])
            self.assertEqual(one.first_mask(pid, thread.native_id), {5})
        finally:
            done.set()
            thread.join()

    def test_links_and_foreign_folders_are_refused(self) -> None:
        os.symlink("/tmp/elsewhere", self.path)
        (self.folder / "open").mkdir(mode=0o755)
        for path in (str(self.path), "masks", str(self.folder / "open" / "masks.x")):
            with self.assertRaises(journal.NoJournal):
                journal.Journal(path)

    def test_lists(self) -> None:
        for cpus, text in [({0}, "0"), ({0, 1, 2, 3, 8}, "0-3,8"), ({2, 4}, "2,4"), ({1, 2}, "1-2")]:
            self.assertEqual(journal.cpu_text(cpus), text)

    @unittest.skipUnless(os.environ.get("THREADWISE_TEST_PROGRAM") or shutil.which("threadwise"),
                         "no threadwise program to put a journal back with")
    def test_threadwise_puts_it_back(self) -> None:
        program = os.environ.get("THREADWISE_TEST_PROGRAM") or "threadwise"
        victim = subprocess.Popen(["sleep", "60"])
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        before = os.sched_getaffinity(victim.pid)
        code = ("import os, sys; sys.path.insert(0, sys.argv[1]); import threadwise_oracle_journal as j\n"
                "pid = os.getpid()\n"
                "name = f\"masks.{j.here().replace(' ', '.')}.{pid}.{j.start_time(pid, pid)}.0123456789abcdef\"\n"
                "one = j.Journal(os.path.join(sys.argv[2], name))\n"
                "victim = int(sys.argv[3]); j.bind(one, [(victim, victim)], {min(os.sched_getaffinity(0))})\n")
        subprocess.run([sys.executable, "-I", "-B", "-c", code, str(WORKERS), str(self.folder), str(victim.pid)], check=True)
        self.assertEqual(len(os.sched_getaffinity(victim.pid)), 1)
        env = os.environ | {"THREADWISE_STATE_DIR": str(self.folder)}
        done = subprocess.run([program, "doctor", "--restore"], env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(os.sched_getaffinity(victim.pid), before)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
