//! Contrasts over blocks: the block is the unit.
//!
//! Sources: Student 1908, Holm 1979 (docs/METHODOLOGY.md).

use threadwise_statistics::{MeanEstimate, holm};

/// What slices after a treatment were like, over blocks; logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// ln of the rate after it over the rate after the others.
    pub mean: f64,
    /// Lower end of its interval; not finite with one block.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Lower end of the interval that holds for all predecessors together, whichever is named.
    pub adjusted_low: f64,
    /// Its upper end.
    pub adjusted_high: f64,
    /// Blocks that it is from.
    pub blocks: u32,
    /// p of the t test.
    pub p_t: f64,
    /// The same adjusted for all predecessors.
    pub adjusted_p: f64,
    /// Whether carry-over is shown: the adjusted p is at most alpha.
    pub is_shown: bool,
}

/// Judges contrasts (by block and treatment) with intervals at level 1 − `alpha`, all predecessors together by Holm's
/// procedure; for each treatment `None` where no block has its contrast.
pub fn judged(by_block: &[Vec<Option<f64>>], treatments: usize, alpha: f64) -> Vec<Option<Judged>> {
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
        let adjusted_p = step.adjusted_p;
        let (low, high) = estimate.interval(alpha);
        // No narrower than Bonferroni's (Dunn, J. American Statistical Association 56, 1961).
        let (adjusted_low, adjusted_high) = estimate.interval(step.interval_alpha.min(alpha / family as f64));
        Some(Judged {
            mean: estimate.mean,
            low,
            high,
            adjusted_low,
            adjusted_high,
            blocks: estimate.n as u32,
            p_t: estimate.p(),
            adjusted_p,
            is_shown: adjusted_p <= alpha,
        })
    };
    estimates.into_iter().map(|estimate| estimate.and_then(&mut judge)).collect()
}
