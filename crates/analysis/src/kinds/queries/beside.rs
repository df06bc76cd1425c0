//! Short queries beside the streams: their latency over the DOP of the streams' queries.

use super::charts;
use super::found::{Found, bare};
use crate::estimate::MIN_STEPS;
use crate::queries::{DopLimit, ShortQueries};
use threadwise_document::chart::DopChart;
use threadwise_document::numbers::{counted, grouped, set_percent};
use threadwise_document::{
    Block, Cell, Chart, Column, Figure, Interval, Prose, Section, Shown, Table, prose,
};

/// The section; `None` without short queries.
pub fn section(found: Found<'_>) -> Option<Section> {
    if found.queries.short.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(about(found), Shown::Page)];
    let charts = charts::short(found);
    let wide = charts.len() == 1;
    let level = set_percent(found.facts.level());
    blocks.extend(charts.into_iter().map(|chart| {
        Block::Figure(Box::new(Figure {
            wide,
            title: found.facts.titled("99th percentile of short queries", &chart.group),
            description: format!(
                "Latency that 99% of the short queries stayed within, at each DOP of the streams' queries, with {level} \
                 intervals over blocks; a line is a placement."
            ),
            table: points(&chart).shown(Shown::Page),
            chart: Chart::Dops(chart),
        }))
    }));
    blocks.push(Block::Table(table(found)));
    Some(Section::new("short-queries", "Short queries beside", blocks))
}

/// What the chart shows.
fn points(chart: &DopChart) -> Table {
    let rows = chart.lines.iter().flat_map(|line| {
        line.points.iter().map(|(dop, ms, low, high, treatment)| {
            let ns = |ms: f64| ms * 1e6;
            let (low, high) = (low.map_or(f64::NAN, ns), high.map_or(f64::NAN, ns));
            let p99 = Interval { mean: ns(*ms), low, high, unit: "ns".to_owned() };
            let names = [Cell::text(&line.name), Cell::text(treatment)];
            names.into_iter().chain([Cell::Count((*dop).into()), Cell::Interval(p99)]).collect()
        })
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let names = ["placement", "treatment"].map(Column::text);
    let figures = ["DOP", "p99"].map(Column::figure);
    Table::new("", names.into_iter().chain(figures).collect(), rows)
}

fn about(found: Found<'_>) -> Prose {
    prose!(
        "A short query looks up one order by its key. Its sessions execute one after the other from the start of the \
         streams until the last stream is done, each latency is the client's, and every answer was checked. A percentile is \
         that of a block, which needs {} short queries; ratios are to the lowest DOP of the same placement, and those of a \
         study are one family (Holm). A DOP keeps the 99th percentile where the upper end of its adjusted interval is within \
         {}, and raises it where the lower end is above 1 and the upper end is not.",
        Prose::figure(grouped(MIN_STEPS)),
        Prose::figure(set_percent(found.facts.study.design.margin))
    )
}

fn table(found: Found<'_>) -> Table {
    let columns = vec![
        Column::text("treatment"),
        Column::text("placement").shown(Shown::Page),
        Column::figure("DOP"),
        Column::figure("short/s").shorten_at(1).drop_at(3),
        Column::figure("p50").shorten_at(1).drop_at(2),
        Column::figure("p99").shorten_at(1),
        Column::figure("p99 ratio").shorten_at(1),
        Column::text("p99 is"),
        Column::figure("queries/h ratio").shorten_at(1).drop_at(4),
    ];
    let rows = found.queries.short.iter().map(|row| {
        let judged = match row.treatment == row.lowest {
            true => Cell::text("lowest DOP"),
            false => Cell::text(judged(found, row)),
        };
        let interval = |interval: Option<&Interval>| Cell::interval(interval);
        vec![
            Cell::text(found.label_of(&row.treatment)),
            Cell::text(&row.placement),
            Cell::Count(row.dop.into()),
            interval(row.short_per_s.as_ref()),
            interval(row.latency_ns_p50.as_ref()),
            interval(row.latency_ns_p99.as_ref()),
            bare(row.p99.as_ref()),
            judged,
            bare(row.throughput.as_ref()),
        ]
    });
    let sessions = found.queries.short.first().map_or(0, |first| first.sessions);
    let caption = prose!(
        "Latency of short queries, {} beside the streams; ratios to the lowest DOP of the placement",
        counted(sessions as usize, "session")
    );
    Table::new(caption, columns, rows)
}

/// The limit that a row belongs to.
fn limit_of<'a>(found: Found<'a>, row: &ShortQueries) -> Option<&'a DopLimit> {
    found.queries.short_limits.iter().find(|limit| limit.lowest == row.lowest)
}

/// What is said of a DOP's percentile.
fn judged(found: Found<'_>, row: &ShortQueries) -> String {
    let Some(ratio) = &row.p99 else {
        return format!("not known: {} in a block", grouped(row.fewest_in_a_block));
    };
    let is_open = limit_of(found, row).is_some_and(|limit| limit.undecided_dops.contains(&row.dop));
    match (is_open, ratio.is_higher()) {
        (true, _) => "not decided".to_owned(),
        (false, true) => "higher".to_owned(),
        (false, false) => format!("within {}", set_percent(ratio.margin)),
    }
}
