//! A share with its interval over blocks.
//!
//! The block is the statistical unit (docs/METHODOLOGY.md). Shares near 0 and 1 are far from normal, and Student's t
//! over blocks misses rare states too often; the interval is that of Korn and Graubard, "Confidence intervals for
//! proportions with small expected number of positive counts estimated from survey data" (Survey Methodology 24, 1998):
//! Clopper and Pearson's, for as many independent looks as would vary as much as the blocks do.

use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::BTreeMap;
use threadwise_document::Interval;
use threadwise_statistics::{LeftOut, MeanEstimate, t_quantile};

/// Shares of blocks that differ by less are equal: sums of weights are rounded.
const ALIKE: f64 = 1e-9;

/// Counts of hits and of all, by block, with weights.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockShares {
    /// Weights of the hits and of all.
    blocks: BTreeMap<u32, (f64, f64)>,
    all: u32,
}

impl BlockShares {
    /// Counts one more.
    pub(crate) fn add(&mut self, block: u32, is_hit: bool) {
        self.add_weighted(block, is_hit, 1.0);
    }

    /// Counts one more, with this positive weight in the share of its block. Blocks have equal weight.
    pub(super) fn add_weighted(&mut self, block: u32, is_hit: bool, weight: f64) {
        self.add_block(block, if is_hit { weight } else { 0.0 }, weight, 1);
    }

    /// Counts several of a block, by the sums of their weights.
    pub(super) fn add_block(&mut self, block: u32, hits: f64, all: f64, count: u32) {
        let sums = self.blocks.entry(block).or_default();
        sums.0 += hits;
        sums.1 += all;
        self.all += count;
    }

    /// Number of counts.
    pub(super) fn all(&self) -> u32 {
        self.all
    }

    /// Mean of the blocks' shares with its interval at level 1 − `alpha`; `None` without any. It has no ends with one
    /// block, or if no two blocks differ: t would give an interval without width, which some hundred looks without an
    /// occurrence do not justify.
    pub(crate) fn interval(&self, alpha: f64) -> Option<Interval> {
        let shares: Vec<f64> = self.blocks.values().map(|(hits, all)| hits / all).collect();
        let estimate = MeanEstimate::of(&shares)?;
        let differ = shares.iter().any(|share| (share - shares[0]).abs() > ALIKE);
        let ends = differ.then(|| self.ends(&estimate, alpha)).flatten();
        let (low, high) = ends.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Some(Interval { mean: estimate.mean, low, high, unit: "share".to_owned() })
    }

    /// The same of all counts together rather than of the blocks' mean: the mean is the share of all, and leaving out one
    /// block at a time gives its error.
    pub(crate) fn pooled(&self, alpha: f64) -> Option<Interval> {
        let blocks: Vec<(f64, f64)> = self.blocks.values().copied().collect();
        let share = |blocks: &[&(f64, f64)]| {
            let (hits, all) = blocks.iter().fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
            Some(hits / all)
        };
        let left_out = LeftOut::of(&blocks, share)?;
        let estimate = left_out.estimate().filter(|estimate| estimate.standard_error > ALIKE);
        let ends = estimate.and_then(|estimate| self.ends(&estimate, alpha));
        let (low, high) = ends.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        Some(Interval { mean: left_out.all, low, high, unit: "share".to_owned() })
    }

    /// Ends of the interval around a mean whose blocks differ.
    fn ends(&self, estimate: &MeanEstimate, alpha: f64) -> Option<(f64, f64)> {
        let (share, all) = (estimate.mean, f64::from(self.all()));
        let quantile = |n: f64| t_quantile(1.0 - alpha / 2.0, n - 1.0);
        let few_blocks = (quantile(all)? / quantile(estimate.n as f64)?).powi(2);
        let independent = (share * (1.0 - share) / estimate.standard_error.powi(2) * few_blocks).min(all);
        let (hits, others) = (independent * share, independent * (1.0 - share));
        let end = |p: f64, a: f64, b: f64| Beta::new(a, b).ok().map(|beta| beta.inverse_cdf(p));
        Some((end(alpha / 2.0, hits, others + 1.0)?, end(1.0 - alpha / 2.0, hits + 1.0, others)?))
    }
}

