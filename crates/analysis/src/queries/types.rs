//! Results of a study of queries, in the form of the JSON report.

use crate::choices::Choice;
use crate::estimate::{Bounded, Fastest};
use crate::{Interval, Ratio};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use threadwise_document::Prose;
use threadwise_study::ComparisonKind;

/// A study of queries at one look. `None` in [`crate::Analysis::queries`] if the workload has none.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Queries {
    /// Whether each treatment ran whole streams (`throughput`) or query by query (`power`).
    #[serde(rename = "test", serialize_with = "test_word")]
    #[schemars(with = "String")]
    pub is_throughput: bool,
    /// Numbers of the queries, ascending.
    pub numbers: Vec<u8>,
    /// One per treatment of the study, in its order; the baseline and its twin first.
    pub treatments: Vec<TreatmentQueries>,
    /// Baselines of the ratios, one per group in the study's order.
    pub baselines: Vec<Baseline>,
    /// Which treatments may be the fastest, one per group of three or more including the baseline: by the ratio of
    /// totals, or for streams by queries per hour.
    pub fastest: Vec<Fastest>,
    /// DOP n against the next lower one under the same placement and number of streams.
    pub steps: Vec<DopStep>,
    /// Other pairs of treatments that the study compares: second threads at the same DOP, and those that it names.
    pub comparisons: Vec<QueryComparison>,
    /// Every plan that was seen, by first appearance; others refer to them by index.
    pub plans: Vec<Plan>,
    /// Queries whose plan differs between treatments.
    #[serde(rename = "plan_changes")]
    pub changes: Vec<PlanChange>,
    /// Outliers among executions and queries, with the likeliest reason: single executions by the share of their
    /// block's time that was lost, then queries by their distance from the others. At most 20.
    pub outliers: Vec<Outlier>,
    /// How many more outliers there are, each smaller than those of its kind in the list.
    pub outliers_left_out: usize,
    /// Throughput over DOP and streams; one map per placement (and variant) that has more than one DOP, even with one
    /// number of streams only.
    #[serde(rename = "heat_maps")]
    pub heat: Vec<HeatMap>,
    /// Size of the data, ascending; one per scale factor of the study.
    pub data: Vec<DataSize>,
    /// Short queries concurrent with the streams, by placement and DOP; empty if the study has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<ShortQueries>,
    /// For each placement with more than one DOP: how far the DOP may rise before their latency does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_limits: Vec<DopLimit>,
}

/// What each treatment ran, in a word.
fn test_word<S: Serializer>(is_throughput: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_throughput { "throughput" } else { "power" })
}

/// Queries as a list, each with its number, and which of them have another plan than the baseline's.
fn by_number<S: Serializer>(queries: &BTreeMap<u8, QueryEstimates>, to: S) -> Result<S::Ok, S::Error> {
    let numbered = queries.iter().map(|(&query, estimates)| Numbered { query, estimates });
    QueriesByNumber { queries: numbered.collect(), plans_changed: plans_changed(queries) }.serialize(to)
}

#[derive(JsonSchema, Serialize)]
struct QueriesByNumber<'a> {
    /// Query by query.
    queries: Vec<Numbered<'a>>,
    /// Numbers of those with another plan than the baseline's.
    plans_changed: Vec<u8>,
}

#[derive(JsonSchema, Serialize)]
struct Numbered<'a> {
    /// Its number.
    query: u8,
    #[serde(flatten)]
    estimates: &'a QueryEstimates,
}

fn plans_changed(queries: &BTreeMap<u8, QueryEstimates>) -> Vec<u8> {
    let other = queries.iter().filter(|(_, query)| query.plan_change == Change::Different);
    other.map(|(number, _)| *number).collect()
}

/// The baseline of a group, from its two runs in every block: the reference of every ratio, so that its figure divided
/// by a treatment's is the treatment's ratio.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Baseline {
    /// Group of treatments.
    pub group: String,
    /// Name of A′; `None` if a study has none.
    pub twin: Option<String>,
    /// A and A′ together, under the name of A: in each block the mean over both (of logarithms, if a mean over blocks
    /// is geometric).
    pub both: TreatmentQueries,
    /// A′ against A as [`Together::speed`]: noise, since the two are the same. Never an effect.
    pub noise: Option<Ratio>,
    /// Noise of the geometric mean.
    pub noise_geometric: Option<Ratio>,
}

impl Queries {
    /// Queries whose plan differs from the baseline's in any compared treatment, ascending.
    pub fn changed(&self) -> Vec<u8> {
        let different = self.changes.iter().filter(|change| change.change == Change::Different);
        let mut numbers: Vec<u8> = different.map(|change| change.query).collect();
        numbers.dedup();
        numbers
    }
}

