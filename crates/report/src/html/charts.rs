//! The charts' data from a document.

use super::activity::wait_chart;
use super::commands;
use super::data::{ChartWords, Charts, RateChart, RatePoint, RatioChart, RatioRow, SliceChart};
use super::heat::pair_chart;
use super::queries;
use super::usage::usage;
use super::worklist;
use crate::text::ratio_interval;
use crate::words::{has_queries, has_runs, words};
use crate::{Document, THROUGHPUT};
use std::collections::BTreeMap;
use threadwise_analysis::Estimate;
use threadwise_analysis::commands::elapsed_ns;
use threadwise_study::{Comparison, Run, Slice, Study};

/// More points than this make a browser slow and a chart no clearer.
pub const MAX_POINTS: usize = 20_000;

/// All charts, and how many slices there are in all.
pub fn charts(document: &Document) -> (Charts, usize) {
    let labels = labels(document);
    let own = document.analysis.queries.as_ref();
    let runs = document.analysis.commands.as_ref();
    let (slices, total) = slice_charts(document, &labels);
    let charts = Charts {
        simulated: document.is_simulated(),
        throughput: if own.is_some() || runs.is_some() { Vec::new() } else { rate_charts(document, &labels) },
        ratios: match runs {
            Some(runs) => commands::ratio_charts(document, runs),
            None => ratio_charts(document),
        },
        values: runs.map(|runs| commands::value_charts(document, runs)).unwrap_or_default(),
        usage: usage(document),
        slices,
        words: chart_words(document),
        waits: wait_chart(document),
        hardware: document.probe.zip(document.hardware).map(|(probe, hardware)| pair_chart(probe, hardware)),
        labels: labels.names,
        queries: own.map(|own| queries::charts(document, own)),
        worklist: document.analysis.worklist.as_ref().map(|own| worklist::charts(document, own)),
    };
    (charts, total)
}

/// Whether slices are single executions of queries, which differ by what they execute.
fn has_single_queries(document: &Document) -> bool {
    document.analysis.queries.as_ref().is_some_and(|queries| !queries.is_throughput)
}

fn chart_words(document: &Document) -> ChartWords {
    let words = words(document.study);
    if has_runs(document.study) {
        let (rate, slice) = ("s", "elapsed, s");
        return ChartWords { rate, ratio: "ratio", slice, sessions: words.sessions };
    }
    let (ratio, slice) = match (has_queries(&document.study.workload), has_single_queries(document)) {
        (_, true) => ("geometric mean of the queries' speeds as a ratio", "speed over its usual"),
        (true, false) => ("ratio of queries/s", words.rate),
        (false, false) => ("ratio of rows/s", words.rate),
    };
    ChartWords { rate: words.rate, ratio, slice, sessions: words.sessions }
}

/// Names that colours stand for: the same one for the same treatment of another group.
struct Labels {
    names: Vec<String>,
    /// Group and label by treatment name.
    of: BTreeMap<String, (String, usize)>,
}

fn labels(document: &Document) -> Labels {
    let mut labels = Labels { names: Vec::new(), of: BTreeMap::new() };
    for treatment in &document.study.treatments {
        let label = document.label(&treatment.name, &treatment.group);
        let at = labels.names.iter().position(|name| name == label).unwrap_or_else(|| {
            labels.names.push(label.to_owned());
            labels.names.len() - 1
        });
        labels.of.insert(treatment.name.clone(), (treatment.group.clone(), at));
    }
    labels
}

fn rate_charts(document: &Document, labels: &Labels) -> Vec<RateChart> {
    let groups = document.groups().into_iter();
    groups
        .map(|(group, members)| {
            let measured = || members.iter().filter(|summary| summary.metrics.contains_key(THROUGHPUT));
            let names: Vec<&str> = measured().map(|summary| summary.name.as_str()).collect();
            let points: Vec<RatePoint> = measured()
                .filter_map(|summary| {
                    let rate = summary.metrics.get(THROUGHPUT)?;
                    let (_, label) = labels.of.get(&summary.name)?;
                    Some(RatePoint {
                        label: *label,
                        placement: summary.placement.clone(),
                        sessions: summary.sessions,
                        mean: rate.mean,
                        low: rate.low,
                        high: rate.high,
                    })
                })
                .collect();
            let steps = steps(document, &points, &names);
            let lines = if steps.is_empty() { sweeps(&points) } else { vec![steps] };
            RateChart { group: group.to_owned(), lines, points }
        })
        .collect()
}

