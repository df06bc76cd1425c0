"""Result files as objects: frames are made when they are asked for, and kept."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Callable

from . import _plot, _program, _raw
from ._file import OBSERVED, Error, File, FilePath, Reader, marked
from ._frames import Columns, columns, frame, library

#: Columns of estimates: fields of docs/JSON.md, of a place those that are columns of `report --csv`.
_PLACE = {"comparison": "text", "kind": "text", "group": "text", "query": "whole", "arm": "text"}
_ESTIMATE = {
    **dict.fromkeys(["family", "figure", "metric", "treatment", "baseline"], "text"),
    **{**_PLACE, "place": "text", "value": "real", "low": "real", "high": "real", "unit": "text"},
    **dict.fromkeys(["adjusted_low", "adjusted_high", "level"], "real"),
    **{"blocks": "whole", "p": "real", "adjusted_p": "real", "judged_together": "whole", "correlation": "real"},
    **{"margin": "real", "floor": "real", "answer": "text", "direction": "text"},
}
_TREATMENT = {
    **dict.fromkeys(["treatment", "group", "placement", "role", "pin", "options", "factors"], "text"),
    **dict.fromkeys(["sessions", "runs", "failed", "excluded"], "whole"),
}
_LOOK = [
    *["run_id", "block", "attempt", "treatment", "group", "status", "sequence", "round", "moment", "start_ns"],
    *["took_ns", "cpu", "state", "with", "adds_per_step", "chain_ns", "line_to", "line_ns", "without"],
    "adds_per_step_without",
]


class _Opened:
    """A file, and the library of its frames."""

    def __init__(self, file: File, frames: str | None) -> None:
        self._file = file
        self._frames = None if frames is None else library(frames)
        #: The file.
        self.path: Path = file.path

    def __repr__(self) -> str:
        return f"<threadwise.{type(self).__name__} {marked(str(self.path))!r}>"

    def _frame(self, make: Callable[[Reader], Columns]) -> Any:
        name = self._frames or library(None)
        with self._file.reading() as file:
            found = make(file)
        return frame(found, name)


class Study(_Opened):
    """A study. Frames have the columns that docs/JSON.md describes; those of raw data are read from the file, and
    what is judged (`looks`, `report` and what is made of it) is asked of the program.

    >>> study = open("simulated.threadwise")
    >>> list(study.runs.columns)[:4]
    ['run_id', 'block', 'attempt', 'treatment']
    >>> study.trust
    'LOW'
    """

    @cached_property
    def runs(self) -> Any:
        """One run (one treatment in one block) a row, as `threadwise export --what runs`."""
        return self._frame(_raw.runs)

    @cached_property
    def slices(self) -> Any:
        """One slice (one measured window) a row, as `threadwise export --what slices`."""
        return self._frame(_raw.slices)

    @cached_property
    def sessions(self) -> Any:
        """One session in one slice a row; `percentile_ns` takes the latencies of any of them together.

        >>> study = open("simulated.threadwise")
        >>> percentile_ns(study.sessions["latency_hdr_v2"], 0.5) > 0
        True
        """
        return self._frame(_raw.sessions)

    @cached_property
    def queries(self) -> Any:
        """One execution of a query a row, as `threadwise export --what queries`."""
        return self._frame(_raw.queries)

    @cached_property
    def items(self) -> Any:
        """One item of a work list in one run a row, as `threadwise export --what items`."""
        return self._frame(_raw.items)

    @cached_property
    def looks(self) -> Any:
        """One logical CPU in one look a row, as `threadwise export --what looks`, which judges their states."""
        text = _program.asked("export", str(self.path.resolve()), "--what", "looks", "--format", "jsonl")
        rows: list[dict[str, Any]] = [_program.read(line) for line in text.splitlines()]

        def make(file: Reader) -> Columns:
            groups = _raw.groups(file)
            return columns(_LOOK, ({**row, "run_id": row["run"], "group": groups[row["treatment"]]} for row in rows))

        return self._frame(make)

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report, as `threadwise report FILE --json` prints it (docs/JSON.md)."""
        found: dict[str, Any] = _program.report(self.path)
        return found

    @cached_property
    def estimates(self) -> Any:
        """One estimate a row. `place` has the rest of what identifies it, as JSON."""
        rows = []
        for estimate in self.report["estimates"]:
            place = {name: value for name, value in estimate["place"].items() if name not in _PLACE}
            rows.append({**estimate["place"], **estimate, "place": json.dumps(place)})
        return frame(columns(list(_ESTIMATE), rows, kinds=_ESTIMATE), self._frames or library(None))

    @cached_property
    def treatments(self) -> Any:
        """One treatment a row, as planned, with the number of its runs; `options` and `factors` are JSON."""
        rows = [
            {**row, **{name: json.dumps(row[name]) for name in ("options", "factors")}}
            for row in self.report["treatments"]
        ]
        return frame(columns(list(_TREATMENT), rows, kinds=_TREATMENT), self._frames or library(None))

    @property
    def machine(self) -> dict[str, Any]:
        """The machine as declared."""
        found: dict[str, Any] = self.report["machine"]
        return found

    @property
    def answer(self) -> list[str]:
        """The answer, a sentence each."""
        return [marked(text) for text in self.report["screen"]["answer"]]

    @property
    def trust(self) -> str:
        """How far the answer may be trusted: GOOD, FAIR, LOW or NONE."""
        return str(self.report["screen"]["trust"]["level"])

    @property
    def verdict(self) -> list[str]:
        """Everything that was found, in reading order, a sentence each."""
        return [marked(finding["text"]) for finding in self.report["findings"]]

    def plot(self, metric: str | None = None) -> Any:
        """The ratios of a metric with their intervals around 1, as the page has them: the headline's, or those of
        another metric of the family `comparisons`. A dot is filled if the interval excludes 1 and reaches beyond the
        margin. A chart of Altair, or a figure of matplotlib where only that is installed.

        >>> chart = open("simulated.threadwise").plot("latency_ns_p99")
        """
        return _plot.ratios(self.report, metric)

    def _repr_html_(self) -> str:
        try:
            screen = self.report["screen"]
        except Error as error:
            return f"<p>{html.escape(repr(self))}: {html.escape(marked(str(error)))}</p>"
        lines = [f"<b>{_text(screen['subject'])}</b>", *map(_text, screen["answer"])]
        lines.append("TRUST: " + " ".join(map(_text, [screen["trust"]["level"], *screen["trust"]["reasons"]])))
        return "".join(f"<p>{line}</p>" for line in lines)


