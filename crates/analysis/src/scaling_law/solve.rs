//! Bounded least squares of the logarithm of throughput, by Levenberg and Marquardt's method in the form of MPFIT
//! (Markwardt, "Non-linear least squares fitting in IDL with MPFIT", ADASS XVIII, 2009; crate `rmpfit`), from several
//! starts, since the sum of squares has more than one valley if σ and κ can replace each other.
//!
//! Logarithms, because the noise of throughput is a share of it.

use super::law::{Law, Parameters, Yields};
use super::load::Load;
use super::sweep::Sweep;
use rmpfit::{MPConfig, MPFitter, MPPar, MPResult};

/// Parameters of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The law.
    pub law: Law,
    /// Threads at which yields are parameters.
    pub knots: Vec<u32>,
    /// Priors of its numbers from other series.
    pub priors: Vec<Prior>,
    /// Misfit and its degrees of freedom, if the data have none left to estimate it.
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

    /// Its coordinate, and by what factor that is larger.
    pub(super) fn coordinate(self, largest: f64) -> (usize, f64) {
        match self {
            Self::Sigma => (SIGMA, largest - 1.0),
            Self::Kappa => (KAPPA, largest * (largest - 1.0)),
            Self::Yield(at) => (FIRST_YIELD + at, 1.0),
        }
    }
}

/// A prior of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Which.
    pub number: Number,
    /// Expected value.
    pub mean: f64,
    /// Standard deviation, above 0.
    pub sd: f64,
}

impl Plan {
    /// The richest law that the data determine by themselves.
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

    /// Priors in the coordinates of a sweep, each moved up by this many standard deviations.
    pub(super) fn pulls(&self, sweep: &Sweep, further: &mut dyn FnMut() -> f64) -> Vec<Pull> {
        let largest = sweep.largest();
        let each = self.priors.iter().map(|prior| {
            let (at, scale) = prior.number.coordinate(largest);
            let to = (prior.mean + prior.sd * further()).max(0.0);
            Pull { at, to: to * scale, sd: prior.sd * scale }
        });
        each.collect()
    }

    /// Its best fit to some rows from several starts, or from `near` and the first start if an earlier fit of the same
    /// law is known. `None` if no search ends, or there are fewer rows than parameters.
    pub(super) fn solve(&self, rows: &[Row<'_>], pulls: &[Pull], near: Option<&[f64]>) -> Option<Solution> {
        let largest = rows.iter().map(|row| f64::from(row.load.sessions)).fold(2.0, f64::max);
        let mut starts: Vec<Vec<f64>> = near.map(<[f64]>::to_vec).into_iter().collect();
        let count = if near.is_some() { 1 } else { STARTS.len() };
        starts.extend(STARTS.iter().take(count).map(|start| self.started(rows, largest, start)));
        let mut best: Option<Solution> = None;
        for mut coordinates in starts {
            // A ten-thousandth of a parameter is far below the noise.
            let config = MPConfig { ftol: 1e-8, xtol: 1e-6, max_iter: 100, ..MPConfig::new() };
            let mut problem = Problem { plan: self, largest, rows, pulls, bounds: self.bounds(), config };
            let Ok(status) = problem.mpfit(&mut coordinates) else { continue };
            let squares = status.best_norm;
            if squares.is_finite() && best.as_ref().is_none_or(|best| squares < best.squares) {
                let (law, knots) = (self.law, self.knots.clone());
                best = Some(Solution { law, largest, knots, coordinates, squares });
            }
        }
        best
    }

    fn bounds(&self) -> Vec<MPPar> {
        let within = |[limit_low, limit_up]: [f64; 2], is_free: bool| MPPar {
            fixed: !is_free,
            limited_low: true,
            limited_up: true,
            limit_low,
            limit_up,
            ..MPPar::new()
        };
        let costs = [self.law.has_sigma(), self.law.has_kappa()].map(|is_free| within(COST_BOUNDS, is_free));
        let most = |threads: &u32| LARGEST_YIELD_PER_THREAD * f64::from(*threads);
        let yields = self.knots.iter().map(|threads| within([LEAST_YIELD, most(threads)], true));
        [MPPar::new()].into_iter().chain(costs).chain(yields).collect()
    }

    fn started(&self, rows: &[Row<'_>], largest: f64, [sigma, kappa, of_two]: &[f64; 3]) -> Vec<f64> {
        // Each doubling of threads adds half of what the one before did.
        let guess = |threads: &u32| match threads {
            2 => *of_two,
            more => 1.0 + (of_two - 1.0) * (2.0 - 4.0 / f64::from(*more)).max(0.5),
        };
        let mut all = coordinates(self.law, *sigma, *kappa, self.knots.iter().map(guess));
        // λ follows from the others.
        let law = parameters(&all, self.law, largest, &self.knots);
        let weights: f64 = rows.iter().map(|row| row.weight * row.weight).sum();
        let off = |row: &Row<'_>| (row.log_rate - law.rate_at(row.load).ln()) * row.weight * row.weight;
        all[RATE] = rows.iter().map(off).sum::<f64>() / weights;
        all
    }
}

/// Coordinates with a rate of 1 and these others; 0 for those that a law leaves out.
pub(super) fn coordinates(law: Law, sigma: f64, kappa: f64, yields: impl Iterator<Item = f64>) -> Vec<f64> {
    let held = |value: f64, is_free: bool| if is_free { value } else { 0.0 };
    [0.0, held(sigma, law.has_sigma()), held(kappa, law.has_kappa())].into_iter().chain(yields).collect()
}

/// The law that is fitted: with yields if some core has more than one busy thread.
pub fn richest(sweep: &Sweep) -> Law {
    if sweep.widest() > 1 { Law::Smt } else { Law::Universal }
}

/// Least yield: threads that disturb each other so much that they have a third of the throughput of one alone.
const LEAST_YIELD: f64 = 0.3;

/// Largest yield per thread: more than a core each, by shared caches.
const LARGEST_YIELD_PER_THREAD: f64 = 1.25;

/// Bounds of σ (n − 1) and κ n (n − 1) at the largest n of the data: at a hundred nothing is left of scaling.
const COST_BOUNDS: [f64; 2] = [0.0, 100.0];

/// Starts of searches: σ (n − 1), κ n (n − 1), and the yield of two threads.
const STARTS: [[f64; 3]; 5] =
    [[0.1, 0.02, 1.3], [0.5, 0.5, 1.0], [0.01, 0.01, 1.7], [1.5, 0.0, 1.2], [0.0, 1.0, 1.5]];

/// One number to be fitted.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The load.
    pub load: &'a Load,
    /// Natural logarithm of its throughput.
    pub log_rate: f64,
    /// One over its standard deviation.
    pub weight: f64,
}

/// A value that a coordinate is pulled to, with its standard deviation; for partial pooling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    /// The coordinate.
    pub at: usize,
    /// Its expected value.
    pub to: f64,
    /// Its weight.
    pub sd: f64,
}

