//! What is said of a study of queries, in the form in which the JSON report has it.

use crate::choices::Choice;
use crate::estimate::{Bounded, Fastest};
use crate::{Interval, Ratio};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use threadwise_document::Prose;

/// A study of queries at one look. `None` in [`crate::Analysis::queries`] where the workload has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queries {
    /// Whether each treatment ran whole streams (`throughput`) or query by query (`power`).
    #[serde(rename = "test", serialize_with = "test_word")]
    pub is_throughput: bool,
    /// Numbers of the queries, ascending.
    pub numbers: Vec<u8>,
    /// One per treatment of the study, in its order; the baseline and its twin first.
    pub treatments: Vec<TreatmentQueries>,
    /// What ratios are over, one per group in the study's order.
    pub baselines: Vec<Baseline>,
    /// Which treatments may be the fastest, one per group of three and more, the baseline among them: by the ratio of
    /// totals, of streams by queries per hour.
    pub fastest: Vec<Fastest>,
    /// DOP n against the next lower one under the same placement and number of streams.
    pub steps: Vec<DopStep>,
    /// Pairs of treatments that the study compares beside these: second threads at the same DOP, and what it names.
    pub comparisons: Vec<QueryComparison>,
    /// Every plan that was seen, by first appearance; others refer to them by index.
    pub plans: Vec<Plan>,
    /// Queries whose plan differs between treatments.
    #[serde(rename = "plan_changes")]
    pub changes: Vec<PlanChange>,
    /// Executions and queries that stand out, with the likeliest reason: single executions by the share
    /// of their block's time that was lost, then queries by how far they are apart. At most 20.
    pub outliers: Vec<Outlier>,
    /// How many more stand out, each less than those of its kind that are listed.
    pub outliers_left_out: usize,
    /// Throughput over DOP and streams; one map per placement (and variant) that has more than one
    /// DOP, also where it has one number of streams only.
    #[serde(rename = "heat_maps")]
    pub heat: Vec<HeatMap>,
    /// How large the data is, ascending; one per scale factor of the study.
    pub data: Vec<DataSize>,
    /// Short queries beside the streams, by placement and DOP; empty where the study has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<ShortQueries>,
    /// For each placement with more than one DOP: how far the DOP may go before their latency rises.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_limits: Vec<DopLimit>,
}

/// What each treatment ran, in a word.
fn test_word<S: Serializer>(is_throughput: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_throughput { "throughput" } else { "power" })
}

/// Queries as a list, each with its number, and which of them have another plan than the baseline's.
fn by_number<S: Serializer>(queries: &BTreeMap<u8, QueryEstimates>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Numbered<'a> {
        query: u8,
        #[serde(flatten)]
        estimates: &'a QueryEstimates,
    }
    #[derive(Serialize)]
    struct All<'a> {
        queries: Vec<Numbered<'a>>,
        plans_changed: Vec<u8>,
    }
    let numbered = queries.iter().map(|(&query, estimates)| Numbered { query, estimates });
    All { queries: numbered.collect(), plans_changed: plans_changed(queries) }.serialize(to)
}

fn plans_changed(queries: &BTreeMap<u8, QueryEstimates>) -> Vec<u8> {
    let other = queries.iter().filter(|(_, query)| query.plan_change == Change::Different);
    other.map(|(number, _)| *number).collect()
}

/// The baseline of a group, from its two runs in every block: what is below in every ratio, so that a
/// figure of it divided by a treatment's is the ratio beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// Group of treatments.
    pub group: String,
    /// Name of A′; `None` where a study has none.
    pub twin: Option<String>,
    /// A and A′ together, under the name of A: of each block the mean over both (of logarithms, where a
    /// mean over blocks is geometric).
    pub both: TreatmentQueries,
    /// A′ against A as [`Together::speed`]: noise, since the two are the same. Never an effect.
    pub noise: Option<Ratio>,
    /// The same of the geometric mean.
    pub noise_geometric: Option<Ratio>,
}

