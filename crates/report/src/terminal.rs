//! The verdict and the table of treatments for a terminal; the screens of `probe` and `doctor` are
//! modules of their own.

mod activity;
mod commands;
mod comparisons;
mod cpus;
mod doctor;
pub mod document;
mod lines;
mod pairs;
mod probe;
mod queries;
mod sheet;
pub(crate) mod sign;
mod worklist;

use crate::activity::latency_gap;
use crate::text::{compact, counted, metric, plain, ratio_interval, runs_words, set_share, share};
use crate::words::{Words, words};
use crate::{Document, Mark, THROUGHPUT};
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use comparisons::comparisons;
use lines::flow;
pub(crate) use lines::{Aligned, columns, wrap};
pub(crate) use sheet::bounds;
use std::collections::BTreeSet;
use threadwise_analysis::{Finding, Interval, TreatmentSummary};
use threadwise_study::Role;

pub use crate::drawing::{drawing, topology_line};
pub use doctor::{DoctorRow, doctor};
pub use probe::probe;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const CYAN: &str = "36";

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(BOLD, text)
    }

    /// The sign of a mark, one column wide.
    pub(crate) fn sign(self, mark: Mark) -> &'static str {
        match (mark, self.unicode) {
            (Mark::Higher, true) => "▲",
            (Mark::Lower, true) => "▼",
            (Mark::NoEffect, true) => "=",
            (Mark::Higher, false) => "^",
            (Mark::Lower, false) => "v",
            (Mark::NoEffect, false) => "=",
            (Mark::Inconclusive, _) => "?",
        }
    }
}

/// The verdict: a headline and one numbered line per finding, wrapped to the style's width.
pub fn verdict(document: &Document, style: Style) -> String {
    let mut text = String::new();
    let title = crate::queries::title(document.study);
    text.push_str(&style.paint(BOLD, &plain(&title, style.unicode)));
    text.push('\n');
    if document.is_simulated() {
        let banner = "SIMULATED: these figures come from a model, not from a machine.";
        text.push_str(&style.paint(YELLOW, banner));
        text.push('\n');
    }
    for line in numbered(document.findings, style) {
        text.push_str(&line);
        text.push('\n');
    }
    if document.findings.is_empty() {
        text.push_str("No finding: no block was complete.");
    }
    text.truncate(text.trim_end().len());
    text
}

/// Findings as numbered lines, wrapped to the style's width.
fn numbered(findings: &[Finding], style: Style) -> Vec<String> {
    let digits = findings.len().max(1).ilog10() as usize + 1;
    let mut lines = Vec::new();
    for (number, finding) in (1..).zip(findings) {
        let head = format!("{number:digits$}. ");
        let line = plain(&finding.line.to_string(), style.unicode);
        for (at, part) in wrap(&line, style.width.saturating_sub(head.len()).max(20)).iter().enumerate() {
            let indent = " ".repeat(head.len());
            lines.push(format!("{}{part}", if at == 0 { &head } else { &indent }));
        }
    }
    lines
}

/// The table of treatments, those with a common baseline below the name of their group, the other
/// comparisons below it, what sessions waited for and cost where the engine tells it, and a legend. A
/// narrow terminal gets fewer columns, a very narrow one a list. A study of queries has its own tables.
pub fn table(document: &Document, style: Style) -> String {
    if let Some(queries) = &document.analysis.queries {
        return queries::table(document, queries, style);
    }
    if let Some(of_commands) = &document.analysis.commands {
        return worklist::worklist(document, style) + &commands::table(document, of_commands, style);
    }
    let grids = SHAPES.iter().map(|shape| Grid::new(document, style, shape));
    let (text, p99_dash) = match grids.into_iter().find(|grid| grid.least_width() <= style.width) {
        Some(grid) => (grid.text(style), grid.has_dash(P99)),
        None => {
            let grid = Grid::new(document, style, &SHAPES[0]);
            (grid.list(style), grid.has_dash(P99))
        }
    };
    let legend: String = legend(document, style, p99_dash).join("\n");
    let activity = activity::activity(document, style);
    paint_signs(&text, style) + &comparisons(document, style) + &activity + &style.paint(DIM, &legend)
}

/// Column headings; `ratio to` is followed by the baseline's name.
fn headers(words: Words) -> [&'static str; 7] {
    ["treatment", words.sessions, words.rate, "ratio to", "p99", words.cpu, "runs"]
}

/// Spaces between two columns.
const GAP: usize = 2;
const RATIO: usize = 3;
const P99: usize = 4;
const RUNS: usize = 6;

/// Which columns stand in a table.
struct Shape {
    columns: &'static [usize],
    /// Whether placements stand in brackets beside the names.
    placements: bool,
}

