//! What a run did in the first and in the second halves of its slices.

use super::work::Work;
use threadwise_study::Slice;

/// What a treatment did in both halves of its slices, by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Halves {
    /// First halves.
    pub first: Vec<Work>,
    /// Second halves.
    pub second: Vec<Work>,
}

impl Halves {
    /// Those of a run's slices, rounds beyond the design left out; `None` where a slice does not know them, and for a
    /// fixed amount of work, which has no window to halve.
    pub fn of(slices: &[Slice], rounds: u32) -> Option<Self> {
        let mut halves = Self { first: Vec::new(), second: Vec::new() };
        for slice in slices.iter().filter(|slice| slice.round < rounds) {
            if slice.sessions.iter().any(|session| session.finished_ns.is_some()) {
                return None;
            }
            let first = slice.rows_first_half()?;
            let round = slice.round as usize;
            if halves.first.len() <= round {
                halves.first.resize(round + 1, Work::default());
                halves.second.resize(round + 1, Work::default());
            }
            let half = |rows: u64| Work {
                slices: 1,
                rows: rows as f64,
                window_ns: slice.window_ns as f64 / 2.0,
                ..Work::default()
            };
            halves.first[round] = half(first);
            halves.second[round] = half(slice.rows().saturating_sub(first));
        }
        Some(halves)
    }
}
