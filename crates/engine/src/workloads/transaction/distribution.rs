//! Distributions of whole numbers.
//!
//! Sources: Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019); Hörmann and Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6 (1996), section 3, for
//! Zipf's; the documentation of pgbench, "Built-In Functions", for those of `random_gaussian` and `random_exponential`.

use rand_chacha::rand_core::Rng;

/// A number from 0 to below 1, with 53 bits.
pub(super) fn unit(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A whole number between two, both included, each as likely as any other.
///
/// Multiply and shift without rejection: the bias is at most the range over 2^64.
pub(super) fn even(random: &mut impl Rng, low: i64, high: i64) -> i64 {
    let offset = (u128::from(random.next_u64()) * count(low, high)) >> 64;
    (i128::from(low) + offset as i128) as i64
}

/// How many whole numbers there are between two, both included.
fn count(low: i64, high: i64) -> u128 {
    (i128::from(high) - i128::from(low) + 1).max(1) as u128
}

/// The whole number at a share of the way from the lowest to the highest.
fn at_share(low: i64, high: i64, share: f64) -> i64 {
    let offset = (count(low, high) as f64 * share) as i128;
    (i128::from(low) + offset.max(0)).min(i128::from(high)) as i64
}

/// Truncated to `parameter` standard deviations on both sides, then spread over the range (`getGaussianRand`).
pub(super) fn gaussian(random: &mut impl Rng, low: i64, high: i64, parameter: f64) -> i64 {
    loop {
        // Box and Muller; the logarithm is of a number above 0.
        let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
        let normal = radius * (2.0 * std::f64::consts::PI * unit(random)).sin();
        if normal >= -parameter && normal < parameter {
            return at_share(low, high, (normal + parameter) / (parameter * 2.0));
        }
    }
}

/// Truncated at `parameter`, then spread over the range: the lowest number is the most frequent
/// (`getExponentialRand`).
pub(super) fn exponential(random: &mut impl Rng, low: i64, high: i64, parameter: f64) -> i64 {
    let cut = (-parameter).exp();
    let share = -(cut + (1.0 - cut) * (1.0 - unit(random))).ln() / parameter;
    at_share(low, high, share)
}

/// Zipf's: rank k of n has a probability proportional to 1/k^s.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Zipf {
    low: i64,
    high: i64,
    exponent: f64,
    ranks: f64,
    /// Integral of the envelope up to 1.5, less its first bar.
    first: f64,
    /// Integral up to the end of the last bar.
    last: f64,
    /// Up to this distance from its bar's middle a point is inside of the bar.
    inside: f64,
}

impl Zipf {
    /// The lowest number is the most frequent. The exponent is above 0.
    pub(super) fn new(low: i64, high: i64, exponent: f64) -> Self {
        let ranks = count(low, high) as f64;
        let integral = |at: f64| integral(exponent, at);
        Self {
            low,
            high,
            exponent,
            ranks,
            first: integral(1.5) - 1.0,
            last: integral(ranks + 0.5),
            inside: 2.0 - inverse(exponent, integral(2.5) - bar(exponent, 2.0)),
        }
    }

    /// A number.
    pub(super) fn draw(&self, random: &mut impl Rng) -> i64 {
        loop {
            let area = self.last + unit(random) * (self.first - self.last);
            let at = inverse(self.exponent, area);
            let rank = (at + 0.5).floor().clamp(1.0, self.ranks);
            if rank - at <= self.inside
                || area >= integral(self.exponent, rank + 0.5) - bar(self.exponent, rank)
            {
                return (i128::from(self.low) + (rank as i128 - 1)).min(i128::from(self.high)) as i64;
            }
        }
    }
}

/// Height of the bar of a rank.
fn bar(exponent: f64, rank: f64) -> f64 {
    (-exponent * rank.ln()).exp()
}

/// Integral of the envelope from 1: (x^(1-s) - 1) / (1-s), and ln x for s = 1.
fn integral(exponent: f64, at: f64) -> f64 {
    let log = at.ln();
    let power = (1.0 - exponent) * log;
    // Near 0, where the quotient loses its digits, its series.
    let quotient =
        if power.abs() > 1e-8 { power.exp_m1() / power } else { 1.0 + power / 2.0 * (1.0 + power / 3.0) };
    quotient * log
}

