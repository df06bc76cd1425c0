//! A comparison as it is looked at here.

use crate::Estimate;
use threadwise_study::Comparison;

/// One comparison with what its sides are.
pub(super) struct Pair<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// Its treatment.
    pub top: usize,
    /// Its baselines.
    pub below: Vec<usize>,
    /// Its estimate of throughput.
    pub estimate: Option<&'a Estimate>,
}

/// Whether a difference of throughput is shown.
pub(super) fn has_difference(pair: &Pair<'_>) -> bool {
    pair.estimate.is_some_and(|estimate| estimate.ratio.is_different())
}
