"""Data and statements of `logical-io`: reads of cached blocks by index, one visited row a block.

A row takes more than 1% of a block and PCTFREE 99 keeps it the only one (SQL Language Reference 19c, "physical_
attributes_clause"; the method of K. Closson's SLOB). That is proved after loading by counting blocks (PL/SQL Packages
and Types Reference 19c, "DBMS_ROWID"). Sums are those of `crates/engine/src/workloads/logical_io.rs`; the order of
rows is the worker's own permutation by the study's seed, since Rust's is drawn by another generator.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from threadwise_failure import Failed
from threadwise_oracle_failure import failed, statement_failed
from threadwise_oracle_options import LogicalIo, range_sum
from threadwise_oracle_schema import Loaded, Objects
from threadwise_oracle_server import Connection, fill, text_of

#: Bytes that fill a row, beside its numbers: more than 1% of the largest block, 32 KiB.
FILLER_BYTES = 480

#: Far from 0, so that the numbers keep their length after any number of updates.
BASE = 1 << 40

#: Rows of one call of the load, and of one transaction.
BATCH = 1000

#: Default bytes of a block.
BLOCK_BYTES = 8192

#: Operations of a step's plan, in order; for steps of one key, one look-up replaces the last two.
WANTED = ("TABLE ACCESS", "INDEX")


@dataclass(frozen=True)
class Names:
    """Names of one table, its index and its loop."""

    table: str
    index: str
    procedure: str


def names(prefix: str, suffix: str, table: int) -> Names:
    """Names of a session's objects."""
    return Names(f"{prefix}B_{suffix}_{table}", f"{prefix}K_{suffix}_{table}", f"{prefix}P_{suffix}_{table}")


def objects(spec: LogicalIo, sessions: int, prefix: str, suffix: str) -> Objects:
    """Everything that `load` creates."""
    every = [names(prefix, suffix, table) for table in range(1 if spec.shared else sessions)]
    return Objects([one.table for one in every], [one.procedure for one in every], [one.index for one in every])


def shuffled_keys(seed: int, blocks: int) -> list[int]:
    """The keys from 0 in the order in which rows are loaded."""
    keys = list(range(blocks))
    random.Random(f"threadwise keys {seed}").shuffle(keys)
    return keys


def load(control: Connection, spec: LogicalIo, sessions: int, seed: int, prefix: str, suffix: str,
         sleep: str | None) -> Loaded:
    """Creates the tables of all sessions. `sleep` is the procedure for pauses, if any."""
    block_bytes = BLOCK_BYTES
    first = names(prefix, suffix, 0)
    for number in range(1 if spec.shared else sessions):
        one = names(prefix, suffix, number)
        control.run(f"make table {one.table}", fill("blocks_create", table=one.table, filler_bytes=FILLER_BYTES))
        if number == 0:
            _insert(control, one, seed, spec.blocks)
        else:
            control.run(f"copy table {first.table}", fill("blocks_copy", table=one.table, source=first.table))
        control.commit()
        control.run(f"make index {one.index}", fill("blocks_index", table=one.table, index=one.index))
        control.run(f"gather statistics of {one.table}", text_of("gather_statistics"), {"name": one.table})
        _prove(control, one.table, spec.blocks)
        block_bytes = _block_bytes(control, one.table)
        control.make_procedure(one.procedure, _loop(one, spec, sleep))
    note = (f"{spec.blocks} rows, each alone on a block of {block_bytes} bytes (as many distinct blocks by DBMS_ROWID)"
            "; their random order is the worker's own")
    return Loaded("logical-io", spec.blocks * block_bytes, spec.blocks, [note])


def _insert(control: Connection, one: Names, seed: int, blocks: int) -> None:
    sql = fill("blocks_insert", table=one.table)
    keys = shuffled_keys(seed, blocks)
    for at in range(0, blocks, BATCH):
        rows = [(key, BASE, 7 * key + 3 - BASE) for key in keys[at:at + BATCH]]
        control.run_many(f"fill table {one.table}", sql, rows)
        control.commit()


def _prove(control: Connection, table: str, blocks: int) -> None:
    ((rows, used),) = control.ask("count the blocks of a table", fill("blocks_proof", table=table))
    if (rows, used) != (blocks, blocks):
        raise failed("put one row on each block", f"{rows} rows of {blocks} are on {used} blocks of {table}")


def _block_bytes(control: Connection, table: str) -> int:
    rows = control.ask("ask for the size of a block", text_of("blocks_size"), {"name": table})
    return int(rows[0][0]) if rows else BLOCK_BYTES


