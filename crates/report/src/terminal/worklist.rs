//! A study of work lists: seconds per item, the whole list and the steps of speed by number of jobs, and
//! what other schedules would have taken.

use super::lines::{Aligned, columns, flow, wrap};
use super::queries::ruled;
use super::{DIM, NONE, Style, paint_signs};
use crate::Document;
use crate::text::{plain, share};
use crate::worklist::{
    Over, Row, distinct, duration, is_sweep, item_words, jobs_words, levels, list_words, mark, overs,
    ratio_words, row, rows,
};
use threadwise_analysis::worklist::{Point, Series, Speed, Worklist};

/// Columns of a number of jobs in a series; the last only where there are steps.
const HEADERS: [&str; 4] = ["s/item", "list", "idle", "step"];

/// How the table is laid out.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Series side by side, a row for each number of jobs; else one below the other.
    beside: bool,
    /// Intervals by their ends; else by the longer side's share.
    full: bool,
    /// Ratios of two series as columns; else below the table.
    pairs: bool,
}

/// The widest first.
const SHAPES: [Shape; 5] = [
    Shape { beside: true, full: true, pairs: true },
    Shape { beside: true, full: false, pairs: true },
    Shape { beside: false, full: true, pairs: true },
    Shape { beside: false, full: false, pairs: true },
    Shape { beside: false, full: false, pairs: false },
];

/// The section; empty where nothing was measured.
pub fn worklist(document: &Document, style: Style) -> String {
    let Some(own) = document.analysis.worklist.as_ref().filter(|own| !rows(own).is_empty()) else {
        return String::new();
    };
    let line = |text: &str| plain(text, style.unicode);
    let mut text = lines_of(wrap(&line(&format!("work list: {}", list_words(own))), style.width));
    text.push_str(&table(document, own, style));
    text.push_str(&computed(own, style));
    let legend = [
        "list: time of the whole list",
        "idle: share of the jobs' time in which nothing was left to do",
        "step: speed over the row above",
    ];
    let used = if is_sweep(own) { legend.len() } else { legend.len() - 1 };
    let legend: Vec<String> = legend[..used].iter().flat_map(|text| wrap(&line(text), style.width)).collect();
    paint_signs(&text, style) + &style.paint(DIM, &legend.join("\n")) + "\n"
}