/// Where the integral has a value.
fn inverse(exponent: f64, area: f64) -> f64 {
    let power = (area * (1.0 - exponent)).max(-1.0);
    let quotient = if power.abs() > 1e-8 { power.ln_1p() / power } else { 1.0 - power * (0.5 - power / 3.0) };
    (quotient * area).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    const DRAWS: usize = 200_000;

    /// Shares of the first numbers of a range that begins at 1, from a fixed seed.
    fn shares<const N: usize>(mut draw: impl FnMut(&mut ChaCha8Rng) -> i64) -> [f64; N] {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut shares = [0.0; N];
        for _ in 0..DRAWS {
            let value = usize::try_from(draw(&mut random)).unwrap();
            if (1..=N).contains(&value) {
                shares[value - 1] += 1.0 / DRAWS as f64;
            }
        }
        shares
    }

    fn close(found: f64, expected: f64) {
        // Five standard errors of a share; the seed is fixed.
        let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!((found - expected).abs() <= 5.0 * error + 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn zipfs_shares_are_powers_of_the_rank() {
        for exponent in [0.2, 0.99, 1.0, 1.0 + 1e-12, 1.2, 2.5, 30.0] {
            let zipf = Zipf::new(1, 50, exponent);
            let all: f64 = (1..=50).map(|rank| f64::from(rank).powf(-exponent)).sum();
            let found: [f64; 50] = shares(|random| zipf.draw(random));
            for (at, share) in found.iter().enumerate() {
                close(*share, ((at + 1) as f64).powf(-exponent) / all);
            }
        }
    }

    /// The documentation of pgbench: "the 1st value is about 2^s times as frequent as the 2nd".
    #[test]
    fn zipfs_first_is_a_power_of_two_of_the_second_in_any_range() {
        let zipf = Zipf::new(1, i64::MAX, 2.0);
        let [first, second] = shares(|random| zipf.draw(random));
        close(first, 6.0 / std::f64::consts::PI.powi(2));
        close(second, 6.0 / std::f64::consts::PI.powi(2) / 4.0);
        for (low, high) in [(i64::MIN, i64::MAX), (-3, -3), (i64::MAX, i64::MAX)] {
            let zipf = Zipf::new(low, high, 1.5);
            let mut random = ChaCha8Rng::seed_from_u64(1);
            assert!((0..1000).all(|_| (low..=high).contains(&zipf.draw(&mut random))));
        }
    }

    /// The documentation: f(x) = PHI(2 p (x - mu) / (max - min + 1)) / (2 PHI(p) - 1), and for 4.0 95% of the values
    /// are drawn from the middle half.
    #[test]
    fn a_gaussian_has_its_share_in_the_middle() {
        let middle = |parameter: f64| -> f64 {
            let found: [f64; 100] = shares(|random| gaussian(random, 1, 100, parameter));
            close(found.iter().sum(), 1.0);
            found[25..75].iter().sum()
        };
        // P(|Z| < 2) / P(|Z| < 4), and P(|Z| < 1) / P(|Z| < 2).
        close(middle(4.0), 0.954_499_736 / 0.999_936_658);
        close(middle(2.0), 0.682_689_492 / 0.954_499_736);
    }

    /// The documentation: value i of m is drawn with f(i) - f(i + 1), f(x) = exp(-p (x - min) / (max - min + 1)) /
    /// (1 - exp(-p)).
    #[test]
    fn an_exponential_has_the_documented_shares() {
        for parameter in [0.1_f64, 2.0, 10.0] {
            let f = |at: usize| (-parameter * at as f64 / 20.0).exp() / (1.0 - (-parameter).exp());
            let found: [f64; 20] = shares(|random| exponential(random, 1, 20, parameter));
            for (at, share) in found.iter().enumerate() {
                close(*share, f(at) - f(at + 1));
            }
        }
    }

    #[test]
    fn an_even_draw_fills_its_range() {
        let found: [f64; 4] = shares(|random| even(random, 1, 4));
        found.iter().for_each(|share| close(*share, 0.25));
        let mut random = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(even(&mut random, 7, 7), 7);
        assert!((0..1000).any(|_| even(&mut random, i64::MIN, i64::MAX) < 0));
    }
}
