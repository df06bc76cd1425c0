//! Which of several settings to use: the first that is shown to be within the margin of the best, or without one a best
//! guess with its probability and expected loss.
//!
//! Shown results have the error rate of [`near_best`]. A guess is from the joint distribution of all means given the
//! data and a flat prior: multivariate t around them, with the covariance of the blocks (Box and Tiao, *Bayesian
//! Inference in Statistical Analysis*, 1973, 8.4). tests/it/lab_simulations/coverage/choose.rs simulates both.

use super::judge::FAMILY_SHARE;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_statistics::{MeanEstimate, Normal, correlation, holm};

/// Draws from the joint distribution: probabilities are exact to ±2%.
const DRAWS: usize = 2000;

/// Candidates, with what was shown of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Whether each candidate is shown to be within the margin of the best one.
    pub near: Vec<bool>,
    /// The first of those.
    pub chosen: Option<usize>,
    /// If none is chosen, the candidate that most likely is within the margin of the best; `None` with fewer than two
    /// common blocks.
    pub guess: Option<Likeliest>,
}

/// The candidate that most likely is within the margin of the best.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct Likeliest {
    /// Its index among the candidates.
    #[serde(skip)]
    pub at: usize,
    /// Probability that it is within the margin of the best.
    pub probability: f64,
    /// Mean loss against the best, as a share, if it is not within the margin. 0 if that is not expected at all.
    pub loss_share: f64,
}

/// Chooses among `count` candidates in order of preference; `over` gives d by block of one over another as in [`best`],
/// `margin` is in logarithms.
///
/// Degenerate cases: with one candidate, or without a shared block, nothing is chosen; without variance probabilities
/// are 0 or 1.
pub fn choose(
    count: usize,
    over: impl Fn(usize, usize) -> Vec<f64>,
    margin: f64,
    alpha: f64,
    seed: u64,
) -> Chosen {
    let mut near = near_best(count, &over, margin, alpha);
    // A candidate that is shown to be the best is near it.
    if let Some([only]) = best(count, &over, alpha).as_ref().map(|best| best.among.as_slice()) {
        near[*only] = true;
    }
    let chosen = near.iter().position(|near| *near);
    let guess = if chosen.is_none() { likeliest(count, over, margin, seed) } else { None };
    Chosen { near, chosen, guess }
}

/// One candidate against the first.
struct Against {
    mean: f64,
    standard_error: f64,
    degrees: f64,
    /// d of each block less the mean, over its standard deviation and √(n − 1).
    directions: Vec<f64>,
}

