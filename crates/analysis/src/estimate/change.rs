//! Changes of many quantities, each paired by unit and all judged together: one number a block, t over blocks, one family.
//!
//! Sources: Student 1908 (interval), Holm 1979 (family), Dunn, "Multiple comparisons among means", J. American
//! Statistical Association 56 (1961) for intervals that hold together (Bonferroni); docs/METHODOLOGY.md, "Changes of
//! what is not a rate".

use super::judge::FAMILY_SHARE;
use serde::Serialize;
use threadwise_document::Interval;
use threadwise_statistics::{MeanEstimate, correlation, holm};

/// Unit of a change that is a ratio.
const RATIO: &str = "ratio";

/// A change against the mean of what it is compared with, paired by block and judged with its family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Mean over blocks with its plain interval, whose ends are not finite with one block: a difference in percentage
    /// points (`points`) or in the unit of what changed, or a ratio (`ratio`), the geometric mean.
    #[serde(flatten)]
    pub value: Interval,
    /// Lower end of the adjusted interval, which decides and holds for the whole family together.
    pub adjusted_low: f64,
    /// Upper end.
    pub adjusted_high: f64,
    /// Blocks in which both sides have a value.
    pub blocks: u32,
    /// p of the t test.
    pub p_t: f64,
    /// The same adjusted for the family: at most alpha exactly where the adjusted interval leaves out no change.
    pub adjusted_p: f64,
    /// Changes that were judged together.
    pub family: u32,
    /// Lag-1 correlation of neighbouring blocks that the intervals allow for.
    pub correlation: f64,
    /// Whether a change is shown.
    pub shown: bool,
}

/// What a family says of one of its changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adjustment {
    /// The adjusted interval is at level 1 − this.
    pub interval_alpha: f64,
    /// p adjusted for the family.
    pub p: f64,
    /// Changes that were judged together.
    pub family: usize,
}

impl Change {
    /// Of a mean over blocks, with its plain interval at level 1 − `alpha`; shown where the adjusted interval leaves out 0.
    pub(crate) fn of(mean: &MeanEstimate, alpha: f64, adjustment: Adjustment) -> Self {
        let Adjustment { interval_alpha, p, family } = adjustment;
        let (low, high) = mean.interval(alpha);
        let (adjusted_low, adjusted_high) = mean.interval(interval_alpha);
        Self {
            value: Interval { mean: mean.mean, low, high, unit: "1".to_owned() },
            adjusted_low,
            adjusted_high,
            blocks: mean.n as u32,
            p_t: mean.p(),
            adjusted_p: p,
            family: family as u32,
            correlation: mean.correlation,
            shown: adjusted_low > 0.0 || adjusted_high < 0.0,
        }
    }

    /// The change with its adjusted interval.
    pub fn adjusted(&self) -> Interval {
        Interval { low: self.adjusted_low, high: self.adjusted_high, ..self.value.clone() }
    }

    /// The same, called by the unit of what changed.
    pub(crate) fn in_unit(mut self, unit: &str) -> Self {
        self.value.unit = unit.to_owned();
        self
    }

    /// A difference of logarithms as a ratio.
    pub fn ratio(self) -> Self {
        let Interval { mean, low, high, .. } = self.value;
        Self {
            value: Interval { mean: mean.exp(), low: low.exp(), high: high.exp(), unit: RATIO.to_owned() },
            adjusted_low: self.adjusted_low.exp(),
            adjusted_high: self.adjusted_high.exp(),
            ..self
        }
    }

    /// Of a ratio: whether it is shown to be further from 1 than the margin (a fraction), the whole adjusted interval
    /// beyond it.
    pub fn is_beyond(&self, margin: f64) -> bool {
        self.adjusted_low > 1.0 + margin || self.adjusted_high < 1.0 / (1.0 + margin)
    }

    /// Of a ratio: its distance from 1, in logarithms.
    pub fn size(&self) -> f64 {
        self.value.mean.ln().abs()
    }
}

