//! Estimates: each treatment's own numbers, ratios, noise floors, covariates.

use crate::{Activity, Interval, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_statistics::MeanEstimate;
use threadwise_study::ComparisonKind;

/// Name of the metric of throughput comparisons.
pub const THROUGHPUT: &str = "rows_per_s";

/// Name of the metric of comparisons at a rate: mean latency of a block's requests.
pub const LATENCY_MEAN: &str = "latency_ns_mean";

/// Name of the metric of work per energy: throughput over the power of all packages.
pub const ROWS_PER_JOULE: &str = "rows_per_joule";

/// One treatment's own numbers.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TreatmentSummary {
    /// Treatment name.
    #[serde(rename = "treatment")]
    pub name: String,
    /// Group.
    pub group: String,
    /// Placement text.
    pub placement: String,
    /// Sessions.
    pub sessions: u32,
    /// Valid runs.
    pub runs: u32,
    /// Failed runs.
    pub failed: u32,
    /// Runs left out as invalid, or because their block's baseline was.
    pub excluded: u32,
    /// By metric name: `rows_per_s`, `logical_reads_per_s`, `cpu_ns_per_row`, `latency_ns_p50`,
    /// `latency_ns_p99`, `reads_per_row`, `busy_share`, `steal_share`, `context_switches_per_s`,
    /// `neighbour_share`, `clock_mhz`, `straggler_share`, of a fixed amount of work `elapsed_ns` and
    /// `idle_tail_share`, of a command also `cpu_ns`, `busy_cpus`, `peak_rss_bytes`, `metric/NAME`, …
    pub metrics: BTreeMap<String, Interval>,
    /// Waits, engine counters, CPU of engine and client, locks.
    #[serde(flatten)]
    pub activity: Activity,
}

/// A ratio of two treatments.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// Comparison name.
    #[serde(rename = "comparison")]
    pub name: String,
    /// What it compares (see `threadwise_study::Comparison::kind`); of diagnostics the question.
    #[schemars(with = "String")]
    pub kind: ComparisonKind,
    /// Treatment name.
    pub treatment: String,
    /// Baseline treatments, joined by ` and `.
    pub baseline: String,
    /// Metric name.
    pub metric: String,
    /// Value, intervals and judgement. The family is all comparisons of the same metric; that of `rows_per_s` is the
    /// study's own question. For a command it is the headline, or all other metrics together. Its correlation is that
    /// of all comparisons and A/A of the metric together, or its own if that is larger.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// Method in words, such as `t over 8 blocks of 20 rounds, baseline alone and alone'`; empty for diagnostics.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// Two-sided sign-flip permutation p; `None` for diagnostics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_sign_flip: Option<f64>,
    /// The estimate without blocks flagged by a covariate, if any was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unflagged: Option<Unflagged>,
    /// The estimate adjusted for CPU time that sessions lost; for throughput alone, if every session has a CPU and
    /// something was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted: Option<Adjusted>,
}

impl Estimate {
    /// An estimate of a diagnostic for a treatment, an arm or a comparison, which is its name.
    pub(crate) fn of(question: &str, name: &str, treatment: &str, baseline: &str, ratio: Ratio) -> Self {
        Self {
            name: name.to_owned(),
            kind: question.into(),
            treatment: treatment.to_owned(),
            baseline: baseline.to_owned(),
            metric: question.to_owned(),
            ratio,
            method: String::new(),
            p_sign_flip: None,
            unflagged: None,
            adjusted: None,
        }
    }
}

/// An estimate without the blocks that a covariate flags.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Unflagged {
    /// Ratio.
    #[serde(flatten)]
    pub ratio: Interval,
    /// Blocks used.
    pub blocks: u32,
}

/// A ratio adjusted for lost CPU time.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Adjusted {
    /// Ratio.
    #[serde(flatten)]
    pub ratio: Interval,
    /// How the logarithm of the ratio follows that of the share of time with a CPU: 1 if work is lost in proportion to
    /// time.
    pub slope: f64,
    /// Share of their time with a CPU, the treatment's over the baseline's, as a ratio: geometric mean over blocks.
    pub cpu_share_ratio: Interval,
    /// Blocks used.
    pub blocks: u32,
}

/// A/A result of a group: two treatments that differ in nothing.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct NoiseFloor {
    /// Group.
    pub group: String,
    /// Metric name.
    pub metric: String,
    /// A′/A.
    #[serde(flatten)]
    pub ratio: Interval,
    /// The larger distance of its ends from 1, in logarithms.
    #[serde(rename = "floor_log")]
    pub floor: f64,
    /// Two-sided p of A′/A being 1.
    pub p: f64,
    /// Why every size in the group is in doubt: `different` if A′/A excludes 1 at p < 0.005, `wide` if its half-width
    /// is above the margin.
    pub alarm: Option<Alarm>,
}

