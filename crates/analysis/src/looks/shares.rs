//! A share with its interval over blocks.
//!
//! The block is the statistical unit (docs/METHODOLOGY.md): the interval is Student's t over the blocks' shares,
//! cut at 0 and 1.

use crate::statistics::MeanEstimate;
use std::collections::BTreeMap;
use threadwise_document::Interval;

/// How many of all had something, by block.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockShares(BTreeMap<u32, (u32, u32)>);

impl BlockShares {
    /// Counts one more.
    pub(super) fn add(&mut self, block: u32, is_hit: bool) {
        let (hits, all) = self.0.entry(block).or_default();
        *hits += u32::from(is_hit);
        *all += 1;
    }

    /// How many there are.
    pub(super) fn all(&self) -> u32 {
        self.0.values().map(|(_, all)| all).sum()
    }

    /// Mean of the blocks' shares with its interval at level 1 − `alpha`; `None` without any. It has no ends with
    /// one block, nor where no two blocks differ: t would give an interval without width, which what was never
    /// seen in some hundred looks does not deserve.
    pub(super) fn interval(&self, alpha: f64) -> Option<Interval> {
        let shares: Vec<f64> =
            self.0.values().map(|(hits, all)| f64::from(*hits) / f64::from(*all)).collect();
        let estimate = MeanEstimate::of(&shares)?;
        let differ = shares.iter().any(|share| *share != shares[0]);
        let (low, high) = match differ {
            true => estimate.interval(alpha),
            false => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let end = |end: f64| if end.is_finite() { end.clamp(0.0, 1.0) } else { end };
        Some(Interval { mean: estimate.mean, low: end(low), high: end(high), unit: "share".to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval_of(blocks: &[(u32, u32)]) -> Option<Interval> {
        let mut shares = BlockShares::default();
        for (block, (hits, all)) in (0..).zip(blocks) {
            (0..*all).for_each(|at| shares.add(block, at < *hits));
        }
        shares.interval(0.05)
    }

    #[test]
    fn blocks_count_alike_and_ends_are_shares() {
        // 0.1, 0.2, 0.3, 0.4, 0.5: mean 0.3, sd 0.158, standard error 0.0707, t(0.975, 4) = 2.776.
        let got = interval_of(&[(1, 10), (2, 10), (30, 100), (4, 10), (5, 10)]).unwrap();
        assert!((got.mean - 0.3).abs() < 1e-12, "{got:?}");
        assert!((got.low - 0.1037).abs() < 1e-3 && (got.high - 0.4963).abs() < 1e-3, "{got:?}");
        let cut = interval_of(&[(0, 10), (0, 10), (3, 10)]).unwrap();
        assert!(cut.low == 0.0 && cut.high > 0.3 && cut.high < 1.0, "{cut:?}");
    }

    #[test]
    fn no_interval_without_blocks_that_differ() {
        assert_eq!(interval_of(&[]), None);
        for one in [interval_of(&[(3, 10)]), interval_of(&[(0, 10), (0, 20)])] {
            assert!(!one.unwrap().has_ends());
        }
    }
}
