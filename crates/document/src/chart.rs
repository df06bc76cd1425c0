//! Charts: aggregated data that the page draws. Nothing is computed in the browser.
//!
//! Repeated figures are short arrays with at most four decimals, which keeps pages of many treatments small; `None` is
//! a missing end of an interval (one block).

use crate::{Prose, Ratio, Says, Strip, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// A chart with its heading and its figures as a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The chart itself.
    pub chart: Chart,
    /// Full width, or next to another figure.
    pub wide: bool,
    /// Heading.
    pub title: String,
    /// Description, also for readers who cannot see the chart.
    pub description: String,
    /// The same figures as a table.
    pub table: Table,
}

/// Kinds of charts with their data.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "chart", content = "data", rename_all = "kebab-case")]
pub enum Chart {
    /// Throughput against sessions.
    Throughput(RateChart),
    /// Ratios around 1.
    Ratios(RatioChart),
    /// Values from 0 on.
    Values(ValueChart),
    /// Busy time by use of logical CPUs, from [`Shared::usage`].
    Roles,
    /// Busy time by logical CPU, from [`Shared::usage`].
    Busy,
    /// Stolen time by logical CPU, from [`Shared::usage`].
    Steal,
    /// Slices in time order.
    Slices(SliceChart),
    /// The baseline's rate over time.
    Levels(LevelChart),
    /// A fitted curve with its points.
    Curve(CurveChart),
    /// Settings to choose from.
    Choice(ChoiceChart),
    /// Waits of sessions.
    Waits(WaitChart),
    /// Latencies of pairs, from [`Shared::pairs`]: 0 by compare-and-swap, 1 by two lines.
    Latency(u8),
    /// What pairs share, from [`Shared::pairs`].
    Sharing,
    /// Bars around 1, query by query.
    Bars(BarChart),
    /// A quantity over another one, such as speed over DOP or latency over rate.
    Lines(LineChart),
    /// Steps of DOP.
    Steps(StepChart),
    /// Throughput over DOP and streams.
    Heats(HeatChart),
    /// CPU seconds and core-seconds.
    Cores(Vec<CoreRow>),
    /// Rate by number of jobs.
    Jobs(JobChart),
    /// Runs item by item.
    Timelines(Vec<TimelineChart>),
    /// Where slices ran, over time.
    Strip(Strip),
}

/// Data shared by several charts of a document.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Shared {
    /// The workload's words for its work.
    pub words: ChartWords,
    /// Names that colours and symbols stand for.
    pub labels: Vec<String>,
    /// Busy and stolen time, by treatment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Measured pairs of logical CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairChart>,
}

/// Throughput of a group's treatments.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RateChart {
    /// Group name.
    pub group: String,
    /// One per treatment.
    pub points: Vec<RatePoint>,
    /// Sweeps: indices of points, by sessions.
    pub lines: Vec<Vec<usize>>,
}

/// Throughput of a treatment, rows per second.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RatePoint {
    /// Index into [`Shared::labels`].
    pub label: usize,
    /// Placement text.
    pub placement: String,
    /// Sessions.
    pub sessions: u32,
    /// Value.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Settings to choose from, with their speed.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ChoiceChart {
    /// Title of the axis of candidates: `busy sessions`.
    pub axis: String,
    /// Reference of their speed: `speed over 1c1t`.
    pub speed: String,
    /// In their order.
    pub candidates: Vec<ChoicePoint>,
    /// Margin within which settings are as good: 0.03.
    pub margin: f64,
}

/// One of the settings.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ChoicePoint {
    /// Name.
    pub name: String,
    /// Its speed over the first one's.
    pub speed: f64,
    /// Lower end; `None` for the first, and with one block.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether it is chosen (`Some(true)`) or the best guess (`Some(false)`).
    pub chosen: Option<bool>,
    /// Whether it is shown to be within the margin of the best.
    pub within_margin: bool,
}

/// Ratios of a group.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RatioChart {
    /// Group name.
    pub group: String,
    /// Quantity of the ratios, if charts of a page differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Lower end of the margin around 1, as a ratio.
    pub margin_low: f64,
    /// Upper end of the margin around 1, as a ratio.
    pub margin_high: f64,
    /// One per comparison.
    pub rows: Vec<RatioRow>,
}

/// One ratio.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RatioRow {
    /// The top, or the comparison's own name.
    pub label: String,
    /// What it is compared with, or what is compared.
    pub against: String,
    /// Value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The mark in words.
    pub mark: &'static str,
    /// Whether the interval excludes 1 and reaches beyond the margin.
    pub is_different: bool,
    /// Figures as in the table.
    pub figures: String,
}