/// Size of the data, with the memory and caches of the machine.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct DataSize {
    /// Scale factor.
    pub scale: f64,
    /// Size by the specification, 1e9 bytes per scale factor (clause 4.1.3): of the rows as text, not of the files or
    /// of an engine's tables.
    pub logical_bytes: f64,
    /// Memory: the machine's, or the limit of the control group if that is less.
    pub memory_bytes: Option<u64>,
    /// All last-level caches together.
    pub llc_bytes: Option<u64>,
}

/// One treatment, query by query.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TreatmentQueries {
    /// Treatment name.
    pub treatment: String,
    /// Placement text.
    pub placement: String,
    /// Requested DOP; without a request the number of logical CPUs of its placement, if known.
    pub dop: Option<u32>,
    /// Streams.
    pub streams: u32,
    /// Blocks that count.
    pub blocks: u32,
    /// By query number.
    #[serde(flatten, serialize_with = "by_number")]
    #[schemars(with = "QueriesByNumber")]
    pub queries: BTreeMap<u8, QueryEstimates>,
    /// All queries together.
    pub total: TotalEstimates,
    /// CPU seconds, and physical core-seconds.
    #[serde(rename = "core_seconds")]
    pub cores: Option<CoreSeconds>,
}

impl TreatmentQueries {
    /// Numbers of the queries whose plan differs from the baseline's, ascending.
    pub fn plans_changed(&self) -> Vec<u8> {
        plans_changed(&self.queries)
    }
}

/// One query under one treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct QueryEstimates {
    /// Execution in milliseconds, geometric mean over blocks.
    pub elapsed_ms: Interval,
    /// Planning in milliseconds, where known.
    pub planning_ms: Option<Interval>,
    /// CPU in milliseconds, where known.
    pub cpu_ms: Option<Interval>,
    /// Speed against the baseline: elapsed of the baseline over its own; above 1 is faster. `None` for the baseline and
    /// its twin.
    pub speed: Option<Ratio>,
    /// CPU time over that of the baseline; above 1 is more.
    pub cpu: Option<Ratio>,
    /// Smallest observed DOP over its executions.
    pub dop_min: Option<u32>,
    /// Largest observed DOP.
    pub dop_max: Option<u32>,
    /// Index of the plan most of its executions had.
    #[schemars(with = "Option<String>")]
    pub plan: Option<usize>,
    /// How many different plans its executions had; 0 if none is known.
    pub plans_seen: u32,
    /// How this plan differs from the baseline's.
    pub plan_change: Change,
    /// Counters per execution, means (`read_bytes`, `spill_bytes`).
    pub counters: BTreeMap<String, f64>,
}

/// How two plans differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Unknown: a plan is missing.
    Unknown,
    /// The same, line by line.
    Same,
    /// The same except for operators that only move rows between threads.
    ParallelOnly,
    /// Another join order, join, access or aggregation.
    Different,
}

/// All queries of a treatment together. A block counts if every query of it was executed.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct TotalEstimates {
    /// Power: sum of the executions; throughput: from the common start to the last end. Seconds.
    pub elapsed_s: Option<Interval>,
    /// CPU seconds of all executions.
    pub cpu_s: Option<Interval>,
    /// Queries per hour of the elapsed time.
    pub queries_per_h: Option<Interval>,
    /// Difference to the baseline's plans: [`Change::Different`] if any compared treatment has another plan.
    #[serde(flatten)]
    pub ratios: Together,
}

/// Ratios of all queries together; `None` if unknown.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Together {
    /// Ratio of the totals (bottom over top): above 1 is faster. Throughput: queries per hour over those of the bottom,
    /// which is the same for equal streams.
    pub speed: Option<Ratio>,
    /// Geometric mean of the queries' ratios.
    pub geometric: Option<Ratio>,
    /// CPU per query over that of the bottom: above 1 is more.
    pub cpu: Option<Ratio>,
    /// The ratio of totals without queries whose plan is [`Change::Different`]; `None` without such queries, and for
    /// `throughput`, where streams run concurrently and no query's part of the elapsed time can be separated.
    pub speed_same_plans: Option<Ratio>,
    /// The geometric mean without them.
    pub geometric_same_plans: Option<Ratio>,
}

