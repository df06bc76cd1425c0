//! What a fleet's report is made from: the studies of many machines, what is absent, and prices that a user gave.

use crate::Direction;
use serde::Serialize;

/// A fleet's studies and what is absent: all that its report is made from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fleet {
    /// Heading of the report; empty for the study's name.
    pub title: String,
    /// Name of the study that every machine ran.
    pub study: String,
    /// Kinds of machines, in the order of the report's columns.
    pub kinds: Vec<Kind>,
    /// Repeats that were planned on each machine; 0 where nothing was planned.
    pub repeats: u32,
    /// Studies that were measured, in any order.
    pub studies: Vec<FleetStudy>,
    /// Planned studies without a result.
    pub absent: Vec<Absent>,
    /// What a reader must know, one line each without a full stop, such as machines that cannot be told apart.
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
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FleetStudy {
    /// Name of its result file.
    pub source: String,
    /// Name of the machine's kind ([`Kind::name`]).
    pub kind: String,
    /// What tells the machine from all others, such as a hash of its machine id. It is shown nowhere.
    pub machine: String,
    /// The machine's name for people.
    pub node: String,
    /// What tells the boot from all others of the machine.
    pub boot: String,
    /// Number of the repeat, from 1 on.
    pub repeat: u32,
    /// What tells its work from other work: a hash of plan, engine version and data. Absolute rates are compared
    /// among studies that agree in it; empty where it is not known.
    pub same_work: String,
    /// Whether a model gave the figures.
    pub is_simulated: bool,
    /// Whether it was stopped before the end of its plan.
    pub is_stopped: bool,
    /// What is wrong with it as a whole (`validity::problem`); `None` where nothing is.
    pub problem: Option<String>,
    /// What is too small to matter, as a fraction: the study's margin.
    pub margin: f64,
    /// Confidence level of the study's design.
    pub level: f64,
    /// What can tell an odd machine from others of its kind: names and values of topology, model, microcode, kernel, ….
    pub traits: Vec<(String, String)>,
    /// The ratios of its comparisons, of the study's headline: throughput, of a command its own.
    pub ratios: Vec<FleetRatio>,
    /// Rates of its treatments; empty where the study has none.
    pub rates: Vec<FleetRate>,
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
#[derive(Debug, Clone, PartialEq, Default)]
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
