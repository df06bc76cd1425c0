//! Percentiles of many merged latency histograms.
//!
//! Source of the format: HdrHistogram's "V2" encoding (a 40-byte header, then counts as ZigZag LEB128 varints in which
//! a negative number is a run of empty buckets), as in the `hdrhistogram` crate's documentation of its `V2Serializer`.
//! Decoded here because that crate builds a whole histogram, a hundred kilobytes of counters, for each of the hundreds
//! of thousands of slices of a study; the tests compare the two.

use std::ops::Range;

/// First four bytes of the format, big-endian.
const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;

/// Largest valid count of one latency in a slice; a larger one is damage.
const MAX_COUNT: u64 = 1 << 48;

/// Bytes before the counts.
const HEADER_BYTES: usize = 40;

/// Why bytes are not a histogram that can be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// Not the format.
    #[error("a latency histogram cannot be read ({0}): the engine must send HdrHistogram V2, not compressed")]
    Format(&'static str),
    /// Two histograms of one treatment count in different buckets.
    #[error("latency histograms of different precision cannot be merged: the engine must use one precision")]
    Layout,
}

/// How values map to buckets: fixed by precision and smallest value, not by the largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Logarithm to base 2 of half the number of linear buckets under each power of two.
    half_magnitude: u32,
    /// Logarithm to base 2 of the smallest value that is distinguished.
    unit_magnitude: u32,
}

/// Latency histograms of any number of slices and sessions, added up.
#[derive(Debug, Clone, Default)]
pub struct MergedLatency {
    layout: Option<Layout>,
    /// By bucket; outside `touched` all are 0.
    counts: Vec<u64>,
    touched: Range<usize>,
    total: u64,
}

impl MergedLatency {
    /// No histograms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of recorded steps.
    pub fn steps(&self) -> u64 {
        self.total
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.layout = None;
        let touched = std::mem::take(&mut self.touched);
        self.counts[touched].fill(0);
        self.total = 0;
    }

    /// Adds one histogram; empty bytes (an engine without steps) add nothing.
    ///
    /// # Errors
    /// Bytes of another format or precision; what came before them may have been added.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), HistogramError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (layout, buckets) = read_header(bytes)?;
        if *self.layout.get_or_insert(layout) != layout {
            return Err(HistogramError::Layout);
        }
        let payload = &bytes[HEADER_BYTES..];
        self.touch(payload, buckets);
        self.add_counts(payload, buckets)
    }

    /// Adds all counts of another one.
    ///
    /// # Errors
    /// Another precision.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        let Some(layout) = other.layout else { return Ok(()) };
        if *self.layout.get_or_insert(layout) != layout {
            return Err(HistogramError::Layout);
        }
        if self.counts.len() < other.touched.end {
            self.counts.resize(other.touched.end, 0);
        }
        for bucket in other.touched.clone() {
            self.counts[bucket] = self.counts[bucket].wrapping_add(other.counts[bucket]);
        }
        self.touched = match self.touched.is_empty() {
            true => other.touched.clone(),
            false => self.touched.start.min(other.touched.start)..self.touched.end.max(other.touched.end),
        };
        self.total = self.total.wrapping_add(other.total);
        Ok(())
    }

    /// The highest latency of each bucket that has steps, in nanoseconds, with their number; ascending.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let Some(layout) = self.layout else { return Vec::new() };
        let counted = self.touched.clone().filter(|bucket| self.counts[*bucket] > 0);
        counted.map(|bucket| (layout.highest_in(bucket), self.counts[bucket])).collect()
    }

    /// Share of the steps in buckets that end above a latency, in nanoseconds; `None` without steps.
    pub fn share_above(&self, latency_ns: u64) -> Option<f64> {
        let layout = self.layout.filter(|_| self.total > 0)?;
        let is_above = |bucket: &usize| layout.highest_in(*bucket) > latency_ns;
        let above = self.touched.clone().rev().take_while(is_above);
        let steps = above.fold(0_u64, |sum, bucket| sum.wrapping_add(self.counts[bucket]));
        Some(steps as f64 / self.total as f64)
    }

    /// Steps in buckets that end above a latency, in nanoseconds, and the time spent in them to the histograms'
    /// precision; `None` without steps.
    pub fn above(&self, latency_ns: u64) -> Option<(u64, f64)> {
        let layout = self.layout.filter(|_| self.total > 0)?;
        let is_above = |bucket: &usize| layout.highest_in(*bucket) > latency_ns;
        let above = self.touched.clone().rev().take_while(is_above);
        Some(above.fold((0, 0.0), |(steps, time_ns), bucket| {
            let count = self.counts[bucket];
            (count.saturating_add(steps), time_ns + count as f64 * layout.highest_in(bucket) as f64)
        }))
    }

    /// Adds the counts after the header.
    ///
    /// Nearly all numbers are one byte, and counts and runs of empty buckets follow each other in no order that a
    /// processor could predict: a table handles both alike, without a branch.
    fn add_counts(&mut self, mut payload: &[u8], buckets: usize) -> Result<(), HistogramError> {
        let counts = &mut self.counts[..buckets];
        let (mut bucket, mut total) = (0usize, self.total);
        while let Some((first, rest)) = payload.split_first() {
            let (count, advance) = match ONE_BYTE.get(usize::from(*first)) {
                Some((count, advance)) => {
                    payload = rest;
                    (u64::from(*count), usize::from(*advance))
                }
                None => count_and_advance(read_varint(&mut payload)?),
            };
            match counts.get_mut(bucket) {
                // Wrapping, because counts are bounded and only damage could get there.
                Some(sum) => *sum = sum.wrapping_add(count),
                None if count > 0 => {
                    return Err(HistogramError::Format("it has more buckets than its range"));
                }
                None => {}
            }
            if count > MAX_COUNT {
                return Err(HistogramError::Format("a count out of range"));
            }
            total = total.wrapping_add(count);
            bucket = bucket.saturating_add(advance);
        }
        self.total = total;
        Ok(())
    }

    /// Notes which counters the histogram may change: all from its first run of empty buckets on.
    fn touch(&mut self, mut payload: &[u8], buckets: usize) {
        let leading = read_varint(&mut payload).unwrap_or(0).min(0).unsigned_abs();
        let start = usize::try_from(leading).unwrap_or(buckets).min(buckets);
        self.touched = match self.touched.is_empty() {
            true => start..buckets,
            false => self.touched.start.min(start)..self.touched.end.max(buckets),
        };
        if self.counts.len() < buckets {
            self.counts.resize(buckets, 0);
        }
    }

    /// The value at or below which a share `quantile` of the steps lies, in the unit of the histograms: the highest
    /// value of the bucket that holds the step of rank ⌈quantile · steps⌉, as HdrHistogram defines it. Exact to the
    /// histograms' precision.
    ///
    /// Degenerate cases: no step, or a quantile outside [0, 1], gives `None`.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let layout = self.layout?;
        if self.total == 0 || !(0.0..=1.0).contains(&quantile) {
            return None;
        }
        let rank = ((quantile * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0u64;
        for bucket in self.touched.clone() {
            seen = seen.wrapping_add(self.counts[bucket]);
            if seen >= rank {
                return Some(layout.highest_in(bucket));
            }
        }
        None
    }
}

