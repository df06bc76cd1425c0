//! How parallel the streams' queries may be before the 99th percentile of short queries rises.
//!
//! Both answers are by the adjusted intervals of one family: a DOP keeps the percentile where the upper end is within the
//! margin, and raises it where the lower end is above 1 (and the whole not within the margin). How often a DOP that raises
//! it by more than the margin is said to keep it is simulated (`tests/it/lab_simulations/coverage/mixed.rs`).

use serde::Serialize;

use super::types::ShortQueries;
use crate::Ratio;
use crate::estimate::{blocks_for, family_alpha, standard_error};

/// One DOP above the lowest with its ratio; `None` where its percentile is not known.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Requested DOP.
    pub dop: u32,
    /// The 99th percentile over that of the lowest DOP.
    pub p99: Option<&'a Ratio>,
}

/// What is said of a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DopLimit {
    /// Placement text.
    pub placement: String,
    /// Streams.
    pub streams: u32,
    /// Sessions of short queries.
    pub sessions: u32,
    /// Treatment with the lowest DOP, which the others are compared with.
    pub lowest: String,
    /// Its DOP.
    pub lowest_dop: u32,
    /// Highest DOP that is shown to keep the 99th percentile within the margin and has none that raises it below it.
    pub keeps_dop: Option<u32>,
    /// Smallest DOP that is shown to raise it.
    pub raises_dop: Option<u32>,
    /// DOPs of which neither is shown, ascending.
    pub undecided_dops: Vec<u32>,
    /// Blocks that would decide the first of these if it raised nothing; `None` where nothing is undecided, its
    /// percentile is not known, or it would take more than 10,000.
    pub blocks_needed: Option<u32>,
}

/// Whether a ratio is shown to be at most 1 + margin.
fn keeps(ratio: &Ratio, margin: f64) -> bool {
    ratio.blocks >= 2 && ratio.holm_high <= 1.0 + margin
}

/// The highest DOP that keeps the percentile, the smallest that raises it, and those that are undecided, from the DOPs
/// above the lowest, ascending.
pub fn limit(steps: &[Step<'_>], margin: f64) -> (Option<u32>, Option<u32>, Vec<u32>) {
    let raises = steps.iter().find(|step| step.p99.is_some_and(Ratio::is_higher)).map(|step| step.dop);
    let is_kept = |step: &&Step<'_>| step.p99.is_some_and(|ratio| keeps(ratio, margin));
    let below = steps.iter().filter(|step| raises.is_none_or(|raises| step.dop < raises));
    let kept = below.rev().find(is_kept).map(|step| step.dop);
    let is_open = |step: &&Step<'_>| !is_kept(step) && !step.p99.is_some_and(Ratio::is_higher);
    (kept, raises, steps.iter().filter(is_open).map(|step| step.dop).collect())
}

/// Of each ladder; `rows` by ladder and DOP. `needed` says how many blocks a ratio takes.
pub(super) fn limits(
    rows: &[ShortQueries],
    margin: f64,
    needed: impl Fn(&Ratio) -> Option<u32>,
) -> Vec<DopLimit> {
    let ladders = rows.chunk_by(|one, other| one.lowest == other.lowest);
    let of_ladder = |ladder: &[ShortQueries]| {
        let [lowest, above @ ..] = ladder else { return None };
        let steps: Vec<Step<'_>> =
            above.iter().map(|row| Step { dop: row.dop, p99: row.p99.as_ref() }).collect();
        let (keeps_dop, raises_dop, undecided_dops) = limit(&steps, margin);
        let first = above.iter().find(|row| undecided_dops.first() == Some(&row.dop));
        (!above.is_empty()).then(|| DopLimit {
            placement: lowest.placement.clone(),
            streams: lowest.streams,
            sessions: lowest.sessions,
            lowest: lowest.treatment.clone(),
            lowest_dop: lowest.dop,
            keeps_dop,
            raises_dop,
            blocks_needed: first.and_then(|row| needed(row.p99.as_ref()?)),
            undecided_dops,
        })
    };
    ladders.filter_map(of_ladder).collect()
}

/// Blocks after which a ratio of 1 with the noise of this one would be shown to be within the margin in four of five
/// studies, among so many that are judged together; `None` above 10,000, and without an interval.
pub(super) fn blocks_needed(ratio: &Ratio, family: usize, alpha: f64) -> Option<u32> {
    let sd = standard_error(ratio)? * f64::from(ratio.blocks).sqrt();
    blocks_for(sd, ratio.margin.ln_1p(), family_alpha(alpha, family) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::estimate::{Rule, judge};
    use threadwise_statistics::MeanEstimate;

    const MARGIN: f64 = 0.1;

    /// Ratios with these means and standard errors over 8 blocks, judged together.
    fn ratios(of: &[(f64, f64)]) -> Vec<Ratio> {
        let mean = |(value, standard_error): &(f64, f64)| {
            let mean = value.ln();
            let standard_error = *standard_error;
            (MeanEstimate { n: 8, mean, standard_error, correlation: 0.0, degrees: 7.0 }, None)
        };
        let family: Vec<(MeanEstimate, Option<f64>)> = of.iter().map(mean).collect();
        judge(&family, Rule { margin: MARGIN, alpha: 0.05, direction: Direction::LowerIsBetter })
    }

    fn limit_of(of: &[(f64, f64)]) -> (Option<u32>, Option<u32>, Vec<u32>) {
        let ratios = ratios(of);
        let steps = ratios.iter().enumerate().map(|(at, p99)| Step { dop: 2 << at, p99: Some(p99) });
        limit(&steps.collect::<Vec<_>>(), MARGIN)
    }

    #[test]
    fn the_highest_that_keeps_and_the_smallest_that_raises() {
        assert_eq!(limit_of(&[(1.0, 0.01), (1.02, 0.01), (1.5, 0.02)]), (Some(4), Some(8), vec![]));
        assert_eq!(limit_of(&[(1.3, 0.01), (1.8, 0.01)]), (None, Some(2), vec![]));
        // Higher by less than the margin is kept, and raises nothing that matters.
        assert_eq!(limit_of(&[(1.04, 0.005)]), (Some(2), None, vec![]));
        // One that is not decided below one that is.
        assert_eq!(limit_of(&[(1.05, 0.1), (1.0, 0.01)]), (Some(4), None, vec![2]));
        assert_eq!(limit_of(&[(1.1, 0.05)]), (None, None, vec![2]));
    }

    #[test]
    fn none_keeps_it_above_one_that_raises_it() {
        assert_eq!(limit_of(&[(1.5, 0.01), (1.0, 0.01)]), (None, Some(2), vec![]));
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        assert_eq!(limit(&[Step { dop: 2, p99: None }], MARGIN), (None, None, vec![2]));
        let alone =
            Ratio { blocks: 1, holm_low: 0.0, holm_high: f64::INFINITY, ..ratios(&[(1.0, 0.1)]).remove(0) };
        assert_eq!(limit(&[Step { dop: 2, p99: Some(&alone) }], MARGIN), (None, None, vec![2]));
    }

    #[test]
    fn more_noise_takes_more_blocks() {
        let needed = |se: f64| blocks_needed(&ratios(&[(1.0, se)])[0], 1, 0.05);
        let (little, much) = (needed(0.02).unwrap(), needed(0.06).unwrap());
        assert!(little < much && (4..8).contains(&little) && (20..60).contains(&much), "{little} {much}");
        assert_eq!(needed(5.0), None);
    }
}
