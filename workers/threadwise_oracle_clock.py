"""Offset of the server's clock, and the result of one call of a loop in the server.

Loops inside the server get their window in its clock. Cristian's method ("Probabilistic clock synchronization",
1989): of many requests, the one with the shortest round trip bounds the offset best; half of that round trip is the
uncertainty. The same as `clock.rs` and `call.rs` of the engine mariadb.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from threadwise_oracle_failure import failed
from threadwise_oracle_server import Connection, text_of

#: Minimum requests, and maximum on a busy machine.
FEWEST, MOST = 20, 400

#: Uncertainty that is good enough to stop asking.
GOOD_NS = 200_000

#: Uncertainty that the clock of a server on this machine may have.
MOST_NS = 1_000_000

#: Uncertainty below which no note is needed, microseconds.
SMALL_US = 100

#: Age after which it is measured again.
STALE_NS = 10_000_000_000


@dataclass(frozen=True)
class ServerClock:
    """What was measured."""

    #: Server's time minus CLOCK_MONOTONIC, nanoseconds.
    offset_ns: int
    #: At most this far off, nanoseconds.
    uncertainty_ns: int
    measured_ns: int

    def is_stale(self) -> bool:
        """Whether it was measured too long ago."""
        return time.monotonic_ns() >= self.measured_ns + STALE_NS

    def to_server_us(self, moment_ns: int) -> int:
        """A time on CLOCK_MONOTONIC as the server's microseconds."""
        return (moment_ns + self.offset_ns) // 1000

    def monotonic_ns_of(self, server_us: int) -> int:
        """The server's microseconds on CLOCK_MONOTONIC."""
        return max(server_us * 1000 - self.offset_ns, 0)


def measure(connection: Connection, is_local: bool) -> ServerClock:
    """Queries the server. The uncertainty must be at most a millisecond for a server on this machine."""
    best: ServerClock | None = None
    for count in range(1, MOST + 1):
        before_ns = time.monotonic_ns()
        ((server_us,),) = connection.ask("compare the server's clock", text_of("clock"))
        after_ns = time.monotonic_ns()
        clock = ServerClock(int(server_us * 1000) - (before_ns + after_ns) // 2, (after_ns - before_ns) // 2, after_ns)
        if best is None or clock.uncertainty_ns < best.uncertainty_ns:
            best = clock
        is_good = not is_local or best.uncertainty_ns <= MOST_NS
        if count >= FEWEST and (best.uncertainty_ns <= GOOD_NS or is_good and count >= 2 * FEWEST):
            break
    if is_local and best.uncertainty_ns > MOST_NS:
        raise failed("compare the server's clock", f"it is uncertain by {best.uncertainty_ns // 1_000_000} "
                                                   "ms; the machine is too busy")
    return best


def uncertainty_note(uncertainty_ns: int) -> list[str]:
    """The note about an uncertainty, if needed. Rounded up, so that runs have equal notes."""
    us = -(-uncertainty_ns // 1000)
    if us <= SMALL_US:
        return []
    steps = (step * 10**power for power in range(2, 19) for step in (1, 2, 5))
    return [f"the server's clock is known to {next(step for step in steps if step >= us)} us"]


@dataclass(frozen=True)
class Call:
    """Result of one call of a loop."""

    #: Steps that ended inside the window.
    steps: int
    #: All steps.
    calls: int
    #: Rows of each.
    rows_per_step: int

    def all_rows(self) -> int:
        """Rows of all steps."""
        return self.calls * self.rows_per_step

    def share(self, amount: int) -> int:
        """The share of an amount of the whole call that belongs to the window's steps."""
        return max(amount, 0) * self.steps // max(self.calls, 1)