/// The largest of some changes, of those that are `shown` where there is one.
pub(crate) fn largest<T>(
    all: &[T],
    change: impl Fn(&T) -> &Change,
    shown: impl Fn(&T) -> bool,
) -> Option<&T> {
    let size = |one: &&T| change(one).size();
    let by_size = |one: &&T, other: &&T| size(one).total_cmp(&size(other));
    let found = all.iter().filter(|one| shown(one)).max_by(by_size);
    found.or_else(|| all.iter().max_by(by_size))
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
pub fn paired(series: &[Vec<f64>], twins: &[Vec<f64>], alpha: f64) -> Vec<Option<Change>> {
    let all: Vec<&[f64]> = series.iter().chain(twins).map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    let mean = |d: &Vec<f64>| MeanEstimate::correlated(d, correlation::of_one(d, common));
    let means: Vec<Option<MeanEstimate>> = series.iter().map(mean).collect();
    let p_values: Vec<f64> = means.iter().flatten().map(MeanEstimate::p).collect();
    let family = p_values.len();
    let mut steps = holm(&p_values, FAMILY_SHARE * alpha).into_iter();
    let mut judge = |mean: MeanEstimate| {
        let step = steps.next()?;
        let interval_alpha = step.interval_alpha.min(alpha / family as f64);
        let p = (step.adjusted_p / FAMILY_SHARE).max(mean.p() * family as f64).min(1.0);
        Some(Change::of(&mean, alpha, Adjustment { interval_alpha, p, family }))
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
        let alone = paired(&series[..1], &[], 0.05).remove(0).unwrap();
        // A family of one at half of alpha: t(0.9875, 4) = 3.4954.
        close(alone.value.low, 3.0 - 2.7764 * 0.5f64.sqrt());
        close(alone.adjusted_high, 3.0 + 3.4954 * 0.5f64.sqrt());
        close(alone.adjusted_p, 2.0 * 0.01324);
        assert!(alone.shown);
        let two = paired(&series, &[], 0.05);
        let first = two[0].clone().unwrap();
        // t(0.99375, 4) = 4.3147 exceeds 4.243: among two it is not shown.
        close(first.adjusted_high, 3.0 + 4.3147 * 0.5f64.sqrt());
        close(first.adjusted_p, 4.0 * 0.01324);
        assert!(!first.shown && first.family == 2);
        assert_eq!(two[1].as_ref().map(|second| (second.adjusted_p, second.shown)), Some((1.0, false)));
    }

    #[test]
    fn intervals_hold_together_and_agree_with_p() {
        // The last of many rejections has Holm's level 1 − alpha / 2, which holds for it alone.
        let clear = |at: usize| (0..8).map(|block| 1.0 + 0.05 * ((block * (at + 3)) % 7) as f64).collect();
        let series: Vec<Vec<f64>> = (0..10).map(clear).collect();
        for (d, one) in series.iter().zip(paired(&series, &[], 0.05).into_iter().flatten()) {
            let (low, high) = MeanEstimate::correlated(d, one.correlation).unwrap().interval(0.05 / 10.0);
            assert!(one.adjusted_low <= low && one.adjusted_high >= high);
            assert_eq!(one.shown, one.adjusted_p <= 0.05);
        }
    }

    #[test]
    fn too_little_to_say() {
        let series = [vec![], vec![f64::NAN, 1.0], vec![0.5], vec![0.0; 8]];
        let got = paired(&series, &[], 0.05);
        assert_eq!((&got[0], &got[1]), (&None, &None));
        let (one, flat) = (got[2].clone().unwrap(), got[3].clone().unwrap());
        assert!(one.adjusted_low.is_infinite() && !one.shown && one.family == 2);
        assert!(!flat.shown && flat.adjusted_p == 1.0);
        assert_eq!((paired_difference(1.0, &[]), paired_difference(0.5, &[0.1, 0.3])), (None, Some(0.3)));
    }
}