def _loop(one: Names, spec: LogicalIo, sleep: str | None) -> str:
    pause = "NULL;"
    if spec.think_time_us:
        # Never beyond the end: the next step must still be done.
        left = "EXTRACT(MINUTE FROM (end_at - now_at)) * 60 + EXTRACT(SECOND FROM (end_at - now_at))"
        pause = f"{sleep}(LEAST(think_s, GREATEST(0, {left})));"
    return fill("blocks_loop", procedure=one.procedure, table=one.table, index=one.index, pause=pause,
                shared=int(spec.shared))


def warm(connection: Connection, one: Names, spec: LogicalIo) -> None:
    """Reads every row by the index, and checks the content."""
    action = f"read the whole table {one.table}"
    (found,) = connection.ask(action, fill("blocks_warm", table=one.table, index=one.index))
    expected = (spec.blocks, range_sum(0, spec.blocks))
    if tuple(found) != expected:
        raise Failed("wrong-answer", f"{one.table} holds {tuple(map(str, found))} instead of {expected}")


def plan(connection: Connection, one: Names, spec: LogicalIo) -> str:
    """Returns the plan; refuses one that is not an index range scan with visits to rows."""
    connection.run("plan a step", fill("blocks_explain", table=one.table, index=one.index, last_k=spec.work_unit - 1))
    rows = connection.ask("read the plan of a step", text_of("blocks_plan"))
    connection.rollback()
    lines = [" ".join(filter(None, (operation, options))) for operation, options, _ in rows]
    operations = [operation for operation, _, _ in rows][-2:]
    index = rows[-1] if rows else ("", "", "")
    reads = tuple(operations) == WANTED and "FULL" not in lines[-2] and index[2] == one.index
    if not reads or "FULL" in lines[-1] or any(line.startswith("PX") for line in lines):
        raise failed("plan a step", f"the plan is '{', '.join(lines)}' instead of visits to rows by {one.index}")
    return ", ".join(lines)


def steps(spec: LogicalIo, seed: int, session: int) -> Iterator[tuple[int, bool]]:
    """First keys of the client's steps, and whether they change their rows: the same for a seed and session."""
    drawn = random.Random(f"threadwise steps {seed} {session}")
    while True:
        update = spec.updates() and drawn.random() * 100 < spec.update_pct
        is_hot = spec.hot_pct > 0 and drawn.random() * 100 < spec.hot_pct
        range_size = (spec.hot_blocks if is_hot else spec.blocks) - spec.work_unit + 1
        yield int(drawn.random() * range_size), update


def visit(connection: Connection, one: Names, spec: LogicalIo, first: int) -> None:
    """A reading step of the client, checked."""
    last = first + spec.work_unit - 1
    (found,) = connection.ask(f"read keys {first} to {last}", fill("blocks_read", table=one.table, index=one.index),
                              {"first_k": first, "last_k": last})
    expected = (spec.work_unit, range_sum(first, spec.work_unit))
    if tuple(found) != expected:
        raise Failed("wrong-answer", f"keys {first} to {last} gave {tuple(map(str, found))} instead of {expected}")


def change(connection: Connection, one: Names, spec: LogicalIo, first: int) -> None:
    """A changing step of the client, checked and committed."""
    last = first + spec.work_unit - 1
    changed = connection.run(f"update keys {first} to {last}", fill("blocks_update", table=one.table, index=one.index),
                             {"first_k": first, "last_k": last})
    connection.commit()
    if changed != spec.work_unit:
        raise Failed("wrong-answer", f"the update of keys {first} to {last} changed {changed} rows instead of "
                                     f"{spec.work_unit}")


def sleeper(control: Connection) -> str:
    """The procedure for pauses: DBMS_SESSION.SLEEP, which every account has from 18c on, otherwise DBMS_LOCK.SLEEP,
    which needs a GRANT to the account itself."""
    if int(control.inner.version.split(".")[0]) >= 18:
        return "DBMS_SESSION.SLEEP"
    try:
        ((found,),) = control.rows(text_of("point_package"), {"name": "DBMS_LOCK"})
    except control.errors as cause:
        raise statement_failed("look for DBMS_LOCK", cause) from cause
    if not found:
        raise Failed("option", "option 'think_time_us': before 18c a pause needs GRANT EXECUTE ON SYS.DBMS_LOCK TO the "
                               "account; or use loop=client")
    return "DBMS_LOCK.SLEEP"
