//! Quantiles and shares of all steps of several blocks, with intervals over blocks.
//!
//! Steps of one block resemble each other: they share its cores, its moment and its queue. So the block is the unit. The
//! share of the steps at or below a value is a ratio of two sums over blocks, with the standard error of a ratio
//! estimator (W. G. Cochran, "Sampling Techniques", 3rd ed., 1977, section 6.4, and 9A for unequal clusters); the
//! interval of a quantile are the values between which that share's interval lies (R. S. Woodruff, J. Am. Stat. Assoc.
//! 47, 1952). No block needs steps enough for a percentile of its own.

use crate::latency::MergedLatency;
use crate::student::t_quantile;
use threadwise_document::Interval;

/// The latencies of a treatment, block by block.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    blocks: Vec<Steps>,
    all: Steps,
}

/// Stands for the latency of what was not answered: longer than all others.
const UNANSWERED_NS: u64 = u64::MAX;

/// Steps by latency, nanoseconds: ascending, each latency with the number of steps that took no longer.
#[derive(Debug, Clone, PartialEq)]
struct Steps(Vec<(u64, u64)>);

impl Steps {
    /// From pairs of a latency and its steps.
    fn of(mut steps: Vec<(u64, u64)>) -> Self {
        steps.sort_unstable();
        let mut sum = 0_u64;
        let mut found: Vec<(u64, u64)> = Vec::with_capacity(steps.len());
        for (ns, count) in steps {
            sum = sum.saturating_add(count);
            match found.last_mut() {
                Some((last, steps)) if *last == ns => *steps = sum,
                _ => found.push((ns, sum)),
            }
        }
        Self(found)
    }

    fn total(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, steps)| *steps as f64)
    }

    /// The share that took no longer.
    fn share_within(&self, latency_ns: u64) -> f64 {
        let after = self.0.partition_point(|(ns, _)| *ns <= latency_ns);
        let within = after.checked_sub(1).map_or(0, |last| self.0[last].1);
        within as f64 / self.total()
    }

    /// The latency of the step of rank ⌈share · steps⌉; `None` if it was not answered.
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.total()).ceil().max(1.0);
        let at = self.0.partition_point(|(_, steps)| (*steps as f64) < rank);
        self.0.get(at).filter(|(ns, _)| *ns != UNANSWERED_NS).map(|(ns, _)| *ns as f64)
    }

    /// The mean of those that were answered; `None` if none was.
    fn mean(&self) -> Option<f64> {
        let (mut sum, mut answered) = (0.0, 0);
        for (ns, steps) in self.0.iter().filter(|(ns, _)| *ns != UNANSWERED_NS) {
            sum += *ns as f64 * (steps - answered) as f64;
            answered = *steps;
        }
        (answered > 0).then(|| sum / answered as f64)
    }
}

/// A share of the steps with its standard error over blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterShare {
    /// The share.
    pub share: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Blocks less 1.
    pub degrees: f64,
}

impl ClusterShare {
    /// Student's t of the share less another one; more than 0 if it is larger. Infinite without a standard error.
    pub fn t_against(&self, other: f64) -> f64 {
        (self.share - other) / self.standard_error
    }
}

impl Clusters {
    /// Of some blocks; those without a step are left out. `None` if none has one.
    pub fn of(blocks: &[MergedLatency]) -> Option<Self> {
        Self::with_unanswered(&blocks.iter().map(|block| (block, 0)).collect::<Vec<_>>())
    }

    /// The same of blocks with the number of their steps that were given up, each of which took longer than all others:
    /// leaving them out would make a server that does not answer a fast one.
    pub fn with_unanswered(blocks: &[(&MergedLatency, u64)]) -> Option<Self> {
        let of_block = |(answered, unanswered): &(&MergedLatency, u64)| {
            let mut buckets = answered.buckets();
            buckets.extend((*unanswered > 0).then_some((UNANSWERED_NS, *unanswered)));
            buckets
        };
        let buckets: Vec<Vec<(u64, u64)>> =
            blocks.iter().map(of_block).filter(|block| !block.is_empty()).collect();
        let all = Steps::of(buckets.concat());
        (!buckets.is_empty()).then(|| Self { blocks: buckets.into_iter().map(Steps::of).collect(), all })
    }

    /// Steps of all blocks.
    pub fn steps(&self) -> u64 {
        self.all.0.last().map_or(0, |(_, steps)| *steps)
    }

