//! Texts on lines of a given width. Columns are those of a terminal (Unicode Standard Annex 11), wrapping is
//! textwrap's, at spaces only.

use super::Style;
use crate::text::plain;
use threadwise_analysis::Finding;
use threadwise_document::numbers::counted;
pub use threadwise_document::screen::wrap;
use unicode_width::UnicodeWidthStr;

/// Most logical CPUs with a cell for each pair and a line for each CPU.
pub(super) const SMALL: usize = 16;

/// Width of a text in columns.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Parts on as few lines as possible, two spaces between; a part breaks if it is too wide alone.
pub fn flow(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut().filter(|last| columns(last) + 2 + columns(part) <= width) {
            Some(last) => *last = format!("{last}  {part}"),
            None => lines.extend(wrap(part, width)),
        }
    }
    lines
}

/// Cells padded to their columns' widths, and their separator.
pub struct Aligned {
    /// Rows, the headers first.
    pub rows: Vec<Vec<String>>,
    /// Two spaces if the width allows it, else one.
    pub gap: &'static str,
}

impl Aligned {
    /// Aligns rows, the headers first. Columns of `left` are left-aligned, others right-aligned.
    pub fn new(mut rows: Vec<Vec<String>>, left: &[usize], width: usize) -> Self {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max();
        let widths: Vec<usize> = (0..count).map(|at| widest(at).unwrap_or(0)).collect();
        for row in &mut rows {
            for (at, cell) in row.iter_mut().enumerate() {
                let wide = widths[at];
                *cell = if left.contains(&at) { format!("{cell:wide$}") } else { format!("{cell:>wide$}") };
            }
        }
        let total = widths.iter().sum::<usize>() + 2 * count.saturating_sub(1);
        Self { rows, gap: if total <= width { "  " } else { " " } }
    }
}

/// Findings as numbered lines, wrapped to the style's width.
pub(super) fn numbered(findings: &[Finding], style: Style) -> Vec<String> {
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

/// A line no wider than the style.
pub(super) fn cut(line: &str, style: Style) -> String {
    if columns(line) <= style.width {
        return line.to_owned();
    }
    let ellipsis = if style.unicode { "…" } else { "..." };
    let keep = style.width.saturating_sub(columns(ellipsis));
    format!("{}{ellipsis}", line.chars().take(keep).collect::<String>())
}

/// The first lines, with the number of those that were left out.
pub(super) fn first(mut lines: Vec<String>, most: usize, noun: &str, style: Style) -> Vec<String> {
    if lines.len() > most {
        let more = lines.len() - most + 1;
        lines.truncate(most - 1);
        let ellipsis = if style.unicode { "…" } else { "..." };
        lines.push(format!("{ellipsis} and {}", counted(more, &format!("more {noun}"))));
    }
    lines
}
