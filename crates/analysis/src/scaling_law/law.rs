//! Scaling laws: throughput as a function of the busy sessions and cores.
//!
//! X = λ · f · E / (1 + σ (n − 1) + κ n (n − 1)): the universal scalability law (Gunther, *Guerrilla Capacity
//! Planning*, 2007) with an effective number of cores E for its n above the line. With c(k) cores that have k threads
//! busy, E = Σ c(k) y(k): y(1) = 1, and y(2), the SMT yield, is the throughput of two busy siblings over that of one
//! alone. f is the clock over that of one busy core. Without κ it is Amdahl's law, and without σ too it is linear.

use super::load::Load;
use schemars::JsonSchema;
use serde::Serialize;

/// Threads of a core at which the yield is a parameter; between them it is interpolated.
const KNOTS: [u32; 3] = [2, 4, 8];

/// Parameters of a law besides the rate of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// None: each session adds the same.
    Linear,
    /// σ: a part of the work is serial (Amdahl 1967).
    Amdahl,
    /// σ and κ, each session on a whole core: Gunther's law in its usual form.
    Universal,
    /// σ and the yield of further threads of a core.
    SmtAmdahl,
    /// σ, κ and the yield of further threads of a core.
    Smt,
}

impl Law {
    /// All laws, those with more parameters last.
    pub const ALL: [Self; 5] = [Self::Linear, Self::Amdahl, Self::Universal, Self::SmtAmdahl, Self::Smt];

    /// Whether threads of one core count for less than cores.
    pub const fn has_yield(self) -> bool {
        matches!(self, Self::Smt | Self::SmtAmdahl)
    }

    /// Whether sessions wait for each other's turn.
    pub const fn has_sigma(self) -> bool {
        !matches!(self, Self::Linear)
    }

    /// Whether each pair of sessions has a cost.
    pub const fn has_kappa(self) -> bool {
        matches!(self, Self::Universal | Self::Smt)
    }

    /// Its name in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Amdahl => "Amdahl's law",
            Self::Universal => "the universal scalability law",
            Self::SmtAmdahl => "Amdahl's law with SMT",
            Self::Smt => "the universal scalability law with SMT",
        }
    }
}

/// Throughput of a core with several busy threads, over one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Yields {
    /// Threads and their throughput together; ascending, without one thread, which has 1.
    pub knots: Vec<(u32, f64)>,
}

impl Yields {
    /// The numbers of threads that are parameters if cores have up to `widest` busy threads.
    pub fn needed(widest: u32) -> Vec<u32> {
        let mut needed: Vec<u32> = KNOTS.into_iter().filter(|threads| *threads <= widest).collect();
        if widest > 1 && needed.last() != Some(&widest) {
            needed.push(widest);
        }
        needed
    }

    /// Throughput of that many busy threads of a core. Beyond the last known number nothing is added.
    pub fn at(&self, threads: u32) -> f64 {
        let mut below = (1, 1.0);
        for &(knot, value) in &self.knots {
            if threads <= knot {
                let share = f64::from(threads.saturating_sub(below.0)) / f64::from(knot - below.0);
                return below.1 + share * (value - below.1);
            }
            below = (knot, value);
        }
        below.1
    }

    /// The yield of two threads.
    pub fn of_two(&self) -> Option<f64> {
        (!self.knots.is_empty()).then(|| self.at(2))
    }

    /// Equivalent number of cores without siblings.
    pub fn effective_cores(&self, load: &Load) -> f64 {
        let each = load.cores.iter().enumerate();
        each.map(|(at, cores)| f64::from(*cores) * self.at(at as u32 + 1)).sum()
    }
}

/// A law with its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Throughput of one session, λ.
    pub rate_per_s: f64,
    /// Serial share, σ.
    pub sigma: f64,
    /// Cost of each pair of sessions, κ.
    pub kappa: f64,
    /// Yields; `None` if each session counts as a core.
    pub yields: Option<Yields>,
}

impl Parameters {
    /// Throughput.
    pub fn rate_at(&self, load: &Load) -> f64 {
        let n = f64::from(load.sessions);
        let cores = self.yields.as_ref().map_or(n, |yields| yields.effective_cores(load));
        let contention = 1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0);
        self.rate_per_s * load.clock_ratio.unwrap_or(1.0) * cores / contention
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(sigma: f64, kappa: f64, knots: &[(u32, f64)]) -> Parameters {
        let yields = (!knots.is_empty()).then(|| Yields { knots: knots.to_vec() });
        Parameters { rate_per_s: 100.0, sigma, kappa, yields }
    }

    #[test]
    fn laws_are_those_of_the_books() {
        let eight = Load::of_cores(8);
        assert!((parameters(0.0, 0.0, &[]).rate_at(&eight) - 800.0).abs() < 1e-9);
        // Amdahl: 1 / (s + (1 - s) / n) with s = 0.1.
        assert!((parameters(0.1, 0.0, &[]).rate_at(&eight) - 100.0 / (0.1 + 0.9 / 8.0)).abs() < 1e-9);
        // Gunther 2007, p. 68: sigma 0.02, kappa 0.0005 has its maximum at sqrt(0.98 / 0.0005) = 44.3.
        let law = parameters(0.02, 0.0005, &[]);
        let rate = |n| law.rate_at(&Load::of_cores(n));
        assert!(rate(44) > rate(43) && rate(44) > rate(45));
    }

    #[test]
    fn two_siblings_do_the_yield_and_the_clock_scales() {
        let law = parameters(0.0, 0.0, &[(2, 1.3)]);
        let load = Load::spread(6, &[2; 4]).unwrap();
        assert!((law.rate_at(&load) - 100.0 * (2.0 + 2.0 * 1.3)).abs() < 1e-9);
        assert!((law.rate_at(&load.at_clock(Some(0.9))) - 414.0).abs() < 1e-9);
    }

    #[test]
    fn yields_between_knots_are_interpolated_and_end_behind_the_last() {
        let yields = Yields { knots: vec![(2, 1.4), (4, 1.8)] };
        let seen = [1, 2, 3, 4, 8].map(|threads| yields.at(threads));
        for (value, wanted) in seen.into_iter().zip([1.0, 1.4, 1.6, 1.8, 1.8]) {
            assert!((value - wanted).abs() < 1e-12, "{seen:?}");
        }
        assert!(Yields::needed(1).is_empty());
        assert_eq!(Yields::needed(2), [2]);
        assert_eq!(Yields::needed(3), [2, 3]);
        assert_eq!(Yields::needed(8), [2, 4, 8]);
    }
}