impl Queries {
    /// Queries whose plan is another one than the baseline's in any compared treatment, ascending.
    pub fn changed(&self) -> Vec<u8> {
        let different = self.changes.iter().filter(|change| change.change == Change::Different);
        let mut numbers: Vec<u8> = different.map(|change| change.query).collect();
        numbers.dedup();
        numbers
    }
}

/// How large the data is beside what the machine has to hold it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSize {
    /// Scale factor.
    pub scale: f64,
    /// Size by the specification, 1e9 bytes a scale factor (clause 4.1.3): of the rows as text, and
    /// neither of the files nor of what an engine makes of them.
    pub logical_bytes: f64,
    /// Memory: the machine's, or the limit of our control group where that is less.
    pub memory_bytes: Option<u64>,
    /// All last-level caches together.
    pub llc_bytes: Option<u64>,
}

/// One treatment, query by query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreatmentQueries {
    /// Treatment name.
    pub treatment: String,
    /// Placement text.
    pub placement: String,
    /// Requested DOP; where nothing is requested the number of logical CPUs of its placement, as far
    /// as that is known.
    pub dop: Option<u32>,
    /// Streams.
    pub streams: u32,
    /// Blocks that count.
    pub blocks: u32,
    /// By query number.
    #[serde(flatten, serialize_with = "by_number")]
    pub queries: BTreeMap<u8, QueryEstimates>,
    /// All queries together.
    pub total: TotalEstimates,
    /// CPU seconds beside physical core-seconds.
    #[serde(rename = "core_seconds")]
    pub cores: Option<CoreSeconds>,
}

impl TreatmentQueries {
    /// Numbers of the queries whose plan is another one than the baseline's, ascending.
    pub fn plans_changed(&self) -> Vec<u8> {
        plans_changed(&self.queries)
    }
}

/// One query under one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryEstimates {
    /// Execution in milliseconds, geometric mean over blocks.
    pub elapsed_ms: Interval,
    /// Planning in milliseconds, where known.
    pub planning_ms: Option<Interval>,
    /// CPU in milliseconds, where known.
    pub cpu_ms: Option<Interval>,
    /// Speed against the baseline: elapsed of the baseline over its own; above 1 is faster. `None` for
    /// the baseline and its twin.
    pub speed: Option<Ratio>,
    /// CPU time over that of the baseline; above 1 is more.
    pub cpu: Option<Ratio>,
    /// Smallest observed DOP over its executions.
    pub dop_min: Option<u32>,
    /// Largest one.
    pub dop_max: Option<u32>,
    /// Index of the plan most of its executions had.
    pub plan: Option<usize>,
    /// How many different plans its executions had; 0 where none is known.
    pub plans_seen: u32,
    /// What this plan is to the baseline's.
    pub plan_change: Change,
    /// Counters per execution, means (`read_bytes`, `spill_bytes`).
    pub counters: BTreeMap<String, f64>,
}

/// How two plans differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Not known: a plan is missing.
    Unknown,
    /// The same, line by line.
    Same,
    /// The same but for operators that only move rows between threads.
    ParallelOnly,
    /// Another join order, join, access or aggregation.
    Different,
}

/// All queries of a treatment together. A block counts where every query of it was executed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TotalEstimates {
    /// Power: sum of the executions; throughput: from the common start to the last end. Seconds.
    pub elapsed_s: Option<Interval>,
    /// CPU seconds of all executions.
    pub cpu_s: Option<Interval>,
    /// Queries per hour of the elapsed time.
    pub queries_per_h: Option<Interval>,
    /// Against the baseline: [`Change::Different`] in any compared treatment is another plan.
    #[serde(flatten)]
    pub ratios: Together,
}

