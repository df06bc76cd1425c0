//! Standard normal numbers for simulations, by the polar method.
//!
//! Source: Marsaglia, Bray, "A convenient method for generating normal variables", SIAM Review 6 (1964). ChaCha8 is
//! portable, so that a seed gives the same numbers on every machine.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Random numbers from a seed.
#[derive(Debug, Clone)]
pub struct Normal {
    random: ChaCha8Rng,
    spare: Option<f64>,
}

impl Normal {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), spare: None }
    }

    /// The next uniform number, inside of (0, 1).
    pub fn uniform(&mut self) -> f64 {
        (f64::from(self.random.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0)
    }

    /// The next number of a standard normal distribution.
    pub fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// The next `count` values of a stationary AR(1) process with this lag-1 correlation and variance 1.
    pub fn correlated(&mut self, count: usize, rho: f64) -> Vec<f64> {
        let mut last = self.draw();
        let step = |_| {
            let value = last;
            last = rho * last + (1.0 - rho * rho).sqrt() * self.draw();
            value
        };
        (0..count).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_tails_are_those_of_the_distribution() {
        let mut random = Normal::new(1964);
        let values: Vec<f64> = (0..100_000).map(|_| random.draw()).collect();
        let mean = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / values.len() as f64;
        // Standard deviations of these means: 0.003, 0.0045, 0.012 and 0.031.
        for (power, truth, room) in [(1, 0.0, 0.015), (2, 1.0, 0.02), (3, 0.0, 0.06), (4, 3.0, 0.15)] {
            assert!((mean(power) - truth).abs() < room, "{power}: {}", mean(power));
        }
        // 270 of 100,000 lie beyond 3, and six or so beyond 4: of sums of twelve uniform numbers 220 and two.
        let beyond = values.iter().filter(|x| x.abs() > 3.0).count();
        assert!((220..320).contains(&beyond), "{beyond}");
        assert_eq!(Normal::new(7).draw(), Normal::new(7).draw());
    }

    #[test]
    fn correlated_values_have_their_correlation() {
        let values = Normal::new(2).correlated(50_000, 0.6);
        let lag1 = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 50_000.0;
        assert!((lag1 - 0.6).abs() < 0.03, "{lag1}");
    }
}
