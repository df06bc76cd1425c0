//! Variances of many quantities, each shrunk towards the usual one among them (the moderated t of limma).
//!
//! Source: Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
//! experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004): section 3 (moderated t),
//! section 6.2 (degrees and variance of the prior from the logarithms of variances), appendix (inverse of trigamma).
//! The cap of the degrees, the floor of variances and the pooled variance where all are alike are those of limma's
//! `eBayes` and `fitFDist` (Ritchie et al., Nucleic Acids Research 43, 2015). Digamma: the `statrs` crate.

use super::{MeanEstimate, median};
use statrs::function::gamma::digamma;

/// Fewest quantities for a usual variance. With 3 the prior is accidental, and intervals of quantities that scatter
/// more than the others are too short.
pub const MIN_SERIES: usize = 5;
/// Fewest degrees of freedom of a variance that is used: those of 8 blocks. With 3 blocks, half of whose noise queries
/// share, a false difference was reported in twice as many studies as allowed.
const MIN_DEGREES: f64 = 7.0;
/// Variances below this share of their median are raised to it: 0 has no logarithm.
const LEAST_SHARE: f64 = 1e-5;

/// Distribution of the variances of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Degrees of freedom, d₀: how many observations of a quantity it is worth. Infinite if variances differ by no more
    /// than chance.
    pub degrees: f64,
    /// Usual variance, s₀².
    pub variance: f64,
}

impl Prior {
    /// From variances with their degrees of freedom.
    ///
    /// Assumes that true variances are drawn from a scaled inverse χ² and observed ones scatter as those of normal
    /// samples do. Heavier tails give fewer degrees, so less is shrunk.
    /// Degenerate cases: fewer than [`MIN_SERIES`] variances, or more than half of them 0, give `None`. Variances that
    /// are not finite and those without degrees are left out.
    pub fn of(variances: &[(f64, f64)]) -> Option<Self> {
        let known: Vec<(f64, f64)> = variances
            .iter()
            .copied()
            .filter(|(variance, degrees)| variance.is_finite() && *variance >= 0.0 && *degrees > 0.0)
            .collect();
        let least = LEAST_SHARE * median(known.iter().map(|(variance, _)| *variance))?;
        if known.len() < MIN_SERIES || least <= 0.0 {
            return None;
        }
        let count = known.len() as f64;
        let logs: Vec<f64> = known
            .iter()
            .map(|(variance, degrees)| {
                variance.max(least).ln() - digamma(degrees / 2.0) + (degrees / 2.0).ln()
            })
            .collect();
        let mean = logs.iter().sum::<f64>() / count;
        let scatter = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let by_chance = known.iter().map(|(_, degrees)| trigamma(degrees / 2.0)).sum::<f64>() / count;
        let half = trigamma_inverse(scatter - by_chance);
        Some(match half {
            Some(half) => Self { degrees: 2.0 * half, variance: (mean + digamma(half) - half.ln()).exp() },
            None => {
                let squares: f64 = known.iter().map(|(variance, degrees)| variance * degrees).sum();
                let degrees: f64 = known.iter().map(|(_, degrees)| degrees).sum();
                Self { degrees: f64::INFINITY, variance: squares / degrees }
            }
        })
    }

    /// A variance shrunk towards the usual one.
    pub fn shrunk(&self, variance: f64, degrees: f64) -> f64 {
        match self.degrees.is_infinite() {
            true => self.variance,
            false => (self.degrees * self.variance + degrees * variance) / (self.degrees + degrees),
        }
    }
}

