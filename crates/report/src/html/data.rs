//! What the page's template and its charts are given: plain values, aggregated here and not in the
//! browser. One of the two modules of this crate that know serde.

use super::queries::data::{Fold, QueryCharts};
use crate::ReportError;
use serde::Serialize;
use serde_json::Value;

/// Everything that the charts draw. Kept small: short arrays where there are many.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Charts {
    /// Whether the results come from a model.
    pub simulated: bool,
    /// What the workload calls its work.
    pub words: ChartWords,
    /// Names that colours and symbols stand for, over all groups.
    pub labels: Vec<String>,
    /// Throughput against sessions, one chart a group.
    pub throughput: Vec<RateChart>,
    /// Ratios, one chart a group.
    pub ratios: Vec<RatioChart>,
    /// Busy and stolen time, by treatment.
    pub usage: Usage,
    /// Every slice in time order, one chart a group.
    pub slices: Vec<SliceChart>,
    /// What sessions waited for, where it was sampled.
    pub waits: Option<WaitChart>,
    /// Measured pairs of logical CPUs, where the hardware was probed.
    pub hardware: Option<PairChart>,
    /// Charts of queries, where the workload has them.
    pub queries: Option<QueryCharts>,
    /// Values of each quantity of commands, one chart a quantity and group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueChart>,
    /// Charts of work lists, where the workload is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worklist: Option<WorklistCharts>,
}

/// Data of all charts of work lists.
#[derive(Debug, Clone, Serialize)]
pub struct WorklistCharts {
    /// Unit of rates.
    pub unit: &'static str,
    /// Rate by number of jobs, a line a series.
    pub lines: Vec<JobLine>,
    /// Number of jobs and rate from which perfect scaling is drawn.
    pub perfect: Option<(u32, f64)>,
    /// Runs item by item.
    pub timelines: Vec<TimelineChart>,
}

/// Rate by number of jobs.
#[derive(Debug, Clone, Serialize)]
pub struct JobLine {
    /// Series.
    pub name: String,
    /// By number of jobs.
    pub points: Vec<JobPoint>,
    /// From point to point.
    pub steps: Vec<JobStep>,
}

/// A point: jobs, rate, low, high (`None` of one block), figures as the table has them.
pub type JobPoint = (u32, f64, Option<f64>, Option<f64>, String);

/// A step: from, to, ratio in short, whether it is an effect, figures as the table has them.
pub type JobStep = (u32, u32, String, bool, String);

/// One run, item by item.
#[derive(Debug, Clone, Serialize)]
pub struct TimelineChart {
    /// Treatment.
    pub name: String,
    /// Block, items, time.
    pub about: String,
    /// End of the last item, seconds since the start of the first.
    pub end_s: f64,
    /// When each job ended its last item, seconds.
    pub ends: Vec<f64>,
    /// Items: job, start, duration, name.
    pub bars: Vec<(u32, f64, f64, String)>,
}

/// Values of a quantity of commands, treatment by treatment.
#[derive(Debug, Clone, Serialize)]
pub struct ValueChart {
    /// Metric name.
    #[serde(skip)]
    pub metric: String,
    /// Group name.
    #[serde(skip)]
    pub group: String,
    /// The quantity with its unit, for the axis.
    pub what: String,
    /// One per treatment.
    pub rows: Vec<ValueRow>,
}

/// One treatment's value in the chart's unit.
#[derive(Debug, Clone, Serialize)]
pub struct ValueRow {
    /// Treatment.
    pub label: String,
    /// Its placement.
    pub against: String,
    /// Centre.
    pub mean: f64,
    /// Lower end; `None` of one block.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Figures as the table has them.
    pub figures: String,
}

/// Words on axes and in tips.
#[derive(Debug, Clone, Serialize, Default)]
pub struct ChartWords {
    /// Unit of throughput.
    pub rate: &'static str,
    /// What ratios are of.
    pub ratio: &'static str,
    /// What is drawn of each slice.
    pub slice: &'static str,
    /// Those who work, several.
    pub sessions: &'static str,
}

