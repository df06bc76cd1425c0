"""Cost of measuring through a worker, compared with calling the engine directly.

Usage: PYTHON direct.py --engine NAME --data DIR [--dop N] [--rounds N] [--queries LIST], with the
interpreter of an environment that has the engines; DIR has the eight tables as Parquet files.

Both run on the same data: a worker that is driven by the protocol (docs/WORKER.md), and
`plain.py`, which calls the engine's package as its documentation does, with the same engine
settings. In a round each of them runs every query once, in an order that is drawn for each query,
while the other one waits in a read. A round gives one ratio, of the sums over its queries; the
interval is that of Student's t over the rounds' logarithms. The first round is not counted: it
reads files and the engine's footers.

Exit codes: 0 if the upper bound of the ratio is below `LIMIT`, 1 if not, 2 if nothing could be
measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

import support  # noqa: E402
from threadwise_load import query_list  # noqa: E402

#: Limit for the upper bound of planning and execution over the direct call.
LIMIT = 1.05

#: Longest time of a query, nanoseconds.
TIME_LIMIT_NS = 600 * support.SECOND_NS


class Unmeasured(Exception):
    """Why there is no result."""


@dataclass(frozen=True)
class Estimate:
    """A ratio and its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


def t_quantile(degrees: int, share: float = 0.975) -> float:
    """Quantile of Student's t: its density, integrated by Simpson's rule, and bisection."""
    log_norm = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    norm = math.exp(log_norm) / math.sqrt(degrees * math.pi)

    def below(x: float, steps: int = 2000) -> float:
        values = [norm * (1 + (x * i / steps) ** 2 / degrees) ** (-(degrees + 1) / 2)
                  for i in range(steps + 1)]
        inner = 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2])
        return 0.5 + x / steps / 3 * (values[0] + inner + values[-1])

    low, high = 0.0, 20.0  # 12.7 for one degree
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2


