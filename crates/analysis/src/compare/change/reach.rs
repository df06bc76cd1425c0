//! What studies of two sides could have shown, and how many would show a change of the margin.
//!
//! A change is shown where the interval that decides leaves 1 out, so the smallest that could have been is as far from 1 as
//! that interval is to one side. More studies narrow it by the root of their number and by the degrees of freedom of
//! Student's t, with the spread of studies as these have it (Welch, Biometrika 34, 1947, of samples of equal size).

use crate::Ratio;
use threadwise_statistics::{MeanEstimate, summary, t_two_sided_p, welch};

/// Studies a side beyond which the number is not said.
const MOST_STUDIES: u32 = 1000;

/// What studies of two sides could have shown of one treatment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The smallest measured change that is shown, as a ratio above 1: 1.8 is one to 1.8x or to 1 / 1.8.
    pub smallest: f64,
    /// Studies a side, or pairs, that would show a measured change of the margin; `None` beyond 1,000.
    pub studies: Option<u32>,
}

/// Means and standard deviations of studies, as the number of studies a side grows.
struct Spread {
    /// Sum of the variances of one study before and of one after; of pairs the variance of a difference.
    variance: f64,
    /// Degrees of freedom for each study a side beyond the first.
    degrees: f64,
}

impl Spread {
    fn of(before: &[f64], after: &[f64], is_paired: bool) -> Option<Self> {
        if is_paired {
            let d: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
            return Some(Self { variance: summary(&d)?.sd.powi(2), degrees: 1.0 });
        }
        let (one, other) = (summary(before)?.sd.powi(2), summary(after)?.sd.powi(2));
        let squares = one.powi(2) + other.powi(2);
        let degrees = if squares > 0.0 { (one + other).powi(2) / squares } else { 2.0 };
        Some(Self { variance: one + other, degrees })
    }

    /// Half of the interval of so many studies a side.
    fn half_width(&self, studies: u32, alpha: f64) -> f64 {
        let mean = MeanEstimate {
            n: studies as usize,
            mean: 0.0,
            standard_error: (self.variance / f64::from(studies)).sqrt(),
            correlation: 0.0,
            degrees: self.degrees * (f64::from(studies) - 1.0),
        };
        mean.half_width(alpha)
    }
}

impl Reach {
    /// Of logarithms by study and the ratio that was judged from them.
    ///
    /// Degenerate cases: `None` where a side has one study. Without any spread everything is shown.
    pub fn of(before: &[f64], after: &[f64], is_paired: bool, ratio: &Ratio) -> Option<Self> {
        let fewest = before.len().min(after.len()) as u32;
        if fewest < 2 || !ratio.has_ends() {
            return None;
        }
        let half = (ratio.holm_high / ratio.holm_low).ln() / 2.0;
        let spread = Spread::of(before, after, is_paired)?;
        let mean = match is_paired {
            true => {
                let (n, degrees) = (before.len(), (before.len() - 1) as f64);
                let standard_error = (spread.variance / n as f64).sqrt();
                MeanEstimate { n, mean: 0.0, standard_error, correlation: 0.0, degrees }
            }
            false => welch(after, before)?,
        };
        // The level at which it was judged, which Holm's steps make another one for each treatment.
        let alpha = match mean.standard_error > 0.0 {
            true => t_two_sided_p(half / mean.standard_error, mean.degrees)?,
            false => return Some(Self { smallest: 1.0, studies: Some(fewest) }),
        };
        let margin = ratio.margin.ln_1p();
        let is_enough = |studies: u32| spread.half_width(studies, alpha) <= margin;
        let studies = is_enough(MOST_STUDIES).then(|| {
            let (mut short, mut enough) = (1, MOST_STUDIES);
            while enough - short > 1 {
                let middle = short + (enough - short) / 2;
                if is_enough(middle) { enough = middle } else { short = middle }
            }
            enough
        });
        Some(Self { smallest: half.exp(), studies })
    }
}