/// Use of the physical cores of a treatment's placement while its queries were executed, per block: all queries once.
/// Times are geometric means over blocks, those of stragglers arithmetic ones.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct CoreSeconds {
    /// Physical cores of the placement.
    pub cores: u32,
    /// CPU seconds of the executions themselves; `None` if the engine's CPU time is unknown.
    pub engine_cpu_s: Option<f64>,
    /// Lower bound of the seconds in which a core worked for the executions with at least one thread. Without
    /// `engine_cpu_s`: in which it was busy with anything.
    pub core_low_s: f64,
    /// Upper bound of these. Equal if no core has two logical CPUs in the placement.
    pub core_high_s: f64,
    /// Seconds of the executions, planning included. Without `engine_cpu_s` the same as `slice_s`.
    pub elapsed_s: f64,
    /// Busy seconds of the placement's logical CPUs, whatever ran there, as the system counts them over `slice_s`.
    pub logical_s: f64,
    /// Seconds over which the system's times were read: the executions, what their worker does around them, and up to a
    /// tick of 10 ms at either end.
    pub slice_s: f64,
    /// Lower bound of the seconds of `slice_s` in which both siblings of a core were busy, with anything, while another
    /// core of the placement idled.
    pub straggler_low_s: f64,
    /// Upper bound of these.
    pub straggler_high_s: f64,
    /// Core-seconds (per stream, for streams) over the baseline's of the same block; `None` for a baseline, or if the
    /// engine's CPU time is unknown.
    pub to_baseline: Option<Bounded>,
}

/// One step of DOP under one placement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
    /// CPU time of the higher over that of the lower, if known: above 1 is more.
    pub cpu: Option<Ratio>,
    /// The mark of the step.
    #[serde(rename = "step_mark")]
    pub mark: StepMark,
    /// How the two plans differ.
    pub plan_change: Change,
}

/// Mark of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepMark {
    /// Better than linear: the interval of its distance to the ratio of the DOPs, adjusted for the queries of the step,
    /// is above 0, and not within the margin.
    SuperScaling,
    /// This step gained little (adjusted interval below 1.25 for a doubling), and the next one much (above 1.5). For a
    /// step by another factor these are raised to its binary logarithm.
    PoorThenGood,
    /// Neither.
    #[serde(untagged)]
    None,
}

/// One treatment over another, query by query.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct QueryComparison {
    /// Name of the comparison.
    pub name: String,
    /// Meaning of the ratio: `smt-dop` (both threads of every core over one, at the same DOP), `both-threads` (the
    /// same, each with as many threads as it has logical CPUs), or the study's word.
    #[schemars(with = "String")]
    pub kind: ComparisonKind,
    /// Treatment on top.
    pub treatment: String,
    /// Treatment below.
    pub baseline: String,
    /// Queries that both sides executed in a block, ascending.
    pub queries: Vec<ComparedQuery>,
    /// Queries whose plans differ between the two, ascending.
    #[serde(rename = "plans_changed")]
    pub changed: Vec<u8>,
    /// All queries together, bottom over top.
    #[serde(flatten)]
    pub ratios: Together,
}

/// One query of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ComparedQuery {
    /// Number.
    pub query: u8,
    /// Elapsed below over elapsed on top: above 1 is faster.
    pub speed: Ratio,
    /// CPU time on top over CPU time below: above 1 is more. `None` if unknown.
    pub cpu: Option<Ratio>,
    /// How the two plans differ.
    pub plan_change: Change,
}

/// One plan.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Plan {
    /// Short stable name: eight hexadecimal digits of a hash of the text.
    pub name: String,
    /// Query that it was first seen for.
    pub query: u8,
    /// Canonical text.
    pub text: String,
    /// The engine's estimates for each of its lines; empty without any.
    pub estimates: Vec<Estimated>,
}

/// An engine's estimate for one operator of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize)]
pub struct Estimated {
    /// Rows of its output.
    pub rows: Option<f64>,
    /// Cost up to its last row, including the operators below it, in the engine's unit.
    pub cost: Option<f64>,
}

/// A query that had different plans.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PlanChange {
    /// Query number.
    pub query: u8,
    /// Index of the baseline's plan.
    #[serde(rename = "baseline_plan")]
    #[schemars(with = "String")]
    pub baseline: usize,
    /// Index of the other plan.
    #[serde(rename = "other_plan")]
    #[schemars(with = "String")]
    pub other: usize,
    /// Treatments that had it.
    pub treatments: Vec<String>,
    /// [`Change::Different`] or [`Change::ParallelOnly`].
    #[serde(rename = "plan_change")]
    pub change: Change,
    /// The two plans side by side: lines of either, aligned. Lines are matched without their indentation, so that an
    /// operator above moves none. Different lines in the same place share a row; `None` if one side has nothing there.
    pub lines: Vec<(Option<String>, Option<String>)>,
}