def estimate(ratios: list[float]) -> Estimate:
    """The geometric mean of the rounds' ratios; needs two of them."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    half = t_quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Estimate(*(math.exp(log) for log in (mean, mean - half, mean + half)))


def process_cpu_ns(pid: int) -> int:
    """CPU time of another process with all its threads, including ended ones.

    The clock's number is that of clock_getcpuclockid(3), which Python does not offer: the process
    id inverted, three bits up, and 2 for time on a CPU (kernel, linux/posix-timers_types.h).
    """
    return time.clock_gettime_ns(~pid << 3 | 2)


class Plain:
    """The process of direct calls."""

    def __init__(self, engine: str, dop: int, folder: Path) -> None:
        command = [sys.executable, "-I", "-B", HERE / "plain.py", engine, str(dop), folder]
        self.folder = folder
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8")

    def execute(self, number: int) -> dict[str, int]:
        """Times of one query, and the rows of its answer."""
        try:
            print(query_file(self.folder, number), file=self.process.stdin, flush=True)
            reported = json.loads(self.process.stdout.readline() or "{}")
        except BrokenPipeError:
            reported = {}
        if not reported:
            raise Unmeasured(f"the engine called directly failed in q{number:02}, see above")
        return {f"plain_{name}": value for name, value in reported.items()}


class Subject:
    """A worker with one open session."""

    def __init__(self, worker: support.Worker, dop: int, folder: Path, queries: str) -> None:
        self.worker = worker
        self._checked(worker.ask_load(folder, dop=dop, queries=queries), "loaded")
        self._checked(worker.ask_prepare(), "ready")
        self.session = worker.tids[0]

    @staticmethod
    def _checked(reply: dict, wanted: str) -> dict:
        if reply.get("type") != wanted:
            raise Unmeasured(f"the worker failed: {reply.get('message', 'it ended')}")
        return reply

    def execute(self, number: int) -> dict[str, int]:
        """Times of one query by the worker, from outside, and of its threads."""
        pid = self.worker.process.pid
        threads, cpu_ns = self.worker.threads(), process_cpu_ns(pid)
        began_ns = time.monotonic_ns()
        reply = self.worker.ask_go([number], limit_ns=TIME_LIMIT_NS)
        wall_ns = time.monotonic_ns() - began_ns
        cpu_ns = process_cpu_ns(pid) - cpu_ns
        grown = {tid: ns - threads.get(tid, 0) for tid, ns in self.worker.threads().items()}
        [execution] = self._checked(reply, "slice")["sessions"][0]["queries"]
        planning_ns = execution["planning_ns"] or 0
        # DuckDB plans while it executes, and its CPU time has both. DataFusion plans before, on one
        # thread, so that the time of planning is its CPU time.
        apart_ns = 0 if self.worker.hello["engine"] == "duckdb" else planning_ns
        return {"worker_same_ns": planning_ns + execution["elapsed_ns"],
                "worker_same_cpu_ns": apart_ns + execution["cpu_ns"],
                "worker_whole_ns": wall_ns, "worker_whole_cpu_ns": cpu_ns,
                "main_cpu_ns": grown[pid], "session_cpu_ns": grown[self.session],
                "worker_rows": execution["rows"]}


def query_file(folder: Path, number: int) -> Path:
    """Where the runner puts a query of the first stream."""
    return folder / "queries" / "0" / f"q{number:02}.sql"


def scale_of(tables: Path) -> float:
    """Scale factor of a data set: 10,000 suppliers each (specification, clause 4.2.5.1)."""
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_metadata(tables / "supplier.parquet").num_rows / 10_000
    except (OSError, pyarrow.ArrowException) as cause:
        raise Unmeasured(f"{tables} has no data set: {cause}") from cause


def make_folder(folder: Path, tables: Path, engine: str, scale: float) -> None:
    """A data folder as the runner makes it, with the validation parameters."""
    (folder / "tpch").symlink_to(tables.resolve())
    query_file(folder, 1).parent.mkdir(parents=True)
    # The only parameter that depends on the scale (clause 2.4.11.3).
    support.VALIDATION[11]["fraction"] = f"{0.0001 / scale:.12f}"
    for number, text in support.tpch_queries(engine).items():
        query_file(folder, number).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def opened(engine: str, dop: int, folder: Path, queries: str) -> Iterator[tuple[Subject, Plain]]:
    """Both processes; they are always ended."""
    with contextlib.ExitStack() as stack:
        worker = support.Worker(engine)
        stack.callback(worker.close)
        stack.callback(worker.process.kill)
        subject = Subject(worker, dop, folder, queries)
        plain = Plain(engine, dop, folder)
        stack.enter_context(plain.process)
        stack.callback(plain.process.kill)
        yield subject, plain


def one_round(subject: Subject, plain: Plain, queries: tuple[int, ...], draw: random.Random
              ) -> Counter[str]:
    """Sums of all measurements over the queries."""
    sums: Counter[str] = Counter()
    for number in queries:
        one: dict[str, int] = {}
        for side in draw.sample((subject, plain), 2):
            one |= side.execute(number)
        if one["worker_rows"] != one["plain_rows"]:
            raise Unmeasured(f"q{number:02} has {one['worker_rows']} rows through the worker and "
                             f"{one['plain_rows']} directly; both must have executed the same")
        sums.update(one)
    return sums


def report(rounds: list[Counter[str]]) -> bool:
    """Prints the results; returns whether the bound was kept."""
    def ratio(name: str) -> Estimate:
        return estimate([one[f"worker_{name}"] / one[f"plain_{name}"] for one in rounds])

    def mean_s(name: str) -> float:
        return statistics.fmean(one[name] for one in rounds) / 1e9

    bound = ratio("same_ns")
    kept = bound.high < LIMIT
    shares = {name: mean_s(f"{name}_cpu_ns") / mean_s("worker_whole_cpu_ns")
              for name in ("main", "session")}
    print(f"direct call: {mean_s('plain_whole_ns'):.3f} s a round, "
          f"{mean_s('plain_whole_cpu_ns'):.3f} s of CPU time; ratios to it, [95% interval]:")
    print(f"  planning and execution    {bound}")
    print(f"    CPU time of it          {ratio('same_cpu_ns')}")
    print(f"  from go to slice          {ratio('whole_ns')}")
    print(f"    CPU time of it          {ratio('whole_cpu_ns')}")
    print(f"of the worker's CPU time the main thread took {shares['main']:.2%} (it reads the "
          f"request and writes the answer), the session's {shares['session']:.2%}")
    print(f"upper bound {bound.high:.4f} is {'' if kept else 'not '}below {LIMIT}")
    return kept


def rounds_of(text: str) -> int:
    """At least two, which an interval needs."""
    if not text.isdigit() or not 2 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError("a whole number from 2 to 10000")
    return int(text)


def dop_of(text: str) -> int:
    """At least one."""
    if not text.isdigit() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError("a whole number from 1 to 4096")
    return int(text)


def queries_of(text: str) -> tuple[int, ...]:
    """As the option `queries` of the workload."""
    try:
        return query_list(text)
    except ValueError as allowed:
        raise argparse.ArgumentTypeError(str(allowed)) from None


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measures the cost of the worker.")
    parser.add_argument("--engine", choices=support.ENGINES, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of the Parquet files")
    parser.add_argument("--dop", type=dop_of, default=len(os.sched_getaffinity(0)),
                        help="degree of parallelism [default: allowed logical CPUs]")
    parser.add_argument("--rounds", type=rounds_of, default=10)
    parser.add_argument("--queries", type=queries_of, default="1-22", help="such as 1,3-6")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def measure(asked: argparse.Namespace) -> bool:
    """Opens both sides, runs the rounds and reports."""
    scale = scale_of(asked.data)
    draw = random.Random(asked.seed)
    queries = ",".join(map(str, asked.queries))
    with tempfile.TemporaryDirectory(prefix="threadwise-bench-") as root:
        folder = Path(root)
        make_folder(folder, asked.data, asked.engine, scale)
        with opened(asked.engine, asked.dop, folder, queries) as (subject, plain):
            version = subject.worker.hello["version"]
            print(f"{asked.engine} {version}, scale {scale:g}, dop {asked.dop}, "
                  f"{len(asked.queries)} queries, {asked.rounds} rounds", flush=True)
            one_round(subject, plain, asked.queries, draw)
            rounds = [one_round(subject, plain, asked.queries, draw) for _ in range(asked.rounds)]
    return report(rounds)


def main() -> int:
    """The exit code."""
    try:
        return 0 if measure(arguments()) else 1
    except Unmeasured as why:
        print(f"direct.py: {why}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
