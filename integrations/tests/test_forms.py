"""The action and the template by the schemas of their services, and the forms of `threadwise compare` by readers of
others: `cargo xtask lab python` has the packages (check-jsonschema, junitparser, markdown-it-py)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import junitparser
from markdown_it import MarkdownIt

INTEGRATIONS = Path(__file__).resolve().parents[1]

#: Each service's file, its schema, and a line whose loss the schema notices.
FILES = [
    ("github/action.yml", ["vendor.github-actions"], "  using: composite\n"),
    ("gitlab.yml", ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"], "    when: always\n"),
]

#: A treatment whose name is markup in all forms.
DEFINITION = r"""
version = 1
name = "names"
engine = "simulated"
workload = "logical-io"
engine_options = { drift_sd = 0, noise_sd = 0.01, base_rows_per_s = RATE }
design = { blocks = 4 }
[[treatment]]
name = "a]]>&\"<\\| `b` <!-- [x](u) *y* ~~z~~ &lt; %0A::error::x"
placement = "2c1t"
"""


class Schemas(unittest.TestCase):
    def fits(self, path: Path, schema: list[str]) -> bool:
        words = ["-m", "check_jsonschema", "--builtin-schema", *schema, str(path)]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0

    def test_files_are_what_their_services_take(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, schema, line in FILES:
                # A template of GitLab, whose name begins with a dot, is not looked at: a job is.
                text = (INTEGRATIONS / name).read_text().replace("\n.threadwise-compare:", "\njob:")
                wrong = text.replace(line, line.split(":")[0] + ": 1\n")
                self.assertNotEqual(wrong, text)
                for content, is_right in ((text, True), (wrong, False)):
                    path = Path(folder, Path(name).name)
                    path.write_text(content)
                    with self.subTest(name, right=is_right):
                        self.assertEqual(self.fits(path, schema), is_right)


class Forms(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        for side, rate in (("base", 1000000), ("new", 500000)):
            Path(cls.folder.name, "names.toml").write_text(DEFINITION.replace("RATE", str(rate)))
            for number in range(3):
                options = ["--allow-busy", "--no-probe", "--no-html", "--output", f"{side}-{number}"]
                subprocess.run(
                    ["threadwise", "run", "names.toml", *options], cwd=cls.folder.name, check=True, capture_output=True
                )

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def compared(self, studies: int, *more: str) -> str:
        sides = [[f"{side}-{number}" for number in range(studies)] for side in ("base", "new")]
        words = ["threadwise", "compare", "--before", *sides[0], "--after", *sides[1], *more]
        done = subprocess.run(words, cwd=self.folder.name, capture_output=True, text=True, encoding="utf-8")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        return done.stdout

    def treatments(self, studies: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.compared(studies, "--json"))["change"]["treatments"]
        self.assertEqual(len(found), 2)
        return found

    def test_junit_has_a_case_with_the_figures_of_each_treatment(self) -> None:
        # Three studies a side show it; one does not, and without --fail-on-regression that is skipped.
        for studies, more, kinds in (
            (3, ["--fail-on-regression"], [junitparser.Failure]),
            (1, [], [junitparser.Skipped]),
        ):
            xml = junitparser.JUnitXml.fromstring(self.compared(studies, "--format", "junit", *more).encode())
            (suite,) = list(xml)
            cases = list(suite)
            self.assertEqual(suite.tests, len(cases))
            failures = sum(isinstance(one, junitparser.Failure) for case in cases for one in case.result)
            self.assertEqual((suite.failures, suite.skipped), (failures, len(cases) - failures))
            for case, treatment in zip(cases, self.treatments(studies), strict=True):
                self.assertEqual(case.name, treatment["name"])
                self.assertEqual([type(one) for one in case.result], kinds)
                figures = {one.name: float(one.value) for one in case.child(junitparser.Properties)}
                names = {"ratio": "value", "ratio_low": "adjusted_low", "ratio_high": "adjusted_high"}
                self.assertEqual(figures, {name: treatment[field] for name, field in names.items()})

    def test_a_comment_has_one_table_with_a_row_for_each_treatment(self) -> None:
        reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        tokens = reader.parse(self.compared(3, "--format", "markdown"))
        kinds = [token.type for token in tokens]
        treatments = self.treatments(3)
        self.assertEqual((kinds.count("table_open"), kinds.count("tr_open")), (1, 1 + len(treatments)))
        self.assertEqual(kinds.count("html_block"), 1)  # the mark
        cells = [tokens[at + 1] for at, kind in enumerate(kinds) if kind in ("th_open", "td_open")]
        self.assertEqual(len(cells), 3 * (1 + len(treatments)))
        for cell, treatment in zip(cells[3::3], treatments):
            self.assertEqual({one.type for one in cell.children} - {"text_special"}, {"text"})
            self.assertEqual("".join(one.content for one in cell.children), treatment["name"])
        # Names in sentences are text, too.
        inline = {one.type for token in tokens for one in token.children or []}
        self.assertLessEqual(inline, {"text", "text_special", "strong_open", "strong_close", "softbreak"})


if __name__ == "__main__":
    unittest.main()