/// The widest first.
const SHAPES: [Shape; 4] = [
    Shape { columns: &[0, 1, 2, 3, 4, 5, 6], placements: true },
    Shape { columns: &[0, 1, 2, 3, 4, 6], placements: true },
    Shape { columns: &[0, 1, 2, 3, 6], placements: true },
    Shape { columns: &[0, 1, 2, 3, 6], placements: false },
];

/// A line of the table.
enum Line {
    Group(String),
    Treatment(Vec<String>),
}

/// The table's texts, fit for the terminal.
struct Grid {
    columns: &'static [usize],
    headers: Vec<String>,
    lines: Vec<Line>,
}

impl Grid {
    fn new(document: &Document, style: Style, shape: &Shape) -> Self {
        let names = headers(words(document.study));
        let ratio_to = format!("{} {}", names[RATIO], document.common_baseline());
        let header = |&at: &usize| if at == RATIO { ratio_to.clone() } else { names[at].to_owned() };
        let mut lines = Vec::new();
        for (group, members) in document.groups() {
            let words = document.group_words(group);
            let indent = if words.is_empty() { "" } else { "  " };
            lines.extend((!words.is_empty()).then(|| Line::Group(plain(&words, style.unicode))));
            for summary in members {
                let cells = row(document, group, summary, style, shape.placements);
                let mut cells: Vec<String> =
                    shape.columns.iter().map(|&at| plain(&cells[at], style.unicode)).collect();
                cells[0].insert_str(0, indent);
                lines.push(Line::Treatment(cells));
            }
        }
        let headers = shape.columns.iter().map(header).map(|text| plain(&text, style.unicode)).collect();
        Self { columns: shape.columns, headers, lines }
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.lines
            .iter()
            .filter_map(|line| if let Line::Treatment(cells) = line { Some(cells) } else { None })
    }

    /// Width below which a column would break inside a word or a figure; a header and the words
    /// about runs may break at their spaces.
    fn least(&self, at: usize) -> usize {
        let by_words = |text: &str| text.split(' ').map(columns).max().unwrap_or(0);
        let cells = self.rows().map(|cells| match self.columns[at] {
            RUNS => by_words(&cells[at]),
            _ => columns(&cells[at]),
        });
        cells.max().unwrap_or(0).max(by_words(&self.headers[at]))
    }

    fn least_width(&self) -> usize {
        (0..self.headers.len()).map(|at| self.least(at) + GAP).sum::<usize>() - GAP
    }

