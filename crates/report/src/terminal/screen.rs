//! The answer on one screen.

use super::lines::{Aligned, columns, wrap};
use super::sheet::cell_text;
use super::{BOLD, DIM, GREEN, RED, Style, YELLOW, sign};
use crate::text::plain;
use threadwise_document::screen::{LABEL, Screen, TrustLevel, WIDTH};
use threadwise_document::{Prose, Table};

/// The screen: no wider than [`WIDTH`] columns.
pub fn screen(screen: &Screen, style: Style) -> String {
    let style = Style { width: style.width.min(WIDTH), ..style };
    let mut lines = wrap(&plain(&screen.subject, style.unicode), style.width);
    if let Some(first) = lines.first_mut() {
        *first = style.paint(BOLD, first);
    }
    lines.push(String::new());
    lines.extend(part("ANSWER", &screen.answer, style));
    let level = screen.trust.level.to_string();
    let reasons =
        std::iter::once(Prose::from(format!("{level}."))).chain(screen.trust.reasons.iter().cloned());
    let mut trust = part("TRUST", &reasons.collect::<Vec<_>>(), style);
    if let Some(first) = trust.first_mut() {
        *first = first.replacen(&level, &style.paint(color(screen.trust.level), &level), 1);
    }
    lines.extend(trust);
    lines.push(String::new());
    if let Some(table) = &screen.table {
        lines.extend(rows(table, style));
        lines.push(String::new());
    }
    let set = screen.set.iter().enumerate();
    lines.extend(set.flat_map(|(at, line)| {
        let label = if at == 0 { "SET" } else { "" };
        match screen.trust.level.allows_setting() {
            // It is copied, so it must not be wrapped.
            true => vec![format!("{label:LABEL$}{}", plain(&words(line), style.unicode))],
            false => part(label, std::slice::from_ref(line), style),
        }
    }));
    lines.extend(part("WHY", &screen.why, style));
    lines.extend(part("NEXT", std::slice::from_ref(&screen.next), style));
    lines.extend(
        part("", std::slice::from_ref(&screen.files), style).iter().map(|line| style.paint(DIM, line)),
    );
    lines.join("\n")
}

fn color(level: TrustLevel) -> &'static str {
    match level {
        TrustLevel::Good => GREEN,
        TrustLevel::Fair => YELLOW,
        TrustLevel::Low | TrustLevel::None => RED,
    }
}

/// Sentences after a label, joined with spaces.
fn part(label: &str, sentences: &[Prose], style: Style) -> Vec<String> {
    let text = sentences.iter().map(words).collect::<Vec<_>>().join(" ");
    let room = style.width.saturating_sub(LABEL).max(20);
    let lines = wrap(&plain(&text, style.unicode), room);
    let lines = lines.iter().filter(|line| !line.is_empty()).enumerate();
    lines.map(|(at, line)| format!("{:LABEL$}{line}", if at == 0 { label } else { "" })).collect()
}

/// A sentence with its commands without backticks.
fn words(sentence: &Prose) -> String {
    sentence.spans().iter().map(|span| span.text.as_str()).collect()
}

/// The table of a screen, one line per row; empty without one.
pub fn table(screen: &Screen, style: Style) -> Vec<String> {
    screen.table.as_ref().map_or_else(Vec::new, |table| rows(table, style))
}

/// A table without rules; columns without room are left out, the last step of narrowing first.
fn rows(table: &Table, style: Style) -> Vec<String> {
    let steps = table.columns.iter().map(|column| column.narrow.drop_at).max().unwrap_or(0);
    let mut made = (0..=steps).map(|step| {
        let is_left = |at: &usize| {
            let drop_at = table.columns[*at].narrow.drop_at;
            drop_at == 0 || drop_at > step
        };
        let at: Vec<usize> = (0..table.columns.len()).filter(is_left).collect();
        let heading: Vec<String> =
            at.iter().map(|at| plain(&table.columns[*at].name, style.unicode)).collect();
        let cells = table.cells().map(|cells| {
            at.iter()
                .map(|at| cells.get(*at).map_or_else(String::new, |cell| cell_text(cell, false, style)))
                .collect()
        });
        let left: Vec<usize> = (0..at.len()).filter(|column| !table.columns[at[*column]].is_figure).collect();
        let Aligned { rows, gap } =
            Aligned::new(std::iter::once(heading).chain(cells).collect(), &left, style.width);
        rows.iter().map(|row| sign::painted(row.join(gap).trim_end(), style)).collect::<Vec<String>>()
    });
    let fits = |lines: &Vec<String>| lines.iter().all(|line| columns(line) <= style.width);
    made.find(fits).or_else(|| made.next_back()).unwrap_or_default()
}
