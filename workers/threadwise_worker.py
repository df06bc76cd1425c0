"""The worker protocol (docs/WORKER.md, version 1) for analytics engines on a Python package.

An engine is a class with the attributes and methods of `threadwise_session.Engine`; its program
calls `main`. Between requests the main thread waits in a read. With the argument `check`,
`load` checks options only.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from threadwise_crew import Crew
from threadwise_failure import Failed
from threadwise_load import DataSize, Load, Options, check_data, is_whole, read_options
from threadwise_session import Engine

PROTOCOL = 1

#: Maximum length of a line for either side, bytes.
MAX_LINE_BYTES = 64 << 20

#: Time for the sessions' threads to wake up before the warm-up begins.
LEAD_NS = 200_000

#: Longest window or warm-up, a day: anything longer is a mistake in units.
MAX_WINDOW_NS = 86_400_000_000_000


def fields(message: Any, what: str, needed: dict[str, type], maybe: dict[str, type]) -> dict:
    """Checks that a JSON object has the needed fields, of their types, and no unknown one."""
    if not isinstance(message, dict):
        raise Failed("protocol", f"{what} must be a JSON object")
    for name, value in message.items():
        kind = needed.get(name) or maybe.get(name)
        if kind is None:
            raise Failed("protocol", f"{what} has an unknown field '{name}'; use a worker and a "
                                     "program of the same release")
        if not isinstance(value, kind) or kind is int and not is_whole(value, 0, 2**64 - 1):
            raise Failed("protocol", f"field '{name}' of {what} is not a {kind.__name__}")
    for name in needed:
        if name not in message:
            raise Failed("protocol", f"{what} lacks the field '{name}'")
    return message


LOAD_FIELDS = {"workload": str, "options": dict, "engine_options": dict, "data_dir": str,
               "treatment": str, "sessions": int, "seed": int}


def read_load(message: dict) -> Load:
    """The `load` of a request, whose protocol version is checked, too."""
    if message["protocol"] != PROTOCOL:
        raise Failed("protocol", f"the other side speaks protocol {message['protocol']}, this "
                                 f"program speaks {PROTOCOL}: use a worker and a program of the "
                                 "same release")
    load = dict(fields(message["load"], "load", LOAD_FIELDS, {}))
    load["data_dir"] = Path(load["data_dir"])
    return Load(**load)


def cpu_list(text: str) -> set[int]:
    """The numbers in a CPU list such as `0-3,8`."""
    cpus: set[int] = set()
    for part in text.split(","):
        ends = part.split("-")
        if len(ends) > 2 or not all(end.isascii() and end.isdigit() for end in ends):
            raise Failed("protocol", f"'{text}' is not a list of logical CPUs such as 0-3,8")
        low, high = int(ends[0]), int(ends[-1])
        if not low <= high < 1 << 16:
            raise Failed("protocol", f"'{text}' is not a list of logical CPUs such as 0-3,8")
        cpus.update(range(low, high + 1))
    return cpus


class Replies:
    """The reply descriptor named in the environment."""

    def __init__(self) -> None:
        number = os.environ.get("THREADWISE_REPLY_FD", "")
        try:
            self.file = os.fdopen(int(number), "wb")
        except (ValueError, OSError):
            sys.exit("THREADWISE_REPLY_FD does not name a file descriptor to write to; a worker is "
                     "started by threadwise, see docs/WORKER.md")

    def send(self, message: dict[str, Any]) -> None:
        """Writes one line. A reader that has left is not an error: the end of stdin follows."""
        line = json.dumps(message, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise Failed("engine", f"the answers of this slice take {len(line)} bytes, a reply has "
                                   f"at most {MAX_LINE_BYTES}; use queries with fewer rows")
        self.file.write(line)
        self.file.flush()


class Worker:
    """State of a worker between requests. With `only_checks` its `load` checks the options and
    reads no data, so that options can be checked before any data is created."""

    def __init__(self, engine: Engine, only_checks: bool = False) -> None:
        self.engine, self.only_checks = engine, only_checks
        self.crew: Crew | None = None

    def answer(self, request: Any) -> dict[str, Any] | None:
        """The reply to a request; None for `stop`."""
        kind = request.get("type") if isinstance(request, dict) else None
        match kind:
            case "load":
                return self._load(request)
            case "prepare":
                return self._prepare(request)
            case "go":
                return self._go(request)
            case "stop":
                fields(request, "stop", {"type": str}, {})
                return None
        raise Failed("protocol", f"'{kind}' is not a request of protocol {PROTOCOL}")

    def _checked(self, message: dict) -> tuple[Load, Options]:
        load = read_load(message)
        options = read_options(load, self.engine.name, self.engine.refused)
        self.engine.check(options)
        return load, options

    def _load(self, request: dict) -> dict[str, Any]:
        fields(request, "load", {"type": str, "protocol": int, "load": dict}, {})
        load, options = self._checked(request)
        size = DataSize(0, 0) if self.only_checks else check_data(load.data_dir)
        sessions = max(load.sessions, 1)
        own_bytes = self.engine.memory_bytes(options, size.encoded_bytes, sessions)
        return {"type": "loaded", "bytes_per_session": own_bytes, "rows_per_session": size.rows,
                "notes": [], "keep": False}

    def _prepare(self, request: dict) -> dict[str, Any]:
        needed = {"type": str, "protocol": int, "load": dict, "sessions": list, "seed": int}
        fields(request, "prepare", needed, {"service": str, "journal": str})
        if self.crew is not None:
            raise Failed("protocol", "prepare came twice; a worker opens its sessions once")
        load, options = self._checked(request)
        named = [fields(one, "a session", {"cpus": str}, {}) for one in request["sessions"]]
        cpus = [cpu_list(one["cpus"]) for one in named]
        if not 1 <= len(cpus) <= load.sessions:
            raise Failed("protocol", f"prepare names {len(cpus)} sessions, data is loaded for "
                                     f"{load.sessions}")
        if options.test == "power" and len(cpus) > 1:
            raise Failed("option", f"test=power has one session, not {len(cpus)}; use "
                                   "test=throughput for several streams")
        if options.short >= len(cpus):
            raise Failed("protocol", f"prepare names {len(cpus)} sessions, {options.short} of them "
                                     "for short queries: none is left for a stream")
        check_data(load.data_dir)
        self.crew = Crew(self.engine, load, options, cpus, request["seed"])
        return {"type": "ready", "tids": self.crew.tids(), "placed": [],
                "notes": self.engine.notes}

    def _go(self, request: dict) -> dict[str, Any]:
        needed = {"type": str, "sequence": int, "warmup_ns": int, "window_ns": int, "queries": list}
        fields(request, "go", needed, {})
        if self.crew is None:
            raise Failed("protocol", "go came before prepare; no session is open")
        window_ns, warmup_ns = request["window_ns"], request["warmup_ns"]
        if not 1 <= window_ns <= MAX_WINDOW_NS or warmup_ns > MAX_WINDOW_NS:
            raise Failed("protocol", f"go: window_ns must be 1 to {MAX_WINDOW_NS}, warmup_ns at "
                                     "most that")
        lists, known = request["queries"], self.crew.options.queries
        if len(lists) != len(self.crew.sessions):
            raise Failed("protocol", f"go has {len(lists)} lists of queries for "
                                     f"{len(self.crew.sessions)} sessions")
        streams = len(self.crew.streams())
        for index, numbers in enumerate(lists):
            if index >= streams:
                if numbers != []:
                    raise Failed("protocol", f"go asks session {index}, which is for short "
                                             f"queries, for queries {numbers}")
                continue
            if not isinstance(numbers, list) or not numbers or any(n not in known for n in numbers):
                raise Failed("protocol", f"go asks for queries {numbers}; prepared are "
                                         f"{','.join(map(str, known))}")
        start_ns = time.monotonic_ns() + LEAD_NS + warmup_ns
        return self.crew.go(request["sequence"], start_ns, window_ns, lists)

    def end(self) -> None:
        """Closes what was prepared."""
        if self.crew is not None:
            self.crew.end()


def read_request() -> Any:
    """The next request; None at the end of stdin."""
    line = sys.stdin.buffer.readline(MAX_LINE_BYTES + 1)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise Failed("protocol", "a request is longer than a line may be, or was cut off")
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as cause:
        raise Failed("protocol", f"a request is not JSON: {cause}") from cause


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def package_version(engine: Engine) -> str:
    """Version of the engine's package, without importing it."""
    try:
        return importlib.metadata.version(engine.package)
    except importlib.metadata.PackageNotFoundError:
        raise Failed("engine", f"the package {engine.package} is not installed for {sys.executable}"
                               f"; run: threadwise engine add {engine.name}") from None


