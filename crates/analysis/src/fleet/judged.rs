//! What a fleet shows, as numbers: for JSON, and for the document.

use super::types::{Absence, Price};
use crate::{Interval, Ratio};
use serde::Serialize;

/// Confidence level of all intervals of a fleet.
pub const LEVEL: f64 = 0.95;

/// Fewest machines of a kind that have intervals.
pub const MIN_MACHINES: usize = 3;

/// Machines of a kind that are recommended: with fewer the spread between machines is known badly.
pub const RECOMMENDED_MACHINES: usize = 5;

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
    pub kinds: Vec<JudgedKind>,
    /// Comparisons: those of second threads first, then in the studies' order.
    pub comparisons: Vec<JudgedComparison>,
    /// Rates: the fastest treatment of each kind first, then treatment by treatment; of studies of the same work alone.
    pub rates: Vec<JudgedRate>,
    /// Studies whose rates take no part, since their work is not that of most studies or is not known to be.
    pub studies_of_other_work: u32,
    /// Machines that are far from the others of their kind.
    pub odd_machines: Vec<OddMachine>,
    /// Traits in which machines of one kind differ.
    pub unlike: Vec<Unlike>,
    /// Planned studies without a result, by kind and reason.
    pub absent: Vec<AbsentCells>,
    /// What a reader must know, one line each.
    pub cautions: Vec<String>,
}

/// A kind of machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JudgedKind {
    /// Name.
    pub name: String,
    /// Price, where the user gave one.
    pub price: Option<Price>,
    /// Machines that were planned; 0 where nothing was.
    pub machines_planned: u32,
    /// Machines with a study.
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

/// One comparison on all kinds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JudgedComparison {
    /// Its name.
    pub name: String,
    /// Its kind (`threadwise_study::Comparison::kind`).
    pub kind: String,
    /// One per kind of machine, in their order.
    pub cells: Vec<KindRatio>,
    /// Ratios between kinds that have intervals both.
    pub between: Vec<Between>,
}

/// A comparison on one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct KindRatio {
    /// Kind of machine.
    pub kind: String,
    /// The ratio of each machine.
    pub machines: Vec<MachineValue>,
    /// The kind's mean: geometric over machines, with Student's t over them; its `blocks` are machines. `None` with fewer
    /// than [`MIN_MACHINES`].
    #[serde(serialize_with = "Ratio::adjusted")]
    pub mean: Option<Ratio>,
    /// What as many boots and repeats on the next machine of the kind will measure.
    pub next_machine: Option<Range>,
    /// Where the spread comes from.
    pub spread: Option<Spread>,
    /// Why there is no mean; `None` where there is one.
    pub reason: Option<String>,
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
    #[serde(serialize_with = "adjusted")]
    pub ratio: Ratio,
}

fn adjusted<S: serde::Serializer>(ratio: &Ratio, to: S) -> Result<S::Ok, S::Error> {
    Ratio::adjusted(ratio, to)
}

/// A rate on all kinds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JudgedRate {
    /// Treatment; empty for the fastest of each kind.
    pub treatment: String,
    /// What is counted by second: `rows/s`.
    pub unit: String,
    /// One per kind of machine, in their order.
    pub cells: Vec<KindRate>,
    /// Ratios of rates between kinds that have intervals both.
    pub between: Vec<Between>,
    /// Ratios of rates per price, between kinds with prices in one currency.
    pub between_per_price: Vec<Between>,
}

impl JudgedRate {
    /// Whether it is that of the fastest treatment of each kind.
    pub fn is_fastest(&self) -> bool {
        self.treatment.is_empty()
    }
}

/// A rate on one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct KindRate {
    /// Kind of machine.
    pub kind: String,
    /// Treatment.
    pub treatment: String,
    /// The rate of each machine.
    pub machines: Vec<MachineValue>,
    /// The kind's mean: geometric over machines, with Student's t over them from [`MIN_MACHINES`] on, and without ends
    /// before.
    pub mean: Option<Interval>,
    /// What as many boots and repeats on the next machine of the kind will measure.
    pub next_machine: Option<Range>,
    /// How many for one unit of the price's currency: the mean over an hour by the price.
    pub per_price: Option<Interval>,
    /// Why there is no mean, or no interval; `None` where there is one.
    pub reason: Option<String>,
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

/// Planned studies of a kind without a result, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AbsentCells {
    /// Kind of machine.
    pub kind: String,
    /// Reason.
    pub reason: Absence,
    /// Which they are: machine and repeat, and why, as far as it is known.
    pub cells: Vec<AbsentCell>,
}

/// A planned study without a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AbsentCell {
    /// The machine's name for people; empty where it was to come from a pool.
    pub node: String,
    /// Number of the repeat.
    pub repeat: u32,
    /// Why, in one line; may be empty.
    pub why: String,
}
