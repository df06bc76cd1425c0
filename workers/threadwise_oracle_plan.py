"""Oracle's plans as canonical text (docs/WORKER.md, "Canonical plan"), and answers as text.

Source: Oracle Database Reference 19c, "V$SQL_PLAN" (DEPTH, OPERATION, OPTIONS, OBJECT_NAME, CARDINALITY); SQL Tuning
Guide 19c, "Reading Execution Plans". Operations that begin with PX move rows between parallel execution servers. Names
that a plan generates (`:TQ10001`, `:BF0000`, `SYS_TEMP_0FD9D6601_…`, `VW_NSO_1`) are left out, and so is our
prefix.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterable, Sequence
from typing import Any

#: Names that are generated for one plan.
MADE_UP = re.compile(r":|SYS_TEMP_|VW_|index\$_", re.IGNORECASE)

#: depth, operation, options, object_name, cardinality
PlanRow = tuple[int, str, str | None, str | None, int | None]


def canonical(rows: Iterable[PlanRow], prefix: str) -> str:
    """The text of a plan, whose rows come in the order of their ids."""
    lines: list[str] = []
    above: list[tuple[str, str]] = []  # of each level: operation and options of the operator that is there
    for depth, operation, options, name, rows_wanted in rows:
        operation, options = operation.strip(), (options or "").strip()
        del above[int(depth):]
        moves = operation.startswith("PX ")
        mark = "~ " if moves or _is_partial(operation, options, above) else ""
        above.append((operation, options))
        words = [operation, options]
        if name and not moves and not MADE_UP.match(name):
            words.append(name.removeprefix(prefix))
        text = "  " * int(depth) + mark + " ".join(filter(None, words))
        lines.append(text + (f" # rows={int(rows_wanted)}" if rows_wanted is not None else ""))
    return "".join(f"{line}\n" for line in lines)


def _aggregates(operation: str, options: str) -> bool:
    return operation in ("SORT", "HASH") and options.startswith(("AGGREGATE", "GROUP BY", "UNIQUE"))


def _is_partial(operation: str, options: str, above: list[tuple[str, str]]) -> bool:
    """Whether an aggregate feeds another one, with nothing but movements of rows between them."""
    if not _aggregates(operation, options):
        return False
    movers = 0
    for other, other_options in reversed(above):
        if other.startswith("PX "):
            movers += 1
        elif other == "BUFFER":
            continue
        else:
            return movers > 0 and _aggregates(other, other_options)
    return False


def text_of_value(value: Any) -> str | None:
    """A value of an answer: exact numbers plain, days without a time, CHAR without the blanks at its end."""
    match value:
        case None:
            return None
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            day = value.date()
            return day.isoformat() if value == datetime.datetime.combine(day, datetime.time()) else value.isoformat(" ")
        case datetime.date():
            return value.isoformat()
        case float():
            return repr(value)
        case str():
            return value.rstrip(" ")
    return str(value)


def answer(rows: Iterable[Sequence[Any]]) -> list[list[str | None]]:
    """Rows of an answer as text."""
    return [[text_of_value(value) for value in row] for row in rows]
