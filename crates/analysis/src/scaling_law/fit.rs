//! A law that is fitted to a sweep: its numbers with intervals, and the same of every curve that follows from them.
//!
//! Points are weighted by their noise between blocks and by how far they lie from the law beyond it (Birge, "The
//! calculation of errors by the method of least squares", *Physical Review* 40, 1932). Intervals come from fits of
//! resampled blocks, each point moved besides by as much as points lie off the law; of data without blocks from fits of
//! the law's own curve with the noise of the residuals. Percentiles are as far out as Student's t asks for few blocks
//! (Hesterberg, "What teachers should know about the bootstrap", *The American Statistician* 69, 2015: the expanded
//! percentile interval).

use super::law::Parameters;
use super::load::Load;
use super::plan::{Number, Plan};
use super::solve::{Row, Solution};
use super::sweep::{Sweep, SweepError};
use super::told::Told;
use statrs::distribution::{ContinuousCDF, Normal as Gauss};
use threadwise_statistics::{Normal, quantile, t_quantile};

/// Fits of resampled data.
pub const REPLICATES: usize = 2000;

/// How intervals are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draws {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Fits of resampled data.
    pub count: usize,
    /// Confidence level of intervals.
    pub level: f64,
}

impl Draws {
    /// Intervals of 95% from [`REPLICATES`] fits.
    pub const fn usual(seed: u64) -> Self {
        Self { seed, count: REPLICATES, level: 0.95 }
    }
}

/// Least standard deviation of a logarithm: a ten-thousandth of a percent, so that no weight is infinite.
const LEAST_SD: f64 = 1e-6;

/// A fitted law.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Its numbers.
    pub solution: Solution,
    /// The numbers of each fit of resampled data.
    pub replicates: Vec<Parameters>,
    /// How far points lie off the law beyond the noise of their blocks, as a standard deviation of the logarithm.
    pub misfit: f64,
    /// Degrees of freedom that the misfit has.
    pub free: usize,
    /// Share of replicates below the lower end of an interval.
    pub tail: f64,
    /// What of it the points tell.
    pub space: Told,
}

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// That points tell σ and κ apart, and have one more than what they tell where nothing else says how far they lie off.
fn check(sweep: &Sweep, plan: &Plan) -> Result<(), SweepError> {
    let has_blocks = sweep.blocks() > 1;
    let space = Told::of_law(plan.law, sweep);
    let spare = usize::from(!has_blocks && plan.misfit.is_none());
    let is_told = space.tells(Number::Sigma) && space.tells(Number::Kappa);
    let numbers = plan.parameters();
    match sweep.points().len() >= numbers.max(space.rank() + spare) && is_told {
        true => Ok(()),
        false => Err(SweepError::FewPoints { loads: sweep.loads(), numbers, has_blocks }),
    }
}

/// Rows of a sweep with these logarithms and weights.
fn rows<'a>(sweep: &'a Sweep, log_rates: &[f64], weights: &[f64]) -> Vec<Row<'a>> {
    let each = sweep.points().iter().zip(log_rates).zip(weights);
    each.map(|((point, log_rate), weight)| Row { load: &point.load, log_rate: *log_rate, weight: *weight })
        .collect()
}

/// One fit, without intervals.
#[derive(Debug, Clone)]
pub(super) struct Once {
    pub solution: Solution,
    weights: Vec<f64>,
    pub misfit: f64,
    /// Degrees of freedom of the misfit.
    pub free: usize,
    /// What of it the points tell, with what is known beforehand.
    pub space: Told,
}

