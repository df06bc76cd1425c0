//! When the threads of two logical CPUs are on one logical CPU of the host, and when on two.
//!
//! Drawn by SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014), so that
//! a seed gives the same schedule everywhere.

use std::time::Duration;

/// Shortest phase and longest, milliseconds.
const PHASE_MS: (u64, u64) = (1000, 3000);

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
    let mut random = SplitMix(seed);
    let (mut phases, mut left): (Vec<Phase>, Duration) = (Vec::new(), total);
    while !left.is_zero() {
        let (least, most) = PHASE_MS;
        let length = Duration::from_millis(least + random.next() % (most - least + 1)).min(left);
        let first = usize::from(random.next() % 2 == 1);
        let second = if phases.len() % 2 == 0 { 1 - first } else { first };
        phases.push(Phase { places: [first, second], length });
        left -= length;
    }
    phases
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // First outputs for seed 1234567, as in Rosetta Code and the generator's C source by Vigna.
        let mut random = SplitMix(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

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
