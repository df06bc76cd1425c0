//! Judging a family of comparisons together.
//!
//! Sources: Holm 1979 (family), docs/METHODOLOGY.md (floor, effect).

use crate::statistics::{MeanEstimate, holm};
use crate::{Direction, Ratio};

/// What a family of comparisons says of one of them, in logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// Lower end of the Holm-adjusted interval.
    pub holm_low: f64,
    /// Upper end.
    pub holm_high: f64,
    /// The adjusted interval leaves 0 out and |d| exceeds the floor.
    pub effect: bool,
}

impl Judgement {
    /// The ratio that is judged so: `floor` in logarithms, infinite without A/A; `target` the half-width from which on
    /// a ratio is conclusive.
    pub fn ratio(
        &self,
        mean: &MeanEstimate,
        floor: f64,
        direction: Direction,
        (target, alpha): (f64, f64),
    ) -> Ratio {
        let (low, high) = mean.interval(alpha);
        Ratio {
            value: mean.mean.exp(),
            low: low.exp(),
            high: high.exp(),
            holm_low: self.holm_low.exp(),
            holm_high: self.holm_high.exp(),
            blocks: mean.n as u32,
            level: 1.0 - alpha,
            floor: Some(floor.exp()).filter(|floor| floor.is_finite()),
            effect: self.effect,
            conclusive: mean.half_width(alpha).exp_m1() <= target,
            direction,
        }
    }
}

/// Judges a family of comparisons together: each with its mean of d over blocks and the noise floor
/// of its group (in logarithms; infinite where there is no A/A, so that nothing passes it).
pub fn judge(family: &[(MeanEstimate, f64)], alpha: f64) -> Vec<Judgement> {
    let p_values: Vec<f64> = family.iter().map(|(estimate, _)| estimate.p()).collect();
    let steps = holm(&p_values, alpha);
    family
        .iter()
        .zip(steps)
        .map(|((estimate, floor), step)| {
            let (holm_low, holm_high) = estimate.interval(step.interval_alpha);
            let excludes_zero = holm_low > 0.0 || holm_high < 0.0;
            Judgement { holm_low, holm_high, effect: excludes_zero && estimate.mean.abs() > *floor }
        })
        .collect()
}