fn lines_of(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// A ratio of speeds with its sign.
fn signed(document: &Document, speed: &Speed, style: Style) -> String {
    format!("{} {}", style.sign(mark(document, speed)), ratio_words(&speed.ratio))
}

fn cells(document: &Document, row: &Row<'_>, full: bool, style: Style) -> [String; 4] {
    let none = || NONE.to_owned();
    let point = row.point;
    [
        item_words(&point.item_s, !full),
        point.total_s.as_ref().map_or_else(none, |own| duration(own.mean)),
        point.idle_share.as_ref().map_or_else(none, |own| share(own.mean)),
        row.step.map_or_else(none, |speed| signed(document, speed, style)),
    ]
}

fn table(document: &Document, own: &Worklist, style: Style) -> String {
    for shape in SHAPES.iter().filter(|shape| !shape.beside || own.series.len() > 1 && is_sweep(own)) {
        let table = match shape.beside {
            true => beside(document, own, *shape, style),
            false => below(document, own, *shape, style),
        };
        if table.lines().all(|line| columns(line) <= style.width) {
            let rest = if shape.pairs { String::new() } else { pairs(document, own, style) };
            return table + &rest;
        }
    }
    list(document, own, style) + &pairs(document, own, style)
}

/// Series side by side below their names.
fn beside(document: &Document, own: &Worklist, shape: Shape, style: Style) -> String {
    let overs = overs(own);
    let named = |over: &Over<'_>| format!("{}/{}", over.top, over.bottom);
    let names: Vec<String> = overs.iter().map(named).collect();
    let names = distinct(names.iter().map(String::as_str));
    let mut head = vec![String::new()];
    let mut header = vec!["jobs".to_owned()];
    for series in &own.series {
        head.push(series.label.clone());
        head.extend(vec![String::new(); HEADERS.len() - 1]);
        header.extend(HEADERS.map(str::to_owned));
    }
    header.extend(names.iter().map(|name| (*name).to_owned()));
    head.resize(header.len(), String::new());
    let mut table = vec![head, header];
    for jobs in levels(own) {
        let mut cells = vec![jobs.to_string()];
        for series in &own.series {
            let point = series.points.iter().find(|point| point.jobs == jobs);
            cells.extend(match point {
                Some(point) => self::cells(document, &row(series, point), shape.full, style),
                None => [NONE; 4].map(str::to_owned),
            });
        }
        for name in &names {
            let over = overs.iter().find(|over| over.pair.jobs == jobs && named(over) == *name);
            cells
                .push(over.map_or_else(|| NONE.to_owned(), |over| signed(document, &over.pair.speed, style)));
        }
        table.push(cells);
    }
    let steps = (1..=own.series.len()).map(|at| at * HEADERS.len());
    let left: Vec<usize> = steps.chain(1 + own.series.len() * HEADERS.len()..table[1].len()).collect();
    let lines = aligned(table, &left, style);
    // The names of series stand above the header.
    format!("{}\n{}", lines[0].trim_end(), ruled(&lines[1..], &[], style))
}

/// Rows padded to their columns.
fn aligned(table: Vec<Vec<String>>, left: &[usize], style: Style) -> Vec<String> {
    // Two spaces always: where there is no room for them the next shape is the better one.
    let plain_row = |row: Vec<String>| row.iter().map(|cell| plain(cell, style.unicode)).collect();
    let aligned = Aligned::new(table.into_iter().map(plain_row).collect(), left, usize::MAX);
    aligned.rows.iter().map(|row| row.join(aligned.gap).trim_end().to_owned()).collect()
}

/// Series one below the other, each after a line with its name.
fn below(document: &Document, own: &Worklist, shape: Shape, style: Style) -> String {
    let overs = if shape.pairs { overs(own) } else { Vec::new() };
    let bottoms = distinct(overs.iter().map(|over| over.bottom));
    let shown = if is_sweep(own) { HEADERS.len() } else { HEADERS.len() - 1 };
    let mut header = vec!["jobs".to_owned()];
    header.extend(HEADERS[..shown].iter().map(|name| (*name).to_owned()));
    header.extend(bottoms.iter().map(|bottom| format!("over {bottom}")));
    let mut table = vec![header];
    let mut heads: Vec<(usize, String)> = Vec::new();
    for series in &own.series {
        heads.push((table.len(), plain(&series.label, style.unicode)));
        for point in &series.points {
            let mut cells = vec![format!("  {}", point.jobs)];
            cells.extend(
                self::cells(document, &row(series, point), shape.full, style).into_iter().take(shown),
            );
            for bottom in &bottoms {
                let is = |over: &&Over<'_>| is_over(over, series, point) && over.bottom == *bottom;
                let over = overs.iter().find(is);
                cells.push(
                    over.map_or_else(|| NONE.to_owned(), |over| signed(document, &over.pair.speed, style)),
                );
            }
            table.push(cells);
        }
    }
    let left: Vec<usize> = (HEADERS.len()..table[0].len()).collect();
    ruled(&aligned(table, &left, style), &heads, style)
}

fn is_over(over: &Over<'_>, series: &Series, point: &Point) -> bool {
    over.top == series.label && over.pair.jobs == point.jobs
}

/// Ratios of two series, a line each.
fn pairs(document: &Document, own: &Worklist, style: Style) -> String {
    let ratios = overs(own).into_iter().map(|over| {
        let name = format!("{} over {}, {}", over.top, over.bottom, jobs_words(over.pair.jobs));
        [name, signed(document, &over.pair.speed, style)]
    });
    named_parts("speed at the same number of jobs", ratios.map(Vec::from).collect(), style)
}

/// A heading, and below it a line a row: a name and its figures. Empty where there is none.
fn named_parts(heading: &str, table: Vec<Vec<String>>, style: Style) -> String {
    if table.is_empty() {
        return String::new();
    }
    let mut text = lines_of(wrap(&plain(heading, style.unicode), style.width));
    let left: Vec<usize> = (0..table.iter().map(Vec::len).max().unwrap_or(0)).collect();
    let lines = aligned(table.clone(), &left, style);
    if lines.iter().all(|line| columns(line) + 2 <= style.width) {
        return text + &lines_of(lines.iter().map(|line| format!("  {line}")).collect());
    }
    for row in table {
        let row: Vec<String> = row.iter().map(|cell| plain(cell, style.unicode)).collect();
        let name = wrap(&row[0], style.width.saturating_sub(2)).into_iter().map(|line| format!("  {line}"));
        let room = style.width.saturating_sub(4).max(20);
        let rest = flow(&row[1..], room).into_iter().map(|line| format!("    {line}"));
        text.push_str(&lines_of(name.chain(rest).collect()));
    }
    text
}

/// Each number of jobs with its figures below it.
fn list(document: &Document, own: &Worklist, style: Style) -> String {
    let table_rows = rows(own).into_iter().map(|row| {
        let [item, list, idle, step] = cells(document, &row, false, style);
        let head = format!("{}, {}", row.series.label, jobs_words(row.point.jobs));
        vec![
            head,
            format!("s/item {item}"),
            format!("list {list}"),
            format!("idle {idle}"),
            format!("step {step}"),
        ]
    });
    // The words do not fit side by side, or a table would have.
    table_rows.map(|row| named_parts(&row[0].clone(), vec![row[1..].to_vec()], style)).collect()
}

/// Times by schedules that were not run over the time of the one that was; with one job there is but one.
fn computed(own: &Worklist, style: Style) -> String {
    let rows: Vec<Row<'_>> = rows(own).into_iter().filter(|row| row.point.jobs > 1).collect();
    let schedules =
        distinct(rows.iter().flat_map(|row| &row.point.computed).map(|own| own.schedule.as_str()));
    if schedules.is_empty() {
        return String::new();
    }
    let heading = "time of the list by other schedules over that of the one that was run: computed from the same \
                   runs' items, not run";
    let mut table =
        vec![std::iter::once("").chain(schedules.iter().copied()).map(str::to_owned).collect::<Vec<_>>()];
    for row in &rows {
        let mut cells = vec![format!("{}, {}", row.series.label, jobs_words(row.point.jobs))];
        for schedule in &schedules {
            let known = row.point.computed.iter().find(|own| own.schedule == *schedule);
            cells.push(known.map_or_else(|| NONE.to_owned(), |own| ratio_words(&own.ratio)));
        }
        table.push(cells);
    }
    let all: Vec<usize> = (0..table[0].len()).collect();
    if aligned(table.clone(), &all, style).iter().all(|line| columns(line) + 2 <= style.width) {
        return named_parts(heading, table, style);
    }
    let named = |row: &Vec<String>| {
        let figures = schedules.iter().zip(&row[1..]).map(|(schedule, cell)| format!("{schedule}: {cell}"));
        std::iter::once(row[0].clone()).chain(figures).collect()
    };
    named_parts(heading, table[1..].iter().map(named).collect(), style)
}
