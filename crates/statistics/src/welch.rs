//! The difference of two means of samples whose variances may differ.
//!
//! Source: Welch, "The generalization of 'Student's' problem when several different population variances are involved",
//! Biometrika 34 (1947); degrees of freedom by Satterthwaite, Biometrics Bulletin 2 (1946).

use super::mean::MeanEstimate;
use super::student::{Summary, summary};

/// The mean of `one` less that of `other`, as an estimate whose `n` is the number of values of both.
///
/// Assumes that the values are independent and close to normal.
/// Degenerate cases: a sample without a value, or a value that is not finite, gives `None`. A sample of one value gives the
/// difference with an infinite interval, and `n` 1. Without variance in both the interval is the point itself.
pub fn welch(one: &[f64], other: &[f64]) -> Option<MeanEstimate> {
    let (one, other) = (summary(one)?, summary(other)?);
    let estimate = |sample: Summary| MeanEstimate {
        n: sample.n,
        mean: sample.mean,
        standard_error: sample.sd / (sample.n as f64).sqrt(),
        correlation: 0.0,
        degrees: sample.n.saturating_sub(1) as f64,
    };
    Some(welch_of(&estimate(one), &estimate(other)))
}

/// The difference of two means whose standard errors are known, each with the degrees of freedom of its own.
///
/// Degenerate cases: if one of them has no standard error (one value), the interval is infinite, and `n` is 1. Without
/// variance in both the interval is the point itself.
pub fn welch_of(one: &MeanEstimate, other: &MeanEstimate) -> MeanEstimate {
    let mean = one.mean - other.mean;
    if one.n < 2 || other.n < 2 {
        let (standard_error, degrees) = (f64::INFINITY, 0.0);
        return MeanEstimate { n: 1, mean, standard_error, correlation: 0.0, degrees };
    }
    let variance = one.standard_error.powi(2) + other.standard_error.powi(2);
    let share = |side: &MeanEstimate| (side.standard_error.powi(2) / variance).powi(2) / side.degrees;
    let degrees = match variance > 0.0 {
        true => 1.0 / (share(one) + share(other)),
        false => one.degrees + other.degrees,
    };
    MeanEstimate { n: one.n + other.n, mean, standard_error: variance.sqrt(), correlation: 0.0, degrees }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_worked_by_hand() {
        // Means 3 and 6; variances 2.5 / 5 = 0.5 and 10 / 5 = 2; se = sqrt 2.5.
        // Degrees: 2.5² / (0.5² / 4 + 2² / 4) = 6.25 / 1.0625 = 5.882.
        let got = welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        assert_eq!((got.n, got.mean), (10, -3.0));
        assert!((got.standard_error - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((got.degrees - 6.25 / 1.0625).abs() < 1e-12);
        // Two of each with one spread: half of the degrees of the smaller come from each.
        assert!((welch(&[0.0, 1.0], &[5.0, 6.0]).unwrap().degrees - 2.0).abs() < 1e-12);
        assert!((welch(&[0.0, 0.0], &[5.0, 6.0]).unwrap().degrees - 1.0).abs() < 1e-12);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(welch(&[], &[1.0]), None);
        assert_eq!(welch(&[1.0, 2.0], &[f64::NAN, 1.0]), None);
        let one = welch(&[1.0], &[3.0, 4.0]).unwrap();
        assert_eq!((one.mean, one.p(), one.n), (-2.5, 1.0, 1));
        assert_eq!(one.interval(0.05), (f64::NEG_INFINITY, f64::INFINITY));
        let flat = welch(&[1.0, 1.0], &[0.5, 0.5]).unwrap();
        assert_eq!((flat.interval(0.05), flat.p()), ((0.5, 0.5), 0.0));
    }
}