    /// Mean latency of the answered steps of each block that has any, nanoseconds.
    pub fn means_ns(&self) -> impl Iterator<Item = f64> {
        self.blocks.iter().filter_map(Steps::mean)
    }

    /// The share of the steps that took no longer than this, with its standard error, which is never below that of
    /// independent steps of which `expected` are as short: blocks that happen to agree prove no more than that.
    ///
    /// `None` with fewer than two blocks.
    pub fn share_within(&self, latency_ns: u64, expected: f64) -> Option<ClusterShare> {
        let (share, total, n) =
            (self.all.share_within(latency_ns), self.all.total(), self.blocks.len() as f64);
        if self.blocks.len() < 2 {
            return None;
        }
        let residual = |block: &Steps| block.total() * (block.share_within(latency_ns) - share);
        let squares: f64 = self.blocks.iter().map(residual).map(|one| one * one).sum();
        let between = (n / (n - 1.0) * squares).sqrt() / total;
        let independent = (expected * (1.0 - expected) / total).sqrt();
        Some(ClusterShare { share, standard_error: between.max(independent), degrees: n - 1.0 })
    }

    /// The quantile alone, nanoseconds, however few steps there are.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        self.all.quantile(q)
    }

    /// The quantile with its interval at level 1 − `alpha`, nanoseconds. An end that the steps do not determine is 0 or
    /// infinite.
    ///
    /// `None` if fewer than ten steps are expected above it, of which nothing can be said then, or if it is among those
    /// that were not answered.
    pub fn quantile(&self, q: f64, alpha: f64) -> Option<Interval> {
        let total = self.all.total();
        if (1.0 - q) * total < LEAST_ABOVE {
            return None;
        }
        let at = |share: f64| self.all.quantile(share);
        let mean = at(q)?;
        let open = Interval { mean, low: 0.0, high: f64::INFINITY, unit: "ns".to_owned() };
        let Some(share) = self.share_within(mean as u64, q) else { return Some(open) };
        let Some(t) = t_quantile(1.0 - alpha / 2.0, share.degrees) else { return Some(open) };
        let half = t * share.standard_error;
        // The largest step is no upper end of anything.
        let high = Some(q + half).filter(|high| (1.0 - high) * total >= 1.0).and_then(at);
        let low = Some(q - half).filter(|low| *low > 0.0).and_then(at);
        Some(Interval {
            low: low.unwrap_or(0.0).min(mean),
            high: high.unwrap_or(f64::INFINITY).max(mean),
            ..open
        })
    }
}

