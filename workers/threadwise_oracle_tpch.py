"""The data of `tpch`: tables filled from the generator's text, keys, indexes, statistics, and a mark of completeness.

Source: TPC-H specification, clauses 1.4 and 1.5.4 (keys, their indexes, and an order by one date are allowed). The
generator is called as `crates/engine/src/workloads/tpch/generator.rs` calls it: with an empty environment, its text a
pipe. One data set at a time, which all treatments share, since it is read-only.
"""

from __future__ import annotations

import csv
import datetime
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from threadwise_failure import Failed, one_line
from threadwise_oracle_failure import failed
from threadwise_oracle_options import Tpch, setting
from threadwise_oracle_schema import Loaded, Objects
from threadwise_oracle_server import Connection, fill, text_of
from threadwise_oracle_tables import TABLES, Table

#: Name of the data set in the list of loads.
SUFFIX = "TPCH"

#: Bytes of tables and indexes at scale factor 1: an estimate, not measured. Tables of about 1.1 GB (the
#: text's size, in which numbers and dates take 2 to 8 bytes), indexes of about 0.6 GB.
BYTES_PER_SCALE = 1_750_000_000

#: Rows of one call of the load, and of one transaction.
BATCH = 10_000

#: Maximum length of the generator's message in an error, characters.
SAID = 300

NOTE = ("tables with the specification's columns, primary keys and an index for each foreign key, without foreign key "
        "constraints; statistics by DBMS_STATS after loading")


def name_of(prefix: str, table: str) -> str:
    """The prefixed name of a table."""
    return f"{prefix}{table.upper()}"


def stage(prefix: str) -> str:
    """Name of lineitem before it is reordered."""
    return f"{prefix}LINEITEM_STAGE"


def indexes(prefix: str) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Of each table its indexes, that of the primary key first: name and columns."""
    return {table.name: [(f"{name_of(prefix, table.name)}_K{number}", columns)
                         for number, columns in enumerate((table.key, *table.indexes))] for table in TABLES}


def objects(prefix: str) -> Objects:
    """Everything that `load` creates."""
    tables = [name_of(prefix, table.name) for table in TABLES] + [stage(prefix)]
    return Objects(tables, [], [name for some in indexes(prefix).values() for name, _ in some])


def check_found(spec: Tpch, found: Loaded) -> None:
    """Refuses another data set."""
    if found.facts != spec.facts():
        raise Failed("option", f"option 'scale': your server holds one data set at a time, and there is "
                               f"'{found.facts}' from another treatment: give all the same scale and cluster")


def try_settings(connection: Connection, spec: Tpch) -> None:
    """Sets the user's settings; errors name the option."""
    for name, value in spec.options.settings.items():
        connection.set(name, setting(name, value), option=f"settings.{name}")


def load(control: Connection, spec: Tpch, data_dir: Path, sessions: int, prefix: str) -> Loaded:
    """Creates the data set."""
    every, counted = indexes(prefix), 0
    for table in TABLES:
        name = name_of(prefix, table.name)
        moved = spec.by_shipdate and table.name == "lineitem"
        filled = stage(prefix) if moved else name
        for one in {filled, name}:
            control.run(f"make table {one}", fill("tpch_create", table=one, columns=table.columns_sql()))
        counted += _fill_table(control, table, filled, spec, data_dir)
        if moved:
            control.run(f"order table {name}", fill("tpch_order", table=name, source=filled))
            control.commit()
            control.run(f"drop table {filled}", fill("drop_table", name=filled))
        for number, (index, columns) in enumerate(every[table.name]):
            kind = "tpch_index" if number else "tpch_key"
            control.run(f"make index {index}", fill(kind, table=name, index=index, columns=", ".join(columns)))
        control.run(f"gather statistics of {name}", text_of("gather_statistics"), {"name": name})
    notes = [NOTE]
    if spec.by_shipdate:
        notes.append("lineitem was loaded in the order of l_shipdate, l_orderkey, l_linenumber")
    total = sum(_bytes(control, name_of(prefix, table.name)) for table in TABLES)
    return Loaded(spec.facts(), total // max(sessions, 1), counted, notes)


def _bytes(control: Connection, table: str) -> int:
    ((size,),) = control.ask("ask for the size of the data", text_of("segment_bytes"), {"name": table})
    return int(size)


def _fill_table(control: Connection, table: Table, name: str, spec: Tpch, data_dir: Path) -> int:
    """Fills a table from the generator; gives its rows."""
    columns = [column for column, _ in table.columns]
    sql = fill("tpch_insert", table=name, columns=", ".join(columns), places=", ".join(f":{c}" for c in columns))
    count = 0
    for batch in _batches(_rows(table, _lines(table, spec.scale, data_dir))):
        control.run_many(f"fill table {name}", sql, batch)
        control.commit()
        count += len(batch)
    if not table.may_have(count, spec.scale):
        raise failed(f"fill table {name}", f"the generator returned {count} rows, wrong for scale {spec.scale:g}")
    return count


def _batches(rows: Iterable[tuple]) -> Iterator[list[tuple]]:
    batch: list[tuple] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _rows(table: Table, lines: Iterable[str]) -> Iterator[tuple]:
    """Values of the generator's text, whose first line has the columns' names."""
    readers = [_reader(kind) for _, kind in table.columns]
    text = csv.reader(lines)
    head = next(text, None)
    if head is not None and head != [name for name, _ in table.columns]:
        raise failed(f"read table {table.name}", f"the generator's columns are {','.join(head)}")
    for row in text:
        yield tuple(read(value) for read, value in zip(readers, row, strict=True))


def _reader(kind: str) -> Any:
    match kind.split()[0]:
        case "id" | "int":
            return int
        case "dec":
            return Decimal
        case "date":
            return datetime.datetime.fromisoformat
    return str


def _lines(table: Table, scale: float, data_dir: Path) -> Iterator[str]:
    """The generator's text of a table; raises if it failed. It is killed if the text is not read to its end."""
    program = data_dir / "generator"
    hint = "it comes with the environment that `threadwise engine add duckdb` creates"
    words = ["csv", "--stdout", "--quiet", "--tables", table.name, "--scale-factor",
             repr(scale).removesuffix(".0")]
    with tempfile.TemporaryFile() as log:
        try:
            running = subprocess.Popen([str(program), *words], env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=log, text=True, encoding="utf-8", process_group=0)
        except OSError as cause:
            raise failed(f"start the generator {program}", f"{cause.strerror}; {hint}") from cause
        try:
            yield from running.stdout
            status = running.wait()
        finally:
            running.kill()
            running.wait()
            running.stdout.close()
        if status:
            log.seek(0)
            said = one_line(log.read().decode(errors="replace")[-SAID:]) or "no message"
            raise failed("generate the data", f"the generator ended with {status} in table {table.name}: {said}")


def read_all(connection: Connection, prefix: str) -> None:
    """Reads every table once; a large one may go around the buffer cache (serial direct path reads)."""
    for table in TABLES:
        connection.ask("read the tables once", fill("tpch_count", table=name_of(prefix, table.name)))
