//! Contrasts over blocks: the block is the unit.
//!
//! Sources: Student 1908, Holm 1979 (docs/METHODOLOGY.md).

use crate::estimate::{Adjustment, Change};
use threadwise_statistics::{MeanEstimate, holm};

/// Judges contrasts of logarithms (by block and treatment) with intervals at level 1 − `alpha`, all predecessors together
/// by Holm's procedure; for each treatment `None` where no block has its contrast.
pub fn judged(by_block: &[Vec<Option<f64>>], treatments: usize, alpha: f64) -> Vec<Option<Change>> {
    let estimates: Vec<Option<MeanEstimate>> = (0..treatments)
        .map(|at| {
            let values: Vec<f64> = by_block.iter().filter_map(|block| block[at]).collect();
            MeanEstimate::of(&values)
        })
        .collect();
    let p_values: Vec<f64> = estimates.iter().flatten().map(MeanEstimate::p).collect();
    let mut steps = holm(&p_values, alpha).into_iter();
    let family = p_values.len();
    let mut judge = |estimate: MeanEstimate| {
        let step = steps.next()?;
        // No narrower than Bonferroni's (Dunn, J. American Statistical Association 56, 1961).
        let interval_alpha = step.interval_alpha.min(alpha / family as f64);
        let adjustment = Adjustment { interval_alpha, p: step.adjusted_p, family };
        Some(Change { shown: step.adjusted_p <= alpha, ..Change::of(&estimate, alpha, adjustment) })
    };
    estimates.into_iter().map(|estimate| estimate.and_then(&mut judge)).collect()
}
