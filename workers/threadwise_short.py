"""Sessions of short queries beside streams: one order by its key, again and again until the last
stream of the slice is done, and the latency of each in an HdrHistogram.

Sources: TPC-H specification, clause 4.2.3 (of every 32 order keys the first 8 are used, and 0 is
not); HdrHistogram's format V2, not compressed, as its Java and Rust libraries write it.
"""

from __future__ import annotations

import base64
import random
import resource
import struct
import time
import traceback
from collections.abc import Iterator

from threadwise_load import orders
from threadwise_session import Done, Order, Session, Short, one_error, wait_until_ns

#: Significant decimal digits, and the longest distinguished latency.
DIGITS = 3
MAX_NS = 60_000_000_000

#: Binary digits of a value that its bucket keeps: 2 x 10^3 linear buckets are 2^11.
_BITS = 11

#: First bytes of the format.
_COOKIE = 0x1C849313

#: Lookups before the first slice, so that the engine's caches are filled.
WARM_LOOKUPS = 20


class Histogram:
    """Counts of latencies by bucket; buckets are exact to three digits from 1 ns to 60 s."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def record(self, value_ns: int) -> None:
        """Counts a latency; above 60 s as 60 s."""
        value = min(max(value_ns, 1), MAX_NS)
        power = max(value.bit_length() - _BITS, 0)
        # Below 2^11 every value has a bucket; above, each power of two has half as many.
        bucket = (power << (_BITS - 1)) + (value >> power)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def to_bytes(self) -> bytes:
        """The format V2; empty if nothing was counted."""
        if not self._counts:
            return b""
        payload, next_bucket = bytearray(), 0
        for bucket in sorted(self._counts):
            empty = bucket - next_bucket
            if empty:
                payload += _varint(_zigzag(-empty if empty > 1 else 0))
            payload += _varint(_zigzag(self._counts[bucket]))
            next_bucket = bucket + 1
        head = struct.pack(">IIIIQQd", _COOKIE, len(payload), 0, DIGITS, 1, MAX_NS, 1.0)
        return head + bytes(payload)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _varint(value: int) -> bytes:
    """LEB128; no count of a slice needs the ninth byte, which would hold eight bits."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def order_key(number: int) -> int:
    """Key of an order by its number, from 1."""
    return number // 8 * 32 + number % 8


def order_keys(seed: int, session: int, sequence: int, count: int) -> Iterator[int]:
    """Keys of existing orders; the same for all treatments of a block."""
    drawn = random.Random(f"{seed} {session} {sequence}")
    while True:
        yield order_key(int(drawn.random() * count) + 1)


class ShortSession(Session):
    """The thread of a session of short queries."""

    short: Short

    def open(self) -> None:
        """Opens the session, and looks up some orders that no slice uses."""
        self.orders_there = orders(self.setup.data_dir)
        self.short = self.engine.open_short(self.setup)
        keys = self._keys(-1)
        for _ in range(WARM_LOOKUPS):
            self._look_up(next(keys))

    def close(self) -> None:
        """Ends the session."""
        self.short.close()

    def _keys(self, sequence: int) -> Iterator[int]:
        return order_keys(self.setup.seed, self.setup.session, sequence, self.orders_there)

    def _look_up(self, key: int) -> bool:
        try:
            return self.short.look_up(key)
        except Exception as cause:
            traceback.print_exc()
            raise one_error(self.engine.name, f"look up order {key}", cause) from cause

    def work(self, order: Order) -> Done:
        """Short queries from the common start until the last stream is done."""
        keys, histogram = self._keys(order.sequence), Histogram()
        steps = wrong = 0
        wait_until_ns(order.start_ns)
        before, cpu_ns = resource.getrusage(resource.RUSAGE_THREAD), time.thread_time_ns()
        while order.at_work.any():
            began_ns = time.monotonic_ns()
            is_right = self._look_up(next(keys))
            histogram.record(time.monotonic_ns() - began_ns)
            steps, wrong = steps + 1, wrong + (not is_right)
        cpu_ns = time.thread_time_ns() - cpu_ns
        after = resource.getrusage(resource.RUSAGE_THREAD)
        finished_ns = time.monotonic_ns() - order.start_ns
        whole = {
            "steps": steps,
            "rows": steps,
            "answers_checked": steps,
            "answers_wrong": wrong,
            "cpu_ns": cpu_ns,
            "voluntary_switches": after.ru_nvcsw - before.ru_nvcsw,
            "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
            "counters": {},
            "latency": base64.b64encode(histogram.to_bytes()).decode(),
            "finished_ns": max(finished_ns, 0),
        }
        return Done(self.setup.session, finished_ns=finished_ns, whole=whole)
