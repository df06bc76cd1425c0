//! Halves by block, and what they show over blocks.
//!
//! Sources: Student 1908, Holm 1979, Dunn 1961, as in `estimate::change`.

use crate::estimate::{Change, Sides, Work, block_difference, paired};

/// d of a block: ln of the treatment's ratio to its baselines over second halves, less that over first ones; sums over
/// the rounds that all sides have.
///
/// Degenerate cases: no baseline, no round in common, or no row in one of the halves gives `None`.
pub fn half_difference(treatment: Sides<'_>, baselines: &[Sides<'_>]) -> Option<f64> {
    let first: Vec<&[Work]> = baselines.iter().map(|side| side.first).collect();
    let second: Vec<&[Work]> = baselines.iter().map(|side| side.second).collect();
    let of_first = block_difference(treatment.first, &first, Work::rows_per_s)?;
    Some(block_difference(treatment.second, &second, Work::rows_per_s)? - of_first)
}

/// Judges the treatments of a group together, each with its d by block; `twins` are those of A′ against A. For each
/// treatment `None` where no block has a d.
pub fn judged(series: &[Vec<f64>], twins: &[Vec<f64>], alpha: f64) -> Vec<Option<Change>> {
    let twins: Vec<Vec<f64>> = twins.iter().filter(|d| !d.is_empty()).cloned().collect();
    paired(series, &twins, alpha).into_iter().map(|one| one.map(Change::ratio)).collect()
}
