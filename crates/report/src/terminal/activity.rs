//! What sessions did beside their rows, below the table of treatments.

use super::Style;
use super::lines::{columns, flow, wrap};
use crate::Document;
use crate::activity::{counted, subjects};
use crate::text::plain;

/// Columns that a treatment's name may take before its figures; a longer one has a line of its own.
const MAX_LABEL: usize = 28;

/// Subject by subject a line for each treatment; empty where there is nothing to tell.
pub fn activity(document: &Document, style: Style) -> String {
    let mut text = String::new();
    for subject in subjects(document) {
        wrap(subject.title, style.width).iter().for_each(|line| text.push_str(&format!("{line}\n")));
        let names: Vec<String> = subject.lines.iter().map(|(name, _)| plain(name, style.unicode)).collect();
        let fitting = names.iter().map(|name| columns(name)).filter(|width| *width <= MAX_LABEL);
        let label = fitting.max().unwrap_or(0);
        for (name, (_, parts)) in names.iter().zip(&subject.lines) {
            let parts: Vec<String> = parts.iter().map(|part| plain(part, style.unicode)).collect();
            let indent = if style.width >= 60 { label + 4 } else { 4 };
            let lines = flow(&parts, style.width.saturating_sub(indent).max(20));
            let own_line = columns(name) > label || style.width < 60;
            if own_line {
                text.push_str(&format!("  {name}\n"));
            }
            for (at, line) in lines.iter().enumerate() {
                let head = if at == 0 && !own_line { name.as_str() } else { "" };
                let head = format!("  {head:width$}  ", width = indent - 4);
                text.push_str(&format!("{head}{line}\n"));
            }
        }
    }
    let counted = counted(document);
    if !counted.is_empty() {
        // A dozen figures for each treatment are not for a terminal.
        let names: Vec<String> = counted.into_iter().map(|name| plain(name, style.unicode)).collect();
        let sentence = format!("engine counters (in the HTML report, and with --json): {}", names.join(", "));
        for line in wrap(&sentence, style.width.max(40)) {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}
