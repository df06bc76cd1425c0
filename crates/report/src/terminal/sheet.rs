//! A table of a document on a terminal: columns are shortened and left out step by step until it fits; if it never
//! does, it becomes a list.

use super::lines::{columns, flow, wrap};
use super::sign::{self, marker};
use super::{DIM, Style};
use crate::gaps::{explained, letter};
use crate::text::plain;
use comfy_table::{
    Cell as Field, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table as Layout,
    TableStyle, Width,
};
use threadwise_document::numbers;
use threadwise_document::{Cell, Column, Ratio, Row, Says, Shown, Table};

/// Spaces between two columns.
const GAP: usize = 2;

/// Text in place of a missing figure.
const NONE: &str = "-";

/// Longest heading without a space; if there is little room a longer one is replaced by a letter, explained above the
/// table, since it widens its column.
const MAX_HEADING: usize = 14;

/// A table below its caption, with the reasons of its gaps below it.
pub fn table(table: &Table, style: Style) -> String {
    let mut text = String::new();
    let mut put = |line: &str| text.push_str(&format!("{line}\n"));
    wrap(&plain(&table.caption.to_string(), style.unicode), style.width)
        .iter()
        .filter(|line| !line.is_empty())
        .for_each(|line| put(line));
    let shown = table.places(Shown::on_terminal);
    let steps = table
        .columns
        .iter()
        .map(|column| column.narrow.shorten_at.max(column.narrow.drop_at))
        .max()
        .unwrap_or(0)
        .max(1);
    let mut sheets = (0..=steps).map(|step| Sheet::new(table, &shown, step, style));
    let fitting = sheets.find(|sheet| sheet.least_width() <= style.width);
    let left = fitting.as_ref().map_or(&shown, |sheet| &sheet.at);
    let (explained, reasons) = explained(table, left);
    match &fitting {
        Some(sheet) => {
            let sheet = Sheet::new(&explained, &shown, sheet.step, style);
            flow(&sheet.keys, style.width).iter().for_each(|line| put(line));
            sheet.lines(style).iter().for_each(|line| put(line));
            if sheet.at.len() < shown.len() && !table.when_narrow.is_empty() {
                let note = plain(&table.when_narrow.to_string(), style.unicode);
                wrap(&note, style.width).iter().for_each(|line| put(line));
            }
        }
        None => list(&explained, &shown, style).iter().for_each(|line| put(line)),
    }
    let reasons: Vec<String> = reasons.iter().map(|why| plain(why, style.unicode)).collect();
    flow(&reasons, style.width).iter().for_each(|line| put(&style.paint(DIM, line)));
    sign::painted(&text, style)
}

/// A line of a table.
enum Line {
    Group(String),
    Cells(Vec<String>),
}

/// The texts of a table after a step of narrowing.
struct Sheet<'a> {
    /// Steps of narrowing that were taken.
    step: u8,
    /// The columns that are left, by their index in the table.
    at: Vec<usize>,
    columns: &'a [Column],
    headings: Vec<String>,
    /// Letters that replace long headings, explained.
    keys: Vec<String>,
    body: Vec<Line>,
}

