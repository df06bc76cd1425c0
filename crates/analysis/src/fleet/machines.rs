//! Studies by machine and boot, the one number of each machine, and statistics of a figure over one kind's machines:
//! the prediction for the next machine, sources of the spread, and what would narrow the interval.

use super::{
    Basis, Fleet, FleetStudy, JudgedRow, Kind, LevelSd, MIN_MACHINES, MachineValue, Needed, OnKind, Price,
    RECOMMENDED_MACHINES, Range, Series, Spread,
};
use crate::Interval;
use crate::compare::change::fewest_of;
use crate::estimate::Rule;
use crate::groups::{distinct, grouped, most_frequent};
use threadwise_statistics::{
    Component, Level, MeanEstimate, chi_squared_quantile, components, mean, own_share, t_quantile,
};

/// Unit of a price.
pub(super) const SECONDS_PER_HOUR: f64 = 3600.0;
/// Largest number of machines that is searched for.
const MOST_MACHINES: u32 = 10_000;
/// Unit of comparisons.
pub(super) const RATIO: &str = "ratio";

/// A machine with its studies.
pub(super) struct Machine<'a> {
    /// Its displayed name.
    pub node: &'a str,
    /// Its studies, in the fleet's order.
    pub studies: Vec<&'a FleetStudy>,
}

impl<'a> Machine<'a> {
    fn of(studies: Vec<&'a FleetStudy>) -> Self {
        Self { node: studies.first().map_or("", |study| &study.node), studies }
    }

    /// A figure of its studies, by boot; studies without it are left out.
    fn by_boot(&self, value: &dyn Fn(&FleetStudy) -> Option<f64>) -> Vec<Vec<f64>> {
        let known = self.studies.iter().filter_map(|study| Some((&study.boot, value(study)?)));
        grouped(known).into_iter().map(|(_, values)| values).collect()
    }
}

/// A kind with its machines that have a study, by name.
pub(super) struct OfKind<'a> {
    /// The kind.
    pub kind: Kind,
    /// Its machines.
    pub machines: Vec<Machine<'a>>,
}

impl OfKind<'_> {
    /// Its price; `None` without one above 0.
    pub(super) fn price(&self) -> Option<&Price> {
        self.kind.price.as_ref().filter(|price| price.amount > 0.0 && price.amount.is_finite())
    }

    /// A figure of its machines, in logarithms; results that are judged with others of its family are left out.
    pub(super) fn figure(
        &self,
        unit: &str,
        rule: Rule,
        value: &dyn Fn(&FleetStudy) -> Option<f64>,
    ) -> OnKind {
        let series = Series::of(&self.machines, value);
        let (mean, is_rate) = (series.mean_of_kind(), unit != RATIO);
        let rate = series.interval(unit, rule.alpha).filter(|_| is_rate);
        let mut studies = self.machines.iter().flat_map(|machine| &machine.studies);
        let reason = match series.nodes.len() {
            0 if is_rate && studies.any(|study| !study.rates.is_empty()) => {
                Some("plan, engine version or data differ from most studies or are unknown")
            }
            machines => Basis::of(machines).gap(),
        };
        let price = rate.as_ref().zip(self.price());
        OnKind {
            kind: self.kind.name.clone(),
            machines: series.by_machine(),
            next_machine: mean.and_then(|mean| next_machine(&mean, rule.alpha)),
            spread: mean.filter(|_| !is_rate).and_then(|_| spread(&series, rule.margin, rule.alpha)),
            per_price: price.map(|(rate, price)| rate.scaled(SECONDS_PER_HOUR / price.amount, "1")),
            rate,
            reason: reason.map(str::to_owned),
            series,
            ..OnKind::default()
        }
    }

    /// The kind with its counts.
    pub(super) fn counted(&self) -> Kind {
        let boots = self.machines.iter().map(|machine| machine.by_boot(&|_| Some(0.0)));
        let shapes: Vec<Vec<usize>> = boots.map(|boots| boots.iter().map(Vec::len).collect()).collect();
        let is_even = shapes.windows(2).all(|two| two[0].len() == two[1].len())
            && distinct(shapes.iter().flatten().copied()).len() <= 1;
        Kind {
            machines: self.machines.len() as u32,
            boots: shapes.iter().map(Vec::len).sum::<usize>() as u32,
            studies: shapes.iter().flatten().sum::<usize>() as u32,
            balanced: is_even,
            basis: Basis::of(self.machines.len()),
            ..self.kind.clone()
        }
    }
}