/// A fit in coordinates of one scale: ln λ, σ (N − 1), κ N (N − 1), yields; N is the largest number of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The law.
    pub law: Law,
    /// Largest number of sessions, at least 2.
    pub largest: f64,
    /// Threads at which yields are parameters.
    pub knots: Vec<u32>,
    /// ln λ, σ (N − 1), κ N (N − 1), yields.
    pub coordinates: Vec<f64>,
    /// Weighted sum of squares.
    pub squares: f64,
}

impl Solution {
    /// The law's numbers.
    pub fn parameters(&self) -> Parameters {
        parameters(&self.coordinates, self.law, self.largest, &self.knots)
    }
}

/// Coordinates of the rate, of σ and of κ; yields follow.
pub const RATE: usize = 0;
/// Of σ.
pub const SIGMA: usize = 1;
/// Of κ.
pub const KAPPA: usize = 2;
/// Of the first yield.
pub const FIRST_YIELD: usize = 3;

fn parameters(coordinates: &[f64], law: Law, largest: f64, knots: &[u32]) -> Parameters {
    let yields = knots.iter().copied().zip(coordinates[FIRST_YIELD..].iter().copied()).collect();
    Parameters {
        rate_per_s: coordinates[RATE].exp(),
        sigma: coordinates[SIGMA] / (largest - 1.0),
        kappa: coordinates[KAPPA] / (largest * (largest - 1.0)),
        yields: law.has_yield().then_some(Yields { knots: yields }),
    }
}

struct Problem<'a> {
    plan: &'a Plan,
    largest: f64,
    rows: &'a [Row<'a>],
    pulls: &'a [Pull],
    bounds: Vec<MPPar>,
    config: MPConfig,
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, coordinates: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let law = parameters(coordinates, self.plan.law, self.largest, &self.plan.knots);
        let (fitted, pulled) = deviates.split_at_mut(self.rows.len());
        for (deviate, row) in fitted.iter_mut().zip(self.rows) {
            *deviate = (row.log_rate - law.rate_at(row.load).ln()) * row.weight;
        }
        for (deviate, pull) in pulled.iter_mut().zip(self.pulls) {
            *deviate = (pull.to - coordinates[pull.at]) / pull.sd;
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.rows.len() + self.pulls.len()
    }

    fn config(&self) -> &MPConfig {
        &self.config
    }

    fn parameters(&self) -> &[MPPar] {
        &self.bounds
    }
}
