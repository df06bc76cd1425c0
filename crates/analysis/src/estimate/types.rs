//! What is estimated: each treatment's own numbers, ratios, noise floors, covariates.

use crate::{Activity, Interval, Ratio};
use serde::Serialize;
use std::collections::BTreeMap;

/// Name of the metric that throughput comparisons are about.
pub const THROUGHPUT: &str = "rows_per_s";

/// One treatment's own numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreatmentSummary {
    /// Treatment name.
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
    /// `co_runner_share`, `clock_mhz`, `straggler_share`, of a fixed amount of work `elapsed_ns` and
    /// `idle_tail_share`, of a command also `cpu_ns`, `busy_cpus`, `peak_rss_bytes`, `metric/NAME`, …
    pub metrics: BTreeMap<String, Interval>,
    /// Waits, engine counters, CPU of engine and client, locks.
    #[serde(flatten)]
    pub activity: Activity,
}

/// A ratio of two treatments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Comparison name.
    pub name: String,
    /// Comparison kind (see `threadwise_study::Comparison::kind`).
    pub kind: String,
    /// Treatment name.
    pub treatment: String,
    /// Baseline treatments, joined by ` and `.
    pub baseline: String,
    /// Metric name.
    pub metric: String,
    /// Value, interval and judgement. The family of Holm's interval is all comparisons of the same metric; that of
    /// `rows_per_s` is the study's own question. Of a command it is the headline, or all other metrics together.
    #[serde(flatten, serialize_with = "Ratio::judged")]
    pub ratio: Ratio,
    /// Always `ratio`.
    pub unit: String,
    /// Method in words, such as `t over 8 blocks of 20 rounds, baseline alone and alone'`.
    pub method: String,
    /// Two-sided t test p.
    pub p_t: f64,
    /// Two-sided sign-flip permutation p.
    pub p_sign_flip: f64,
    /// Lag-1 correlation of d over blocks.
    pub lag1: f64,
    /// The same estimate without blocks flagged by a covariate, where any was.
    pub unflagged: Option<Unflagged>,
}

/// An estimate without the blocks that a covariate flags.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unflagged {
    /// Ratio.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks used.
    pub blocks: u32,
}

/// The A/A interval of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// Group.
    pub group: String,
    /// Metric name.
    pub metric: String,
    /// Lower end of A′/A as a ratio.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// max(|ln low|, |ln high|).
    pub floor: f64,
}

/// What disturbed the study.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Covariates {
    /// Share of CPU time taken by the hypervisor while slices ran, on the treatments' own CPUs.
    pub steal_share: f64,
    /// Largest share in any block.
    pub steal_share_max: f64,
    /// Blocks flagged: steal above 1%, left-over siblings or other CPUs busy above 10%, or a co-runner
    /// above 10% on any treatment's own CPUs.
    pub flagged_blocks: Vec<u32>,
    /// Busy share of left-over siblings.
    pub left_over_busy_share: f64,
    /// Busy share of CPUs that no session used, left-over siblings apart.
    pub others_busy_share: f64,
    /// Share of the time in which co-runners were busy on the siblings of the treatments' own
    /// CPUs, probed right before and after each run; mean over blocks. `None` where it is unknown.
    pub co_runner_share: Option<f64>,
    /// Largest such share of one treatment in one block.
    pub co_runner_share_max: Option<f64>,
    /// Clock of the treatments' own CPUs while not idle, in MHz; mean over blocks.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which siblings of one core were busy while another core idled; mean
    /// over blocks.
    pub straggler_share: Option<f64>,
    /// CPU time that the samplers themselves took, as a share of one CPU over the time in which
    /// they read; mean over blocks.
    pub telemetry_cpu_share: Option<f64>,
    /// The same block by block, ascending.
    pub blocks: Vec<BlockCovariates>,
}

/// What disturbed one block.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct BlockCovariates {
    /// Its number.
    pub block: u32,
    /// Share of CPU time taken by the hypervisor on the treatments' own CPUs.
    pub steal_share: f64,
    /// Busy share of left-over siblings.
    pub left_over_busy_share: f64,
    /// Busy share of CPUs that no session used.
    pub others_busy_share: f64,
    /// Share of the time in which a co-runner was busy, before the runs; mean over treatments.
    pub co_runner_before_share: Option<f64>,
    /// The same after the runs.
    pub co_runner_after_share: Option<f64>,
    /// Before and after together.
    pub co_runner_share: Option<f64>,
    /// Largest share of one treatment, before and after together.
    pub co_runner_share_max: Option<f64>,
    /// Clock while not idle in MHz.
    pub clock_mhz: Option<f64>,
    /// Share of the time in which siblings of one core were busy while another core idled.
    pub straggler_share: Option<f64>,
    /// CPU time of the samplers as a share of one CPU.
    pub telemetry_cpu_share: Option<f64>,
    /// Why it is flagged: `steal`, `left-over-busy`, `others-busy`, `co-runner`; empty where it is not.
    pub causes: Vec<&'static str>,
}
