"""Latencies and keys of short queries, without an engine.

Run with the interpreter of the environment that DuckDB and DataFusion share, as `test_workers`.
"""

from __future__ import annotations

import itertools
import sys
import unittest

from support import WORKERS

sys.path.insert(0, str(WORKERS))

from threadwise_short import MAX_NS, Histogram, order_key, order_keys  # noqa: E402

#: The bytes that the Rust library writes for the same values: `crates/engine/src/latency.rs`
#: compares them, too.
LATENCIES = [1, 1, 3, 2047, 2048, 2049, 30_000, 30_001, 1_234_567, 1_234_567, 2 * MAX_NS]
BYTES = ("1c84931300000012000000000000000300000000000000010000000df84758003ff0000000000000"
         "00040002f51f0204a33d04c155048bf90102")


class Latencies(unittest.TestCase):
    """HdrHistogram V2."""

    def test_bytes_are_those_of_the_library(self) -> None:
        histogram = Histogram()
        for latency in LATENCIES:
            histogram.record(latency)
        self.assertEqual(histogram.to_bytes().hex(), BYTES)

    def test_nothing_and_less_than_a_nanosecond(self) -> None:
        histogram = Histogram()
        self.assertEqual(histogram.to_bytes(), b"")
        histogram.record(0)
        # The empty bucket of 0, and one value in that of 1.
        self.assertEqual(histogram.to_bytes()[40:], bytes([0, 2]))


class Keys(unittest.TestCase):
    """Keys of orders that exist."""

    def test_the_first_eight_of_every_32_are_used(self) -> None:
        keys = [1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36, 37, 38, 39, 64, 65]
        self.assertEqual([order_key(number) for number in range(1, 18)], keys)
        drawn = set(itertools.islice(order_keys(1, 0, 0, 17), 1000))
        self.assertEqual(sorted(drawn), keys)

    def test_keys_differ_by_session_and_slice(self) -> None:
        def some(seed: int, session: int, sequence: int) -> tuple[int, ...]:
            return tuple(itertools.islice(order_keys(seed, session, sequence, 15_000), 50))

        self.assertEqual(some(7, 1, 3), some(7, 1, 3))
        self.assertEqual(len({some(7, 1, 3), some(7, 2, 3), some(7, 1, 4), some(8, 1, 3)}), 4)


if __name__ == "__main__":
    unittest.main()
