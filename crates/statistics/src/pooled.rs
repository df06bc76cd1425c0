//! The difference of two means of samples with one variance, of which one may have a single value.
//!
//! Source: Student, "The probable error of a mean", Biometrika 6 (1908); Fisher, "Applications of Student's
//! distribution", Metron 5 (1925), for the variance pooled over two samples.

use super::mean::MeanEstimate;
use super::student::summary;

/// The mean of `one` less that of `other`, as an estimate whose `n` is the number of values of both. `inflation` is the
/// ratio of the variance of a mean to that of independent values ([`crate::correlation::inflation`]), 1 or more.
///
/// Assumes that the values are close to normal and that both samples have one variance, so that a single value of one
/// side is judged by the scatter of the other: Welch's test cannot.
/// Degenerate cases: a sample without a value, or a value that is not finite, gives `None`; one value each gives the
/// difference with an infinite interval. Without variance the interval is the point itself.
pub fn pooled(one: &[f64], other: &[f64], inflation: f64) -> Option<MeanEstimate> {
    let (one, other) = (summary(one)?, summary(other)?);
    let n = one.n + other.n;
    let (mean, correlation) = (one.mean - other.mean, 0.0);
    if n < 3 {
        return Some(MeanEstimate { n: 1, mean, standard_error: f64::INFINITY, correlation, degrees: 0.0 });
    }
    let squares = |sample: super::Summary| sample.sd.powi(2) * (sample.n - 1) as f64;
    let degrees = (n - 2) as f64;
    let variance = (squares(one) + squares(other)) / degrees;
    let shares = 1.0 / one.n as f64 + 1.0 / other.n as f64;
    let standard_error = (variance * shares * inflation.max(1.0)).sqrt();
    Some(MeanEstimate { n, mean, standard_error, correlation, degrees })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_is_judged_by_the_scatter_of_the_others() {
        let found = pooled(&[4.0], &[1.0, 2.0, 3.0], 1.0).unwrap();
        assert_eq!((found.n, found.mean, found.degrees), (4, 2.0, 2.0));
        assert!((found.standard_error - (1.0f64 * (1.0 + 1.0 / 3.0)).sqrt()).abs() < 1e-12);
        let wider = pooled(&[4.0], &[1.0, 2.0, 3.0], 4.0).unwrap();
        assert!((wider.standard_error - 2.0 * found.standard_error).abs() < 1e-12);
    }

    #[test]
    fn too_little_is_no_interval() {
        assert!(pooled(&[1.0], &[2.0], 1.0).unwrap().standard_error.is_infinite());
        assert_eq!(pooled(&[], &[2.0], 1.0), None);
        assert_eq!(pooled(&[f64::NAN], &[2.0, 3.0], 1.0), None);
        assert_eq!(pooled(&[2.0, 2.0], &[1.0, 1.0], 1.0).unwrap().standard_error, 0.0);
    }
}
