//! Quantiles and shares of all steps of several blocks, with intervals over blocks.
//!
//! Steps of one block resemble each other: they share its cores, its moment and its queue. So the block is the unit. A
//! queue that is a little slower has many times as many slow steps, so that the shares of blocks are far from normal, and
//! a few bad blocks that were not met would be most of what is above a bound. Their logarithms are close to normal, and
//! the interval is that of the mean of a log-normal quantity (G. Y. Zou, J. Taleban, C. Y. Huo, Computational Statistics
//! and Data Analysis 53, 2009: limits of the mean and of half of the variance, joined), never narrower than that of
//! independent steps (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927). The interval of a quantile holds the values that the
//! interval of a share does not exclude (R. S. Woodruff, J. Am. Stat. Assoc. 47, 1952). No block needs steps enough for a
//! percentile of its own.

use crate::correlation::{common, of_one};
use crate::latency::MergedLatency;
use crate::mean::MeanEstimate;
use crate::student::{summary, t_quantile};
use crate::variances::chi_squared_quantile;
use threadwise_document::Interval;

/// The latencies of a treatment, block by block.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    blocks: Vec<Steps>,
    all: Steps,
    /// Lag-1 correlation of the logarithms of shares of neighbouring blocks.
    correlation: f64,
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

    /// How many took longer.
    fn above(&self, latency_ns: u64) -> f64 {
        let after = self.0.partition_point(|(ns, _)| *ns <= latency_ns);
        self.total() - after.checked_sub(1).map_or(0.0, |last| self.0[last].1 as f64)
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

/// An end of intervals at one level with so many blocks.
struct End {
    /// Student's t: below 0 for the lower end.
    t: f64,
    /// By how much the variance may exceed its estimate, as a share of it; below 0 for the lower end.
    variance: f64,
}

impl End {
    /// The lower and the upper one.
    fn both(blocks: usize, alpha: f64) -> Option<[Self; 2]> {
        let degrees = blocks.checked_sub(1)? as f64;
        let end = |p: f64| {
            let variance = degrees / chi_squared_quantile(1.0 - p, degrees)? - 1.0;
            Some(Self { t: t_quantile(p, degrees)?, variance })
        };
        Some([end(alpha / 2.0)?, end(1.0 - alpha / 2.0)?])
    }

    /// Of the mean of a quantity that is log-normal over blocks.
    fn of_log_normal(&self, logs: &[f64], correlation: f64) -> Option<f64> {
        let mean = MeanEstimate::correlated(logs, correlation)?;
        let half_variance = summary(logs)?.sd.powi(2) / 2.0;
        let away = (self.t * mean.standard_error).hypot(self.variance * half_variance);
        Some((mean.mean + half_variance + away.copysign(self.t)).exp())
    }

    /// Of a share of independent steps (Wilson).
    fn of_independent(&self, above: f64, total: f64) -> f64 {
        let squared = self.t * self.t;
        let away = self.t * (above * (1.0 - above / total) + squared / 4.0).sqrt();
        (above + squared / 2.0 + away) / (total + squared)
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
        let blocks: Vec<Steps> = buckets.into_iter().map(Steps::of).collect();
        (!blocks.is_empty()).then_some(Self { blocks, all, correlation: 0.0 })
    }

    /// Lets the intervals of treatments that ran in the same blocks allow for correlation of neighbouring blocks, which
    /// is estimated from all of them together, by their shares above their own quantile.
    pub fn correlate(family: &mut [&mut Self], q: f64) {
        let logs = |one: &&mut Self| Some(one.logs(one.all.quantile(q)? as u64, 1.0));
        let series: Vec<Option<Vec<f64>>> = family.iter().map(logs).collect();
        let all: Vec<&[f64]> = series.iter().flatten().map(Vec::as_slice).collect();
        let rho = common(&all);
        for (one, logs) in family.iter_mut().zip(&series) {
            one.correlation = logs.as_ref().map_or(rho, |logs| of_one(logs, rho));
        }
    }

    /// Steps of all blocks.
    pub fn steps(&self) -> u64 {
        self.all.0.last().map_or(0, |(_, steps)| *steps)
    }

    /// Mean latency of the answered steps of each block that has any, nanoseconds.
    pub fn means_ns(&self) -> impl Iterator<Item = f64> {
        self.blocks.iter().filter_map(Steps::mean)
    }

    /// The share of all steps that took longer than this, with its interval at level 1 − `alpha`, of which blocks are a
    /// sample.
    ///
    /// `None` with fewer than two blocks.
    pub fn share_above(&self, latency_ns: u64, alpha: f64) -> Option<Interval> {
        Some(self.between(latency_ns, &End::both(self.blocks.len(), alpha)?))
    }

    fn between(&self, latency_ns: u64, [lower, upper]: &[End; 2]) -> Interval {
        let (total, above) = (self.all.total(), self.all.above(latency_ns));
        // For the lower end half a step more in each block must not raise the share of all.
        let [fewer, more] = [0.5 * total / above.max(0.5), 1.0].map(|added| self.logs(latency_ns, added));
        let low = lower.of_log_normal(&fewer, self.correlation).unwrap_or(0.0);
        let high = upper.of_log_normal(&more, self.correlation).unwrap_or(1.0);
        Interval {
            mean: above / total,
            low: low.min(lower.of_independent(above, total)),
            high: high.max(upper.of_independent(above, total)).min(1.0),
            unit: "1".to_owned(),
        }
    }

    /// Logarithms of the shares of blocks above a latency, of half a step more and so many steps in all, so that a block
    /// without any has one.
    fn logs(&self, latency_ns: u64, added: f64) -> Vec<f64> {
        let log = |block: &Steps| ((block.above(latency_ns) + 0.5) / (block.total() + added)).ln();
        self.blocks.iter().map(log).collect()
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
        let mean = self.all.quantile(q)?;
        let open = Interval { mean, low: 0.0, high: f64::INFINITY, unit: "ns".to_owned() };
        let Some(ends) = End::both(self.blocks.len(), alpha) else { return Some(open) };
        let above = |ns: u64| self.between(ns, &ends);
        // The first latency that is not shown to be below the quantile, and the first that is shown not to be; the
        // largest step is no upper end of anything.
        let steps = &self.all.0;
        let low = steps.partition_point(|(ns, _)| above(*ns).low > 1.0 - q);
        let high = steps.partition_point(|(ns, _)| above(*ns).high > 1.0 - q);
        let is_end = |(ns, within): &&(u64, u64)| *ns != UNANSWERED_NS && (*within as f64) < total;
        Some(Interval {
            low: steps.get(low).filter(|_| low > 0).map_or(0.0, |(ns, _)| *ns as f64).min(mean),
            high: steps.get(high).filter(is_end).map_or(f64::INFINITY, |(ns, _)| *ns as f64).max(mean),
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
            // Of p99.9 twelve steps are expected above it; where blocks differ much, they are in blocks that were not met.
            for (sd, least) in [(0.1, 930), (0.2, 930), (0.4, 700)] {
                let covered = super::covered(1000, (sd, 8, 1500), 0.999);
                println!("{sd}, 8 x 1500, 0.999: {covered} of 1000");
                assert!((least..=1000).contains(&covered), "{sd}: {covered}");
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
        let share = found.share_above(60_000_000_000, 0.05).unwrap();
        assert!(share.low > 0.01 && share.low < 0.02 && share.high > 0.02, "{share:?}");
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
        let block = |above: u64| block((0..100).map(|at| if at < above { 3e6 } else { 1e6 }));
        let same = Clusters::of(&[2, 2, 2, 2].map(block)).unwrap();
        // Wilson's interval of 8 of 400 with t(0.975, 3) = 3.1824: (8 + 5.0639 ± 3.1824 √(7.84 + 2.5320)) / 410.128.
        let share = same.share_above(2_000_000, 0.05).unwrap();
        assert!((share.low - 0.006864).abs() < 1e-5 && (share.high - 0.056843).abs() < 1e-5, "{share:?}");
        let unequal = Clusters::of(&[0, 0, 0, 8].map(block)).unwrap();
        let wide = unequal.share_above(2_000_000, 0.05).unwrap();
        assert!(wide.low < share.low && wide.high > 10.0 * share.high, "{wide:?}");
        assert_eq!(Clusters::of(&[block(1)]).unwrap().share_above(2_000_000, 0.05), None);
    }

    #[test]
    fn ends_of_log_normal_means_worked_by_hand() {
        // Zou et al.'s method for logarithms -5, -4, -3: mean -4, variance 1, t(0.975, 2) = 4.3027, chi-squared of 2
        // degrees 0.05064 and 7.3778 at 2.5% and 97.5%.
        let [lower, upper] = End::both(3, 0.05).unwrap();
        let logs = [-5.0, -4.0, -3.0];
        let (t, low, high) =
            (4.302_65 / 3_f64.sqrt(), 0.5 * (1.0 - 2.0 / 7.377_76), 0.5 * (2.0 / 0.050_636 - 1.0));
        let expected = [(-3.5 - t.hypot(low)).exp(), (-3.5 + t.hypot(high)).exp()];
        let found = [&lower, &upper].map(|end| end.of_log_normal(&logs, 0.0).unwrap());
        assert!((found[0] / expected[0] - 1.0).abs() < 1e-3, "{found:?} {expected:?}");
        assert!((found[1] / expected[1] - 1.0).abs() < 1e-3, "{found:?} {expected:?}");
    }
}