def only_checks() -> bool:
    """Whether the command line requests a worker that only checks options: the argument `check`."""
    match sys.argv[1:]:
        case []:
            return False
        case ["check"]:
            return True
        case words:
            sys.exit(f"{' '.join(words)}: a worker takes the argument check or none; it is started "
                     "by threadwise, see docs/WORKER.md")


def serve(worker: Worker, replies: Replies) -> None:
    """Answers requests until `stop` or the end of stdin."""
    replies.send({"type": "hello", "protocol": PROTOCOL, "engine": worker.engine.name,
                  "version": package_version(worker.engine)})
    while (request := read_request()) is not None:
        reply = worker.answer(request)
        if reply is None:
            break
        replies.send(reply)
    worker.end()
    replies.send({"type": "done"})


def as_failed(engine: Engine, cause: BaseException) -> Failed:
    """The worker's failure, as reported to the runner."""
    if isinstance(cause, Failed):
        return cause
    if isinstance(cause, ImportError):
        return Failed("engine", f"{engine.name} cannot be loaded by {sys.executable} ({cause}); "
                                "its environment is damaged, run: threadwise engine add "
                                f"{engine.name}")
    return Failed("engine", f"the worker of {engine.name} failed: {cause!r}; please report this")


def main(engine: Engine) -> NoReturn:
    """Runs the worker. Leaves by `_exit`: an engine's threads may still run after a failure, and
    must not delay the end."""
    replies = Replies()
    worker = Worker(engine, only_checks())
    status = 0
    try:
        serve(worker, replies)
    except BrokenPipeError:
        status = 1
    except BaseException as cause:
        traceback.print_exc()
        failed = as_failed(engine, cause)
        if worker.crew is not None:
            worker.crew.spill.remove()
        status = 1
        with contextlib.suppress(OSError):  # the runner may no longer listen; the log has it
            replies.send({"type": "failed", "kind": failed.kind, "message": str(failed)})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
