//! Results of laws for series, in figures for reports.

use super::fit::{Candidate, Draws, Fit, candidates, plans};
use super::law::{Law, Parameters};
use super::load::{Load, Shape};
use super::solve::{Number, Plan};
use super::sweep::{FEWEST_LOADS, Measured, Series, Sweep, SweepError};
use super::told;
use crate::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// Points of a curve that are enough to draw it.
const CURVE_POINTS: usize = 48;

/// A series and its law.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct SeriesLaw {
    /// Name of the series: that of a group of treatments, empty if there is one.
    pub series: String,
    /// Its law, or why there is none, in one line.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Treatments that are not points, and why, one per line.
    pub left_out: Vec<String>,
}

/// Whether there is a law.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A fitted law.
    Law(Box<ScalingLaw>),
    /// Why there is none.
    Gap(String),
}

/// A fitted law in figures.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ScalingLaw {
    /// The fitted law: the richest that the points determine.
    pub law: Law,
    /// All laws, with how well they predict loads that they were not fitted to.
    pub candidates: Vec<Candidate>,
    /// Confidence level of all intervals.
    pub level: f64,
    /// Blocks of the points; 1 if they have none.
    pub blocks: usize,
    /// Different loads.
    pub loads: usize,
    /// Whether other series were used.
    pub is_pooled: bool,
    /// Whether the clock was used.
    pub is_clock_known: bool,
    /// Throughput of one session, λ; `None` if the points do not determine it.
    pub rate_per_s: Option<Interval>,
    /// Serial share, σ, likewise.
    pub sigma: Option<Interval>,
    /// Cost of each pair of sessions, κ, likewise.
    pub kappa: Option<Interval>,
    /// Throughput of a core with more busy threads over one, where the points determine it.
    pub yields: Vec<Yield>,
    /// Numbers that the points do not determine, and why.
    pub unknown: Vec<Unknown>,
    /// Misfit of points beyond the noise of their blocks: a standard deviation as a share.
    pub misfit_share: f64,
    /// Every point.
    pub points: Vec<Fitted>,
    /// The curve over all logical CPUs of the machine.
    pub curve: Vec<CurvePoint>,
    /// Where it turns; `None` if the machine's cores are unknown.
    pub turns: Option<KnownTurns>,
    /// Other machines.
    pub predictions: Vec<Prediction>,
}

/// A number of the law that the points do not determine.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unknown {
    /// `rate_per_s`, `sigma`, `kappa` or `yield`.
    pub number: &'static str,
    /// Busy threads of a core, for a yield.
    pub threads: Option<u32>,
    /// Why, in a few words.
    pub why: String,
}

/// A yield.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Yield {
    /// Busy threads of a core.
    pub threads: u32,
    /// Their throughput over one alone.
    #[serde(flatten)]
    pub known: Interval,
}

/// A point, measured and fitted.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Fitted {
    /// Its name.
    pub label: String,
    /// Busy sessions.
    pub sessions: u32,
    /// Cores with one busy thread, with two, and so on.
    pub busy_cores: Vec<u32>,
    /// Clock over that of one busy core, if known.
    pub clock_ratio: Option<f64>,
    /// Measured throughput: geometric mean over blocks.
    pub rate_per_s: f64,
    /// The law's.
    pub fitted_per_s: Interval,
    /// Measured over fitted, less 1.
    pub residual_share: f64,
}

/// A point of the curve.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// Busy sessions, spread over cores first.
    pub sessions: u32,
    /// Throughput.
    #[serde(flatten)]
    pub known: Interval,
}

/// Where a curve turns, in sessions.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct KnownTurns {
    /// Cores of the machine; `None` if unknown.
    pub cores: Option<u32>,
    /// Its logical CPUs, likewise.
    pub logical_cpus: Option<u32>,
    /// The knee (see [`Turns::knee`]).
    pub knee: Interval,
    /// Most throughput.
    pub peak: Interval,
    /// Number of sessions up to which second threads pay off; the number of cores if they never do, `None` if there are
    /// none or the law has no yield.
    pub smt_pays_up_to: Option<Interval>,
}

