"""The workloads' options on Oracle, checked as the engines in Rust check them.

Sources: `crates/engine/src/workloads/{options,logical_io,insert}.rs` and `crates/tpch/src/options.rs`, whose names,
limits and defaults these are.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, replace
from typing import Any

from threadwise_failure import Failed
from threadwise_load import Load, Options, Value, read_options
from threadwise_oracle_failure import ENGINE, refused

LOGICAL_IO, INSERT, TPCH = "logical-io", "insert", "tpch"
WORKLOADS = (LOGICAL_IO, INSERT, TPCH)

#: Most sessions of a treatment: names of tables end with their numbers.
MAX_SESSIONS = 1000

#: Bytes of a block of the other engines, of which `data_mib` is a number.
DATA_BLOCK_BYTES = 4096

MAX_BLOCKS = 1 << 28
MAX_THINK_TIME_US = 60_000_000
MAX_ROWS = 1_000_000_000
MAX_ROWS_PER_TX = 1000
USUAL_SEED_ROWS = 200_000

#: Modulus of `key_check`, a prime.
CHECK_MODULUS = 1_000_000_007

#: Distance between the first keys of two sessions with ascending keys.
SESSION_STRIDE = 10_000_000_000

#: What a pause in PL/SQL is a whole number of (PL/SQL Packages and Types Reference 19c, "DBMS_SESSION.SLEEP").
PAUSE_US = 10_000

#: Options of `tpch` that Oracle does not support, and why.
UNFOLLOWED = {
    "storage": "Oracle keeps tables in its own files; leave it out",
    "batch_rows": "Oracle chooses how many rows it passes on at once; leave it out",
    "memory_limit_mb": "the instance's PGA_AGGREGATE_TARGET limits all sessions, and none alone; leave it out",
    "spill_dir": "Oracle spills into its temporary tablespace; leave it out",
    "spill_limit_mb": "the size of the temporary tablespace is the limit; leave it out",
}

#: Settings of a session that have an option of their own, or that answers and measurements depend on.
RESERVED = {
    "current_schema": "names of tables rest on it",
    "time_zone": "the clock rests on it",
    "result_cache_mode": "answers that are kept would be measured",
    "optimizer_adaptive_plans": "plans would change while they are executed",
    "optimizer_adaptive_statistics": "an execution would change the plan of the next one",
    "parallel_degree_policy": "use the option dop",
}


@dataclass(frozen=True)
class LogicalIo:
    """Options of `logical-io`."""

    blocks: int
    work_unit: int
    update_pct: float
    think_time_us: int
    hot_pct: float
    hot_blocks: int
    shared: bool

    def updates(self) -> bool:
        """Whether steps change rows."""
        return self.update_pct > 0

    def starts(self) -> int:
        """How many first keys a step may have."""
        return self.blocks - self.work_unit + 1


@dataclass(frozen=True)
class Insert:
    """Options of `insert`."""

    is_random: bool
    rows_per_tx: int
    is_full: bool
    seed_rows: int
    rows_per_session: int | None


@dataclass(frozen=True)
class Tpch:
    """Options of `tpch`; `options` are those that the other workers have, too."""

    options: Options
    scale: float
    by_shipdate: bool

    def facts(self) -> str:
        """What distinguishes data sets."""
        return f"tpch format 1 sf{self.scale!r}{'-shipdate' if self.by_shipdate else ''}, whole"


@dataclass(frozen=True)
class Work:
    """A workload with its options."""

    spec: LogicalIo | Insert | Tpch
    #: Whether the loop of a session runs inside the server.
    in_server: bool = True

    def changes_data(self) -> bool:
        """Whether treatments must not share their data."""
        return isinstance(self.spec, Insert) or isinstance(self.spec, LogicalIo) and self.spec.updates()


def read_work(load: Load) -> Work:
    """Checks the workload's options."""
    if not 1 <= load.sessions <= MAX_SESSIONS:
        raise refused("sessions", f"{load.sessions} is not 1 to {MAX_SESSIONS}")
    match load.workload:
        case "logical-io":
            return _read_logical_io(load.options)
        case "insert":
            return _read_insert(load.options)
        case "tpch":
            return Work(_read_tpch(load))
    raise refused("workload", f"oracle has no '{load.workload}'; it has: {', '.join(WORKLOADS)}")


def _read_logical_io(options: dict[str, Any]) -> Work:
    known = ("blocks", "work_unit", "update_pct", "think_time_us", "hot_pct", "hot_blocks", "shared", "data",
             "data_mib", "loop")
    _only(options, LOGICAL_IO, known)
    spec = LogicalIo(
        blocks=_blocks(options),
        work_unit=_whole(options, "work_unit", 1, MAX_BLOCKS, 64),
        update_pct=_percent(options, "update_pct"),
        think_time_us=_whole(options, "think_time_us", 0, MAX_THINK_TIME_US, 0),
        hot_pct=_percent(options, "hot_pct"),
        hot_blocks=_whole(options, "hot_blocks", 0, MAX_BLOCKS, 0),
        shared=_flag(options, "shared"),
    )
    if spec.work_unit > spec.blocks:
        raise refused("work_unit", f"{spec.work_unit} is more than the {spec.blocks} blocks")
    if spec.hot_pct == 0 and spec.hot_blocks > 0:
        raise refused("hot_blocks", f"{spec.hot_blocks} without hot_pct has no effect")
    if spec.hot_pct > 0 and not spec.work_unit <= spec.hot_blocks <= spec.blocks:
        raise refused("hot_blocks", f"{spec.hot_blocks} is not between work_unit ({spec.work_unit}) and blocks "
                                    f"({spec.blocks}), as hot_pct needs")
    in_server = _word(options, "loop", ("server", "client")) == 0
    if in_server and spec.think_time_us % PAUSE_US:
        raise refused("think_time_us", f"{spec.think_time_us} is not a multiple of {PAUSE_US}: pauses in PL/SQL have "
                                       "hundredths of a second; use loop=client, which has microseconds")
    return Work(spec, in_server)