impl Layout {
    /// The largest value counted in a bucket.
    fn highest_in(self, bucket: usize) -> u64 {
        let half = 1usize << self.half_magnitude;
        let power = (bucket >> self.half_magnitude).saturating_sub(1);
        let linear = if bucket < half { bucket } else { (bucket & (half - 1)) + half };
        let shift = power as u32 + self.unit_magnitude;
        let above = (linear as u128 + 1) << shift.min(64);
        u64::try_from(above - 1).unwrap_or(u64::MAX)
    }
}

/// Reads and checks the header: layout and number of buckets.
fn read_header(bytes: &[u8]) -> Result<(Layout, usize), HistogramError> {
    let word = |at: usize| -> Option<u32> { bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes) };
    let long = |at: usize| -> Option<u64> { bytes.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes) };
    if word(0) != Some(V2_COOKIE) {
        return Err(HistogramError::Format("unknown first bytes"));
    }
    let header = (word(4), word(8), word(12), long(16), long(24), long(32));
    let (Some(payload), Some(offset), Some(digits), Some(low), Some(high), Some(ratio)) = header else {
        return Err(HistogramError::Format("it is truncated"));
    };
    if bytes.len() - HEADER_BYTES != payload as usize {
        return Err(HistogramError::Format("its length does not match"));
    }
    let in_range = digits <= 5 && low >= 1 && high / 2 >= low && low <= u64::MAX >> 24;
    if offset != 0 || f64::from_bits(ratio) != 1.0 || !in_range {
        return Err(HistogramError::Format("parameters out of range"));
    }
    let linear_buckets = (2 * 10u64.pow(digits)).next_power_of_two();
    let half_magnitude = linear_buckets.trailing_zeros() - 1;
    let unit_magnitude = low.ilog2();
    // One half for the linear start, and one for each power of two up to the highest value.
    let powers = (high.ilog2() + 1).saturating_sub(half_magnitude + unit_magnitude).max(1);
    let buckets = ((powers + 1) as usize) << half_magnitude;
    Ok((Layout { half_magnitude, unit_magnitude }, buckets))
}

/// Takes one ZigZag LEB128 number of at most nine bytes, of which the ninth is used whole.
fn read_varint(payload: &mut &[u8]) -> Result<i64, HistogramError> {
    let mut value = 0u64;
    for (position, byte) in payload.iter().take(9).enumerate() {
        let last = position == 8;
        let bits = if last { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * position);
        if last || byte & 0x80 == 0 {
            *payload = &payload[position + 1..];
            return Ok(un_zigzag(value));
        }
    }
    Err(HistogramError::Format("it is truncated"))
}

/// 0, 1, 2, 3, 4 mean 0, -1, 1, -2, 2.
const fn un_zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Meaning of a number: a count for this bucket and the bucket after it, or no count and this many empty buckets. A
/// lone 0 is one empty bucket.
const fn count_and_advance(number: i64) -> (u64, usize) {
    if number > 0 {
        (number.unsigned_abs(), 1)
    } else if number == 0 {
        (0, 1)
    } else {
        (0, number.unsigned_abs() as usize)
    }
}