/// Another machine with all logical CPUs busy.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Prediction {
    /// Its shape.
    pub shape: Shape,
    /// Its logical CPUs.
    pub sessions: u32,
    /// Throughput; `None` if the points do not determine it.
    pub rate_per_s: Option<Interval>,
    /// Throughput over the fitted throughput of the largest load.
    pub over_largest: Option<Interval>,
    /// Whether it has more cores, or more busy threads per core, than any point.
    pub is_extrapolated: bool,
    /// Why there is no figure.
    pub gap: Option<String>,
}

/// Fits all series.
pub fn laws(all: &[Series], predict: &[Shape], draws: Draws) -> Vec<SeriesLaw> {
    let sweeps: Vec<Result<Sweep, SweepError>> = all
        .iter()
        .map(|series| match all.len() {
            1 => Sweep::new(series.points.clone()),
            _ => Sweep::of_few(series.points.clone()),
        })
        .collect();
    let good: Vec<Sweep> = sweeps.iter().filter_map(|sweep| sweep.as_ref().ok()).cloned().collect();
    let mut plans = plans(&good).into_iter();
    let each = all.iter().zip(sweeps).map(|(series, sweep)| {
        let law = sweep.and_then(|sweep| of_one(series, &sweep, plans.next(), predict, draws));
        let outcome = match law {
            Ok(law) => Outcome::Law(Box::new(law)),
            Err(why) => Outcome::Gap(why.to_string()),
        };
        SeriesLaw { series: series.name.clone(), outcome, left_out: series.left_out.clone() }
    });
    each.collect()
}

fn of_one(
    series: &Series,
    sweep: &Sweep,
    plan: Option<Plan>,
    predict: &[Shape],
    draws: Draws,
) -> Result<ScalingLaw, SweepError> {
    let plan = plan.unwrap_or_else(|| Plan::alone(sweep));
    if sweep.loads() < FEWEST_LOADS && plan.priors.is_empty() {
        return Err(SweepError::FewLoads(sweep.loads()));
    }
    let fit = Fit::new(sweep, &plan, draws)?;
    let known =
        |unit: &str, number: &dyn Fn(&Parameters) -> f64| fit.known(unit, number).ok_or(SweepError::NoFit);
    let ladder = Ladder::new(&series.threads_of_cores, |cores| series.clock.at(cores));
    let unknown = unknown(series, sweep, &plan, &fit);
    let is_told = |number: &str, threads: Option<u32>| {
        !unknown.iter().any(|one| (one.number, one.threads) == (number, threads))
    };
    let number = |name: &str, unit: &str, number: &dyn Fn(&Parameters) -> f64| {
        is_told(name, None).then(|| known(unit, number)).transpose()
    };
    let knots = plan.knots.iter().enumerate().filter(|(_, threads)| is_told("yield", Some(**threads)));
    let knots = knots.map(|(at, threads)| {
        let knot = |law: &Parameters| law.yields.as_ref().map_or(f64::NAN, |yields| yields.knots[at].1);
        Ok(Yield { threads: *threads, known: known("ratio", &knot)? })
    });
    Ok(ScalingLaw {
        law: plan.law,
        candidates: candidates(sweep),
        level: draws.level,
        blocks: sweep.blocks(),
        loads: sweep.loads(),
        is_pooled: !plan.priors.is_empty(),
        is_clock_known: !series.clock.steps.is_empty(),
        rate_per_s: number("rate_per_s", "1/s", &|law| law.rate_per_s)?,
        sigma: number("sigma", "share", &|law| law.sigma)?,
        kappa: number("kappa", "share", &|law| law.kappa)?,
        yields: knots.collect::<Result<_, SweepError>>()?,
        unknown,
        misfit_share: fit.misfit.exp_m1(),
        points: sweep.points().iter().map(|point| fitted(point, sweep, &fit)).collect::<Result<_, _>>()?,
        curve: curve(&ladder, &fit),
        turns: KnownTurns::of(&ladder, &fit).map(|turns| match series.is_machine_known {
            true => turns,
            false => KnownTurns { cores: None, logical_cpus: None, ..turns },
        }),
        predictions: predict.iter().map(|shape| prediction(*shape, series, sweep, &fit)).collect(),
    })
}