def _blocks(options: dict[str, Any]) -> int:
    if "blocks" in options:
        return _whole(options, "blocks", 1, MAX_BLOCKS, 0)
    if "data_mib" not in options:
        if "data" in options:
            raise refused("data", f"'{options['data']}' comes without blocks or data_mib")
        return 8192
    blocks = _number(options["data_mib"]) * (1 << 20) / DATA_BLOCK_BYTES
    if not 1 <= blocks <= MAX_BLOCKS:
        most = MAX_BLOCKS * DATA_BLOCK_BYTES >> 20
        raise refused("data_mib", f"not a number of MiB from 1 block of 4 KiB to {most} MiB")
    return int(blocks)


def _read_insert(options: dict[str, Any]) -> Work:
    known = ("key", "rows_per_tx", "durability", "table", "seed_rows", "rows_per_session", "loop")
    _only(options, INSERT, known)
    if _word(options, "table", ("durable", "unlogged")) == 1:
        raise refused("table", "'unlogged' is not available with oracle, which logs every row of INSERT … VALUES "
                               "(NOLOGGING applies to direct loads alone); use durable")
    per_tx = _whole(options, "rows_per_tx", 0, MAX_ROWS_PER_TX, 2)
    if per_tx == 0:
        raise refused("rows_per_tx", "0 (all rows in one) is not available with oracle")
    rows = _whole(options, "rows_per_session", 1, MAX_ROWS, 0) or None
    if rows and rows % per_tx:
        raise refused("rows_per_session", f"{rows} is not a multiple of rows_per_tx, {per_tx}")
    spec = Insert(
        is_random=_word(options, "key", ("sequential", "random")) == 1,
        rows_per_tx=per_tx,
        is_full=_word(options, "durability", ("full", "relaxed")) == 0,
        seed_rows=_whole(options, "seed_rows", 0, MAX_ROWS, USUAL_SEED_ROWS),
        rows_per_session=rows,
    )
    return Work(spec, _word(options, "loop", ("server", "client")) == 0)


def _read_tpch(load: Load) -> Tpch:
    options = read_options(replace(load, engine_options={}), ENGINE, UNFOLLOWED)
    if options.cache == "cold":
        raise Failed("option", "option 'cache': 'cold' would empty the buffer cache of a server that others use; use "
                               "warm")
    for name in options.settings:
        if name.lower() in RESERVED or name.lower().startswith("nls_"):
            raise refused(f"settings.{name}", RESERVED.get(name.lower(), "the text of answers depends on it"))
        setting(name, options.settings[name])
    return Tpch(options, float(load.options.get("scale", 1)), load.options.get("cluster") == "shipdate")


def setting(name: str, value: Value) -> str:
    """A setting's value as it stands in ALTER SESSION SET."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,79}", name, re.ASCII):
        raise refused(f"settings.{name}", "that is not the name of a parameter")
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.,:+ -]{1,200}", value, re.ASCII):
        raise refused(f"settings.{name}", "its value has characters other than letters, digits, blanks and _.,:+-")
    return value if re.fullmatch(r"\w+", value, re.ASCII) else f"'{value}'"


def suffix_of(load: Load, work: Work) -> str:
    """The part of names that keeps treatments apart: those that change their data have it for themselves, the others
    share it with equals. As `names.rs` of the crate `engine` makes it, in capitals."""
    text = f"{load.workload} {load.sessions} {load.seed}"
    for name in sorted(load.options):
        text += f" {name}={load.options[name]!r}"
    text += f" {load.treatment if work.changes_data() else ''}"
    return hashlib.sha256(text.encode()).hexdigest()[:16].upper()


def _only(options: dict[str, Any], workload: str, known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise refused(name, f"unknown to {workload}; allowed: {', '.join(known)}")


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else math.nan


def _whole(options: dict[str, Any], name: str, low: int, high: int, usual: int) -> int:
    """A whole number; 8192.0 is one, since numbers lose their type in some languages' JSON."""
    if name not in options:
        return usual
    value = _number(options[name])
    if not low <= value <= high or value != int(value):
        raise refused(name, f"'{options[name]}' is not a whole number from {low} to {high}")
    return int(options[name])


def _percent(options: dict[str, Any], name: str) -> float:
    value = _number(options.get(name, 0))
    if not 0 <= value <= 100:
        raise refused(name, "not a number from 0 to 100")
    return value


def _flag(options: dict[str, Any], name: str) -> bool:
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise refused(name, f"'{value}' is neither true nor false")
    return value


def _word(options: dict[str, Any], name: str, words: tuple[str, ...]) -> int:
    value = options.get(name, words[0])
    if value not in words or isinstance(value, bool):
        raise refused(name, f"'{value}' is not one of: {', '.join(words)}")
    return words.index(value)


def key_check(key: int) -> int:
    """A key's part of the sum that checks tables."""
    return key % CHECK_MODULUS


def first_key(session: int) -> int:
    """First key of a session with ascending keys."""
    return (session + 1) * SESSION_STRIDE


def range_sum(first: int, count: int) -> int:
    """Sum of 7 k + 3 over `count` keys from `first`."""
    return 7 * (first * count + count * (count - 1) // 2) + 3 * count