/// Whether a row of two aligned plans has a line that the other side lacks.
pub fn is_different((left, other): &(Option<String>, Option<String>)) -> bool {
    left.as_deref().map(str::trim) != other.as_deref().map(str::trim)
}

impl PlanChange {
    /// The first operator that only the other plan has, and the first that only the baseline's has. Operators that move
    /// rows between threads, and those that are only elsewhere, do not count.
    pub fn operators(&self) -> (Option<&str>, Option<&str>) {
        let counts = |line: &&str| !line.starts_with("~ ");
        let differing = self.lines.iter().filter(|row| is_different(row));
        let rows = differing.map(|(left, other)| [left, other].map(|line| line.as_deref().map(str::trim)));
        let rows: Vec<[Option<&str>; 2]> = rows.map(|row| row.map(|line| line.filter(counts))).collect();
        let new = |at: usize, side: usize| {
            rows[at][side].filter(|_| rows.iter().all(|other| other[1 - side] != rows[at][side]))
        };
        // The same place first: there one replaces the other.
        let both = (0..rows.len()).find_map(|at| new(at, 0).zip(new(at, 1)));
        let first = |side: usize| (0..rows.len()).find_map(|at| new(at, side));
        both.map_or_else(|| (first(1), first(0)), |(left, other)| (Some(other), Some(left)))
    }
}

/// An outlier.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Outlier {
    /// Query number.
    pub query: u8,
    /// Treatment.
    pub treatment: String,
    /// Block of a single execution; `None` if the query as a whole is an outlier among the queries.
    pub block: Option<u32>,
    /// How many times the usual: the execution over the median of its query and treatment, or the query's speed over
    /// the geometric mean of all.
    pub times: f64,
    /// The likeliest reason.
    pub reason: Reason,
    /// The reason in a few words without figures (`steal`, `others busy on the same logical CPUs`): equal if the cause
    /// is of the same kind.
    #[serde(skip)]
    pub cause: &'static str,
    /// The reason in one sentence with its figures.
    pub text: Prose,
}

/// Reason for an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Another plan.
    Plan,
    /// The clock was lower or higher.
    Clock,
    /// It read from storage, or spilled.
    #[serde(rename = "I/O")]
    Io,
    /// Steal, a neighbour on a sibling, or others busy on the same CPUs.
    Neighbour,
    /// Fewer threads or processes took part than usual, or than requested.
    #[serde(rename = "parallelism")]
    Dop,
    /// Nothing measured explains it.
    Unexplained,
}

/// Throughput over DOP and streams.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct HeatMap {
    /// Placement text.
    pub placement: String,
    /// What else distinguishes its treatments (`storage=memory`); empty if the placement does.
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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

/// Where more parallelism stops increasing throughput.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Plateau {
    /// Streams.
    pub streams: u32,
    /// DOP of the highest throughput; among equally good ones, by chance.
    pub best_dop: u32,
    /// DOPs that may have the highest, ascending: one if it is shown to be ahead of all others.
    pub among_best: Vec<u32>,
    /// Smallest DOP that is shown to be within the margin of the best, whichever that is: its intervals against all of
    /// the others say so. `None` if no DOP is.
    pub dop: Option<u32>,
    /// The DOPs as a choice, in the common form of choices.
    #[serde(skip)]
    pub choice: Choice,
    /// Smallest DOP that may be within the margin of `best_dop`.
    pub dop_low: u32,
    /// `dop` times streams in percent of the physical cores, if both are known.
    pub percent_of_cores: Option<f64>,
    /// `dop_low` times streams, likewise.
    pub percent_low: Option<f64>,
}

/// Short queries of one treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
    /// Treatment with the lowest DOP of the same placement; its own name if it is that one.
    pub lowest: String,
    /// The 99th percentile over that of `lowest`: above 1 is slower. `None` for the lowest, or if unknown.
    pub p99: Option<Ratio>,
    /// Queries per hour of the streams over those of `lowest`: above 1 is more.
    pub throughput: Option<Ratio>,
}

/// Answer about short queries of a placement.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
    /// Highest DOP that is shown to keep the 99th percentile within the margin, with none below it that raises it.
    pub keeps_dop: Option<u32>,
    /// Smallest DOP that is shown to raise it.
    pub raises_dop: Option<u32>,
    /// DOPs for which neither is shown, ascending.
    pub undecided_dops: Vec<u32>,
    /// Blocks that would decide the first of these if it raised nothing; `None` if nothing is undecided, its percentile
    /// is unknown, or it would take more than 10,000.
    pub blocks_needed: Option<u32>,
}
