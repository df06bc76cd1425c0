//! Looks: where a hypervisor runs our logical CPUs at this moment, in some tens of microseconds.
//!
//! A study of seconds sees a mixture: a guest's logical CPUs are moved between cores while it runs, and a
//! probe of a second can only say *moving*. A look is short enough to be one state: two logical CPUs pass
//! a cache line, then all run the wide kernel at once. What is seen is kept as it is; [`state`] judges it
//! by levels that come from many looks. Method and figures: docs/PROBE.md, "Looks".

pub mod follow;
pub mod live;
mod meet;

use crate::co_runner::{BUSY_BELOW, FREE_ADDS};
use crate::kernels::WIDE_ADDS_PER_STEP;
use crate::siblings::figures::best_level;

/// Longest time of one move of a line between siblings that was ever seen: in published results of 26
/// machines (nviennot/core-to-core-latency and its issues) 698 pairs of siblings had at most 13.8 ns, and
/// of 82,836 other pairs four of one noisy machine were below 14.5 ns.
pub const SIBLINGS_AT_MOST_NS: f64 = 14.5;

/// Lines of siblings and of others have to be this far apart, as a ratio, in the looks themselves.
const VALLEY: f64 = 1.5;

/// What was seen at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// When it began, nanoseconds of CLOCK_MONOTONIC since the lookers were made.
    pub at_ns: u64,
    /// Until the last one had finished.
    pub took_ns: u64,
    /// One entry a logical CPU, in the order asked for.
    pub cpus: Vec<CpuLook>,
    /// One entry a pair, in the order asked for.
    pub pairs: Vec<PairLook>,
}

/// One logical CPU in a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuLook {
    /// OS number.
    pub cpu: u32,
    /// Adds of the wide kernel per step of the latency-limited one, while all others ran it too; `None`
    /// where it did not run in time.
    pub adds_per_step: Option<f64>,
}

/// Two logical CPUs in a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairLook {
    /// OS number.
    pub a: u32,
    /// OS number.
    pub b: u32,
    /// One move of a cache line, nanoseconds: the least of some batches; `None` where it did not get to
    /// and fro within the deadline.
    pub line_ns: Option<f64>,
}

/// Where two logical CPUs were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The line was as fast as between siblings, and both were slowed.
    SameCore,
    /// On different cores, both with their whole width.
    Clear,
    /// On different cores, and somebody else was busy on the core of one or of both.
    CoRunner {
        /// Of the first.
        on_a: bool,
        /// Of the second.
        on_b: bool,
    },
    /// They did not run at the same time: on one logical CPU of the host in turns, or one was taken away.
    Stacked,
    /// The figures contradict each other, or a level is not known.
    Unknown,
}

/// What looks are judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// A line that takes no longer is one between siblings; `None` where the looks leave no gap there.
    pub siblings_ns: Option<f64>,
}

impl Levels {
    /// From the lines of many looks (nanoseconds a move).
    pub fn of(lines_ns: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = (0.0_f64, f64::INFINITY);
        for line_ns in lines_ns {
            if line_ns <= SIBLINGS_AT_MOST_NS {
                low = low.max(line_ns);
            } else {
                high = high.min(line_ns);
            }
        }
        let is_gap = high / low.max(f64::MIN_POSITIVE) >= VALLEY;
        Self { siblings_ns: is_gap.then_some(SIBLINGS_AT_MOST_NS) }
    }
}

/// Adds per chain step of a logical CPU whose core is free, from many looks at it; `None` where it never
/// had a width that only a free core has, or where the widths of an architecture are not known.
pub fn free_width(adds_per_step: &[f64]) -> Option<f64> {
    best_level(adds_per_step).filter(|best| FREE_ADDS.is_some_and(|free| *best >= free))
}

/// Judges one look at a pair; `adds_per_step` and `free` (see [`free_width`]) are of its two.
pub fn state(
    line_ns: Option<f64>,
    adds_per_step: [Option<f64>; 2],
    free: [Option<f64>; 2],
    levels: &Levels,
) -> State {
    let Some(line_ns) = line_ns else { return State::Stacked };
    let slowed = |at: usize| Some(adds_per_step[at]? < BUSY_BELOW * free[at]?);
    let (Some(on_a), Some(on_b), Some(siblings_ns)) = (slowed(0), slowed(1), levels.siblings_ns) else {
        return State::Unknown;
    };
    match (line_ns <= siblings_ns, on_a, on_b) {
        (true, true, true) => State::SameCore,
        (true, _, _) => State::Unknown,
        (false, false, false) => State::Clear,
        (false, on_a, on_b) => State::CoRunner { on_a, on_b },
    }
}

/// Adds of the wide kernel per step of the latency-limited one, from the times of their steps.
fn adds_per_step(chain_ns: f64, wide_ns: f64) -> Option<f64> {
    (wide_ns > 0.0 && chain_ns > 0.0).then(|| WIDE_ADDS_PER_STEP * chain_ns / wide_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { siblings_ns: Some(SIBLINGS_AT_MOST_NS) };
    const FREE: [Option<f64>; 2] = [Some(4.4), Some(4.4)];

    fn judged(line_ns: f64, a: f64, b: f64) -> State {
        state(Some(line_ns), [Some(a), Some(b)], FREE, &LEVELS)
    }

    #[test]
    fn states_follow_from_line_and_widths() {
        assert_eq!(judged(6.9, 2.4, 2.4), State::SameCore);
        assert_eq!(judged(60.0, 4.4, 4.3), State::Clear);
        assert_eq!(judged(60.0, 2.4, 4.4), State::CoRunner { on_a: true, on_b: false });
        assert_eq!(judged(60.0, 2.4, 2.4), State::CoRunner { on_a: true, on_b: true });
        assert_eq!(state(None, [Some(4.4), None], FREE, &LEVELS), State::Stacked);
    }

    #[test]
    fn contradictions_and_what_is_not_known_are_unknown() {
        assert_eq!(judged(6.9, 4.4, 4.4), State::Unknown, "siblings have to slow each other");
        assert_eq!(judged(6.9, 2.4, 4.4), State::Unknown);
        assert_eq!(state(Some(60.0), [None, Some(4.4)], FREE, &LEVELS), State::Unknown);
        assert_eq!(state(Some(60.0), [Some(4.4); 2], [None, Some(4.4)], &LEVELS), State::Unknown);
        assert_eq!(state(Some(6.9), [Some(2.4); 2], FREE, &Levels { siblings_ns: None }), State::Unknown);
    }

    #[test]
    fn lines_between_siblings_and_others_take_the_level_away() {
        assert_eq!(Levels::of([60.0, 61.0, 55.0]), LEVELS);
        assert_eq!(Levels::of([60.0, 6.9, 7.8]), LEVELS);
        assert_eq!(Levels::of([7.0, 7.5]), LEVELS);
        assert_eq!(Levels::of([60.0, 7.0, 14.0, 16.0]).siblings_ns, None);
    }

    #[cfg(all(target_arch = "x86_64", not(threadwise_portable)))]
    #[test]
    fn a_core_that_is_never_free_has_no_level() {
        let mut adds = vec![2.4; 19];
        assert_eq!(free_width(&adds), None);
        adds.extend([4.4; 5]);
        assert_eq!(free_width(&adds), Some(4.4));
        assert_eq!(free_width(&[]), None);
    }
}