impl<'a> Sheet<'a> {
    fn new(table: &'a Table, shown: &[usize], step: u8, style: Style) -> Self {
        let taken = |limit: u8| limit > 0 && limit <= step;
        let at: Vec<usize> =
            shown.iter().copied().filter(|at| !taken(table.columns[*at].narrow.drop_at)).collect();
        let is_indented = table.is_plain || table.rows.iter().any(|row| matches!(row, Row::Group(_)));
        let line = |row: &Row| match row {
            Row::Group(name) => Line::Group(plain(name, style.unicode)),
            Row::Cells(cells) => {
                let text = |&at: &usize| {
                    let short = taken(table.columns[at].narrow.shorten_at);
                    cells.get(at).map_or_else(String::new, |cell| cell_text(cell, short, style))
                };
                let mut texts: Vec<String> = at.iter().map(text).collect();
                if let Some(first) = texts.first_mut().filter(|_| is_indented) {
                    first.insert_str(0, "  ");
                }
                Line::Cells(texts)
            }
        };
        let body = table.rows.iter().map(line).collect();
        let mut keys = Vec::new();
        let heading = |&at: &usize| {
            let name = plain(&table.columns[at].name, style.unicode);
            match step > 0 && columns(&name) > MAX_HEADING && !name.contains(' ') && at > 0 {
                true => {
                    let letter = letter(keys.len());
                    keys.push(format!("{letter}: {name}"));
                    letter
                }
                false => name,
            }
        };
        let headings = match table.is_plain {
            true => vec![String::new(); at.len()],
            false => at.iter().map(heading).collect(),
        };
        Self { step, at, columns: &table.columns, headings, keys, body }
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.body.iter().filter_map(|line| if let Line::Cells(cells) = line { Some(cells) } else { None })
    }

    /// Width below which a column would break inside a word or a figure; headings may break at their spaces.
    fn least(&self, at: usize) -> usize {
        let words = self.headings[at].split(' ').map(columns).max().unwrap_or(0);
        self.rows().map(|cells| columns(&cells[at])).max().unwrap_or(0).max(words)
    }

