//! Quantiles of the distributions of variances and of their ratios. Numerics: the `statrs` crate.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

/// The `p` quantile of chi-squared with `degrees` degrees of freedom. `None` if p is outside (0, 1), or degrees are not
/// positive.
pub fn chi_squared_quantile(p: f64, degrees: f64) -> Option<f64> {
    let quantile = ChiSquared::new(degrees).ok().filter(|_| p > 0.0 && p < 1.0)?.inverse_cdf(p);
    quantile.is_finite().then_some(quantile)
}

/// The `p` quantile of F with these degrees of freedom above and below. `None` if p is outside (0, 1), or degrees are
/// not positive.
pub fn f_quantile(p: f64, above: f64, below: f64) -> Option<f64> {
    let quantile = FisherSnedecor::new(above, below).ok().filter(|_| p > 0.0 && p < 1.0)?.inverse_cdf(p);
    quantile.is_finite().then_some(quantile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.3 and 1.3.6.7.4.
        for (p, degrees, table) in
            [(0.975, 4.0, 11.143), (0.025, 4.0, 0.484), (0.95, 2.0, 5.991), (0.05, 10.0, 3.940)]
        {
            let got = chi_squared_quantile(p, degrees).unwrap();
            assert!((got - table).abs() < 6e-4, "{p} {degrees}: {got}, table {table}");
        }
        for (above, below, table) in [(1.0, 2.0, 18.513), (4.0, 5.0, 5.192), (9.0, 10.0, 3.020)] {
            let got = f_quantile(0.95, above, below).unwrap();
            assert!((got - table).abs() < 6e-4, "{above} {below}: {got}, table {table}");
            // The lower quantile is the inverse of the upper one the other way round.
            let low = f_quantile(0.05, below, above).unwrap();
            assert!((low * got - 1.0).abs() < 1e-6, "{low} {got}");
        }
        assert_eq!((chi_squared_quantile(0.0, 4.0), f_quantile(0.5, 0.0, 1.0)), (None, None));
    }
}
