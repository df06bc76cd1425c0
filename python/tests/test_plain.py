"""The module without any other package: what it reads against what the program exports, and how it starts it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT, SHORT, STORED, InFolder, exported, is_exported, observed, studies

import threadwise
from threadwise import _program, _raw, _study
from threadwise._file import File, marked

RAW = {"runs": _raw.runs, "slices": _raw.slices, "queries": _raw.queries, "items": _raw.items}


class Exports(InFolder):
    def with_short_queries(self) -> Path:
        """Streams of queries with a session of short queries beside them, whose latencies are those of other steps."""
        path = self.folder / "short.threadwise"
        if not path.exists():
            shutil.copy(STORED / "streams.threadwise", path)
            study = sqlite3.connect(path)
            study.execute("ATTACH ? AS other", [str(self.folder / "simulated.threadwise")])
            study.execute(
                "UPDATE study SET toml = replace(toml, 'scale = 0.01', 'scale = 0.01' || char(10) || 'short = 1')"
            )
            study.execute('UPDATE treatments SET json = replace(json, \'"scale"\', \'"short":1,"scale"\')')
            # Numbers are dense and in the order of slices, each of which gets one more session.
            study.executescript("""
                CREATE TEMP TABLE moved AS SELECT p.id AS old, p.id + p.slice - 1 AS new FROM session_slices p;
                UPDATE query_executions SET session_slice = -(SELECT new FROM moved WHERE old = session_slice);
                UPDATE session_slices SET id = -(SELECT new FROM moved WHERE old = id);
                UPDATE query_executions SET session_slice = -session_slice;
                UPDATE session_slices SET id = -id;
                INSERT INTO session_slices
                SELECT max(p.id) + 1, p.slice, count(*), 100 + o.steps, 1, 0, 0, 0, 0, 0, NULL, o.latency, NULL,
                  '{}', '[]'
                FROM session_slices p JOIN other.session_slices o ON o.id = p.slice GROUP BY p.slice;
            """)
            study.commit()
            study.close()
        return path

    def test_every_value_is_the_programs(self) -> None:
        # What would be wrong unnoticed if no study had it.
        unseen = {"short_latency_ns_p99", "long_window", "metric/tps", "plan", "item", "run_queue_wait_ns"}
        for path in [*studies(), self.with_short_queries()]:
            for what, read in RAW.items():
                with self.subTest(study=path.name, what=what), File(path).reading() as file:
                    found = read(file)
                    names, *lines = exported(path, what)
                    self.assertEqual(list(found), names)
                    rows = list(zip(*(values for _, values in found.values())))
                    self.assertEqual(len(rows), len(lines))
                    for row, line in zip(rows, lines):
                        for name, value, cell in zip(names, row, line):
                            self.assertTrue(is_exported(value, cell), (name, value, cell, line))
                    unseen -= {name for name, cells in zip(names, zip(*lines)) if set(cells) - {"", "0"}}
        self.assertEqual(unseen, set())

    def test_sessions_are_those_of_the_slices(self) -> None:
        for path in studies():
            with File(path).reading() as file:
                sessions, slices = _raw.sessions(file), _raw.slices(file)
                has_streams = file.value("SELECT count(*) FROM query_executions")
            if not has_streams:
                for name in ("steps", "rows", "cpu_ns", "answers_checked"):
                    self.assertEqual(sum(sessions[name].values), sum(slices[name].values), (path, name))


class Files(InFolder):
    def refused(self, path: Path | str, *words: str) -> None:
        with self.assertRaises(threadwise.Error) as refused:
            threadwise.open(path, frames=None)._frame(_raw.runs)
        text = str(refused.exception)
        self.assertTrue(all(word in text for word in words) and "\n" not in text, text)

    def changed(self, *statements: str) -> str:
        shutil.copy("simulated.threadwise", "changed.threadwise")
        connection = sqlite3.connect("changed.threadwise")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return "changed.threadwise"

    def test_what_is_not_a_study_is_refused_with_a_reason(self) -> None:
        Path("text").write_text("x" * 200)
        os.mkfifo("pipe")
        self.refused("missing.threadwise", "missing.threadwise", "No such file")
        self.refused("text", "not an SQLite file")
        self.refused("pipe", "not a regular file")
        self.refused(self.changed("PRAGMA application_id = 7"), "another program's")
        self.refused(self.changed("PRAGMA user_version = 7"), "schema 7", "reads 8")
        self.refused(self.changed("PRAGMA user_version = 9"), "schema 9", "newer")
        self.refused(self.changed("PRAGMA journal_mode = WAL"), "WAL")

    def test_contents_that_threadwise_does_not_write_are_refused(self) -> None:
        with mock.patch("threadwise._study.library", return_value="arrow"):
            self.refused(self.changed("CREATE VIEW v AS SELECT 1"), "views")
            self.refused(self.changed("UPDATE runs SET cpus = '{'"), "damaged")
            self.refused(self.changed("UPDATE treatments SET json = '{}'"), "damaged", "group")
            self.refused(self.changed("DROP TABLE session_slices"), "session_slices")
            counters = """UPDATE slices SET counters = '{"a": 1.5}'"""
            self.refused(self.changed(counters), "damaged", "float")
            with open("simulated.threadwise", "rb") as whole:
                Path("half.threadwise").write_bytes(whole.read()[:8192])
            self.refused("half.threadwise", "half.threadwise")

    def test_a_file_that_is_written_is_not_read(self) -> None:
        writer = sqlite3.connect(self.changed(), isolation_level=None)
        writer.execute("BEGIN EXCLUSIVE")
        with mock.patch("threadwise._study.library", return_value="arrow"):
            self.refused("changed.threadwise", "in use")
        writer.close()

    def test_reading_changes_nothing(self) -> None:
        before = Path("simulated.threadwise").read_bytes(), sorted(os.listdir())
        with File("simulated.threadwise").reading() as file, self.assertRaises(sqlite3.OperationalError):
            _raw.slices(file)
            file.rows("DELETE FROM notes")
        self.assertEqual(before, (Path("simulated.threadwise").read_bytes(), sorted(os.listdir())))

    def test_names_that_a_shell_or_an_address_would_change_are_opened(self) -> None:
        name = "a b?mode=rw#%41&'é.threadwise"
        shutil.copy("simulated.threadwise", name)
        with File(name).reading() as file:
            self.assertGreater(file.value("SELECT count(*) FROM runs"), 0)
        self.assertEqual(threadwise.open(name).trust, "LOW")

    def test_statements_in_production(self) -> None:
        observed(Path("observed.threadwise"))
        opened = threadwise.open("observed.threadwise")
        self.assertIsInstance(opened, threadwise.Observed)
        with opened._file.reading() as file:
            statements = _study._table(file, "statements", "id")
            intervals = _study._table(file, "intervals", "id")
        self.assertEqual(statements["text"], ("text", ["SELECT ?\ufffd[2J", None]))
        self.assertEqual((intervals["cpus"], intervals["busy_share"]), (("whole", [2, 2]), ("real", [0.25, None])))

    def test_texts_of_others_cannot_change_what_a_terminal_shows(self) -> None:
        self.assertEqual(marked("a\x1b[2J\u202eb\x00\u2028\r"), "a\ufffd[2J\ufffdb\ufffd\ufffd\ufffd")
        self.assertEqual(marked("é \u00a0 日本\n\t"), "é \u00a0 日本\n\t")


class Program(InFolder):
    def test_the_program_beside_the_interpreter_comes_before_the_one_on_path(self) -> None:
        for folder in ("scripts", "path"):
            os.mkdir(folder)
            Path(folder, "threadwise").write_text("#!/bin/sh\n")
            os.chmod(f"{folder}/threadwise", 0o755)
        with mock.patch("sysconfig.get_path", return_value=os.path.abspath("scripts")):
            self.assertEqual(_program.program(), os.path.abspath("scripts/threadwise"))
        with mock.patch("sysconfig.get_path", return_value="/none"), mock.patch.dict(os.environ, PATH="/none"):
            with self.assertRaisesRegex(threadwise.Error, "neither beside this Python nor on PATH"):
                _program.program()
            # Without it raw data is read, and a notebook shows why there is no answer.
            self.assertIn("nor on PATH", threadwise.open("simulated.threadwise")._repr_html_())

    def test_the_module_is_the_program(self) -> None:
        source = str(ROOT / "python" / "src")
        words = [sys.executable, "-m", "threadwise", "card", "--help"]
        done = subprocess.run(words, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout[:13]), (0, "Print a study"), done.stderr)

    def test_another_program_is_named_and_never_the_file(self) -> None:
        printing = ["echo '{}'", "echo no JSON", "printf '\\377'"]
        programs = [*(f"#!/bin/sh\n{command}" for command in printing), "#!/nowhere", "no program"]
        os.makedirs("other", exist_ok=True)
        for text in programs:
            # By another process: a descriptor that is open for writing elsewhere would forbid to run it.
            words = ["sh", "-c", 'printf "%s\n" "$1" > other/threadwise && chmod 755 other/threadwise', "sh", text]
            subprocess.run(words, check=True)
            path = f"{os.path.abspath('other')}:/usr/bin:/bin"
            with mock.patch("sysconfig.get_path", return_value="/none"), mock.patch.dict(os.environ, PATH=path):
                study = threadwise.open("simulated.threadwise")
                with self.subTest(text):
                    with self.assertRaisesRegex(threadwise.Error, "other/threadwise cannot be used by this module"):
                        study.report
                    self.assertIn("cannot be used", study._repr_html_())

    def test_what_measures_nothing_is_told(self) -> None:
        with self.assertRaisesRegex(threadwise.Error, "ended without .*: it measures nothing with an option"):
            threadwise.run(**SHORT, plan=True)
        with self.assertRaisesRegex(threadwise.Error, "'sleep 1' is a text: give a list of words"):
            threadwise.run("command", command="sleep 1", plan=True)

    def test_a_report_is_short_and_safe_in_a_notebook(self) -> None:
        self.assertEqual(self.study.trust, "LOW")
        self.assertIn("SIMULATED", self.study._repr_html_())
        self.study.report["screen"]["answer"] = ["<script>\x1b"]
        self.assertIn("<p>&lt;script&gt;\ufffd</p>", self.study._repr_html_())

    def test_options_are_words_and_never_a_shell_s(self) -> None:
        options = {"budget": "1s; id", "allow_busy": True, "json": False, "html": None, "set": {"a": 1, "b": "x y"}}
        words = ["--budget=1s; id", "--allow-busy", "--set=a=1", "--set=b=x y", "--placement=all", "--placement=1c1t"]
        self.assertEqual(_program._words({**options, "placement": ["all", "1c1t"]}), words)
        with self.assertRaisesRegex(threadwise.Error, "by name"):
            threadwise.run("--help")

    def test_a_failure_has_the_last_line_and_the_exit_code(self) -> None:
        with self.assertRaises(threadwise.ProgramError) as refused:
            threadwise.run("no-such-preset", **SHORT)
        self.assertEqual(refused.exception.exit_code, 2)
        self.assertIn("no-such-preset", refused.exception.last_line)
        with self.assertRaises(threadwise.ProgramError) as refused:
            threadwise.run(output="simulated.threadwise", **SHORT)
        self.assertEqual(refused.exception.exit_code, 2)

    def test_a_command_is_measured(self) -> None:
        study = threadwise.run(
            "command", command=["true", "--help"], blocks=8, allow_busy=True, no_probe=True, no_html=True
        )
        self.assertTrue(study.path.name.startswith("command-"))
        self.assertIn("true --help", str(study.report["study"]))

    def test_an_interrupt_reaches_the_program_which_stores_what_is_finished(self) -> None:
        # A shell's background job begins with SIGINT ignored, and Python then leaves it so.
        script = (
            "import signal, support, threadwise; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "threadwise.run(output='stopped.threadwise', **support.ENDLESS)"
        )
        words = [sys.executable, "-B", "-c", script]
        folder = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
        python = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=folder)
        assert python.stderr is not None
        watchdog = threading.Timer(120, python.kill)
        watchdog.start()
        # Some blocks are in the file when it has this size; it is interrupted wherever it is then.
        while not os.path.exists("stopped.threadwise") or os.path.getsize("stopped.threadwise") < 500_000:
            self.assertIsNone(python.poll())
            time.sleep(0.05)
        python.send_signal(signal.SIGINT)
        errors = python.stderr.read()
        watchdog.cancel()
        python.stderr.close()
        self.assertEqual((python.wait(), "KeyboardInterrupt" in errors), (-signal.SIGINT, True), errors)
        # The program has ended too: its lock is gone.
        with File("stopped.threadwise").reading() as file:
            self.assertEqual(file.value("SELECT value FROM meta WHERE key = 'state'"), "stopped", errors)


if __name__ == "__main__":
    unittest.main()