/// Why A/A is an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alarm {
    /// Two treatments that differ in nothing differ.
    Different,
    /// Their difference is known less precisely than the margin requires.
    Wide,
}

/// p below which A/A is an alarm: with five groups and nothing wrong, one in forty studies has one.
const ALARM_P: f64 = 0.005;

impl NoiseFloor {
    /// The same, without the alarm that it is wide.
    #[must_use]
    pub fn unless_wide(self) -> Self {
        Self { alarm: self.alarm.filter(|alarm| *alarm != Alarm::Wide), ..self }
    }

    /// From the mean of d of A′/A over blocks.
    pub fn new(group: &str, metric: &str, a_a: &MeanEstimate, (margin, alpha): (f64, f64)) -> Self {
        let (low, high) = a_a.interval(alpha);
        let p = a_a.p();
        let alarm = match () {
            () if p < ALARM_P => Some(Alarm::Different),
            // One block has no interval; the study reports that elsewhere.
            () if a_a.n >= 2 && a_a.half_width(alpha) > margin.ln_1p() => Some(Alarm::Wide),
            () => None,
        };
        Self {
            group: group.to_owned(),
            metric: metric.to_owned(),
            ratio: a_a.as_interval(alpha).exp(),
            floor: low.abs().max(high.abs()),
            p,
            alarm,
        }
    }
}

/// Disturbances of the study.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Covariates {
    /// Share of CPU time taken by the hypervisor while slices ran, on the treatments' own CPUs.
    pub steal_share: f64,
    /// Largest share in any block.
    pub steal_share_max: f64,
    /// Largest share of the time, in any block, in which sessions of one treatment that have a logical CPU each waited
    /// for it; `None` if unknown.
    pub run_queue_wait_share_max: Option<f64>,
    /// Blocks flagged: steal above 1%, such waits above 1%, left-over siblings or other CPUs busy above 10%, or a neighbour
    /// above 10% on any treatment's own CPUs.
    pub flagged_blocks: Vec<u32>,
    /// Busy share of left-over siblings.
    pub left_over_busy_share: f64,
    /// Busy share of CPUs that no session used, left-over siblings apart.
    pub others_busy_share: f64,
    /// Share of the time in which neighbours were busy on the siblings of the treatments' own CPUs, probed right before
    /// and after each run; mean over blocks. `None` if unknown.
    pub neighbour_share: Option<f64>,
    /// Largest such share of one treatment in one block.
    pub neighbour_share_max: Option<f64>,
    /// Clock of the treatments' own CPUs while not idle, in MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which siblings of one core were busy while another core idled; mean over blocks.
    pub straggler_share: Option<f64>,
    /// CPU time of the samplers themselves, as a share of one CPU over the time in which they read; mean over blocks.
    pub telemetry_cpu_share: Option<f64>,
    /// The covariates by block, ascending.
    pub blocks: Vec<BlockCovariates>,
}

/// Disturbances of one block.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct BlockCovariates {
    /// Its number.
    pub block: u32,
    /// Share of CPU time taken by the hypervisor on the treatments' own CPUs.
    pub steal_share: f64,
    /// Largest share of the time in which sessions of one treatment that have a logical CPU each waited for it; `None`
    /// if unknown.
    pub run_queue_wait_share: Option<f64>,
    /// Busy share of left-over siblings.
    pub left_over_busy_share: f64,
    /// Busy share of CPUs that no session used.
    pub others_busy_share: f64,
    /// Share of the time in which a neighbour was busy, before the runs; mean over treatments.
    pub neighbour_before_share: Option<f64>,
    /// Share after the runs.
    pub neighbour_after_share: Option<f64>,
    /// Share before and after together.
    pub neighbour_share: Option<f64>,
    /// Largest share of one treatment, before and after together.
    pub neighbour_share_max: Option<f64>,
    /// Clock while not idle in MHz.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which siblings of one core were busy while another core idled.
    pub straggler_share: Option<f64>,
    /// CPU time of the samplers as a share of one CPU.
    pub telemetry_cpu_share: Option<f64>,
    /// Why it is flagged: `steal`, `run-queue-wait`, `left-over-busy`, `others-busy`, `neighbour`; empty if it is not.
    pub causes: Vec<&'static str>,
}
