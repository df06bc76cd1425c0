"""Frames of pandas, polars and pyarrow, plots, examples and types: `cargo xtask lab python` has the packages."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import nbclient
import nbformat
import pandas
import polars
from support import ROOT, STORED, InFolder, exported, is_exported, observed, studies

import threadwise
from threadwise import _program, _study
from threadwise._file import marked


def listed(frame: Any) -> dict[str, list[Any]]:
    """The columns of any frame, `None` for what is unknown."""
    if isinstance(frame, pandas.DataFrame):
        unknown = lambda value: not isinstance(value, list) and pandas.isna(value)  # noqa: E731
        return {name: [None if unknown(one) else one for one in frame[name].tolist()] for name in frame.columns}
    return frame.to_dict(as_series=False) if isinstance(frame, polars.DataFrame) else frame.to_pydict()


def shown(fields: dict[str, Any]) -> Any:
    """Fields without what changes a terminal."""
    return {name: marked(value) if isinstance(value, str) else value for name, value in fields.items()}


class Frames(InFolder):
    def test_every_value_of_every_frame_is_the_programs(self) -> None:
        for path in studies():
            for what in ("runs", "slices", "queries", "items", "looks"):
                names, *lines = exported(path, what)
                for library in ("pandas", "polars", "arrow"):
                    with self.subTest(study=path.name, what=what, library=library):
                        found = listed(getattr(threadwise.open(path, frames=library), what))
                        self.assertEqual(list(found), names)
                        rows = list(zip(*found.values()))
                        self.assertEqual(len(rows), len(lines))
                        for row, line in zip(rows, lines):
                            for name, value, cell in zip(names, row, line):
                                self.assertTrue(is_exported(value, cell), (name, value, cell))

    def test_every_estimate_is_the_reports(self) -> None:
        for path in studies():
            report = json.loads(_program.asked("report", str(path), "--json"))["estimates"]
            frame = listed(threadwise.open(path, frames="arrow").estimates)
            rows = [dict(zip(frame, row)) for row in zip(*frame.values())]
            self.assertEqual(len(rows), len(report))
            for row, estimate in zip(rows, report):
                place = {**json.loads(row.pop("place")), **{name: row.pop(name) for name in _study._PLACE}}
                place = {name: value for name, value in place.items() if value is not None}
                found = {name: value for name, value in row.items() if value is not None}
                wanted = {name: value for name, value in estimate.items() if name != "place" and value is not None}
                self.assertEqual((found, shown(place)), (shown(wanted), shown(estimate["place"])), path)

    def test_types_have_gaps_and_whole_numbers_stay_whole(self) -> None:
        path = STORED / "interrupted.threadwise"
        types = {name: str(kind) for name, kind in threadwise.open(path, frames="pandas").runs.dtypes.items()}
        self.assertEqual([types[name] for name in ("rows", "started_s", "cpus")], ["Int64", "Float64", "object"])
        self.assertIn("string", types["kind"])
        schema = threadwise.open(path, frames="polars").runs.schema
        self.assertEqual((schema["rows"], schema["cpus"]), (polars.Int64, polars.List(polars.Int64)))
        sessions = threadwise.open("simulated.threadwise", frames="arrow").sessions
        self.assertEqual(str(sessions.schema.field("latency_hdr_v2").type), "binary")

    def test_the_first_library_that_is_installed_is_used(self) -> None:
        known = importlib.util.find_spec
        for missing, wanted in [((), "pandas"), (("pandas",), "polars"), (("pandas", "polars"), "pyarrow")]:
            with mock.patch(
                "importlib.util.find_spec", lambda name, missing=missing: None if name in missing else known(name)
            ):
                self.assertEqual(type(threadwise.open("simulated.threadwise").runs).__module__.split(".")[0], wanted)
        with mock.patch("importlib.util.find_spec", return_value=None):
            with self.assertRaisesRegex(threadwise.Error, "pip install polars"):
                threadwise.open("simulated.threadwise", frames="polars")
        with self.assertRaisesRegex(threadwise.Error, "'pandas', 'polars' or 'arrow'"):
            threadwise.open("simulated.threadwise", frames="dask")

    def test_statements_in_production_are_frames(self) -> None:
        observed(Path("observed.threadwise"))
        found = threadwise.open("observed.threadwise", frames="polars")
        self.assertEqual((found.intervals.height, found.statements.height), (2, 2))
        self.assertEqual(found.counts.row(0), (1, 1, 3, 4_000_000, 5))

    def test_treatments_and_verdict_are_those_of_the_report(self) -> None:
        study = threadwise.open(STORED / "failed.threadwise", frames="polars")
        self.assertEqual(study.treatments["failed"].sum(), sum(one["failed"] for one in study.report["treatments"]))
        self.assertEqual(len(study.verdict), len(study.report["findings"]))


class Plots(InFolder):
    def test_a_plot_has_a_row_for_each_ratio(self) -> None:
        for path in studies():
            study = threadwise.open(path)
            chart = study.plot().to_dict()
            rows = (
                next(one for one in chart["datasets"].values() if "comparison" in one[0])
                if "datasets" in chart
                else [row for layer in chart["layer"] for row in layer["data"]["values"] if "comparison" in row]
            )
            metric = re.search("ratio of (.*)", chart["layer"][0]["encoding"]["x"]["title"]).group(1)
            frame = study.estimates
            is_one = (frame.family == "comparisons") & (frame.figure == "") & (frame.metric == metric)
            self.assertEqual({row["comparison"] for row in rows}, set(frame.comparison[is_one]), path)

    def test_matplotlib_draws_where_only_it_is_installed(self) -> None:
        known = importlib.util.find_spec
        with mock.patch("importlib.util.find_spec", lambda name: None if name == "altair" else known(name)):
            for path in studies():
                axes = threadwise.open(path).plot().axes[0]
                self.assertLess(axes.get_xlim()[0], 1)
                self.assertGreater(axes.get_xlim()[1], 1)
        with mock.patch("importlib.util.find_spec", return_value=None):
            with self.assertRaisesRegex(threadwise.Error, "pip install altair"):
                self.study.plot()

    def test_another_metric_may_be_named(self) -> None:
        title = self.study.plot("latency_ns_p99").to_dict()["layer"][0]["encoding"]["x"]["title"]
        self.assertEqual(title, "ratio of latency_ns_p99")
        with self.assertRaisesRegex(threadwise.Error, "rows_per_s, .*not of nothing"):
            self.study.plot("nothing")


class Texts(InFolder):
    def test_examples_in_the_module_are_right(self) -> None:
        tried = 0
        for name in ("", "._study", "._histogram"):
            module = importlib.import_module("threadwise" + name)
            names = {"threadwise": threadwise, "percentile_ns": threadwise.percentile_ns}
            failed, here = doctest.testmod(module, extraglobs=names)
            self.assertEqual(failed, 0)
            tried += here
        self.assertGreaterEqual(tried, 10)

    def test_examples_in_the_manual_run(self) -> None:
        text = (ROOT / "docs" / "PYTHON.md").read_text()
        examples = re.findall("```python\n(.*?)```", text, re.DOTALL)
        self.assertGreaterEqual(len(examples), 5)
        names: dict[str, Any] = {}
        Path("placement.threadwise").write_bytes(Path("simulated.threadwise").read_bytes())
        observed(Path("observed.threadwise"))
        for example in examples:
            exec(compile(example, "docs/PYTHON.md", "exec"), names)

    def test_the_notebook_runs(self) -> None:
        notebook = nbformat.read(ROOT / "python" / "examples" / "placement.ipynb", as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertTrue(all(not cell.outputs and cell.execution_count is None for cell in code))
        with mock.patch.dict(os.environ, PYTHONPATH=str(ROOT / "python" / "src")):
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        self.assertTrue(all(cell.outputs for cell in code if not cell.source.startswith("import")))

    def test_types_are_strict(self) -> None:
        words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.folder), "-p", "threadwise"]
        checked = subprocess.run(words, cwd=ROOT / "python" / "src", capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
