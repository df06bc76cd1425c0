"""Loops in the client: steps of a window, and a fixed number of rows; the same rules as `crates/engine/src/worker/
{measure,fixed}.rs`. CPU time and counters are the server's, over the whole call.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from threadwise_oracle_clock import Call
from threadwise_oracle_failure import failed
from threadwise_session import wait_until_ns
from threadwise_short import Histogram

#: Maximum pieces of a window.
MAX_PIECES = 1000


@dataclass(frozen=True)
class Window:
    """A slice's window on CLOCK_MONOTONIC, nanoseconds."""

    sequence: int
    start_ns: int
    end_ns: int
    #: Length of the requested pieces.
    piece_ns: int | None = None


class Pieces:
    """Rows of a window by pieces of equal length: its halves, or the requested ones."""

    def __init__(self, window: Window) -> None:
        window_ns = max(window.end_ns - window.start_ns, 1)
        self.window, self.are_halves = window, window.piece_ns is None
        self.length_ns = window.piece_ns or -(-window_ns // 2)
        self.rows = [0] * min(-(-window_ns // self.length_ns), MAX_PIECES)

    def add(self, ended_ns: int, rows: int) -> None:
        """Adds a step that ended inside (start, end]."""
        at = (ended_ns - self.window.start_ns - 1) // self.length_ns
        self.rows[min(at, len(self.rows) - 1)] += rows

    def give(self, slice_json: dict[str, Any]) -> None:
        """Puts them into a session's slice."""
        if self.are_halves:
            slice_json["counters"]["rows_first_half"] = self.rows[0]
        else:
            slice_json["rows_by_piece"] = self.rows


def closed_loop(window: Window, rows: int, is_checked: bool, step: Callable[[], None], think_ns: int = 0
                ) -> tuple[dict[str, Any], Call]:
    """Steps until the window's end, and counts those that ended inside it. `rows` are those of a step, which raises
    an error for a wrong answer."""
    histogram, pieces = Histogram(), Pieces(window)
    steps = calls = 0
    began_ns = time.monotonic_ns()
    while True:
        step()
        ended_ns = time.monotonic_ns()
        calls += 1
        if ended_ns > window.end_ns:
            break
        if ended_ns > window.start_ns:
            steps += 1
            histogram.record(ended_ns - began_ns)
            pieces.add(ended_ns, rows)
        if think_ns:
            # Never beyond the end: the step that ends after it must still be done.
            wait_until_ns(min(window.end_ns, ended_ns + think_ns))
        began_ns = time.monotonic_ns()
    slice_json = _slice(steps, rows, is_checked, histogram)
    if steps:
        pieces.give(slice_json)
    return slice_json, Call(steps, calls, rows)


def fixed_work(window: Window, wanted: int, rows: int, step: Callable[[], None]) -> tuple[dict[str, Any], Call]:
    """Steps from the window's start on until `wanted` rows are done."""
    histogram, steps = Histogram(), 0
    wait_until_ns(window.start_ns)
    began_ns = time.monotonic_ns()
    while steps * rows < wanted:
        step()
        ended_ns = time.monotonic_ns()
        if ended_ns > window.end_ns:
            raise too_long(window, steps * rows, wanted)
        steps += 1
        histogram.record(ended_ns - began_ns)
        began_ns = ended_ns
    slice_json = _slice(steps, rows, False, histogram)
    slice_json["finished_ns"] = max(began_ns - window.start_ns, 1)
    return slice_json, Call(steps, steps, rows)


def too_long(window: Window, done: int, wanted: int) -> Exception:
    """The failure for a session that exceeds its time."""
    seconds = (window.end_ns - window.start_ns) / 1e9
    return failed(f"finish {wanted} rows in time", f"{done} of {wanted} rows were done after {seconds:.2f} s; lower "
                                                   "rows_per_session, or allow more time (slice_ms)")


def server_slice(call: Call, is_checked: bool) -> dict[str, Any]:
    """Result of a loop inside the server; it has no latencies."""
    return _slice(call.steps, call.rows_per_step, is_checked, Histogram())


def _slice(steps: int, rows: int, is_checked: bool, histogram: Histogram) -> dict[str, Any]:
    return {"steps": steps, "rows": steps * rows, "answers_checked": steps if is_checked else 0, "answers_wrong": 0,
            "cpu_ns": 0, "counters": {}, "latency": base64.b64encode(histogram.to_bytes()).decode()}


def add_usage(slice_json: dict[str, Any], usage: dict[str, Any], client_cpu_ns: int) -> None:
    """Adds the server's usage for the window's steps to a session's slice."""
    counters = slice_json["counters"] | usage.pop("counters") | {"client_cpu_ns": client_cpu_ns}
    slice_json.update(usage)
    slice_json["counters"] = counters
