//! Several series that are fitted together: each has its own numbers, drawn to the mean of all by as much as series
//! differ little, so that a series with few points takes from others what it cannot tell itself.
//!
//! A series' fit has the mean of the others' numbers as a prior (partial pooling: Gelman, Hill, *Data Analysis Using
//! Regression and Multilevel/Hierarchical Models*, 2007, chapter 12). Its standard deviation is that of a prediction of
//! the next of a normal sample (Hahn, Meeker, *Statistical Intervals*, 1991, chapter 4): the others' spread s, times
//! √(1 + 1/k) of k series, wider by Student's t over the normal quantile. The spread is taken as it is, noise of the fits
//! included: a variance between series alone, which is what is left of it, is too often 0 of a few.

use super::fit::{Once, once};
use super::law::Yields;
use super::plan::{Number, Plan, Prior};
use super::sweep::{FEWEST_LOADS, Sweep};
use threadwise_statistics::{summary, t_quantile};

/// A standard deviation of less than this share of the mean is taken for it: that series agree exactly is never known
/// of a few.
const LEAST_SHARE: f64 = 0.02;

/// Least standard deviation, where the mean is 0 too.
const LEAST_SD: f64 = 1e-9;

/// Standard normal quantile of a two-sided interval of 95%.
const NORMAL: f64 = 1.959_964;

/// A series that shows a law by itself, fitted alone.
type Shown = (Plan, Once);

/// How each series is to be fitted: alone where there is one, or no other shows a law.
pub fn plans(sweeps: &[Sweep]) -> Vec<Plan> {
    if sweeps.len() < 2 {
        return sweeps.iter().map(Plan::alone).collect();
    }
    let alone = |sweep: &Sweep| -> Option<Shown> {
        let plan = Plan::alone(sweep);
        let is_curve = sweep.loads() >= FEWEST_LOADS;
        let fit = is_curve.then(|| once(sweep, &plan).ok())??;
        Some((plan, fit))
    };
    let shown: Vec<Option<Shown>> = sweeps.iter().map(alone).collect();
    sweeps.iter().enumerate().map(|(at, sweep)| plan(sweep, &shown, at)).collect()
}

/// The plan of one series: the richest law that any of them shows, with what the others say of its numbers.
fn plan(sweep: &Sweep, all: &[Option<Shown>], at: usize) -> Plan {
    let shown = || all.iter().flatten();
    let is_wide = sweep.sibling_loads() > 0;
    let law = match shown().map(|(plan, _)| plan.law).max() {
        None => return Plan::alone(sweep),
        Some(law) if law.has_yield() || !is_wide => law,
        // Nobody shows the yield that these points have in them.
        Some(_) => return Plan::alone(sweep),
    };
    let widest = shown().filter_map(|(plan, _)| plan.knots.last().copied()).max().unwrap_or(1);
    let knots = if law.has_yield() { Yields::needed(widest.max(sweep.widest())) } else { Vec::new() };
    let numbers = [Number::Sigma, Number::Kappa].into_iter().chain((0..knots.len()).map(Number::Yield));
    let others = all.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<&Once> = others.filter_map(|(_, one)| Some(&one.as_ref()?.1)).collect();
    let priors: Vec<Prior> = numbers.filter_map(|number| prior(number, &knots, &others)).collect();
    if priors.is_empty() {
        return Plan::alone(sweep);
    }
    Plan { law, knots, priors, misfit: misfit(shown()) }
}

/// What other series say of a number; `None` where fewer than two have it.
fn prior(number: Number, knots: &[u32], others: &[&Once]) -> Option<Prior> {
    // Knots of narrower series are another yield.
    let is_same =
        |fit: &&&Once| !matches!(number, Number::Yield(at) if fit.solution.knots.get(at) != knots.get(at));
    // What its points do not tell is what its search began with.
    let known = others.iter().filter(|fit| fit.space.tells(number));
    let seen: Vec<f64> =
        known.filter(is_same).filter_map(|fit| number.of(&fit.solution.parameters())).collect();
    let (mean, sd) = next(&seen)?;
    Some(Prior { number, mean, sd: sd.max(LEAST_SHARE * mean.abs()).max(LEAST_SD) })
}

/// Mean of a sample, and the standard deviation of a prediction of its next value.
fn next(seen: &[f64]) -> Option<(f64, f64)> {
    let all = summary(seen).filter(|all| all.n >= 2)?;
    let count = all.n as f64;
    let few = t_quantile(0.975, count - 1.0)? / NORMAL;
    Some((all.mean, few * all.sd * (1.0 + 1.0 / count).sqrt()))
}

/// Misfit of the series that have one, for those with too few points.
fn misfit<'a>(shown: impl Iterator<Item = &'a Shown>) -> Option<(f64, usize)> {
    let all: Vec<(f64, usize)> =
        shown.map(|(_, fit)| (fit.misfit, fit.free)).filter(|(_, free)| *free > 0).collect();
    let free: usize = all.iter().map(|(_, free)| free).sum();
    let squares: f64 = all.iter().map(|(misfit, free)| misfit * misfit * *free as f64).sum();
    (free > 0).then(|| ((squares / free as f64).sqrt(), free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_of_a_sample_is_expected_as_the_books_have_it() {
        // Hahn and Meeker's example of section 4.7: mean 50.10, s 1.31 of 5; 95% for one more: 50.10 ± 2.776 √1.2 1.31.
        let (mean, sd) = next(&[51.4, 49.5, 48.7, 49.3, 51.6]).unwrap();
        let s = summary(&[51.4, 49.5, 48.7, 49.3, 51.6]).unwrap().sd;
        assert!((mean - 50.10).abs() < 1e-9 && (NORMAL * sd - 2.776_445 * 1.2_f64.sqrt() * s).abs() < 1e-5);
        assert_eq!(next(&[1.0]), None);
    }
}
