"""Options of a treatment: workload options, data files, query files, and a spill folder.

Everything is checked by name and value before an engine is opened. The folders are those that the
runner makes for the workload `tpch` (docs/WORKER.md): `DATA_DIR/tpch/TABLE.parquet` and
`DATA_DIR/queries/STREAM/qNN.sql`.
"""

from __future__ import annotations

import fcntl
import math
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadwise_failure import Failed

#: The eight tables of TPC-H (specification, clause 1.4).
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

#: A megabyte of an option; decimal, as both engines read `MB`.
MB = 1_000_000

#: Largest whole number accepted as a size or a count: anything above is a typing error.
LARGEST = 2**40

#: Maximum sessions beside the streams.
MAX_SHORT = 64

Value = str | int | float | bool


@dataclass(frozen=True)
class Load:
    """Mirror of `load` in the protocol."""

    workload: str
    options: dict[str, Any]
    engine_options: dict[str, Any]
    data_dir: Path
    treatment: str
    sessions: int
    seed: int


@dataclass(frozen=True)
class Options:
    """Workload options, checked. Options for the runner alone are not here."""

    #: `power` or `throughput`.
    test: str = "power"
    #: Numbers of the queries that may be requested, ascending.
    queries: tuple[int, ...] = tuple(range(1, 23))
    #: Degree of parallelism of a stream; None = logical CPUs of its session.
    dop: int | None = None
    #: `warm` or `cold`.
    cache: str = "warm"
    #: `parquet` or `memory`.
    storage: str = "parquet"
    #: Sessions beside the streams, which execute short queries.
    short: int = 0
    #: Rows in a batch; None = the engine's own default.
    batch_rows: int | None = None
    #: Memory limit of all streams together, bytes; None = the engine's own default.
    memory_limit_bytes: int | None = None
    #: Folder to spill to; None = `spill` in the data folder.
    spill_dir: Path | None = None
    #: Limit of all streams' spill files together, bytes; None = the engine's own default.
    spill_limit_bytes: int | None = None
    #: Settings of the engine, by its own names.
    settings: dict[str, Value] = field(default_factory=dict)


def is_whole(value: object, low: int, high: int = LARGEST) -> bool:
    """Whether a JSON value is a whole number from `low` to `high` (true and false are not)."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _whole(low: int, unit: int = 1, high: int = LARGEST) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not is_whole(value, low, high):
            most = "" if high == LARGEST else f" and at most {high}"
            raise ValueError(f"a whole number of at least {low}{most}")
        return value * unit

    return read


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(" or ".join(words))
        return value

    return read


def _scale(value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 < value <= 100_000:
        raise ValueError("a number above 0 and at most 100000")
    return float(value)


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or not os.path.isabs(value) or not os.path.isdir(value):
        raise ValueError("the absolute path of an existing folder")
    if not os.access(value, os.W_OK | os.X_OK):
        raise ValueError("a folder that this user can write to")
    return Path(value)


def query_list(value: Any) -> tuple[int, ...]:
    """The numbers in a list such as `1,3-6`, ascending; ValueError says what is allowed."""
    allowed = "query numbers from 1 to 22, as in 1,3-6"
    numbers: set[int] = set()
    for part in str(value).split(","):
        ends = part.strip().split("-")
        if len(ends) > 2 or not all(end.isascii() and end.isdigit() for end in ends):
            raise ValueError(allowed)
        low, high = int(ends[0]), int(ends[-1])
        if not 1 <= low <= high <= 22:
            raise ValueError(allowed)
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


#: Options for the runner; only their values are checked here.
RUNNERS: dict[str, Callable[[Any], Any]] = {
    "scale": _scale,
    "parameters": _one_of("validation", "seeded"),
    "cluster": _one_of("orderkey", "shipdate"),
}

#: Options for a worker: the field of `Options` and how a value is read.
WORKERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "test": ("test", _one_of("power", "throughput")),
    "queries": ("queries", query_list),
    "dop": ("dop", _whole(1)),
    "cache": ("cache", _one_of("warm", "cold")),
    "storage": ("storage", _one_of("parquet", "memory")),
    "short": ("short", _whole(0, high=MAX_SHORT)),
    "batch_rows": ("batch_rows", _whole(1)),
    "memory_limit_mb": ("memory_limit_bytes", _whole(1, MB)),
    "spill_dir": ("spill_dir", _folder),
    "spill_limit_mb": ("spill_limit_bytes", _whole(0, MB)),
}

#: Options of other engines, which every engine here refuses with the reason.
FOREIGN = {
    "jit": "it is an option of postgres",
    "hold_plan": "it is an option of postgres",
}


def read_options(load: Load, engine: str, refused: dict[str, str]) -> Options:
    """Checks every option; `refused` has those that this engine does not support, with the reason."""
    if load.workload != "tpch":
        raise Failed("option", f"{engine} runs the workload tpch, not '{load.workload}'")
    # `python` names the environment that this program runs in.
    unknown = load.engine_options.keys() - {"python"}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise Failed("option", f"{engine} has no engine options, but got {names}; use settings.NAME"
                               " of the workload for settings of the engine")
    refused = FOREIGN | refused
    allowed = sorted((RUNNERS.keys() | WORKERS.keys()) - refused.keys())
    fields: dict[str, Any] = {"settings": {}}
    for name, value in load.options.items():
        if name.startswith("settings."):
            fields["settings"][name.removeprefix("settings.")] = value
        elif name in refused:
            raise Failed("option", f"{engine} does not support option '{name}': {refused[name]}; "
                                   f"allowed are {', '.join(allowed)} and settings.NAME")
        elif name in allowed:
            _read_option(fields, name, value)
        else:
            raise Failed("option", f"the workload tpch has no option '{name}' on {engine}; allowed "
                                   f"are {', '.join(allowed)} and settings.NAME")
    options = Options(**fields)
    if options.storage == "memory" and options.cache == "cold":
        raise Failed("option", "cache=cold has no effect with storage=memory; remove one of them")
    if options.short and options.test == "power":
        raise Failed("option", f"short={options.short} needs test=throughput, whose streams they "
                               "run beside; give that, or remove short")
    return options


def _read_option(fields: dict[str, Any], name: str, value: Any) -> None:
    try:
        if name in RUNNERS:
            RUNNERS[name](value)
        else:
            target, read = WORKERS[name]
            fields[target] = read(value)
    except ValueError as allowed:
        raise Failed("option", f"option '{name}' is {value!r}; it must be {allowed}") from None


def data_file(data_dir: Path, table: str) -> str:
    """Path of a table's Parquet file."""
    return str(data_dir / "tpch" / f"{table}.parquet")