/// What sessions waited for.
#[derive(Debug, Clone, Serialize)]
pub struct WaitChart {
    /// Names in the order in which they are drawn, with `running`, `wait` or `other`.
    pub names: Vec<(String, &'static str)>,
    /// One per treatment with enough samples.
    pub rows: Vec<WaitRow>,
}

/// One treatment's shares.
#[derive(Debug, Clone, Serialize)]
pub struct WaitRow {
    /// Treatment name.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// Shares by name, in the chart's order.
    pub shares: Vec<f64>,
}

/// Pairs of logical CPUs: what they share and how far apart they are.
#[derive(Debug, Clone, Serialize, Default)]
pub struct PairChart {
    /// Logical CPUs in the order of rows and columns.
    pub cpus: Vec<u32>,
    /// Whether rows are ordered by measured groups, and groups drawn below the measured pairs.
    pub grouped: bool,
    /// Names of the levels of latencies.
    pub levels: Vec<String>,
    /// Answers: sign and words.
    pub answers: Vec<(char, &'static str)>,
    /// One entry a pair.
    pub pairs: Vec<PairCell>,
    /// Squares of inferred latencies, far levels first: level, first and last row, middle of its ns.
    pub squares: Vec<(usize, usize, usize, f64)>,
}

/// A pair: both rows, then least, median and spread in nanoseconds by compare-and-swap and by two
/// lines, level, answer, whether the system declares it otherwise.
pub type PairCell = (usize, usize, Option<[f64; 3]>, Option<[f64; 3]>, Option<usize>, Option<usize>, bool);

/// Throughput of a group's treatments.
#[derive(Debug, Clone, Serialize)]
pub struct RateChart {
    /// Group name.
    pub group: String,
    /// One per treatment.
    pub points: Vec<RatePoint>,
    /// Sweeps: indices of points, by sessions.
    pub lines: Vec<Vec<usize>>,
}

/// Throughput of a treatment, rows per second.
#[derive(Debug, Clone, Serialize)]
pub struct RatePoint {
    /// Index into [`Charts::labels`].
    pub label: usize,
    /// Placement text.
    pub placement: String,
    /// Sessions.
    pub sessions: u32,
    /// Centre.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Ratios of a group.
#[derive(Debug, Clone, Serialize)]
pub struct RatioChart {
    /// Group name.
    pub group: String,
    /// Metric name, of commands.
    #[serde(skip)]
    pub metric: String,
    /// What the ratios are of, where charts of a page differ in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Noise floor as a ratio below 1.
    pub floor_low: Option<f64>,
    /// Noise floor as a ratio above 1.
    pub floor_high: Option<f64>,
    /// One per comparison.
    pub rows: Vec<RatioRow>,
}

/// One ratio.
#[derive(Debug, Clone, Serialize)]
pub struct RatioRow {
    /// What is on top, or the comparison's own name.
    pub label: String,
    /// What it is compared with, or what is compared.
    pub against: String,
    /// Centre.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The mark in words.
    pub mark: &'static str,
    /// Whether it is an effect.
    pub effect: bool,
    /// Figures as the table has them.
    pub figures: String,
}

/// Busy and stolen CPU time by treatment.
#[derive(Debug, Clone, Serialize, Default)]
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
#[derive(Debug, Clone, Serialize)]
pub struct UsageRow {
    /// Treatment name.
    pub name: String,
    /// By role: used, left-over siblings, others; (busy, steal), `None` where there is no such CPU.
    pub roles: [Option<(f64, f64)>; 3],
    /// By span: busy, steal, share of the slices in which it was used.
    pub cells: Vec<(f64, f64, f64)>,
}

/// The slices of a group.
#[derive(Debug, Clone, Serialize, Default)]
pub struct SliceChart {
    /// Group name.
    pub group: String,
    /// Seconds since the start, what is drawn of the slice, index into labels, block, round.
    pub points: Vec<(f64, f64, usize, u32, u32)>,
    /// The query of each point, where a slice is one execution; else empty.
    pub queries: Vec<u8>,
}

/// The page around the charts.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Page {
    /// Study title.
    pub title: String,
    /// Engine, workload, date, file: one line.
    pub subtitle: String,
    /// Whether the results come from a model.
    pub simulated: bool,
    /// The verdict, each line as parts.
    pub verdict: Vec<Vec<Part>>,
    /// What stands where the verdict is empty.
    pub no_verdict: &'static str,
    /// Figures beside the verdict.
    pub facts: Vec<Fact>,
    /// The sections below it.
    pub sections: Vec<Section>,
    /// The machine as boxes.
    pub machine: Machine,
    /// Last line.
    pub footer: String,
}

/// A piece of a verdict line.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Part {
    /// `""`, `figure`, `interval` or `command`.
    pub class: &'static str,
    /// The text.
    pub text: String,
}

/// A figure with its name.
#[derive(Debug, Clone, Serialize)]
pub struct Fact {
    /// Name.
    pub name: &'static str,
    /// Figure with its unit.
    pub value: String,
    /// What it means.
    pub note: String,
}

/// A section of the page.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Section {
    /// Anchor.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Paragraphs.
    pub paragraphs: Vec<String>,
    /// Findings of this section alone, each line as parts.
    pub lines: Vec<Vec<Part>>,
    /// Declared and measured cores.
    pub sides: Vec<Side>,
    /// Whether the machine drawing stands here.
    pub machine: bool,
    /// Charts.
    pub figures: Vec<Figure>,
    /// Tables that stand open.
    pub tables: Vec<TableView>,
    /// Heading of what opens on demand; may be empty.
    pub folds_title: &'static str,
    /// What opens on demand.
    pub folds: Vec<Fold>,
    /// Text kept as it is.
    pub verbatim: Option<String>,
}

