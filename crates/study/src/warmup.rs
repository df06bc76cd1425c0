//! The measured warm-up of a treatment before each slice: its limits, and how runs store it.
//!
//! It is measured before the rounds of a study's first block (`threadwise_runner::warmup`), holds for the whole study,
//! and is stored as readings of each run.

use crate::Reading;

/// The sampler of its readings.
pub const SAMPLER: &str = "warm-up";
/// Its length.
const WARMUP_NS: &str = "warmup_ns";
/// Length of the pieces that it was found by; missing, with the reason, if it is the limit.
const PIECE: &str = "piece_ns";

/// Shortest warm-up that is measured, nanoseconds.
pub const LEAST_NS: u64 = 4_000_000;
/// Longest warm-up, used if the rate did not settle before.
pub const LIMIT_NS: u64 = 30_000_000;
/// Warm-up of treatments whose engine reports nothing to measure it by.
pub const UNSEEN_NS: u64 = 5_000_000;
/// Number of windows that measure a treatment's warm-up.
pub const WINDOWS: usize = 5;
/// Length of such a window.
pub const WINDOW_NS: u64 = 40_000_000;

/// A treatment's warm-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warmup {
    /// Its length, nanoseconds.
    pub ns: u64,
    /// Length of the pieces that it was found by, nanoseconds, or why it was not found.
    pub piece_ns: Result<u64, String>,
}

impl Warmup {
    /// The limit, with the reason.
    pub fn limit(why: &str) -> Self {
        Self { ns: LIMIT_NS, piece_ns: Err(why.to_owned()) }
    }

    /// The warm-up for an engine that reports nothing, with the reason.
    pub fn unseen(why: &str) -> Self {
        Self { ns: UNSEEN_NS, piece_ns: Err(why.to_owned()) }
    }

    /// The readings that a run stores, at a moment (nanoseconds since the study's start).
    pub fn readings(&self, at_ns: u64) -> [Reading; 2] {
        let reading = |metric: &str, value: Result<u64, String>| Reading {
            sampler: SAMPLER.to_owned(),
            metric: metric.to_owned(),
            cpu: None,
            start_ns: at_ns,
            end_ns: at_ns,
            value: value.as_ref().ok().map(|ns| *ns as f64),
            gap: value.err(),
        };
        [reading(WARMUP_NS, Ok(self.ns)), reading(PIECE, self.piece_ns.clone())]
    }

    /// Reads it from a run's readings; `None` if its warm-up was not measured, or the readings are invalid.
    pub fn of(readings: &[Reading]) -> Option<Self> {
        let named = |metric: &str| {
            readings.iter().find(|reading| reading.sampler == SAMPLER && reading.metric == metric)
        };
        let whole = |reading: &Reading| {
            let ns = reading.value.filter(|ns| (0.0..=LIMIT_NS as f64).contains(ns))?;
            Some(ns.round() as u64)
        };
        let ns = whole(named(WARMUP_NS)?)?;
        let piece = named(PIECE)?;
        let piece_ns = whole(piece).ok_or_else(|| piece.gap.clone().unwrap_or_default());
        Some(Self { ns, piece_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_comes_back_as_it_was_kept() {
        let seen = Warmup { ns: 12_000_000, piece_ns: Ok(2_000_000) };
        let limit = Warmup::limit("too few steps to see it");
        for warmup in [seen, limit] {
            assert_eq!(Warmup::of(&warmup.readings(7)), Some(warmup));
        }
        assert_eq!(Warmup::of(&[]), None);
    }

    #[test]
    fn one_that_cannot_be_true_is_none() {
        for value in [None, Some(f64::NAN), Some(-1.0), Some(1e12)] {
            let mut readings = Warmup::limit("").readings(0);
            readings[0].value = value;
            assert_eq!(Warmup::of(&readings), None, "{value:?}");
        }
    }
}
