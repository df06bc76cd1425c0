//! Which numbers of a law the points determine.
//!
//! A number, or anything that follows from the numbers, is determined if it would show in some point: if its gradient
//! is in the space that the gradients of the points span (the rank of the Jacobian: Walter, Pronzato, *Identification
//! of Parametric Models from Experimental Data*, 1997, chapter 2). A search gives a value to other numbers as well: its
//! starting value. From machines with all logical CPUs busy only the product of the rate of one session and the yield
//! is known, so that a machine of one thread per core has no figure and one of two has.

use super::law::{Law, Parameters};
use super::load::Load;
use super::solve::{FIRST_YIELD, KAPPA, Number, Plan, Prior, RATE, SIGMA, Solution, coordinates};
use super::sweep::Sweep;

/// Share of a direction below which its remainder counts as known: gradients are exact to many digits more, and those
/// of any two different loads differ by more.
const NOTHING: f64 = 1e-7;

/// The directions in which points determine a law's numbers.
#[derive(Debug, Clone)]
pub struct Told {
    solution: Solution,
    /// Orthonormal directions.
    directions: Vec<Vec<f64>>,
}

impl Told {
    /// For a fit to these points with priors.
    pub fn of(solution: &Solution, sweep: &Sweep, priors: &[Prior]) -> Self {
        let mut space = Self { solution: solution.clone(), directions: Vec::new() };
        let points = sweep.points().iter().map(|point| space.gradient(&point.load)).collect::<Vec<_>>();
        let known = priors.iter().map(|prior| space.unit(prior.number)).collect::<Vec<_>>();
        for gradient in points.into_iter().chain(known) {
            if let Some(rest) = space.beyond(&gradient) {
                space.directions.push(rest);
            }
        }
        space
    }

    /// For numbers somewhere inside all bounds, without a search.
    pub fn of_law(law: Law, sweep: &Sweep) -> Self {
        let knots = Plan::of(law, sweep).knots;
        let largest = sweep.largest();
        let yields = knots.iter().map(|threads| 1.0 + 0.3 * f64::from(*threads).log2());
        let coordinates = coordinates(law, 0.3, 0.1, yields);
        Self::of(&Solution { law, largest, knots, coordinates, squares: 0.0 }, sweep, &[])
    }

    /// How many numbers of the law, or combinations of them, are determined.
    pub fn rank(&self) -> usize {
        self.directions.len()
    }

    /// Whether the throughput of a load is determined.
    pub fn tells_load(&self, load: &Load) -> bool {
        self.beyond(&self.gradient(load)).is_none()
    }

    /// Whether the throughput of a load over that of another is determined.
    pub fn tells_ratio(&self, top: &Load, below: &Load) -> bool {
        let d: Vec<f64> =
            self.gradient(top).iter().zip(self.gradient(below)).map(|(top, below)| top - below).collect();
        self.beyond(&d).is_none()
    }

    /// Whether the throughput of one session is determined.
    pub fn tells_rate(&self) -> bool {
        self.beyond(&self.axis(RATE)).is_none()
    }

    /// Whether a number is determined. One that the law leaves out is not.
    pub fn tells(&self, number: Number) -> bool {
        let law = self.solution.law;
        let is_left_out = match number {
            Number::Sigma => !law.has_sigma(),
            Number::Kappa => !law.has_kappa(),
            Number::Yield(at) => at >= self.solution.knots.len(),
        };
        !is_left_out && self.beyond(&self.unit(number)).is_none()
    }

    fn unit(&self, number: Number) -> Vec<f64> {
        self.axis(number.coordinate(self.solution.largest).0)
    }

    fn axis(&self, at: usize) -> Vec<f64> {
        let mut axis = vec![0.0; self.solution.coordinates.len()];
        if let Some(one) = axis.get_mut(at) {
            *one = 1.0;
        }
        axis
    }

    /// The part of a direction outside the known ones, with length 1; `None` if it is within them.
    fn beyond(&self, direction: &[f64]) -> Option<Vec<f64>> {
        let length = norm(direction);
        let mut rest = direction.to_vec();
        // Twice, because of rounding (Kahan's and Parlett's "twice is enough").
        for _ in 0..2 {
            for known in &self.directions {
                let along: f64 = known.iter().zip(&rest).map(|(known, rest)| known * rest).sum();
                rest.iter_mut().zip(known).for_each(|(rest, known)| *rest -= along * known);
            }
        }
        let left = norm(&rest);
        (left > NOTHING * length).then(|| rest.iter().map(|part| part / left).collect())
    }

    /// Derivatives of ln(rate) by each coordinate of the fit.
    fn gradient(&self, load: &Load) -> Vec<f64> {
        let Solution { law, largest, knots, .. } = &self.solution;
        let numbers = self.solution.parameters();
        let n = f64::from(load.sessions);
        let contention = 1.0 + numbers.sigma * (n - 1.0) + numbers.kappa * n * (n - 1.0);
        let mut gradient = self.axis(RATE);
        if law.has_sigma() {
            gradient[SIGMA] = -(n - 1.0) / (largest - 1.0) / contention;
        }
        if law.has_kappa() {
            gradient[KAPPA] = -n * (n - 1.0) / (largest * (largest - 1.0)) / contention;
        }
        for at in 0..knots.len() {
            gradient[FIRST_YIELD + at] = of_yield(&numbers, at, load);
        }
        gradient
    }
}

fn norm(direction: &[f64]) -> f64 {
    direction.iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// Derivative of ln(effective cores) by the yield at a knot, which occurs once in their sum.
fn of_yield(numbers: &Parameters, at: usize, load: &Load) -> f64 {
    let Some(yields) = &numbers.yields else { return 0.0 };
    let mut more = yields.clone();
    if let Some(knot) = more.knots.get_mut(at) {
        knot.1 += 1.0;
    }
    let cores = yields.effective_cores(load);
    (more.effective_cores(load) - cores) / cores
}

/// Why the rate of one session, or of loads with cores that have one busy thread, is unknown.
pub fn why_no_rate(sweep: &Sweep) -> String {
    match has_threads(sweep, 1) {
        true => APART.to_owned(),
        false => "no point has one busy thread per core".to_owned(),
    }
}

/// Why a yield is unknown.
pub fn why_no_yield(sweep: &Sweep, threads: u32) -> String {
    match (has_threads(sweep, 1), has_threads(sweep, threads)) {
        (false, _) => why_no_rate(sweep),
        (true, false) => format!("no point has a core with {threads} busy threads"),
        (true, true) => APART.to_owned(),
    }
}

/// Reason: a number is determined only together with others.
pub const APART: &str = "the points do not separate it from the law's other numbers";

fn has_threads(sweep: &Sweep, threads: u32) -> bool {
    let at = threads as usize - 1;
    sweep.points().iter().any(|point| point.load.cores.get(at).is_some_and(|cores| *cores > 0))
}
