//! The ratio of two treatments corrected for lost CPU time.
//!
//! If every session has a logical CPU, the share of its window in which it ran shows how much the hypervisor and others
//! took. Within blocks the rounds show how the ratio follows that share (a slope, without each block's own level, as in
//! an analysis of covariance: Cochran, Biometrics 13, 1957); the blocks' mean ratio is moved along the slope to the
//! point where both sides lost nothing. The interval is Student's t over the jackknife's pseudo-values by block (Tukey
//! 1958; Miller, Biometrika 61, 1974), so that it includes the slope's uncertainty.

use super::comparisons::block_difference;
use super::digest::Digest;
use super::observed::Observed;
use super::sides::Sides;
use super::types::{Adjusted, Estimate, THROUGHPUT};
use super::work::Work;
use threadwise_statistics::{LeftOut, MeanEstimate, correlation, mean};
use threadwise_study::Study;

/// A side whose sessions ran for less of their windows than this, in the tenth of its rounds that lost least, waits for
/// something other than a CPU: another session, a server, a disk, think time.
const LEAST_SHARE: f64 = 0.98;
/// Fewest blocks for a slope.
const MIN_BLOCKS: usize = 4;

/// Data of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostCpu {
    /// Logarithm of the ratio of throughput.
    pub d: f64,
    /// Logarithm of the ratio of shares of time with a CPU.
    share: f64,
    /// Sum over rounds of the products of both deviations from the block's means.
    products: f64,
    /// Sum of squares of the share's deviations.
    squares: f64,
}

impl LostCpu {
    /// Data of one block: the rounds of a treatment, and of its baselines. `None` if a side has no time of its
    /// sessions.
    pub fn of(treatment: &[Work], baselines: &[&[Work]]) -> Option<Self> {
        let d = block_difference(treatment, baselines, Work::rows_per_s)?;
        let share = block_difference(treatment, baselines, Work::cpu_share)?;
        let count = baselines.iter().map(|side| side.len()).min()?.min(treatment.len());
        let rounds = (0..count).filter_map(|round| {
            let below: Vec<&[Work]> = baselines.iter().map(|side| &side[round..=round]).collect();
            let difference = |total| block_difference(&treatment[round..=round], &below, total);
            Some((difference(Work::cpu_share)?, difference(Work::rows_per_s)?))
        });
        let rounds: Vec<(f64, f64)> = rounds.collect();
        let (share_mean, d_mean) =
            (mean(rounds.iter().map(|round| round.0))?, mean(rounds.iter().map(|round| round.1))?);
        let products = rounds.iter().map(|(share, d)| (share - share_mean) * (d - d_mean)).sum();
        let squares = rounds.iter().map(|(share, _)| (share - share_mean).powi(2)).sum();
        Some(Self { d, share, products, squares })
    }
}

/// Slope over blocks, and the mean of d with nothing lost. `None` if losses do not differ.
fn fit<'a>(blocks: impl Iterator<Item = &'a LostCpu>) -> Option<(f64, f64)> {
    let [mut n, mut d, mut share, mut products, mut squares] = [0.0; 5];
    for block in blocks {
        n += 1.0;
        d += block.d;
        share += block.share;
        products += block.products;
        squares += block.squares;
    }
    let slope = products / squares;
    (squares > 0.0 && slope.is_finite()).then(|| (slope, (d - slope * share) / n))
}

/// The jackknife's pseudo-values by block, whose mean is the adjusted logarithm of the ratio, and the slope. `None`
/// with fewer than four blocks, or if nothing was lost.
pub fn pseudo_values(blocks: &[LostCpu]) -> Option<(Vec<f64>, f64)> {
    let (slope, _) = fit(blocks.iter()).filter(|_| blocks.len() >= MIN_BLOCKS)?;
    let left_out = LeftOut::of(blocks, |blocks| Some(fit(blocks.iter().copied())?.1))?;
    Some((left_out.pseudo_values(), slope))
}

/// The logarithm of the ratio of shares of time with a CPU, over blocks. `None` without a block.
///
/// It shows how much there is to adjust and ignores other scatter: selecting ratios by it, rather than by the width of
/// their adjusted intervals, does not select intervals that are too narrow.
pub fn cpu_share(blocks: &[LostCpu]) -> Option<MeanEstimate> {
    MeanEstimate::of(&blocks.iter().map(|block| block.share).collect::<Vec<_>>())
}

