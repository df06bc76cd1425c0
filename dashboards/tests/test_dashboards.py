"""The dashboard, the rules, and the texts of all metrics; started by `cargo xtask lab metrics`.

Metrics are those of `threadwise headroom --prometheus`, which is started here, and texts with every other metric and
with labels that need escapes, in the folder that THREADWISE_TEST_METRICS names.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import itertools
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DASHBOARDS = Path(__file__).resolve().parents[1]
DASHBOARD = DASHBOARDS / "grafana.json"
RULES = DASHBOARDS / "prometheus-rules.yml"
TEXT, OPENMETRICS = "text/plain", "application/openmetrics-text"


def texts() -> list[Path]:
    found = sorted(Path(os.environ["THREADWISE_TEST_METRICS"]).glob("*.prom"))
    assert found
    return found


def get(url: str, accept: str = TEXT) -> tuple[str, str]:
    """The type and the text of an answer."""
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def until(what: str, seconds: float, ask: Any) -> Any:
    """What `ask` gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            found = ask()
            if found:
                return found
        time.sleep(0.1)
    raise AssertionError(f"no {what} within {seconds} s")


@contextlib.contextmanager
def headroom() -> Iterator[str]:
    """The address of metrics of this machine."""
    words = ["threadwise", "headroom", "--interval", "500ms", "--prometheus", "127.0.0.1:0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            until("window", 60, lambda: get(url))
            yield url
        finally:
            program.kill()


def expressions() -> list[tuple[str, str]]:
    """The queries of the dashboard by the titles of their panels, for the instance `made` or the live one."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [(one["name"], one["target"]["expr"]) for one in dashboard["annotations"]["list"]]
    for panel in dashboard["panels"]:
        found += [(panel["title"], target["expr"]) for target in panel.get("targets", [])]
    return found


class Rules(unittest.TestCase):
    def test_rules_are_valid_and_alert_when_they_should(self) -> None:
        tests = DASHBOARDS / "prometheus-rules-test.yml"
        for words in (["check", "rules", "--lint-fatal", str(RULES)], ["test", "rules", str(tests)]):
            done = subprocess.run(["promtool", *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_metric_that_is_asked_for_exists(self) -> None:
        known = set()
        for text in texts():
            known |= set(re.findall(r"^# TYPE (\S+)", text.read_text(), re.MULTILINE))
        for file in (DASHBOARD, RULES):
            asked = set(re.findall(r"\bthreadwise_\w+", file.read_text()))
            self.assertGreater(len(asked), 5)
            self.assertEqual(asked - known, set(), file)


class Texts(unittest.TestCase):
    def test_the_official_parsers_read_the_same_from_both_forms(self) -> None:
        from prometheus_client import parser
        from prometheus_client.openmetrics import parser as open_parser

        with headroom() as url:
            forms = [get(url), get(url, OPENMETRICS + ";version=1.0.0,text/plain;q=0.5")]
        self.assertEqual([content.split(";")[0] for content, _ in forms], [TEXT, OPENMETRICS])
        pairs = {"live": (forms[0][1], forms[1][1])}
        pairs.update({one.name: (one.read_text(), one.with_suffix(".om").read_text()) for one in texts()})
        for name, (text, opened) in pairs.items():
            # Windows of the live ones differ.
            read = functools.partial(self.read, with_values=name != "live")
            families = read(parser.text_string_to_metric_families(text))
            self.assertEqual(families, read(open_parser.text_string_to_metric_families(opened)), name)
            self.assertGreater(len(families), 2)

    def read(self, families: Any, with_values: bool) -> dict[Any, Any]:
        found = {}
        for family in families:
            self.assertIn(family.type, ("gauge", "counter"), family.name)
            self.assertTrue(family.documentation.endswith("."), family)
            for sample in family.samples:
                value = sample.value if with_values else None
                key = (
                    family.name,
                    family.type,
                    family.documentation,
                    sample.name,
                    tuple(sorted(sample.labels.items())),
                )
                self.assertNotIn(key, found)
                found[key] = value
        return found


class Grafana(unittest.TestCase):
    def test_the_dashboard_has_the_types_that_grafana_publishes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            modules = Path(folder, "node_modules", "@grafana")
            modules.mkdir(parents=True)
            (modules / "schema").symlink_to(os.environ["THREADWISE_TEST_GRAFANA"])
            types = (DASHBOARDS / "tests" / "grafana_types.ts").read_text()
            tsc = [os.path.join(os.environ["THREADWISE_TEST_TYPESCRIPT"], "bin", "tsc"), "--noEmit", "--strict"]
            tsc += ["--skipLibCheck", "--preserveSymlinks", "--moduleResolution", "bundler", "--module", "esnext"]
            whole = DASHBOARD.read_text().strip()
            for text, wanted in ((whole, True), (whole.replace('"showPoints": "never"', '"showPoints": "no"'), False)):
                Path(folder, "check.ts").write_text(f"{types}export const d = {text} satisfies Plain<Threadwise>;\n")
                done = subprocess.run(["node", *tsc, "check.ts"], cwd=folder, capture_output=True, text=True)
                self.assertEqual(done.returncode == 0, wanted, done.stdout[:2000])

    def test_panels_do_not_overlap_and_have_numbers_of_their_own(self) -> None:
        panels = json.loads(DASHBOARD.read_text())["panels"]
        cells = [
            (x, y)
            for place in (panel["gridPos"] for panel in panels)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        self.assertEqual(len(cells), len(set(cells)))
        self.assertEqual(len(panels), len({panel["id"] for panel in panels}))


class Prometheus(unittest.TestCase):
    """A Prometheus that scrapes a live `headroom` and the texts, with the rules."""

    def test_every_query_of_the_dashboard_is_answered(self) -> None:
        with tempfile.TemporaryDirectory() as folder, headroom() as url, self.served() as made:
            # An address of this process alone: no other test takes its port.
            pid = os.getpid()
            address = f"127.{64 + (pid >> 16) % 64}.{(pid >> 8) % 256}.{pid % 256}:9090"
            targets = {"live": (url, "live"), **{path.stem: (f"{made}/{path.name}", "made") for path in texts()}}
            jobs = [
                {
                    "job_name": name,
                    "metrics_path": urllib.parse.urlsplit(target).path,
                    "static_configs": [
                        {"targets": [urllib.parse.urlsplit(target).netloc], "labels": {"instance": instance}}
                    ],
                }
                for name, (target, instance) in targets.items()
            ]
            config = {"global": {"scrape_interval": "1s"}, "rule_files": [str(RULES)], "scrape_configs": jobs}
            Path(folder, "config.yml").write_text(json.dumps(config))
            words = ["--config.file=config.yml", f"--web.listen-address={address}", "--storage.tsdb.path=data"]
            with open(Path(folder, "log"), "w") as log:
                server = subprocess.Popen(["prometheus", *words], cwd=folder, stdout=log, stderr=log)
            try:
                self.asked(f"http://{address}/api/v1", targets)
            finally:
                server.terminate()
                server.wait()

    @contextlib.contextmanager
    def served(self) -> Iterator[str]:
        """The address of the texts, whose counters grow."""
        requests = itertools.count(1)

        class Texts(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = Path(os.environ["THREADWISE_TEST_METRICS"] + self.path).read_text()
                number = next(requests)
                grown = re.sub(r"(?m)^(\w+_total\b.*) (\S+)$", lambda one: f"{one[1]} {float(one[2]) + number}", text)
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(grown.encode())

            def log_message(self, *_: Any) -> None: ...

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Texts) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            server.shutdown()

    def asked(self, api: str, targets: dict[str, Any]) -> None:
        def query(expression: str) -> Any:
            return json.loads(get(f"{api}/query?{urllib.parse.urlencode({'query': expression})}")[1])["data"]["result"]

        for name in targets:
            until(f"scrape of {name}", 60, lambda name=name: query(f'count_over_time(up{{job="{name}"}}[1m]) > 2'))
            self.assertTrue(query(f'up{{job="{name}"}} == 1'), name)
        shown = set()
        for title, expression in expressions():
            for instance in ("live", "made"):
                if query(expression.replace("$instance", instance)):
                    shown.add(title)
        panels = {panel["title"] for panel in json.loads(DASHBOARD.read_text())["panels"] if "targets" in panel}
        self.assertEqual(panels - shown, set())
        groups = json.loads(get(f"{api}/rules")[1])["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual({rule["lastError"] for rule in rules if "lastError" in rule}, set())
        self.assertEqual(len(rules), 7)


if __name__ == "__main__":
    unittest.main()