class Observed(_Opened):
    """Statements in production, from a file of `threadwise observe`; the columns of its tables (docs/OBSERVE.md)."""

    @cached_property
    def intervals(self) -> Any:
        """The time between two looks a row."""
        return self._frame(lambda file: _table(file, "intervals", "id"))

    @cached_property
    def statements(self) -> Any:
        """One statement a row."""
        return self._frame(lambda file: _table(file, "statements", "id"))

    @cached_property
    def counts(self) -> Any:
        """One statement in one interval a row."""
        return self._frame(lambda file: _table(file, "counts", "interval, statement"))


def open(path: FilePath, frames: str | None = None) -> Any:
    """Opens a result file for reading: a `Study`, or `Observed` for a file of `threadwise observe`.

    `frames` is 'pandas', 'polars' or 'arrow'; without it the first of them that is installed is used.

    >>> open("simulated.threadwise", frames="arrow").slices.num_rows > 0
    True

    Raises `Error` for another file, with what to do.
    """
    file = File(path)
    return Observed(file, frames) if file.id == OBSERVED[0] else Study(file, frames)


def run(
    study: str | FilePath = "placement",
    *,
    output: FilePath | None = None,
    frames: str | None = None,
    command: Sequence[str] = (),
    **options: Any,
) -> Study:
    """Runs a preset or a study definition by `threadwise run`, and opens its result.

    `output` is the result file (NAME-TIME.threadwise in the working folder without it), `command` what follows `--`.
    Other names are the program's options with `_` for `-`: `budget="60s"`, `allow_busy=True`, `set={"data_mib": 512}`,
    `placement=["same-core", "2c1t"]`. Progress is shown on `sys.stderr`. An interrupt reaches the program, which
    stores what is finished and is waited for.

    >>> run(engine="simulated", blocks=8, no_probe=True, allow_busy=True, no_html=True).trust
    'LOW'

    Raises `ProgramError` with the program's last line and exit code.
    """
    opened = open(_program.measured(str(study), output, command, options), frames)
    assert isinstance(opened, Study)
    return opened


def _table(file: Reader, name: str, order: str) -> Columns:
    known = {"INTEGER": "whole", "REAL": "real", "TEXT": "text"}
    kinds = {row[1]: known[row[2]] for row in file.rows(f"PRAGMA table_info({name})")}
    rows = (dict(zip(kinds, row)) for row in file.rows(f"SELECT * FROM {name} ORDER BY {order}"))
    return columns(list(kinds), rows, kinds=kinds)


def _text(text: str) -> str:
    return html.escape(marked(text))