/// Adds to each ratio of throughput its value without lost CPU time, if that is known.
pub(crate) fn adjust(study: &Study, observed: &Observed, alpha: f64, estimates: &mut [Estimate]) {
    let adjusted = adjusted(study, observed, alpha);
    for estimate in estimates.iter_mut().filter(|estimate| estimate.metric == THROUGHPUT) {
        let at = study.comparisons.iter().position(|comparison| comparison.name == estimate.name);
        estimate.adjusted = at.and_then(|at| adjusted[at].clone());
    }
}

/// The adjustment of each of the study's comparisons, in their order.
fn adjusted(study: &Study, observed: &Observed, alpha: f64) -> Vec<Option<Adjusted>> {
    let of_comparison = |comparison| {
        let sides = Sides::of(study, comparison)?;
        let has_cpus = [sides.top].iter().chain(&sides.below).all(|at| has_a_cpu_each(observed, *at));
        let blocks = if has_cpus { lost(observed, &sides) } else { Vec::new() };
        let (values, slope) = pseudo_values(&blocks)?;
        Some((values, slope, cpu_share(&blocks)?))
    };
    let found: Vec<_> = study.comparisons.iter().map(of_comparison).collect();
    let series: Vec<&[f64]> = found.iter().flatten().map(|(values, ..)| values.as_slice()).collect();
    let common = correlation::common(&series);
    let adjusted = |(values, slope, share): (Vec<f64>, f64, MeanEstimate)| {
        let estimate = MeanEstimate::correlated(&values, common)?;
        Some(Adjusted {
            ratio: estimate.as_interval(alpha).exp(),
            slope,
            cpu_share_ratio: share.as_interval(alpha).exp(),
            blocks: values.len() as u32,
        })
    };
    found.into_iter().map(|one| one.and_then(adjusted)).collect()
}

/// Data of every usable block for a comparison.
fn lost(observed: &Observed, Sides { top, below }: &Sides) -> Vec<LostCpu> {
    let of_block = |block| {
        let rounds = |at: &usize| observed.usable(block, *at).map(|run: &Digest| run.rounds.as_slice());
        let baselines: Option<Vec<&[Work]>> = below.iter().map(rounds).collect();
        LostCpu::of(rounds(top)?, &baselines?)
    };
    observed.blocks.iter().filter_map(of_block).collect()
}

/// Whether only the machine keeps a treatment's sessions from running all of their windows.
fn has_a_cpu_each(observed: &Observed, treatment: usize) -> bool {
    let runs = observed.blocks.iter().filter_map(|block| observed.usable(block, treatment));
    let mut shares: Vec<f64> = runs
        .flat_map(|run| &run.rounds)
        .filter(|round| round.is_there())
        .filter_map(Work::cpu_share)
        .collect();
    shares.sort_by(f64::total_cmp);
    // Index of the 90th percentile.
    shares.get(shares.len() * 9 / 10).is_some_and(|share| *share >= LEAST_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round with this share of time on a CPU, doing `rate` rows in all of it.
    fn round(share: f64, rate: f64) -> Work {
        Work {
            slices: 1,
            rows: rate * share,
            window_ns: 1e9,
            session_ns: 1e9,
            cpu_ns: 1e9 * share,
            ..Work::default()
        }
    }

    #[test]
    fn work_that_is_lost_with_its_time_is_given_back() {
        let base = vec![round(1.0, 100.0); 4];
        let blocks: Vec<LostCpu> =
            [[1.0, 0.9, 0.8, 0.9], [0.7, 0.6, 0.7, 0.8], [0.9, 0.9, 1.0, 1.0], [0.5, 1.0, 0.5, 1.0]]
                .iter()
                .map(|shares| LostCpu::of(&shares.map(|share| round(share, 150.0)), &[&base, &base]).unwrap())
                .collect();
        assert!(blocks[1].d < 1.1_f64.ln());
        let (values, slope) = pseudo_values(&blocks).unwrap();
        assert!((slope - 1.0).abs() < 1e-9, "{slope}");
        assert!(values.iter().all(|value| (value.exp() - 1.5).abs() < 1e-9), "{values:?}");
        assert_eq!(pseudo_values(&blocks[..3]), None);
    }

    #[test]
    fn where_nothing_was_lost_nothing_is_adjusted() {
        let base = vec![round(1.0, 100.0); 4];
        let block = LostCpu::of(&base, &[&base]).unwrap();
        assert_eq!(pseudo_values(&[block; 8]), None);
        let unknown = vec![Work { session_ns: 0.0, ..round(1.0, 100.0) }; 4];
        assert_eq!(LostCpu::of(&unknown, &[&base]), None);
    }
}