/// The numbers that the points do not determine.
fn unknown(series: &Series, sweep: &Sweep, plan: &Plan, fit: &Fit) -> Vec<Unknown> {
    let unknown = |number, threads, why: String| Unknown { number, threads, why };
    let mut all = Vec::new();
    if !fit.space.tells_rate() {
        all.push(unknown("rate_per_s", None, told::why_no_rate(sweep)));
    } else if let Some((cores, _)) = series.clock.steps.first().filter(|(cores, _)| *cores > 1) {
        all.push(unknown("rate_per_s", None, few_cores(*cores)));
    }
    for (at, threads) in plan.knots.iter().enumerate() {
        if !fit.space.tells(Number::Yield(at)) {
            all.push(unknown("yield", Some(*threads), told::why_no_yield(sweep, *threads)));
        }
    }
    for (name, number) in [("sigma", Number::Sigma), ("kappa", Number::Kappa)] {
        if !fit.space.tells(number) {
            all.push(unknown(name, None, told::APART.to_owned()));
        }
    }
    all
}

/// Why the clock is unknown if fewer cores are busy than in any point.
fn few_cores(fewest: u32) -> String {
    format!("no point has fewer than {fewest} busy cores, whose clock would differ")
}

fn fitted(point: &Measured, sweep: &Sweep, fit: &Fit) -> Result<Fitted, SweepError> {
    let mean = point.log_rates.iter().sum::<f64>() / sweep.blocks() as f64;
    let fitted = fit.rate_at(&point.load).ok_or(SweepError::NoFit)?;
    Ok(Fitted {
        label: point.label.clone(),
        sessions: point.load.sessions,
        busy_cores: point.load.cores.clone(),
        clock_ratio: point.load.clock_ratio,
        rate_per_s: mean.exp(),
        residual_share: mean.exp() / fitted.mean - 1.0,
        fitted_per_s: fitted,
    })
}

/// The curve at every number of sessions or, if there are many, at numbers that grow by the same factor, including the
/// number of cores.
fn curve(ladder: &Ladder, fit: &Fit) -> Vec<CurvePoint> {
    let last = ladder.loads().len();
    let step = (last as f64).powf(1.0 / CURVE_POINTS as f64);
    let mut next = 1.0_f64;
    let mut drawn = Vec::new();
    for load in ladder.loads() {
        let is_due = f64::from(load.sessions) >= next || load.sessions == ladder.cores();
        if last <= CURVE_POINTS || is_due || load.sessions as usize == last {
            next = (f64::from(load.sessions) * step).max(next);
            let point = |known| CurvePoint { sessions: load.sessions, known };
            drawn.extend(fit.rate_at(load).filter(|_| fit.space.tells_load(load)).map(point));
        }
    }
    drawn
}

impl KnownTurns {
    /// From a fit; `None` without cores, or if the points do not determine every load.
    pub fn of(ladder: &Ladder, fit: &Fit) -> Option<Self> {
        if !ladder.loads().iter().all(|load| fit.space.tells_load(load)) {
            return None;
        }
        let turn = |part: &dyn Fn(&Turns) -> Option<u32>| {
            let at = |law: &Parameters| part(&ladder.turns(law)?).map(f64::from);
            let known = fit.known("1", |law| at(law).unwrap_or(f64::NAN))?;
            known.mean.is_finite().then(|| known.each(f64::round, "1"))
        };
        let has_yield = fit.solution.law.has_yield();
        Some(Self {
            cores: Some(ladder.cores()),
            logical_cpus: Some(ladder.loads().len() as u32),
            knee: turn(&|turns| Some(turns.knee))?,
            peak: turn(&|turns| Some(turns.peak))?,
            smt_pays_up_to: if has_yield { turn(&|turns| turns.smt_pays_up_to) } else { None },
        })
    }

