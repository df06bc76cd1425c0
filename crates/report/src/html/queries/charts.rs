//! The charts' data from the estimates of queries.

use super::data::{BarChart, CoreRow, DopChart, DopLine, HeatChart, Panel, QueryCharts, StepChart};
use crate::Document;
use crate::queries::{by_group, compared, is_twin, label, measured, role_words};
use std::collections::BTreeMap;
use threadwise_analysis::queries::{
    Change, DopStep, HeatMap, Queries, QueryEstimates, StepMark, TreatmentQueries,
};
use threadwise_analysis::{Interval, Ratio};
use threadwise_study::{Run, Slice};

/// All charts of a study of queries.
pub fn charts(document: &Document, queries: &Queries) -> QueryCharts {
    let groups = by_group(document, queries);
    let bars = groups.iter().map(|(group, members)| BarChart {
        group: (*group).to_owned(),
        panels: compared(members).into_iter().map(|own| panel(document, own)).collect(),
    });
    let dops = groups.iter().map(|(group, members)| DopChart {
        group: (*group).to_owned(),
        unit: if queries.is_throughput { "queries per hour" } else { "geometric mean of speeds" },
        lines: dop_lines(document, queries, members),
    });
    QueryCharts {
        bars: bars.filter(|chart| !chart.panels.is_empty()).collect(),
        dops: dops.filter(|chart| !chart.lines.is_empty()).collect(),
        steps: steps(document, queries),
        heats: queries
            .heat
            .iter()
            .filter(|map| map.streams.len() > 1)
            .map(|map| heat(document, map))
            .collect(),
        cores: measured(document, queries).into_iter().filter_map(core_row).collect(),
    }
}

/// Four decimals are more than a chart shows.
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

/// Placement, DOP and streams of a treatment.
pub fn about(own: &TreatmentQueries) -> String {
    let dop = own.dop.map(|dop| format!("DOP {dop}"));
    let streams = (own.streams != 1).then(|| format!("{} streams", own.streams));
    [Some(own.placement.clone()), dop, streams].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn panel(document: &Document, own: &TreatmentQueries) -> Panel {
    let bar = |(number, query): (&u8, &QueryEstimates)| {
        let speed = query.speed.as_ref().filter(|speed| speed.value.is_finite() && speed.value > 0.0)?;
        let (low, high) = ends(speed.low, speed.high);
        let changed = u8::from(query.plan_change == Change::Different);
        Some((
            *number,
            rounded(speed.value),
            low,
            high,
            u8::from(speed.effect),
            changed,
            speed.floor.and_then(end),
        ))
    };
    Panel {
        name: label(document, &own.treatment).to_owned(),
        about: about(own),
        mean: own.total.geometric.as_ref().filter(|mean| mean.value.is_finite()).map(|mean| {
            let (low, high) = ends(mean.low, mean.high);
            (rounded(mean.value), low, high)
        }),
        bars: own.queries.iter().filter_map(bar).collect(),
    }
}

/// A point's value and interval: queries per hour of streams, else the geometric mean of speeds, which
/// is 1 for the baseline.
fn point(document: &Document, queries: &Queries, own: &TreatmentQueries) -> Option<(f64, f64, f64)> {
    let total = &own.total;
    if queries.is_throughput {
        return total.queries_per_h.as_ref().map(|Interval { mean, low, high, .. }| (*mean, *low, *high));
    }
    match &total.geometric {
        Some(Ratio { value, low, high, .. }) => Some((*value, *low, *high)),
        None if role_words(document, &own.treatment) == Some("baseline") && own.blocks > 0 => {
            Some((1.0, f64::NAN, f64::NAN))
        }
        None => None,
    }
}

fn dop_lines(document: &Document, queries: &Queries, members: &[&TreatmentQueries]) -> Vec<DopLine> {
    let several = members.iter().any(|own| own.streams != members[0].streams);
    let mut lines: Vec<DopLine> = Vec::new();
    // A baseline's second run is in its point.
    for own in members.iter().filter(|own| !is_twin(document, &own.treatment)) {
        let Some((dop, (mean, low, high))) = own.dop.zip(point(document, queries, own)) else { continue };
        let streams = if several {
            format!(", {}", crate::text::counted(own.streams as usize, "stream"))
        } else {
            String::new()
        };
        let name = format!("{}{streams}", own.placement);
        let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            lines.push(DopLine { name, points: Vec::new() });
            lines.len() - 1
        });
        let (low, high) = ends(low, high);
        let treatment = label(document, &own.treatment).to_owned();
        lines[at].points.push((dop, rounded(mean), low, high, treatment));
    }
    lines.iter_mut().for_each(|line| line.points.sort_by_key(|point| point.0));
    lines
}

