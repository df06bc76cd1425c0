//! The timed loops. The limit of each is explained with its assembly.
//!
//! Three versions of the same loops: assembly for x86-64 and AArch64, which no compiler can shorten, and
//! plain Rust for the rest (and for `--cfg threadwise_portable`, to test it).

#[cfg(all(target_arch = "aarch64", not(threadwise_portable)))]
mod aarch64;
// Also built for the tests of every machine, so that it keeps compiling.
#[cfg(any(test, threadwise_portable, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
mod scratch;
#[cfg(all(target_arch = "x86_64", not(threadwise_portable)))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(threadwise_portable)))]
use aarch64 as native;
#[cfg(any(threadwise_portable, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use portable as native;
#[cfg(all(target_arch = "x86_64", not(threadwise_portable)))]
use x86_64 as native;

pub use scratch::Scratch;

/// A loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Independent integer adds, limited by issue width; a step is 8 adds.
    Wide,
    /// One chain of dependent adds, limited by latency; a step is one add, one cycle.
    Chain,
    /// Loads and stores inside the first-level cache, limited by the load and store ports; a step is
    /// two loads and one store.
    LoadStore,
}

/// Adds in one step of [`Kernel::Wide`].
pub const WIDE_ADDS_PER_STEP: f64 = 8.0;

/// Steps in one turn of any kernel's loop: enough that counting turns costs below 5%.
pub const TURN_STEPS: u64 = 16;

/// Which version of the loops this build runs, for reports: `x86-64`, `AArch64` or `portable`.
pub const VERSION: &str = if cfg!(all(target_arch = "x86_64", not(threadwise_portable))) {
    "x86-64"
} else if cfg!(all(target_arch = "aarch64", not(threadwise_portable))) {
    "AArch64"
} else {
    "portable"
};

/// Runs `turns` turns (at least one) of a kernel's loop, [`TURN_STEPS`] steps each, and returns the sum of
/// its registers at the end.
pub fn run(kernel: Kernel, turns: u64, scratch: &mut Scratch) -> u64 {
    let turns = turns.max(1);
    // Callers that only time it drop the result: without this a compiler would drop the portable loops too.
    std::hint::black_box(match kernel {
        Kernel::Wide => native::wide(turns, scratch),
        Kernel::Chain => native::chain(turns, scratch),
        Kernel::LoadStore => native::load_store(turns, scratch),
    })
}

#[cfg(test)]
mod tests {
    use super::scratch::WORDS;
    use super::*;
    use std::sync::atomic::Ordering;

    /// The portable version mixes adds with other operations and has its own test.
    #[cfg(not(any(threadwise_portable, not(any(target_arch = "x86_64", target_arch = "aarch64")))))]
    #[test]
    fn every_add_of_the_assembly_is_done() {
        let mut scratch = Scratch::new();
        let (add, starts) = (scratch.word(0), (1..9).map(|index| scratch.word(index)));
        let starts = starts.fold(0, u64::wrapping_add);
        for turns in [1, 2, 7, 1000] {
            let adds = turns * TURN_STEPS;
            let chain = scratch.word(1).wrapping_add(add.wrapping_mul(adds));
            assert_eq!(run(Kernel::Chain, turns, &mut scratch), chain, "{turns} turns");
            let wide = starts.wrapping_add(add.wrapping_mul(adds * WIDE_ADDS_PER_STEP as u64));
            assert_eq!(run(Kernel::Wide, turns, &mut scratch), wide, "{turns} turns");
        }
    }

    #[test]
    fn loads_and_stores_are_done_and_nothing_else_is_written() {
        for turns in [1, 2, 1000] {
            let mut scratch = Scratch::new();
            let before: Vec<u64> = (0..WORDS).map(|index| scratch.word(index)).collect();
            let loaded = run(Kernel::LoadStore, turns, &mut scratch);
            let stored: Vec<u64> = scratch.stored.iter().map(|word| word.load(Ordering::Relaxed)).collect();
            // Every step of the last turn has stored the turn's number.
            assert_eq!(stored[..TURN_STEPS as usize], vec![turns; TURN_STEPS as usize]);
            assert!(stored[TURN_STEPS as usize..].iter().all(|word| *word == 0));
            assert_eq!(before, (0..WORDS).map(|index| scratch.word(index)).collect::<Vec<_>>());
            assert_eq!(loaded, native::loaded(&scratch, turns), "{turns} turns");
        }
    }

    #[test]
    fn no_turns_are_one() {
        let mut scratch = Scratch::new();
        for kernel in [Kernel::Wide, Kernel::Chain, Kernel::LoadStore] {
            assert_eq!(run(kernel, 0, &mut scratch), run(kernel, 1, &mut scratch), "{kernel:?}");
        }
    }

    #[test]
    fn a_scratch_is_one_page() {
        let scratch = Scratch::new();
        assert_eq!(size_of_val(&*scratch), 4096);
        assert_eq!(std::ptr::from_ref(&*scratch).addr() % 4096, 0);
    }
}
