//! Which law predicts best what it was not fitted to.
//!
//! Each load is left out in turn and predicted by the others (Stone, "Cross-validatory choice and assessment of
//! statistical predictions", *JRSS B* 36, 1974). The law with the fewest parameters is chosen whose mean squared error is
//! not larger than the smallest by more than a standard error of their difference (Breiman and others, *Classification
//! and Regression Trees*, 1984: the rule of one standard error).

use super::fit::once;
use super::law::Law;
use super::plan::Plan;
use super::sweep::Sweep;
use serde::Serialize;
use threadwise_statistics::{mean, summary};

/// More different loads than this are left out in so many parts, each of loads that are far apart.
const MOST_PARTS: usize = 40;

/// A law beside the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// The law.
    pub law: Law,
    /// Root of the mean squared error of the logarithm over the loads that were left out; `None` where some fit without
    /// one of them is none, since its parameters are then more than its loads.
    #[serde(rename = "error_share")]
    pub error: Option<f64>,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// Every law that the data could tell, in order of their parameters.
pub fn candidates(sweep: &Sweep) -> Vec<Candidate> {
    let laws = Law::ALL.into_iter().filter(|law| !law.has_yield() || sweep.sibling_loads() > 0);
    let all: Vec<(Law, Option<Vec<f64>>)> = laws.map(|law| (law, squared_errors(sweep, law))).collect();
    let average = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let judged = || all.iter().filter_map(|(law, errors)| Some((*law, errors.as_deref()?)));
    let best = judged().min_by(|(_, a), (_, b)| average(a).total_cmp(&average(b))).map(|(_, errors)| errors);
    let is_near = |errors: &[f64], best: &[f64]| {
        let more: Vec<f64> = errors.iter().zip(best).map(|(one, other)| one - other).collect();
        // A thousandth more is the solver's, where a law has a parameter at its bound.
        summary(&more).is_some_and(|all| all.mean <= all.sd / (all.n as f64).sqrt() + 1e-3 * average(best))
    };
    let chosen = best.and_then(|best| judged().find(|(_, errors)| is_near(errors, best))).map(|(law, _)| law);
    let candidate = |(law, errors): &(Law, Option<Vec<f64>>)| Candidate {
        law: *law,
        error: errors.as_deref().map(|errors| average(errors).sqrt()),
        is_chosen: chosen == Some(*law),
    };
    all.iter().map(candidate).collect()
}

/// Mean squared error of the logarithm at each load, by the fit to the others.
fn squared_errors(sweep: &Sweep, law: Law) -> Option<Vec<f64>> {
    let all: Vec<usize> = (0..sweep.blocks()).collect();
    let (loads, parts) = (sweep.loads(), sweep.loads().min(MOST_PARTS));
    let mut errors = vec![Vec::new(); loads];
    for part in 0..parts {
        let rest = sweep.with_loads(|load| load % parts != part);
        let left_out = sweep.with_loads(|load| load % parts == part);
        let plan = Plan::of(law, &rest);
        // A yield that nothing else shows is not predicted, but guessed.
        let is_hidden = law.has_yield() && (rest.sibling_loads() == 0 || rest.widest() < sweep.widest());
        if is_hidden || rest.loads() < plan.parameters() {
            return None;
        }
        let fit = once(&rest, &plan).ok()?.solution.parameters();
        let points = left_out.points().iter().zip(left_out.means(&all)).zip(left_out.load_numbers());
        for ((point, mean), number) in points {
            errors[part + number * parts].push((fit.rate_at(&point.load).ln() - mean).powi(2));
        }
    }
    errors.into_iter().map(|of_load| mean(of_load.into_iter())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::load::Load;
    use super::super::sweep::Measured;
    use super::*;

    /// Sweeps of 8 cores of 2 threads with σ 0.02 and this yield, and points within half a percent.
    fn sweep(of_two: f64, twice: bool) -> Sweep {
        let loads =
            [1, 2, 3, 4, 6, 8, 10, 12, 14, 16].into_iter().flat_map(|n| vec![n; 1 + usize::from(twice)]);
        let point = |(at, n): (usize, u32)| {
            let cores = f64::from(n).min(8.0) + (of_two - 1.0) * (f64::from(n).max(8.0) - 8.0);
            let noise = 0.005 * ((at * 7) % 5) as f64 / 2.0 - 0.005;
            let rate = cores / (1.0 + 0.02 * (f64::from(n) - 1.0));
            let load = Load::spread(n, &[2; 8]).unwrap();
            Measured { label: String::new(), load, log_rates: vec![rate.ln() + noise] }
        };
        Sweep::new(loads.enumerate().map(point).collect()).unwrap()
    }

    fn chosen(sweep: &Sweep) -> Law {
        candidates(sweep).into_iter().find(|one| one.is_chosen).unwrap().law
    }

    #[test]
    fn the_simplest_law_that_predicts_as_well_is_chosen() {
        // Amdahl's law with SMT made them, and without SMT where a sibling is as good as a core.
        assert_eq!(chosen(&sweep(1.3, false)), Law::SmtAmdahl);
        assert_eq!(chosen(&sweep(1.3, true)), Law::SmtAmdahl, "a load measured twice is one load");
        assert_eq!(chosen(&sweep(2.0, false)), Law::Amdahl);
    }

    #[test]
    fn loads_that_nothing_else_shows_are_not_predicted() {
        let points = sweep(1.3, false).with_loads(|load| [0, 2, 4, 9].contains(&load));
        let with_yield = candidates(&points).into_iter().filter(|one| one.law.has_yield());
        assert!(with_yield.clone().count() == 2 && with_yield.into_iter().all(|one| one.error.is_none()));
    }
}
