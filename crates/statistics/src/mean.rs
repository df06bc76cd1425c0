//! The mean of d over blocks with its interval, and the effect of correlation between blocks on it.
//!
//! Source: Student 1908 and Jain 1991 for the interval; Georges, Buytaert, Eeckhout, "Statistically
//! rigorous Java performance evaluation" (OOPSLA 2007) and Kalibera, Jones, "Rigorous benchmarking
//! in reasonable time" (ISMM 2013) for making it over repetitions of the highest level (here:
//! blocks) and for ratios.

use super::correlation::{common, inflation};
use super::student::{summary, t_quantile, t_two_sided_p};
use threadwise_document::Interval;

/// The mean of one number per block, on whatever scale the numbers have (logarithms for ratios).
///
/// Assumes that their mean is close to normal. Correlation of neighbouring blocks is allowed for, as AR(1)
/// (`statistics::correlation`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// Number of blocks.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean, widened by correlation; infinite for one block.
    pub standard_error: f64,
    /// Lag-1 correlation of neighbouring blocks that it was widened by.
    pub correlation: f64,
    /// Degrees of freedom of its standard error: n − 1, or more if other quantities inform its variance
    /// (`statistics::moderated`). 0 for one block.
    pub degrees: f64,
}

impl MeanEstimate {
    /// The estimate from one number per block in block order, with the correlation of these numbers alone, which is
    /// known from 16 blocks on. For several such series, see [`Self::correlated`].
    ///
    /// Degenerate cases: no block or a number that is not finite gives `None`. One block has a mean and an infinite
    /// interval. Without variance the interval is the point itself.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::correlated(values, common(&[values]))
    }

    /// The estimate with a known lag-1 correlation of neighbouring blocks.
    ///
    /// Degenerate cases: see [`Self::of`].
    pub fn correlated(values: &[f64], correlation: f64) -> Option<Self> {
        let all = summary(values)?;
        let standard_error = if all.n < 2 {
            f64::INFINITY
        } else {
            all.sd / (all.n as f64).sqrt() * inflation(values, correlation).sqrt()
        };
        let degrees = (all.n - 1) as f64;
        Some(Self { n: all.n, mean: all.mean, standard_error, correlation, degrees })
    }

    /// Half of the width of the t interval at level 1 − `alpha`; infinite for one block.
    pub fn half_width(&self, alpha: f64) -> f64 {
        if self.standard_error == 0.0 || self.standard_error.is_infinite() {
            return self.standard_error;
        }
        let quantile = t_quantile(1.0 - alpha / 2.0, self.degrees);
        quantile.map_or(f64::INFINITY, |t| t * self.standard_error)
    }

    /// The t interval at level 1 − `alpha`.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = self.half_width(alpha);
        (self.mean - half, self.mean + half)
    }

    /// The mean with the same interval, without a unit.
    pub fn as_interval(&self, alpha: f64) -> Interval {
        let (low, high) = self.interval(alpha);
        Interval { mean: self.mean, low, high, unit: "1".to_owned() }
    }

    /// Two-sided p of the t test that the true mean is 0. It is at most `alpha` exactly if the interval at level 1 −
    /// `alpha` excludes 0.
    ///
    /// Degenerate cases: one block gives 1; no variance gives 0 unless the mean is 0.
    pub fn p(&self) -> f64 {
        if self.mean == 0.0 || self.n < 2 {
            return 1.0;
        }
        t_two_sided_p(self.mean / self.standard_error, self.degrees).unwrap_or(1.0)
    }

    /// The estimate with every number moved by a constant (a ratio times a known factor).
    pub fn shifted(self, by: f64) -> Self {
        Self { mean: self.mean + by, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-3 * b.abs().max(1e-3)
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // 1, 2, 3, 4, 5: mean 3, sd √2.5, se √0.5 = 0.70711, t(0.975, 4) = 2.776, half 1.963.
        let got = MeanEstimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let (low, high) = got.interval(0.05);
        assert!(close(low, 3.0 - 1.963) && close(high, 3.0 + 1.963), "{low} {high}");
        // t = 3 / 0.70711 = 4.243 on 4 degrees: p = 0.0132.
        assert!((got.p() - 0.0132).abs() < 1e-4, "{}", got.p());
    }

    #[test]
    fn p_and_interval_agree() {
        let values = [0.02, -0.01, 0.03, 0.015, -0.005, 0.04, 0.01, 0.0];
        let got = MeanEstimate::of(&values).unwrap();
        let p = got.p();
        assert!(p > 0.0 && p < 1.0);
        assert!(got.interval(p * 1.001).0 > 0.0 && got.interval(p * 0.999).0 < 0.0);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(MeanEstimate::of(&[]), None);
        assert_eq!(MeanEstimate::of(&[0.1, f64::NEG_INFINITY]), None);
        let one = MeanEstimate::of(&[0.7]).unwrap();
        assert_eq!(one.interval(0.05), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((one.mean, one.p(), one.correlation), (0.7, 1.0, 0.0));
        let flat = MeanEstimate::of(&[0.25; 8]).unwrap();
        assert_eq!((flat.interval(0.05), flat.p()), ((0.25, 0.25), 0.0));
        assert_eq!(MeanEstimate::of(&[0.0; 8]).unwrap().p(), 1.0);
    }

    #[test]
    fn correlation_widens_and_never_narrows() {
        let rising: Vec<f64> = (0..16).map(f64::from).collect();
        let plain = MeanEstimate::correlated(&rising, 0.0).unwrap();
        assert!((plain.standard_error - summary(&rising).unwrap().sd / 4.0).abs() < 1e-12);
        let got = MeanEstimate::of(&rising).unwrap();
        assert!(got.correlation > 0.8 && got.standard_error > 2.0 * plain.standard_error, "{got:?}");
        assert_eq!(MeanEstimate::of(&rising[..15]).unwrap().correlation, 0.0);
        let turning: Vec<f64> = (0..16).map(|at| f64::from(at % 2)).collect();
        assert_eq!(MeanEstimate::of(&turning), MeanEstimate::correlated(&turning, 0.0));
    }
}
