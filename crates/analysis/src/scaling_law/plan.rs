//! What is fitted: a law, the threads at which yields are parameters, and what is known of its numbers beforehand.

use super::law::{Law, Parameters, Yields};
use super::solve::{FIRST_YIELD, KAPPA, Pull, Row, SIGMA, Solution, solve};
use super::sweep::Sweep;

/// What is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The law.
    pub law: Law,
    /// Threads at which yields are parameters.
    pub knots: Vec<u32>,
    /// What other series say of its numbers.
    pub priors: Vec<Prior>,
    /// Misfit and its degrees of freedom where the data have none left to tell it.
    pub misfit: Option<(f64, usize)>,
}

/// A number of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// σ.
    Sigma,
    /// κ.
    Kappa,
    /// The yield at the knot of this index.
    Yield(usize),
}

impl Number {
    /// Its value.
    pub fn of(self, law: &Parameters) -> Option<f64> {
        match self {
            Self::Sigma => Some(law.sigma),
            Self::Kappa => Some(law.kappa),
            Self::Yield(at) => law.yields.as_ref()?.knots.get(at).map(|knot| knot.1),
        }
    }

    /// Its coordinate, and by how much that is larger.
    pub(super) fn coordinate(self, largest: f64) -> (usize, f64) {
        match self {
            Self::Sigma => (SIGMA, largest - 1.0),
            Self::Kappa => (KAPPA, largest * (largest - 1.0)),
            Self::Yield(at) => (FIRST_YIELD + at, 1.0),
        }
    }
}

/// What is known of a number beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Which.
    pub number: Number,
    /// Where it is expected.
    pub mean: f64,
    /// Standard deviation, above 0.
    pub sd: f64,
}

impl Plan {
    /// The richest law that the data can tell, from these data alone.
    pub fn alone(sweep: &Sweep) -> Self {
        Self::of(richest(sweep), sweep)
    }

    /// A law from these data alone.
    pub fn of(law: Law, sweep: &Sweep) -> Self {
        let knots = if law.has_yield() { Yields::needed(sweep.widest()) } else { Vec::new() };
        Self { law, knots, priors: Vec::new(), misfit: None }
    }

    /// Number of parameters.
    pub(super) fn parameters(&self) -> usize {
        1 + usize::from(self.law.has_sigma()) + usize::from(self.law.has_kappa()) + self.knots.len()
    }

    /// Priors in the coordinates of a sweep, each expected so many standard deviations further up.
    pub(super) fn pulls(&self, sweep: &Sweep, further: &mut dyn FnMut() -> f64) -> Vec<Pull> {
        let largest = sweep.points().iter().map(|point| f64::from(point.load.sessions)).fold(2.0, f64::max);
        let each = self.priors.iter().map(|prior| {
            let (at, scale) = prior.number.coordinate(largest);
            let to = (prior.mean + prior.sd * further()).max(0.0);
            Pull { at, to: to * scale, sd: prior.sd * scale }
        });
        each.collect()
    }

    /// The best fit of it to some rows.
    pub(super) fn solve(&self, rows: &[Row<'_>], pulls: &[Pull], near: Option<&[f64]>) -> Option<Solution> {
        solve(self.law, &self.knots, rows, pulls, near)
    }
}

/// The law that is fitted: with yields where some core has more than one busy thread.
pub fn richest(sweep: &Sweep) -> Law {
    if sweep.widest() > 1 { Law::Smt } else { Law::Universal }
}