/// Fewest steps above a quantile.
const LEAST_ABOVE: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn uniform(random: &mut ChaCha8Rng) -> f64 {
        ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn block(latencies: impl Iterator<Item = f64>) -> MergedLatency {
        let mut histogram: Histogram<u32> = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        latencies.for_each(|ns| histogram.saturating_record((ns as u64).max(1)));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        let mut merged = MergedLatency::new();
        merged.add(&bytes).unwrap();
        merged
    }

    /// Exponential latencies whose mean differs from block to block: the quantile of all of them is known by
    /// bisection.
    fn study(seed: u64, blocks: usize, steps: usize, sd: f64) -> Clusters {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let of_block = |_| {
            let normal = (-2.0 * uniform(&mut random).ln()).sqrt()
                * (std::f64::consts::TAU * uniform(&mut random)).cos();
            let mean = 1e6 * (sd * normal).exp();
            block((0..steps).map(|_| -uniform(&mut random).ln() * mean).collect::<Vec<_>>().into_iter())
        };
        Clusters::of(&(0..blocks).map(of_block).collect::<Vec<_>>()).unwrap()
    }

    /// The quantile of exponential latencies whose mean is log-normal, by quadrature over the mean and bisection.
    fn truth(q: f64, sd: f64) -> f64 {
        let above = |ns: f64| -> f64 {
            let (mut sum, mut weights) = (0.0, 0.0);
            for step in -400..=400 {
                let z = f64::from(step) / 80.0;
                let weight = (-z * z / 2.0).exp();
                sum += weight * (-ns / (1e6 * (sd * z).exp())).exp();
                weights += weight;
            }
            sum / weights
        };
        let (mut low, mut high) = (1.0_f64, 1e9_f64);
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if above(middle) > 1.0 - q { low = middle } else { high = middle }
        }
        low
    }

    /// In how many studies the interval covers the true quantile: of blocks that differ by `sd`.
    fn covered(studies: u64, (sd, blocks, steps): (f64, usize, usize), q: f64) -> usize {
        let truth = truth(q, sd);
        let covers = |seed: &u64| {
            let found = study(*seed, blocks, steps, sd).quantile(q, 0.05).unwrap();
            (found.low..=found.high).contains(&truth)
        };
        (0..studies).filter(covers).count()
    }

    /// By how much blocks differ, how many there are, and the steps of each.
    const DESIGNS: [(f64, usize, usize); 4] = [(0.0, 8, 400), (0.2, 8, 400), (0.2, 16, 200), (0.4, 12, 300)];

    #[test]
    fn intervals_cover_the_quantile_where_blocks_differ_and_where_they_do_not() {
        for design in DESIGNS {
            for q in [0.5, 0.99] {
                let covered = covered(120, design, q);
                // 95% of 120 is 114; where blocks differ by 40%, some 90%.
                assert!((102..=120).contains(&covered), "{design:?}, {q}: {covered} of 120");
            }
        }
    }

    mod lab_simulations {
        /// `cargo test -p threadwise-statistics lab_simulations -- --ignored --nocapture` prints the figures of
        /// docs/METHODOLOGY.md.
        #[test]
        #[ignore = "laboratory: simulations"]
        fn coverage_of_quantiles() {
            for design in super::DESIGNS {
                for q in [0.5, 0.99] {
                    let covered = super::covered(1000, design, q);
                    println!("{design:?}, {q}: {covered} of 1000");
                    assert!((850..=1000).contains(&covered), "{design:?}, {q}: {covered}");
                }
            }
        }
    }

    #[test]
    fn an_end_that_steps_do_not_determine_is_open() {
        let few = study(1, 4, 260, 1.0);
        let found = few.quantile(0.99, 0.05).unwrap();
        assert!(found.low > 0.0 && found.low < found.mean && found.high.is_infinite(), "{found:?}");
        assert_eq!(few.quantile(0.999, 0.05), None, "one step is expected above it");
        let one = study(1, 1, 2000, 0.0).quantile(0.99, 0.05).unwrap();
        assert!(one.low == 0.0 && one.high.is_infinite() && one.mean > 4e6);
        assert!(Clusters::of(&[]).is_none());
        assert!((study(1, 1, 2000, 0.0).means_ns().next().unwrap() / 1e6 - 1.0).abs() < 0.1);
    }

    #[test]
    fn what_was_not_answered_took_longer_than_all_else() {
        let answered: Vec<MergedLatency> =
            (0..4).map(|_| block((0..980).map(|at| 1e6 + f64::from(at)))).collect();
        let blocks: Vec<(&MergedLatency, u64)> = answered.iter().map(|block| (block, 20)).collect();
        let found = Clusters::with_unanswered(&blocks).unwrap();
        assert_eq!(found.steps(), 4000);
        assert_eq!(found.share_within(60_000_000_000, 0.99).unwrap().share, 0.98);
        assert_eq!((found.quantile(0.99, 0.05), found.quantile_ns(0.99)), (None, None));
        let median = found.quantile(0.5, 0.05).unwrap();
        assert!((median.mean / 1e6 - 1.0).abs() < 0.01 && median.high.is_finite(), "{median:?}");
        assert!(found.means_ns().all(|mean| (mean / 1e6 - 1.0).abs() < 0.01));
        let none = MergedLatency::new();
        let nothing = Clusters::with_unanswered(&[(&none, 20), (&none, 20)]).unwrap();
        assert!(nothing.means_ns().next().is_none() && nothing.quantile_ns(0.5).is_none());
    }

    #[test]
    fn a_share_is_no_more_certain_than_independent_steps() {
        let blocks: Vec<MergedLatency> =
            (0..4).map(|_| block((0..100).map(|at| 1e6 + f64::from(at)))).collect();
        let same = Clusters::of(&blocks).unwrap();
        let share = same.share_within(2_000_000, 0.99).unwrap();
        assert!(share.share == 1.0 && (share.standard_error - (0.0099_f64 / 400.0).sqrt()).abs() < 1e-12);
        assert!((share.t_against(0.99) - 0.01 / share.standard_error).abs() < 1e-9);
        assert_eq!(share.degrees, 3.0);
    }
}
