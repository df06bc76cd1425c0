//! Fleets: the same study on many machines, of one kind or several, over boots and repeats, with the machine as the
//! statistical unit.
//!
//! Studies of one machine have the machine in common, so an interval over all of them says nothing of the next machine
//! (Kalibera, Jones, ISMM 2013: intervals are made where repetition is highest). A machine is one number: the mean over
//! its boots of the mean of each boot's studies. Sources: docs/METHODOLOGY.md, "Fleets".
//!
//! Here is what goes in, study by study, and what comes out.

mod document;
mod judge;
mod machines;
mod odd;
mod verdict;

#[cfg(test)]
mod tests;

pub use document::document;
pub use judge::{difference, judge};
pub use machines::{fewest, machine_mean, machines_for, next_machine};

use crate::compare::aspects::machine_traits;
use crate::estimate::THROUGHPUT;
use crate::{Direction, Facts, Interval, Ratio, kinds, validity};
use serde::Serialize;
use threadwise_study::Role;

/// Confidence level of all intervals of a fleet.
pub const LEVEL: f64 = 0.95;

/// Fewest machines of a kind that have intervals.
pub const MIN_MACHINES: usize = 3;

/// Machines of a kind that are recommended: with fewer the spread between machines is known badly.
pub const RECOMMENDED_MACHINES: usize = 5;

/// A fleet's studies and what is absent: all that its report is made from.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Fleet {
    /// Heading of the report; empty for the study's name.
    pub title: String,
    /// Name of the study that every machine ran.
    pub study: String,
    /// Kinds of machines, in the order of the report's columns.
    #[serde(skip)]
    pub kinds: Vec<Kind>,
    /// Repeats that were planned on each machine; 0 where nothing was planned.
    pub repeats: u32,
    /// Studies that were measured, in any order.
    pub studies: Vec<FleetStudy>,
    /// Planned studies without a result.
    #[serde(skip)]
    pub absent: Vec<Absent>,
    /// What a reader must know, one line each without a full stop, such as machines that cannot be told apart.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// A kind of machine, such as an instance type.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Kind {
    /// Its name, unique in the fleet.
    pub name: String,
    /// What an hour of one such machine costs; `None` where the user gave no price.
    pub price: Option<Price>,
    /// Machines that were planned; 0 where nothing was planned.
    pub machines_planned: u32,
    /// Machines with a study. This and what follows is counted when the fleet is judged.
    pub machines: u32,
    /// Their boots.
    pub boots: u32,
    /// Their studies.
    pub studies: u32,
    /// Whether all its machines have as many boots, and all boots as many studies.
    pub balanced: bool,
    /// What can be said of the kind.
    pub basis: Basis,
}

/// The price of an hour of one machine, as a user typed it in. No price is known to this program.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Price {
    /// Amount per hour of one machine, above 0.
    pub amount: f64,
    /// Currency, such as `USD`.
    pub currency: String,
    /// Date of the price.
    pub date: String,
    /// Where it was read.
    pub source: String,
}

/// One study on one machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FleetStudy {
    /// Name of its result file.
    pub source: String,
    /// Name of the machine's kind ([`Kind::name`]).
    pub kind: String,
    /// What tells the machine from all others, such as a hash of its machine id. It is shown nowhere.
    #[serde(skip)]
    pub machine: String,
    /// The machine's name for people.
    pub node: String,
    /// What tells the boot from all others of the machine.
    pub boot: String,
    /// Number of the repeat, from 1 on.
    pub repeat: u32,
    /// What tells its work from other work: a hash of plan, engine version and data. Absolute rates are compared
    /// among studies that agree in it; empty where it is not known.
    #[serde(skip)]
    pub same_work: String,
    /// Whether a model gave the figures.
    #[serde(rename = "simulated")]
    pub is_simulated: bool,
    /// Whether it was stopped before the end of its plan.
    #[serde(rename = "stopped")]
    pub is_stopped: bool,
    /// What is wrong with it as a whole (`validity::problem`); `None` where nothing is.
    pub problem: Option<String>,
    /// What is too small to matter, as a fraction: the study's margin.
    #[serde(skip)]
    pub margin: f64,
    /// What can tell an odd machine from others of its kind: names and values of topology, model, microcode, kernel, ….
    #[serde(skip)]
    pub traits: Vec<(String, String)>,
    /// The ratios of its comparisons, of the study's headline: throughput, of a command its own.
    #[serde(skip)]
    pub ratios: Vec<FleetRatio>,
    /// Rates of its treatments; empty where the study has none.
    #[serde(skip)]
    pub rates: Vec<FleetRate>,
}

