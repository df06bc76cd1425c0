//! A resolved study: everything decided before the first measurement.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use threadwise_machine::placement::{self, Service};
use threadwise_machine::{Memory, Pin, Placement, Topology};

use crate::engine::{self, Properties, URL};
use crate::instance::CACHE;
use crate::tpch::Test;
use crate::workload::{Nouns, QUERIES_IN_TURN};
use crate::{Arm, ComparisonKind, External, Instance, Options, Quota, SmtWay, Workload, arm, tpch, warmup};

/// A study with its treatments resolved for one machine. Its serde form is what result files keep ([`crate::load::to_toml`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Short name, such as `placement`.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// Seed of every draw, shuffle and workload generator.
    #[serde(
        serialize_with = "crate::load::text::as_text",
        deserialize_with = "threadwise_machine::text::parsed"
    )]
    pub seed: u64,
    /// Engine name, as in `--engine NAME`.
    pub engine: String,
    /// Properties that the engine reported; `None` in studies stored by older versions.
    pub engine_properties: Option<Properties>,
    /// Options of the engine, the same for all treatments.
    pub engine_options: Options,
    /// What its sessions do.
    pub workload: Workload,
    /// Treatments in report order; each group's baseline first, its twin second.
    #[serde(rename = "treatment", default)]
    pub treatments: Vec<Treatment>,
    /// What is compared; every treatment against its group's baseline first.
    #[serde(rename = "comparison", default)]
    pub comparisons: Vec<Comparison>,
    /// Blocks, rounds, slices, stopping.
    pub design: Design,
    /// The CPU quota that its slices are sized for; `None` if it reaches none.
    pub quota: Option<Quota>,
    /// Externally switched arms, one per boot; `None` in a study of one boot.
    pub external: Option<External>,
    /// What this machine cannot do, one line each (`no SMT: same-core left out`).
    pub left_out: Vec<String>,
}

/// One combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Treatment {
    /// Unique in the study, such as `same-core/l2`.
    pub name: String,
    /// Levels that its baseline shares, such as `data=l2`; treatments with equal groups share a baseline. Empty if
    /// there is one group.
    pub group: String,
    /// Its role in comparisons.
    pub role: Role,
    /// Which logical CPUs its sessions use.
    pub placement: Placement,
    /// Number of sessions.
    pub sessions: u32,
    /// How sessions are bound.
    pub pin: Pin,
    /// NUMA nodes of its workers' memory.
    #[serde(default)]
    pub memory: Memory,
    /// Where the engine's service threads run; `None` if they are not placed.
    pub service: Option<Service>,
    /// Machine state beyond a mask.
    #[serde(default, skip_serializing_if = "Arm::is_as_found")]
    pub arm: Arm,
    /// How its engine differs from the study's.
    #[serde(default, skip_serializing_if = "Instance::is_default")]
    pub instance: Instance,
    /// Options of the workload for this treatment (the study's own with the factor levels set).
    pub options: Options,
    /// Factor levels by factor name, as shown in tables.
    pub factors: BTreeMap<String, String>,
}

/// Role of a treatment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A, the baseline of its group: one session alone.
    Baseline,
    /// A′, the same under another name.
    BaselineTwin,
    /// Everything else.
    Compared,
}

/// A ratio that the analysis estimates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Unique name, such as `same-core/l2 : alone` or `smt-yield/l2`.
    pub name: String,
    /// Name of the treatment in the numerator.
    pub treatment: String,
    /// Names in the denominator: one treatment, or A and A′ (their logarithms are averaged).
    pub baseline: Vec<String>,
    /// What it means.
    pub kind: ComparisonKind,
}

/// How the study is spread over time. All durations in nanoseconds or seconds, as named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Rounds in a block; at least 20 for sliced workloads, 1 for whole runs.
    pub rounds: u32,
    /// Window of one slice.
    pub slice_ns: u64,
    /// Re-warm before every slice; `None` if it is measured before each treatment's first block
    /// ([`crate::warmup`]).
    pub rewarm_ns: Option<u64>,
    /// When to stop.
    pub stopping: Stopping,
    /// Confidence level of every interval, such as 0.95.
    pub level: f64,
    /// Margin: a smaller difference does not matter, as a fraction. With 0.03 a ratio from 1 / 1.03 to 1.03 is as good
    /// as 1. It is set before the study, and every comparison is judged by it.
    pub margin: f64,
    /// Windows as long as a user's work, beside the slices; `None` without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_windows: Option<LongWindows>,
}

/// Long windows: blocks of one window of each treatment, which show stalls, turbo limits and background work that
/// slices miss. Results of slices do not include them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongWindows {
    /// Number of windows of each treatment, each in another block.
    pub blocks: u32,
    /// Length of a window.
    pub window_ns: u64,
}

