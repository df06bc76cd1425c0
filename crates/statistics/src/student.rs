//! Mean, standard deviation and Student's t distribution.
//!
//! Source: Student, "The probable error of a mean", Biometrika 6 (1908); Jain, *The Art of
//! Computer Systems Performance Analysis* (1991), chapter 13. Numerics: the `statrs` crate.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Count, mean and standard deviation of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n − 1 below (0 for one value, whose deviation is unknown).
    pub sd: f64,
}

/// Mean and standard deviation by two passes (the sum of squares is taken around the mean, so that large means lose no
/// digits).
///
/// Degenerate cases: no value, or any value that is not finite, gives `None`; one value has `sd` 0 and callers must
/// look at `n`.
pub fn summary(values: &[f64]) -> Option<Summary> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    if n == 1 || values.iter().all(|value| *value == values[0]) {
        // Equal values must have no spread at all, even if their mean is not representable.
        return Some(Summary { n, mean: values[0], sd: 0.0 });
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(Summary { n, mean, sd: (squares / (n - 1) as f64).sqrt() })
}

/// The `p` quantile of Student's t with `degrees` degrees of freedom: t such that P(T ≤ t) = p.
///
/// Assumes nothing of data; it is a property of the distribution.
/// Degenerate cases: p outside (0, 1) or degrees that are not positive and finite give `None`.
pub fn t_quantile(p: f64, degrees: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && degrees.is_finite()) {
        return None;
    }
    // The lower half is computed and mirrored: 1 − p loses digits near 1.
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let tail = p.min(1.0 - p);
    let quantile = if tail == 0.5 { 0.0 } else { distribution.inverse_cdf(tail) };
    let quantile = if p > 0.5 { -quantile } else { quantile };
    quantile.is_finite().then_some(quantile)
}

/// Two-sided p of a t statistic: P(|T| ≥ |t|) with `degrees` degrees of freedom.
///
/// Degenerate cases: an infinite t (no variance, mean not zero) gives 0; a t that is not a number or meaningless
/// degrees give `None`.
pub fn t_two_sided_p(t: f64, degrees: f64) -> Option<f64> {
    if t.is_nan() || !degrees.is_finite() {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    if t.is_infinite() {
        return Some(0.0);
    }
    Some((2.0 * distribution.cdf(-t.abs())).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_a_sample_worked_by_hand() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares around it 9+1+1+1+0+0+4+16 = 32, 32/7 below.
        let got = summary(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((got.n, got.mean), (8, 5.0));
        assert!((got.sd - (32.0f64 / 7.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn summary_of_too_little() {
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[1.0, f64::NAN]), None);
        assert_eq!(summary(&[1.0, f64::INFINITY]), None);
        assert_eq!(summary(&[3.5]), Some(Summary { n: 1, mean: 3.5, sd: 0.0 }));
        assert_eq!(summary(&[0.1; 7]), Some(Summary { n: 7, mean: 0.1, sd: 0.0 }));
    }

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, three decimals.
        let table = [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 7.0, 2.365),
            (0.995, 7.0, 3.499),
            (0.95, 10.0, 1.812),
            (0.975, 15.0, 2.131),
            (0.999, 31.0, 3.375),
            (0.975, 63.0, 1.998),
            (0.975, 100.0, 1.984),
        ];
        for (p, degrees, expected) in table {
            let got = t_quantile(p, degrees).unwrap();
            assert!((got - expected).abs() < 6e-4, "t({p}, {degrees}) = {got}, table {expected}");
            let low = t_quantile(1.0 - p, degrees).unwrap();
            assert!((low + got).abs() < 1e-9, "mirrored");
        }
        assert_eq!(t_quantile(0.5, 7.0), Some(0.0));
    }

    #[test]
    fn quantile_and_p_undo_each_other_far_out() {
        for degrees in [1.0, 3.0, 7.0, 15.0, 63.0, 499.0] {
            for alpha in [0.5, 0.05, 0.01, 0.05 / 50.0, 1e-6] {
                let t = t_quantile(1.0 - alpha / 2.0, degrees).unwrap();
                let p = t_two_sided_p(t, degrees).unwrap();
                assert!((p / alpha - 1.0).abs() < 1e-6, "df {degrees} alpha {alpha}: t {t} p {p}");
            }
        }
    }

    #[test]
    fn quantile_and_p_of_nonsense() {
        for (p, degrees) in
            [(0.0, 5.0), (1.0, 5.0), (f64::NAN, 5.0), (0.9, 0.0), (0.9, -1.0), (0.9, f64::NAN)]
        {
            assert_eq!(t_quantile(p, degrees), None, "{p} {degrees}");
        }
        assert_eq!(t_two_sided_p(f64::NAN, 5.0), None);
        assert_eq!(t_two_sided_p(1.0, 0.0), None);
        assert_eq!(t_two_sided_p(f64::INFINITY, 5.0), Some(0.0));
        assert!((t_two_sided_p(0.0, 5.0).unwrap() - 1.0).abs() < 1e-12);
    }
}