/// Ratios of all queries together; `None` where unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Together {
    /// Ratio of the totals (what is below over what is on top): above 1 is faster. Throughput: queries per hour
    /// over those of what is below, which is the same for equal streams.
    pub speed: Option<Ratio>,
    /// Geometric mean of the queries' ratios.
    pub geometric: Option<Ratio>,
    /// CPU per query over that of what is below: above 1 is more.
    pub cpu: Option<Ratio>,
    /// The ratio of totals without queries whose plan is [`Change::Different`]; `None` where there are no such queries, and
    /// of `throughput`, where streams work at the same time and no query's part of the elapsed time can be taken out.
    pub speed_same_plans: Option<Ratio>,
    /// The geometric mean without them.
    pub geometric_same_plans: Option<Ratio>,
}

/// What the physical cores of a treatment's placement did while its queries were executed, per block:
/// all queries once. Times are geometric means over blocks, those of stragglers arithmetic ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CoreSeconds {
    /// Physical cores of the placement.
    pub cores: u32,
    /// CPU seconds of the executions themselves; `None` where the engine's CPU time is not known.
    pub engine_cpu_s: Option<f64>,
    /// Seconds in which a core worked for the executions with at least one thread, at the least. Without
    /// `engine_cpu_s`: in which it was busy with anything.
    pub core_low_s: f64,
    /// The same at the most. Equal where no core has two logical CPUs in the placement.
    pub core_high_s: f64,
    /// Seconds of the executions, planning included. Without `engine_cpu_s` the same as `slice_s`.
    pub elapsed_s: f64,
    /// Busy seconds of the placement's logical CPUs, whatever ran there, as the system counts them over
    /// `slice_s`.
    pub logical_s: f64,
    /// Seconds over which the system's times were read: the executions, what their worker does around
    /// them, and up to a tick of 10 ms at either end.
    pub slice_s: f64,
    /// Of `slice_s` the seconds in which both siblings of a core were busy, with whatever, while another
    /// core of the placement idled, at the least.
    pub straggler_low_s: f64,
    /// The same at the most.
    pub straggler_high_s: f64,
    /// Core-seconds, of streams a stream's, over the baseline's of the same block; `None` of a baseline, and where the
    /// engine's CPU time is not known.
    pub to_baseline: Option<Bounded>,
}

/// One step of DOP under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DopStep {
    /// Placement text.
    pub placement: String,
    /// Streams.
    pub streams: u32,
    /// Treatment with the lower DOP.
    pub from: String,
    /// Treatment with the higher DOP.
    pub to: String,
    /// Lower DOP.
    pub from_dop: u32,
    /// Higher DOP.
    pub to_dop: u32,
    /// Query number, or `None` for all together (geometric mean).
    pub query: Option<u8>,
    /// Speed-up: elapsed of the lower over that of the higher.
    pub speed: Ratio,
    /// CPU time of the higher over that of the lower, where it is known: above 1 is more.
    pub cpu: Option<Ratio>,
    /// What is to be said of it.
    #[serde(rename = "step_mark")]
    pub mark: StepMark,
    /// How the two plans differ.
    pub plan_change: Change,
}

/// What is said of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepMark {
    /// Better than linear: the interval of its distance to the ratio of the DOPs, adjusted for the queries of the
    /// step, lies above 0, and not within the margin.
    SuperScaling,
    /// This step gained little (adjusted interval below 1.25 for a doubling), and the next one much (above
    /// 1.5). For a step by another factor these are raised to its binary logarithm.
    PoorThenGood,
    /// Nothing.
    #[serde(untagged)]
    None,
}

/// One treatment over another, query by query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryComparison {
    /// Name of the comparison.
    pub name: String,
    /// What a ratio means: `smt-dop` (both threads of every core over one, at the same DOP), `both-threads` (the same,
    /// each with as many threads as it has logical CPUs), or the study's word.
    pub kind: String,
    /// Treatment on top.
    pub treatment: String,
    /// Treatment below.
    pub baseline: String,
    /// Queries that both sides executed in a block, ascending.
    pub queries: Vec<ComparedQuery>,
    /// Queries whose plans differ between the two, ascending.
    #[serde(rename = "plans_changed")]
    pub changed: Vec<u8>,
    /// All queries together, the one below over the one on top.
    #[serde(flatten)]
    pub ratios: Together,
}

