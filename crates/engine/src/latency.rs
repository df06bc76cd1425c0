//! Step latencies as HdrHistograms in nanoseconds, and their encoding.
//!
//! Form: "V2" of G. Tene's HdrHistogram, uncompressed: a header of 40 bytes, then counts as
//! zig-zag LEB128. Three significant digits from 1 ns to 60 s; a longer step counts as 60 s.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// Largest latency that is recorded as such.
pub const MAX_NS: u64 = 60_000_000_000;

/// Significant decimal digits.
const DIGITS: u8 = 3;

/// First bytes of the uncompressed V2 form.
const V2_COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];

/// Why latencies could not be recorded or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("latency histogram: {0}")]
pub struct LatencyError(String);

fn error(why: impl std::fmt::Display) -> LatencyError {
    LatencyError(why.to_string())
}

/// An empty histogram of the form that all engines use. Counts are 32 bits wide: half the cache footprint, and
/// enough for the steps of a window.
///
/// # Errors
/// None in practice; the bounds are constants that the library accepts.
pub fn histogram() -> Result<Histogram<u32>, LatencyError> {
    Histogram::new_with_bounds(1, MAX_NS, DIGITS).map_err(error)
}

/// The histogram's bytes; empty for an empty histogram.
///
/// # Errors
/// What the serializer reports.
pub fn to_bytes(histogram: &Histogram<u32>) -> Result<Vec<u8>, LatencyError> {
    let mut bytes = Vec::new();
    if !histogram.is_empty() {
        V2Serializer::new().serialize(histogram, &mut bytes).map_err(error)?;
    }
    Ok(bytes)
}

/// How many steps the bytes of a histogram hold; 0 for no bytes.
///
/// # Errors
/// Bytes that are not a whole uncompressed V2 histogram.
pub fn steps(bytes: &[u8]) -> Result<u64, LatencyError> {
    if bytes.is_empty() {
        return Ok(0);
    }
    if !bytes.starts_with(&V2_COOKIE) {
        return Err(error("not the uncompressed V2 form (first bytes 1c 84 93 13)"));
    }
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).map_err(error)?;
    Ok(histogram.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_steps() {
        let mut histogram = histogram().unwrap();
        assert!(to_bytes(&histogram).unwrap().is_empty());
        for value in [1, 30_000, 30_001, 2 * MAX_NS] {
            histogram.saturating_record(value);
        }
        let bytes = to_bytes(&histogram).unwrap();
        assert_eq!(steps(&bytes), Ok(4));
        assert!(bytes.len() < 200, "{}", bytes.len());
        assert_eq!(steps(&[]), Ok(0));
    }

    /// The workers in Python have an encoder of their own, and `workers/tests/test_short.py` the same values and bytes.
    #[test]
    fn bytes_of_the_python_workers_are_those_of_the_library() {
        let mut histogram = histogram().unwrap();
        for latency in [1, 1, 3, 2047, 2048, 2049, 30_000, 30_001, 1_234_567, 1_234_567, 2 * MAX_NS] {
            histogram.saturating_record(latency);
        }
        let bytes = to_bytes(&histogram).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let head = "1c84931300000012000000000000000300000000000000010000000df84758003ff0000000000000";
        let counts = "00040002f51f0204a33d04c155048bf90102";
        assert_eq!(hex, [head, counts].concat());
    }

    #[test]
    fn damage_is_refused() {
        let mut histogram = histogram().unwrap();
        histogram.saturating_record(5);
        let bytes = to_bytes(&histogram).unwrap();
        assert!(steps(&bytes[..bytes.len() - 1]).is_err());
        assert!(steps(b"hello").unwrap_err().to_string().contains("V2"));
    }
}