/// When the study ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stopping {
    /// As many blocks as fit into the budget, fixed after the first (calibration) block from its duration alone; at
    /// least 8; one look.
    Budget {
        /// Budget in seconds.
        budget_s: f64,
    },
    /// Looks at 8, 12, 16, 24 blocks and so on and at the end of the budget, until every comparison's half-width is
    /// within `half_width`.
    Until {
        /// Fraction, 0.02 = 2%.
        half_width: f64,
        /// Maximum seconds.
        budget_s: f64,
    },
    /// Exactly this many blocks (tests, resumed studies).
    Blocks {
        /// Number of blocks.
        blocks: u32,
    },
}

/// Workload option that fixes the amount of work.
pub const FIXED_WORK: &str = "rows_per_session";

/// Default margin.
pub const MARGIN: f64 = 0.03;

/// Minimum number of blocks for an interval.
pub const MIN_BLOCKS: u32 = 8;

/// Each value once, in order of first appearance.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

impl Study {
    /// Words for its work.
    pub fn nouns(&self) -> Nouns {
        if self.has_queries_in_turn() { QUERIES_IN_TURN } else { self.workload.known().nouns }
    }

    /// Whether its queries take turns one by one, so that its throughput is a geometric mean over queries rather than
    /// the number that end in an hour.
    pub fn has_queries_in_turn(&self) -> bool {
        self.workload == Workload::Tpch
            && self.treatments.first().is_none_or(|first| tpch::test(&first.options) == Test::Power)
    }

    /// The treatment of this name and its index.
    pub fn treatment(&self, name: &str) -> Option<(usize, &Treatment)> {
        self.treatments.iter().enumerate().find(|(_, treatment)| treatment.name == name)
    }

    /// Its arms, in the order of first appearance: one in most studies.
    pub fn arms(&self) -> Vec<&Arm> {
        distinct(self.treatments.iter().map(|treatment| &treatment.arm))
    }

    /// Whether an arm takes siblings away.
    pub fn takes_siblings(&self) -> bool {
        self.treatments.iter().any(|treatment| treatment.arm.smt != SmtWay::Mask)
    }

    /// Whether the machine is switched between slices; never for a model.
    pub fn switches(&self) -> bool {
        !self.is_simulated() && self.treatments.iter().any(|treatment| !treatment.arm.is_as_found())
    }

    /// Numbers of the slices of a round, including those of treatments that only another external arm has.
    pub fn slices_of_round(&self) -> u64 {
        self.external.as_ref().map_or(self.treatments.len() as u64, |external| u64::from(external.treatments))
    }

    /// Remarks on its placements on a machine, one line each, such as which of unlike packages is used
    /// ([`placement::remark`]).
    pub fn placement_remarks(&self, topology: &Topology) -> Vec<String> {
        let mut remarks: Vec<(String, Vec<&str>)> = Vec::new();
        for treatment in &self.treatments {
            let text = treatment.placement.text.as_str();
            let Some(remark) = placement::remark(&treatment.placement, topology) else { continue };
            match remarks.iter_mut().find(|(earlier, _)| *earlier == remark) {
                Some((_, texts)) if texts.contains(&text) => {}
                Some((_, texts)) => texts.push(text),
                None => remarks.push((remark, vec![text])),
            }
        }
        remarks.into_iter().map(|(remark, texts)| format!("{}: {remark}", texts.join(", "))).collect()
    }

    /// Options of a treatment's engine: the study's, overridden by its own.
    pub fn engine_options_of(&self, treatment: &Treatment) -> Options {
        let mut options = self.engine_options.clone();
        options.extend(treatment.instance.options.clone());
        options
    }

    /// Engine instances as treatment numbers: those that share data, in order of first appearance; one in most studies.
    pub fn instances(&self) -> Vec<Vec<usize>> {
        let caches = self.workload == Workload::Tpch;
        let key = |at: usize| {
            let treatment = &self.treatments[at];
            (&treatment.instance, treatment.options.get(CACHE).filter(|_| caches))
        };
        let mut instances: Vec<Vec<usize>> = Vec::new();
        for at in 0..self.treatments.len() {
            match instances.iter_mut().find(|instance| key(instance[0]) == key(at)) {
                Some(instance) => instance.push(at),
                None => instances.push(vec![at]),
            }
        }
        instances
    }

    /// The study with only these treatments, by number.
    pub fn only(&self, treatments: &[usize]) -> Self {
        let kept = treatments.iter().filter_map(|at| self.treatments.get(*at).cloned()).collect();
        Self { treatments: kept, ..self.clone() }
    }

    /// Group names in order of first appearance.
    pub fn groups(&self) -> Vec<&str> {
        distinct(self.treatments.iter().map(|treatment| treatment.group.as_str()))
    }

