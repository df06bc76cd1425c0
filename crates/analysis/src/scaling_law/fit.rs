//! A law fitted to a sweep: its numbers with intervals, and intervals of every curve that follows from them.
//!
//! Points are weighted by their noise between blocks and by their misfit beyond it (Birge, "The calculation of errors
//! by the method of least squares", *Physical Review* 40, 1932). Intervals come from fits of resampled blocks, with
//! each point also moved by the misfit; without blocks from fits of the law's own curve with the noise of the
//! residuals. Percentiles are as far out as Student's t requires for few blocks (Hesterberg, "What teachers should know
//! about the bootstrap", *The American Statistician* 69, 2015: the expanded percentile interval).

use super::law::{Law, Parameters, Yields};
use super::load::Load;
use super::solve::{Number, Plan, Prior, Row, Solution};
use super::sweep::{FEWEST_LOADS, Sweep, SweepError};
use super::told::Told;
use crate::Interval;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal as Gauss};
use threadwise_statistics::{Normal, mean, quantile, summary, t_quantile};

/// Fits of resampled data.
pub const REPLICATES: usize = 2000;

/// How intervals are computed.
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
    /// Weight of each point.
    weights: Vec<f64>,
    /// The numbers of each fit of resampled data.
    pub replicates: Vec<Parameters>,
    /// Misfit of the points beyond the noise of their blocks, as a standard deviation of the logarithm.
    pub misfit: f64,
    /// Degrees of freedom of the misfit.
    pub free: usize,
    /// Share of replicates below the lower end of an interval.
    pub tail: f64,
    /// Which numbers the points determine, with the priors.
    pub space: Told,
}

/// Checks that points separate σ and κ, and have one more than the numbers they determine if nothing else gives the
/// misfit.
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

/// Misfit of points beyond their noise; all of it, if data have no noise of their own.
fn misfit(solution: &Solution, errors: &[f64], has_noise: bool, free: usize) -> f64 {
    if free == 0 {
        return 0.0;
    }
    let squares = solution.squares / free as f64;
    let mean = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
    if has_noise { (mean * (squares - 1.0).max(0.0)).sqrt() } else { squares.sqrt() }
}

impl Fit {
    /// Fits once, then again with the weights that follow from the misfit; without intervals.
    ///
    /// # Errors
    /// No search ended.
    fn once(sweep: &Sweep, plan: &Plan) -> Result<Self, SweepError> {
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
        Ok(Self { solution, weights, replicates: Vec::new(), misfit, free, tail: 0.5, space })
    }

    /// Fits a law, and resamples of the data.
    ///
    /// # Errors
    /// No search ended, or the points are too few to determine the law's numbers.
    pub fn new(sweep: &Sweep, plan: &Plan, draws: Draws) -> Result<Self, SweepError> {
        if plan.priors.is_empty() {
            check(sweep, plan)?;
        }
        let mut fit = Self::once(sweep, plan)?;
        let mut random = Normal::new(draws.seed);
        let (blocks, misfit) = (sweep.blocks(), fit.misfit);
        let law = fit.solution.parameters();
        let curve: Vec<f64> = sweep.points().iter().map(|point| law.rate_at(&point.load).ln()).collect();
        for _ in 0..draws.count {
            let base = match blocks {
                1 => curve.clone(),
                _ => sweep.means(&drawn(blocks, &mut random)),
            };
            let moved: Vec<f64> = base.iter().map(|log_rate| log_rate + misfit * random.draw()).collect();
            let pulls = plan.pulls(sweep, &mut || random.draw());
            let near = Some(fit.solution.coordinates.as_slice());
            let resampled = plan.solve(&rows(sweep, &moved, &fit.weights), &pulls, near);
            fit.replicates.extend(resampled.map(|solution| solution.parameters()));
        }
        let degrees = match blocks {
            1 => fit.free.max(1),
            _ if misfit > 0.0 => fit.free.clamp(1, blocks - 1),
            _ => blocks - 1,
        };
        Ok(Self { tail: tail(draws.level, degrees, blocks), ..fit })
    }

