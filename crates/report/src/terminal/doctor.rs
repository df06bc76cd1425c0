//! Conditions that would spoil a measurement here: one line per check, with what to do below it.

use super::{DIM, GREEN, RED, Style, YELLOW, columns, wrap};
use crate::text::plain;
use threadwise_document::numbers::counted;

/// One check as plain texts, so that this crate does not depend on the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct DoctorRow<'a> {
    /// Short stable name, such as `governor`.
    pub name: &'a str,
    /// `ok`, `unknown`, `warning` or `problem`.
    #[serde(rename = "outcome")]
    pub outcome_word: &'a str,
    /// The result, in one line.
    pub found: &'a str,
    /// Its source.
    pub source: &'a str,
    /// How to change it.
    pub remedy: Option<&'a str>,
}

/// Words of outcomes with their colours, in counting order.
const OUTCOMES: [(&str, &str); 4] = [("problem", RED), ("warning", YELLOW), ("unknown", DIM), ("ok", GREEN)];
/// Longest name with a column of its own width.
const MAX_NAME: usize = 20;

/// The checks in their order and a summary line.
pub fn doctor(rows: &[DoctorRow<'_>], style: Style) -> String {
    let name_width = rows.iter().map(|row| columns(row.name)).max().unwrap_or(0).min(MAX_NAME);
    let mut lines: Vec<String> = rows.iter().flat_map(|row| check(row, name_width, style)).collect();
    lines.push(summary(rows, style));
    lines.join("\n")
}

fn check(row: &DoctorRow<'_>, name_width: usize, style: Style) -> Vec<String> {
    let word = plain(row.outcome_word, style.unicode);
    let name = plain(row.name, style.unicode);
    let indent = 7 + 2 + name_width + 2;
    let room = style.width.saturating_sub(indent).max(30);
    let source = if row.source.is_empty() { String::new() } else { format!(" ({})", row.source) };
    let found = wrap(&plain(&format!("{}{source}", row.found), style.unicode), room);
    let head = format!("{}  {name:name_width$}  ", colored(&word, style));
    let mut lines: Vec<String> = Vec::new();
    for (at, part) in found.iter().enumerate() {
        lines.push(if at == 0 { format!("{head}{part}") } else { format!("{:indent$}{part}", "") });
    }
    let needs = matches!(row.outcome_word, "unknown" | "warning" | "problem");
    if let Some(remedy) = row.remedy.filter(|_| needs) {
        let arrow = if style.unicode { "→" } else { "->" };
        let hang = columns(arrow) + 1;
        let parts = wrap(&plain(remedy, style.unicode), room.saturating_sub(hang).max(20));
        for (at, part) in parts.iter().enumerate() {
            let sign = if at == 0 { arrow } else { "" };
            lines.push(format!("{:indent$}{sign:hang$}{part}", ""));
        }
    }
    lines
}

/// The word in a column of seven, coloured after padding.
fn colored(word: &str, style: Style) -> String {
    let padded = format!("{word:7}");
    match OUTCOMES.iter().find(|(known, _)| *known == word) {
        Some((_, code)) => style.paint(code, &padded),
        None => padded,
    }
}

fn summary(rows: &[DoctorRow<'_>], style: Style) -> String {
    let mut parts = Vec::new();
    for (word, code) in OUTCOMES {
        let count = rows.iter().filter(|row| row.outcome_word == word).count();
        let words = match word {
            "problem" | "warning" => counted(count, word),
            _ => format!("{count} {word}"),
        };
        parts.extend((count > 0).then(|| style.paint(code, &words)));
    }
    match parts.is_empty() {
        true => "Nothing was checked.".to_owned(),
        false => format!("{}: {}", counted(rows.len(), "check"), parts.join(", ")),
    }
}