/// The points of the study's own session sweep, the baseline first. A point of it may be a named
/// placement: two sessions on a machine of two cores are `same-package`.
fn steps(document: &Document, points: &[RatePoint], names: &[&str]) -> Vec<usize> {
    let steps = || document.study.comparisons.iter().filter(|comparison| comparison.kind == "sweep-step");
    let in_a_step = |name: &str| {
        let one_of =
            |step: &Comparison| step.treatment == name || step.baseline.iter().any(|below| below == name);
        steps().any(one_of)
    };
    let mut line: Vec<usize> = (0..points.len()).filter(|&at| in_a_step(names[at])).collect();
    if !line.is_empty() {
        line.insert(0, 0);
    }
    line.sort_by_key(|&at| points[at].sessions);
    line.dedup_by_key(|at| points[*at].sessions);
    line
}

/// Points that belong on one line: the same family of placements with different numbers of
/// sessions, begun at the baseline, which is the sweep's first point where it has fewer sessions.
fn sweeps(points: &[RatePoint]) -> Vec<Vec<usize>> {
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, point) in points.iter().enumerate() {
        families.entry(family(&point.placement)).or_default().push(at);
    }
    let mut lines = Vec::new();
    for mut line in families.into_values() {
        line.sort_by_key(|&at| points[at].sessions);
        line.dedup_by_key(|at| points[*at].sessions);
        if line.len() < 2 {
            continue;
        }
        if points.first().is_some_and(|baseline| baseline.sessions < points[line[0]].sessions) {
            line.insert(0, 0);
        }
        lines.push(line);
    }
    lines
}

/// A placement without its numbers of cores and packages: `spread:4` and `spread:8` are one
/// family, `4c1t` and `8c1t` too, `4c2t` is another.
fn family(placement: &str) -> String {
    let mut family = String::new();
    let mut digits = String::new();
    for c in placement.chars() {
        match c {
            '0'..='9' => digits.push(c),
            'c' | 's' if !digits.is_empty() => {
                family.push(c);
                digits.clear();
            }
            c => {
                family.push_str(&digits);
                digits.clear();
                family.push(c);
            }
        }
    }
    // A number at the end is the size of a sweep; that of a list or a path says where.
    if !matches!(family.as_str(), "spread:" | "packed:") {
        family.push_str(&digits);
    }
    family
}

fn ratio_charts(document: &Document) -> Vec<RatioChart> {
    let mut charts: Vec<RatioChart> = Vec::new();
    for estimate in document.throughput_ratios() {
        let group = group_of(document, estimate);
        let at = charts.iter().position(|chart| chart.group == group).unwrap_or_else(|| {
            let floor = document.analysis.noise_floors.iter().find(|floor| floor.group == group);
            let (floor_low, floor_high) = (floor.map(|f| (-f.floor).exp()), floor.map(|f| f.floor.exp()));
            let group = group.to_owned();
            let (metric, what, rows) = (String::new(), None, Vec::new());
            charts.push(RatioChart { group, metric, what, floor_low, floor_high, rows });
            charts.len() - 1
        });
        let figures = ratio_interval(estimate.ratio.value, estimate.ratio.low, estimate.ratio.high);
        charts[at].rows.push(ratio_row(document, estimate, group, figures));
    }
    charts
}

/// A ratio as it is drawn.
pub fn ratio_row(document: &Document, estimate: &Estimate, group: &str, figures: String) -> RatioRow {
    let [label, against] = compared(document, estimate, group);
    RatioRow {
        label,
        against,
        value: estimate.ratio.value,
        low: estimate.ratio.low,
        high: estimate.ratio.high,
        mark: document.mark_words(estimate),
        effect: estimate.ratio.effect,
        figures,
    }
}

/// The group of the treatment on top of an estimate.
pub fn group_of<'a>(document: &Document<'a>, estimate: &Estimate) -> &'a str {
    document.study.treatment(&estimate.treatment).map_or("", |(_, treatment)| &treatment.group)
}

