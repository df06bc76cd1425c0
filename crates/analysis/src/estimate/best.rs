//! Which of several treatments is best, where the best one is taken from the data that are to show it.
//!
//! The largest of many means is large by luck as well. So it is named as the best only where it is shown to be ahead of
//! each of the others; else those that may be the best are named together (multiple comparisons with the best, and
//! selection of a subset: Gupta, Technometrics 7, 1965; Hsu, *Multiple Comparisons: Theory and Methods*, 1996, chapters 4
//! and 5, here with paired t and Holm's procedure, since variances differ).

use super::judge::FAMILY_SHARE;
use serde::Serialize;
use threadwise_statistics::{MeanEstimate, correlation, holm};

/// Which candidates may be the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Best {
    /// Those that may be, the largest mean first: one where it is shown to be ahead of all others.
    pub among: Vec<usize>,
    /// How many candidates were measured.
    pub measured: usize,
}

/// The candidates of `count` that may have the largest mean; `over` gives d by block of one candidate over another, in
/// logarithms, above 0 where the first does more. `None` without two candidates that share a block.
///
/// Whichever candidate leads is compared with each of the others: those that it is ahead of, by Holm's procedure at
/// `alpha`, are not the best. The tests have two sides, and the best is left out by errors of one alone: in about half of
/// `alpha` of the studies at the most, as much as other families have (docs/METHODOLOGY.md has the simulations).
///
/// Degenerate cases: a candidate without a common block with the leader takes no part; with one block all are among them.
pub fn best(count: usize, over: impl Fn(usize, usize) -> Vec<f64>, alpha: f64) -> Option<Best> {
    let mean = |one: usize, other: usize| threadwise_statistics::mean(over(one, other).into_iter());
    let measured: Vec<usize> = (0..count)
        .filter(|one| (0..count).any(|other| other != *one && mean(*one, other).is_some()))
        .collect();
    // Blocks that some lack may make a circle of three; then the one that loses least leads.
    let losses = |one: usize| {
        let others = measured.iter().filter(|other| **other != one);
        others.filter_map(|other| mean(one, *other)).map(|mean| (-mean).max(0.0)).fold(0.0, f64::max)
    };
    let rated: Vec<(usize, f64)> = measured.iter().map(|one| (*one, losses(*one))).collect();
    let (leader, _) = rated.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let d: Vec<(usize, Vec<f64>)> = measured
        .iter()
        .filter(|other| **other != leader)
        .map(|other| (*other, over(leader, *other)))
        .filter(|(_, d)| !d.is_empty())
        .collect();
    let common = correlation::common(&d.iter().map(|(_, d)| d.as_slice()).collect::<Vec<_>>());
    let means: Vec<(usize, MeanEstimate)> = d
        .iter()
        .filter_map(|(other, d)| Some((*other, MeanEstimate::correlated(d, correlation::of_one(d, common))?)))
        .collect();
    let p_values: Vec<f64> = means.iter().map(|(_, mean)| mean.p()).collect();
    let steps = holm(&p_values, alpha);
    let mut rest: Vec<(usize, f64)> = means
        .iter()
        .zip(steps)
        .filter(|((_, mean), step)| mean.interval(step.interval_alpha).0 <= 0.0)
        .map(|((other, mean), _)| (*other, mean.mean))
        .collect();
    rest.sort_by(|a, b| a.1.total_cmp(&b.1));
    let among = std::iter::once(leader).chain(rest.into_iter().map(|(other, _)| other)).collect();
    Some(Best { among, measured: d.len() + 1 })
}