/// Meanings of the numbers of one byte.
const ONE_BYTE: [(u8, u8); 128] = {
    let mut table = [(0, 0); 128];
    let mut byte = 0;
    while byte < 128 {
        let (count, advance) = count_and_advance(un_zigzag(byte as u64));
        table[byte] = (count as u8, advance as u8);
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn agrees_with_the_crate_that_writes_them() {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        for digits in 0..=5u8 {
            for low in [1u64, 100, 1024] {
                let mut whole = Histogram::<u64>::new_with_bounds(low, 60_000_000_000, digits).unwrap();
                let mut merged = MergedLatency::new();
                for slice in 0..5u32 {
                    let mut part = Histogram::<u64>::new_with_bounds(low, 4 * low, digits).unwrap();
                    part.auto(true);
                    for _ in 0..200 {
                        let value = low + random.next_u64() % (50 << (4 * slice));
                        part.record(value).unwrap();
                    }
                    part.record_n(low, u64::from(slice) << 40).unwrap();
                    whole.add(&part).unwrap();
                    merged.add(&encode(&part)).unwrap();
                }
                assert_eq!(merged.steps(), whole.len());
                for quantile in [0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    let expected = whole.value_at_quantile(quantile);
                    assert_eq!(
                        merged.quantile(quantile),
                        Some(expected),
                        "{digits} digits from {low} at {quantile}"
                    );
                }
            }
        }
    }

    #[test]
    fn percentiles_worked_by_hand() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for value in 1..=100 {
            histogram.record(value).unwrap();
        }
        let mut merged = MergedLatency::new();
        merged.add(&encode(&histogram)).unwrap();
        merged.add(&encode(&histogram)).unwrap();
        assert_eq!((merged.steps(), merged.quantile(0.5), merged.quantile(0.99)), (200, Some(50), Some(99)));
        merged.clear();
        assert_eq!((merged.steps(), merged.quantile(0.5)), (0, None));
    }

    #[test]
    fn shares_above_a_latency_and_merged_histograms() {
        let mut both = Histogram::<u64>::new(3).unwrap();
        let merged = [(1_000, 990), (2_000_000, 10)].map(|(latency_ns, steps)| {
            let mut one = Histogram::<u64>::new(3).unwrap();
            one.record_n(latency_ns, steps).unwrap();
            both.record_n(latency_ns, steps).unwrap();
            let mut merged = MergedLatency::new();
            merged.add(&encode(&one)).unwrap();
            merged
        });
        let mut sum = MergedLatency::new();
        assert_eq!(sum.share_above(1), None);
        merged.iter().for_each(|one| sum.merge(one).unwrap());
        sum.merge(&MergedLatency::new()).unwrap();
        assert_eq!(
            [0, 100_000, 1_999_000, 3_000_000].map(|ns| sum.share_above(ns).unwrap()),
            [1.0, 0.01, 0.01, 0.0]
        );
        let mut at_once = MergedLatency::new();
        at_once.add(&encode(&both)).unwrap();
        assert!([0.5, 0.99, 0.991, 1.0].iter().all(|q| sum.quantile(*q) == at_once.quantile(*q)));
        sum.clear();
        assert_eq!((sum.steps(), sum.quantile(0.5)), (0, None));
    }

    #[test]
    fn nothing_recorded() {
        let mut merged = MergedLatency::new();
        merged.add(&[]).unwrap();
        merged.add(&encode(&Histogram::<u64>::new(2).unwrap())).unwrap();
        assert_eq!((merged.steps(), merged.quantile(0.5)), (0, None));
    }

    #[test]
    fn refuses_what_it_cannot_merge() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record(70_000).unwrap();
        let good = encode(&histogram);
        let mut merged = MergedLatency::new();
        merged.add(&good).unwrap();
        let coarse = encode(&Histogram::<u64>::new(2).unwrap());
        assert_eq!(merged.add(&coarse), Err(HistogramError::Layout));
        let mut deflated = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut deflated).unwrap();
        assert!(matches!(merged.add(&deflated), Err(HistogramError::Format(_))));
        assert!(merged.quantile(1.5).is_none() && merged.quantile(f64::NAN).is_none());
    }

    #[test]
    fn damaged_bytes_are_errors_and_nothing_worse() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for value in [3, 70, 70_000, 1 << 33] {
            histogram.record_n(value, value).unwrap();
        }
        let good = encode(&histogram);
        for cut in 1..good.len() {
            assert!(MergedLatency::new().add(&good[..cut]).is_err(), "cut at {cut}");
        }
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..20_000 {
            let mut bad = good.clone();
            for _ in 0..3 {
                let at = random.next_u32() as usize % bad.len();
                bad[at] = random.next_u32() as u8;
            }
            let mut merged = MergedLatency::new();
            let _ = merged.add(&bad).is_ok();
            assert!(merged.counts.len() < 1 << 23, "memory stays bounded");
            let _ = merged.quantile(0.99);
        }
    }
}
