#!/usr/bin/env python3
"""Makes a result file of schema 8 from one of a development version (schema 1 to 7): convert.py OLD NEW.

For files of our own, such as frozen studies: it trusts what it reads. Only the form changes, so that a report is the
same to the last digit. Needs Python 3.11 or later.
"""

import json
import os
import re
import secrets
import sqlite3
import sys
import tomllib

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "src", "schema.sql")
SAMPLERS = {"stranger": "neighbour", "co-runner": "neighbour"}


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def path_text(path):
    return path.decode("utf-8", "replace") if isinstance(path, bytes) else path


class Old:
    """The old file; tables that its version lacks are empty."""

    def __init__(self, path):
        self.file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.file.row_factory = sqlite3.Row
        self.version = self.file.execute("PRAGMA user_version").fetchone()[0]
        self.tables = {name for name, in self.file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not 1 <= self.version <= 7 or "session_slices" not in self.tables:
            sys.exit(f"{path} is not a result file of schema 1 to 7")

    def rows(self, table, order="id"):
        return [] if table not in self.tables else self.file.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()

    def parts(self, table, owner, order, value):
        """Values of rows, by what they belong to."""
        found = {}
        for row in self.rows(table, f"{owner}, {order}"):
            found.setdefault(row[owner], []).append(value(row))
        return found


def dicts(row, *names):
    return {name: row[name] for name in names}


def machine(old):
    row = old.rows("machine")[0]
    group = lambda row: {"os_id": row["os_id"], "os_cpus": row["cpus"]}
    cpu = lambda row: {**dict(row), "allowed": bool(row["allowed"]), "online": bool(row["online"])}
    return {
        "logical_cpus": [cpu(row) for row in old.rows("logical_cpus", "os_id")],
        "cores": [{**group(row), **dicts(row, "package", "kind")} for row in old.rows("cores")],
        **{name: [group(row) for row in old.rows(name)] for name in ("packages", "dies", "clusters", "llc_domains")},
        "numa_nodes": [{**group(row), **dicts(row, "memory_bytes")} for row in old.rows("numa_nodes")],
        "caches": [{**dicts(row, "level", "kind", "size_bytes"), "os_cpus": row["cpus"]} for row in old.rows("caches")],
        "kinds": [{**dicts(row, "name", "evidence"), "os_cpus": row["cpus"]} for row in old.rows("core_kinds")],
        "limits": {
            **dicts(row, "cpuset", "affinity", "quota_cpus"),
            "quota_source": path_text(row["quota_source"]),
            "memory_bytes": row["limit_memory_bytes"],
        },
        "identity": dicts(
            row, "cpu_model", "cpu_vendor", "hypervisor", "smt_control", "kernel", "memory_bytes"
        ),
    }


def probes(old):
    def slowdown(row, kernel):
        figures = {name: row[f"{kernel}_{name}"] for name in ("median", "low", "high")}
        return None if figures["median"] is None else figures

    def pair(row):
        return {
            **dicts(row, "a", "b", "sharing", "on_cpu_share", "rounds_used", "rounds", "why"),
            **{kernel: slowdown(row, kernel) for kernel in ("wide", "chain", "load_store")},
        }

    def figures(row, method):
        return {name: row[f"{method}_{name}"] for name in ("min_ns", "median_ns", "spread_ns", "samples")}

    neighbour = ("cpu", "windows", "adds_per_step_p10", "adds_per_step_p50", "adds_per_step_p90", "busy_share",
                 "off_cpu_share", "why")
    clock = ("cpu", "busy_cpus", "source", "avg_mhz", "busy_pct", "bzy_mhz", "tsc_mhz")
    groups = old.parts("latency_groups", "level", "id", lambda row: row["cpus"])
    places = {}
    for row in old.rows("latency_levels"):
        places[row["id"]] = (row["probe"], sum(probe == row["probe"] for probe, _ in places.values()))
    place = lambda level: None if level is None else places[level][1]
    level = lambda row: {**dicts(row, "name", "low_ns", "high_ns"), "groups": groups.get(row["id"], [])}
    latency = lambda row: {
        **dicts(row, "a", "b"), "cas": figures(row, "cas"), "two_lines": figures(row, "two_lines"),
        "level": place(row["level"]),
    }
    lists = {
        "pairs": old.parts("probe_pairs", "probe", "id", pair),
        "sets": old.parts("probe_sets", "probe", "id", lambda row: dicts(row, "ran", "at_full_width")),
        "neighbours": old.parts("strangers", "probe", "id", lambda row: dicts(row, *neighbour)),
        "latencies": old.parts("latencies", "probe", "id", latency),
        "levels": old.parts("latency_levels", "probe", "id", level),
        "clocks": old.parts("clocks", "probe", "id", lambda row: dicts(row, *clock)),
        "gaps": old.parts("probe_gaps", "probe", "id", lambda row: row["text"]),
    }
    for row in old.rows("probes"):
        of_probe = {name: values.get(row["id"], []) for name, values in lists.items()}
        whole = {**dicts(row, "form", "cpus", "duration_s"), **of_probe, "interrupted": bool(row["interrupted"])}
        yield row["id"], row["started_s"], text(whole)


def looks(old):
    number = lambda value: None if value is None else value / 1000
    cpu = lambda row: {
        "cpu": row["cpu"], "chain_ns": number(row["chain_ps"]), "adds_per_step": number(row["adds_per_1000_steps"]),
    }
    pair = lambda row: {**dicts(row, "a", "b"), "line_ns": number(row["line_ps"])}
    alone = lambda row: {
        **dicts(row, "a", "b"),
        **{f"{side}_adds_per_step": number(row[f"{side}_adds_per_1000_steps"]) for side in "ab"},
    }
    cpus = old.parts("look_cpus", "look", "cpu", cpu)
    pairs = old.parts("look_pairs", "look", "a", pair)
    tests = old.parts("look_tests", "look", "a", alone)
    for row in old.rows("looks"):
        look = row["id"]
        seen = {"cpus": cpus.get(look, []), "pairs": pairs.get(look, []), "alone": tests.get(look, [None])[0]}
        yield look, row["slice"], row["moment"], text({**dicts(row, "start_ns", "took_ns"), **seen})


def note_code(words):
    """What versions before 7 went by."""
    if "server not pinned" in words:
        return "not-placed"
    if "memory placed earlier" in words:
        return "memory-placed-earlier"
    if words.startswith("no looks"):
        return "no-looks"
    if words == "the hardware was not probed (--no-probe)":
        return "not-probed"
    sampler = re.search(r"no readings of (.*)", words, re.S)
    return f"no-readings/{sampler[1].split(': ', 1)[0]}" if sampler and ": " in sampler[1] else "other"


def study_text(toml):
    toml = re.sub(r"(?m)^\[design\.stopping\.(\w+)\]$", r'[design.stopping]\nkind = "\1"', toml)
    toml = re.sub(r"(?m)^target_half_width = .*\n", "", toml)
    design = re.search(r"(?m)^\[design\]\n(?:(?!\[).*\n)*", toml)
    if "margin = " not in design[0]:
        toml = toml.replace("[design]\n", "[design]\nmargin = 0.03\n", 1)
    return toml


def cpu_times(old, topology):
    """Times of each slice, of other logical CPUs by slice, and of each of them by run.

    Version 1 had all by slice."""
    siblings = {}
    for cpu in topology["logical_cpus"]:
        parts = [part.partition("-") for part in cpu["siblings"].split(",") if part]
        siblings[cpu["os_id"]] = {n for low, _, high in parts for n in range(int(low), int(high or low) + 1)}
    near = {}
    for run in old.rows("runs"):
        cpus = {int(cpu) for cpu in run["cpus"].split(",") if cpu}
        near[run["id"]] = cpus.union(*(siblings.get(cpu, set()) for cpu in cpus))
    runs = {row["id"]: row["run"] for row in old.rows("slices")}
    names = ("busy_ns", "steal_ns", "total_ns")
    own, others, by_run = {}, {}, {}
    for row in old.rows("cpu_times", "slice, cpu"):
        times = dicts(row, "cpu", *names)
        if row["cpu"] in near[runs[row["slice"]]]:
            own.setdefault(row["slice"], []).append(times)
            continue
        other = others.setdefault(row["slice"], dict.fromkeys(("cpus", *names), 0))
        total = by_run.setdefault(runs[row["slice"]], {}).setdefault(row["cpu"], {"cpu": row["cpu"], **dict.fromkeys(names, 0)})
        other["cpus"] += 1
        for name in names:
            other[name] += row[name]
            total[name] += row[name]
    by_run = {run: [times for _, times in sorted(cpus.items())] for run, cpus in by_run.items()}
    for row in old.rows("other_cpus", "slice"):
        others[row["slice"]] = dicts(row, "cpus", *names)
    for row in old.rows("other_cpu_times", "run, cpu"):
        by_run.setdefault(row["run"], []).append(dicts(row, "cpu", *names))
    return own, others, by_run


def counters(old, table, owner):
    names = {row["id"]: row["name"] for row in old.rows("counter_names")}
    found = {}
    for row in old.rows(table, f"{owner}, counter"):
        found.setdefault(row[owner], {})[names[row["counter"]]] = row["value"]
    return {of: text(dict(sorted(values.items()))) for of, values in found.items()}


def convert(old, new):
    def insert(table, rows):
        for row in rows:
            new.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    meta = {row["key"]: row["value"] for row in old.rows("meta", "key")}
    asked = {key: meta.pop(key) for key in list(meta) if key.startswith("asked_")}
    if asked:
        prices = None
        if "asked_licence_per" in asked:
            numbers = {name: float(asked[f"asked_{name}"]) for name in ("machine_per_h", "licence_per_h")}
            prices = {**numbers, "per": asked["asked_licence_per"]}
        p99_ns = float(asked["asked_p99_ns"]) if "asked_p99_ns" in asked else None
        meta["asked"] = text({"prices": prices, "p99_ns": p99_ns})
    meta.setdefault("salt", secrets.token_hex(32))
    insert("meta", meta.items())
    toml = study_text(old.rows("study")[0]["toml"])
    insert("study", [(1, toml)])
    topology = machine(old)
    insert("machine", [(1, text(topology))])
    treatments = tomllib.loads(toml)["treatment"]
    insert("treatments", [(at, one["name"], text(one)) for at, one in enumerate(treatments)])
    boot = lambda row: {
        **{name: row[name] for name in row.keys() if name != "id"}, "number": row["id"],
        "smt_active": None if row["smt_active"] is None else bool(row["smt_active"]),
    }
    insert("boots", [(row["id"], text(boot(row))) for row in old.rows("boots")])
    boots = {(row["block"], row["attempt"]): row["boot"] for row in old.rows("block_boots", "block")}
    blocks = old.rows("blocks", "block, attempt")
    insert("blocks", [(row[0], row[1], boots.get((row[0], row[1])), *row[2:]) for row in blocks])
    own, others, by_run = cpu_times(old, topology)
    for row in old.rows("runs"):
        cpus = [int(cpu) for cpu in row["cpus"].split(",") if cpu]
        insert("runs", [(*row[:4], text(cpus), *row[5:], text(by_run.get(row["id"], [])))])
    none = dict.fromkeys(("cpus", "busy_ns", "steal_ns", "total_ns"), 0)
    of_slices = counters(old, "slice_counters", "slice")
    for row in old.rows("slices"):
        at = row["id"]
        insert("slices", [(*row, of_slices.get(at, "{}"), text(own.get(at, [])), text(others.get(at, none)))])
    insert("looks", looks(old))
    of_sessions = counters(old, "counters", "session_slice")
    pieces = old.parts("session_pieces", "session_slice", "piece", lambda row: row["rows"])
    for row in old.rows("session_slices"):
        at = row["id"]
        insert("session_slices", [(*row, of_sessions.get(at, "{}"), text(pieces.get(at, [])))])
    insert("plans", old.rows("plans"))
    of_queries = counters(old, "query_counters", "query_execution")
    insert("query_executions", [(*row, of_queries.get(row["id"], "{}")) for row in old.rows("query_executions")])
    metrics = {row["id"]: (SAMPLERS.get(row["sampler"], row["sampler"]), row["metric"]) for row in old.rows("metrics")}
    insert("readings", [(*row[:2], *metrics[row["metric"]], *row[3:]) for row in old.rows("readings")])
    codes = {row["note"]: row["code"] for row in old.rows("note_codes", "note")}
    notes = old.rows("notes")
    insert("notes", [(row["id"], codes.get(row["id"]) or note_code(row["text"]), row["text"]) for row in notes])
    insert("probes", probes(old))


def main():
    if len(sys.argv) != 3 or os.path.exists(sys.argv[2]):
        sys.exit(__doc__.splitlines()[0] + " NEW must not exist.")
    old = Old(sys.argv[1])
    new = sqlite3.connect(sys.argv[2])
    new.execute(f"PRAGMA page_size = {old.file.execute('PRAGMA page_size').fetchone()[0]}")
    with open(SCHEMA, encoding="utf-8") as schema:
        new.executescript(schema.read())
    convert(old, new)
    new.commit()
    new.execute("VACUUM")


if __name__ == "__main__":
    main()
