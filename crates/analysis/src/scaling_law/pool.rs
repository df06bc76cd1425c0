//! Several series that are fitted together: each has its own numbers, drawn to the mean of all by as much as series
//! differ little, so that a series with few points takes from others what it cannot tell itself.
//!
//! Mean and variance between series are DerSimonian and Laird's ("Meta-analysis in clinical trials", *Controlled Clinical
//! Trials* 7, 1986); a series' fit then has them as a prior (partial pooling: Gelman, Hill, *Data Analysis Using Regression
//! and Multilevel/Hierarchical Models*, 2007, chapter 12).

use super::fit::{Fit, Number, Plan, Prior};
use super::law::Yields;
use super::sweep::{FEWEST_LOADS, Sweep};
use crate::statistics::summary;

/// Fits of resampled data from which a series' own standard errors are taken.
const REPLICATES: usize = 200;

/// A standard deviation between series of less than this share of the mean is taken for it: that series agree exactly
/// is never known of a few.
const LEAST_SHARE: f64 = 0.02;

/// How each series is to be fitted: alone where there is one, or no other shows a law.
pub fn plans(sweeps: &[Sweep], seed: u64) -> Vec<Plan> {
    if sweeps.len() < 2 {
        return sweeps.iter().map(Plan::alone).collect();
    }
    let own: Vec<Option<(Plan, Fit)>> = sweeps
        .iter()
        .map(|sweep| {
            let plan = Plan::alone(sweep);
            let is_curve = sweep.loads() >= FEWEST_LOADS;
            let fit = is_curve.then(|| Fit::new(sweep, &plan, seed, REPLICATES).ok())??;
            Some((plan, fit))
        })
        .collect();
    sweeps.iter().enumerate().map(|(at, sweep)| plan(sweep, &own, at)).collect()
}

/// The plan of one series: the richest law that any of them shows, with what the others say of its numbers.
fn plan(sweep: &Sweep, own: &[Option<(Plan, Fit)>], at: usize) -> Plan {
    let shown = || own.iter().flatten();
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
    let others: Vec<&Fit> = own
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != at)
        .filter_map(|(_, one)| Some(&one.as_ref()?.1))
        .collect();
    let priors = numbers.filter_map(|number| prior(number, &knots, &others)).collect();
    Plan { law, knots, priors, misfit: misfit(shown()) }
}

/// What other series say of a number; `None` where fewer than two have it.
fn prior(number: Number, knots: &[u32], others: &[&Fit]) -> Option<Prior> {
    // Knots of narrower series are another yield.
    let is_same =
        |fit: &&&Fit| !matches!(number, Number::Yield(at) if fit.solution.knots.get(at) != knots.get(at));
    let seen: Vec<(f64, f64)> = others
        .iter()
        .filter(is_same)
        .filter_map(|fit| {
            let values: Option<Vec<f64>> = fit.replicates.iter().map(|law| number.of(law)).collect();
            Some((number.of(&fit.solution.parameters())?, summary(&values?)?.sd))
        })
        .collect();
    let (mean, between, error) = together(&seen)?;
    let sd = between.hypot(error).max(LEAST_SHARE * mean.abs()).max(f64::MIN_POSITIVE.sqrt());
    Some(Prior { number, mean, sd })
}

/// Mean of the values, standard deviation between them, and the mean's standard error.
fn together(seen: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    if seen.len() < 2 {
        return None;
    }
    // A number at its bound may have no spread of its own.
    let least = seen.iter().map(|(_, sd)| *sd).fold(0.0, f64::max).max(1e-12) / 10.0;
    let variance = |sd: f64| sd.max(least).powi(2);
    let weigh = |between: f64| {
        let weights: Vec<f64> = seen.iter().map(|(_, sd)| 1.0 / (variance(*sd) + between)).collect();
        let sum: f64 = weights.iter().sum();
        let mean = seen.iter().zip(&weights).map(|((value, _), weight)| value * weight).sum::<f64>() / sum;
        (weights, sum, mean)
    };
    let (weights, sum, mean) = weigh(0.0);
    let q: f64 = seen.iter().zip(&weights).map(|((value, _), weight)| weight * (value - mean).powi(2)).sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    let between = ((q - (seen.len() - 1) as f64) / (sum - squares / sum)).max(0.0);
    let (_, sum, mean) = weigh(between);
    Some((mean, between.sqrt(), sum.sqrt().recip()))
}

/// Misfit of the series that have one, for those with too few points.
fn misfit<'a>(shown: impl Iterator<Item = &'a (Plan, Fit)>) -> Option<(f64, usize)> {
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
    fn values_that_differ_more_than_their_errors_have_a_variance_between_them() {
        // By hand: weights 100; mean 2; Q = 100 (1 + 1) = 200; between = (200 − 1) / (200 − 100) = 1.99.
        let (mean, between, error) = together(&[(1.0, 0.1), (3.0, 0.1)]).unwrap();
        assert!((mean - 2.0).abs() < 1e-12 && (between - 1.99_f64.sqrt()).abs() < 1e-9, "{mean} {between}");
        assert!((error - 1.0).abs() < 1e-9, "{error}");
        let (mean, between, _) = together(&[(1.0, 1.0), (1.1, 1.0)]).unwrap();
        assert_eq!(between, 0.0);
        assert!((mean - 1.05).abs() < 1e-12);
        assert_eq!(together(&[(1.0, 0.1)]), None);
    }
}
