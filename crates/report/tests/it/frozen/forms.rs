//! The forms of a report as texts that can be read and compared line by line.

use crate::frozen::opened::Opened;
use crate::frozen::{page, tree};
use std::io::Write;
use threadwise_analysis::{Facts, compare, document, probe_document};
use threadwise_report::terminal::Style;
use threadwise_report::{ReportError, csv, html, json, terminal};

/// Lines of an export that are shown.
const LINES: usize = 20;
/// Elements of an array up to which it is shown whole, in chart data.
const ELEMENTS: usize = 40;
/// Significant digits of fractions.
const CHART_DIGITS: usize = 6;
const JSON_DIGITS: usize = 9;

/// Columns of the screens of `probe` and `compare`.
const WIDTHS: [usize; 4] = [40, 80, 120, 200];

/// Verdict and table as `report` prints them, in Unicode at each width, at 80 columns in ASCII, and in colours.
pub fn terminal(facts: &Facts<'_>, widths: &[usize]) -> String {
    let document = document(facts);
    styled(widths, |style| {
        format!("{}\n\n{}\n", terminal::verdict(&document, style), terminal::sections(&document, style))
    })
}

/// A screen in each style, with a heading; colours as `^[[1m`.
fn styled(widths: &[usize], screen: impl Fn(Style) -> String) -> String {
    let plain = widths.iter().map(|&width| Style { color: false, unicode: true, width });
    let ascii = Style { color: false, unicode: false, width: 80 };
    let colours = Style { color: true, unicode: true, width: 80 };
    let shown = |style: Style| {
        let characters = if style.unicode { "Unicode" } else { "ASCII" };
        let colours = if style.color { ", colours" } else { "" };
        let text = screen(style);
        let text = if style.color { text.replace('\u{1b}', "^[") } else { text };
        format!("==== {} columns, {characters}{colours}\n{text}", style.width)
    };
    plain.chain([ascii, colours]).map(shown).collect::<Vec<_>>().join("\n")
}

/// The page without scripts and styles.
pub fn page(facts: &Facts<'_>) -> String {
    page::text(&html::render(&document(facts)).unwrap())
}

/// What the page's charts are drawn from.
pub fn charts(facts: &Facts<'_>) -> String {
    chart_data(&html::render(&document(facts)).unwrap())
}

/// The chart data of a page.
fn chart_data(page: &str) -> String {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    tree::pretty(data, CHART_DIGITS, ELEMENTS)
}

/// `report --json`.
pub fn json(facts: &Facts<'_>) -> String {
    whole_json(&json::report(facts, &document(facts)))
}

/// All of a JSON text.
fn whole_json(text: &str) -> String {
    tree::pretty(text, JSON_DIGITS, usize::MAX)
}

/// A writer of one export.
type Export = fn(&Facts<'_>, &mut dyn Write) -> Result<(), ReportError>;
const EXPORTS: [(&str, Export, usize); 8] = [
    ("runs, CSV", csv::runs_csv, LINES),
    ("slices, CSV", csv::slices_csv, LINES),
    ("queries, CSV", csv::queries_csv, LINES),
    ("items, CSV", csv::items_csv, LINES),
    ("runs, JSON lines", json::runs_jsonl, 2),
    ("slices, JSON lines", json::slices_jsonl, 2),
    ("queries, JSON lines", json::queries_jsonl, 2),
    ("items, JSON lines", json::items_jsonl, 2),
];

/// The first lines of each export.
pub fn exports(facts: &Facts<'_>) -> String {
    let shown = |(name, export, most): &(&str, Export, usize)| {
        let mut out = Vec::new();
        export(facts, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let first: String = text.lines().take(*most).map(|line| format!("{line}\n")).collect();
        format!("==== {name}: {} lines\n{first}", text.lines().count())
    };
    EXPORTS.iter().map(shown).collect::<Vec<_>>().join("\n")
}

/// The screen of `probe`.
pub fn probe_terminal(opened: &Opened) -> String {
    let (probe, hardware) = (opened.probe.as_ref().unwrap(), opened.hardware.as_ref().unwrap());
    styled(&WIDTHS, |style| terminal::probe(&opened.topology, probe, hardware, style) + "\n")
}

/// The page of `probe`, and what its charts are drawn from.
pub fn probe_page(opened: &Opened) -> String {
    let (probe, hardware) = (opened.probe.as_ref().unwrap(), opened.hardware.as_ref().unwrap());
    let document = probe_document(&opened.topology, probe, hardware, "0.1.0", "");
    let page = html::render(&document).unwrap();
    page::text(&page) + "\n" + &chart_data(&page)
}

/// `probe --json`.
pub fn probe_json(opened: &Opened) -> String {
    let (probe, hardware) = (opened.probe.as_ref().unwrap(), opened.hardware.as_ref().unwrap());
    whole_json(&json::probe(&opened.topology, probe, hardware))
}

fn all(studies: &[Opened]) -> Vec<Facts<'_>> {
    studies.iter().map(Opened::facts).collect()
}

/// The table of `compare`.
pub fn compared_terminal(studies: &[Opened]) -> String {
    let document = compare::document(&all(studies), "0.1.0");
    styled(&WIDTHS, |style| {
        format!("{}\n{}\n", terminal::verdict(&document, style), terminal::sections(&document, style))
    })
}

/// The page of `compare`.
pub fn compared_page(studies: &[Opened]) -> String {
    page::text(&html::render(&compare::document(&all(studies), "0.1.0")).unwrap())
}

/// `compare --json`.
pub fn compared_json(studies: &[Opened]) -> String {
    whole_json(&json::compare(&all(studies)))
}
