//! Means, medians and quotients without an interval, and the two kinds of means with one.

use super::MeanEstimate;
use threadwise_document::Interval;

/// Mean of some numbers; `None` without any.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Mean of some numbers; `None` without any, or if one of them is unknown.
pub fn mean_of_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    mean(values.collect::<Option<Vec<f64>>>()?.into_iter())
}

/// The median: the middle value, or the mean of the two in the middle; `None` without a value.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// A quotient; `None` if the divisor is 0.
pub fn per(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

/// A geometric mean over blocks of times and rates, given as logarithms.
pub fn geometric(logs: &[f64], scale: f64, unit: &str, alpha: f64) -> Option<Interval> {
    let mean = MeanEstimate::of(logs)?;
    let (low, high) = mean.interval(alpha);
    let [mean, low, high] = [mean.mean, low, high].map(|log| log.exp() * scale);
    Some(Interval { mean, low, high, unit: unit.to_owned() })
}

/// An arithmetic mean over blocks of values that may be 0; its interval ends at 0.
pub fn arithmetic(values: &[f64], unit: &str, alpha: f64) -> Option<Interval> {
    let mean = MeanEstimate::of(values)?;
    let (low, high) = mean.interval(alpha);
    Some(Interval { mean: mean.mean, low: low.max(0.0), high, unit: unit.to_owned() })
}
