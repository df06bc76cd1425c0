//! A document on a terminal: the verdict, and what follows it.

use super::lines::{flow, wrap};
use super::{BOLD, DIM, Style, YELLOW, sheet, strip};
use crate::text::plain;
use threadwise_document::{Block, Chart, Document, Figure, Paste, Prose, Shown};

/// Line above figures that come from a model.
const SIMULATED: &str = "SIMULATED: these figures come from a model, not from a machine.";

/// The verdict: a headline and one numbered line per finding, wrapped to the style's width.
pub fn verdict(document: &Document, style: Style) -> String {
    let mut lines = vec![style.paint(BOLD, &plain(&document.title, style.unicode))];
    lines.extend(document.simulated.then(|| style.paint(YELLOW, SIMULATED)));
    let digits = document.verdict.len().max(1).ilog10() as usize + 1;
    for (number, finding) in (1..).zip(&document.verdict) {
        let head = format!("{number:digits$}. ");
        lines.extend(hanging(&head, &finding.line, style));
    }
    lines.extend(pasted(document, style));
    lines.join("\n")
}

/// Lines that put advice into effect, not wrapped, so that they can be pasted.
fn pasted(document: &Document, style: Style) -> Vec<String> {
    let all: Vec<&Paste> = document.advice.iter().flat_map(|advice| &advice.paste).collect();
    let wide = all.iter().map(|paste| paste.place.chars().count()).max().unwrap_or(0);
    let line = |paste: &&Paste| {
        let place = format!("   {:wide$}  ", plain(&paste.place, style.unicode));
        format!("{}{}", style.paint(DIM, &place), plain(&paste.text, style.unicode))
    };
    let head = (!all.is_empty()).then(|| "To set it, paste:".to_owned());
    head.into_iter().chain(all.iter().map(line)).collect()
}

/// A sentence after a head, its further lines indented.
fn hanging(head: &str, line: &Prose, style: Style) -> Vec<String> {
    let room = style.width.saturating_sub(head.len()).max(20);
    let parts = wrap(&plain(&line.to_string(), style.unicode), room);
    let indent = " ".repeat(head.len());
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| format!("{}{part}", if at == 0 { head } else { &indent }))
        .collect()
}

/// The sections' parts that fit on a terminal.
pub fn sections(document: &Document, style: Style) -> String {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let text: String = blocks.map(|part| block(part, style)).collect();
    text.trim_end().to_owned()
}

fn block(block: &Block, style: Style) -> String {
    let line = |prose: &Prose| plain(&prose.to_string(), style.unicode);
    let on = |shown: &Shown| shown.on_terminal();
    let lines = match block {
        Block::Text(prose, shown) if on(shown) => wrap(&line(prose), style.width),
        Block::List(all, shown) if on(shown) => {
            all.iter().flat_map(|part| hanging("  ", part, style)).collect()
        }
        Block::Legend(parts, shown) if on(shown) => {
            let parts: Vec<String> = parts.iter().map(line).collect();
            flow(&parts, style.width).iter().map(|line| style.paint(DIM, line)).collect()
        }
        Block::Table(table) if on(&table.shown) => return sheet::table(table, style),
        Block::Figure(figure) if let Some(lines) = drawn(figure, style) => lines,
        Block::Figure(figure) if on(&figure.table.shown) => return sheet::table(&figure.table, style),
        _ => Vec::new(),
    };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A chart that a terminal can draw.
fn drawn(figure: &Figure, style: Style) -> Option<Vec<String>> {
    match &figure.chart {
        Chart::Strip(chart) => Some(strip::lines(&plain(&figure.title, style.unicode), chart, style)),
        _ => None,
    }
}