    /// A number that follows from the law's, with its interval; `None` if too few fits of resampled data ended.
    pub fn known(&self, unit: &str, number: impl Fn(&Parameters) -> f64) -> Option<Interval> {
        let mut values: Vec<f64> =
            self.replicates.iter().map(&number).filter(|value| value.is_finite()).collect();
        if values.len() * 2 < self.replicates.len() || values.is_empty() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let value = number(&self.solution.parameters());
        let [low, high] = [self.tail, 1.0 - self.tail].map(|share| quantile(&values, share));
        Some(Interval::of([value, low?.min(value), high?.max(value)], unit))
    }

    /// The curve at one load.
    pub fn rate_at(&self, load: &Load) -> Option<Interval> {
        self.known("1/s", |law| law.rate_at(load))
    }
}

fn drawn(blocks: usize, random: &mut Normal) -> Vec<usize> {
    (0..blocks).map(|_| ((random.uniform() * blocks as f64) as usize).min(blocks - 1)).collect()
}

/// Share of replicates on each side of an interval: Φ(−t √(n / (n − 1))), so that an interval of normal
/// replicates is as wide as Student's.
fn tail(level: f64, degrees: usize, blocks: usize) -> f64 {
    let widening = if blocks > 1 { (blocks as f64 / (blocks - 1) as f64).sqrt() } else { 1.0 };
    let t = t_quantile(0.5 + level / 2.0, degrees as f64).unwrap_or(f64::INFINITY);
    Gauss::standard().cdf(-t * widening)
}

/// Most loads that are left out one by one; more are left out in this many parts, each of loads that are far apart.
const MOST_PARTS: usize = 40;

/// A law in comparison with the others.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Candidate {
    /// The law.
    pub law: Law,
    /// Root of the mean squared error of the logarithm over the loads that were left out; `None` if a fit without one
    /// of them fails because it has more parameters than loads.
    #[serde(rename = "error_share")]
    pub error: Option<f64>,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// Every law that the data could determine, in order of their parameters.
pub fn candidates(sweep: &Sweep) -> Vec<Candidate> {
    let laws = Law::ALL.into_iter().filter(|law| !law.has_yield() || sweep.sibling_loads() > 0);
    let all: Vec<(Law, Option<Vec<f64>>)> = laws.map(|law| (law, squared_errors(sweep, law))).collect();
    let average = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let judged = || all.iter().filter_map(|(law, errors)| Some((*law, errors.as_deref()?)));
    let best = judged().min_by(|(_, a), (_, b)| average(a).total_cmp(&average(b))).map(|(_, errors)| errors);
    let is_near = |errors: &[f64], best: &[f64]| {
        let more: Vec<f64> = errors.iter().zip(best).map(|(one, other)| one - other).collect();
        // A difference of a thousandth is the solver's, if a law has a parameter at its bound.
        summary(&more).is_some_and(|all| all.mean <= all.sd / (all.n as f64).sqrt() + 1e-3 * average(best))
    };
    let chosen = best.and_then(|best| judged().find(|(_, errors)| is_near(errors, best))).map(|(law, _)| law);
    let candidate = |(law, errors): &(Law, Option<Vec<f64>>)| Candidate {
        law: *law,
        error: errors.as_deref().map(|errors| average(errors).sqrt()),
        is_chosen: chosen == Some(*law),
    };
    all.iter().map(candidate).collect()
}

