"""Columns of one type each as a frame of pandas, polars or pyarrow, whichever is installed."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from ._file import Error, marked

#: Libraries by name, the preferred first, and what is imported for each.
LIBRARIES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}

#: Columns that hold something else than whole numbers.
KINDS: dict[str, str] = {
    "started_s": "real",
    "rows_per_s": "real",
    "cpus": "list",
    "latency_hdr_v2": "bytes",
    **dict.fromkeys(["adds_per_step", "chain_ns", "line_ns", "adds_per_step_without"], "real"),
    **dict.fromkeys(["treatment", "group", "placement", "status", "kind", "message"], "text"),
    **dict.fromkeys(["plan", "item", "moment", "state"], "text"),
}


#: Kinds of columns and their types in Python; a list is of whole numbers.
TYPES: dict[str, Any] = {"whole": int, "real": (int, float), "text": str, "list": list, "bytes": bytes}


class Column(NamedTuple):
    """Values of one kind; `None` is unknown."""

    kind: str
    values: list[Any]


Columns = dict[str, Column]


def library(asked: str | None) -> str:
    """The library that frames are made with: the one that is asked for, or the first that is installed."""
    if asked is not None and asked not in LIBRARIES:
        raise Error(f"frames={asked!r} is not known: 'pandas', 'polars' or 'arrow'")
    for name in LIBRARIES if asked is None else [asked]:
        if importlib.util.find_spec(LIBRARIES[name]) is not None:
            return name
    if asked is None:
        raise Error("frames need pandas, polars or pyarrow, and none is installed: pip install pandas")
    raise Error(f"frames={asked!r} needs {LIBRARIES[asked]}, which is not installed: pip install {LIBRARIES[asked]}")


def columns(
    fixed: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    more: Mapping[str, str] = {},
    kinds: Mapping[str, str] = KINDS,
) -> Columns:
    """Columns of rows by name; what a row lacks is unknown. After the fixed ones come those in `more` with their kinds,
    from what a row has under `more`: their names are of engines and commands, and may be any text."""
    all_rows = list(rows)
    found = {name: _column(kinds.get(name, "whole"), [row.get(name) for row in all_rows]) for name in fixed}
    for name, kind in more.items():
        shown = marked(name)
        while shown in found:
            shown += "'"
        found[shown] = _column(kind, [row["more"].get(name) for row in all_rows])
    return found


def _column(kind: str, values: list[Any]) -> Column:
    wrong = next((value for value in values if value is not None and not isinstance(value, TYPES[kind])), None)
    if wrong is not None:
        raise TypeError(f"{type(wrong).__name__} instead of {kind}")
    if kind == "text":
        values = [value if value is None else marked(value) for value in values]
    return Column(kind, values)


def frame(found: Columns, name: str) -> Any:
    """A frame of the library `name`."""
    make: Callable[[Columns], Any] = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}[name]
    return make(found)


def _pandas(found: Columns) -> Any:
    pandas = importlib.import_module("pandas")
    # Types that have gaps: whole numbers stay whole beside an unknown one.
    types = dict(zip(TYPES, ["Int64", "Float64", "string", "object", "object"]))
    return pandas.DataFrame({name: pandas.Series(values, dtype=types[kind]) for name, (kind, values) in found.items()})


def _polars(found: Columns) -> Any:
    polars = importlib.import_module("polars")
    whole = polars.Int64
    types = dict(zip(TYPES, [whole, polars.Float64, polars.String, polars.List(whole), polars.Binary]))
    return polars.DataFrame([polars.Series(name, values, types[kind]) for name, (kind, values) in found.items()])


def _arrow(found: Columns) -> Any:
    arrow = importlib.import_module("pyarrow")
    whole = arrow.int64()
    types = dict(zip(TYPES, [whole, arrow.float64(), arrow.string(), arrow.list_(whole), arrow.binary()]))
    return arrow.table({name: arrow.array(values, types[kind]) for name, (kind, values) in found.items()})