/// What is compared, as a heading and its explanation: the treatment and `to alone` for a ratio to the
/// baseline (by its first name), the step for a sweep, the comparison's own name and `same-core to
/// one-cpu` for the rest.
pub fn compared(document: &Document, estimate: &Estimate, group: &str) -> [String; 2] {
    let top = document.label(&estimate.treatment, group);
    let mut names = estimate.baseline.split(" and ").map(|name| document.label(name, group));
    let below = names.next().unwrap_or("the baseline");
    match estimate.kind.as_str() {
        "baseline" => [top.to_owned(), format!("to {below}")],
        "sweep-step" => [top.to_owned(), format!("to {below} (sweep-step)")],
        _ => {
            let all: Vec<&str> = std::iter::once(below).chain(names).collect();
            let name = document.label(&estimate.name, group);
            [name.to_owned(), format!("{top} to {}", all.join(" and "))]
        }
    }
}

/// Slices of valid runs in time order. Above [`MAX_POINTS`] every k-th of each treatment is kept:
/// counted within a treatment, so that none is thinned more than another.
fn slice_charts(document: &Document, labels: &Labels) -> (Vec<SliceChart>, usize) {
    let valid = || document.runs.iter().filter(|run| run.status.is_valid());
    let total: usize = valid().map(|run| run.slices.len()).sum();
    let step = total.div_ceil(MAX_POINTS).max(1);
    let usual = if has_single_queries(document) { Some(queries::usual(document.runs)) } else { None };
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut charts: Vec<SliceChart> = Vec::new();
    for run in valid() {
        let Some((group, label)) = labels.of.get(&run.treatment) else { continue };
        let at = charts.iter().position(|chart| chart.group == *group).unwrap_or_else(|| {
            charts.push(SliceChart { group: group.clone(), ..SliceChart::default() });
            charts.len() - 1
        });
        let count = seen.entry(&run.treatment).or_default();
        for slice in &run.slices {
            if count.is_multiple_of(step)
                && let Some((value, query)) = drawn(document.study, run, slice, usual.as_ref())
            {
                let start_s = (slice.start_ns as f64 / 1e6).round() / 1e3;
                charts[at].points.push((start_s, value, *label, run.block, slice.round));
                charts[at].queries.extend(query);
            }
            *count += 1;
        }
    }
    charts.iter_mut().for_each(in_time_order);
    let order = document.study.groups();
    charts.sort_by_key(|chart| order.iter().position(|group| *group == chart.group));
    (charts, total)
}

/// What is drawn of a slice: its rate; of a command its elapsed seconds; of a single execution its speed over the usual one of its query
/// and treatment, with the query, since rates of different queries say nothing about drift.
fn drawn(
    study: &Study,
    run: &Run,
    slice: &Slice,
    usual: Option<&BTreeMap<(&str, u8), f64>>,
) -> Option<(f64, Option<u8>)> {
    let Some(usual) = usual else {
        let value = match has_runs(study) {
            true => (elapsed_ns(slice) / 1e3).round() / 1e6,
            false => (slice.rows_per_s() * 10.0).round() / 10.0,
        };
        return Some((value, None));
    };
    let (query, elapsed_ns) = queries::only_query(slice)?;
    let speed = usual.get(&(run.treatment.as_str(), query))? / elapsed_ns.max(1) as f64;
    Some(((speed * 1e3).round() / 1e3, Some(query)))
}

fn in_time_order(chart: &mut SliceChart) {
    let mut order: Vec<usize> = (0..chart.points.len()).collect();
    order.sort_by(|&a, &b| chart.points[a].0.total_cmp(&chart.points[b].0));
    chart.points = order.iter().map(|&at| chart.points[at]).collect();
    if !chart.queries.is_empty() {
        chart.queries = order.iter().map(|&at| chart.queries[at]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_are_lines_and_single_placements_are_not() {
        assert_eq!(family("spread:4"), family("spread:16"));
        assert_eq!(family("4c1t"), family("12c1t"));
        assert_ne!(family("4c1t"), family("4c2t"));
        assert_ne!(family("0-3"), family("0-7"));
        let point = |placement: &str, sessions| RatePoint {
            label: 0,
            placement: placement.to_owned(),
            sessions,
            mean: 1.0,
            low: 1.0,
            high: 1.0,
        };
        let points = [
            point("one-cpu", 1),
            point("one-cpu", 1),
            point("same-core", 2),
            point("spread:4", 4),
            point("spread:2", 2),
        ];
        assert_eq!(sweeps(&points), [vec![0, 4, 3]]);
    }
}