/// A chart with its table.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Which drawing function takes it.
    pub chart: &'static str,
    /// Which entry of its data.
    pub index: usize,
    /// Full width, or beside its neighbour.
    pub wide: bool,
    /// Heading.
    pub title: String,
    /// What is drawn, for those who cannot see it too.
    pub description: String,
    /// The same figures.
    pub table: TableView,
}

/// A table of texts.
#[derive(Debug, Clone, Serialize, Default)]
pub struct TableView {
    /// Heading.
    pub caption: String,
    /// Column names.
    pub headers: Vec<String>,
    /// How many columns from the left hold text; the rest hold figures.
    pub text_columns: usize,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// The machine as boxes.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Machine {
    /// The machine in one line.
    pub line: String,
    /// `few`, `many`: how large a logical CPU is drawn.
    pub size: &'static str,
    /// Package, node, LLC boxes.
    pub packages: Vec<Nest>,
    /// CPUs outside every box.
    pub outside: Vec<Spot>,
    /// Limits, one line each.
    pub limits: Vec<String>,
    /// States that occur: class and words.
    pub legend: Vec<(&'static str, &'static str)>,
}

/// A box with boxes in it; the innermost has cores.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Nest {
    /// Heading.
    pub name: String,
    /// Boxes inside.
    pub inner: Vec<Nest>,
    /// Cores inside: name and logical CPUs.
    pub cores: Vec<(String, Vec<Spot>)>,
}

/// A logical CPU.
#[derive(Debug, Clone, Serialize)]
pub struct Spot {
    /// OS number.
    pub cpu: u32,
    /// `allowed`, `barred`, `offline`.
    pub class: &'static str,
    /// The state in words.
    pub words: &'static str,
}

/// Cores of one side, declared or measured, as a drawing. Lengths are in CSS pixels.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Side {
    /// Heading.
    pub title: &'static str,
    /// The drawing in words.
    pub words: String,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Cores, and logical CPUs of which nothing could be decided.
    pub cores: Vec<DrawnCore>,
}

/// A frame with logical CPUs in it.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnCore {
    /// `core`, `core differs` or `undecided`.
    pub class: &'static str,
    /// What a pointer on it tells.
    pub words: String,
    /// Left, top, width and height.
    pub place: [u32; 4],
    /// Sign in its corner, empty where there is none.
    pub sign: &'static str,
    /// Logical CPUs.
    pub cpus: Vec<DrawnCpu>,
}

/// A logical CPU in a frame.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnCpu {
    /// Left, top, width and height.
    pub place: [u32; 4],
    /// Its number; empty where it is too small for one.
    pub text: String,
}

/// Chart data as JSON that can stand inside a `<script>` element: `<`, `>` and `&` only as
/// escapes (WHATWG HTML, "restrictions for contents of script elements"), deceptive characters
/// replaced.
pub fn script_json(charts: &Charts) -> Result<String, ReportError> {
    let fault = |error: serde_json::Error| ReportError::Template(error.to_string());
    let mut value = serde_json::to_value(charts).map_err(fault)?;
    let Value::Object(data) = &mut value else { return Ok(String::new()) };
    // Charts by their drawing functions, each with a list.
    if let Some(Value::Object(queries)) = data.remove("queries") {
        for (name, own) in queries {
            let is_one = matches!(name.as_str(), "steps" | "cores");
            data.insert(name, if is_one { Value::Array(vec![own]) } else { own });
        }
    }
    if let Some(Value::Object(mut jobs)) = data.remove("worklist") {
        let timelines = jobs.remove("timelines").unwrap_or_default();
        data.insert("timelines".to_owned(), Value::Array(vec![timelines]));
        data.insert("jobs".to_owned(), Value::Array(vec![Value::Object(jobs)]));
    }
    let waits = data.remove("waits").unwrap_or_default();
    data.insert("waits".to_owned(), Value::Array(vec![waits]));
    let pairs = data.remove("hardware").unwrap_or_default();
    data.insert("pairs".to_owned(), pairs);
    data.insert("latency".to_owned(), serde_json::json!([0, 1]));
    Ok(super::view::script_json(data))
}

/// The page as the template takes it.
pub fn template_value(page: &Page) -> minijinja::Value {
    minijinja::Value::from(minijinja::value::Serde(page))
}
