"""Plans as canonical text: one line an operator, two spaces a level, parents before children.

A line has the operator's name as the engine prints it, then what distinguishes plans (tables, join
type and keys, group keys, sort keys, top-N), and nothing that varies with the data's size, with
parameters, estimates, timings or the number of threads. The engine's estimates for an operator may
follow ` # `, as `rows=N cost=N`; they are ignored when plans are compared. `~ ` stands before
operators that only move rows between threads and before the partial one of a pair of aggregates:
an engine at another degree of parallelism adds such lines, and the lines below them are indented
one level more.
"""

from __future__ import annotations

import re
from typing import Any

#: Maximum length of a line.
LONGEST = 200

#: DuckDB's plans name no table where a view reads a Parquet file. TPC-H's columns do: their prefix
#: is that of their table (specification, clause 1.3).
PREFIXES = {"r": "region", "n": "nation", "s": "supplier", "c": "customer", "p": "part",
            "ps": "partsupp", "o": "orders", "l": "lineitem"}

#: DataFusion's operators that only move rows.
MOVERS = {"RepartitionExec", "CoalescePartitionsExec", "CoalesceBatchesExec",
          "SortPreservingMergeExec", "CooperativeExec", "BufferExec"}


def _line(depth: int, name: str, *parts: str) -> str:
    text = "  " * depth + " ".join([name, *(part for part in parts if part)])
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def duckdb_plan(roots: list[dict[str, Any]]) -> str:
    """The text of DuckDB's EXPLAIN (FORMAT json)."""
    lines: list[str] = []
    names: dict[str, str] = {}
    for root in roots:
        _duckdb_operator(root, 0, lines, names)
    return "\n".join(lines)


def _duckdb_operator(node: dict[str, Any], depth: int, lines: list[str], names: dict[str, str]
                     ) -> None:
    info = {key: value if isinstance(value, str) else ", ".join(map(str, value))
            for key, value in node.get("extra_info", {}).items()}
    name = node["name"].strip()
    parts = [info.get("Join Type", ""), info.get("Conditions", ""), info.get("Groups", "")]
    if "Order By" in info:
        parts.append(f"by {info['Order By']}")
    if "Top" in info:
        parts.append(f"top {info['Top']}")
    if "Table" in info:
        parts.append(info["Table"].rpartition(".")[2])
    elif name == "READ_PARQUET":
        parts.append(_table_of(info.get("Projections", "")))
    if "CTE Name" in info:
        # A generated name ends in a number that is only an identifier inside one plan.
        names[info.get("Table Index", "")] = info["CTE Name"].rstrip("_0123456789")
        parts.append(names[info.get("Table Index", "")])
    if "CTE Index" in info:
        parts.append(names.get(info["CTE Index"], ""))
    rows = info.get("Estimated Cardinality", "")
    estimate = f" # rows={rows}" if rows.isdigit() else ""
    lines.append(_line(depth, name, *parts) + estimate)
    for child in node.get("children", []):
        _duckdb_operator(child, depth + 1, lines, names)


def _table_of(columns: str) -> str:
    prefix = re.match(r"([a-z]+)_", columns)
    return PREFIXES.get(prefix[1], "") if prefix else ""


def datafusion_plan(display: str) -> str:
    """The text of DataFusion's indented display of a physical plan.

    `mode` of a hash join is left out: with several partitions a Partitioned join is known by the
    RepartitionExec lines below it and a CollectLeft one by their absence, and with one partition it
    means nothing.
    """
    lines = []
    for line in display.splitlines():
        if not line.strip():
            continue
        name, _, rest = line.strip().partition(":")
        depth = (len(line) - len(line.lstrip())) // 2
        lines.append(_datafusion_operator(depth, name, _attributes(rest.strip())))
    return "\n".join(lines)


def _datafusion_operator(depth: int, name: str, given: dict[str, str]) -> str:
    if name in MOVERS:
        keys = given.get("partitioning", "")
        keys = re.sub(r", \d+\)$", ")", keys) if keys.startswith("Hash") else ""
        return _line(depth, f"~ {name}", _plain(keys))
    parts = [given.get("join_type", "")]
    if name == "AggregateExec":
        if given.get("mode", "").startswith("Partial"):
            name = f"~ Partial {name}"
        parts.append(_group_keys(given.get("gby", "")))
    if name == "SortExec":
        parts.append("by " + _plain(given.get("expr", "")))
        parts += [key for key in given if key.startswith("TopK")]
    if name == "DataSourceExec":
        file = re.search(r"/([a-z]+)\.parquet", given.get("file_groups", ""))
        parts.append(file[1] if file else _table_of(_plain(given.get("projection", "")).strip("[")))
    parts.append(_plain(given.get("on", "")))
    return _line(depth, name, *parts)


def _split(text: str) -> list[str]:
    """The parts between commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _attributes(text: str) -> dict[str, str]:
    """Splits `a=1, b=[x, y]`; a part without `=` is a key without a value."""
    pairs = {}
    for part in _split(text):
        name = re.match(r"([a-z_]+)=", part)
        pairs[name[1] if name else part] = part[name.end():] if name else ""
    return pairs


def _plain(keys: str) -> str:
    """Keys without positions (`a@0`), which depend on what lies below."""
    return re.sub(r"@\d+", "", keys)


def _group_keys(keys: str) -> str:
    """The names of `[a@0 as a, f(b@1) as c]`: the expressions stand in the partial one of a pair
    only, and would differ between that and a single one."""
    return ", ".join(part.rpartition(" as ")[2] for part in _split(_plain(keys)[1:-1]))


def clickhouse_plan(display: str) -> str:
    """The text of ClickHouse's EXPLAIN PLAN pretty = 1, compact = 1: operators hang in a tree of
    lines, and below each stand its attributes. Filters are left out except for their operators: they
    contain values, also those of subqueries that were executed while the query was planned."""
    operators: list[tuple[int, str, dict[str, str]]] = []
    for line in display.splitlines():
        text = line.lstrip(" │├└─")
        tree = line[: len(line) - len(text)]
        is_operator = tree.endswith("──") or not tree
        if not text or text.startswith("Output:") and not tree:
            continue
        if is_operator:
            operators.append((len(tree) // 3, text, {}))
        else:
            key, _, value = text.partition(": ")
            operators[-1][2][key.rstrip(":")] = value.strip()
    return "\n".join(_clickhouse_operator(*operator) for operator in operators)


def _clickhouse_operator(depth: int, text: str, given: dict[str, str]) -> str:
    name, _, about = text.partition(" (")
    parts = [given.get("Keys", ""), given.get("Columns", "")]
    if name == "Join":
        # Type: inner | Strictness: all | Algorithm: SpillingHashJoin(ConcurrentHashJoin)
        kinds = f"Type: {given.get('Type', '')}".split(" | ")
        parts += [kind.partition(": ")[2].replace("Concurrent", "") for kind in kinds]
        parts.append(given.get("Join conditions", ""))
    if name == "BuildRuntimeFilter":
        parts.append(about.rstrip(")").rpartition(" on ")[2])
    if "Sort description" in given:
        parts.append(f"by {given['Sort description']}")
    parts += [f"top {key[6:]}" for key in given if key.startswith("Limit ")]
    if name.startswith("ReadFrom"):
        column = re.search(r"(?<!\w)([a-z]{1,2})_[a-z]", given.get("Output", ""))
        parts.append(PREFIXES.get(column[1], "") if column else "")
    return _line(depth, name, *parts)
