"""Raw runs, slices, sessions, executions of queries and items of work lists, from the file's tables: the columns,
order and values of `threadwise export` (`crates/report/src/csv.rs`)."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._file import Reader
from ._frames import Columns, columns
from ._histogram import percentile_ns

#: Blocks from this number on are those of long windows.
LONG_WINDOWS = 1 << 19

_RUN = ["run_id", "block", "attempt", "treatment", "group"]
_SLICE = [*_RUN, "status", "sequence", "round"]
_SUMS = ["steps", "rows", "cpu_ns", "answers_checked", "answers_wrong", "voluntary_switches", "involuntary_switches"]

RUNS = [
    *[*_RUN, "placement", "cpus", "sessions", "status", "kind", "message", "started_s", "prepare_ns", "slices"],
    *["window_ns", "steps", "rows", "rows_per_s", "cpu_ns", "voluntary_switches", "involuntary_switches"],
]
SLICES = [
    *[*_SLICE, "start_ns", "window_ns", "sessions", "steps", "rows", "rows_per_s", "cpu_ns", "answers_checked"],
    *["answers_wrong", "voluntary_switches", "involuntary_switches", "run_queue_wait_ns"],
    *["used_cpus_busy_ns", "used_cpus_steal_ns"],
]
SESSIONS = [*_SLICE, "session", *_SUMS, "run_queue_wait_ns", "finished_ns", "latency_hdr_v2"]
QUERIES = [
    *[*_RUN, "status", "placement", "sequence", "round", "stream", "query", "window_start_ns", "started_ns"],
    *["elapsed_ns", "planning_ns", "cpu_ns", "dop", "rows", "plan"],
]
ITEMS = [*_RUN, "status", "placement", "jobs", "index", "item", "job", "started_ns", "elapsed_ns"]

Row = dict[str, Any]


def runs(file: Reader) -> Columns:
    """A row a run: failed and superseded ones too, those of long windows last."""
    known = _runs(file)
    slices: dict[int, list[Row]] = {number: [] for number in known}
    for row in _slices(file, known):
        slices[row["run_id"]].append(row)
    metrics: dict[int, Row] = {number: {} for number in known}
    for run, name, value in file.rows("SELECT run, metric, value FROM readings WHERE sampler = 'command' ORDER BY id"):
        metrics[run]["metric/" + name] = value
    asked = {name for run in known.values() for name in run["options"] if name.startswith("metric.")}
    names = {"metric/" + name[len("metric.") :] for name in asked}.union(*metrics.values())
    counters = _counters(row for rows in slices.values() for row in rows)
    rows = []
    for number, run in known.items():
        total = _total(slices[number], counters)
        total["more"].update(metrics[number])
        rows.append({**total, **run, "sessions": run["jobs"], "slices": len(slices[number])})
    return columns(RUNS + _long(file), rows, {**counters, **dict.fromkeys(sorted(names), "real"), **_short(known)})


def slices(file: Reader) -> Columns:
    """A row a slice, summed over its sessions."""
    known = _runs(file)
    rows = list(_slices(file, known))
    counters = _counters(rows)
    totals = ({**row, **_total([row], counters)} for row in rows)
    return columns(SLICES + _long(file), totals, {**counters, **_short(known)})


def sessions(file: Reader) -> Columns:
    """A row a session in a slice; its counters are unknown where the engine did not report them."""
    known = _runs(file)
    sql = f"""SELECT s.run, s.sequence, s.round, p.session, {", ".join("p." + name for name in _SUMS)},
                p.run_queue_wait_ns, p.finished_ns, nullif(p.latency, x''), p.counters
              FROM session_slices p JOIN slices s ON s.id = p.slice JOIN runs r ON r.id = s.run
              ORDER BY r.block >= {LONG_WINDOWS}, p.id"""
    rows = []
    for run, *values, counters in file.rows(sql):
        rows.append({**known[run], **dict(zip(SESSIONS[6:], values)), "more": json.loads(counters)})
    names = {name for row in rows for name in row["more"]}
    return columns(SESSIONS + _long(file), rows, dict.fromkeys(sorted(names), "whole"))


def queries(file: Reader) -> Columns:
    """A row an execution of a query. `plan` is a short name of the plan's text, the same wherever it is seen."""
    known = _runs(file)
    plans = {number: plan_name(text) for number, text in file.rows("SELECT id, text FROM plans")}
    sql = f"""SELECT s.run, s.sequence, s.round, p.session, q.query, s.start_ns, q.started_ns, q.elapsed_ns,
                q.planning_ns, q.cpu_ns, q.dop, q.rows, q.plan, q.counters
              FROM query_executions q JOIN session_slices p ON p.id = q.session_slice
              JOIN slices s ON s.id = p.slice JOIN runs r ON r.id = s.run
              WHERE r.block < {LONG_WINDOWS} ORDER BY p.id, q.ordinal"""
    rows = []
    for run, *values, plan, counters in file.rows(sql):
        named = dict(zip(QUERIES[7:], values))
        rows.append({**known[run], **named, "plan": plans.get(plan), "more": json.loads(counters)})
    first = ["read_bytes", "spill_bytes"]
    names = {name for row in rows for name in row["more"]}.difference(first)
    return columns(QUERIES, rows, dict.fromkeys([*first, *sorted(names)], "whole"))


