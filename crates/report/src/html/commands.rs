//! The sections of a study of commands: the headline, everything else quantity by quantity, and the
//! table of all treatments.

use super::charts::{compared, group_of, ratio_row};
use super::data::{Charts, Figure, RatioChart, Section, TableView, ValueChart, ValueRow};
use super::page::titled;
use super::tables::{capital, view};
use crate::Document;
use crate::commands::{
    Row, better, bounds, cpu_heading, floor_words, heading, mark_words, ratio_words, rows, value,
    with_interval,
};
use crate::text::{ratio, runs_words, set_share, share, significant};
use crate::worklist::is_reported;
use threadwise_analysis::commands::{BUSY_CPUS, Commands, ELAPSED, MEMORY, Quantity};
use threadwise_analysis::{Estimate, Interval, TreatmentSummary};

/// Values of every quantity in every group that has any.
pub fn value_charts(document: &Document, commands: &Commands) -> Vec<ValueChart> {
    let mut charts = Vec::new();
    for quantity in &commands.quantities {
        for (group, _) in document.groups() {
            let group_rows = rows(document, group, quantity);
            let known: Vec<(&Row<'_>, &Interval)> =
                group_rows.iter().filter_map(|row| Some((row, row.value?))).collect();
            let most = known.iter().map(|(_, own)| own.mean.abs()).fold(0.0, f64::max);
            let (scale, unit) = scale(quantity, most);
            let rows = known.into_iter().map(|(row, own)| value_row(quantity, row, own, scale)).collect();
            let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
            charts.push(ValueChart {
                metric: quantity.metric.clone(),
                group: group.to_owned(),
                what: format!("{}{unit}", quantity.name),
                rows,
            });
        }
    }
    charts.retain(|chart| !chart.rows.is_empty());
    charts
}

fn value_row(quantity: &Quantity, row: &Row<'_>, own: &Interval, scale: f64) -> ValueRow {
    let end = |end: f64| own.high.is_finite().then_some(end / scale);
    ValueRow {
        label: row.label.to_owned(),
        against: if row.is_baseline() {
            "baseline, twice".to_owned()
        } else {
            row.treatment.placement.clone()
        },
        mean: own.mean / scale,
        low: end(own.low),
        high: end(own.high),
        figures: match own.high.is_finite() {
            true => with_interval(quantity, own),
            false => value(quantity, own.mean),
        },
    }
}

/// What values are divided by, and the unit that they then have.
fn scale(quantity: &Quantity, most: f64) -> (f64, &str) {
    match quantity.unit.as_str() {
        "1" => (1.0, ""),
        _ if quantity.is_said => (1.0, &quantity.unit),
        "ns" if most >= 1e9 => (1e9, "s"),
        "ns" => (1e6, "ms"),
        "bytes" if most >= 1024.0 * MIB => (1024.0 * MIB, "GiB"),
        "bytes" => (MIB, "MiB"),
        unit => (1.0, unit),
    }
}

const MIB: f64 = 1024.0 * 1024.0;

/// Ratios of every quantity in every group, those with the baseline and others.
pub fn ratio_charts(document: &Document, commands: &Commands) -> Vec<RatioChart> {
    let mut charts = Vec::new();
    for quantity in &commands.quantities {
        for (group, _) in document.groups() {
            let all = document.analysis.estimates.iter();
            let own = all.filter(|own| own.metric == quantity.metric && group_of(document, own) == group);
            let rows: Vec<_> =
                own.map(|estimate| ratio_row(document, estimate, group, figures_of(estimate))).collect();
            let floor = document.analysis.floor(group, &quantity.metric).map(|floor| floor.floor);
            let floor = floor.filter(|floor| floor.is_finite());
            charts.push(RatioChart {
                group: group.to_owned(),
                metric: quantity.metric.clone(),
                what: Some(format!("ratio of {}", quantity.name)),
                floor_low: floor.map(|floor| (-floor).exp()),
                floor_high: floor.map(f64::exp),
                rows,
            });
        }
    }
    charts.retain(|chart| !chart.rows.is_empty());
    charts
}

/// Figures beside a drawn ratio, which has room for no more.
fn figures_of(estimate: &Estimate) -> String {
    match estimate.high.is_finite() {
        true => ratio_words(estimate),
        false => format!("{}x", ratio(estimate.value)),
    }
}

/// The headline's section, and that of everything else.
pub fn sections(document: &Document, commands: &Commands, charts: &Charts) -> Vec<Section> {
    let shown = commands.quantities.iter().filter(|own| !is_reported(document.analysis, own));
    let mut each = shown.map(|quantity| figures(document, quantity, charts));
    let headline = Section {
        id: "comparison",
        title: "Outcome",
        paragraphs: about(commands),
        figures: each.next().unwrap_or_default(),
        ..Section::default()
    };
    let gaps = commands.gap_lines();
    let gaps = (!gaps.is_empty()).then(|| {
        format!("There is no ratio, which needs numbers above 0 on both sides, of: {}.", gaps.join("; "))
    });
    let rest = Section {
        id: "metrics",
        title: "Everything that was measured",
        paragraphs: gaps.into_iter().collect(),
        figures: each.flatten().collect(),
        ..Section::default()
    };
    vec![headline, rest]
}

fn about(commands: &Commands) -> Vec<String> {
    let what = match commands.is_per_session {
        true => {
            "Every session is a process of its own, and all start together. Elapsed is the time from the common \
             start to the end of the last one; memory is the most that they had together, as far as it was seen."
        }
        false => "One process has the whole placement. Elapsed is the time from its start to its end.",
    };
    let others = if commands.differs { " (the first of several, which differ by treatment)" } else { "" };
    vec![
        format!("The command{others}: {}", commands.command),
        format!(
            "{what} A ratio is a treatment over its baseline, which runs twice in every block; better and worse \
             say which side of 1 is meant."
        ),
    ]
}

/// A quantity with its unit, as a heading; a metric's name stays as its user wrote it.
fn title(quantity: &Quantity) -> String {
    if quantity.is_said { heading(quantity) } else { capital(&heading(quantity)) }
}

/// Values and ratios of one quantity, side by side for each group.
fn figures(document: &Document, quantity: &Quantity, charts: &Charts) -> Vec<Figure> {
    let level = set_share(document.level());
    let mut figures = Vec::new();
    let better = match better(quantity) {
        "" => String::new(),
        better => format!(" {}.", capital(better)),
    };
    for (index, chart) in charts.values.iter().enumerate().filter(|(_, own)| own.metric == quantity.metric) {
        let table = value_table(document, quantity, chart);
        let of_group =
            |own: &&(usize, &RatioChart)| own.1.metric == quantity.metric && own.1.group == chart.group;
        let ratios = charts.ratios.iter().enumerate().find(|own| of_group(&own));
        figures.push(Figure {
            chart: "values",
            index,
            wide: ratios.is_none(),
            title: titled(document, &title(quantity), &chart.group),
            description: format!("Means over blocks with {level} intervals.{better}"),
            table,
        });
        let Some((index, own)) = ratios else { continue };
        figures.push(Figure {
            chart: "ratios",
            index,
            wide: false,
            title: titled(document, &format!("Ratio of {}", quantity.name), &chart.group),
            description: format!(
                "With {level} intervals. A filled dot is an effect, a hollow one is not. {}",
                band_words(document, &chart.group, &quantity.metric)
            ),
            table: ratio_table(document, quantity, own),
        });
    }
    figures
}

/// What the band of a chart of ratios is; without A/A there is none.
fn band_words(document: &Document, group: &str, metric: &str) -> String {
    match floor_words(document, group, metric).as_str() {
        known if known.contains('±') => format!("The band around 1 is the {known}."),
        unknown => format!("{}.", capital(unknown)),
    }
}

fn value_table(document: &Document, quantity: &Quantity, chart: &ValueChart) -> TableView {
    let group_rows = rows(document, &chart.group, quantity);
    let known = group_rows.iter().filter_map(|row| Some((row, row.value?)));
    let cells = known.map(|(row, own)| {
        let (label, placement) = (row.label.to_owned(), row.treatment.placement.clone());
        vec![label, placement, value(quantity, own.mean), bounds(quantity, own)]
    });
    view(&title(quantity), &["treatment", "placement", &quantity.name, "interval"], 2, cells.collect())
}

fn ratio_table(document: &Document, quantity: &Quantity, chart: &RatioChart) -> TableView {
    let own = document.analysis.estimates.iter().filter(|own| own.metric == quantity.metric);
    let cells = own.filter(|own| group_of(document, own) == chart.group).map(|estimate| {
        let [label, against] = compared(document, estimate, &chart.group);
        let figures = [estimate.value, estimate.low, estimate.high].map(ratio);
        [label, against, mark_words(estimate).to_owned()].into_iter().chain(figures).collect()
    });
    let caption = format!("Ratio of {}", quantity.name);
    view(&caption, &["comparison", "compared", "effect", "ratio", "low", "high"], 3, cells.collect())
}

/// The full tables: times and costs, then every metric; the baseline and its twin one by one.
pub fn all_treatments(document: &Document, commands: &Commands) -> Section {
    let said = commands.quantities.iter().any(|quantity| quantity.is_said);
    let tables = document.groups().into_iter().flat_map(|(group, members)| {
        let own = [
            Some(treatments(document, commands, group, &members)),
            said.then(|| metrics(document, commands, group, &members)),
        ];
        own.into_iter().flatten().collect::<Vec<TableView>>()
    });
    Section { id: "table", title: "All treatments", tables: tables.collect(), ..Section::default() }
}

fn treatments(
    document: &Document,
    commands: &Commands,
    group: &str,
    members: &[&TreatmentSummary],
) -> TableView {
    let mut headers = vec!["treatment", "placement"];
    headers.extend(commands.is_per_session.then_some("processes"));
    let cpu = commands.cpu().map(cpu_heading);
    headers.extend(["elapsed", "interval"]);
    headers.extend(cpu.iter().flat_map(|heading| [heading.as_str(), "interval"]));
    headers.extend(["busy CPUs", "interval"]);
    headers.extend(["peak memory", "interval", "steal", "runs"]);
    let cells = members.iter().map(|own| {
        let of = |metric: &str| pair(own, commands.quantity(metric));
        let busy = match own.metrics.get(BUSY_CPUS) {
            Some(busy) => {
                let words = |value: f64| significant(value, 3);
                [words(busy.mean), crate::activity::bounds(busy, words)]
            }
            None => none(),
        };
        let steal = own.metrics.get("steal_share").map_or_else(|| "-".to_owned(), |own| share(own.mean));
        let mut row = vec![document.label(&own.name, group).to_owned(), own.placement.clone()];
        row.extend(commands.is_per_session.then(|| own.sessions.to_string()));
        row.extend(of(ELAPSED));
        row.extend(commands.cpu().into_iter().flat_map(|cpu| of(&cpu.metric)));
        row.extend([busy, of(MEMORY)].concat());
        row.extend([steal, runs_words(own)]);
        row
    });
    view(format!("Treatments {}", document.group_words(group)).trim_end(), &headers, 2, cells.collect())
}

/// Metric by metric and treatment by treatment.
fn metrics(
    document: &Document,
    commands: &Commands,
    group: &str,
    members: &[&TreatmentSummary],
) -> TableView {
    let mut cells = Vec::new();
    for quantity in commands.quantities.iter().filter(|quantity| quantity.is_said) {
        for own in members {
            let estimate = document.ratio_of(&own.name, &quantity.metric);
            let comparison = document.study.comparisons.iter();
            let comparison = comparison.filter(|c| c.treatment == own.name && c.kind == "baseline");
            let gap = comparison.filter_map(|c| commands.gap(&c.name, &quantity.metric)).next();
            let (figures, mark) = match (estimate, gap) {
                (Some(estimate), _) => (ratio_words(estimate), mark_words(estimate).to_owned()),
                (None, Some(gap)) => ("-".to_owned(), format!("no ratio: {}", gap.reason)),
                (None, None) => ("-".to_owned(), "-".to_owned()),
            };
            let names = [quantity.name.clone(), document.label(&own.name, group).to_owned()];
            let about = [quantity.unit.clone(), better(quantity).to_owned(), mark];
            let row = names.into_iter().chain(about).chain(pair(own, Some(quantity))).chain([figures]);
            cells.push(row.collect());
        }
    }
    let headers = ["metric", "treatment", "unit", "direction", "effect", "mean", "interval", "ratio"];
    let caption = format!("What the output said {}", document.group_words(group));
    view(caption.trim_end(), &headers, 5, cells)
}

/// Value and interval as two cells.
fn pair(own: &TreatmentSummary, quantity: Option<&Quantity>) -> [String; 2] {
    let known = quantity.and_then(|quantity| Some((quantity, own.metrics.get(&quantity.metric)?)));
    known.map_or_else(none, |(quantity, own)| [value(quantity, own.mean), bounds(quantity, own)])
}

fn none() -> [String; 2] {
    ["-", "-"].map(str::to_owned)
}
