//! Every slice in time order: drift shows as a slope that all treatments have in common.

use crate::Facts;
use crate::commands::elapsed_ns;
use crate::drift;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::chart::SliceChart;
use threadwise_document::numbers::compact;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Section, Shown, Table, prose};
use threadwise_study::workload::Nouns;
use threadwise_study::{Run, Slice, Study};

/// Most points of the chart: more make a browser slow and a chart no clearer.
pub const MAX_POINTS: usize = 20_000;

/// Names with a colour: the same treatment of another group has the same one.
pub fn labels(facts: &Facts<'_>) -> Vec<String> {
    places(facts).0
}

/// The labels, and each treatment's group and index among them.
fn places<'a>(facts: &Facts<'a>) -> (Vec<String>, BTreeMap<&'a str, (&'a str, usize)>) {
    let mut names: Vec<String> = Vec::new();
    let mut places = BTreeMap::new();
    for treatment in &facts.study.treatments {
        let label = facts.label(&treatment.name, &treatment.group);
        let at = names.iter().position(|name| name == label).unwrap_or_else(|| {
            names.push(label.to_owned());
            names.len() - 1
        });
        places.insert(treatment.name.as_str(), (treatment.group.as_str(), at));
    }
    (names, places)
}

/// A treatment's index among the labels.
pub fn label_of(facts: &Facts<'_>, treatment: &str) -> Option<usize> {
    places(facts).1.get(treatment).map(|(_, at)| *at)
}

/// The section.
pub fn section(facts: &Facts<'_>) -> Section {
    let nouns = &facts.study.nouns();
    let study = facts.study;
    let (charts, total) = charts(facts);
    let what = match () {
        () if has_single_queries(facts) => {
            "Each execution's speed over the usual one (the median) of its query and treatment".to_owned()
        }
        () if study.runs_whole() => "Elapsed time of each run".to_owned(),
        () => format!("{} of each slice", nouns.rate_in_full),
    };
    let shown: usize = charts.iter().map(|chart| chart.points.len()).sum();
    let thinned = match shown < total {
        true => format!(
            " Of {total} slices {shown} are drawn, one in {} of each treatment: more than {MAX_POINTS} points would slow \
             the page down. `threadwise export --what slices` writes them all.",
            total.div_ceil(MAX_POINTS)
        ),
        false => String::new(),
    };
    let within = if study.runs_whole() { "blocks" } else { "rounds" };
    let about = prose!(
        "A machine that slows down or speeds up during the study shows here as a slope common to all treatments; the \
         ratios above are taken within {}, where it cancels.{}",
        within,
        thinned
    );
    let title = if study.runs_whole() { "Every run in time order" } else { "Every slice in time order" };
    let levels = drift::figures(facts);
    let figures = charts.into_iter().map(|chart| {
        Block::Figure(Box::new(Figure {
            wide: true,
            title: facts.titled(title, &chart.group),
            description: format!("{what}; thin lines mark the starts of blocks."),
            table: block_means(facts, nouns, &chart.group).shown(Shown::Page),
            chart: Chart::Slices(chart),
        }))
    });
    let about = std::iter::once(Block::Text(about, Shown::Page));
    Section::new("time", "Drift", about.chain(levels).chain(figures).collect())
}

/// Whether slices are single executions of queries.
fn has_single_queries(facts: &Facts<'_>) -> bool {
    facts.analysis.queries.as_ref().is_some_and(|queries| !queries.is_throughput)
}

/// Slices of valid runs in time order. Above [`MAX_POINTS`] every k-th of each treatment is kept: counted within a
/// treatment, so that none is thinned more than another.
fn charts(facts: &Facts<'_>) -> (Vec<SliceChart>, usize) {
    let (_, places) = places(facts);
    let valid = || facts.runs.iter().filter(|run| run.status.is_valid());
    let total: usize = valid().map(|run| run.slices.len()).sum();
    let step = total.div_ceil(MAX_POINTS).max(1);
    let usual = has_single_queries(facts).then(|| usual(facts.runs));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut charts: Vec<SliceChart> = Vec::new();
    for run in valid() {
        let Some((group, label)) = places.get(run.treatment.as_str()) else { continue };
        let at = charts.iter().position(|chart| chart.group == *group).unwrap_or_else(|| {
            charts.push(SliceChart { group: (*group).to_owned(), ..SliceChart::default() });
            charts.len() - 1
        });
        let count = seen.entry(&run.treatment).or_default();
        for slice in &run.slices {
            if count.is_multiple_of(step)
                && let Some((value, query)) = drawn(facts.study, run, slice, usual.as_ref())
            {
                let start_s = (slice.start_ns as f64 / 1e6).round() / 1e3;
                charts[at].points.push((start_s, value, *label, run.block, slice.round));
                charts[at].queries.extend(query);
            }
            *count += 1;
        }
    }
    charts.iter_mut().for_each(in_time_order);
    let order = facts.study.groups();
    charts.sort_by_key(|chart| order.iter().position(|group| *group == chart.group));
    (charts, total)
}