def items(file: Reader) -> Columns:
    """A row an item of a work list in a run, as far as it was reported."""
    known = _runs(file)
    sql = f"""SELECT g.run, g.metric, g.value, g.start_ns, g.end_ns,
                coalesce((SELECT s.start_ns FROM slices s WHERE s.run = g.run ORDER BY s.id LIMIT 1), 0)
              FROM readings g JOIN runs r ON r.id = g.run
              WHERE g.sampler = 'item' AND r.block < {LONG_WINDOWS} ORDER BY g.run, g.id"""
    rows = []
    for run, metric, job, start_ns, end_ns, window_ns in file.rows(sql):
        index, space, name = metric.partition(" ")
        rows.append(
            {
                **known[run],
                "index": int(index) if space and index.isascii() and index.isdigit() else None,
                "item": name if space else metric,
                "job": int(job) if job is not None and job >= 0 else None,
                "started_ns": max(start_ns - window_ns, 0),
                "elapsed_ns": max(end_ns - start_ns, 0),
            }
        )
    return columns(ITEMS, rows)


def groups(file: Reader) -> dict[str, str]:
    """The group of each treatment by its name."""
    return {name: json.loads(text)["group"] for name, text in file.rows("SELECT name, json FROM treatments")}


def plan_name(text: str) -> Any:
    """Eight hexadecimal digits of FNV-1a (32 bits) of a canonical plan without the engine's estimates; `None` of an
    empty one."""
    lines = (line[:-1] if line.endswith("\r") else line for line in text.removesuffix("\n").split("\n"))
    bare = "\n".join(re.sub(r" # ((rows|cost)=[^ ]*)( (rows|cost)=[^ ]*)*$", "", line) for line in lines)
    value = 0x811C9DC5
    bare = bare.strip("\r\n").rstrip()
    for byte in bare.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{value:08x}" if bare else None


def _runs(file: Reader) -> dict[int, Row]:
    """What every row has of its run, by its number, with the planned options of its treatment."""
    sql = f"""SELECT r.id, r.block, r.attempt, t.name, r.cpus, r.status, r.kind, r.message, r.started_s, r.prepare_ns,
                r.superseded, t.json
              FROM runs r JOIN treatments t ON t.id = r.treatment ORDER BY r.block >= {LONG_WINDOWS}, r.id"""
    found: dict[int, Row] = {}
    names = ["run_id", "block", "attempt", "treatment", "cpus", "status", "kind", "message", "started_s", "prepare_ns"]
    for *values, superseded, planned in file.rows(sql):
        run, treatment = dict(zip(names, values)), json.loads(planned)
        if superseded:
            run.update(status="superseded", kind=None, message=None)
        run.update(cpus=json.loads(run["cpus"]), started_s=round(run["started_s"], 6))
        run.update({name: treatment[name] for name in ("group", "placement", "options")}, jobs=treatment["sessions"])
        found[run["run_id"]] = {**run, "long_window": int(run["block"] >= LONG_WINDOWS)}
    return found


