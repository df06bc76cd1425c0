//! When the threads of two logical CPUs are on one logical CPU of the host, and when on two.
//!
//! Drawn by ChaCha8, so that a seed gives the same schedule everywhere.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Shortest phase and longest, milliseconds.
const PHASE_MS: std::ops::RangeInclusive<u64> = 1000..=3000;

/// A time without a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// The host's logical CPU (of two) of each thread: the same is stacked, else apart.
    pub places: [usize; 2],
    /// How long it lasts.
    pub length: Duration,
}

impl Phase {
    /// Whether both threads are on one logical CPU of the host.
    pub fn is_stacked(&self) -> bool {
        self.places[0] == self.places[1]
    }
}

/// Phases that last `total` together, apart and stacked by turns, with random lengths and places. The last one may be
/// shorter than others.
pub fn drawn(seed: u64, total: Duration) -> Vec<Phase> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut phases, mut left): (Vec<Phase>, Duration) = (Vec::new(), total);
    while !left.is_zero() {
        let length = Duration::from_millis(random.random_range(PHASE_MS)).min(left);
        let first = random.random_range(0..2);
        let second = if phases.len() % 2 == 0 { 1 - first } else { first };
        phases.push(Phase { places: [first, second], length });
        left -= length;
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_take_turns_and_fill_the_time() {
        let total = Duration::from_secs(60);
        let phases = drawn(1, total);
        assert_eq!(phases.iter().map(|phase| phase.length).sum::<Duration>(), total);
        assert!(phases.iter().enumerate().all(|(at, phase)| phase.is_stacked() == (at % 2 == 1)));
        let (_, full) = phases.split_last().unwrap();
        assert!(full.iter().all(|phase| (1000..=3000).contains(&phase.length.as_millis())));
        for places in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            assert!(phases.iter().any(|phase| phase.places == places), "{places:?}");
        }
    }

    #[test]
    fn a_seed_is_a_schedule() {
        let total = Duration::from_secs(20);
        assert_eq!(drawn(7, total), drawn(7, total));
        assert_ne!(drawn(7, total), drawn(8, total));
    }
}