/// Means of many quantities with standard errors from shrunken variances, in their order. Each has the prior's degrees
/// of freedom added to its own, all together no more than the family's observations give.
///
/// Degenerate cases: without a prior (few quantities, no variance) all stay as they are; so does a mean of fewer than 8
/// blocks, which does not inform the others either.
pub fn moderated(means: &[MeanEstimate]) -> Vec<MeanEstimate> {
    // The variance of a single block's d, with the effect of block correlation on that of the mean.
    let variance = |mean: &MeanEstimate| mean.standard_error.powi(2) * mean.n as f64;
    let takes_part = |mean: &MeanEstimate| mean.degrees >= MIN_DEGREES;
    let all: Vec<(f64, f64)> =
        means.iter().filter(|mean| takes_part(mean)).map(|mean| (variance(mean), mean.degrees)).collect();
    let Some(prior) = Prior::of(&all) else { return means.to_vec() };
    let pooled: f64 = all.iter().map(|(_, degrees)| degrees).sum();
    let shrunk = |mean: &MeanEstimate| match takes_part(mean) {
        false => *mean,
        true => MeanEstimate {
            standard_error: (prior.shrunk(variance(mean), mean.degrees) / mean.n as f64).sqrt(),
            degrees: (prior.degrees + mean.degrees).min(pooled),
            ..*mean
        },
    };
    means.iter().map(shrunk).collect()
}

/// The trigamma function ψ′(x) of x > 0: its recurrence up to 10, and then its asymptotic series (Abramowitz, Stegun,
/// *Handbook of Mathematical Functions*, 6.4.6 and 6.4.12).
///
/// Degenerate cases: 0 and less give `NaN`.
pub fn trigamma(x: f64) -> f64 {
    polygamma(
        x,
        |x| 1.0 / (x * x),
        |x, square| {
            let series = 1.0 / 6.0
                - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square * (1.0 / 30.0 - square * 5.0 / 66.0)));
            1.0 / x + square / 2.0 + square * series / x
        },
    )
}

/// The tetragamma function ψ″(x) of x > 0, likewise (6.4.13).
fn tetragamma(x: f64) -> f64 {
    polygamma(
        x,
        |x| -2.0 / (x * x * x),
        |x, square| {
            let series =
                0.5 - square * (1.0 / 6.0 - square * (1.0 / 6.0 - square * (0.3 - square * 5.0 / 6.0)));
            -square - square / x - square * square * series
        },
    )
}

/// Adds `step` from x up to 10, and `series` of the rest, whose second argument is 1 / x².
fn polygamma(x: f64, step: fn(f64) -> f64, series: fn(f64, f64) -> f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += step(x);
        x += 1.0;
    }
    sum + series(x, 1.0 / (x * x))
}