impl JudgedRow {
    /// Whether it is of rates rather than of a comparison.
    pub(super) fn is_rate(&self) -> bool {
        self.unit != RATIO
    }
}

/// The fleet's kinds, then those that occur only in studies.
pub(super) fn by_kind(fleet: &Fleet) -> Vec<OfKind<'_>> {
    let mut kinds = fleet.kinds.clone();
    for name in distinct(fleet.studies.iter().map(|study| &study.kind)) {
        if kinds.iter().all(|kind| kind.name != *name) {
            kinds.push(Kind { name: name.clone(), ..Kind::default() });
        }
    }
    let of_kind = |kind: Kind| {
        let studies = fleet.studies.iter().filter(|study| study.kind == kind.name);
        let mut machines = grouped(studies.map(|study| (study.machine.as_str(), study)));
        machines.sort_by_key(|(key, studies)| (&studies[0].node, *key));
        let machine = |(_, studies)| Machine::of(studies);
        let machines = machines.into_iter().map(machine).collect();
        OfKind { kind, machines }
    };
    kinds.into_iter().map(of_kind).collect()
}

impl Series {
    /// The machines that have the figure.
    pub(super) fn of(machines: &[Machine<'_>], value: &dyn Fn(&FleetStudy) -> Option<f64>) -> Self {
        let all = machines.iter().map(|machine| (machine.node.to_owned(), machine.by_boot(value)));
        let (nodes, values) = all.filter(|(_, boots)| !boots.is_empty()).unzip();
        Self { nodes, values }
    }

    /// One number per machine: the mean over its boots of the mean of each boot.
    pub(super) fn means(&self) -> Vec<f64> {
        self.values.iter().filter_map(|boots| machine_mean(boots)).collect()
    }

    /// The mean over machines with Student's t over them; `None` without a machine.
    pub(super) fn mean(&self) -> Option<MeanEstimate> {
        MeanEstimate::correlated(&self.means(), 0.0)
    }

    /// The mean if there are enough machines for an interval.
    pub(super) fn mean_of_kind(&self) -> Option<MeanEstimate> {
        self.mean().filter(|mean| mean.n >= MIN_MACHINES)
    }

    /// The geometric mean over machines; without ends if there are too few machines for an interval.
    fn interval(&self, unit: &str, alpha: f64) -> Option<Interval> {
        let mean = self.mean()?;
        let (low, high) = match mean.n >= MIN_MACHINES {
            true => mean.interval(alpha),
            false => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let exp = |end: f64| if end.is_finite() { end.exp() } else { end };
        Some(Interval::of([mean.mean, low, high].map(exp), unit))
    }

    /// Each machine's figure.
    fn by_machine(&self) -> Vec<MachineValue> {
        let each = self.nodes.iter().zip(&self.values).zip(self.means());
        each.map(|((node, boots), mean)| MachineValue {
            node: node.clone(),
            boots: boots.len() as u32,
            studies: boots.iter().map(Vec::len).sum::<usize>() as u32,
            value: mean.exp(),
        })
        .collect()
    }
}

/// The one number of a machine: the mean over boots of the mean of each boot's values. `None` without values.
pub fn machine_mean(boots: &[Vec<f64>]) -> Option<f64> {
    mean(boots.iter().filter_map(|values| mean(values.iter().copied())))
}

/// What the next machine will measure with as many boots and repeats, at level 1 − `alpha`: mean ± t · s · √(1 + 1/k),
/// for k machines, as a ratio (Hahn, Meeker, *Statistical Intervals*, 1991, chapter 4). `None` for one machine.
pub fn next_machine(mean: &MeanEstimate, alpha: f64) -> Option<Range> {
    // s / √k is the standard error.
    let half = mean.half_width(alpha) * ((mean.n + 1) as f64).sqrt();
    half.is_finite().then(|| Range { low: (mean.mean - half).exp(), high: (mean.mean + half).exp() })
}

/// ln(ratio) of a comparison in a study.
pub(super) fn ln_ratio(study: &FleetStudy, name: &str) -> Option<f64> {
    study.ratios.iter().find(|ratio| ratio.name == name).map(|ratio| ratio.ln)
}

/// ln(rate) of a treatment in a study of the common work.
pub(super) fn ln_rate(study: &FleetStudy, treatment: &str, common: &str) -> Option<f64> {
    let rate = study.rates.iter().find(|rate| rate.name == treatment)?;
    (study.same_work == common && rate.ln.is_finite()).then_some(rate.ln)
}

/// The work of most studies; `None` if no study's is known.
pub(super) fn most_common_work(fleet: &Fleet) -> Option<&str> {
    most_frequent(fleet.studies.iter().map(|study| study.same_work.as_str()).filter(|hash| !hash.is_empty()))
}

/// The spread of a series; `None` with fewer than two machines.
fn spread(series: &Series, margin: f64, alpha: f64) -> Option<Spread> {
    let mean = series.mean().filter(|mean| mean.n >= 2)?;
    let found = components(&series.values);
    let machines = mean.n as f64;
    let sd = mean.standard_error * machines.sqrt();
    let width = |variance: f64, machines: f64| {
        let t = t_quantile(1.0 - alpha / 2.0, machines - 1.0)?;
        Some((t * (variance / machines).sqrt()).exp_m1())
    };
    let boots = series.values.iter().map(Vec::len).sum::<usize>() as f64 / machines;
    let studies = series.values.iter().flatten().map(Vec::len).sum::<usize>() as f64 / machines;
    // By how much the components say that the variance of a machine's mean would fall.
    let factor = |boots_times: f64, studies_times: f64| {
        let variance = |boots: f64, studies: f64| by_components(&found, boots, studies);
        let now = variance(boots, studies).filter(|now| *now > 0.0)?;
        Some(variance(boots * boots_times, studies * studies_times)? / now)
    };
    let narrowed = |factor: Option<f64>| width(sd * sd * factor?, machines);
    // Whether a level has a component of its own.
    let is_apart = |level: Level| found.iter().any(|component| component.levels == [level]);
    let twice_boots = factor(2.0, 2.0).filter(|_| is_apart(Level::Group));
    let twice_repeats = factor(1.0, 2.0).filter(|_| is_apart(Level::Value));
    let bounds = own_share(&series.values, alpha);
    Some(Spread {
        components: found.iter().map(level_sd).collect(),
        own_share: bounds.map(|(low, high)| Range { low, high }),
        half_width: width(sd * sd, machines)?,
        with_twice_the_machines: width(sd * sd, 2.0 * machines)?,
        with_twice_the_boots: narrowed(twice_boots),
        with_twice_the_repeats: narrowed(twice_repeats),
        machines_for_margin: machines_for(sd, mean.n, margin, alpha),
    })
}

/// The variance of a machine's mean over this many boots and studies; `None` without components.
fn by_components(components: &[Component], boots: f64, studies: f64) -> Option<f64> {
    let part = |component: &Component| match component.levels.first() {
        Some(Level::Group) => component.variance,
        Some(Level::Subgroup) => component.variance / boots,
        _ => component.variance / studies,
    };
    (!components.is_empty()).then(|| components.iter().map(part).sum())
}

fn level_sd(component: &Component) -> LevelSd {
    let word = |level: &Level| match level {
        Level::Group => "machine",
        Level::Subgroup => "boot",
        Level::Value => "repeat",
    };
    LevelSd { levels: component.levels.iter().map(word).collect(), sd: component.variance.sqrt() }
}

/// Number of machines whose mean has an interval of at most the margin to either side, from the standard deviation of
/// machine means over `machines`, and from the ends of its interval (chi-squared, Hahn and Meeker 1991, chapter 4).
///
/// `None` if the interval is narrow enough already, and with too few machines to estimate it.
pub fn machines_for(sd: f64, machines: usize, margin: f64, alpha: f64) -> Option<Needed> {
    let degrees = machines.saturating_sub(1) as f64;
    if machines < RECOMMENDED_MACHINES || fewest(sd, margin, alpha) <= machines as u32 {
        return None;
    }
    let end = |p: f64| Some(sd * (degrees / chi_squared_quantile(p, degrees)?).sqrt());
    let (low, high) = (end(1.0 - alpha / 2.0)?, end(alpha / 2.0)?);
    let [about, least, most] = [sd, low, high].map(|sd| fewest(sd, margin, alpha));
    Some(Needed { about, least, most })
}

/// The fewest machines whose interval is within the margin.
pub fn fewest(sd: f64, margin: f64, alpha: f64) -> u32 {
    let is_short = |machines: &u32| {
        let t = t_quantile(1.0 - alpha / 2.0, f64::from(machines - 1));
        t.is_none_or(|t| t * sd / f64::from(*machines).sqrt() > margin.ln_1p())
    };
    fewest_of(MOST_MACHINES, is_short).unwrap_or(MOST_MACHINES)
}
