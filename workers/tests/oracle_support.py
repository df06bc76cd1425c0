"""What the tests of the engine oracle share: the runner's side of a conversation with a worker of threadwise, whose proxies
use a stand-in for the driver, a model of a server, and data for it. No Oracle server takes part in any of them.

The program is the one that THREADWISE_TEST_PROGRAM names, or target/debug/threadwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKERS = HERE.parent
sys.path[:0] = [str(HERE), str(WORKERS)]
# Where `cargo xtask lab engines` has put sqlglot, as for test_dialects.
if os.path.isabs(os.environ.get("THREADWISE_TEST_SQLGLOT", "")):
    sys.path.append(os.environ["THREADWISE_TEST_SQLGLOT"])

from oracle_model import Model  # noqa: E402

VARIABLE = "ORACLE_PASSWORD"
PASSWORD = "s3cret-Pa55"
URL = "oracle://bench@db.example:1521/APP"
SECOND_NS = 1_000_000_000

#: A small table of `logical-io`.
BLOCKS = {"blocks": 200, "work_unit": 8}

#: Far from 0, as the engine fills it.
BASE = 1 << 40


def program() -> str:
    """The program under test."""
    target = os.environ.get("CARGO_TARGET_DIR") or str(WORKERS.parent / "target")
    return os.environ.get("THREADWISE_TEST_PROGRAM") or f"{target}/debug/threadwise"


def cpu_text(cpus: set[int]) -> str:
    """A list of logical CPUs."""
    return ",".join(map(str, sorted(cpus)))


def load_of(workload: str, data_dir: str = "/tmp", engine: dict[str, Any] | None = None, **chosen: Any) -> dict:
    """`load` of the protocol. Dots in names of options are two underscores."""
    return {"workload": workload, "options": {name.replace("__", "."): value for name, value in chosen.items()},
            "engine_options": {"url": URL} | (engine or {}), "data_dir": data_dir, "treatment": "t", "sessions": 2,
            "seed": 2**63 - 1}


def environment(folder: Path, model: str) -> Path:
    """A Python whose driver is the stand-in: it is called as `python -I -B …`, and takes the stand-in all the same."""
    packages = folder / "packages"
    (packages / "oracledb-26.1.0.dist-info").mkdir(parents=True)
    (packages / "oracledb-26.1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: oracledb\nVersion: 26.1.0\n")
    (packages / "oracledb.py").write_text((HERE / "oracle_driver.py").read_text())
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nshift 2\nexport THREADWISE_TEST_ORACLE_MODEL='{model}' PYTHONPATH='{packages}'\n"
                      f"exec '{sys.executable}' -B \"$@\"\n")
    python.chmod(0o755)
    return python


class Worker:
    """A worker process, and the runner's side of the conversation."""

    def __init__(self, folder: Path, python: Path, password: str | None = PASSWORD) -> None:
        reading, writing = os.pipe()
        self.log = tempfile.TemporaryFile()
        self.python = str(python)
        env = {name: value for name, value in os.environ.items() if name != VARIABLE}
        env |= {"THREADWISE_REPLY_FD": str(writing), "XDG_DATA_HOME": str(folder)}
        env |= {VARIABLE: password} if password else {}
        self.process = subprocess.Popen([program(), "worker", "--engine", "oracle"], stdin=subprocess.PIPE,
                                        stdout=self.log, stderr=self.log, pass_fds=[writing], env=env)
        os.close(writing)
        self.replies = os.fdopen(reading, encoding="utf-8")
        self.said: list[str] = []
        self.hello = self.read()

    def read(self) -> dict[str, Any]:
        """The next reply; `{}` at the end of the stream."""
        line = self.replies.readline()
        if line:
            self.said.append(line)
        return json.loads(line) if line else {}

    def raw(self, line: str) -> dict[str, Any]:
        """Sends a line as it is."""
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return self.read()

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Sends a request and reads its reply."""
        return self.raw(json.dumps({"type": kind} | fields) + "\n")

    def with_python(self, options: dict[str, Any]) -> dict[str, Any]:
        """Engine options with the stand-in's Python."""
        return {"python": self.python} | options

    def load(self, load: dict, **more: Any) -> dict[str, Any]:
        """Sends `load`."""
        load = load | {"engine_options": self.with_python(load["engine_options"])}
        return self.ask("load", protocol=1, load=load, **more)

    def prepare(self, load: dict, sessions: int = 2, cpus: str = "", **more: Any) -> dict[str, Any]:
        """Sends `prepare`; without cpus, sessions may run anywhere."""
        cpus = cpus or cpu_text(os.sched_getaffinity(0))
        load = load | {"engine_options": self.with_python(load["engine_options"])}
        return self.ask("prepare", protocol=1, load=load, sessions=[{"cpus": cpus}] * sessions, seed=7, **more)

    def go(self, window_ns: int = 100_000_000, warmup_ns: int = 20_000_000, sequence: int = 3, **more: Any) -> dict:
        """Sends `go`."""
        return self.ask("go", sequence=sequence, warmup_ns=warmup_ns, window_ns=window_ns, **more)

    def logged(self) -> str:
        """What it and its proxies wrote to its log."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def end(self) -> tuple[dict[str, Any], int]:
        """Ends it by the end of stdin: the last reply, and its exit status."""
        self.process.stdin.close()
        last = self.read()
        return last, self.process.wait(timeout=60)

    def close(self) -> None:
        """Ends it in any case."""
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.replies, self.log):
            file.close()


class WithModel(unittest.TestCase):
    """Base of the tests that talk to a worker."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="threadwise-oracle-test-")))
        self.model = Model(self.folder)
        self.addCleanup(self.model.close)
        self.python = environment(self.folder, self.model.address)

    def worker(self, password: str | None = PASSWORD) -> Worker:
        """A worker that is ended in any case, and has said nothing of the password."""
        worker = Worker(self.folder, self.python, password)

        def close() -> None:
            worker.process.kill()
            worker.process.wait()
            text = worker.logged() + "".join(worker.said)
            worker.close()
            self.assertNotIn(PASSWORD, text)
            self.assertEqual(self.model.unknown, [])

        self.addCleanup(close)
        return worker

    def loaded(self, load: dict) -> Worker:
        """The worker that keeps the data of `load`."""
        keeper = self.worker()
        reply = keeper.load(load)
        self.assertEqual((reply["type"], reply.get("keep")), ("loaded", True), reply)
        return keeper

    def assert_failed(self, reply: dict[str, Any], kind: str, *words: str) -> None:
        """The reply is `failed`, of that kind, on one line that has those words."""
        self.assertEqual((reply.get("type"), reply.get("kind")), ("failed", kind), reply)
        self.assertNotIn("\n", reply["message"])
        self.assertLess(len(reply["message"]), 700)
        for word in words:
            self.assertIn(word, reply["message"])

    def assert_nothing_is_left(self) -> None:
        """None of our objects and sessions is in the server."""
        self.model.wait_until_idle()
        self.assertEqual((self.model.names(), self.model.sessions, self.model.bound), ([], {}, set()))