impl RatioRow {
    /// Of an estimate.
    pub fn new(label: String, against: String, ratio: &Ratio, says: Says) -> Self {
        Self {
            label,
            against,
            value: ratio.value,
            low: ratio.low,
            high: ratio.high,
            mark: ratio.words(says),
            is_different: ratio.is_different() && !ratio.is_same(),
            // There is no room for more beside a dot.
            figures: match ratio.has_ends() {
                true => Prose::from(ratio).to_string(),
                false => format!("{}x", crate::numbers::ratio(ratio.value)),
            },
        }
    }
}

/// Values of a quantity of commands, treatment by treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ValueChart {
    /// The quantity with its unit, for the axis.
    pub what: String,
    /// One per treatment.
    pub rows: Vec<ValueRow>,
}

/// One treatment's value in the chart's unit.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ValueRow {
    /// Treatment.
    pub label: String,
    /// Its placement.
    pub against: String,
    /// Value.
    pub mean: f64,
    /// Lower end; `None` with one block.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Figures as in the table.
    pub figures: String,
}

/// Busy and stolen CPU time by treatment.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Usage {
    /// Logical CPUs, or spans of them, in order.
    pub cpus: Vec<String>,
    /// Logical CPUs in a span.
    pub span: usize,
    /// One per treatment with readings.
    pub rows: Vec<UsageRow>,
    /// Whether any CPU lost 0.1% or more to the hypervisor.
    pub steal: bool,
}

/// One treatment's busy and stolen shares.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct UsageRow {
    /// Treatment name.
    pub name: String,
    /// By role: used, left-over siblings, others; (busy, steal), `None` if there is no such CPU.
    pub roles: [Option<(f64, f64)>; 3],
    /// By span: busy, steal, share of the slices in which it was used.
    pub cells: Vec<(f64, f64, f64)>,
}

/// The slices of a group.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct SliceChart {
    /// Group name.
    pub group: String,
    /// Seconds since the start, plotted value, index into labels, block, round.
    pub points: Vec<(f64, f64, usize, u32, u32)>,
    /// The query of each point, if a slice is one execution; else empty.
    pub queries: Vec<u8>,
}

/// The baseline's rate over time in a group.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct LevelChart {
    /// Group name.
    pub group: String,
    /// Unit of rates.
    pub unit: &'static str,
    /// One per block: start in seconds since the start of the study, rows per second, block.
    pub points: Vec<(f64, f64, u32)>,
    /// Levels: start, end, rows per second, low, high.
    pub levels: Vec<RateLevel>,
}

/// A level: start and end in seconds, rows per second, low, high (`None` without an interval).
pub type RateLevel = (f64, f64, f64, Option<f64>, Option<f64>);

/// A fitted curve of throughput against sessions, with the points that it was fitted to.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CurveChart {
    /// Unit of rates.
    pub unit: &'static str,
    /// What sessions are called.
    pub sessions: &'static str,
    /// Points: name, sessions, rate, rate of the law.
    pub points: Vec<(String, u32, f64, f64)>,
    /// The curve: sessions, rate, low, high.
    pub curve: Vec<(u32, f64, f64, f64)>,
    /// Named numbers of sessions: the cores, the knee, the peak.
    pub marks: Vec<(u32, String)>,
}

/// Waits of sessions.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct WaitChart {
    /// Names in drawing order, with `running`, `wait` or `other`.
    pub names: Vec<(String, &'static str)>,
    /// One per treatment with enough samples.
    pub rows: Vec<WaitRow>,
}

/// One treatment's shares.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct WaitRow {
    /// Treatment name.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// Shares by name, in the chart's order.
    pub shares: Vec<f64>,
}

/// Pairs of logical CPUs: what they share and how far apart they are.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct PairChart {
    /// Logical CPUs in the order of rows and columns.
    pub cpus: Vec<u32>,
    /// Whether rows are ordered by measured groups, and groups drawn below the measured pairs.
    pub grouped: bool,
    /// Names of the levels of latencies.
    pub levels: Vec<String>,
    /// Answers: sign and words.
    pub answers: Vec<(char, &'static str)>,
    /// One entry per pair.
    pub pairs: Vec<PairCell>,
    /// Squares of inferred latencies, far levels first: level, first and last row, middle of its ns.
    pub squares: Vec<(usize, usize, usize, f64)>,
}

/// A pair: both rows, then least, median and spread in nanoseconds by compare-and-swap and by two lines, level, answer,
/// whether the declaration differs.
pub type PairCell = (usize, usize, Option<[f64; 3]>, Option<[f64; 3]>, Option<usize>, Option<usize>, bool);