impl FleetStudy {
    /// What its result file says: ratios of its headline, rates of its treatments, traits of its machine. Where it ran
    /// in a fleet is for others to add. A comparison or treatment without a usable run has none.
    pub fn of(facts: &Facts<'_>) -> Self {
        let headline = facts.analysis.headline();
        let ratios = facts.analysis.estimates.iter().filter(|estimate| estimate.metric == headline);
        let ratios = ratios.map(|estimate| FleetRatio {
            name: estimate.name.clone(),
            kind: estimate.kind.clone(),
            ln_ratio: estimate.ratio.value.ln(),
            direction: estimate.ratio.direction,
        });
        let unit = kinds::of(facts.study).nouns(facts.study).rate;
        // Twins of a baseline are the baseline again.
        let once = facts.study.treatments.iter().filter(|treatment| treatment.role != Role::BaselineTwin);
        let rates = once.filter_map(|treatment| {
            let rate = facts.summary(&treatment.name)?.metrics.get(THROUGHPUT)?;
            Some(FleetRate { treatment: treatment.name.clone(), unit: unit.to_owned(), per_s: rate.mean })
        });
        Self {
            source: facts.source.to_owned(),
            is_simulated: facts.is_simulated(),
            is_stopped: facts.is_stopped,
            problem: validity::problem(facts.analysis),
            margin: facts.study.design.margin,
            traits: machine_traits(facts),
            ratios: ratios.filter(|ratio| ratio.ln_ratio.is_finite()).collect(),
            rates: rates.filter(|rate| rate.per_s > 0.0 && rate.per_s.is_finite()).collect(),
            ..Self::default()
        }
    }

    /// Adds traits from elsewhere whose name is not yet there, such as the microcode.
    pub fn add_traits(&mut self, elsewhere: Vec<(String, String)>) {
        for (name, value) in elsewhere {
            if self.traits.iter().all(|(known, _)| *known != name) {
                self.traits.push((name, value));
            }
        }
    }
}

/// The ratio of one comparison in one study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetRatio {
    /// Name of the comparison, the same in all studies that have it.
    pub name: String,
    /// Kind of the comparison (`threadwise_study::Comparison::kind`).
    pub kind: String,
    /// Natural logarithm of the study's ratio.
    pub ln_ratio: f64,
    /// Which side of 1 is better.
    pub direction: Direction,
}

/// The rate of one treatment in one study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetRate {
    /// Name of the treatment.
    pub treatment: String,
    /// What is counted by second, for a heading: `rows/s`.
    pub unit: String,
    /// How many a second.
    pub per_s: f64,
}

/// A planned study without a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Absent {
    /// Name of the machine's kind.
    pub kind: String,
    /// The machine's name for people; empty where it was to come from a pool.
    pub node: String,
    /// Number of the repeat, from 1 on.
    pub repeat: u32,
    /// Why in one word.
    pub reason: Absence,
    /// Why in one line, without a full stop; empty where no more is known.
    pub why: String,
}

/// Why a planned study has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absence {
    /// It never ran, or nothing of it was brought back.
    #[default]
    Missing,
    /// It ran and failed.
    Failed,
    /// The machine refused it, such as a busy one or one that was not its alone.
    Refused,
    /// It was stopped before it had a result.
    Stopped,
}

impl Absence {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 4] = [Self::Missing, Self::Failed, Self::Refused, Self::Stopped];

    /// Its word in a sentence: `3 failed`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
        }
    }
}

/// What a fleet shows.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Judged {
    /// Whether any study's figures come from a model.
    pub simulated: bool,
    /// Level of the intervals.
    pub level: f64,
    /// What is too small to matter, as a fraction: the largest margin of the studies.
    pub margin: f64,
    /// Kinds, in the fleet's order.
    pub kinds: Vec<Kind>,
    /// Comparisons: those of second threads first, then in the studies' order.
    pub comparisons: Vec<JudgedRow>,
    /// Rates: the fastest treatment of each kind first, then treatment by treatment; of studies of the same work alone.
    pub rates: Vec<JudgedRow>,
    /// Studies whose rates take no part, since their work is not that of most studies or is not known to be.
    pub studies_of_other_work: u32,
    /// Machines that are far from the others of their kind.
    pub odd_machines: Vec<OddMachine>,
    /// Traits in which machines of one kind differ.
    pub unlike: Vec<Unlike>,
    /// Planned studies without a result, by kind and reason.
    pub absent: Vec<Absent>,
    /// What a reader must know, one line each.
    pub cautions: Vec<String>,
}

/// What can be said of a kind from so many machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Nothing: no machine was measured.
    #[default]
    None,
    /// Nothing of other machines: one was measured.
    OneMachine,
    /// Two points, and no verdict.
    TwoMachines,
    /// Intervals: three machines or more.
    Intervals,
}

impl Basis {
    /// By the number of machines.
    pub fn of(machines: usize) -> Self {
        match machines {
            0 => Self::None,
            1 => Self::OneMachine,
            2 => Self::TwoMachines,
            _ => Self::Intervals,
        }
    }

    /// Why there is no interval; `None` where there is one.
    pub fn gap(self) -> Option<&'static str> {
        match self {
            Self::None => Some("not measured"),
            Self::OneMachine => Some("one machine says nothing of other machines of this kind"),
            Self::TwoMachines => Some("two machines are points without a verdict"),
            Self::Intervals => None,
        }
    }
}

