//! The tables of the page: those beside charts, and the full table of treatments.

use super::charts::{compared, group_of};
use super::data::{Charts, RateChart, RatioChart, TableView, Usage};
use crate::text::{compact, metric, metric_bounds, ratio, runs_words, share};
use crate::words::{has_runs, words};
use crate::{Document, Mark, THROUGHPUT};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_analysis::TreatmentSummary;
use threadwise_analysis::commands::elapsed_ns;
use threadwise_study::{Role, Slice};

/// A table from its parts.
pub fn view(caption: &str, headers: &[&str], text_columns: usize, rows: Vec<Vec<String>>) -> TableView {
    TableView {
        caption: caption.to_owned(),
        headers: headers.iter().map(|header| (*header).to_owned()).collect(),
        text_columns,
        rows,
    }
}

/// The same text with a capital at its start.
pub fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// Throughput of a group.
pub fn rates(charts: &Charts, chart: &RateChart) -> TableView {
    let rows = chart.points.iter().map(|point| {
        vec![
            charts.labels[point.label].clone(),
            point.placement.clone(),
            point.sessions.to_string(),
            compact(point.mean, 4),
            compact(point.low, 4),
            compact(point.high, 4),
        ]
    });
    let (sessions, rate) = (charts.words.sessions, charts.words.rate);
    let headers = ["treatment", "placement", sessions, rate, "low", "high"];
    view(&format!("Throughput, {}", rate.replace("/s", " per second")), &headers, 2, rows.collect())
}

/// Ratios of a group.
pub fn ratios(chart: &RatioChart, what: &str) -> TableView {
    let rows = chart.rows.iter().map(|row| {
        let figures = [row.value, row.low, row.high].map(ratio);
        [row.label.clone(), row.against.clone(), row.mark.to_owned()].into_iter().chain(figures).collect()
    });
    let caption = capital(&what.replace("/s", " per second"));
    view(&caption, &["comparison", "compared", "effect", "ratio", "low", "high"], 3, rows.collect())
}

/// Busy and steal by role.
pub fn roles(usage: &Usage) -> TableView {
    let rows = usage.rows.iter().map(|row| {
        let cells = row.roles.iter().flat_map(|role| match role {
            Some((busy, steal)) => [share(*busy), share(*steal)],
            None => ["-".to_owned(), "-".to_owned()],
        });
        std::iter::once(row.name.clone()).chain(cells).collect()
    });
    let headers = [
        "treatment",
        "used: busy",
        "used: steal",
        "idle siblings: busy",
        "idle siblings: steal",
        "others: busy",
        "others: steal",
    ];
    view("Share of time by what a logical CPU was to the treatment", &headers, 1, rows.collect())
}

/// Busy (0) or steal (1) by CPU: treatments across, CPUs down, since there may be many.
pub fn by_cpu(usage: &Usage, steal: bool) -> TableView {
    let cell = |&(busy, stolen, _): &(f64, f64, f64)| share(if steal { stolen } else { busy });
    let rows = usage.cpus.iter().enumerate().map(|(at, cpu)| {
        let cells = usage.rows.iter().map(|row| row.cells.get(at).map_or("-".to_owned(), cell));
        std::iter::once(cpu.clone()).chain(cells).collect()
    });
    let headers: Vec<&str> =
        std::iter::once("logical CPU").chain(usage.rows.iter().map(|row| row.name.as_str())).collect();
    let caption =
        if steal { "Stolen share of time by logical CPU" } else { "Busy share of time by logical CPU" };
    view(caption, &headers, 1, rows.collect())
}