@dataclass(frozen=True)
class DataSize:
    """Rows of the eight tables, and bytes of their column data, decompressed but still encoded."""

    rows: int
    encoded_bytes: int


def check_data(data_dir: Path) -> DataSize:
    """Reads the footers of all files: a missing, truncated or foreign file ends the worker."""
    import pyarrow
    import pyarrow.parquet

    rows = encoded = 0
    for table in TABLES:
        path = data_file(data_dir, table)
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                groups = range(file.metadata.num_row_groups)
                rows += file.metadata.num_rows
                encoded += sum(file.metadata.row_group(i).total_byte_size for i in groups)
        except (OSError, pyarrow.ArrowException) as cause:
            raise damaged(path, cause) from cause
    return DataSize(rows, encoded)


def orders(data_dir: Path) -> int:
    """Number of orders in the data set."""
    import pyarrow
    import pyarrow.parquet

    path = data_file(data_dir, "orders")
    try:
        return pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, pyarrow.ArrowException) as cause:
        raise damaged(path, cause) from cause


def damaged(path: str, cause: Exception) -> Failed:
    """The failure for a file of the data set that is missing or cannot be read."""
    path = os.path.realpath(path)
    why = "it does not exist" if isinstance(cause, FileNotFoundError) else str(cause)
    return Failed("engine", f"{path} cannot be read ({why}); remove the folder "
                            f"{os.path.dirname(path)}, and the next run creates it again")


def read_queries(data_dir: Path, stream: int, numbers: tuple[int, ...]) -> dict[int, str]:
    """The stream's queries, by number."""
    queries = {}
    for number in numbers:
        path = data_dir / "queries" / str(stream) / f"q{number:02}.sql"
        try:
            queries[number] = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as cause:
            raise Failed("engine", f"query file {path} cannot be read ({cause}); start the study "
                                   "again, the runner writes it") from cause
    return queries


def warm_page_cache(data_dir: Path) -> None:
    """Reads all files once, so that they are in the page cache, if memory allows."""
    for table in TABLES:
        path = data_file(data_dir, table)
        try:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
        except OSError as cause:
            raise damaged(path, cause) from cause


class Spill:
    """A private folder for spill files, locked while its worker lives, so that the next worker can find
    the leftovers of a killed one and remove them (flock(2): the lock ends with the process)."""

    PREFIX = "threadwise-spill-"

    def __init__(self, parent: Path) -> None:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            # Workers start side by side: without the parent's lock one could take another's new
            # folder, which is not locked yet, for a leftover.
            alone = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(alone, fcntl.LOCK_EX)
                for left in parent.glob(self.PREFIX + "*"):
                    _remove_if_left(left)
                self.folder = Path(tempfile.mkdtemp(prefix=self.PREFIX, dir=parent))
                self._lock = open(self.folder / "lock", "wb")
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            finally:
                os.close(alone)
        except OSError as cause:
            raise Failed("engine", f"no spill folder could be created in {parent} ({cause}); "
                                   "free some space, or give another one by spill_dir") from cause

    def of_session(self, session: int) -> Path:
        """The session's own folder."""
        folder = self.folder / str(session)
        folder.mkdir()
        return folder

    def remove(self) -> None:
        """Removes the folder and its content."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()


def _remove_if_left(folder: Path) -> None:
    try:
        with open(folder / "lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # in use by a worker that lives, or not ours to read
        return
