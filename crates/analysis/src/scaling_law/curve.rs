//! What a law says of numbers of sessions: the knee, the peak, and how far SMT pays.

use super::law::Parameters;
use super::load::Load;

/// Sessions from 1 up to all logical CPUs of some cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    loads: Vec<Load>,
    cores: u32,
}

/// What a curve shows; sessions each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Largest throughput squared over sessions: the point of most power, throughput over delay, where delay is sessions
    /// over throughput (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer
    /// communications", ICC 1979).
    pub knee: u32,
    /// Most throughput.
    pub peak: u32,
    /// Most throughput beyond one session a core, or the number of cores where second threads add nothing; `None` where
    /// there are none.
    pub smt_pays_up_to: Option<u32>,
}

impl Ladder {
    /// Of cores with these numbers of logical CPUs. `clock_ratio` gives the clock at a number of busy cores.
    pub fn new(threads_of_cores: &[u32], clock_ratio: impl Fn(u32) -> Option<f64>) -> Self {
        let all: u32 = threads_of_cores.iter().sum();
        let load = |sessions| {
            let load = Load::spread(sessions, threads_of_cores)?;
            let clock = clock_ratio(load.busy_cores());
            Some(load.at_clock(clock))
        };
        Self { loads: (1..=all).filter_map(load).collect(), cores: threads_of_cores.len() as u32 }
    }

    /// All loads, one session more each.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Number of cores.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// What a law says of it; `None` without loads.
    pub fn turns(&self, law: &Parameters) -> Option<Turns> {
        let rates: Vec<f64> = self.loads.iter().map(|load| law.rate_at(load)).collect();
        let at = |value: &dyn Fn(usize) -> f64, from: usize| {
            // The fewest sessions of those that do as much.
            let better = |best: usize, next: usize| if value(next) > value(best) { next } else { best };
            (from..rates.len()).reduce(better).map(|at| at as u32 + 1)
        };
        let power = |at: usize| rates[at] * rates[at] / (at as f64 + 1.0);
        let rate = |at: usize| rates[at];
        let has_siblings = self.loads.len() as u32 > self.cores;
        let beyond = if has_siblings { at(&rate, self.cores as usize - 1) } else { None };
        Some(Turns { knee: at(&power, 0)?, peak: at(&rate, 0)?, smt_pays_up_to: beyond })
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::Yields;
    use super::*;

    fn law(sigma: f64, kappa: f64, of_two: f64) -> Parameters {
        let yields = Some(Yields { knots: vec![(2, of_two)] });
        Parameters { rate_per_s: 1.0, sigma, kappa, yields }
    }

    #[test]
    fn turns_are_where_the_curve_turns() {
        let ladder = Ladder::new(&[2; 8], |_| None);
        assert_eq!((ladder.loads().len(), ladder.cores()), (16, 8));
        // Without costs everything pays to the end; power is n, or (8 + 0.3 m)^2 / (8 + m), which falls from m = 0.
        let free = ladder.turns(&law(0.0, 0.0, 1.3)).unwrap();
        assert_eq!(free, Turns { knee: 8, peak: 16, smt_pays_up_to: Some(16) });
        // Second threads that add nothing do not pay.
        let none = ladder.turns(&law(0.05, 0.0, 1.0)).unwrap();
        assert_eq!((none.peak, none.smt_pays_up_to), (8, Some(8)));
        // κ alone: n / (1 + κ n (n − 1)) is largest near 1/√κ = 5.
        assert_eq!(ladder.turns(&law(0.0, 0.04, 1.0)).unwrap().peak, 5);
        let single = Ladder::new(&[1; 4], |_| None).turns(&law(0.0, 0.0, 1.3)).unwrap();
        assert_eq!(single, Turns { knee: 4, peak: 4, smt_pays_up_to: None });
        assert_eq!(Ladder::new(&[], |_| None).turns(&law(0.0, 0.0, 1.0)), None);
    }

    #[test]
    fn a_clock_that_falls_makes_the_peak_come_sooner() {
        let falls = Ladder::new(&[1; 8], |cores| Some(1.0 / f64::from(cores)));
        assert_eq!(falls.turns(&law(0.0, 0.0, 1.0)).unwrap().peak, 1);
    }
}
