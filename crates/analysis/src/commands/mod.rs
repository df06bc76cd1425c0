//! What whole commands took and what their output said: elapsed time, CPU, memory, metrics. Pure.
//!
//! A run of a command is a slice of its own, so a block has one number for each of them and treatment,
//! and d of a block is the logarithm of the treatment's number less the mean logarithm of the
//! baseline's two, as everywhere. The headline is the study's question and a family of its own for
//! Holm's procedure; all other quantities with all their comparisons are one more family, since a
//! reader looks through all of them for what stands out. docs/METHODOLOGY.md.

mod cpu;
mod figures;
mod ratios;

#[cfg(test)]
mod tests;

pub use figures::elapsed_ns;

use crate::estimate::Observed;
use crate::setting::Setting;
use crate::{Analysis, Direction, Interval, NoiseFloor};
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_study::command::{self, Better, Each, MetricSpec};
use threadwise_study::{OptionValue, Role, Run, Study, worklist};

/// Metric name of the elapsed time.
pub const ELAPSED: &str = "elapsed_ns";
/// Metric name of the CPU time of one run of the command, with that of a server that is bound with it.
pub const CPU: &str = "cpu_ns_per_row";
/// Metric name of that CPU time over the work that the output tells, of which it tells a rate.
pub const CPU_PER_UNIT: &str = "cpu_ns_per_unit";
/// Metric name of the CPU time of all its runs in a treatment together.
pub const CPU_TOTAL: &str = "cpu_ns";
/// Metric name of CPU time over elapsed time: how many logical CPUs were kept busy.
pub const BUSY_CPUS: &str = "busy_cpus";
/// Metric name of the most memory that the processes of a run had together, as far as it was seen.
pub const MEMORY: &str = command::PEAK_RSS_BYTES;
/// Metric names of what the output said begin with this.
pub const SAID: &str = "metric/";

/// A study of commands at one look. `None` in [`Analysis::commands`] where the workload is another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Commands {
    /// The command, as its words were given; of several the first.
    pub command: String,
    /// Whether treatments run different commands.
    pub differs: bool,
    /// Whether every session is a process of its own.
    #[serde(rename = "process_per_session")]
    pub is_per_session: bool,
    /// Whether a server is bound with the command, whose CPU time counts with the command's.
    #[serde(skip)]
    pub has_server: bool,
    /// Everything that is compared, the headline first.
    pub quantities: Vec<Quantity>,
    /// One per group, in the order of groups.
    pub baselines: Vec<Baseline>,
    /// A/A intervals of every quantity, group by group.
    #[serde(rename = "noise_floors")]
    pub floors: Vec<NoiseFloor>,
    /// Comparisons of which there is no ratio.
    pub gaps: Vec<Gap>,
    /// Logical CPUs of each treatment, as far as they are known, in study order.
    #[serde(skip)]
    pub cpus: Vec<Option<u32>>,
}

/// The baseline and its twin of a group together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// Group.
    pub group: String,
    /// By metric name.
    pub metrics: BTreeMap<String, Interval>,
}

/// Something that every run has one number of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Metric name in estimates and summaries: [`ELAPSED`], [`CPU`], [`MEMORY`] or `metric/NAME`.
    pub metric: String,
    /// Name for people.
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

/// Why there is no ratio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// What the study's question is about.
    pub fn headline(&self) -> Option<&Quantity> {
        self.quantities.first()
    }

    /// A quantity by its metric name.
    pub fn quantity(&self, metric: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.metric == metric)
    }

    /// The CPU time that is compared: of a run, or of a unit of its work; `None` where only busy CPUs are.
    pub fn cpu(&self) -> Option<&Quantity> {
        self.quantity(CPU).or_else(|| self.quantity(CPU_PER_UNIT))
    }

    /// The baseline and its twin of a group together.
    pub fn baseline(&self, group: &str, metric: &str) -> Option<&Interval> {
        self.baselines.iter().find(|baseline| baseline.group == group)?.metrics.get(metric)
    }

    /// What has no ratio and why, a line a quantity: `errors (0 in block 3 of A, and not reported by runs of
    /// both sides)`. Of reasons of one kind, which differ by block and treatment, the first is reported.
    pub fn gap_lines(&self) -> Vec<String> {
        let lines = self.quantities.iter().filter_map(|quantity| {
            let mut reasons: Vec<&str> = Vec::new();
            for gap in self.gaps.iter().filter(|gap| gap.metric == quantity.metric) {
                if !reasons.contains(&gap.reason.as_str()) {
                    reasons.push(&gap.reason);
                }
            }
            let (first, rest) = reasons.split_first()?;
            let mut text = (*first).to_owned();
            let other =
                rest.iter().find(|quantity| is_reported(quantity) != is_reported(first)).or(rest.first());
            text.extend(other.map(|name| format!(", and {name}")));
            text.extend((rest.len() > 1).then(|| format!(", and {} more", rest.len() - 1)));
            Some(format!("{} ({text})", quantity.name))
        });
        lines.collect()
    }

    /// Why a treatment has no ratio of a quantity to its baseline.
    pub fn gap(&self, comparison: &str, metric: &str) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.comparison == comparison && gap.metric == metric)
    }
}

