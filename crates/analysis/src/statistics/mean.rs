//! The mean of d over blocks with its interval, and what correlation between blocks does to it.
//!
//! Source: Student 1908 and Jain 1991 for the interval; Georges, Buytaert, Eeckhout, "Statistically
//! rigorous Java performance evaluation" (OOPSLA 2007) and Kalibera, Jones, "Rigorous benchmarking
//! in reasonable time" (ISMM 2013) for making it over repetitions of the highest level (here:
//! blocks) and for ratios; Chatfield, *The Analysis of Time Series*, for the lag-1 correlation.

use super::student::{summary, t_quantile, t_two_sided_p};

/// From this many blocks on, a positive lag-1 correlation widens the interval. Below it the
/// correlation's own standard deviation, about 1/√n, is more than a quarter: it would mostly be
/// noise.
pub const MIN_BLOCKS_FOR_INFLATION: usize = 16;

/// The mean of one number per block, on whatever scale the numbers have (logarithms for ratios).
///
/// Assumes that blocks are independent and that their mean is close to normal. Blocks are: each
/// draws cores and starts workers anew, and its number is itself a mean over rounds. From 16
/// blocks on positive correlation between neighbours is allowed for, as AR(1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// Number of blocks.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean, widened by correlation; infinite for one block.
    pub standard_error: f64,
    /// Lag-1 correlation in block order.
    pub lag1: f64,
}

impl MeanEstimate {
    /// The estimate from one number per block in block order.
    ///
    /// Degenerate cases: no block or a number that is not finite gives `None`. One block has a
    /// mean and an infinite interval. Without variance the interval is the point itself.
    pub fn of(values: &[f64]) -> Option<Self> {
        let all = summary(values)?;
        let lag1 = lag1_correlation(values);
        let standard_error = if all.n < 2 {
            f64::INFINITY
        } else {
            all.sd / (all.n as f64).sqrt() * variance_inflation(all.n, lag1).sqrt()
        };
        Some(Self { n: all.n, mean: all.mean, standard_error, lag1 })
    }

    /// Half of the width of the t interval at level 1 − `alpha`; infinite for one block.
    pub fn half_width(&self, alpha: f64) -> f64 {
        if self.standard_error == 0.0 || self.standard_error.is_infinite() {
            return self.standard_error;
        }
        let quantile = t_quantile(1.0 - alpha / 2.0, (self.n - 1) as f64);
        quantile.map_or(f64::INFINITY, |t| t * self.standard_error)
    }

    /// The t interval at level 1 − `alpha`.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = self.half_width(alpha);
        (self.mean - half, self.mean + half)
    }

    /// Two-sided p of the t test that the true mean is 0. It is at most `alpha` exactly where the
    /// interval at level 1 − `alpha` leaves 0 out.
    ///
    /// Degenerate cases: one block gives 1; no variance gives 0 unless the mean is 0.
    pub fn p(&self) -> f64 {
        if self.mean == 0.0 || self.n < 2 {
            return 1.0;
        }
        t_two_sided_p(self.mean / self.standard_error, (self.n - 1) as f64).unwrap_or(1.0)
    }

    /// The same estimate with every number moved by a constant (a ratio times a known factor).
    pub fn shifted(self, by: f64) -> Self {
        Self { mean: self.mean + by, ..self }
    }
}

/// Lag-1 autocorrelation: Σ(xᵢ − x̄)(xᵢ₊₁ − x̄) / Σ(xᵢ − x̄)², in the order given.
///
/// Assumes evenly spaced values; blocks follow each other directly, and an excluded one leaves a
/// gap that is not accounted for. Its bias under independence is about −1/n.
/// Degenerate cases: fewer than 3 values, no variance or a value that is not finite gives 0.
pub fn lag1_correlation(values: &[f64]) -> f64 {
    let Some(all) = summary(values) else { return 0.0 };
    if all.n < 3 || all.sd == 0.0 {
        return 0.0;
    }
    let around: Vec<f64> = values.iter().map(|value| value - all.mean).collect();
    let below: f64 = around.iter().map(|x| x * x).sum();
    let above: f64 = around.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

/// Factor by which correlation between neighbours raises the variance of a mean of `n` values:
/// (1 + r) / (1 − r) for r > 0 and n ≥ [`MIN_BLOCKS_FOR_INFLATION`], else 1.
///
/// It is the large-n factor of an AR(1) process. A negative correlation never narrows an interval.
pub fn variance_inflation(n: usize, lag1: f64) -> f64 {
    if n < MIN_BLOCKS_FOR_INFLATION || lag1.is_nan() || lag1 <= 0.0 {
        return 1.0;
    }
    // The sample correlation stays below 1 (Chatfield); the cap only guards the division.
    let r = lag1.min(0.99);
    (1.0 + r) / (1.0 - r)
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
        assert_eq!((one.mean, one.p(), one.lag1), (0.7, 1.0, 0.0));
        let flat = MeanEstimate::of(&[0.25; 8]).unwrap();
        assert_eq!((flat.interval(0.05), flat.p()), ((0.25, 0.25), 0.0));
        assert_eq!(MeanEstimate::of(&[0.0; 8]).unwrap().p(), 1.0);
    }

    #[test]
    fn lag1_worked_by_hand() {
        // 1, 2, 3, 4 around 2.5: -1.5 -0.5 0.5 1.5; above 0.75 - 0.25 + 0.75 = 1.25, below 5.
        assert_eq!(lag1_correlation(&[1.0, 2.0, 3.0, 4.0]), 0.25);
        // Alternating ±1, four values: above -3, below 4.
        assert_eq!(lag1_correlation(&[1.0, -1.0, 1.0, -1.0]), -0.75);
        assert_eq!(lag1_correlation(&[1.0, 2.0]), 0.0);
        assert_eq!(lag1_correlation(&[2.0; 9]), 0.0);
        assert_eq!(lag1_correlation(&[1.0, f64::NAN, 2.0]), 0.0);
    }

    #[test]
    fn inflation_only_for_positive_correlation_of_enough_blocks() {
        assert_eq!(variance_inflation(16, 0.5), 3.0);
        assert_eq!(variance_inflation(15, 0.5), 1.0);
        assert_eq!(variance_inflation(64, -0.5), 1.0);
        assert_eq!(variance_inflation(64, f64::NAN), 1.0);
        assert!((variance_inflation(64, 1.0) - 199.0).abs() < 1e-9);
        // 16 values rising in steps: the interval is √((1+r)/(1−r)) times the plain one.
        let rising: Vec<f64> = (0..16).map(f64::from).collect();
        let got = MeanEstimate::of(&rising).unwrap();
        let plain = summary(&rising).unwrap().sd / 4.0;
        assert!((got.standard_error / plain - ((1.0 + got.lag1) / (1.0 - got.lag1)).sqrt()).abs() < 1e-12);
        assert!(got.lag1 > 0.5);
    }
}