/// Mean squared error of the logarithm at each load, by the fit to the others.
fn squared_errors(sweep: &Sweep, law: Law) -> Option<Vec<f64>> {
    let all: Vec<usize> = (0..sweep.blocks()).collect();
    let (loads, parts) = (sweep.loads(), sweep.loads().min(MOST_PARTS));
    let mut errors = vec![Vec::new(); loads];
    for part in 0..parts {
        let rest = sweep.with_loads(|load| load % parts != part);
        let left_out = sweep.with_loads(|load| load % parts == part);
        let plan = Plan::of(law, &rest);
        // A yield that nothing else shows would be guessed, not predicted.
        let is_hidden = law.has_yield() && (rest.sibling_loads() == 0 || rest.widest() < sweep.widest());
        if is_hidden || rest.loads() < plan.parameters() {
            return None;
        }
        let fit = Fit::once(&rest, &plan).ok()?.solution.parameters();
        let points = left_out.points().iter().zip(left_out.means(&all)).zip(left_out.load_numbers());
        for ((point, mean), number) in points {
            errors[part + number * parts].push((fit.rate_at(&point.load).ln() - mean).powi(2));
        }
    }
    errors.into_iter().map(|of_load| mean(of_load.into_iter())).collect()
}

/// A standard deviation of less than this share of the mean is replaced by it: a few series cannot show that they agree
/// exactly.
const LEAST_SHARE: f64 = 0.02;

/// Least standard deviation, where the mean is 0 too.
const LEAST_SPREAD: f64 = 1e-9;

/// Standard normal quantile of a two-sided interval of 95%.
const NORMAL: f64 = 1.959_964;

/// A series that shows a law by itself, fitted alone.
type Shown = (Plan, Fit);

/// How each series is fitted: alone if there is one, or no other shows a law.
pub fn plans(sweeps: &[Sweep]) -> Vec<Plan> {
    if sweeps.len() < 2 {
        return sweeps.iter().map(Plan::alone).collect();
    }
    let alone = |sweep: &Sweep| -> Option<Shown> {
        let plan = Plan::alone(sweep);
        let is_curve = sweep.loads() >= FEWEST_LOADS;
        let fit = is_curve.then(|| Fit::once(sweep, &plan).ok())??;
        Some((plan, fit))
    };
    let shown: Vec<Option<Shown>> = sweeps.iter().map(alone).collect();
    sweeps.iter().enumerate().map(|(at, sweep)| beside(sweep, &shown, at)).collect()
}

/// The plan of one series: the richest law that any of them shows, with priors from the others.
fn beside(sweep: &Sweep, all: &[Option<Shown>], at: usize) -> Plan {
    let shown = || all.iter().flatten();
    let is_wide = sweep.sibling_loads() > 0;
    let law = match shown().map(|(plan, _)| plan.law).max() {
        None => return Plan::alone(sweep),
        Some(law) if law.has_yield() || !is_wide => law,
        // No series shows the yield that these points contain.
        Some(_) => return Plan::alone(sweep),
    };
    let widest = shown().filter_map(|(plan, _)| plan.knots.last().copied()).max().unwrap_or(1);
    let knots = if law.has_yield() { Yields::needed(widest.max(sweep.widest())) } else { Vec::new() };
    let numbers = [Number::Sigma, Number::Kappa].into_iter().chain((0..knots.len()).map(Number::Yield));
    let others = all.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<&Fit> = others.filter_map(|(_, one)| Some(&one.as_ref()?.1)).collect();
    let priors: Vec<Prior> = numbers.filter_map(|number| prior(number, &knots, &others)).collect();
    if priors.is_empty() {
        return Plan::alone(sweep);
    }
    Plan { law, knots, priors, misfit: common_misfit(shown()) }
}

/// Prior of a number from other series; `None` if fewer than two have it.
fn prior(number: Number, knots: &[u32], others: &[&Fit]) -> Option<Prior> {
    // Knots of narrower series are another yield.
    let is_same =
        |fit: &&&Fit| !matches!(number, Number::Yield(at) if fit.solution.knots.get(at) != knots.get(at));
    // A number that its points do not determine has its starting value.
    let known = others.iter().filter(|fit| fit.space.tells(number));
    let seen: Vec<f64> =
        known.filter(is_same).filter_map(|fit| number.of(&fit.solution.parameters())).collect();
    let (mean, sd) = next(&seen)?;
    Some(Prior { number, mean, sd: sd.max(LEAST_SHARE * mean.abs()).max(LEAST_SPREAD) })
}

