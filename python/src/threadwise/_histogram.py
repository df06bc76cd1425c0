"""Percentiles of merged latency histograms.

Source of the format: HdrHistogram's "V2" encoding, a header of 40 bytes and then counts as ZigZag LEB128 numbers, in
which a negative one is a run of empty buckets; as in `crates/statistics/src/latency.rs`, which gives the same figures.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections import Counter as CounterOf
from collections.abc import Iterable

_COOKIE = 0x1C849303 | 0x10
_HEADER = struct.Struct(">IIIIQQd")


def percentile_ns(histograms: Iterable[bytes], share: float = 0.99) -> int | None:
    """The latency in nanoseconds that this share of all steps does not exceed, of the column `latency_hdr_v2` of any
    sessions together. It is the highest value of a bucket, and `None` without steps.

    >>> percentile_ns([])

    Raises `ValueError` for bytes of another format, and for histograms of different precision.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}: 0 to 1")
    counts: CounterOf[int] = Counter()
    layouts = {_add(bytes(one), counts) for one in histograms if one}
    if len(layouts) > 1:
        raise ValueError("histograms of different precision cannot be merged")
    steps = sum(counts.values())
    if not steps:
        return None
    half, unit = layouts.pop()
    rank = min(max(math.ceil(share * steps), 1), steps)
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            break
    power = max((bucket >> half) - 1, 0)
    linear = bucket if bucket < 1 << half else (bucket & ((1 << half) - 1)) + (1 << half)
    return ((linear + 1) << (power + unit)) - 1


def _add(data: bytes, counts: CounterOf[int]) -> tuple[int, int]:
    """Adds the counts of a histogram by bucket; its layout: logarithms of half the buckets of a power of two, and of
    the smallest value."""
    if len(data) < _HEADER.size:
        raise ValueError("a latency histogram is truncated")
    cookie, length, offset, digits, low, high, ratio = _HEADER.unpack_from(data)
    is_known = cookie == _COOKIE and length == len(data) - _HEADER.size and (offset, ratio) == (0, 1.0)
    if not is_known or digits > 5 or not 1 <= low <= high // 2:
        raise ValueError("a latency histogram is not one of HdrHistogram's format V2")
    bucket = number = shift = 0
    for byte in data[_HEADER.size :]:
        # The ninth byte of a number is used whole.
        is_last = shift == 56 or byte < 0x80
        number |= (byte if is_last else byte & 0x7F) << shift
        shift += 7
        if is_last:
            count = -(number >> 1) - 1 if number & 1 else number >> 1
            if count > 0:
                counts[bucket] += count
            bucket += max(-count, 1)
            number = shift = 0
    if shift:
        raise ValueError("a latency histogram is truncated")
    return (2 * 10**digits - 1).bit_length() - 1, low.bit_length() - 1
