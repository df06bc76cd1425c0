//! Fleets: the same study on many machines, of one kind or several, over boots and repeats, with the machine as the
//! statistical unit.
//!
//! Studies of one machine share the machine, so an interval over all of them says nothing about the next machine
//! (Kalibera, Jones, ISMM 2013: intervals are made at the highest level of repetition). A machine is one number: the
//! mean over its boots of the mean of each boot's studies. Sources: docs/METHODOLOGY.md, "Fleets".
//!
//! This module has the input, study by study, and the output.

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

use crate::compare::aspects::{machine_traits, once};
use crate::diagnostics::neighbours::{LEFT, NEIGHBOURS, WHOLE};
use crate::estimate::THROUGHPUT;
use crate::{Direction, Facts, Interval, Ratio, validity};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_study::ComparisonKind;

/// Confidence level of all intervals of a fleet.
pub const LEVEL: f64 = 0.95;

/// Fewest machines of a kind for an interval.
pub const MIN_MACHINES: usize = 3;

/// Recommended machines of a kind: with fewer, the spread between machines is poorly known.
pub const RECOMMENDED_MACHINES: usize = 5;

/// A fleet's studies and absent studies: the input of its report.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Fleet {
    /// Heading of the report; empty for the study's name.
    pub title: String,
    /// Name of the study that every machine ran.
    pub study: String,
    /// Kinds of machines, in the order of the report's columns.
    #[serde(skip)]
    pub kinds: Vec<Kind>,
    /// Planned repeats on each machine; 0 without a plan.
    pub repeats: u32,
    /// Measured studies, in any order.
    pub studies: Vec<FleetStudy>,
    /// Planned studies without a result.
    #[serde(skip)]
    pub absent: Vec<Absent>,
    /// Cautions for the reader, one per line without a full stop, such as machines that cannot be distinguished.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// A kind of machine, such as an instance type.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Kind {
    /// Its name, unique in the fleet.
    pub name: String,
    /// Price of one such machine per hour; `None` if the user gave none.
    pub price: Option<Price>,
    /// Planned machines; 0 without a plan.
    pub machines_planned: u32,
    /// Machines with a study. This and the following fields are counted when the fleet is judged.
    pub machines: u32,
    /// Their boots.
    pub boots: u32,
    /// Their studies.
    pub studies: u32,
    /// Whether all its machines have as many boots, and all boots as many studies.
    pub balanced: bool,
    /// What its number of machines allows to say.
    pub basis: Basis,
}

/// The price of an hour of one machine, as the user gave it. This program knows no prices.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct FleetStudy {
    /// Name of its result file.
    pub source: String,
    /// Name of the machine's kind ([`Kind::name`]).
    pub kind: String,
    /// Identifies the machine, such as a hash of its machine id. It is not shown.
    #[serde(skip)]
    pub machine: String,
    /// The machine's displayed name.
    pub node: String,
    /// Identifies the boot among those of the machine.
    pub boot: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Identifies its work: a hash of plan, engine version and data. Absolute rates are compared among studies with
    /// equal work; empty if unknown.
    #[serde(skip)]
    pub same_work: String,
    /// Whether a model gave the figures.
    #[serde(rename = "simulated")]
    pub is_simulated: bool,
    /// Whether it was stopped before the end of its plan.
    #[serde(rename = "stopped")]
    pub is_stopped: bool,
    /// What is wrong with it as a whole (`validity::problem`); `None` if nothing is.
    pub problem: Option<String>,
    /// The study's margin, as a fraction.
    #[serde(skip)]
    pub margin: f64,
    /// Traits that may explain an odd machine: names and values of topology, model, microcode, kernel, ….
    #[serde(skip)]
    pub traits: Vec<(String, String)>,
    /// The ratios of its comparisons in the study's headline: throughput, or that of a command.
    #[serde(skip)]
    pub ratios: Vec<FleetFigure>,
    /// Rates of its treatments, per second; empty if the study has none.
    #[serde(skip)]
    pub rates: Vec<FleetFigure>,
}

impl FleetStudy {
    /// Contents of its result file: ratios of its headline, rates of its treatments, traits of its machine, without its
    /// place in a fleet. A comparison or treatment without a usable run is left out.
    pub fn of(facts: &Facts<'_>) -> Self {
        let headline = facts.analysis.headline();
        let ratios = facts.analysis.estimates.iter().filter(|estimate| estimate.metric == headline);
        let ratios = ratios.map(|one| FleetFigure::of(&one.name, &one.kind, &one.ratio));
        let unit = facts.study.nouns().rate;
        let rates = once(facts.study).filter_map(|treatment| {
            let rate = facts.summary(&treatment.name)?.metrics.get(THROUGHPUT)?;
            let (name, unit) = (treatment.name.clone(), unit.to_owned());
            Some(FleetFigure { name, unit, ln: rate.mean.ln(), ..FleetFigure::default() })
        });
        Self {
            source: facts.source.to_owned(),
            is_simulated: facts.is_simulated(),
            is_stopped: facts.is_stopped,
            problem: validity::problem(facts.analysis),
            margin: facts.study.design.margin,
            traits: machine_traits(facts),
            ratios: ratios.chain(neighbours(facts)).filter(|ratio| ratio.ln.is_finite()).collect(),
            rates: rates.filter(|rate| rate.ln.is_finite()).collect(),
            ..Self::default()
        }
    }