def _slices(file: Reader, known: Mapping[int, Row]) -> Iterator[Row]:
    """Slices with the sums of their sessions, in the order of their runs."""
    of_sessions = _sessions(file, bool(_short(known)))
    sql = f"""SELECT s.run, s.id, s.sequence, s.round, s.start_ns, s.window_ns, s.counters, s.cpu_times
              FROM slices s JOIN runs r ON r.id = s.run ORDER BY r.block >= {LONG_WINDOWS}, s.id"""
    for run, number, sequence, round_, start_ns, window_ns, counters, cpu_times in file.rows(sql):
        row = {**known[run], "sequence": sequence, "round": round_, "start_ns": start_ns, "window_ns": window_ns}
        used = [times for times in json.loads(cpu_times) if times["cpu"] in known[run]["cpus"]]
        for name in ("busy_ns", "steal_ns"):
            row["used_cpus_" + name] = sum(times[name] for times in used) if used else None
        row.update(of_sessions.get(number) or _summed([]))
        row["counters"].update(json.loads(counters))
        yield row


def _sessions(file: Reader, with_latency: bool) -> dict[int, Row]:
    """Sums over the sessions of each slice by its number."""
    sql = f"""SELECT p.slice, EXISTS (SELECT 1 FROM query_executions q WHERE q.session_slice = p.id) AS is_stream,
                p.counters, {"p.latency" if with_latency else "x''"} AS latency, p.run_queue_wait_ns,
                {", ".join("p." + name for name in _SUMS)}
              FROM session_slices p ORDER BY p.id"""
    names = ["is_stream", "counters", "latency", "run_queue_wait_ns", *_SUMS]
    found: dict[int, list[Row]] = {}
    for number, *values in file.rows(sql):
        found.setdefault(number, []).append(dict(zip(names, values)))
    return {number: _summed(rows) for number, rows in found.items()}


def _summed(rows: list[Row]) -> Row:
    """Sums over the sessions of a slice; those that run short queries beside streams of queries are counted apart."""
    main = [row for row in rows if row["is_stream"]] or rows
    waits = [row["run_queue_wait_ns"] for row in main]
    short = [row for row in rows if not row["is_stream"]] if main is not rows else []
    total: Row = {name: sum(row[name] for row in main) for name in _SUMS}
    total.update(sessions=len(main), run_queue_wait_ns=None if None in waits else sum(waits))
    total.update(short=sum(row["steps"] for row in short), latencies=[row["latency"] for row in short])
    total["counters"] = Counter()
    for row in rows:
        total["counters"].update(json.loads(row["counters"]))
    return total


def _total(rows: list[Row], counters: Iterable[str]) -> Row:
    """The sums of some slices, with their rate, which needs a window. A slice without a counter counted nothing."""
    total: Row = {name: sum(row[name] for row in rows) for name in ["window_ns", *_SUMS]}
    window_ns = total["window_ns"]
    total["rows_per_s"] = round(float(total["rows"]) * 1e9 / window_ns, 3) if window_ns else None
    total["more"] = {name: sum(row["counters"][name] for row in rows) for name in counters}
    total["more"]["short_queries"] = sum(row["short"] for row in rows)
    with contextlib.suppress(ValueError):
        total["more"]["short_latency_ns_p99"] = percentile_ns(one for row in rows for one in row["latencies"])
    return total


def _counters(rows: Iterable[Row]) -> dict[str, str]:
    """Columns of all counters in some slices."""
    return dict.fromkeys(sorted({name for row in rows for name in row["counters"]}), "whole")


def _short(known: Mapping[int, Row]) -> dict[str, str]:
    """Columns of short queries, if a treatment has some."""
    has_short = any(run["options"].get("short") for run in known.values())
    return dict.fromkeys(["short_queries", "short_latency_ns_p99"], "whole") if has_short else {}


def _long(file: Reader) -> list[str]:
    """The column of long windows, if the study has some."""
    is_planned = re.search(r"^\[design\.long_windows\]$", file.value("SELECT toml FROM study"), re.MULTILINE)
    return ["long_window"] if is_planned else []
