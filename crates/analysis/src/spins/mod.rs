//! What counted spins can have cost, and what samples of a running server say: the arithmetic of published spinlock measurements, with a clock in cycles a second.
//!
//! Seconds × cores × clock / spins is an upper bound of the cycles of a spin, as if all time had been spent spinning.
//! The other way round, a spin of known length has a share of the time. A spin is at the least a few cycles; with a PAUSE
//! it is about 10 cycles on Intel processors before Skylake and about 140 since (Intel 64 and IA-32 Architectures
//! Optimization Reference Manual, "Pause Latency in Skylake Client Microarchitecture").

mod sampled;

pub use sampled::{Kind, Samples, read};

use crate::activity::cycles_per_spin_bound;
use serde::Serialize;

/// Cycles of a spin with a PAUSE, on older Intel processors and since Skylake.
const PAUSE_CYCLES: [f64; 2] = [10.0, 140.0];

/// What was counted on a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counted {
    /// Spins.
    pub spins: f64,
    /// Backoffs, where they were counted.
    pub backoffs: Option<f64>,
    /// In how many seconds.
    pub seconds: f64,
    /// Cycles a second, in 10^9.
    pub ghz: f64,
    /// Cores that were busy.
    pub cores: f64,
    /// Sampled share of the CPU time that was spent spinning, where known.
    pub spinning_share: Option<f64>,
}

/// What follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Cycles of all cores in the time.
    pub cycles: f64,
    /// Cycles of a spin, at most.
    pub cycles_per_spin_bound: f64,
    /// Cycles of a spin by the sampled share.
    pub cycles_per_spin: Option<f64>,
    /// Spins a backoff.
    pub spins_per_backoff: Option<f64>,
    /// Share of the time that spins with a PAUSE of 10 cycles take; above 1 where spins have to be shorter.
    pub share_at_10_cycles: f64,
    /// The same of 140 cycles.
    pub share_at_140_cycles: f64,
}

/// Of the rate that was lost the part that spins explain at most: with a rate of `rate` times the baseline's and a share
/// `spinning` of the sessions' time spent spinning, the rate without spins would be `rate / (1 - spinning)` at most. It
/// grows with both, so that upper ends of intervals give an upper end. `None` where nothing is lost, or a figure is no
/// share.
pub fn explained_at_most(rate: f64, spinning: f64) -> Option<f64> {
    let is_known = (0.0..1.0).contains(&rate) && (0.0..1.0).contains(&spinning);
    is_known.then(|| rate * spinning / ((1.0 - spinning) * (1.0 - rate)))
}

/// Below this part of what was lost spins do not explain it.
pub const EXPLAINED_SHARE: f64 = 0.1;

impl Counted {
    /// What follows; every number has to be positive. `None` where the numbers are too large or too small for that.
    pub fn cost(&self) -> Option<Cost> {
        let bound = cycles_per_spin_bound(self.seconds, self.cores, self.ghz * 1e9, self.spins)?;
        let is_number = |value: &f64| value.is_finite() && *value > 0.0;
        Some(bound).filter(is_number).map(|bound| Cost {
            cycles: self.seconds * self.cores * self.ghz * 1e9,
            cycles_per_spin_bound: bound,
            cycles_per_spin: self.spinning_share.map(|share| share * bound),
            spins_per_backoff: self.backoffs.map(|backoffs| self.spins / backoffs),
            share_at_10_cycles: PAUSE_CYCLES[0] / bound,
            share_at_140_cycles: PAUSE_CYCLES[1] / bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(spins: f64, seconds: f64) -> Counted {
        Counted { spins, backoffs: None, seconds, ghz: 2.4, cores: 5.0, spinning_share: None }
    }

    /// The published figures of sessions on 10 siblings of 5 cores, near and far from the log writer: an arithmetic with
    /// a tenth of the clock gives 111 and 3.
    #[test]
    fn published_counts_give_cycles_by_the_whole_clock() {
        let near = counted(113_246_628.0, 10.434).cost().unwrap();
        let far = counted(6_692_284_057.0, 18.388).cost().unwrap();
        assert_eq!(near.cycles_per_spin_bound.round(), 1106.0);
        assert_eq!(far.cycles_per_spin_bound.round(), 33.0);
        assert!(far.share_at_140_cycles > 1.0 && (far.share_at_10_cycles - 0.303).abs() < 0.001, "{far:?}");
    }

    #[test]
    fn a_sampled_share_and_backoffs_are_taken_in() {
        let one =
            Counted { spinning_share: Some(0.0026), backoffs: Some(1e6), ..counted(6_692_284_057.0, 18.388) };
        let cost = one.cost().unwrap();
        assert!((cost.cycles_per_spin.unwrap() - 0.0857).abs() < 0.001, "{cost:?}");
        assert!((cost.spins_per_backoff.unwrap() - 6692.0).abs() < 1.0);
        assert_eq!(counted(f64::MIN_POSITIVE, f64::MAX).cost(), None);
    }
}
