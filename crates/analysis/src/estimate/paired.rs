//! Paired changes of many quantities, judged together: one number per block, t over blocks, one family.
//!
//! Sources: Student 1908 (interval), Holm 1979 (family), Dunn, "Multiple comparisons among means", J. American
//! Statistical Association 56 (1961) for intervals that hold together (Bonferroni); docs/METHODOLOGY.md, "Changes of
//! what is not a rate".

use super::judge::FAMILY_SHARE;
use serde::Serialize;
use threadwise_statistics::{MeanEstimate, correlation, holm};

/// One change of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// The mean of d over blocks.
    pub mean: MeanEstimate,
    /// Lower end of its interval at level 1 − alpha.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Lower end of the adjusted interval, which decides.
    pub adjusted_low: f64,
    /// Upper end.
    pub adjusted_high: f64,
    /// p of the t test adjusted for the family: at most alpha exactly where the adjusted interval leaves out 0.
    pub adjusted_p: f64,
    /// How many changes were judged together.
    pub family: usize,
}

impl Paired {
    /// Whether a change is shown: the adjusted interval leaves out 0.
    pub fn is_shown(&self) -> bool {
        self.adjusted_low > 0.0 || self.adjusted_high < 0.0
    }
}

/// A change of logarithms as a ratio, as JSON has it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedRatio {
    /// The ratio.
    pub value: f64,
    /// Lower end of its interval; 0 with one block.
    pub low: f64,
    /// Upper end; infinite with one block.
    pub high: f64,
    /// Lower end of the interval adjusted for the family, which decides.
    pub adjusted_low: f64,
    /// Its upper end.
    pub adjusted_high: f64,
    /// Blocks that it is from.
    pub blocks: u32,
    /// p of the t test adjusted for the family.
    pub adjusted_p: f64,
}

impl From<&Paired> for PairedRatio {
    fn from(paired: &Paired) -> Self {
        Self {
            value: paired.mean.mean.exp(),
            low: paired.low.exp(),
            high: paired.high.exp(),
            adjusted_low: paired.adjusted_low.exp(),
            adjusted_high: paired.adjusted_high.exp(),
            blocks: paired.mean.n as u32,
            adjusted_p: paired.adjusted_p,
        }
    }
}

/// d of one block: a treatment's value less the mean of its baselines'; `None` without a baseline.
pub fn paired_difference(treatment: f64, baselines: &[f64]) -> Option<f64> {
    Some(treatment - threadwise_statistics::mean(baselines.iter().copied())?)
}

/// Judges a family of changes, each with its d per block in block order. `twins` are the same of A′ against A: they
/// are not judged, and tell of the correlation of neighbouring blocks, of which the family has one coefficient.
///
/// A change is shown in at most `alpha` of the families in which nothing changes (Holm at the share of alpha that
/// families of ratios have). The adjusted intervals are no narrower than Bonferroni's at level 1 − `alpha` / m, so that
/// they hold for all m changes together, whichever of them is named.
///
/// Degenerate cases: a series that is empty or has a number that is not finite gives `None` and does not count in the
/// family; one block has infinite intervals.
pub fn paired(series: &[Vec<f64>], twins: &[Vec<f64>], alpha: f64) -> Vec<Option<Paired>> {
    let all: Vec<&[f64]> = series.iter().chain(twins).map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    let mean = |d: &Vec<f64>| MeanEstimate::correlated(d, correlation::of_one(d, common));
    let means: Vec<Option<MeanEstimate>> = series.iter().map(mean).collect();
    let p_values: Vec<f64> = means.iter().flatten().map(MeanEstimate::p).collect();
    let family = p_values.len();
    let mut steps = holm(&p_values, FAMILY_SHARE * alpha).into_iter();
    let mut judge = |mean: MeanEstimate| {
        let step = steps.next()?;
        let (low, high) = mean.interval(alpha);
        let (adjusted_low, adjusted_high) = mean.interval(step.interval_alpha.min(alpha / family as f64));
        let adjusted_p = (step.adjusted_p / FAMILY_SHARE).max(mean.p() * family as f64).min(1.0);
        Some(Paired { mean, low, high, adjusted_low, adjusted_high, adjusted_p, family })
    };
    means.into_iter().map(|mean| mean.and_then(&mut judge)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() <= 1e-3 * expected.abs(), "{got}, expected {expected}");
    }

    #[test]
    fn a_family_worked_by_hand() {
        // Mean 3, standard error √0.5 = 0.70711, t = 4.243 on 4 degrees, p = 0.01324; of the others p = 1.
        let series = [vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![-1.0, 0.0, 0.0, 0.0, 1.0]];
        let alone = paired(&series[..1], &[], 0.05)[0].unwrap();
        // A family of one at half of alpha: t(0.9875, 4) = 3.4954.
        close(alone.low, 3.0 - 2.7764 * 0.5f64.sqrt());
        close(alone.adjusted_high, 3.0 + 3.4954 * 0.5f64.sqrt());
        close(alone.adjusted_p, 2.0 * 0.01324);
        assert!(alone.is_shown());
        let two = paired(&series, &[], 0.05);
        let first = two[0].unwrap();
        // t(0.99375, 4) = 4.3147 exceeds 4.243: among two it is not shown.
        close(first.adjusted_high, 3.0 + 4.3147 * 0.5f64.sqrt());
        close(first.adjusted_p, 4.0 * 0.01324);
        assert!(!first.is_shown() && first.family == 2);
        assert_eq!(two[1].map(|second| (second.adjusted_p, second.is_shown())), Some((1.0, false)));
    }

    #[test]
    fn intervals_hold_together_and_agree_with_p() {
        // The last of many rejections has Holm's level 1 − alpha / 2, which holds for it alone.
        let clear = |at: usize| (0..8).map(|block| 1.0 + 0.05 * ((block * (at + 3)) % 7) as f64).collect();
        let series: Vec<Vec<f64>> = (0..10).map(clear).collect();
        for one in paired(&series, &[], 0.05).into_iter().flatten() {
            let (low, high) = one.mean.interval(0.05 / 10.0);
            assert!(one.adjusted_low <= low && one.adjusted_high >= high);
            assert_eq!(one.is_shown(), one.adjusted_p <= 0.05);
        }
    }

    #[test]
    fn too_little_to_say() {
        let series = [vec![], vec![f64::NAN, 1.0], vec![0.5], vec![0.0; 8]];
        let got = paired(&series, &[], 0.05);
        assert_eq!((got[0], got[1]), (None, None));
        let (one, flat) = (got[2].unwrap(), got[3].unwrap());
        assert!(one.adjusted_low.is_infinite() && !one.is_shown() && one.family == 2);
        assert!(!flat.is_shown() && flat.adjusted_p == 1.0);
        assert_eq!((paired_difference(1.0, &[]), paired_difference(0.5, &[0.1, 0.3])), (None, Some(0.3)));
    }
}