#[cfg(test)]
#[allow(clippy::print_stdout)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn interval_of(blocks: &[(u32, u32)]) -> Option<Interval> {
        let mut shares = BlockShares::default();
        for (block, (hits, all)) in (0..).zip(blocks) {
            (0..*all).for_each(|at| shares.add(block, at < *hits));
        }
        shares.interval(0.05)
    }

    #[test]
    fn blocks_count_alike_and_ends_are_shares() {
        // 0.1, 0.2, 0.3, 0.4, 0.5: mean 0.3, standard error 0.0707: 0.21 / 0.005 = 42 independent looks, times
        // (t(139) / t(4))² = (1.977 / 2.776)²: 21.3, of which 6.39 hit. Beta(6.39, 15.91) and (7.39, 14.91).
        let got = interval_of(&[(1, 10), (2, 10), (30, 100), (4, 10), (5, 10)]).unwrap();
        assert!((got.mean - 0.3).abs() < 1e-12, "{got:?}");
        assert!((got.low - 0.1235).abs() < 1e-3 && (got.high - 0.5345).abs() < 1e-3, "{got:?}");
        let cut = interval_of(&[(0, 10), (0, 10), (3, 10)]).unwrap();
        assert!(cut.low > 0.0 && cut.low < 0.01 && cut.high > 0.3 && cut.high < 1.0, "{cut:?}");
    }

    /// Share of one core in a block's looks before slices, one every 56 ms, of a host with exponential visits.
    fn block_hits(prevalence: f64, visit_s: f64, looks: u32, random: &mut ChaCha8Rng) -> u32 {
        const EVERY_S: f64 = 0.056;
        let mut is_on = random.random::<f64>() < prevalence;
        let changed = |rate: f64| 1.0 - (-rate * EVERY_S).exp();
        let [leave, come] = [1.0, prevalence / (1.0 - prevalence)].map(|rate| rate / visit_s);
        (0..looks).fold(0, |hits, _| {
            // Leaving and coming back between two looks leaves the state as it was.
            let change = if is_on { leave } else { come } / (leave + come) * changed(leave + come);
            is_on ^= random.random::<f64>() < change;
            hits + u32::from(is_on)
        })
    }

    /// docs/METHODOLOGY.md has the figures.
    #[test]
    fn intervals_of_shares_cover_the_truth_as_documented() {
        let mut random = ChaCha8Rng::seed_from_u64(24);
        // Prevalence, mean visit in seconds, blocks, lowest share of intervals that cover.
        let cases = [
            (0.01, 1.0, 8, 0.93),
            (0.05, 1.0, 8, 0.89),
            (0.25, 0.2, 8, 0.94),
            (0.25, 1.0, 8, 0.94),
            (0.25, 1.0, 32, 0.93),
        ];
        for (prevalence, visit_s, blocks, lowest) in cases {
            let (mut with_ends, mut covered) = (0, 0);
            for _ in 0..1_000 {
                let made: Vec<(u32, u32)> =
                    (0..blocks).map(|_| (block_hits(prevalence, visit_s, 180, &mut random), 180)).collect();
                let got = interval_of(&made).unwrap();
                with_ends += u32::from(got.has_ends());
                covered += u32::from(got.has_ends() && got.low <= prevalence && prevalence <= got.high);
            }
            let share = f64::from(covered) / f64::from(with_ends);
            println!(
                "one core {prevalence} of the time, visits of {visit_s} s, {blocks} blocks: {share:.3} of {with_ends} \
                 intervals cover it"
            );
            assert!(share > lowest, "{prevalence} {visit_s} {blocks}: {share}");
        }
    }

    #[test]
    fn weights_count_inside_blocks_and_blocks_count_alike() {
        let mut shares = BlockShares::default();
        // 3 of 4 seconds; none of 40.
        [(0, true, 3.0), (0, false, 1.0), (1, false, 40.0)]
            .into_iter()
            .for_each(|(block, is_hit, weight)| shares.add_weighted(block, is_hit, weight));
        let got = shares.interval(0.05).unwrap();
        assert_eq!((got.mean, shares.all()), (0.375, 3));
        assert!(got.has_ends() && got.low > 0.0 && got.high < 1.0, "{got:?}");
        let mut alike = BlockShares::default();
        for (block, weight) in [(0, 0.1), (0, 0.2), (1, 0.3), (1, 0.3)] {
            alike.add_weighted(block, true, weight);
        }
        alike.add_weighted(0, false, 0.3);
        alike.add_weighted(1, false, 0.6);
        assert!(!alike.interval(0.05).unwrap().has_ends(), "0.1 + 0.2 is not 0.3 in binary");
    }

    #[test]
    fn no_interval_without_blocks_that_differ() {
        assert_eq!(interval_of(&[]), None);
        for one in [interval_of(&[(3, 10)]), interval_of(&[(0, 10), (0, 20)])] {
            assert!(!one.unwrap().has_ends());
        }
    }
}
