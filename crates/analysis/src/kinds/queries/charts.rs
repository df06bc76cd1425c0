//! What the charts of queries draw. Four decimals are more than a chart shows.

use super::found::{Found, about, compared, query_name};
use crate::queries::{Change, DopStep, HeatMap, QueryEstimates, StepMark, TreatmentQueries};
use std::collections::BTreeMap;
use threadwise_document::chart::{
    Bar, BarChart, CoreRow, DopChart, DopLine, HeatChart, Panel, StepCell, StepChart,
};
use threadwise_study::Role;

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn end(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| rounded(value))
}

/// Both ends, or none: half an interval says nothing.
fn ends(low: f64, high: f64) -> (Option<f64>, Option<f64>) {
    match (end(low), end(high)) {
        (Some(low), Some(high)) => (Some(low), Some(high)),
        _ => (None, None),
    }
}

/// Bars of a group; `None` where nothing is compared.
pub fn bars(found: Found<'_>, group: &str, members: &[&TreatmentQueries]) -> Option<BarChart> {
    let panels: Vec<Panel> =
        compared(members).into_iter().map(|measured| panel(found, group, measured)).collect();
    (!panels.is_empty()).then(|| BarChart { group: group.to_owned(), panels })
}

fn panel(found: Found<'_>, group: &str, measured: &TreatmentQueries) -> Panel {
    let bar = |(number, query): (&u8, &QueryEstimates)| -> Option<Bar> {
        let speed = query.speed.as_ref().filter(|speed| speed.value.is_finite() && speed.value > 0.0)?;
        let (low, high) = ends(speed.low, speed.high);
        let (effect, changed) = (
            u8::from(!speed.is_same() && speed.is_different()),
            u8::from(query.plan_change == Change::Different),
        );
        Some((*number, rounded(speed.value), low, high, effect, changed, speed.floor.and_then(end)))
    };
    Panel {
        name: found.facts.label(&measured.treatment, group).to_owned(),
        about: about(measured),
        mean: measured.total.geometric.as_ref().filter(|mean| mean.value.is_finite()).map(|mean| {
            let (low, high) = ends(mean.low, mean.high);
            (rounded(mean.value), low, high)
        }),
        bars: measured.queries.iter().filter_map(bar).collect(),
    }
}

/// Speed or throughput over DOP, one chart a group.
pub fn dops(found: Found<'_>) -> Vec<DopChart> {
    let unit = match found.queries.is_throughput {
        true => "queries per hour",
        false => "geometric mean of speeds",
    };
    let groups = found.by_group().into_iter();
    let charts = groups.map(|(group, members)| {
        let lines = dop_lines(found, &members);
        DopChart { group: group.to_owned(), unit, lines }
    });
    charts.filter(|chart| !chart.lines.is_empty()).collect()
}

/// A point's value and interval: queries per hour of streams, else the geometric mean of speeds, which is 1 for the
/// baseline.
fn point(found: Found<'_>, measured: &TreatmentQueries) -> Option<(f64, f64, f64)> {
    if found.queries.is_throughput {
        return measured.total.queries_per_h.as_ref().map(|rate| (rate.mean, rate.low, rate.high));
    }
    let is_baseline = found.role(measured) == Role::Baseline && measured.blocks > 0;
    let mean = measured.total.geometric.as_ref().map(|mean| (mean.value, mean.low, mean.high));
    mean.or_else(|| is_baseline.then_some((1.0, f64::NAN, f64::NAN)))
}

fn dop_lines(found: Found<'_>, members: &[&TreatmentQueries]) -> Vec<DopLine> {
    let mut lines: Vec<DopLine> = Vec::new();
    // A baseline's second run is in its point.
    for measured in members.iter().filter(|measured| found.role(measured) != Role::BaselineTwin) {
        let Some((dop, (mean, low, high))) = measured.dop.zip(point(found, measured)) else { continue };
        let name = format!("{}{}", measured.placement, found.streams_words(measured.streams));
        let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(DopLine { name, points: Vec::new() });
            lines.len() - 1
        });
        let (low, high) = ends(low, high);
        let label = found.facts.label(&measured.treatment, found.facts.group_of(&measured.treatment));
        lines[at].points.push((dop, rounded(mean), low, high, label.to_owned()));
    }
    lines.iter_mut().for_each(|line| line.points.sort_by_key(|point| point.0));
    lines
}

/// The 99th percentile of short queries over DOP in milliseconds, one chart a group.
pub fn short(found: Found<'_>) -> Vec<DopChart> {
    let mut charts: Vec<DopChart> = Vec::new();
    for row in &found.queries.short {
        let Some(p99) = &row.latency_ns_p99 else { continue };
        let group = found.facts.group_of(&row.treatment).to_owned();
        let at = charts.iter().position(|chart| chart.group == group).unwrap_or_else(|| {
            charts.push(DopChart { group, unit: "p99 in ms", lines: Vec::new() });
            charts.len() - 1
        });
        let name = format!("{}{}", row.placement, found.streams_words(row.streams));
        let lines = &mut charts[at].lines;
        let line = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(DopLine { name, points: Vec::new() });
            lines.len() - 1
        });
        let [mean, low, high] = [p99.mean, p99.low, p99.high].map(|ns| ns / 1e6);
        let (low, high) = ends(low, high);
        lines[line].points.push((row.dop, rounded(mean), low, high, found.label_of(&row.treatment)));
    }
    charts
}