fn likeliest(
    count: usize,
    over: impl Fn(usize, usize) -> Vec<f64>,
    margin: f64,
    seed: u64,
) -> Option<Likeliest> {
    let series: Vec<Vec<f64>> = (1..count).map(|at| over(at, 0)).collect();
    let blocks = series.first()?.len();
    if blocks < 2 || series.iter().any(|d| d.len() != blocks) {
        return None;
    }
    let common = correlation::common(&series.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let of_one = |d: &Vec<f64>| {
        let mean = MeanEstimate::correlated(d, correlation::of_one(d, common))?;
        let deviations = || d.iter().map(|d| d - mean.mean);
        let length = deviations().map(|d| d * d).sum::<f64>().sqrt();
        let directions = deviations().map(|d| if length > 0.0 { d / length } else { 0.0 }).collect();
        let MeanEstimate { mean, standard_error, degrees, .. } = mean;
        Some(Against { mean, standard_error, degrees, directions })
    };
    let all: Vec<Against> = series.iter().map(of_one).collect::<Option<_>>()?;
    // Correlated blocks count as fewer; the smallest number of blocks is used.
    let degrees = all.iter().map(|one| one.degrees).fold(f64::INFINITY, f64::min).max(1.0);
    let mut random = Normal::new(seed);
    let mut within = vec![0_usize; count];
    let mut losses = vec![0.0; count];
    for _ in 0..DRAWS {
        let means = drawn(&all, blocks, degrees, &mut random);
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (at, mean) in means.into_iter().enumerate() {
            match most - mean {
                small if small <= margin => within[at] += 1,
                loss => losses[at] += -(-loss).exp_m1(),
            }
        }
    }
    let most = *within.iter().max()?;
    let at = within.iter().position(|one| *one == most)?;
    let beyond = DRAWS - most;
    let loss_share = if beyond == 0 { 0.0 } else { losses[at] / beyond as f64 };
    Some(Likeliest { at, probability: most as f64 / DRAWS as f64, loss_share })
}

/// One draw of all means; that of the first candidate is 0.
fn drawn(all: &[Against], blocks: usize, degrees: f64, random: &mut Normal) -> Vec<f64> {
    let weights: Vec<f64> = (0..blocks).map(|_| random.draw()).collect();
    let scale = (degrees / chi_squared(degrees, random)).sqrt();
    let one = |against: &Against| {
        let normal: f64 = against.directions.iter().zip(&weights).map(|(one, weight)| one * weight).sum();
        against.mean + against.standard_error * scale * normal
    };
    std::iter::once(0.0).chain(all.iter().map(one)).collect()
}

/// A draw of chi squared; fractional degrees are rounded.
fn chi_squared(degrees: f64, random: &mut Normal) -> f64 {
    let count = degrees.round().clamp(1.0, 1000.0) as usize;
    (0..count).map(|_| random.draw().powi(2)).sum::<f64>() * degrees / count as f64
}

/// Which candidates may be the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Best {
    /// Candidates that may be the best, the largest mean first: one if it is shown to be ahead of all others.
    pub among: Vec<usize>,
    /// How many candidates were measured.
    pub measured: usize,
}

