//! What the table of jobs shows, so that no other table repeats it.

use super::types::{ITEM_S, Pair, Point, Series, Worklist};
use crate::commands::{ELAPSED, Quantity};
use crate::{Analysis, Estimate};

/// Whether an estimate stands in the table of jobs, as a step or a pair.
pub fn is_shown(analysis: &Analysis, estimate: &Estimate) -> bool {
    let Some(lists) = analysis.worklist.as_ref().filter(|_| estimate.metric == ITEM_S) else { return false };
    let is = |a: &str, b: &str| estimate.treatment == a && estimate.baseline == b;
    let is_pair = |pair: &Pair| is(&pair.treatment, &pair.baseline) || is(&pair.baseline, &pair.treatment);
    estimate.kind == "jobs-step" || lists.pairs.iter().any(is_pair)
}

/// Whether the headline's values stand in the table of jobs.
pub fn says_headline(analysis: &Analysis) -> bool {
    analysis.headline() == ITEM_S
        && analysis.worklist.as_ref().is_some_and(|lists| points(lists).next().is_some())
}

/// Whether the table of jobs and the headline say all of a quantity: elapsed time is seconds per item times items.
pub fn says_all_of(analysis: &Analysis, quantity: &Quantity) -> bool {
    quantity.metric == ELAPSED && says_headline(analysis)
}

/// All points with their series.
pub fn points(lists: &Worklist) -> impl Iterator<Item = (&Series, &Point)> {
    lists.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)))
}