/// A step in words: `all, DOP 2 to 4`.
pub fn step_name(document: &Document, queries: &Queries, step: &DopStep) -> String {
    let several = queries.steps.iter().any(|other| other.streams != step.streams);
    let streams = if several {
        format!(", {}", crate::text::counted(step.streams as usize, "stream"))
    } else {
        String::new()
    };
    let words = document.group_words(crate::queries::group_of(document, &step.to));
    let group = if words.is_empty() { words } else { format!(" {words}") };
    format!("{}{streams}, DOP {} to {}{group}", step.placement, step.from_dop, step.to_dop)
}

/// Steps by their rows, in order of first appearance.
pub fn step_rows<'a>(
    document: &Document,
    queries: &'a Queries,
) -> Vec<(String, BTreeMap<Option<u8>, &'a DopStep>)> {
    let mut rows: Vec<(String, BTreeMap<Option<u8>, &DopStep>)> = Vec::new();
    for step in &queries.steps {
        let name = step_name(document, queries, step);
        let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, BTreeMap::new()));
            rows.len() - 1
        });
        rows[at].1.insert(step.query, step);
    }
    rows
}

fn steps(document: &Document, queries: &Queries) -> StepChart {
    let rows = step_rows(document, queries);
    let mut chart = StepChart { queries: queries.numbers.clone(), ..StepChart::default() };
    chart.queries.push(0);
    for (at, (name, steps)) in rows.into_iter().enumerate() {
        let linear = steps
            .values()
            .next()
            .map_or(1.0, |step| f64::from(step.to_dop) / f64::from(step.from_dop.max(1)));
        chart.rows.push((name, linear));
        for (query, step) in steps {
            let (low, high) = ends(step.speed.low, step.speed.high);
            let mark = match step.mark {
                StepMark::None => 0,
                StepMark::SuperScaling => 1,
                StepMark::PoorThenGood => 2,
            };
            let changed = u8::from(step.plan_change == Change::Different);
            if let Some(speed) = end(step.speed.value) {
                chart.cells.push((at, query.unwrap_or(0), speed, low, high, mark, changed));
            }
        }
    }
    chart
}

fn heat(document: &Document, map: &HeatMap) -> HeatChart {
    let cells = map.cells.iter().map(|cell| {
        let rate = &cell.queries_per_h;
        let (low, high) = ends(rate.low, rate.high);
        let treatment = label(document, &cell.treatment).to_owned();
        (cell.dop, cell.streams, rounded(rate.mean), low, high, treatment)
    });
    HeatChart {
        dops: map.dops.clone(),
        streams: map.streams.clone(),
        cells: cells.collect(),
        plateaus: map.plateaus.iter().map(|own| (own.streams, own.dop, own.best_dop)).collect(),
    }
}

fn core_row(own: &TreatmentQueries) -> Option<CoreRow> {
    let cores = own.cores.as_ref()?;
    Some(CoreRow {
        name: own.treatment.clone(),
        cores: cores.cores,
        engine: cores.engine_cpu_s.map(rounded),
        logical: rounded(cores.logical_s),
        low: rounded(cores.core_low_s),
        high: rounded(cores.core_high_s),
        elapsed: rounded(cores.elapsed_s),
    })
}

/// Query and elapsed time of a slice that executed one query alone.
pub fn only_query(slice: &Slice) -> Option<(u8, u64)> {
    let mut executed = slice.sessions.iter().flat_map(|session| &session.queries);
    let first = executed.next()?;
    executed.next().is_none().then_some((first.query, first.elapsed_ns))
}

/// Usual elapsed time of a query under a treatment: the median of its executions in valid runs.
pub fn usual(runs: &[Run]) -> BTreeMap<(&str, u8), f64> {
    let mut times: BTreeMap<(&str, u8), Vec<u64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.status.is_valid()) {
        for (query, elapsed_ns) in run.slices.iter().filter_map(only_query) {
            times.entry((run.treatment.as_str(), query)).or_default().push(elapsed_ns);
        }
    }
    let medians = times.into_iter().map(|(key, mut times)| {
        times.sort_unstable();
        let middle = times.len() / 2;
        let median = match times.len() % 2 {
            0 => (times[middle - 1] as f64 + times[middle] as f64) / 2.0,
            _ => times[middle] as f64,
        };
        (key, median)
    });
    medians.collect()
}
