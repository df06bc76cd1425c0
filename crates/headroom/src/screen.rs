//! A window as bars that fill a screen, drawn in place with control sequences of ECMA-48, which every terminal knows.
//!
//! Source: ECMA-48 (CUP, ED, EL); `xterm` control sequences for the alternate screen and the cursor.

use crate::rows::{Bounds, Row};
use crate::table::{name, percent, span};
use std::fmt::Write;

/// To the alternate screen, without a cursor.
pub const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
/// Back to the former contents.
pub const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// Properties of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Lines.
    pub lines: usize,
    /// Whether it shows letters beyond ASCII.
    pub unicode: bool,
}

/// A whole screen: a title, bars for each row as far as they fit, and the notes of the start.
pub fn frame(title: &str, rows: &[Row], notes: &[String], size: Size) -> String {
    let mut lines = vec![title.to_owned(), String::new()];
    let notes: Vec<String> = notes.iter().flat_map(|note| wrapped(note, size.columns)).collect();
    let bottom = notes.len() + 3;
    for (shown, row) in rows.iter().enumerate() {
        let left = rows.len() - shown;
        if lines.len() + 5 + bottom > size.lines.max(9 + bottom) {
            lines.push(format!("{left} more: make the window larger"));
            break;
        }
        lines.extend(bars(row, size));
        lines.push(String::new());
    }
    let (sure, open) = letters(size);
    lines.push(format!("{sure} at least   {open} possible, given the busy times   q ends it"));
    lines.push(String::new());
    lines.extend(notes);
    let mut text = String::from("\u{1b}[H");
    for line in lines.iter().take(size.lines.max(1)) {
        let cut: String = line.chars().take(size.columns).collect();
        let _ = write!(text, "{cut}\u{1b}[K\r\n");
    }
    // A last line break would scroll a full screen.
    text.truncate(text.len() - 2);
    text.push_str("\u{1b}[J");
    text
}

/// A text in lines of at most `columns`, cut between words.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let is_full = |line: &String| line.chars().count() + 1 + word.chars().count() > columns;
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if !is_full(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn letters(size: Size) -> (char, char) {
    if size.unicode { ('█', '░') } else { ('#', '-') }
}

fn bars(row: &Row, size: Size) -> [String; 4] {
    let bar = |label: &str, bounds: Bounds| {
        let text = span(bounds);
        let width = size.columns.saturating_sub(34).clamp(10, 100);
        let cells = |share: f64| (share.clamp(0.0, 1.0) * width as f64).round() as usize;
        let (sure, open) = (cells(bounds.low), cells(bounds.high).max(cells(bounds.low)));
        let letter = |at: usize| match at {
            at if at < sure => letters(size).0,
            at if at < open => letters(size).1,
            _ => ' ',
        };
        let drawn: String = (0..width).map(letter).collect();
        format!("  {label:<13} [{drawn}] {text:>15}")
    };
    let exact = |share: f64| Bounds { low: share, high: share };
    let stolen = match row.stolen_share {
        stolen if stolen >= 0.0005 => format!(", stolen {}", percent(stolen)),
        _ => String::new(),
    };
    [
        format!(
            "{}: {} logical CPUs, {} cores; headroom {}{stolen}",
            name(row.scope),
            row.logical_cpus,
            row.cores,
            span(row.headroom_share)
        ),
        bar("busy", exact(row.busy_share)),
        bar("cores busy", row.core_busy_share),
        bar("capacity used", row.capacity_used_share),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Scope;
    use crate::table::tests::row;

    const SIZE: Size = Size { columns: 54, lines: 24, unicode: false };

    fn shown(text: &str) -> Vec<String> {
        let plain = text.replace("\u{1b}[H", "").replace("\u{1b}[J", "").replace("\u{1b}[K", "");
        plain.split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn bars_show_what_is_sure_and_what_is_open() {
        let notes = [format!("{} yield 1.27", "a".repeat(50))];
        let lines = shown(&frame("headroom", &[row(Scope::Machine)], &notes, SIZE));
        assert_eq!(lines[2], "machine: 16 logical CPUs, 8 cores; headroom 18.0 to 50");
        assert_eq!(lines[3], "  busy          [##########          ]           50.0%"[..54]);
        assert_eq!(lines[5], "  capacity used [##########------    ]   50.0 to 82.0%"[..54]);
        assert_eq!(lines.last().unwrap(), "yield 1.27");
    }

    #[test]
    fn a_small_terminal_is_not_overrun() {
        let rows: Vec<Row> = (0..20).map(|id| row(Scope::Node(id))).collect();
        for lines in [1, 5, 12, 30] {
            let text = frame("headroom", &rows, &[], Size { columns: 20, lines, unicode: true });
            let seen = shown(&text);
            assert!(seen.len() <= lines, "{} on {lines}", seen.len());
            assert!(seen.iter().all(|line| line.chars().count() <= 20));
        }
        let text = frame("headroom", &rows, &[], Size { columns: 80, lines: 30, unicode: true });
        assert!(text.contains("more: make the window larger"), "{text}");
    }
}
