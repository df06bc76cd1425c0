//! The forms of a report as texts that can be read and compared line by line.

use crate::frozen::tree;
use std::io::Write;
use threadwise_analysis::{Facts, compare, document};
use threadwise_document::Document;
use threadwise_report::terminal::{self, Style};
use threadwise_report::{ReportError, csv, json};

/// Verdict and sections as `report` prints them.
pub fn screen(document: &Document, style: Style) -> String {
    format!("{}\n\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}

/// A screen in Unicode at each width, with a heading.
pub fn at_widths(widths: &[usize], screen: impl Fn(Style) -> String) -> String {
    let shown = |&width: &usize| {
        let text = screen(Style { color: false, unicode: true, width });
        format!("==== {width} columns\n{text}")
    };
    widths.iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// `report --json`, figures rounded.
pub fn report(facts: &Facts<'_>) -> String {
    tree::pretty(&json::report(facts, &document(facts)))
}

/// `compare --json`, figures rounded.
pub fn compared(studies: &[Facts<'_>]) -> String {
    tree::pretty(&json::compare(studies))
}

/// The document of `compare`.
pub fn compared_document(studies: &[Facts<'_>]) -> Document {
    compare::document(studies, "0.1.0")
}

/// A writer of one export.
type Export = fn(&Facts<'_>, &mut dyn Write) -> Result<(), ReportError>;
/// Each export as CSV and as lines of JSON.
pub const EXPORTS: [(&str, Export, Export); 5] = [
    ("runs", csv::runs_csv, json::runs_jsonl),
    ("slices", csv::slices_csv, json::slices_jsonl),
    ("queries", csv::queries_csv, json::queries_jsonl),
    ("items", csv::items_csv, json::items_jsonl),
    ("looks", csv::looks_csv, json::looks_jsonl),
];

/// What an export writes.
pub fn exported(export: Export, facts: &Facts<'_>) -> String {
    let mut out = Vec::new();
    export(facts, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
