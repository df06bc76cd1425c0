//! Quantities of commands, and the report of them.

use crate::estimate::Fastest;
use crate::groups::distinct;
use crate::{Direction, Interval, NoiseFloor};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_study::command::{self, Better};

/// Metric name of the elapsed time.
pub const ELAPSED: &str = "elapsed_ns";
/// Metric name of the CPU time of one run of the command, including a server that is bound with it.
pub const CPU: &str = "cpu_ns_per_row";
/// Metric name of that CPU time per unit of work, if the output reports a rate.
pub const CPU_PER_UNIT: &str = "cpu_ns_per_unit";
/// Metric name of the CPU time of all its runs in a treatment together.
pub const CPU_TOTAL: &str = "cpu_ns";
/// Metric name of CPU time over elapsed time: how many logical CPUs were kept busy.
pub const BUSY_CPUS: &str = "busy_cpus";
/// Metric name of the largest memory seen of the processes of a run together.
pub const MEMORY: &str = command::PEAK_RSS_BYTES;
/// Prefix of metric names that the output reports.
pub const SAID: &str = "metric/";
/// Metric name of the share of time in which a work list's jobs had nothing left to do.
pub const IDLE_SHARE: &str = "metric/idle_share";

/// A study of commands at one look. `None` in [`crate::Analysis::commands`] if the workload is another.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Commands {
    /// The command, as given; of several the first.
    pub command: String,
    /// Whether treatments run different commands.
    pub differs: bool,
    /// Whether every session is a process of its own.
    #[serde(rename = "process_per_session")]
    pub is_per_session: bool,
    /// Whether a server is bound with the command, whose CPU time counts with the command's.
    #[serde(skip)]
    pub has_server: bool,
    /// That the command takes the same time in every treatment, so that its duration, the headline, says nothing of
    /// them; `None` if it does not, or if the headline is another.
    pub fixed_time: Option<FixedTime>,
    /// All quantities, the headline first.
    pub quantities: Vec<Quantity>,
    /// One per group, in the order of groups.
    pub baselines: Vec<Baseline>,
    /// Which treatments may be the best in the headline, one per group of three or more including the baseline; none if
    /// neither side is better.
    pub fastest: Vec<Fastest>,
    /// A/A intervals of every quantity, group by group.
    #[serde(rename = "noise_floors")]
    pub floors: Vec<NoiseFloor>,
    /// Comparisons without a ratio.
    pub gaps: Vec<Gap>,
    /// Logical CPUs of each treatment, where known, in study order.
    #[serde(skip)]
    pub cpus: Vec<Option<u32>>,
}

/// A command that takes the same time in every treatment.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct FixedTime {
    /// The median duration over all treatments, nanoseconds.
    pub elapsed_ns: f64,
    /// Largest difference between median durations of treatments, as a share.
    pub spread_share: f64,
}

/// The baseline and its twin of a group together.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Baseline {
    /// Group.
    pub group: String,
    /// By metric name.
    pub metrics: BTreeMap<String, Interval>,
}

/// Something that every run has one number of.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Quantity {
    /// Metric name in estimates and summaries: [`ELAPSED`], [`CPU`], [`MEMORY`] or `metric/NAME`.
    pub metric: String,
    /// Name in words.
    pub name: String,
    /// Unit of the values: `ns`, `bytes`, `1/s`, or the metric's own.
    pub unit: String,
    /// What is better.
    #[serde(rename = "direction")]
    pub better: Better,
    /// Whether it was read from the command's output.
    #[serde(rename = "from_output")]
    pub is_said: bool,
}

impl Quantity {
    /// One that is measured of every command.
    pub(super) fn own(metric: &str, name: impl Into<String>, unit: &str, better: Better) -> Self {
        let (metric, name, unit) = (metric.to_owned(), name.into(), unit.to_owned());
        Self { metric, name, unit, better, is_said: false }
    }
}

/// Why there is no ratio.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Gap {
    /// Comparison name.
    #[serde(rename = "name")]
    pub comparison: String,
    /// Treatment on top.
    pub treatment: String,
    /// Metric name.
    pub metric: String,
    /// The reason, such as `0 in block 3 of A`.
    pub reason: String,
}

impl Commands {
    /// The quantity of the study's question.
    pub fn headline(&self) -> Option<&Quantity> {
        self.quantities.first()
    }

    /// A quantity by its metric name.
    pub fn quantity(&self, metric: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.metric == metric)
    }

    /// The CPU time that is compared: per run, or per unit of its work; `None` if only busy CPUs are.
    pub fn cpu(&self) -> Option<&Quantity> {
        self.quantity(CPU).or_else(|| self.quantity(CPU_PER_UNIT))
    }

    /// The baseline and its twin of a group together.
    pub fn baseline(&self, group: &str, metric: &str) -> Option<&Interval> {
        self.baselines.iter().find(|baseline| baseline.group == group)?.metrics.get(metric)
    }

    /// Quantities without a ratio and why, one per line: `errors (0 in block 3 of A, and not reported by runs of both
    /// sides)`. Of reasons of one kind, which differ by block and treatment, the first is reported.
    pub fn gap_lines(&self) -> Vec<String> {
        // Durations that are not judged have a sentence of their own.
        let is_told = |quantity: &&Quantity| self.fixed_time.is_some() && quantity.metric == ELAPSED;
        let lines = self.quantities.iter().filter(|quantity| !is_told(quantity)).filter_map(|quantity| {
            let gaps = self.gaps.iter().filter(|gap| gap.metric == quantity.metric);
            let reasons = distinct(gaps.map(|gap| gap.reason.as_str()));
            let (first, rest) = reasons.split_first()?;
            // A number that was reported is of another kind than one that was not.
            let is_other = |reason: &&&str| (**reason == NOT_REPORTED) != (*first == NOT_REPORTED);
            let other = rest.iter().find(is_other).or(rest.first());
            let other = other.map_or_else(String::new, |reason| format!(", and {reason}"));
            let more = rest.len().saturating_sub(1);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            Some(format!("{} ({first}{other}{more})", quantity.name))
        });
        lines.collect()
    }

    /// Why a treatment has no ratio of a quantity to its baseline.
    pub fn gap(&self, comparison: &str, metric: &str) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.comparison == comparison && gap.metric == metric)
    }
}

/// Reason: runs of one side or both did not report the number.
pub(super) const NOT_REPORTED: &str = "not reported by runs of both sides";

/// The direction of what is better.
pub fn direction(better: Better) -> Direction {
    match better {
        Better::Higher => Direction::HigherIsBetter,
        Better::Lower => Direction::LowerIsBetter,
        Better::None => Direction::Neither,
    }
}