/// y such that ψ′(y) = x, by Newton's method on 1 / ψ′, which is nearly a line; `None` if x is 0 or less.
pub fn trigamma_inverse(x: f64) -> Option<f64> {
    if x.is_nan() || x <= 0.0 {
        return None;
    }
    // Beyond these the leading term of the series is exact in 64 bits.
    if x > 1e24 {
        return Some(1.0 / x.sqrt());
    }
    if x < 1e-6 {
        return Some(1.0 / x + 0.5);
    }
    let mut y = 0.5 + 1.0 / x;
    // A handful of steps, and for large x two for each of its decimal digits.
    for _ in 0..100 {
        let value = trigamma(y);
        let change = value * (1.0 - value / x) / tetragamma(y);
        y += change;
        if change.abs() <= 1e-12 * y {
            break;
        }
    }
    Some(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn close(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-10, "{got}, expected {expected}");
    }

    #[test]
    fn trigamma_where_it_is_known_exactly() {
        // Abramowitz, Stegun 6.4.2 and 6.4.4: ψ′(1) = π²/6, ψ′(½) = π²/2, and ψ′(n + 1) = ψ′(n) − 1/n². ψ′(¼) is
        // π² + 8 times Catalan's constant.
        close(trigamma(1.0), PI * PI / 6.0);
        close(trigamma(0.5), PI * PI / 2.0);
        close(trigamma(3.5), PI * PI / 2.0 - 4.0 - 4.0 / 9.0 - 4.0 / 25.0);
        close(trigamma(0.25), PI * PI + 8.0 * 0.915_965_594_177_219);
        let of_integer = |n: u32| PI * PI / 6.0 - (1..n).map(|k| 1.0 / f64::from(k * k)).sum::<f64>();
        close(trigamma(25.0), of_integer(25));
        // ψ″(1) = −2 ζ(3), ψ″(½) = −14 ζ(3).
        close(tetragamma(1.0), -2.0 * 1.202_056_903_159_594);
        close(tetragamma(0.5), -14.0 * 1.202_056_903_159_594);
        assert!(trigamma(0.0).is_nan() && trigamma(f64::NAN).is_nan());
    }

    #[test]
    fn its_inverse_undoes_it() {
        for y in [1e-4, 0.03, 0.5, 1.0, 2.0, 3.5, 11.0, 400.0, 1e5, 1e8] {
            close(trigamma_inverse(trigamma(y)).unwrap(), y);
        }
        assert_eq!(
            (trigamma_inverse(0.0), trigamma_inverse(-0.1), trigamma_inverse(f64::NAN)),
            (None, None, None)
        );
    }

    #[test]
    fn a_prior_worked_by_hand() {
        // Logarithms of five variances 1 apart, 7 degrees each: their variance is 2.5, of which ψ′(3.5) = 0.330358 is
        // chance, and ψ′(y) = 2.169642 at y = 0.825055 or so, where d₀ is twice that.
        let variances: Vec<(f64, f64)> = (-2..=2).map(|at| (f64::from(at).exp(), 7.0)).collect();
        let prior = Prior::of(&variances).unwrap();
        close(trigamma(prior.degrees / 2.0), 2.5 - trigamma(3.5));
        let half = prior.degrees / 2.0;
        close(prior.variance.ln(), -digamma(3.5) + 3.5f64.ln() + digamma(half) - half.ln());
        close(prior.shrunk(4.0, 7.0), (prior.degrees * prior.variance + 28.0) / (prior.degrees + 7.0));
        // In the same unit: variances times 9 are a prior times 9.
        let larger: Vec<(f64, f64)> =
            variances.iter().map(|(variance, degrees)| (9.0 * variance, *degrees)).collect();
        let larger = Prior::of(&larger).unwrap();
        close(larger.degrees, prior.degrees);
        close(larger.variance, 9.0 * prior.variance);
    }

    #[test]
    fn variances_that_are_alike_are_one() {
        let prior = Prior::of(&[(1.0, 7.0), (1.1, 7.0), (0.9, 7.0), (1.0, 7.0), (1.2, 14.0)]).unwrap();
        assert!(prior.degrees.is_infinite());
        close(prior.variance, (4.0 * 7.0 + 1.2 * 14.0) / 42.0);
        close(prior.shrunk(5.0, 7.0), prior.variance);
    }

    #[test]
    fn means_with_shrunken_variances() {
        let with_sd = |sd: f64| {
            let d = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0].map(|x| 0.1 + sd * x);
            MeanEstimate::correlated(&d, 0.0).unwrap()
        };
        let means: Vec<MeanEstimate> = [0.01, 0.02, 0.02, 0.03, 0.09].map(with_sd).to_vec();
        let got = moderated(&means);
        let ratio = |at: usize| got[at].standard_error / means[at].standard_error;
        assert!(ratio(0) > 1.2 && ratio(4) < 0.95, "{got:?}");
        assert!(got.iter().zip(&means).all(|(new, old)| (new.mean, new.n) == (old.mean, old.n)));
        assert!(got[0].degrees > 7.0 && got[0].degrees < 35.0);
        // All alike: one variance with the degrees of all.
        let alike = moderated(&[0.02; 5].map(with_sd));
        assert_eq!(alike[0].degrees, 35.0);
        assert!((alike[0].standard_error / means[1].standard_error - 1.0).abs() < 1e-12);
    }

    #[test]
    fn too_little_to_say() {
        let flat = MeanEstimate::of(&[0.1; 8]).unwrap();
        assert_eq!(moderated(&[flat; 6]), [flat; 6]);
        let noisy = MeanEstimate::of(&[0.1, 0.2, 0.15, 0.1, 0.3, 0.2, 0.1, 0.2]).unwrap();
        assert_eq!(moderated(&[noisy; 4]), [noisy; 4]);
        let few = MeanEstimate::of(&[0.1, 0.2, 0.15]).unwrap();
        assert_eq!(moderated(&[few; 22]), [few; 22]);
        let got = moderated(&[noisy, noisy, noisy, noisy, noisy, few, MeanEstimate::of(&[0.1]).unwrap()]);
        assert_eq!((got[0].degrees, got[5]), (35.0, few));
        assert_eq!(moderated(&[]), []);
    }
}
