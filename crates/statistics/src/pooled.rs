//! The difference of two means of samples with one variance, of which one may have a single value.
//!
//! Source: Student, "The probable error of a mean", Biometrika 6 (1908); Fisher, "Applications of Student's
//! distribution", Metron 5 (1925), for the variance pooled over two samples; correlation as AR(1)
//! (`statistics::correlation`).

use super::correlation::variance_of_mean;
use super::mean::MeanEstimate;
use super::student::summary;

/// The mean of `one` less that of `other`, as an estimate whose `n` is the number of values of both. `correlation` is
/// the lag-1 correlation of neighbouring values of a sample, from 0 to below 1: it makes means less certain, and values
/// scatter less around their own mean than around the true one.
///
/// Assumes that the values are close to normal and that both samples have one variance, so that a single value of one
/// side is judged by the scatter of the other: Welch's test cannot. Correlation between the samples, which would only
/// bring them closer, is not counted.
/// Degenerate cases: a sample without a value, or a value that is not finite, gives `None`; one value each gives the
/// difference with an infinite interval. Without variance the interval is the point itself.
pub fn pooled(one: &[f64], other: &[f64], correlation: f64) -> Option<MeanEstimate> {
    let (one, other) = (summary(one)?, summary(other)?);
    let (n, mean) = (one.n + other.n, one.mean - other.mean);
    if n < 3 {
        return Some(MeanEstimate { n: 1, mean, standard_error: f64::INFINITY, correlation, degrees: 0.0 });
    }
    // Variances of the means of values with variance 1.
    let [of_one, of_other] = [one.n, other.n].map(|n| variance_of_mean(n, correlation));
    let squares = |sample: super::Summary| sample.sd.powi(2) * (sample.n - 1) as f64;
    let expected = one.n as f64 * (1.0 - of_one) + other.n as f64 * (1.0 - of_other);
    let variance = (squares(one) + squares(other)) / expected;
    let standard_error = (variance * (of_one + of_other)).sqrt();
    Some(MeanEstimate { n, mean, standard_error, correlation, degrees: (n - 2) as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_is_judged_by_the_scatter_of_the_others() {
        let found = pooled(&[4.0], &[1.0, 2.0, 3.0], 0.0).unwrap();
        assert_eq!((found.n, found.mean, found.degrees), (4, 2.0, 2.0));
        assert!((found.standard_error - (1.0f64 * (1.0 + 1.0 / 3.0)).sqrt()).abs() < 1e-12);
        // At a correlation of 0.5, the mean of three values has 11/18 of the variance of one, so that the variance of
        // one is 2 / (3 - 11/6) where it was 2 / 2.
        let wider = pooled(&[4.0], &[1.0, 2.0, 3.0], 0.5).unwrap();
        let variance = 2.0 / (3.0 - 11.0 / 6.0) * (1.0 + 11.0 / 18.0);
        assert!((wider.standard_error - f64::sqrt(variance)).abs() < 1e-12, "{wider:?}");
    }

    #[test]
    fn too_little_is_no_interval() {
        assert!(pooled(&[1.0], &[2.0], 0.0).unwrap().standard_error.is_infinite());
        assert_eq!(pooled(&[], &[2.0], 0.0), None);
        assert_eq!(pooled(&[f64::NAN], &[2.0, 3.0], 0.0), None);
        assert_eq!(pooled(&[2.0, 2.0], &[1.0, 1.0], 0.0).unwrap().standard_error, 0.0);
    }
}