/// Rate by number of jobs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct JobChart {
    /// Unit of rates.
    pub unit: &'static str,
    /// Rate by number of jobs, one line per series.
    pub lines: Vec<JobLine>,
    /// Number of jobs and rate from which perfect scaling is drawn.
    pub perfect: Option<(u32, f64)>,
}

/// Rate by number of jobs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct JobLine {
    /// Series.
    pub name: String,
    /// By number of jobs.
    pub points: Vec<JobPoint>,
    /// From point to point.
    pub steps: Vec<JobStep>,
}

/// A point: jobs, rate, low, high (`None` with one block), figures as in the table.
pub type JobPoint = (u32, f64, Option<f64>, Option<f64>, String);

/// A step: from, to, ratio in short, whether it is an effect, figures as in the table.
pub type JobStep = (u32, u32, String, bool, String);

/// One run, item by item.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TimelineChart {
    /// Treatment.
    pub name: String,
    /// Block, items, time.
    pub about: String,
    /// End of the last item, seconds since the start of the first.
    pub end_s: f64,
    /// End of each job's last item, seconds.
    pub ends: Vec<f64>,
    /// Items: job, start, duration, name.
    pub bars: Vec<(u32, f64, f64, String)>,
}

/// Words on axes and in tooltips.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct ChartWords {
    /// Unit of throughput.
    pub rate: &'static str,
    /// Quantity of ratios.
    pub ratio: &'static str,
    /// Plotted value of a slice.
    pub slice: &'static str,
    /// Word for sessions, plural.
    pub sessions: &'static str,
}

/// Bars of a group.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct BarChart {
    /// Group name.
    pub group: String,
    /// One per compared treatment.
    pub panels: Vec<Panel>,
}

/// One treatment's bars.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Panel {
    /// Treatment name inside its group.
    pub name: String,
    /// Placement, DOP, streams.
    pub about: String,
    /// Geometric mean with the ends of its interval.
    pub mean: Option<(f64, Option<f64>, Option<f64>)>,
    /// In the order of query numbers.
    pub bars: Vec<Bar>,
}

/// A bar: query, speed, low, high, whether it is an effect, whether its plan differs, noise floor as a ratio above 1.
pub type Bar = (u8, f64, Option<f64>, Option<f64>, u8, u8, Option<f64>);

/// A quantity over another one, whose axis is logarithmic.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct LineChart {
    /// Group name.
    pub group: String,
    /// Title of the horizontal axis: `DOP`.
    pub over: &'static str,
    /// Title of the vertical axis.
    pub unit: &'static str,
    /// Whether the vertical axis is logarithmic, too.
    pub is_log: bool,
    /// A bound to draw, on the vertical axis.
    pub bound: Option<f64>,
    /// One per placement, and number of streams or sessions if they differ.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// By their place on the horizontal axis.
    pub points: Vec<LinePoint>,
}

/// A point: place, value, low, high, treatment.
pub type LinePoint = (f64, f64, Option<f64>, Option<f64>, String);

/// Steps of DOP: rows are steps, columns are queries.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct StepChart {
    /// Query numbers; 0 is all together.
    pub queries: Vec<u8>,
    /// Step and ratio of its DOPs.
    pub rows: Vec<(String, f64)>,
    /// One per step and query.
    pub cells: Vec<StepCell>,
}

/// A cell: row, query, speed-up, low, high, mark (0 none, 1 super-scaling, 2 poor then good), whether
/// its plan changed.
pub type StepCell = (usize, u8, f64, Option<f64>, Option<f64>, u8, u8);

/// Throughput over DOP and streams.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct HeatChart {
    /// DOPs, ascending.
    pub dops: Vec<u32>,
    /// Streams, ascending.
    pub streams: Vec<u32>,
    /// One per pair that was measured.
    pub cells: Vec<HeatPoint>,
    /// Streams, smallest DOP within the margin of the best (0 if none is shown to be), DOP of the highest figure.
    pub plateaus: Vec<(u32, u32, u32)>,
}

/// A cell: DOP, streams, queries per hour, low, high, treatment.
pub type HeatPoint = (u32, u32, f64, Option<f64>, Option<f64>, String);

/// One treatment's CPU seconds and core-seconds.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CoreRow {
    /// Treatment name.
    pub name: String,
    /// Physical cores.
    pub cores: u32,
    /// The engine's CPU seconds, if known.
    pub engine: Option<f64>,
    /// Busy seconds of logical CPUs, whatever ran there.
    pub logical: f64,
    /// Lower bound of core-seconds.
    pub low: f64,
    /// Upper bound of core-seconds.
    pub high: f64,
    /// Elapsed seconds of the core-seconds.
    pub elapsed: f64,
}
