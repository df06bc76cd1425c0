"""Prints `table rows` for the eight tables in a folder, from the footers of the Parquet files.

Usage: PYTHON count_rows.py DIR. A file counts as complete if its footer, which is its end, can be
read and every column chunk that the footer names lies inside the file (Parquet format, "File
Format": footer length and `PAR1` are the last 8 bytes). Contents are not read; checksums are the
caller's task.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402

from threadwise_failure import one_line  # noqa: E402
from threadwise_load import TABLES  # noqa: E402


def rows_of(path: str) -> int:
    """Rows of a file; ValueError if a column chunk is outside it."""
    size = os.path.getsize(path)
    with pyarrow.parquet.ParquetFile(path) as file:
        metadata = file.metadata
        for group in range(metadata.num_row_groups):
            for index in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(index)
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                if start < 4 or start + chunk.total_compressed_size > size - 8:
                    raise ValueError(f"column {chunk.path_in_schema} of row group {group} is "
                                     "outside the file")
        return metadata.num_rows


def main() -> int:
    """The exit status."""
    if len(sys.argv) != 2:
        print("usage: count_rows.py DIR", file=sys.stderr)
        return 2
    for table in TABLES:
        path = os.path.join(sys.argv[1], f"{table}.parquet")
        try:
            print(table, rows_of(path))
        except (OSError, ValueError, pyarrow.ArrowException) as cause:
            print(f"{path} is damaged or missing: {one_line(str(cause))}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