    /// Columns' widths: the least, and from the left what they would like of the rest.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut left = width.saturating_sub(self.least_width());
        let widths = (0..self.headers.len()).map(|at| {
            let least = self.least(at);
            let cells = self.rows().map(|cells| columns(&cells[at])).max().unwrap_or(0);
            let more = cells.max(columns(&self.headers[at])).saturating_sub(least).min(left);
            left -= more;
            least + more
        });
        widths.collect()
    }

    /// Whether a treatment that was measured has no figure in this column.
    fn has_dash(&self, column: usize) -> bool {
        let at = self.columns.iter().position(|&own| own == column);
        at.is_some_and(|at| self.rows().any(|cells| cells[at] == NONE && cells[2] != NONE))
    }

    fn text(&self, style: Style) -> String {
        let mut table = Table::new();
        let rule = LineStyle::none().fill(if style.unicode { '─' } else { '-' });
        let rule = rule.junction(if style.unicode { '─' } else { '-' });
        table.load_style(TableStyle::new().header_separator(rule));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
        table.set_header(self.headers.iter().enumerate().map(|(at, name)| aligned(name, at)));
        let mut groups = Vec::new();
        for line in &self.lines {
            match line {
                // Its name is put on the empty line afterwards, where it may be wider than the column.
                Line::Group(words) => {
                    groups.push(words);
                    table.add_row([Cell::new("")]);
                }
                Line::Treatment(cells) => {
                    table.add_row(cells.iter().enumerate().map(|(at, cell)| aligned(cell, at)));
                }
            }
        }
        let last = self.headers.len() - 1;
        let widths = self.widths(style.width);
        for ((at, column), width) in table.column_iter_mut().enumerate().zip(widths) {
            let padding = u16::from(at < last);
            column.set_padding((0, padding));
            // comfy-table counts a column's padding as part of it, and puts one space after it.
            let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(padding);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
        let mut groups = groups.into_iter();
        let lines = table.lines().map(|line| match line.trim_end() {
            "" => groups.next().map_or_else(String::new, |words| wrap(words, style.width).join("\n")),
            line => line.to_owned(),
        });
        lines.map(|line| line + "\n").collect()
    }

    /// Each treatment with its figures below its name.
    fn list(&self, style: Style) -> String {
        let mut lines = Vec::new();
        for line in &self.lines {
            match line {
                Line::Group(words) => lines.extend(wrap(words, style.width)),
                Line::Treatment(cells) => {
                    lines.push(cells[0].clone());
                    let named = cells.iter().zip(&self.headers).enumerate().skip(1);
                    let parts: Vec<String> =
                        named.map(|(at, (cell, name))| with_name(at, cell, name)).collect();
                    let indent = " ".repeat(4);
                    let room = style.width.saturating_sub(indent.len());
                    lines.extend(flow(&parts, room).iter().map(|line| format!("{indent}{line}")));
                }
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A figure of the list with what it is.
fn with_name(column: usize, cell: &str, name: &str) -> String {
    match (column, name) {
        (1, name) if cell == "1" => format!("1 {}", name.trim_end_matches('s')),
        (RATIO, name) if cell.contains('[') => format!("{cell} {}", name.trim_start_matches("ratio ")),
        (RATIO, _) => cell.to_owned(),
        (1 | 2, name) => format!("{cell} {name}"),
        (_, name) => format!("{name} {cell}"),
    }
}

fn aligned(text: &str, column: usize) -> Cell {
    let alignment = if column == 0 { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(text).set_alignment(alignment)
}

/// What stands where there is no figure.
const NONE: &str = "-";

fn row(
    document: &Document,
    group: &str,
    summary: &TreatmentSummary,
    style: Style,
    placements: bool,
) -> [String; 7] {
    let none = || NONE.to_owned();
    let value = |name: &str| {
        let metric_of = summary.metrics.get(name);
        metric_of.map_or_else(none, |interval| metric(interval.mean, &interval.unit))
    };
    let rate = summary.metrics.get(THROUGHPUT);
    let role = document.study.treatment(&summary.name).map(|(_, treatment)| treatment.role);
    let ratio = match document.ratio(&summary.name) {
        Some(e) => format!(
            "{} {}",
            style.sign(Mark::of(e)),
            ratio_interval(e.ratio.value, e.ratio.low, e.ratio.high)
        ),
        None if role == Some(Role::Baseline) => "baseline".to_owned(),
        None if role == Some(Role::BaselineTwin) => "baseline again".to_owned(),
        None => none(),
    };
    let label = document.label(&summary.name, group);
    [
        if placements { named(label, &summary.placement) } else { label.to_owned() },
        summary.sessions.to_string(),
        rate.map_or_else(none, |rate| format!("{} {}", compact(rate.mean, 3), half_width(rate))),
        ratio,
        value("latency_ns_p99"),
        value("cpu_ns_per_row"),
        runs_words(summary),
    ]
}

/// A treatment with its placement, where the name does not say it.
fn named(label: &str, placement: &str) -> String {
    if label == placement { label.to_owned() } else { format!("{label} ({placement})") }
}

/// The longer side of an interval as a share of its centre; the interval itself is too wide here.
fn half_width(interval: &Interval) -> String {
    let side = (interval.high - interval.mean).max(interval.mean - interval.low);
    format!("±{}", share(side / interval.mean))
}

/// Colours after the layout, so that escapes do not count as columns.
fn paint_signs(text: &str, style: Style) -> String {
    if !style.color {
        return text.to_owned();
    }
    let marks = [(Mark::Higher, GREEN), (Mark::Lower, YELLOW)];
    marks.iter().fold(text.to_owned(), |text, (mark, code)| {
        let sign = format!(" {} ", style.sign(*mark));
        text.replace(&sign, &format!(" {} ", style.paint(code, style.sign(*mark))))
    })
}

fn legend(document: &Document, style: Style, p99_dash: bool) -> Vec<String> {
    let level = set_share(document.level());
    let blocks = counted(document.analysis.blocks as usize, "block");
    let mut parts = vec![format!("±, [low, high]: {level} interval over {blocks}.")];
    let marks = [Mark::Higher, Mark::Lower, Mark::NoEffect, Mark::Inconclusive];
    parts.extend(marks.map(|mark| format!("{} {}", style.sign(mark), mark.words())));
    if p99_dash {
        let lacking = document.analysis.treatments.iter();
        let lacking = lacking.filter(|own| own.runs > 0 && !own.metrics.contains_key("latency_ns_p99"));
        let why: BTreeSet<&str> = lacking.map(latency_gap).collect();
        parts.extend(why.into_iter().map(|why| format!("p99 -: {why}")));
    }
    let parts: Vec<String> = parts.iter().map(|part| plain(part, style.unicode)).collect();
    flow(&parts, style.width)
}
