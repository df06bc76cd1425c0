"""Data and statements of `insert`: the table of the published measurements, its seed, and what it must hold.

Checks are those of `crates/engine/src/workloads/insert.rs`: rows and the sum of their keys modulo a prime. A heap with
an index for its primary key. Random keys are the worker's own: of the client by Python's generator, of the loop in the
server by DBMS_RANDOM, with a new seed for each call.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from threadwise_failure import Failed
from threadwise_oracle_options import Insert, key_check
from threadwise_oracle_schema import Loaded, Objects
from threadwise_oracle_server import Connection, fill, text_of

#: Bytes of a row with its entry in the index, estimated and not measured: 155 bytes of a row in a block that is filled
#: to 90%, and an entry of 22 bytes in a leaf that is filled to about 70%.
ROW_BYTES = 210

#: Rows of one call of the load, and of one transaction.
BATCH = 5000

#: Bits of random keys.
KEY_BITS = 60


@dataclass(frozen=True)
class Names:
    """Names of the table, its index and its loop."""

    table: str
    index: str
    procedure: str


@dataclass(frozen=True)
class Content:
    """Rows, and the sum of `key_check` over their keys."""

    rows: int = 0
    key_sum: int = 0

    def __add__(self, other: Content) -> Content:
        return Content(self.rows + other.rows, self.key_sum + other.key_sum)


def names(prefix: str, suffix: str) -> Names:
    """Names of a treatment's objects."""
    return Names(f"{prefix}R_{suffix}", f"{prefix}RK_{suffix}", f"{prefix}RP_{suffix}")


def objects(prefix: str, suffix: str) -> Objects:
    """Everything that `load` creates."""
    one = names(prefix, suffix)
    return Objects([one.table], [one.procedure], [one.index])


def random_keys(seed: int, stream: int) -> Iterator[int]:
    """Random keys of a stream: 0 seeds the table, session s has s + 1."""
    drawn = random.Random(f"threadwise rows {seed} {stream}")
    while True:
        yield drawn.getrandbits(KEY_BITS)


def load(control: Connection, spec: Insert, seed: int, prefix: str, suffix: str) -> Loaded:
    """Makes the table, its seed and the loop."""
    one = names(prefix, suffix)
    control.run(f"make table {one.table}", fill("rows_create", table=one.table, index=one.index))
    content = _seed(control, one, seed, spec.seed_rows)
    control.run(f"gather statistics of {one.table}", text_of("gather_statistics"), {"name": one.table})
    draw = "TRUNC(DBMS_RANDOM.VALUE * keys_all)" if spec.is_random else "from_key + place - 1"
    control.make_procedure(one.procedure, fill("rows_loop", procedure=one.procedure, table=one.table, draw=draw,
                                               commit=commit_sql(spec)))
    notes = ["random keys are the worker's own"] if spec.is_random else []
    facts = f"{content.rows} {content.key_sum}"
    return Loaded(facts, spec.seed_rows * ROW_BYTES, spec.seed_rows, notes)


def seeded(said: Loaded) -> Content:
    """The seeded content, as the load recorded it."""
    rows, key_sum = said.facts.split()
    return Content(int(rows), int(key_sum))


def commit_sql(spec: Insert) -> str:
    """How a transaction ends."""
    return text_of("commit_full" if spec.is_full else "commit_relaxed")


def _seed(control: Connection, one: Names, seed: int, rows: int) -> Content:
    sql = fill("rows_seed", table=one.table)
    keys, content = random_keys(seed, 0), Content()
    while content.rows < rows:
        batch = [next(keys) for _ in range(min(BATCH, rows - content.rows))]
        control.run_many(f"seed table {one.table}", sql, [(key, key) for key in batch])
        control.commit()
        content = content + Content(len(batch), sum(map(key_check, batch)))
    return content


def held(control: Connection, one: Names) -> tuple[Content, Content]:
    """The table's content: seeded rows, and rows of sessions."""
    (found,) = control.ask(f"check table {one.table}", fill("rows_check", table=one.table))
    before, before_sum, ours, ours_sum = (int(value) for value in found)
    return Content(before, before_sum), Content(ours, ours_sum)


def check(when: str, expected: tuple[Content, Content], found: tuple[Content, Content]) -> None:
    """Refuses a table with unexpected content."""
    if expected != found:
        raise Failed("wrong-answer", f"{when} the table holds {_said(found)} instead of {_said(expected)}")


def _said(content: tuple[Content, Content]) -> str:
    seed, inserted = content
    return (f"{seed.rows} seeded rows with key sum {seed.key_sum} and {inserted.rows} inserted ones with key sum "
            f"{inserted.key_sum}")


def put_back(control: Connection, one: Names, seed: Content) -> None:
    """Removes the inserted rows and checks that the seeded ones are complete."""
    control.run("remove inserted rows", fill("rows_put_back", table=one.table))
    control.commit()
    check("after removing inserted rows", (seed, Content()), held(control, one))


def insert_sql(one: Names) -> str:
    """A row of the client's loop."""
    return fill("rows_insert", table=one.table)
