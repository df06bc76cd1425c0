//! Something that goes on and off at random, as a two-state Markov process in continuous time.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Two with the same seed are on at the same times.
#[derive(Debug, Clone)]
pub struct Toggle {
    on_ns: f64,
    off_ns: f64,
    on: bool,
    until_ns: f64,
    random: ChaCha8Rng,
    /// How often it was on, and how often it was asked.
    pub seen_on: (u64, u64),
}

impl Toggle {
    /// Mean durations on and off; off 0 is always on, on 0 is never.
    pub fn new((on_ns, off_ns): (f64, f64), seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let on = random.random::<f64>() < on_ns / (on_ns + off_ns).max(1e-9);
        let mut new = Self { on_ns, off_ns, on, until_ns: 0.0, random, seen_on: (0, 0) };
        new.until_ns = new.draw();
        new
    }

    fn draw(&mut self) -> f64 {
        let mean = if self.on { self.on_ns } else { self.off_ns };
        if self.on_ns <= 0.0 || self.off_ns <= 0.0 {
            return f64::INFINITY;
        }
        -mean * (1.0 - self.random.random::<f64>()).ln()
    }

    /// State at a time that never runs backwards.
    pub fn at(&mut self, now_ns: f64) -> bool {
        while self.until_ns <= now_ns {
            self.on = !self.on;
            self.until_ns += self.draw();
        }
        self.seen_on.0 += u64::from(self.on);
        self.seen_on.1 += 1;
        self.on
    }
}