/// A comparison, or a rate, on all kinds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JudgedRow {
    /// Name of the comparison; of a rate the treatment, empty for the fastest of each kind.
    pub name: String,
    /// Kind of the comparison (`threadwise_study::Comparison::kind`); empty of a rate.
    pub kind: String,
    /// `ratio`; of a rate what is counted by second: `rows/s`.
    pub unit: String,
    /// One per kind of machine, in their order.
    pub cells: Vec<OnKind>,
    /// Ratios between kinds that have intervals both.
    pub between: Vec<Between>,
    /// Ratios of rates per price, between kinds with prices in one currency.
    pub between_per_price: Vec<Between>,
}

/// A comparison, or a rate, on one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OnKind {
    /// Kind of machine.
    pub kind: String,
    /// The treatment of a rate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub treatment: String,
    /// The figure of each machine.
    pub machines: Vec<MachineValue>,
    /// The same study by study, in logarithms.
    #[serde(skip)]
    series: Series,
    /// The kind's ratio: geometric mean over machines, with Student's t over them; its `blocks` are machines. `None` with
    /// fewer than [`MIN_MACHINES`], and of a rate.
    #[serde(rename = "mean", skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// The kind's rate, likewise; without ends with fewer machines. `None` of a comparison.
    #[serde(rename = "mean", skip_serializing_if = "Option::is_none")]
    pub rate: Option<Interval>,
    /// What as many boots and repeats on the next machine of the kind will measure.
    pub next_machine: Option<Range>,
    /// Where the spread of a comparison comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// How many for one unit of the price's currency: the mean over an hour by the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_price: Option<Interval>,
    /// Why there is no mean, or no interval; `None` where there is one.
    pub reason: Option<String>,
}

/// A figure, in logarithms, on all machines of a kind that have it.
#[derive(Debug, Clone, PartialEq, Default)]
struct Series {
    /// Names of the machines.
    nodes: Vec<String>,
    /// Logarithms by machine and boot.
    values: Vec<Vec<Vec<f64>>>,
}

/// What one machine says.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MachineValue {
    /// The machine's name for people.
    pub node: String,
    /// Boots that have the figure.
    pub boots: u32,
    /// Studies that have it.
    pub studies: u32,
    /// The figure: the geometric mean over boots of the geometric mean of each boot's studies.
    pub value: f64,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Where the spread of a comparison on a kind comes from, and what would narrow its interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Spread {
    /// Standard deviations of the logarithm by level, the method of moments; what cannot be told apart is one of them.
    pub components: Vec<LevelSd>,
    /// What share of the variance of a machine's mean is the machine's own and not that of its boots and repeats, with two
    /// one-sided bounds at the level of the intervals; `None` where nothing was repeated on any machine.
    pub own_share: Option<Range>,
    /// Half-width of the mean's interval as a fraction, and what it would be, as far as components tell.
    pub half_width: f64,
    /// The same with twice as many machines.
    pub with_twice_the_machines: f64,
    /// With twice as many boots on each machine; `None` where the components do not tell.
    pub with_twice_the_boots: Option<f64>,
    /// With twice as many repeats in each boot; `None` where the components do not tell.
    pub with_twice_the_repeats: Option<f64>,
    /// Machines that would bring the half-width down to the margin; `None` where it is there, and with fewer than
    /// [`RECOMMENDED_MACHINES`], which do not tell.
    pub machines_for_margin: Option<Needed>,
}

/// A standard deviation by level.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LevelSd {
    /// Levels that it is of: `machine`, `boot`, `repeat`; several that cannot be told apart.
    pub levels: Vec<&'static str>,
    /// Standard deviation of the logarithm.
    pub sd: f64,
}

/// A number of machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Needed {
    /// From the spread as it was measured.
    pub about: u32,
    /// From the lower end of the interval of the spread.
    pub least: u32,
    /// From its upper end.
    pub most: u32,
}

/// One kind over another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Between {
    /// The kind on top.
    pub kind: String,
    /// The kind below.
    pub other: String,
    /// The ratio of their means, Welch's t over machines, adjusted for its family; its `blocks` are the machines of both.
    pub ratio: Ratio,
}

/// A machine that is far from the others of its kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OddMachine {
    /// Its kind.
    pub kind: String,
    /// Its name for people.
    pub node: String,
    /// What it is far from the others in: the name of a comparison; empty for the rate over all treatments.
    pub comparison: String,
    /// Its figure over the mean of the others'.
    pub over_others: f64,
    /// p adjusted for all machines and all that was looked at.
    pub adjusted_p: f64,
    /// In what else it differs from the others: name, its value, that of most others.
    pub differs_in: Vec<DiffersIn>,
}

/// A trait that sets a machine apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DiffersIn {
    /// Name of the trait.
    pub name: String,
    /// The machine's value.
    pub value: String,
    /// The value of most of the other machines.
    pub others: String,
}

/// A trait in which the machines of a kind differ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Unlike {
    /// Their kind.
    pub kind: String,
    /// Name of the trait.
    pub name: String,
    /// Its values, each with the machines that have it; the most frequent first.
    pub values: Vec<UnlikeValue>,
}

/// A value with its machines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct UnlikeValue {
    /// The value.
    pub value: String,
    /// Names of the machines.
    pub nodes: Vec<String>,
}
