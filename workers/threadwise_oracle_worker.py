"""The worker protocol (docs/WORKER.md, version 1) for the user's server, with the additional request `server`.

`server` returns limits of the server and permissions of the account, and changes nothing:
`{"type":"server","protocol":1,"engine_options":{…},"points":true}`. The worker that answers the first `load` creates
the objects and stays until the study's end; with the argument `check` `load` checks options only.
SIGTERM ends a worker in order: calls are cancelled, data is restored, objects are dropped.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

import threadwise_oracle_blocks as blocks
import threadwise_oracle_rows as rows
import threadwise_oracle_schema as schema
import threadwise_oracle_tpch as tpch
from threadwise_failure import Failed
from threadwise_load import Load
from threadwise_oracle_address import read_target, with_password
from threadwise_oracle_crew import Crew
from threadwise_oracle_failure import ENGINE, advice, failed, log_traceback, without_secrets
from threadwise_oracle_options import Insert, LogicalIo, Tpch, Work, read_work, suffix_of
from threadwise_oracle_points import describe
from threadwise_oracle_schema import Kept, Loaded
from threadwise_oracle_server import Connection
from threadwise_oracle_steps import MAX_PIECES, Window
from threadwise_worker import (
    LEAD_NS,
    MAX_WINDOW_NS,
    PROTOCOL,
    Replies,
    cpu_list,
    fields,
    only_checks,
    read_load,
    read_request,
)

#: Properties of the engine. No server was available: bytes of rows and of data sets are estimates.
PROPERTIES = {
    "block_bytes": 8192,
    "service_threads": True,
    "dialect": "oracle",
    "row_bytes": rows.ROW_BYTES,
    "tpch_bytes": tpch.BYTES_PER_SCALE,
}


class Stopped(BaseException):
    """SIGTERM."""


class Worker:
    """State of a worker between requests."""

    def __init__(self, only_checks: bool = False) -> None:
        self.only_checks = only_checks
        self.kept: Kept | None = None
        self.crew: Crew | None = None

    def answer(self, request: Any) -> dict[str, Any] | None:
        """The reply to a request; None for `stop`."""
        kind = request.get("type") if isinstance(request, dict) else None
        match kind:
            case "server":
                return self._server(request)
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

    def _server(self, request: dict) -> dict[str, Any]:
        needed = {"type": str, "protocol": int, "engine_options": dict, "points": bool}
        fields(request, "server", needed, {})
        _check_version(request["protocol"])
        options = request["engine_options"]
        return describe(with_password(read_target(options), options), request["points"])

    def _load(self, request: dict) -> dict[str, Any]:
        fields(request, "load", {"type": str, "protocol": int, "load": dict}, {"connections": int})
        load = read_load(request)
        target, work = read_target(load.engine_options), read_work(load)
        if self.only_checks:
            return _loaded(Loaded("", 0, 0, []), keep=False)
        target = with_password(target, load.engine_options)
        if self.kept is None:
            self.kept = Kept(target)
        with Connection(target, "load") as control:
            said = make_data(control, load, work, target.prefix)
        return _loaded(said, keep=True)

    def _prepare(self, request: dict) -> dict[str, Any]:
        needed = {"type": str, "protocol": int, "load": dict, "sessions": list, "seed": int}
        fields(request, "prepare", needed, {"service": str, "journal": str})
        if self.crew is not None:
            raise Failed("protocol", "prepare came twice; a worker opens its sessions once")
        load = read_load(request)
        target, work = read_target(load.engine_options), read_work(load)
        named = [fields(one, "a session", {"cpus": str}, {}) for one in request["sessions"]]
        cpus = [cpu_list(one["cpus"]) for one in named]
        _check_sessions(work, load, len(cpus))
        target = with_password(target, load.engine_options)
        suffix = _suffix(load, work)
        with Connection(target, "look") as control:
            said = schema.loaded(control, target.prefix, suffix)
            if said is None:
                raise failed("find the loaded data", f"there is no data of that name ({suffix}); load comes before "
                                                     "prepare")
            if isinstance(work.spec, Tpch):
                tpch.check_found(work.spec, said)
        service = cpu_list(request["service"]) if "service" in request else None
        self.crew = Crew(target, load, work, suffix, said, cpus, service, request["seed"], request.get("journal"))
        return {"type": "ready", "tids": self.crew.tids(), "placed": self.crew.placed, "notes": self.crew.notes,
                "note_codes": [getattr(note, "code", "other") for note in self.crew.notes]}

    def _go(self, request: dict) -> dict[str, Any]:
        needed = {"type": str, "sequence": int, "warmup_ns": int, "window_ns": int}
        fields(request, "go", needed, {"queries": list, "piece_ns": int})
        if self.crew is None:
            raise Failed("protocol", "go came before prepare; no session is open")
        window_ns, warmup_ns, piece_ns = request["window_ns"], request["warmup_ns"], request.get("piece_ns")
        if not 1 <= window_ns <= MAX_WINDOW_NS or warmup_ns > MAX_WINDOW_NS:
            raise Failed("protocol", f"go: window_ns must be 1 to {MAX_WINDOW_NS}, warmup_ns at most that")
        if piece_ns is not None and (piece_ns < 1 or -(-window_ns // piece_ns) > MAX_PIECES):
            raise Failed("protocol", f"go: piece_ns must give at most {MAX_PIECES} pieces")
        lists = _queries(self.crew, request.get("queries") or [])
        self.crew.before()
        start_ns = time.monotonic_ns() + LEAD_NS + warmup_ns
        return self.crew.go(Window(request["sequence"], start_ns, start_ns + window_ns, piece_ns), lists)

    def end(self) -> None:
        """Closes the sessions, and drops the objects."""
        try:
            if self.crew is not None:
                self.crew.end()
        finally:
            if self.kept is not None:
                self.kept.end()

    def give_up(self) -> None:
        """The same as far as possible after a failure."""
        if self.crew is not None:
            self.crew.give_up()
        if self.kept is not None:
            self.kept.abandon()


def make_data(control: Connection, load: Load, work: Work, prefix: str) -> Loaded:
    """Creates the data of one treatment, or finds it complete."""
    suffix, spec = _suffix(load, work), work.spec
    found = schema.loaded(control, prefix, suffix)
    if found is not None:
        if isinstance(spec, Tpch):
            tpch.check_found(spec, found)
        return found
    match spec:
        case LogicalIo():
            sleep = blocks.sleeper(control) if spec.think_time_us and work.in_server else None
            made = blocks.objects(spec, load.sessions, prefix, suffix)
        case Insert():
            made = rows.objects(prefix, suffix)
        case Tpch():
            tpch.try_settings(control, spec)
            made = tpch.objects(prefix)
    schema.announce(control, prefix, made)
    match spec:
        case LogicalIo():
            # A loop that no session calls needs no pause.
            pauseless = spec if work.in_server else LogicalIo(**{**spec.__dict__, "think_time_us": 0})
            said = blocks.load(control, pauseless, load.sessions, load.seed, prefix, suffix, sleep)
        case Insert():
            said = rows.load(control, spec, load.seed, prefix, suffix)
        case Tpch():
            said = tpch.load(control, spec, load.data_dir, load.sessions, prefix)
    schema.finished(control, prefix, suffix, said)
    return said


def _suffix(load: Load, work: Work) -> str:
    return tpch.SUFFIX if isinstance(work.spec, Tpch) else suffix_of(load, work)


def _loaded(said: Loaded, keep: bool) -> dict[str, Any]:
    return {"type": "loaded", "bytes_per_session": said.bytes_per_session, "rows_per_session": said.rows_per_session,
            "notes": said.notes, "keep": keep}


def _check_version(protocol: int) -> None:
    if protocol != PROTOCOL:
        raise Failed("protocol", f"the other side speaks protocol {protocol}, this program speaks {PROTOCOL}: use a "
                                 "worker and a program of the same release")


def _check_sessions(work: Work, load: Load, sessions: int) -> None:
    if not 1 <= sessions <= load.sessions:
        raise Failed("protocol", f"prepare names {sessions} sessions, data is loaded for {load.sessions}")
    if not isinstance(work.spec, Tpch):
        return
    options = work.spec.options
    if options.test == "power" and sessions > 1:
        raise Failed("option", f"test=power has one session, not {sessions}; use test=throughput for several streams")
    if options.short >= sessions:
        raise Failed("protocol", f"prepare names {sessions} sessions, {options.short} of them for short queries: none "
                                 "is left for a stream")


def _queries(crew: Crew, lists: list[Any]) -> list[list[int]]:
    """The queries of each session: those that were prepared, of streams alone."""
    sessions, spec = len(crew.sessions), crew.work.spec
    if not isinstance(spec, Tpch):
        if lists:
            raise Failed("protocol", "go has queries, and the workload has none")
        return [[] for _ in range(sessions)]
    if len(lists) != sessions:
        raise Failed("protocol", f"go has {len(lists)} lists of queries for {sessions} sessions")
    for index, numbers in enumerate(lists):
        is_stream = index < sessions - spec.options.short
        known = isinstance(numbers, list) and all(number in spec.options.queries for number in numbers)
        if not known or bool(numbers) != is_stream:
            raise Failed("protocol", f"go asks session {index} for queries {numbers}; streams have some of "
                                     f"{','.join(map(str, spec.options.queries))}, sessions of short queries none")
    return lists


def serve(worker: Worker, replies: Replies) -> None:
    """Answers requests until `stop` or the end of stdin."""
    replies.send({"type": "hello", "protocol": PROTOCOL, "engine": ENGINE, "version": "unknown",
                  "properties": PROPERTIES, "pieces": True})
    while (request := read_request()) is not None:
        reply = worker.answer(request)
        if reply is None:
            break
        replies.send(reply)
    worker.end()
    replies.send({"type": "done"})


def as_failed(cause: BaseException) -> Failed:
    """The worker's failure, as reported to the runner."""
    if isinstance(cause, Failed):
        return cause
    if isinstance(cause, Stopped):
        return Failed("engine", "the worker of oracle was stopped by a signal; its changes are restored")
    return Failed("engine", f"the worker of oracle failed: {type(cause).__name__}: {advice(cause)}; please report this")


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: what follows takes its time
    raise Stopped


def main() -> NoReturn:
    """Runs the worker. Leaves by `_exit`, so that a thread that hangs in a call does not delay the end."""
    replies = Replies()
    worker = Worker(only_checks())
    signal.signal(signal.SIGTERM, _stop)
    status = 0
    try:
        serve(worker, replies)
    except BaseException as cause:
        status = 1
        log_traceback()
        try:
            worker.give_up()
        except BaseException:
            log_traceback()
        why = as_failed(cause)
        try:
            replies.send({"type": "failed", "kind": why.kind, "message": without_secrets(str(why))})
        except OSError:
            pass  # the runner no longer listens; the log has it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
