"""Placement of a server's processes by the engine oracle, with test processes in their place."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from oracle_support import BLOCKS, WithModel, Worker, cpu_text, load_of, program  # noqa: E402


def journal_of(worker: Worker, folder: Path) -> Path:
    """A journal that belongs to a worker (crates/process/src/journal.rs)."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    pid = worker.process.pid
    started = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return folder / f"masks.{boot}.{namespace}.{pid}.{started}.0123456789abcdef"


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
        worker = self.worker()
        path, text = journal_of(worker, state), cpu_text(cpus)
        ready = worker.prepare(load, cpus=text, service=text, journal=str(path))
        self.assertEqual(ready["type"], "ready", ready)
        self.assertEqual([(one["name"], one["pid"], one["cpus"]) for one in ready["placed"]],
                         [("session 0", process.pid, text), ("session 1", process.pid, text),
                          ("control connection", process.pid, text), ("lgwr", process.pid, "")])
        self.assertEqual(os.sched_getaffinity(process.pid), cpus)
        self.assertIn(f" {process.pid} {process.pid} ", path.read_text())
        self.assertGreater(worker.go()["sessions"][0]["involuntary_switches"], -1)
        self.assertEqual(worker.end(), ({"type": "done"}, 0))
        env = os.environ | {"THREADWISE_STATE_DIR": str(state)}
        done = subprocess.run([program(), "doctor", "--restore"], env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((os.sched_getaffinity(process.pid), list(state.iterdir())), (before, []))

    def test_a_journal_that_others_may_write_is_not_used(self) -> None:
        load = load_of("logical-io", **BLOCKS)
        self.loaded(load)
        self.model.spid = self.server_process().pid
        state = self.folder / "state"
        state.mkdir()
        state.chmod(0o755)
        ready = self.worker().prepare(load, journal=str(state / "masks.x"))
        self.assertTrue(any("0700" in note and note.startswith("server not pinned") for note in ready["notes"]), ready)


if __name__ == "__main__":
    unittest.main()