/// The candidates of `count` that may have the largest mean; `over` gives d by block of one candidate over another, in
/// logarithms, above 0 if the first does more. `None` without two candidates that share a block.
///
/// The leading candidate is compared with each of the others: those that it is ahead of, by Holm's procedure at
/// `alpha`, are not the best. The tests are two-sided, and only errors of one side leave out the best: in at most about
/// half of `alpha` of the studies, as for other families (docs/METHODOLOGY.md has the simulations).
///
/// Degenerate cases: a candidate without a common block with the leader is left out; with one block all may be the
/// best.
pub fn best(count: usize, over: impl Fn(usize, usize) -> Vec<f64>, alpha: f64) -> Option<Best> {
    let mean = |one: usize, other: usize| threadwise_statistics::mean(over(one, other).into_iter());
    let measured: Vec<usize> = (0..count)
        .filter(|one| (0..count).any(|other| other != *one && mean(*one, other).is_some()))
        .collect();
    // With blocks missing, three candidates may form a circle; then the one that loses least leads.
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

/// Whether each of `count` candidates is shown to be no more than `margin` (in logarithms) below the best one,
/// whichever that is: its intervals against all of the others say so.
///
/// A candidate that is further below is called near in at most `alpha` of the studies, all candidates together
/// (Bonferroni over the candidates; each has to pass all tests against the others, which needs no adjustment: Berger,
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
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Fastest {
    /// Group of treatments.
    pub group: String,
    /// How many treatments are compared, including the baseline.
    pub candidates: u32,
    /// Names of those that may be the best, by their means: one if it is shown to be ahead of all others.
    pub among: Vec<String>,
}

/// Fewest treatments for naming the best: the best of two follows from their ratio.
const LEAST: usize = 3;

impl Fastest {
    /// The best of `count` treatments, with arguments as in [`best`]; `None` with fewer than three, or without data.
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

    fn over(means: &[f64], by: f64) -> impl Fn(usize, usize) -> Vec<f64> {
        let at = move |one: usize, block: usize| means[one] + by * (((block * (one + 3)) % 7) as f64 - 3.0);
        move |one, other| (0..8).map(|block| at(one, block) - at(other, block)).collect()
    }

    fn chosen(means: &[f64], by: f64) -> Chosen {
        choose(means.len(), over(means, by), 0.03, 0.05, 1)
    }

    #[test]
    fn the_first_that_is_near_the_best_is_chosen() {
        let got = chosen(&[0.0, 0.69, 0.70, 0.70], 0.001);
        assert_eq!((got.chosen, got.near), (Some(1), vec![false, true, true, true]));
        // The lead is clear, though its size is not.
        assert_eq!(chosen(&[0.0, 0.5], 0.06).chosen, Some(1));
        let one_is_best = chosen(&[0.5, 0.0, 0.1], 0.02);
        assert_eq!((one_is_best.chosen, one_is_best.guess), (Some(0), None));
    }

    #[test]
    fn where_nothing_is_shown_there_is_a_guess() {
        let got = chosen(&[0.0, 0.05, 0.04], 0.05);
        assert_eq!(got.chosen, None);
        let guess = got.guess.unwrap();
        assert!((0.34..0.95).contains(&guess.probability), "{guess:?}");
        assert!((0.03..0.3).contains(&guess.loss_share), "{guess:?}");
    }

    #[test]
    fn draws_are_students_t() {
        // d = 1..5: mean 3, standard error 0.70711, 4 degrees. P(T < 0.70711) = 0.7407, that the mean is below 3.5.
        let d: Vec<f64> = (1..=5).map(f64::from).collect();
        let mean = MeanEstimate::of(&d).unwrap();
        let directions = d.iter().map(|d| (d - 3.0) / 10.0_f64.sqrt()).collect();
        let all = [Against { mean: 3.0, standard_error: mean.standard_error, degrees: 4.0, directions }];
        let mut random = Normal::new(9);
        let share = |bound: f64, random: &mut Normal| {
            (0..DRAWS).filter(|_| drawn(&all, 5, 4.0, random)[1] < bound).count() as f64 / DRAWS as f64
        };
        assert!((share(3.5, &mut random) - 0.7407).abs() < 0.025);
        // P(T < 2.7764) = 0.975.
        assert!((share(3.0 + 2.7764 * 0.5_f64.sqrt(), &mut random) - 0.975).abs() < 0.01);
    }

    #[test]
    fn too_little_to_say() {
        let none = choose(0, |_, _| vec![], 0.03, 0.05, 1);
        assert_eq!((none.chosen, none.guess), (None, None));
        let one_block = choose(2, |one, other| vec![one as f64 - other as f64], 0.03, 0.05, 1);
        assert_eq!((one_block.chosen, one_block.guess), (None, None));
        let uneven = |one: usize, other: usize| vec![0.01; if one + other == 1 { 4 } else { 3 }];
        assert_eq!(choose(3, uneven, 0.03, 0.05, 1).guess, None);
        assert_eq!(choose(2, |_, _| vec![0.0; 4], 0.03, 0.05, 1).chosen, Some(0));
        assert_eq!(likeliest(2, |_, _| vec![0.0; 4], 0.03, 1).map(|guess| guess.probability), Some(1.0));
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
    fn near_the_best_is_shown_for_all_candidates_together() {
        // d = 1..5: mean 3, standard error 0.7071, 4 degrees. t(0.9875) = 3.495 and t(0.975) = 2.776: the lower ends are 0.53
        // for two candidates together, and 1.04 for one alone.
        let d = |one: usize, other: usize| -> Vec<f64> {
            let sign = if one > other { 1.0 } else { -1.0 };
            (1..=5).map(|block| sign * f64::from(block)).collect()
        };
        assert_eq!(near_best(2, d, -0.5, 0.05), [false, true]);
        assert_eq!(near_best(2, d, -0.8, 0.05), [false, false]);
    }

    #[test]
    fn too_little_to_choose() {
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