    /// Whether second threads of cores pay off, if the whole interval says so; `None` if it is not decided, or there
    /// are none.
    pub fn smt_pays(&self) -> Option<bool> {
        let limit = self.smt_pays_up_to.as_ref()?;
        let cores = f64::from(self.cores?);
        match () {
            () if limit.low > cores => Some(true),
            () if limit.high <= cores => Some(false),
            () => None,
        }
    }
}

fn prediction(shape: Shape, series: &Series, sweep: &Sweep, fit: &Fit) -> Prediction {
    let whole = shape.whole();
    let load = Load { clock_ratio: series.clock.at(whole.busy_cores()), ..whole };
    let cores = sweep.points().iter().map(|point| point.load.busy_cores()).max().unwrap_or(0);
    let is_extrapolated = load.busy_cores() > cores || load.widest() > sweep.widest();
    let shown = fit.solution.knots.last().copied().unwrap_or(1);
    let fewest = series.clock.steps.first().map_or(1, |(cores, _)| *cores);
    let known_packages = series.packages.unwrap_or(1);
    let gap = match () {
        () if shape.threads > shown && shown == 1 => {
            Some("no point has two busy threads of one core, so their throughput is unknown".to_owned())
        }
        () if shape.threads > shown => {
            Some(format!("no point has more than {shown} busy threads of one core"))
        }
        () if shape.packages > known_packages => Some(format!(
            "no point is known to keep {} packages busy, and their effect on each other is unknown ({} is the same \
             cores in one)",
            shape.packages,
            Shape { packages: 1, cores: shape.packages * shape.cores, ..shape }
        )),
        () if load.busy_cores() < fewest => Some(few_cores(fewest)),
        () if !fit.space.tells_load(&load) && shape.threads == 1 => Some(told::why_no_rate(sweep)),
        () if !fit.space.tells_load(&load) => Some(told::why_no_yield(sweep, shape.threads)),
        () => None,
    };
    let largest = sweep.points().iter().map(|point| &point.load).max_by_key(|load| load.sessions);
    let known = |unit: &str, number: &dyn Fn(&Parameters) -> f64| match gap {
        Some(_) => None,
        None => fit.known(unit, number),
    };
    let rate_per_s = known("1/s", &|law| law.rate_at(&load));
    Prediction {
        shape,
        sessions: load.sessions,
        over_largest: largest
            .filter(|largest| fit.space.tells_ratio(&load, largest))
            .and_then(|largest| known("ratio", &|law| law.rate_at(&load) / law.rate_at(largest))),
        is_extrapolated,
        gap: match rate_per_s {
            Some(_) => None,
            None => gap.or_else(|| Some("the fits give no finite number".to_owned())),
        },
        rate_per_s,
    }
}

/// Sessions from 1 up to all logical CPUs of some cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    loads: Vec<Load>,
    cores: u32,
}

/// Turning points of a curve, in sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Largest throughput squared over sessions: the point of most power, throughput over delay, where delay is
    /// sessions over throughput (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
    /// computer communications", ICC 1979).
    pub knee: u32,
    /// Most throughput.
    pub peak: u32,
    /// Most throughput beyond one session per core, or the number of cores if second threads add nothing; `None`
    /// without any.
    pub smt_pays_up_to: Option<u32>,
}

impl Ladder {
    /// For cores with these numbers of logical CPUs. `clock_ratio` gives the clock at a number of busy cores.
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

    /// The turning points of a law; `None` without loads.
    pub fn turns(&self, law: &Parameters) -> Option<Turns> {
        let rates: Vec<f64> = self.loads.iter().map(|load| law.rate_at(load)).collect();
        let at = |value: &dyn Fn(usize) -> f64, from: usize| {
            // The fewest sessions with as much throughput.
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