/// Of each of `count` candidates whether it is shown to be no more than `margin` (in logarithms) below the best one,
/// whichever that is: against each of the others its interval says so.
///
/// A candidate that is further below is called near in at most `alpha` of the studies, all candidates together
/// (Bonferroni over the candidates; against the others each has to pass all tests, which needs no adjustment: Berger,
/// Technometrics 24, 1982).
///
/// Degenerate cases: one block, or no block in common with another, shows nothing.
pub fn near_best(
    count: usize,
    over: impl Fn(usize, usize) -> Vec<f64>,
    margin: f64,
    alpha: f64,
) -> Vec<bool> {
    let d: Vec<Vec<f64>> = (0..count)
        .flat_map(|one| (0..count).filter(move |other| *other != one).map(move |other| (one, other)))
        .map(|(one, other)| over(one, other))
        .collect();
    let common = correlation::common(&d.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let one_sided = FAMILY_SHARE * alpha / count as f64;
    let is_near = |d: &Vec<f64>| {
        let mean = MeanEstimate::correlated(d, correlation::of_one(d, common));
        mean.is_some_and(|mean| mean.interval(2.0 * one_sided).0 >= -margin)
    };
    (0..count)
        .map(|one| count > 1 && d[one * (count - 1)..(one + 1) * (count - 1)].iter().all(is_near))
        .collect()
}

/// Which treatments of a group may be the best in what the study asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fastest {
    /// Group of treatments.
    pub group: String,
    /// How many treatments are compared, the baseline among them.
    pub candidates: u32,
    /// Names of those that may be the best, by their means: one where it is shown to be ahead of all others.
    pub among: Vec<String>,
}

/// Fewest treatments of which one is named: of two their ratio says it.
const LEAST: usize = 3;

impl Fastest {
    /// Of `count` treatments, the arguments as those of [`best`]; `None` of fewer than three, or without data.
    pub fn of(
        group: &str,
        count: usize,
        name: impl Fn(usize) -> String,
        over: impl Fn(usize, usize) -> Vec<f64>,
        alpha: f64,
    ) -> Option<Self> {
        let found = best(count, over, alpha).filter(|found| count >= LEAST && found.measured >= LEAST)?;
        Some(Self {
            group: group.to_owned(),
            candidates: found.measured as u32,
            among: found.among.into_iter().map(name).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates with these means, which turn around them by so much from block to block.
    fn over(means: &[f64], by: f64) -> impl Fn(usize, usize) -> Vec<f64> {
        let at = move |one: usize, block: usize| means[one] + by * (((block * (one + 3)) % 7) as f64 - 3.0);
        move |one, other| (0..8).map(|block| at(one, block) - at(other, block)).collect()
    }

    #[test]
    fn one_that_is_ahead_of_all_is_the_best() {
        assert_eq!(best(3, over(&[0.0, 0.5, 0.2], 0.005), 0.05).unwrap().among, [1]);
        // The lead over the second is small, that over the first is not.
        assert_eq!(best(3, over(&[0.0, 0.5, 0.499], 0.005), 0.05).unwrap().among, [1, 2]);
        assert_eq!(best(4, over(&[0.0, 0.003, 0.001, 0.002], 0.02), 0.05).unwrap().among.len(), 4);
    }

    #[test]
    fn two_are_one_comparison() {
        // d = 1..5 has t = 4.243 on 4 degrees: p = 0.01324.
        let d = |one: usize, other: usize| -> Vec<f64> {
            let sign = if one < other { 1.0 } else { -1.0 };
            (1..=5).map(|block| sign * f64::from(block)).collect()
        };
        assert_eq!(best(2, d, 0.0133).unwrap().among, [0]);
        assert_eq!(best(2, d, 0.0132).unwrap().among, [0, 1]);
    }

    #[test]
    fn near_the_best_is_near_each_of_the_others() {
        let near = |means: &[f64], by: f64| near_best(means.len(), over(means, by), 0.03, 0.05);
        assert_eq!(near(&[0.0, 0.49, 0.5], 0.001), [false, true, true]);
        assert_eq!(near(&[0.0, 0.40, 0.5], 0.001), [false, false, true]);
        assert_eq!(near(&[0.0, 0.0, 0.0], 0.1), [false; 3]);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(best(3, |_, _| Vec::new(), 0.05), None);
        assert_eq!(best(0, |_, _| vec![1.0], 0.05), None);
        let one_block = |one: usize, other: usize| vec![one as f64 - other as f64];
        assert_eq!(best(3, one_block, 0.05).unwrap().among, [2, 1, 0]);
        assert_eq!(near_best(2, one_block, 0.03, 0.05), [false, false]);
        assert_eq!(near_best(1, one_block, 0.03, 0.05), [false]);
        // One that was never beside another takes no part.
        let apart = |one: usize, other: usize| if one == 2 || other == 2 { vec![] } else { vec![0.0; 8] };
        assert_eq!(best(3, apart, 0.05).unwrap().among, [0, 1]);
    }
}