/// Mean rate by block and treatment of a group, of single executions their sum: the slices themselves
/// are too many to read.
pub fn block_means(document: &Document, group: &str) -> TableView {
    let treatments: Vec<_> = document.study.treatments.iter().filter(|t| t.group == group).collect();
    let mut means: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    let single = document.analysis.queries.as_ref().is_some_and(|queries| !queries.is_throughput);
    for run in document.runs.iter().filter(|run| run.status.is_valid() && !run.slices.is_empty()) {
        let of = |slice: &Slice| match () {
            () if single => slice.window_ns as f64 / 1e9,
            () if has_runs(document.study) => elapsed_ns(slice) / 1e9,
            () => slice.rows_per_s(),
        };
        let sum: f64 = run.slices.iter().map(of).sum();
        let count = if single { 1.0 } else { run.slices.len() as f64 };
        means.insert((run.block, run.treatment.as_str()), sum / count);
    }
    let blocks: BTreeSet<u32> = means.keys().map(|(block, _)| *block).collect();
    let rows = blocks.iter().map(|&block| {
        let mean = |name: &str| means.get(&(block, name)).map_or("-".to_owned(), |mean| compact(*mean, 4));
        let cells = treatments.iter().map(|treatment| mean(&treatment.name));
        std::iter::once(block.to_string()).chain(cells).collect()
    });
    let labels = treatments.iter().map(|treatment| document.label(&treatment.name, group));
    let headers: Vec<&str> = std::iter::once("block").chain(labels).collect();
    let unit = words(document.study).rate.replace("/s", " per second");
    let caption = match single {
        true => "Sum of a block's executions, seconds".to_owned(),
        false if has_runs(document.study) => "Elapsed of each block's run, seconds".to_owned(),
        false => format!("Mean of a block's slices, {unit}"),
    };
    view(&caption, &headers, 1, rows.collect())
}

/// The full table of a group's treatments.
pub fn treatments(document: &Document, group: &str, members: &[&TreatmentSummary]) -> TableView {
    let ratio_to = format!("ratio to {}", document.baseline_label(group));
    let own = words(document.study);
    let headers = [
        "treatment",
        "placement",
        own.sessions,
        own.rate,
        "interval",
        &ratio_to,
        "interval",
        "effect",
        "p50",
        "p99",
        own.cpu,
        if own.row == "row" { "reads/row" } else { "reads/query" },
        "busy",
        "steal",
        "runs",
    ];
    let rows = members.iter().map(|summary| treatment_row(document, group, summary)).collect();
    view(format!("Treatments {}", document.group_words(group)).trim_end(), &headers, 2, rows)
}

fn treatment_row(document: &Document, group: &str, summary: &TreatmentSummary) -> Vec<String> {
    let none = || "-".to_owned();
    let value = |name: &str| summary.metrics.get(name).map_or_else(none, |i| metric(i.mean, &i.unit));
    let role = document.study.treatment(&summary.name).map(|(_, treatment)| treatment.role);
    let (centre, interval, mark) = match document.ratio(&summary.name) {
        Some(e) => {
            (ratio(e.value), format!("[{}, {}]", ratio(e.low), ratio(e.high)), Mark::of(e).words().to_owned())
        }
        None if role == Some(Role::Baseline) => (none(), none(), "baseline".to_owned()),
        None if role == Some(Role::BaselineTwin) => (none(), none(), "baseline again".to_owned()),
        None => (none(), none(), none()),
    };
    vec![
        document.label(&summary.name, group).to_owned(),
        summary.placement.clone(),
        summary.sessions.to_string(),
        value(THROUGHPUT),
        summary.metrics.get(THROUGHPUT).map_or_else(none, metric_bounds),
        centre,
        interval,
        mark,
        value("latency_ns_p50"),
        value("latency_ns_p99"),
        value("cpu_ns_per_row"),
        value("reads_per_row"),
        value("busy_share"),
        value("steal_share"),
        runs_words(summary),
    ]
}

/// What an estimate is of: group, comparison, what is compared.
pub fn estimate_name(document: &Document, estimate: &threadwise_analysis::Estimate) -> [String; 3] {
    let group = group_of(document, estimate);
    let [label, against] = compared(document, estimate, group);
    [group.to_owned(), label, against]
}
