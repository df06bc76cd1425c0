//! Several studies side by side, for a terminal, a browser and programs: one row a comparison, one column a
//! study. The table itself is made by [`threadwise_analysis::compare`].

use crate::html::compare as page;
use crate::terminal::{Aligned, Style, columns, wrap};
use crate::text::{counted, plain, ratio_interval, share};
use crate::words::{has_queries, has_runs, words};
use crate::{Document, Mark, ReportError, json as forms};
use threadwise_analysis::compare::{Cell, Row, Side, SideBySide, side_by_side};

/// A study with the name of its file.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// File as its user named it.
    pub file: &'a str,
    /// The study.
    pub document: Document<'a>,
}

/// What may be compared, and what may not.
pub fn foot(documents: &[Named<'_>]) -> &'static str {
    if all_commands(documents) {
        return "Ratios may be compared side by side: each is of a command to itself. Times and metrics may be compared \
                only where command, input and machine are the same.";
    }
    match all_queries(documents) {
        true => {
            "Ratios may be compared side by side: each is of an engine to itself. Times of queries may be compared only \
             where scale, parameters, storage and machine are the same."
        }
        false => {
            "Ratios may be compared side by side: each is of an engine to itself. Rows per second are not: each \
             engine's rows are its own work."
        }
    }
}

/// Whether every study's workload consists of queries.
fn all_queries(documents: &[Named<'_>]) -> bool {
    !documents.is_empty() && documents.iter().all(|named| has_queries(&named.document.study.workload))
}

/// Whether every study is one of commands.
fn all_commands(documents: &[Named<'_>]) -> bool {
    !documents.is_empty() && documents.iter().all(|named| has_runs(named.document.study))
}

/// Whether any study is one of commands, whose rows name what their ratios are of.
pub(crate) fn any_commands(documents: &[Named<'_>]) -> bool {
    documents.iter().any(|named| has_runs(named.document.study))
}

/// A row's name; with commands among the studies also what its ratios are of.
fn row_name(documents: &[Named<'_>], row: &Row<'_>) -> String {
    if !any_commands(documents) {
        return row.name.to_owned();
    }
    let commands = documents.iter().filter_map(|named| named.document.analysis.commands.as_ref());
    let name = commands.filter_map(|own| own.quantity(row.metric)).map(|own| own.name.as_str()).next();
    format!("{} ({})", row.name, name.unwrap_or("throughput"))
}

/// What the ratios are of: the unit that all studies have in common.
fn unit(documents: &[Named<'_>]) -> &'static str {
    if all_commands(documents) {
        return "commands";
    }
    let mut units: Vec<&str> = documents.iter().map(|named| words(named.document.study).rate).collect();
    units.dedup();
    match units.as_slice() {
        [] => "rows/s",
        [one] => one,
        _ => "throughput",
    }
}

/// Sign of a ratio that is no further from 1 than the noise floor.
const BELOW_FLOOR: &str = "~";

/// The table as JSON: `{"version": 1, "studies": […], "rows": […]}`.
pub fn json(documents: &[Named<'_>]) -> String {
    forms::compare(documents, &made(documents))
}

/// The table as one HTML file that needs no network.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn html(documents: &[Named<'_>], program_version: &'static str) -> Result<String, ReportError> {
    let style = Style { color: false, unicode: true, width: usize::MAX };
    let table = made(documents);
    let (rows, reasons) = cells(documents, &table, style);
    let study = |(at, named): (usize, &Named<'_>)| {
        let document = named.document;
        let blocks = document.analysis.blocks.to_string();
        let number = (at + 1).to_string();
        vec![
            number,
            engine(named),
            document.study.workload.clone(),
            named.file.to_owned(),
            blocks,
            floor(named),
        ]
    };
    let why = reasons.iter().enumerate().map(|(at, why)| format!("- {}  {why}", letter(at)));
    page::render(page::ComparePage {
        title: heading(documents),
        studies: documents.iter().enumerate().map(study).collect(),
        rows,
        notes: why.chain([legend(style)]).collect(),
        foot: foot(documents),
        simulated: documents.iter().any(|named| named.document.is_simulated()),
        cautions: table.cautions,
        program_version,
    })
}

/// The table for a terminal: the studies by number, the ratios, the reasons for gaps, what to mind. A
/// list where the table would be wider than the terminal.
pub fn text(documents: &[Named<'_>], style: Style) -> String {
    let table = made(documents);
    let mut lines = vec![style.bold(&heading(documents))];
    lines.extend(documents.iter().enumerate().flat_map(|(at, named)| head(at + 1, named, style)));
    let (rows, reasons) = cells(documents, &table, style);
    match rows.is_empty() {
        true => lines.push("No comparison in any of them.".to_owned()),
        false => lines.extend(body(rows, style)),
    }
    let reasons = reasons.iter().enumerate().map(|(at, why)| format!("- {}  {why}", letter(at)));
    lines.extend(reasons.flat_map(|line| hanging(&line, 5, style)));
    lines.extend(wrap(&legend(style), style.width));
    lines.extend(table.cautions.iter().flat_map(|line| hanging(&format!("Mind: {line}."), 6, style)));
    lines.extend(wrap(foot(documents), style.width));
    lines.join("\n")
}

fn heading(documents: &[Named<'_>]) -> String {
    format!("Ratios of {} side by side", unit(documents))
}

/// A line of texts for each comparison, and the reasons that its letters stand for.
fn cells(documents: &[Named<'_>], table: &SideBySide<'_>, style: Style) -> (Vec<Vec<String>>, Vec<String>) {
    let mut reasons: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for row in &table.rows {
        let cells =
            row.cells.iter().map(|cell| cell_text(cell, any_commands(documents), style, &mut reasons));
        let name = plain(&row_name(documents, row), style.unicode);
        rows.push(std::iter::once(name).chain(cells).collect::<Vec<String>>());
    }
    (rows, reasons)
}

/// What the signs mean.
fn legend(style: Style) -> String {
    let marks = [Mark::Higher, Mark::Lower, Mark::NoEffect, Mark::Inconclusive];
    let mut legend: Vec<String> =
        marks.iter().map(|mark| format!("{} {}", style.sign(*mark), mark.words())).collect();
    legend.push(format!("{BELOW_FLOOR} within the noise floor"));
    legend.join("  ")
}

/// Engine and version.
fn engine(named: &Named<'_>) -> String {
    let engine = format!("{} {}", named.document.study.engine, named.document.engine_version);
    engine.trim().to_owned()
}

/// `±0.9%`, or that it is unknown.
fn floor(named: &Named<'_>) -> String {
    let floor = named.document.widest_floor().map(|floor| floor.floor.exp_m1());
    let known = floor.filter(|floor| floor.is_finite());
    known.map_or_else(|| "unknown".to_owned(), |own| format!("±{}", share(own)))
}

fn made<'a>(documents: &[Named<'a>]) -> SideBySide<'a> {
    let sides = documents.iter().map(|named| Side {
        study: named.document.study,
        topology: named.document.topology,
        analysis: named.document.analysis,
    });
    side_by_side(&sides.collect::<Vec<_>>())
}

/// `1  postgres 17.2, insert, inserts.threadwise (16 blocks, noise floor ±0.9%)`.
fn head(number: usize, named: &Named<'_>, style: Style) -> Vec<String> {
    let document = named.document;
    let floor = floor(named);
    let simulated = if document.is_simulated() { "SIMULATED, " } else { "" };
    let line = format!(
        "{number:2}  {simulated}{}, {}, {} ({}, noise floor {floor})",
        engine(named),
        document.study.workload,
        named.file,
        counted(document.analysis.blocks as usize, "block"),
    );
    hanging(&plain(&line, style.unicode), 4, style)
}

fn cell_text(cell: &Cell<'_>, meaning: bool, style: Style, reasons: &mut Vec<String>) -> String {
    match cell {
        Cell::Ratio { estimate, below_floor } => {
            let mark = Mark::of(estimate);
            let mut text = format!(
                "{} {}",
                style.sign(mark),
                ratio_interval(estimate.ratio.value, estimate.ratio.low, estimate.ratio.high)
            );
            if meaning && estimate.ratio.effect {
                text.push_str(&format!(" {}", estimate.ratio.meaning()));
            }
            if *below_floor {
                text.push_str(&format!(" {BELOW_FLOOR}"));
            }
            text
        }
        Cell::Lacks(reason) => {
            let reason = plain(reason, style.unicode);
            let at = reasons.iter().position(|known| *known == reason).unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            format!("- {}", letter(at))
        }
    }
}

/// `a`, `b`, … `z`, `aa`, as spreadsheets count columns.
fn letter(at: usize) -> String {
    let last = char::from(b'a' + (at % 26) as u8);
    if at < 26 { last.to_string() } else { format!("{}{last}", letter(at / 26 - 1)) }
}

/// Rows as a table, or as a list where that is too wide.
fn body(rows: Vec<Vec<String>>, style: Style) -> Vec<String> {
    let count = rows.first().map_or(0, Vec::len);
    let numbers = (1..count).map(|number| number.to_string());
    let headers: Vec<String> = std::iter::once("comparison".to_owned()).chain(numbers).collect();
    let left: Vec<usize> = (0..count).collect();
    let aligned = Aligned::new(std::iter::once(headers).chain(rows.clone()).collect(), &left, style.width);
    let lines = aligned.rows.iter().map(|row| row.join(aligned.gap).trim_end().to_owned());
    let lines: Vec<String> = lines.collect();
    if lines.iter().all(|line| columns(line) <= style.width) {
        return lines;
    }
    let mut list = Vec::new();
    for row in &rows {
        list.extend(wrap(&row[0], style.width));
        list.extend(row.iter().enumerate().skip(1).map(|(number, cell)| format!("  {number:2}  {cell}")));
    }
    list
}

/// A line broken at spaces, its further lines moved in.
fn hanging(line: &str, indent: usize, style: Style) -> Vec<String> {
    let start = line.char_indices().nth(indent).map_or(line.len(), |(at, _)| at);
    let (head, rest) = line.split_at(start);
    let parts = wrap(&plain(rest, style.unicode), style.width.saturating_sub(indent).max(20));
    let heads = std::iter::once(plain(head, style.unicode)).chain(std::iter::repeat(" ".repeat(indent)));
    heads.zip(parts).map(|(head, part)| format!("{head}{part}")).collect()
}
