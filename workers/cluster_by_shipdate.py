"""Writes lineitem ordered by (l_shipdate, l_orderkey, l_linenumber): the variant `shipdate`.

Usage: PYTHON cluster_by_shipdate.py SRC_DIR DST_DIR. Reads SRC_DIR/lineitem.parquet and writes
DST_DIR/lineitem.parquet, snappy, with about as many rows in a row group as the source has. DuckDB
sorts in at most 1 GB of memory and spills into DST_DIR; its COPY would make every column nullable,
so the sorted rows are written by pyarrow under the schema of the source: names, types, required
columns and field numbers stay the same. The file gets its name only when it is complete and has been
flushed to disk.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import duckdb  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402

from threadwise_failure import first_sentence  # noqa: E402

ORDER = "l_shipdate, l_orderkey, l_linenumber"

MEMORY_LIMIT = "1GB"


def rows_per_group(source: str) -> int:
    """The average of the source, rounded up, so that there are no more row groups."""
    metadata = pyarrow.parquet.read_metadata(source)
    groups = max(metadata.num_row_groups, 1)
    return max(-(-metadata.num_rows // groups), 1)


def quoted(path: str) -> str:
    """A path as a literal of SQL."""
    return "'" + path.replace("'", "''") + "'"


def write_sorted(source: str, target: str, spill: str) -> None:
    """Sorts within this process's allowed CPUs and `MEMORY_LIMIT`."""
    config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False,
              "allow_persistent_secrets": False, "memory_limit": MEMORY_LIMIT, "pin_threads": "off",
              "threads": min(len(os.sched_getaffinity(0)), 4)}
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET temp_directory = {quoted(spill)}")
        rows = connection.sql(f"FROM read_parquet({quoted(source)}) ORDER BY {ORDER}")
        write_groups(rows.to_arrow_reader(), target, source)


def write_groups(batches: Iterable[pyarrow.RecordBatch], target: str, source: str) -> None:
    """Writes batches of any length as row groups of the source's length, under its schema.

    Decimals of up to 18 digits are stored as integers, as in the source.
    """
    schema, length = pyarrow.parquet.read_schema(source), rows_per_group(source)
    with pyarrow.parquet.ParquetWriter(target, schema, compression="snappy",
                                       store_decimal_as_integer=True) as writer:
        held: pyarrow.Table | None = None
        for batch in batches:
            # The cast is one of text types (string to string_view).
            table = pyarrow.Table.from_batches([batch]).cast(schema)
            held = table if held is None else pyarrow.concat_tables([held, table])
            while held.num_rows >= length:
                writer.write_table(held.slice(0, length), row_group_size=length)
                held = held.slice(length)
        if held is not None and held.num_rows:
            writer.write_table(held, row_group_size=length)


def check_alike(source: str, target: str) -> None:
    """Rows, column names and types must be those of the source."""
    rows = [pyarrow.parquet.read_metadata(path).num_rows for path in (source, target)]
    if rows[0] != rows[1]:
        raise ValueError(f"{rows[1]} rows were written of {rows[0]}")
    schemas = [pyarrow.parquet.ParquetFile(path).schema for path in (source, target)]
    if not schemas[0].equals(schemas[1]):
        raise ValueError(f"columns were written as {schemas[1]} instead of {schemas[0]}")


def cluster(source: str, target: str) -> None:
    """Writes beside the target, flushes, renames."""
    unfinished, spill = f"{target}.unfinished", f"{target}.spill"
    try:
        write_sorted(source, unfinished, spill)
        check_alike(source, unfinished)
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, target)
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        shutil.rmtree(spill, ignore_errors=True)
        if os.path.exists(unfinished):
            os.remove(unfinished)


def main() -> int:
    """The exit status."""
    if len(sys.argv) != 3:
        print("usage: cluster_by_shipdate.py SRC_DIR DST_DIR", file=sys.stderr)
        return 2
    source, target = (os.path.abspath(os.path.join(path, "lineitem.parquet"))
                      for path in sys.argv[1:])
    try:
        if os.path.realpath(source) == os.path.realpath(target):
            raise ValueError("source and target are the same file")
        cluster(source, target)
    except (OSError, ValueError, duckdb.Error, pyarrow.ArrowException) as cause:
        print(f"{target} could not be written from {source}: {first_sentence(str(cause))}; check the "
              "free disk space, or generate the source again", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
