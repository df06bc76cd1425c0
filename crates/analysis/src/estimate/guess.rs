//! Best guess of an undecided ratio with its probability, for a verdict without a decision.
//!
//! With a flat prior of the logarithm, the uncertainty left is Student's t around the mean, scaled by the standard
//! error (Box and Tiao, *Bayesian Inference in Statistical Analysis*, 1973, 2.4). How often guesses are right is
//! simulated in tests/it/lab_simulations/coverage/guess.rs.

use crate::Ratio;
use threadwise_statistics::{Normal, t_quantile, t_two_sided_p};

/// Best guess whether a ratio exceeds a bound, mostly that of the margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guess {
    /// The likelier answer.
    pub is_above: bool,
    /// Its probability, 0.5 to 1.
    pub probability: f64,
}

impl Guess {
    /// The guess for one ratio; `None` with fewer than two blocks.
    pub fn of(ratio: &Ratio) -> Option<Self> {
        Self::beyond(ratio, 1.0 + ratio.margin)
    }

    /// The guess with a bound other than the margin.
    pub fn beyond(ratio: &Ratio, bound: f64) -> Option<Self> {
        let above = probability_above(ratio, bound)?;
        Some(Self { is_above: above > 0.5, probability: above.max(1.0 - above) })
    }
}

/// Probability that a ratio is above a bound. `None` with fewer than two blocks; 0 or 1 without variance.
fn probability_above(ratio: &Ratio, bound: f64) -> Option<f64> {
    let degrees = f64::from(ratio.blocks.checked_sub(1).filter(|degrees| *degrees > 0)?);
    let distance = (ratio.value / bound).ln();
    let standard_error = standard_error(ratio)?;
    if standard_error == 0.0 {
        return Some(f64::from(u8::from(distance > 0.0)));
    }
    let beyond = t_two_sided_p(distance / standard_error, degrees)? / 2.0;
    Some(if distance > 0.0 { 1.0 - beyond } else { beyond })
}

/// Standard error of the logarithm of a ratio, from its interval; `None` with fewer than two blocks.
pub(crate) fn standard_error(ratio: &Ratio) -> Option<f64> {
    if ratio.blocks < 2 || !ratio.has_ends() {
        return None;
    }
    let quantile = t_quantile(0.5 + ratio.level / 2.0, f64::from(ratio.blocks - 1))?;
    Some((ratio.high / ratio.low).ln() / 2.0 / quantile)
}

const STUDIES: u32 = 4000;
/// Largest number of blocks that is distinguished.
const MOST_BLOCKS: u32 = 256;

/// The share of studies in which the intervals of 2, 3, … up to `blocks` blocks, each at `level`, all contain the
/// truth. `None` with fewer than 2 blocks or a level outside (0, 1).
pub fn level_at_worst(level: f64, blocks: u32) -> Option<f64> {
    let quantile = |n: u32| t_quantile(0.5 + level / 2.0, f64::from(n - 1));
    let quantiles: Vec<f64> = (2..=blocks.min(MOST_BLOCKS)).map(quantile).collect::<Option<_>>()?;
    if quantiles.is_empty() {
        return None;
    }
    let mut random = Normal::new(1969);
    let held = (0..STUDIES).filter(|_| always_holds(&quantiles, &mut random)).count();
    Some(held as f64 / f64::from(STUDIES))
}

/// Whether no interval of a study misses 0, the truth. Running mean and squares by Welford (Technometrics 4, 1962).
fn always_holds(quantiles: &[f64], random: &mut Normal) -> bool {
    let (mut n, mut mean, mut squares) = (1.0, random.draw(), 0.0);
    quantiles.iter().all(|quantile| {
        let value = random.draw();
        n += 1.0;
        let distance = value - mean;
        mean += distance / n;
        squares += distance * (value - mean);
        mean.abs() <= quantile * f64::sqrt(squares / (n - 1.0) / n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Rule, judge};
    use crate::{Answer, Direction};
    use threadwise_statistics::MeanEstimate;

    fn guess(mean: f64, standard_error: f64) -> Guess {
        let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::HigherIsBetter };
        let estimate = MeanEstimate { n: 8, mean, standard_error, correlation: 0.0, degrees: 7.0 };
        let ratio = judge(&[(estimate, None)], rule).remove(0);
        assert_eq!(ratio.answer, Answer::Undecided);
        Guess::of(&ratio).unwrap()
    }

    #[test]
    fn the_likelier_side_of_the_margin_is_guessed() {
        // One standard error beyond ln 1.03 on 7 degrees: P(T < 1) = 0.8247.
        let near = |got: Guess, is_above, probability: f64| {
            assert!(got.is_above == is_above && (got.probability - probability).abs() < 1e-4, "{got:?}");
        };
        let margin = 1.03_f64.ln();
        near(guess(margin + 0.03, 0.03), true, 0.8247);
        near(guess(margin - 0.03, 0.03), false, 0.8247);
        near(guess(margin, 0.03), false, 0.5);
        let one_block =
            MeanEstimate { n: 1, mean: 0.0, standard_error: f64::INFINITY, correlation: 0.0, degrees: 0.0 };
        let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::HigherIsBetter };
        assert_eq!(Guess::of(&judge(&[(one_block, None)], rule)[0]), None);
    }

    #[test]
    fn looking_at_will_costs_a_known_share() {
        // One look costs nothing. With a known standard deviation Armitage and others give 24.8% at 20 looks and 32.0%
        // at 50; t of few blocks misses apart from t of more, so that a little more is false.
        let near = |blocks, level: f64| {
            let got = level_at_worst(0.95, blocks).unwrap();
            assert!((got - level).abs() < 0.02, "{blocks}: {got}");
        };
        near(2, 0.95);
        near(8, 0.82);
        near(64, 0.625);
        assert_eq!(level_at_worst(0.95, 1), None);
        assert_eq!(level_at_worst(1.0, 8), None);
        assert_eq!(level_at_worst(0.95, 10_000), level_at_worst(0.95, MOST_BLOCKS));
    }
}
