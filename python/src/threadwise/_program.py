"""The program `threadwise`: found, asked for a report, and run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._file import Error, FilePath


#: Version of the reports that are read (docs/JSON.md).
VERSION = 1
_FIELDS = {"estimates", "findings", "machine", "screen", "treatments"}


class ProgramError(Error):
    """The program failed: its last line, and its exit code (docs/EXIT-CODES.md)."""

    def __init__(self, last_line: str, exit_code: int) -> None:
        super().__init__(f"{last_line or 'threadwise failed without a message'} (exit code {exit_code})")
        self.last_line = last_line
        self.exit_code = exit_code


def program() -> str:
    """The program that came with this module, beside the interpreter's other scripts, or else the one on PATH."""
    scripts = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")]
    found = shutil.which("threadwise", path=os.pathsep.join(scripts)) or shutil.which("threadwise")
    if found is None:
        raise Error("the program threadwise is neither beside this Python nor on PATH: install its wheel with pip")
    return found


def asked(*words: str) -> str:
    """What the program prints."""
    name = program()
    try:
        done = subprocess.run([name, *words], capture_output=True, text=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise _unusable(name, error) from error
    if done.returncode != 0:
        raise ProgramError(_last_line(done.stderr.splitlines()), done.returncode)
    return done.stdout


def report(path: Path) -> Any:
    """The report of a study (docs/JSON.md)."""
    found = read(asked("report", str(path.resolve()), "--json"))
    if not isinstance(found, dict) or found.get("version") != VERSION or not _FIELDS <= found.keys():
        raise _unusable(program(), f"its reports are not of version {VERSION}, or lack fields")
    return found


def read(text: str) -> Any:
    """JSON that the program printed."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise _unusable(program(), f"it printed no JSON: {error}") from error


def _unusable(name: str, why: object) -> Error:
    return Error(f"{name} cannot be used by this module ({why}): install both from one wheel")


def measured(study: str, output: FilePath | None, command: Sequence[str], options: Mapping[str, Any]) -> Path:
    """Runs a study, shows its progress on `sys.stderr`, and returns its result file."""
    if study.startswith("-"):
        raise Error(f"{study!r} is not a study: give options by name, such as budget='60s'")
    if isinstance(command, str):
        raise Error(f"command={command!r} is a text: give a list of words, such as ['sh', '-c', {command!r}]")
    name = Path(study).stem
    path = Path(output or time.strftime(f"{name}-%Y%m%dT%H%M%SZ.threadwise", time.gmtime()))
    words = [program(), "run", *_words({**options, "output": os.fspath(path)}), study]
    # A separate session: a terminal's Ctrl-C would reach the program twice, and the second one kills its workers.
    try:
        process = subprocess.Popen(
            [*words, *(["--", *command] if command else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise _unusable(words[0], error) from error
    lines: list[str] = []
    interrupted = None
    while True:
        try:
            for line in process.stderr or []:
                sys.stderr.write(line)
                lines = [*lines[-9:], line]
            code = process.wait()
            break
        except KeyboardInterrupt as interrupt:
            interrupted = interrupt
            process.send_signal(signal.SIGINT)
    if process.stderr:
        process.stderr.close()
    if interrupted is not None:
        raise interrupted
    if code != 0:
        raise ProgramError(_last_line(lines), code)
    if not path.exists():
        raise Error(f"the program ended without {path}: it measures nothing with an option such as plan=True")
    return path


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options by their names with `_` for `-`: a list repeats one, a mapping gives KEY=VALUE, True is a switch."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            value = [f"{key}={one}" for key, one in value.items()]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={one}")
    return words


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
