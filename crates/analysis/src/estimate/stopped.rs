//! At what level intervals hold of a study that somebody stopped by hand.
//!
//! Where results had no say in when, at their own. Where somebody looked after every block and stopped at will, a false
//! sentence is as likely as that the interval of any number of blocks so far misses the truth (Armitage, McPherson, Rowe,
//! "Repeated significance tests on accumulating data", J. R. Statist. Soc. A 132, 1969). That is simulated here, with
//! independent blocks and a fixed seed.

use threadwise_statistics::{Normal, t_quantile};

const STUDIES: u32 = 4000;
/// More blocks than these are taken as so many.
const MOST_BLOCKS: u32 = 256;

/// The share of studies in which the intervals of 2, 3, … up to `blocks` blocks, each at `level`, all hold the truth.
/// `None` with fewer than 2 blocks or a level outside of (0, 1).
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
