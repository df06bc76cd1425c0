//! Lock-free count of arrivals at one point of a look, in one word.
//!
//! The lower half of the word counts those that arrived, the upper half is empty until one of them stops waiting and
//! copies the lower half there. An arrival is one addition to the lower half: one that finds the upper half filled has
//! come too late, and its addition changes nothing, since all others read the copy. So each thread that arrived
//! in time sees the same number, and whether a thread is among them is decided once.

use crate::latency::pass::Line;
use std::sync::atomic::Ordering;

/// Start of the upper half.
const HALF: u32 = 32;
/// Start of the count of tested threads in a half; below it is the count of threads.
const TESTED: u32 = 24;

/// Threads at one point of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Present {
    /// Threads.
    pub threads: u32,
    /// How many of these are of the tested pair.
    pub tested: u32,
}

impl Present {
    fn read(word: u64) -> Self {
        let half = word as u32;
        Self { threads: half & ((1 << TESTED) - 1), tested: half >> TESTED }
    }
}

/// Arrivals at one point, on a cache line of their own.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Line);

impl Arrivals {
    /// Adds one arrival; returns whether it came in time.
    pub(super) fn arrive(&self, is_tested: bool) -> bool {
        let one = 1 | u64::from(is_tested) << TESTED;
        self.0.0.fetch_add(one, Ordering::AcqRel) >> HALF == 0
    }

    /// The threads that continue: those that came until one stopped waiting, or `all`; `None` while that is open.
    pub(super) fn present(&self, all: Present) -> Option<Present> {
        Self::settled(self.0.0.load(Ordering::Acquire), all)
    }

    fn settled(word: u64, all: Present) -> Option<Present> {
        match word >> HALF {
            0 => Some(Present::read(word)).filter(|present| present.threads >= all.threads),
            closed => Some(Present::read(closed)),
        }
    }

    /// Ends the wait for the rest of `all`; returns those that continue. Retried if one more arrives meanwhile, so
    /// at most once for each thread.
    pub(super) fn close(&self, all: Present) -> Present {
        let word = &self.0.0;
        let mut seen = word.load(Ordering::Acquire);
        loop {
            if let Some(present) = Self::settled(seen, all) {
                return present;
            }
            let closed = seen | seen << HALF;
            match word.compare_exchange_weak(seen, closed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Present::read(seen),
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, AtomicU64};

    const ALL: Present = Present { threads: 3, tested: 2 };

    #[test]
    fn all_that_are_awaited_end_the_wait() {
        let arrivals = Arrivals::default();
        for (is_tested, wanted) in [(false, None), (true, None), (true, Some(ALL))] {
            assert!(arrivals.arrive(is_tested));
            assert_eq!(arrivals.present(ALL), wanted);
        }
        assert_eq!(arrivals.close(ALL), ALL, "nothing is left to be ended");
        assert_eq!(arrivals.present(ALL), Some(ALL));
    }

    #[test]
    fn who_comes_after_the_end_of_the_wait_changes_nothing() {
        let arrivals = Arrivals::default();
        assert!(arrivals.arrive(true));
        let came = Present { threads: 1, tested: 1 };
        assert_eq!(arrivals.close(ALL), came);
        assert!(!arrivals.arrive(true) && !arrivals.arrive(false), "too late");
        assert_eq!((arrivals.present(ALL), arrivals.close(ALL)), (Some(came), came));
    }

    /// Threads arrive while another ends the wait, at any moment of it, again and again.
    #[test]
    fn all_see_the_same_and_exactly_those_are_in_time_that_are_counted() {
        const THREADS: u32 = 4;
        let all = Present { threads: THREADS, tested: 2 };
        for turn in 0..2_000_u32 {
            let arrivals = Arrivals::default();
            let (in_time, tested) = (AtomicU32::new(0), AtomicU32::new(0));
            let seen = AtomicU64::new(u64::MAX);
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (arrivals, in_time, tested, seen) = (&arrivals, &in_time, &tested, &seen);
                    scope.spawn(move || {
                        let is_tested = thread < 2;
                        if !arrivals.arrive(is_tested) {
                            return;
                        }
                        in_time.fetch_add(1, Ordering::Relaxed);
                        tested.fetch_add(u32::from(is_tested), Ordering::Relaxed);
                        let present = if thread == turn % THREADS {
                            arrivals.close(all)
                        } else {
                            loop {
                                if let Some(present) = arrivals.present(all) {
                                    break present;
                                }
                                std::thread::yield_now();
                            }
                        };
                        let word = u64::from(present.threads) << 32 | u64::from(present.tested);
                        let before = seen.swap(word, Ordering::AcqRel);
                        assert!(before == u64::MAX || before == word, "{before:x} and {word:x}");
                    });
                }
            });
            let word = u64::from(in_time.into_inner()) << 32 | u64::from(tested.into_inner());
            assert_eq!(seen.into_inner(), word, "turn {turn}");
        }
    }
}