    /// Adds traits from elsewhere, such as the microcode, unless their name is present.
    pub fn add_traits(&mut self, elsewhere: Vec<(String, String)>) {
        for (name, value) in elsewhere {
            if self.traits.iter().all(|(known, _)| *known != name) {
                self.traits.push((name, value));
            }
        }
    }
}

/// What neighbours leave of a session's rate and of the machine, whether or not a study alone claims it.
fn neighbours(facts: &Facts<'_>) -> impl Iterator<Item = FleetFigure> {
    let found = facts.analysis.found(NEIGHBOURS.name).into_iter().flat_map(|found| &found.estimates);
    found.filter(|one| [LEFT, WHOLE].contains(&one.name.as_str())).map(|one| {
        let name = format!("{} {}", one.name, facts.group_words(&one.treatment));
        FleetFigure::of(name.trim_end(), &one.kind, &one.ratio)
    })
}

/// A figure of one study: the ratio of a comparison, or the rate of a treatment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetFigure {
    /// Name of the comparison or treatment, the same in all studies that have it.
    pub name: String,
    /// Kind of the comparison (`threadwise_study::Comparison::kind`); empty for a rate.
    pub kind: ComparisonKind,
    /// What a rate counts per second, for a heading: `rows/s`; empty for a ratio.
    pub unit: String,
    /// Its natural logarithm.
    pub ln: f64,
    /// Which side of 1 is better.
    pub direction: Direction,
}

impl FleetFigure {
    fn of(name: &str, kind: &ComparisonKind, ratio: &Ratio) -> Self {
        let (name, kind) = (name.to_owned(), kind.clone());
        Self { name, kind, ln: ratio.value.ln(), direction: ratio.direction, ..Self::default() }
    }
}

/// A planned study without a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct Absent {
    /// Name of the machine's kind.
    pub kind: String,
    /// The machine's displayed name; empty if it was to come from a pool.
    pub node: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Why, in one word.
    pub reason: Absence,
    /// Why, in one line without a full stop; empty if unknown.
    pub why: String,
}

/// Why a planned study has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absence {
    /// It never ran, or none of its results came back.
    #[default]
    Missing,
    /// It ran and failed.
    Failed,
    /// The machine refused it, for instance because it was busy or not exclusive.
    Refused,
    /// It was stopped before it had a result.
    Stopped,
}

impl Absence {
    /// All reasons, in the order of a report.
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

/// Results of a fleet.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Judged {
    /// Whether any study's figures come from a model.
    pub simulated: bool,
    /// Level of the intervals.
    pub level: f64,
    /// Margin, as a fraction: the largest of the studies.
    pub margin: f64,
    /// Kinds, in the fleet's order.
    pub kinds: Vec<Kind>,
    /// Comparisons: those of second threads first, then in the studies' order.
    pub comparisons: Vec<JudgedRow>,
    /// Rates: the fastest treatment of each kind first, then treatment by treatment; only from studies of the same
    /// work.
    pub rates: Vec<JudgedRow>,
    /// Studies left out of rates, since their work differs from that of most studies or is unknown.
    pub studies_of_other_work: u32,
    /// Machines that are far from the others of their kind.
    pub odd_machines: Vec<OddMachine>,
    /// Traits in which machines of one kind differ.
    pub unlike: Vec<Unlike>,
    /// Planned studies without a result, by kind and reason.
    pub absent: Vec<Absent>,
    /// Cautions for the reader, one per line.
    pub cautions: Vec<String>,
}

/// What a number of machines allows to say about a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Nothing: no machine was measured.
    #[default]
    None,
    /// Nothing about other machines: one was measured.
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

    /// Why there is no interval; `None` if there is one.
    pub fn gap(self) -> Option<&'static str> {
        match self {
            Self::None => Some("not measured"),
            Self::OneMachine => Some("one machine says nothing about other machines of this kind"),
            Self::TwoMachines => Some("two machines are points without a verdict"),
            Self::Intervals => None,
        }
    }
}