/// One query of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedQuery {
    /// Number.
    pub query: u8,
    /// Elapsed below over elapsed on top: above 1 is faster.
    pub speed: Ratio,
    /// CPU time on top over CPU time below: above 1 is more. `None` where it is not known.
    pub cpu: Option<Ratio>,
    /// How the two plans differ.
    pub plan_change: Change,
}

/// One plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Short stable name: eight hexadecimal digits of a hash of the text.
    pub name: String,
    /// Query that it was first seen for.
    pub query: u8,
    /// Canonical text.
    pub text: String,
    /// What the engine estimated for each of its lines; empty where it says nothing.
    pub estimates: Vec<Estimated>,
}

/// What an engine estimated for one operator of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Estimated {
    /// Rows that it gives.
    pub rows: Option<f64>,
    /// Cost up to its last row, with what is below it, in the engine's unit.
    pub cost: Option<f64>,
}

/// A query that had different plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanChange {
    /// Query number.
    pub query: u8,
    /// Index of the baseline's plan.
    #[serde(rename = "baseline_plan")]
    pub baseline: usize,
    /// Index of the other plan.
    #[serde(rename = "other_plan")]
    pub other: usize,
    /// Treatments that had it.
    pub treatments: Vec<String>,
    /// [`Change::Different`] or [`Change::ParallelOnly`].
    #[serde(rename = "plan_change")]
    pub change: Change,
    /// The two plans side by side: lines of either, aligned. Lines are matched without their
    /// indentation, so that an operator above moves none. Where different lines stand in the same place,
    /// they share a row; `None` where one side has nothing there.
    pub lines: Vec<(Option<String>, Option<String>)>,
}

/// Whether a row of two aligned plans has a line that the other side lacks.
pub fn is_different((left, other): &(Option<String>, Option<String>)) -> bool {
    left.as_deref().map(str::trim) != other.as_deref().map(str::trim)
}

impl PlanChange {
    /// The first operator that only the other plan has, and the first that only the baseline's has.
    /// Operators that move rows between threads, and those that only stand elsewhere, say nothing.
    pub fn operators(&self) -> (Option<&str>, Option<&str>) {
        let counts = |line: &&str| !line.starts_with("~ ");
        let differing = self.lines.iter().filter(|row| is_different(row));
        let rows = differing.map(|(left, other)| [left, other].map(|line| line.as_deref().map(str::trim)));
        let rows: Vec<[Option<&str>; 2]> = rows.map(|row| row.map(|line| line.filter(counts))).collect();
        let new = |at: usize, side: usize| {
            rows[at][side].filter(|_| rows.iter().all(|other| other[1 - side] != rows[at][side]))
        };
        // In the same place first: that is what stands instead of what.
        let both = (0..rows.len()).find_map(|at| new(at, 0).zip(new(at, 1)));
        let first = |side: usize| (0..rows.len()).find_map(|at| new(at, side));
        both.map_or_else(|| (first(1), first(0)), |(left, other)| (Some(other), Some(left)))
    }
}

/// Something that stands out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// Query number.
    pub query: u8,
    /// Treatment.
    pub treatment: String,
    /// Block of a single execution; `None` where the query as a whole stands out among the queries.
    pub block: Option<u32>,
    /// How many times the usual: the execution over the median of its query and treatment, or the
    /// query's speed over the geometric mean of all.
    pub times: f64,
    /// The likeliest reason.
    pub reason: Reason,
    /// The same in a few words without figures (`steal`, `others busy on the same logical CPUs`): equal where
    /// the cause is of the same kind.
    #[serde(skip)]
    pub cause: &'static str,
    /// One sentence with the figures that it rests on.
    pub text: Prose,
}

/// Why something stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Another plan.
    Plan,
    /// The clock was lower or higher.
    Clock,
    /// It read from storage, or spilled.
    #[serde(rename = "I/O")]
    Io,
    /// Steal, a co-runner on a sibling, or others busy on the same CPUs.
    Neighbour,
    /// Fewer threads or processes took part than usual, or than were asked for.
    #[serde(rename = "parallelism")]
    Dop,
    /// Nothing that was measured explains it.
    Unexplained,
}