/// Mean of a sample, and the standard deviation of a prediction of its next value.
fn next(seen: &[f64]) -> Option<(f64, f64)> {
    let all = summary(seen).filter(|all| all.n >= 2)?;
    let count = all.n as f64;
    let few = t_quantile(0.975, count - 1.0)? / NORMAL;
    Some((all.mean, few * all.sd * (1.0 + 1.0 / count).sqrt()))
}

/// Misfit of the series that have one, for those with too few points.
fn common_misfit<'a>(shown: impl Iterator<Item = &'a Shown>) -> Option<(f64, usize)> {
    let all: Vec<(f64, usize)> =
        shown.map(|(_, fit)| (fit.misfit, fit.free)).filter(|(_, free)| *free > 0).collect();
    let free: usize = all.iter().map(|(_, free)| free).sum();
    let squares: f64 = all.iter().map(|(misfit, free)| misfit * misfit * *free as f64).sum();
    (free > 0).then(|| ((squares / free as f64).sqrt(), free))
}

#[cfg(test)]
mod tests {
    use super::super::load::Load;
    use super::super::sweep::Measured;
    use super::*;

    /// Sweeps of 8 cores of 2 threads with σ 0.02 and this yield, and points within half a percent.
    fn sweep(of_two: f64, twice: bool) -> Sweep {
        let loads =
            [1, 2, 3, 4, 6, 8, 10, 12, 14, 16].into_iter().flat_map(|n| vec![n; 1 + usize::from(twice)]);
        let point = |(at, n): (usize, u32)| {
            let cores = f64::from(n).min(8.0) + (of_two - 1.0) * (f64::from(n).max(8.0) - 8.0);
            let noise = 0.005 * ((at * 7) % 5) as f64 / 2.0 - 0.005;
            let rate = cores / (1.0 + 0.02 * (f64::from(n) - 1.0));
            let load = Load::spread(n, &[2; 8]).unwrap();
            Measured { label: String::new(), load, log_rates: vec![rate.ln() + noise] }
        };
        Sweep::new(loads.enumerate().map(point).collect()).unwrap()
    }

    fn chosen(sweep: &Sweep) -> Law {
        candidates(sweep).into_iter().find(|one| one.is_chosen).unwrap().law
    }

    #[test]
    fn the_simplest_law_that_predicts_as_well_is_chosen() {
        // Amdahl's law with SMT made them, and without SMT where a sibling is as good as a core.
        assert_eq!(chosen(&sweep(1.3, false)), Law::SmtAmdahl);
        assert_eq!(chosen(&sweep(1.3, true)), Law::SmtAmdahl, "a load measured twice is one load");
        assert_eq!(chosen(&sweep(2.0, false)), Law::Amdahl);
    }

    #[test]
    fn loads_that_nothing_else_shows_are_not_predicted() {
        let points = sweep(1.3, false).with_loads(|load| [0, 2, 4, 9].contains(&load));
        let with_yield = candidates(&points).into_iter().filter(|one| one.law.has_yield());
        assert!(with_yield.clone().count() == 2 && with_yield.into_iter().all(|one| one.error.is_none()));
    }

    #[test]
    fn the_next_of_a_sample_is_expected_as_the_books_have_it() {
        // Hahn and Meeker's example of section 4.7: mean 50.10, s 1.31 of 5; 95% for one more: 50.10 ± 2.776 √1.2 1.31.
        let (mean, sd) = next(&[51.4, 49.5, 48.7, 49.3, 51.6]).unwrap();
        let s = summary(&[51.4, 49.5, 48.7, 49.3, 51.6]).unwrap().sd;
        assert!((mean - 50.10).abs() < 1e-9 && (NORMAL * sd - 2.776_445 * 1.2_f64.sqrt() * s).abs() < 1e-5);
        assert_eq!(next(&[1.0]), None);
    }
}