/// Speed over DOP, a line a query, one chart for the steps of each placement and number of streams that has two steps
/// or more.
pub fn curves(found: Found<'_>) -> Vec<(String, DopChart)> {
    let mut ladders: Vec<(String, Vec<&DopStep>)> = Vec::new();
    for step in &found.queries.steps {
        let words = found.facts.group_words(found.facts.group_of(&step.to));
        let name = format!("{}{} {words}", step.placement, found.streams_words(step.streams));
        match ladders.iter_mut().find(|(known, _)| *known == name) {
            Some((_, steps)) => steps.push(step),
            None => ladders.push((name, vec![step])),
        }
    }
    let chart = |(name, steps): (String, Vec<&DopStep>)| {
        let curve = |query: &u8| curve(found, *query, &steps);
        let lines: Vec<DopLine> = found.queries.numbers.iter().filter_map(curve).collect();
        let place = name.trim_end().to_owned();
        (place.clone(), DopChart { group: place, unit: "speed over the lowest DOP", lines })
    };
    let has_steps = |(_, chart): &(String, DopChart)| chart.lines.iter().any(|line| line.points.len() > 2);
    ladders.into_iter().map(chart).filter(has_steps).collect()
}

/// A query's steps multiplied up; `None` where one is missing between others, or has no value.
fn curve(found: Found<'_>, query: u8, steps: &[&DopStep]) -> Option<DopLine> {
    let mut steps: Vec<&DopStep> = steps.iter().filter(|step| step.query == Some(query)).copied().collect();
    steps.sort_by_key(|step| step.to_dop);
    let first = steps.first()?;
    let label = |treatment: &str| found.label_of(treatment);
    let mut points = vec![(first.from_dop, 1.0, None, None, label(&first.from))];
    let mut speed = 1.0;
    for step in &steps {
        if points.last().is_none_or(|last| last.0 != step.from_dop) {
            return None;
        }
        speed *= step.speed.value;
        points.push((step.to_dop, end(speed)?, None, None, label(&step.to)));
    }
    let marked =
        |mark: StepMark, sign: &'static str| steps.iter().any(|step| step.mark == mark).then_some(sign);
    let signs = [marked(StepMark::SuperScaling, " ▲"), marked(StepMark::PoorThenGood, " ◆")];
    let signs: String = signs.into_iter().flatten().collect();
    Some(DopLine { name: format!("{}{signs}", query_name(query)), points })
}

/// Steps of the same treatments in words (`all, DOP 2 to 4`) and by query, `None` for all together.
pub type StepRow<'a> = (String, BTreeMap<Option<u8>, &'a DopStep>);

/// Steps by their rows, in order of first appearance.
pub fn step_rows(found: Found<'_>) -> Vec<StepRow<'_>> {
    let mut rows: Vec<StepRow<'_>> = Vec::new();
    for step in &found.queries.steps {
        let words = found.facts.group_words(found.facts.group_of(&step.to));
        let streams = match found.queries.steps.iter().any(|other| other.streams != step.streams) {
            true => found.streams_words(step.streams),
            false => String::new(),
        };
        let name = format!("{}{streams}, DOP {} to {} {words}", step.placement, step.from_dop, step.to_dop);
        let name = name.trim_end().to_owned();
        let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, BTreeMap::new()));
            rows.len() - 1
        });
        rows[at].1.insert(step.query, step);
    }
    rows
}

/// Speed-ups by step and query.
pub fn steps(found: Found<'_>, rows: &[StepRow<'_>]) -> StepChart {
    let mut chart = StepChart { queries: found.queries.numbers.clone(), ..StepChart::default() };
    chart.queries.push(0);
    for (at, (name, steps)) in rows.iter().enumerate() {
        let first = steps.values().next();
        let linear = first.map_or(1.0, |step| f64::from(step.to_dop) / f64::from(step.from_dop.max(1)));
        chart.rows.push((name.clone(), linear));
        chart.cells.extend(steps.iter().filter_map(|(query, step)| step_cell(at, *query, step)));
    }
    chart
}

fn step_cell(row: usize, query: Option<u8>, step: &DopStep) -> Option<StepCell> {
    let (low, high) = ends(step.speed.low, step.speed.high);
    let mark = match step.mark {
        StepMark::None => 0,
        StepMark::SuperScaling => 1,
        StepMark::PoorThenGood => 2,
    };
    let changed = u8::from(step.plan_change == Change::Different);
    Some((row, query.unwrap_or(0), end(step.speed.value)?, low, high, mark, changed))
}

/// Throughput over DOP and streams.
pub fn heat<'a>(found: Found<'a>, map: &'a HeatMap) -> HeatChart {
    let cells = map.cells.iter().map(|cell| {
        let rate = &cell.queries_per_h;
        let (low, high) = ends(rate.low, rate.high);
        let label = found.label(&cell.treatment).to_owned();
        (cell.dop, cell.streams, rounded(rate.mean), low, high, label)
    });
    HeatChart {
        dops: map.dops.clone(),
        streams: map.streams.clone(),
        cells: cells.collect(),
        plateaus: map
            .plateaus
            .iter()
            // 0 is no DOP of a cell: nothing is framed.
            .map(|plateau| (plateau.streams, plateau.dop.unwrap_or(0), plateau.best_dop))
            .collect(),
    }
}

/// CPU seconds beside core-seconds of a treatment; `None` where busy times are unknown.
pub fn core_row(measured: &TreatmentQueries) -> Option<CoreRow> {
    let cores = measured.cores.as_ref()?;
    Some(CoreRow {
        name: measured.treatment.clone(),
        cores: cores.cores,
        engine: cores.engine_cpu_s.map(rounded),
        logical: rounded(cores.logical_s),
        low: rounded(cores.core_low_s),
        high: rounded(cores.core_high_s),
        elapsed: rounded(cores.elapsed_s),
    })
}
