//! Looks: where a hypervisor runs our logical CPUs at this moment, in some tens of microseconds.
//!
//! A study of seconds sees a mixture: a guest's logical CPUs are moved between cores while it runs, and a
//! probe of a second can only say *moving*. A look is short enough to be one state: two logical CPUs pass
//! a cache line, then all run the wide kernel at once. What is seen is kept as it is; [`follow`]
//! judges it by levels that come from many looks. Method and figures: docs/PROBE.md, "Looks".

pub mod follow;
pub mod live;
mod meet;

use crate::co_runner::FREE_ADDS;
use crate::kernels::WIDE_ADDS_PER_STEP;
use crate::siblings::figures::best_level;

/// Longest time of one move of a line between siblings. In the results of 27 machines with SMT that come with
/// core-to-core-latency (<https://github.com/nviennot/core-to-core-latency>) 706 pairs of siblings took at most
/// 13.8 ns; of the 83,104 other pairs four were below 14.5 ns, all of one machine whose results are noisy, and
/// the next took 15.4 ns.
pub const SIBLINGS_AT_MOST_NS: f64 = 14.5;

/// The lines of siblings and the others have to be this far apart, as a ratio, in the looks themselves. On 26
/// of the 27 machines above they are: by 1.56 and more.
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

/// Adds of the wide kernel per step of the latency-limited one, from the times of their steps.
fn adds_per_step(chain_ns: f64, wide_ns: f64) -> Option<f64> {
    (wide_ns > 0.0 && chain_ns > 0.0).then(|| WIDE_ADDS_PER_STEP * chain_ns / wide_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { siblings_ns: Some(SIBLINGS_AT_MOST_NS) };
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