    fn least_width(&self) -> usize {
        (0..self.headings.len()).map(|at| self.least(at) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Columns' widths: the least, and from the left as much of the rest as their headings need.
    fn widths(&self, width: usize) -> Vec<usize> {
        let mut left = width.saturating_sub(self.least_width());
        let widths = (0..self.headings.len()).map(|at| {
            let least = self.least(at);
            let more = columns(&self.headings[at]).saturating_sub(least).min(left);
            left -= more;
            least + more
        });
        widths.collect()
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let mut layout = Layout::new();
        let rule = if style.unicode { '─' } else { '-' };
        layout.load_style(TableStyle::new().header_separator(LineStyle::none().fill(rule).junction(rule)));
        layout.set_content_arrangement(ContentArrangement::Dynamic);
        layout.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
        let field = |(at, text): (usize, &String)| {
            let is_figure = self.columns[self.at[at]].is_figure;
            let alignment = if is_figure { CellAlignment::Right } else { CellAlignment::Left };
            Field::new(text).set_alignment(alignment)
        };
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            layout.set_header(self.headings.iter().enumerate().map(field));
        }
        let mut groups = Vec::new();
        for line in &self.body {
            match line {
                // Its name is put on the empty line afterwards, where it may be wider than the column.
                Line::Group(words) => {
                    groups.push(words);
                    layout.add_row([Field::new("")]);
                }
                Line::Cells(cells) => drop(layout.add_row(cells.iter().enumerate().map(field))),
            }
        }
        let last = self.headings.len().saturating_sub(1);
        let widths = self.widths(style.width);
        for ((at, column), width) in layout.column_iter_mut().enumerate().zip(widths) {
            let padding = u16::from(at < last);
            column.set_padding((0, padding));
            // comfy-table counts a column's padding as part of it, and puts one space after it.
            let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(padding);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
        let mut groups = groups.into_iter();
        let lines = layout.lines().flat_map(|line| match line.trim_end() {
            "" => groups.next().map_or_else(Vec::new, |words| wrap(words, style.width)),
            line => vec![line.to_owned()],
        });
        lines.collect()
    }
}

/// Each row with its cells below its first one.
fn list(table: &Table, shown: &[usize], style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let indent = " ".repeat(4);
    for row in &table.rows {
        let cells = match row {
            Row::Group(words) => {
                lines.extend(wrap(&plain(words, style.unicode), style.width));
                continue;
            }
            Row::Cells(cells) => cells,
        };
        // The name has a line of its own, with room for its explanation.
        let text = |&at: &usize| {
            cells.get(at).map_or_else(String::new, |cell| cell_text(cell, Some(&at) != shown.first(), style))
        };
        let mut texts = shown.iter().map(|at| (*at, text(at)));
        lines.extend(texts.next().into_iter().flat_map(|(_, name)| wrap(&name, style.width)));
        let named = texts.filter(|(_, text)| !text.is_empty());
        let parts: Vec<String> = named
            .map(|(at, text)| {
                let name = plain(&table.columns[at].name, style.unicode);
                if name.is_empty() { text } else { format!("{name} {text}") }
            })
            .collect();
        let room = style.width.saturating_sub(indent.len()).max(20);
        lines.extend(flow(&parts, room).iter().map(|line| format!("{indent}{line}")));
    }
    lines
}

/// A cell as text, its sign as a marker of one column ([`sign`]).
pub fn cell_text(cell: &Cell, short: bool, style: Style) -> String {
    let text = match cell {
        Cell::Text(text) => text.clone(),
        Cell::Named { name, about } if short || about.is_empty() || about == name => name.clone(),
        Cell::Named { name, about } => format!("{name} ({about})"),
        Cell::Count(count) => numbers::grouped(*count),
        Cell::Value { value, unit } => numbers::value(*value, unit),
        Cell::Mean(interval) => numbers::value(interval.mean, &interval.unit),
        Cell::Share(share) => {
            let (figure, ends) = numbers::interval(share);
            ends.map_or_else(|| figure.clone(), |ends| format!("{figure} {ends}"))
        }
        Cell::Interval(interval) => {
            let (figure, ends) = numbers::interval(interval);
            let side = interval.half_share().map(|half| format!("±{}", numbers::percent(half)));
            let ends = if short { side } else { ends };
            ends.map_or_else(|| figure.clone(), |ends| format!("{figure} {ends}"))
        }
        Cell::Ratio(ratio, says) => return judged(ratio, *says, short, style),
        Cell::BareRatio(ratio) => ratio_text(ratio, short),
        Cell::Bounds { low, high, unit } => bounds(*low, *high, unit),
        Cell::Bar { share, columns } => return bar(*share, *columns, style),
        Cell::Both(first, second) => {
            return [first, second].map(|cell| cell_text(cell, short, style)).join(" ").trim_end().to_owned();
        }
        Cell::Gap(_) => NONE.to_owned(),
    };
    plain(&text, style.unicode)
}

/// A bar in eighths of a column (Unicode 16, Block Elements), or in whole columns.
fn bar(share: f64, columns: usize, style: Style) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
    match style.unicode {
        true => format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]),
        false => "#".repeat(eighths.div_ceil(8)),
    }
}

/// A ratio with its sign, and the sign's meaning if that depends on the quantity.
fn judged(ratio: &Ratio, says: Says, short: bool, style: Style) -> String {
    let figures = plain(&ratio_text(ratio, short), style.unicode);
    let meaning = if says == Says::Better && ratio.is_different() && !ratio.is_same() {
        format!(" {}", ratio.words(says))
    } else {
        String::new()
    };
    format!("{} {figures}{meaning}", marker(ratio, says))
}

/// `1.27x [1.24, 1.30]`; short `1.27x ±2.4%`; with one block the value alone.
fn ratio_text(ratio: &Ratio, short: bool) -> String {
    let value = format!("{}x", numbers::ratio(ratio.value));
    match (ratio.has_ends(), short) {
        (false, _) => value,
        (true, true) => format!("{value} ±{}", numbers::percent(ratio.half_width())),
        (true, false) => format!("{value} [{}, {}]", numbers::ratio(ratio.low), numbers::ratio(ratio.high)),
    }
}

/// `1.2–1.9`, or one figure.
pub fn bounds(low: f64, high: f64, unit: &str) -> String {
    let [low, high] = [low, high].map(|value| numbers::value(value, unit));
    if low == high { low } else { format!("{low}–{high}") }
}