/// Fits once, then again with the weights that follow from the misfit.
///
/// # Errors
/// No search ended.
pub(super) fn once(sweep: &Sweep, plan: &Plan) -> Result<Once, SweepError> {
    let all: Vec<usize> = (0..sweep.blocks()).collect();
    let means = sweep.means(&all);
    let noise = sweep.standard_errors();
    let pulls = plan.pulls(sweep, &mut || 0.0);
    let errors = noise.clone().unwrap_or_else(|| vec![1.0; means.len()]);
    let first: Vec<f64> = errors.iter().map(|error| 1.0 / error.max(LEAST_SD)).collect();
    let solution = plan.solve(&rows(sweep, &means, &first), &pulls, None).ok_or(SweepError::NoFit)?;
    let free = means.len().saturating_sub(Told::of(&solution, sweep, &[]).rank());
    let (misfit, free) = match plan.misfit.filter(|_| free == 0) {
        Some(of_others) => of_others,
        None => (misfit(&solution, &errors, noise.is_some(), free), free),
    };
    let sd = |error: &f64| if noise.is_some() { error.hypot(misfit) } else { misfit };
    let weights: Vec<f64> = errors.iter().map(|error| 1.0 / sd(error).max(LEAST_SD)).collect();
    let near = Some(solution.coordinates.as_slice());
    let solution = plan.solve(&rows(sweep, &means, &weights), &pulls, near).ok_or(SweepError::NoFit)?;
    let space = Told::of(&solution, sweep, &plan.priors);
    Ok(Once { solution, weights, misfit, free, space })
}

/// How far points lie off the law beyond their noise; of data without noise of their own all of it.
fn misfit(solution: &Solution, errors: &[f64], has_noise: bool, free: usize) -> f64 {
    if free == 0 {
        return 0.0;
    }
    let squares = solution.squares / free as f64;
    let mean = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    if has_noise { (mean * (squares - 1.0).max(0.0)).sqrt() } else { squares.sqrt() }
}

impl Fit {
    /// Fits a law, and resamples of the data.
    ///
    /// # Errors
    /// No search ended, or the points are too few to tell the law's numbers.
    pub fn new(sweep: &Sweep, plan: &Plan, draws: Draws) -> Result<Self, SweepError> {
        if plan.priors.is_empty() {
            check(sweep, plan)?;
        }
        let Once { solution, weights, misfit, free, space } = once(sweep, plan)?;
        let mut random = Normal::new(draws.seed);
        let blocks = sweep.blocks();
        let law = solution.parameters();
        let curve: Vec<f64> = sweep.points().iter().map(|point| law.rate_at(&point.load).ln()).collect();
        let mut replicates = Vec::with_capacity(draws.count);
        for _ in 0..draws.count {
            let base = match blocks {
                1 => curve.clone(),
                _ => sweep.means(&drawn(blocks, &mut random)),
            };
            let moved: Vec<f64> = base.iter().map(|log_rate| log_rate + misfit * random.draw()).collect();
            let pulls = plan.pulls(sweep, &mut || random.draw());
            let near = Some(solution.coordinates.as_slice());
            let fit = plan.solve(&rows(sweep, &moved, &weights), &pulls, near);
            replicates.extend(fit.map(|fit| fit.parameters()));
        }
        let degrees = match blocks {
            1 => free.max(1),
            _ if misfit > 0.0 => free.clamp(1, blocks - 1),
            _ => blocks - 1,
        };
        Ok(Self { solution, replicates, misfit, free, tail: tail(draws.level, degrees, blocks), space })
    }

    /// A number that follows from the law's, with its interval; `None` where too few fits of resampled data ended.
    pub fn known(&self, number: impl Fn(&Parameters) -> f64) -> Option<Known> {
        let mut values: Vec<f64> =
            self.replicates.iter().map(&number).filter(|value| value.is_finite()).collect();
        if values.len() * 2 < self.replicates.len() || values.is_empty() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let value = number(&self.solution.parameters());
        let [low, high] = [self.tail, 1.0 - self.tail].map(|share| quantile(&values, share));
        Some(Known { value, low: low?.min(value), high: high?.max(value) })
    }

    /// The curve at one load.
    pub fn rate_at(&self, load: &Load) -> Option<Known> {
        self.known(|law| law.rate_at(load))
    }
}

fn drawn(blocks: usize, random: &mut Normal) -> Vec<usize> {
    let one = |random: &mut Normal| ((random.uniform() * blocks as f64) as usize).min(blocks - 1);
    (0..blocks).map(|_| one(random)).collect()
}

/// Share of replicates on each side of an interval: Φ(−t √(n / (n − 1))), so that an interval of normal
/// replicates is as wide as Student's.
fn tail(level: f64, degrees: usize, blocks: usize) -> f64 {
    let widening = if blocks > 1 { (blocks as f64 / (blocks - 1) as f64).sqrt() } else { 1.0 };
    let t = t_quantile(0.5 + level / 2.0, degrees as f64).unwrap_or(f64::INFINITY);
    Gauss::standard().cdf(-t * widening)
}