    /// Minimum measured time of one block in seconds (slices, re-warms and idle periods alone). 0 for a fixed amount of
    /// work, whose windows are limits.
    pub fn block_floor_s(&self) -> f64 {
        self.block_floor_warmed_s(|_| None)
    }

    /// The same with the measured warm-ups of some treatments (by index, nanoseconds); others have the shortest, if the
    /// design has none.
    pub fn block_floor_warmed_s(&self, warmup_ns: impl Fn(usize) -> Option<u64>) -> f64 {
        if self.is_fixed_work() {
            return 0.0;
        }
        let idle_ns = self.quota.map_or(0, |quota| quota.idle_ns());
        // Summed as floats: a stored study may have any times.
        let slice_s = |at: usize| {
            let rewarm_ns = self.design.rewarm_ns.or_else(|| warmup_ns(at)).unwrap_or(warmup::LEAST_NS);
            [self.design.slice_ns, rewarm_ns, idle_ns].map(|ns| ns as f64 / 1e9).iter().sum::<f64>()
        };
        f64::from(self.design.rounds) * (0..self.treatments.len()).map(slice_s).sum::<f64>()
            + self.settling_s()
    }

    /// Seconds of a block in which its treatments run unmeasured after switches: each of an arm's two phases begins
    /// with one, except that the two in the middle are of one arm.
    pub fn settling_s(&self) -> f64 {
        match self.settles() {
            true => (2 * self.arms().len() - 1) as f64 * arm::SETTLE_NS as f64 / 1e9,
            false => 0.0,
        }
    }

    /// Whether treatments run for a while after each switch: not if runs are whole.
    pub fn settles(&self) -> bool {
        self.switches() && self.design.rounds > 1 && !self.is_fixed_work() && self.quota.is_none()
    }

    /// Seconds of the windows in which warm-ups are measured, once a study.
    pub fn warmup_windows_s(&self) -> f64 {
        match self.design.rewarm_ns {
            Some(_) => 0.0,
            None => (self.treatments.len() * warmup::WINDOWS) as f64 * warmup::WINDOW_NS as f64 / 1e9,
        }
    }

    /// Minimum measured time of a block of long windows in seconds; 0 without them.
    pub fn long_block_floor_s(&self) -> f64 {
        let window_s = self.design.long_windows.map_or(0.0, |long| long.window_ns as f64 / 1e9);
        self.treatments.len() as f64 * window_s
    }

    /// Whether sessions do a fixed amount of work, so that windows end when it is done.
    pub fn is_fixed_work(&self) -> bool {
        !self.workload.is_sliced()
            || self.treatments.iter().any(|treatment| treatment.options.contains_key(FIXED_WORK))
    }

    /// Rounds of a block, if a budget decides how many they are: those of whole runs, and of slices of whole quota periods,
    /// are given.
    pub fn rounds_by_budget(&self) -> Option<u32> {
        let is_timed = !matches!(self.design.stopping, Stopping::Blocks { .. });
        (is_timed && !self.is_fixed_work() && self.quota.is_none()).then_some(self.design.rounds)
    }

    /// Whether each run is one whole command or work list, alone on the machine, with metrics of its own.
    pub fn runs_whole(&self) -> bool {
        self.workload.runs_whole()
    }

    /// Whether the user's whole server is bound to the logical CPUs of the running treatment.
    pub fn binds_server(&self) -> bool {
        engine::binds_server(&self.engine_options)
    }

    /// Whether the treatments of a block run one after the other, once each: whole commands, and servers that are bound
    /// as a whole before sessions are opened. Queries are bound one by one.
    pub fn takes_turns(&self) -> bool {
        self.workload.takes_turns(&self.engine_options)
    }

    /// Sessions of a treatment that run short queries beside its streams.
    pub fn short_sessions(&self, treatment: &Treatment) -> u32 {
        if self.workload == Workload::Tpch { tpch::short(&treatment.options) } else { 0 }
    }

    /// All sessions of a treatment's worker, including those beside its streams.
    pub fn worker_sessions(&self, treatment: &Treatment) -> u32 {
        treatment.sessions.saturating_add(self.short_sessions(treatment))
    }

    /// Whether a treatment on this many logical CPUs uses up the study's quota.
    pub fn is_beyond_quota(&self, treatment: &Treatment, cpus: usize) -> bool {
        let busy = self.workload.busy_cpus(treatment.sessions, cpus);
        self.quota.is_some_and(|quota| quota.is_beyond(busy))
    }

    /// Properties of its engine, as far as known.
    pub fn properties(&self) -> Properties {
        self.engine_properties.clone().unwrap_or_default()
    }

    /// Whether its results come from a model, not from a machine.
    pub fn is_simulated(&self) -> bool {
        self.engine_properties.as_ref().is_some_and(|engine| engine.simulated)
    }

    /// Whether it measures the user's server.
    pub fn is_users_server(&self) -> bool {
        self.engine_options.contains_key(URL)
    }
}
