//! Report types of work lists.

use crate::{Interval, Ratio};
use schemars::JsonSchema;
use serde::Serialize;

/// Metric name of seconds per item in estimates and summaries.
pub const ITEM_S: &str = "metric/item_s";
/// A study of work lists at one look. `None` in `Analysis::worklist` if the workload is another.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Worklist {
    /// The recipe's name.
    pub recipe: String,
    /// Items of the list, as far as a run reported them.
    pub items: Option<u32>,
    /// Treatments that differ in their number of jobs alone, one line of the chart each.
    pub series: Vec<Series>,
    /// Ratios between two series at the same number of jobs: one per number of jobs and pair of placements (`all` over
    /// `no-smt`), and of schedules (one queue over fixed parts).
    pub pairs: Vec<Pair>,
    /// One run of each treatment, whose items are reported one by one: the median run by elapsed time.
    pub timelines: Vec<Timeline>,
}

/// Treatments that differ in their number of jobs alone.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Series {
    /// Its label: `all`, `no-smt, fixed parts`.
    pub label: String,
    /// Its placement.
    pub placement: String,
    /// Its points, by number of jobs. The baseline and its twin are one point.
    pub points: Vec<Point>,
    /// From each point to the next.
    pub steps: Vec<Step>,
}

/// One treatment, or the baseline and its twin.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Point {
    /// Treatment; for the baseline the first of both.
    pub treatment: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Seconds per item.
    pub item_s: Interval,
    /// Seconds per item with an interval that holds for all points of the series together.
    pub item_s_joint: Interval,
    /// Seconds of the whole list.
    pub total_s: Option<Interval>,
    /// Seconds of the whole list with an interval that holds for all points of the series together.
    pub total_s_joint: Option<Interval>,
    /// Share of the jobs' time in which they had nothing left to do.
    pub idle_share: Option<Interval>,
    /// Seconds of the whole list by other schedules, computed from the time of each item in the same run; next to other
    /// items an item would have taken a different time.
    pub computed: Vec<Computed>,
}

/// A schedule that was not run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Computed {
    /// `queue, largest first`, `queue, as given`, `fixed parts, as given`.
    pub schedule: String,
    /// The whole list, seconds: mean over blocks.
    pub total_s: Interval,
    /// Its time over that of the schedule that was run.
    pub ratio: Interval,
}

/// From one number of jobs to the next.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Step {
    /// Fewer jobs.
    #[serde(rename = "from_jobs")]
    pub from: u32,
    /// More jobs.
    #[serde(rename = "to_jobs")]
    pub to: u32,
    /// Speed of the more over the fewer; `None` if the study does not have it.
    pub speed: Option<Ratio>,
}

/// What two treatments with the same number of jobs differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairKind {
    /// The placement.
    Placement,
    /// How items are handed out.
    Schedule,
}

/// Two treatments with the same number of jobs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// What differs.
    pub kind: PairKind,
    /// Treatment on top.
    pub treatment: String,
    /// Treatment below.
    pub baseline: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Speed of the first over the second.
    pub speed: Ratio,
}

/// The items of one run.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Timeline {
    /// Treatment.
    pub treatment: String,
    /// Block of the run.
    pub block: u32,
    /// Its items, in the order of the list.
    #[serde(rename = "items")]
    pub bars: Vec<Bar>,
}

/// One item.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its job, from 0.
    pub job: u32,
    /// Seconds from the start of the first item to its start.
    pub start_s: f64,
    /// Its duration, seconds.
    pub elapsed_s: f64,
}