/// Throughput over DOP and streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatMap {
    /// Placement text.
    pub placement: String,
    /// What else sets its treatments apart (`storage=memory`); empty where the placement does alone.
    pub variant: String,
    /// Physical cores of the placement.
    pub cores: Option<u32>,
    /// Requested DOPs, ascending.
    pub dops: Vec<u32>,
    /// Streams, ascending.
    pub streams: Vec<u32>,
    /// One per pair that was measured.
    pub cells: Vec<HeatCell>,
    /// For each number of streams: the smallest DOP whose throughput is within the margin of the best one's.
    pub plateaus: Vec<Plateau>,
}

/// One pair of DOP and streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatCell {
    /// Requested DOP.
    pub dop: u32,
    /// Streams.
    pub streams: u32,
    /// Treatment name.
    pub treatment: String,
    /// Queries per hour.
    pub queries_per_h: Interval,
}

/// Where more parallelism stops to give more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plateau {
    /// Streams.
    pub streams: u32,
    /// DOP of the highest throughput; of equally good ones it is the lucky one.
    pub best_dop: u32,
    /// DOPs that may have the highest, ascending: one where it is shown to be ahead of all others.
    pub among_best: Vec<u32>,
    /// Smallest DOP that is shown to be within the margin of the best, whichever that is: against each of the others
    /// its interval says so. `None` where no DOP is.
    pub dop: Option<u32>,
    /// The DOPs as a choice, in the form that all choices have.
    #[serde(skip)]
    pub choice: Choice,
    /// Smallest DOP that may be within the margin of `best_dop`.
    pub dop_low: u32,
    /// `dop` times streams in percent of the physical cores, where both are known.
    pub percent_of_cores: Option<f64>,
    /// The same of `dop_low`.
    pub percent_low: Option<f64>,
}

/// Short queries of one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShortQueries {
    /// Treatment name.
    pub treatment: String,
    /// Placement text.
    pub placement: String,
    /// Requested DOP of the streams' queries.
    pub dop: u32,
    /// Streams.
    pub streams: u32,
    /// Sessions of short queries.
    pub sessions: u32,
    /// Blocks that count.
    pub blocks: u32,
    /// Fewest short queries of a block: percentiles need 1,000.
    pub fewest_in_a_block: u64,
    /// Short queries per second, of all its sessions together.
    pub short_per_s: Option<Interval>,
    /// Median latency.
    pub latency_ns_p50: Option<Interval>,
    /// 99th percentile of the latency.
    pub latency_ns_p99: Option<Interval>,
    /// Treatment with the lowest DOP of the same placement; its own name where it is that one.
    pub lowest: String,
    /// The 99th percentile over that of `lowest`: above 1 is slower. `None` of the lowest, and where it is not known.
    pub p99: Option<Ratio>,
    /// Queries per hour of the streams over those of `lowest`: above 1 is more.
    pub throughput: Option<Ratio>,
}

/// What is said of a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DopLimit {
    /// Placement text.
    pub placement: String,
    /// Streams.
    pub streams: u32,
    /// Sessions of short queries.
    pub sessions: u32,
    /// Treatment with the lowest DOP, which the others are compared with.
    pub lowest: String,
    /// Its DOP.
    pub lowest_dop: u32,
    /// Highest DOP that is shown to keep the 99th percentile within the margin and has none that raises it below it.
    pub keeps_dop: Option<u32>,
    /// Smallest DOP that is shown to raise it.
    pub raises_dop: Option<u32>,
    /// DOPs of which neither is shown, ascending.
    pub undecided_dops: Vec<u32>,
    /// Blocks that would decide the first of these if it raised nothing; `None` where nothing is undecided, its
    /// percentile is not known, or it would take more than 10,000.
    pub blocks_needed: Option<u32>,
}