/// Plotted value of a slice: its rate; for a command its elapsed seconds; for a single execution its speed over the
/// usual one of its query and treatment, with the query, since rates of different queries say nothing about drift.
fn drawn(
    study: &Study,
    run: &Run,
    slice: &Slice,
    usual: Option<&BTreeMap<(&str, u8), f64>>,
) -> Option<(f64, Option<u8>)> {
    let Some(usual) = usual else {
        let value = match study.runs_whole() {
            true => (elapsed_ns(slice) / 1e3).round() / 1e6,
            false => (slice.rows_per_s() * 10.0).round() / 10.0,
        };
        return Some((value, None));
    };
    let (query, elapsed_ns) = slice.only_query()?;
    let speed = usual.get(&(run.treatment.as_str(), query))? / elapsed_ns.max(1) as f64;
    Some(((speed * 1e3).round() / 1e3, Some(query)))
}

/// Usual elapsed time of a query under a treatment: the median of its executions in valid runs.
fn usual(runs: &[Run]) -> BTreeMap<(&str, u8), f64> {
    let mut times: BTreeMap<(&str, u8), Vec<u64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.status.is_valid()) {
        for (query, elapsed_ns) in run.slices.iter().filter_map(Slice::only_query) {
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

fn in_time_order(chart: &mut SliceChart) {
    let mut order: Vec<usize> = (0..chart.points.len()).collect();
    order.sort_by(|&a, &b| chart.points[a].0.total_cmp(&chart.points[b].0));
    chart.points = order.iter().map(|&at| chart.points[at]).collect();
    if !chart.queries.is_empty() {
        chart.queries = order.iter().map(|&at| chart.queries[at]).collect();
    }
}

/// Mean rate by block and treatment of a group, for single executions their sum: the slices themselves are too many to
/// read.
fn block_means(facts: &Facts<'_>, nouns: &Nouns, group: &str) -> Table {
    let treatments: Vec<_> = facts.study.treatments.iter().filter(|t| t.group == group).collect();
    let mut means: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    let single = has_single_queries(facts);
    for run in facts.runs.iter().filter(|run| run.status.is_valid() && !run.slices.is_empty()) {
        let value = |slice: &Slice| match () {
            () if single => slice.window_ns as f64 / 1e9,
            () if facts.study.runs_whole() => elapsed_ns(slice) / 1e9,
            () => slice.rows_per_s(),
        };
        let sum: f64 = run.slices.iter().map(value).sum();
        let count = if single { 1.0 } else { run.slices.len() as f64 };
        means.insert((run.block, run.treatment.as_str()), sum / count);
    }
    let blocks: BTreeSet<u32> = means.keys().map(|(block, _)| *block).collect();
    let rows = blocks.iter().map(|&block| {
        let mean = |name: &str| {
            means.get(&(block, name)).map_or_else(Cell::none, |mean| Cell::text(compact(*mean, 4)))
        };
        let cells = treatments.iter().map(|treatment| mean(&treatment.name));
        std::iter::once(Cell::text(block.to_string())).chain(cells).collect()
    });
    let labels = treatments.iter().map(|treatment| Column::figure(facts.label(&treatment.name, group)));
    let columns = std::iter::once(Column::text("block")).chain(labels).collect();
    let rate = nouns.rate.replace("/s", " per second");
    let caption = match single {
        true => "Sum of a block's executions, seconds".to_owned(),
        false if facts.study.runs_whole() => "Elapsed of each block's run, seconds".to_owned(),
        false => format!("Mean of a block's slices, {rate}"),
    };
    Table::new(caption, columns, rows)
}