/// A comparison, or a rate, on all kinds.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct JudgedRow {
    /// Name of the comparison, or treatment of a rate; empty for the fastest of each kind.
    pub name: String,
    /// Kind of the comparison (`threadwise_study::Comparison::kind`); empty for a rate.
    #[schemars(with = "String")]
    pub kind: ComparisonKind,
    /// `ratio`, or for a rate what is counted per second: `rows/s`.
    pub unit: String,
    /// One per kind of machine, in their order.
    pub cells: Vec<OnKind>,
    /// Ratios between kinds that both have intervals.
    pub between: Vec<Between>,
    /// Ratios of rates per price, between kinds with prices in one currency.
    pub between_per_price: Vec<Between>,
}

/// A comparison, or a rate, on one kind.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct OnKind {
    /// Kind of machine.
    pub kind: String,
    /// The treatment of a rate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub treatment: String,
    /// The figure of each machine.
    pub machines: Vec<MachineValue>,
    /// The figure study by study, in logarithms.
    #[serde(skip)]
    series: Series,
    /// The kind's ratio: geometric mean over machines, with Student's t over them; its `blocks` are machines. `None`
    /// with fewer than [`MIN_MACHINES`], and for a rate.
    #[serde(rename = "mean", skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// The kind's rate, likewise; without ends with fewer machines. `None` for a comparison.
    #[serde(rename = "mean", skip_serializing_if = "Option::is_none")]
    pub rate: Option<Interval>,
    /// Prediction for as many boots and repeats on the next machine of the kind.
    pub next_machine: Option<Range>,
    /// Sources of the spread of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Count per unit of the price's currency: the mean over an hour, divided by the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_price: Option<Interval>,
    /// Why there is no mean, or no interval; `None` if there is one.
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

/// Figure of one machine.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct MachineValue {
    /// The machine's displayed name.
    pub node: String,
    /// Boots that have the figure.
    pub boots: u32,
    /// Studies that have it.
    pub studies: u32,
    /// The figure: the geometric mean over boots of the geometric mean of each boot's studies.
    pub value: f64,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Sources of the spread of a comparison on a kind, and what would narrow its interval.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Spread {
    /// Standard deviations of the logarithm by level, by the method of moments; levels that cannot be separated are
    /// one.
    pub components: Vec<LevelSd>,
    /// Share of the variance of a machine's mean that is the machine's own rather than that of its boots and repeats,
    /// with two one-sided bounds at the level of the intervals; `None` if nothing was repeated on any machine.
    pub own_share: Option<Range>,
    /// Half-width of the mean's interval as a fraction.
    pub half_width: f64,
    /// Expected half-width with twice as many machines.
    pub with_twice_the_machines: f64,
    /// With twice as many boots on each machine; `None` if the components do not show it.
    pub with_twice_the_boots: Option<f64>,
    /// With twice as many repeats in each boot; `None` if the components do not show it.
    pub with_twice_the_repeats: Option<f64>,
    /// Machines that would bring the half-width down to the margin; `None` if it is there already, and with fewer than
    /// [`RECOMMENDED_MACHINES`], which are too few to estimate it.
    pub machines_for_margin: Option<Needed>,
}

/// A standard deviation by level.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct LevelSd {
    /// Its levels: `machine`, `boot`, `repeat`; several if they cannot be separated.
    pub levels: Vec<&'static str>,
    /// Standard deviation of the logarithm.
    pub sd: f64,
}

/// An estimated number of machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct Needed {
    /// From the measured spread.
    pub about: u32,
    /// From the lower end of the interval of the spread.
    pub least: u32,
    /// From its upper end.
    pub most: u32,
}

/// One kind over another.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Between {
    /// The kind on top.
    pub kind: String,
    /// The kind below.
    pub other: String,
    /// The ratio of their means, Welch's t over machines, adjusted for its family; its `blocks` are the machines of both.
    pub ratio: Ratio,
}

/// A machine that is far from the others of its kind.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct OddMachine {
    /// Its kind.
    pub kind: String,
    /// Its displayed name.
    pub node: String,
    /// Comparison in which it is far from the others; empty for the rate over all treatments.
    pub comparison: String,
    /// Its figure over the mean of the others'.
    pub over_others: f64,
    /// p adjusted for all machines and all figures examined.
    pub adjusted_p: f64,
    /// Other traits in which it differs: name, its value, that of most others.
    pub differs_in: Vec<DiffersIn>,
}

/// A trait that distinguishes a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct DiffersIn {
    /// Name of the trait.
    pub name: String,
    /// The machine's value.
    pub value: String,
    /// The value of most of the other machines.
    pub others: String,
}

/// A trait in which the machines of a kind differ.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct Unlike {
    /// Their kind.
    pub kind: String,
    /// Name of the trait.
    pub name: String,
    /// Its values, each with the machines that have it; the most frequent first.
    pub values: Vec<UnlikeValue>,
}

/// A value with its machines.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct UnlikeValue {
    /// The value.
    pub value: String,
    /// Names of the machines.
    pub nodes: Vec<String>,
}
