//! Which law predicts best what it was not fitted to.
//!
//! Each load is left out in turn and predicted by the others (Stone, "Cross-validatory choice and assessment of
//! statistical predictions", *JRSS B* 36, 1974). The law with the fewest parameters is chosen whose mean squared error is
//! not larger than the smallest by more than a standard error of their difference (Breiman and others, *Classification
//! and Regression Trees*, 1984: the rule of one standard error).

use super::fit::{Plan, once};
use super::law::Law;
use super::sweep::Sweep;
use crate::statistics::summary;
use serde::Serialize;

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
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let judged = || all.iter().filter_map(|(law, errors)| Some((*law, errors.as_deref()?)));
    let best = judged().min_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b))).map(|(_, errors)| errors);
    let is_near = |errors: &[f64], best: &[f64]| {
        let more: Vec<f64> = errors.iter().zip(best).map(|(one, other)| one - other).collect();
        // A thousandth more is the solver's, where a law has a parameter at its bound.
        summary(&more).is_some_and(|all| all.mean <= all.sd / (all.n as f64).sqrt() + 1e-3 * mean(best))
    };
    let chosen = best.and_then(|best| judged().find(|(_, errors)| is_near(errors, best))).map(|(law, _)| law);
    let candidate = |(law, errors): &(Law, Option<Vec<f64>>)| Candidate {
        law: *law,
        error: errors.as_deref().map(|errors| mean(errors).sqrt()),
        is_chosen: chosen == Some(*law),
    };
    all.iter().map(candidate).collect()
}

/// Squared error of the logarithm at each load, by the fit to all others.
fn squared_errors(sweep: &Sweep, law: Law) -> Option<Vec<f64>> {
    let all: Vec<usize> = (0..sweep.blocks()).collect();
    let means = sweep.means(&all);
    let mut errors = Vec::new();
    for (point, mean) in sweep.points().iter().zip(means) {
        let rest = sweep.without(&point.load);
        let plan = Plan::of(law, &rest);
        // A yield that nothing else shows is not predicted, but guessed.
        let is_hidden = law.has_yield() && (rest.sibling_loads() == 0 || rest.widest() < sweep.widest());
        if is_hidden || rest.loads() < plan.parameters() {
            return None;
        }
        let fit = once(&rest, &plan).ok()?;
        errors.push((fit.solution.parameters().rate_at(&point.load).ln() - mean).powi(2));
    }
    Some(errors)
}