/// Whether a reason for no ratio is a number that was reported, rather than one that was not.
fn is_reported(reason: &str) -> bool {
    reason != ratios::NOT_REPORTED
}

/// The direction of what is better.
pub fn direction(better: Better) -> Direction {
    match better {
        Better::Higher => Direction::HigherIsBetter,
        Better::Lower => Direction::LowerIsBetter,
        Better::None => Direction::Neither,
    }
}

/// Puts what commands say into an analysis, in the place of the estimates that other workloads have.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    if !study.runs_whole() {
        return;
    }
    let rate = cpu::rate(study);
    let table = figures::Table::new(study, observed, runs, rate.as_ref());
    let (command, differs) = words(study);
    let is_per_session = is_per_session(study);
    let cpu = cpu::quantity(study, &table, rate.as_ref());
    let quantities = quantities(study, is_per_session, cpu);
    let (estimates, floors, gaps) =
        ratios::ratios(setting, &table, &quantities, &analysis.covariates.flagged_blocks);
    analysis.estimates = estimates;
    let headline = quantities.first().map(|first| first.metric.as_str());
    analysis.noise_floors =
        floors.iter().filter(|floor| headline == Some(floor.metric.as_str())).cloned().collect();
    for (at, summary) in analysis.treatments.iter_mut().enumerate() {
        // That of the command alone, where the server's is not known.
        summary.metrics.remove(CPU);
        summary.metrics.extend(table.summary(&[at], setting.alpha));
    }
    let groups = observed.groups.iter().enumerate();
    analysis.commands = Some(Commands {
        command,
        differs,
        is_per_session,
        has_server: study.treatments.iter().any(cpu::has_server),
        baselines: groups
            .map(|(group, name)| Baseline {
                group: name.clone(),
                metrics: table.summary(&table.baselines(group), setting.alpha),
            })
            .collect(),
        cpus: (0..study.treatments.len()).map(|at| table.cpus(at)).collect(),
        quantities,
        floors,
        gaps,
    });
}

/// The first command, and whether there are others.
fn words(study: &Study) -> (String, bool) {
    let mut all: Vec<String> = study
        .treatments
        .iter()
        .filter_map(|treatment| treatment.options.get("command"))
        .map(OptionValue::to_string)
        .collect();
    all.dedup();
    let differs = all.len() > 1;
    (all.into_iter().next().unwrap_or_default(), differs)
}

fn is_per_session(study: &Study) -> bool {
    study.treatments.iter().any(|treatment| command::each(&treatment.options) == Each::Session)
}

/// Everything that is compared: the headline, elapsed time, runs per second where several processes
/// run side by side (elsewhere they are the inverse of elapsed), metrics, CPU ([`cpu`]), memory.
fn quantities(study: &Study, is_per_session: bool, cpu: Quantity) -> Vec<Quantity> {
    let quantity = |metric: &str, name: &str, unit: &str, better: Better| Quantity {
        metric: metric.to_owned(),
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        is_said: false,
    };
    let mut all = vec![quantity(ELAPSED, "elapsed", "ns", Better::Lower)];
    all.extend(
        is_per_session
            .then(|| quantity(crate::estimate::THROUGHPUT, "runs per second", "1/s", Better::Higher)),
    );
    for spec in specs(study) {
        let known = all.iter().any(|quantity| quantity.is_said && quantity.name == spec.name);
        if !known {
            all.push(Quantity {
                metric: format!("{SAID}{}", spec.name),
                name: spec.name,
                unit: spec.unit,
                better: spec.better,
                is_said: true,
            });
        }
    }
    all.push(cpu);
    all.push(quantity(MEMORY, "peak memory", "bytes", Better::Lower));
    let asked = study.treatments.iter().find_map(|treatment| treatment.options.get("headline"));
    let asked = asked.map(OptionValue::to_string).unwrap_or_default();
    let asked = asked.strip_prefix(SAID).unwrap_or(&asked);
    if is_never_idle(study) {
        all.retain(|quantity| quantity.metric != crate::worklist::IDLE_SHARE || quantity.name == asked);
    }
    if let Some(at) = all.iter().position(|quantity| quantity.is_said && quantity.name == asked) {
        let headline = all.remove(at);
        all.insert(0, headline);
    }
    all
}

/// Whether the baseline is one job of a work list: it has nothing left to do only when the list is done, so
/// that its idle share is 0, and no ratio is over that.
fn is_never_idle(study: &Study) -> bool {
    let is_one =
        |treatment: &threadwise_study::Treatment| treatment.role == Role::Baseline && treatment.sessions == 1;
    study.workload == worklist::WORKLOAD && study.treatments.iter().any(is_one)
}

/// Metrics of all treatments, which mostly have the same.
fn specs(study: &Study) -> impl Iterator<Item = MetricSpec> {
    study.treatments.iter().flat_map(|treatment| command::metrics(&treatment.options))
}
