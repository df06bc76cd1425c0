//! What the charts of queries and what opens on demand are given. Chart figures have four decimals at most, which keeps pages of many
//! treatments small; `None` is an end of an interval that one block does not have.

use super::super::data::TableView;
use serde::Serialize;

/// Data of all charts of queries.
#[derive(Debug, Clone, Serialize, Default)]
pub struct QueryCharts {
    /// Bars around 1, one chart a group.
    pub bars: Vec<BarChart>,
    /// Speed or throughput over DOP, one chart a group.
    pub dops: Vec<DopChart>,
    /// Steps of DOP.
    pub steps: StepChart,
    /// Throughput over DOP and streams, one chart a placement.
    pub heats: Vec<HeatChart>,
    /// CPU seconds of the engine beside physical core-seconds.
    pub cores: Vec<CoreRow>,
}

/// Bars of a group.
#[derive(Debug, Clone, Serialize)]
pub struct BarChart {
    /// Group name.
    pub group: String,
    /// One per compared treatment.
    pub panels: Vec<Panel>,
}

/// One treatment's bars.
#[derive(Debug, Clone, Serialize)]
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

/// A bar: query, speed, low, high, whether it is an effect, whether its plan is another one, noise
/// floor as a ratio above 1.
pub type Bar = (u8, f64, Option<f64>, Option<f64>, u8, u8, Option<f64>);

/// Speed over DOP.
#[derive(Debug, Clone, Serialize)]
pub struct DopChart {
    /// Group name.
    pub group: String,
    /// What is drawn upwards.
    pub unit: &'static str,
    /// One per placement and number of streams.
    pub lines: Vec<DopLine>,
}

/// A line over DOP.
#[derive(Debug, Clone, Serialize)]
pub struct DopLine {
    /// Placement, and streams where they differ.
    pub name: String,
    /// By DOP.
    pub points: Vec<DopPoint>,
}

/// A point: DOP, value, low, high, treatment.
pub type DopPoint = (u32, f64, Option<f64>, Option<f64>, String);

/// Steps of DOP: rows are steps, columns are queries.
#[derive(Debug, Clone, Serialize, Default)]
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
#[derive(Debug, Clone, Serialize)]
pub struct HeatChart {
    /// DOPs, ascending.
    pub dops: Vec<u32>,
    /// Streams, ascending.
    pub streams: Vec<u32>,
    /// One per pair that was measured.
    pub cells: Vec<HeatPoint>,
    /// Streams, smallest DOP within the noise floor of the best, best DOP.
    pub plateaus: Vec<(u32, u32, u32)>,
}

/// A cell: DOP, streams, queries per hour, low, high, treatment.
pub type HeatPoint = (u32, u32, f64, Option<f64>, Option<f64>, String);

/// One treatment's CPU seconds and core-seconds.
#[derive(Debug, Clone, Serialize)]
pub struct CoreRow {
    /// Treatment name.
    pub name: String,
    /// Physical cores.
    pub cores: u32,
    /// The engine's CPU seconds, where they are known.
    pub engine: Option<f64>,
    /// Busy seconds of logical CPUs, whatever ran there.
    pub logical: f64,
    /// Core-seconds at the least.
    pub low: f64,
    /// The same at the most.
    pub high: f64,
    /// Elapsed seconds that core-seconds are over.
    pub elapsed: f64,
}

/// Something that opens on demand.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Fold {
    /// What it shows, in one line.
    pub title: String,
    /// Tables inside.
    pub tables: Vec<TableView>,
    /// Plans side by side.
    pub plans: Vec<PlanView>,
}

/// Two plans side by side.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// Heading of the left one.
    pub left: String,
    /// Heading of the right one.
    pub right: String,
    /// Lines, aligned.
    pub rows: Vec<(PlanCell, PlanCell)>,
}

/// A line of a plan; empty where the other side has one more.
#[derive(Debug, Clone, Serialize, Default)]
pub struct PlanCell {
    /// `""`, `gone`, `new` or `moves`.
    pub class: &'static str,
    /// Sign and text.
    pub text: String,
}
