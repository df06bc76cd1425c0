//! The HTML report: one file that needs no network, can be mailed, and can be read without its
//! scripts (every chart has a table).
//!
//! The charts are drawn by Observable Plot on d3 (assets/README.md). The page's Content Security
//! Policy (W3C CSP Level 3) allows the six scripts of this program by their hashes and no network
//! at all, so that a text which slipped through escaping still could not run or send anything.

mod activity;
mod charts;
mod commands;
pub(crate) mod compare;
mod cores;
mod data;
mod hardware;
mod heat;
mod machine;
mod method;
mod page;
mod queries;
mod tables;
mod usage;
mod view;
mod worklist;

use crate::{Document, ReportError};
use minijinja::{AutoEscape, Environment, Error, Output, State, Value};
use threadwise_analysis::hardware::Hardware;
use threadwise_machine::Topology;
use threadwise_machine::text::marked_lines;
use threadwise_study::probe::Probe;

const TEMPLATE: &str = include_str!("../../templates/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const WATCH: &str = include_str!("../../assets/watch.js");
const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");
const QUERIES: &str = include_str!("../../assets/queries.js");
const WORKLIST: &str = include_str!("../../assets/worklist.js");
const CHARTS: &str = include_str!("../../assets/report.js");

/// SHA-256 of the six scripts, base64, in the form of a CSP source list; `tests/page.rs` checks
/// them and prints the right ones.
const SCRIPT_HASHES: &str = include_str!("../../assets/hashes.txt");

/// The report as one HTML file.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn render(document: &Document) -> Result<String, ReportError> {
    let (charts, slices) = charts::charts(document);
    filled(&page::page(document, &charts, slices), &charts)
}

/// A document as one HTML file.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn render_document(document: &threadwise_document::Document) -> Result<String, ReportError> {
    let view::Filled { page, charts } = view::filled(document)?;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(format_value);
    let fault = |error: Error| ReportError::Template(format!("{error:#}"));
    environment
        .add_template("document.html", include_str!("../../templates/document.html"))
        .map_err(fault)?;
    let template = environment.get_template("document.html").map_err(fault)?;
    let trusted = |text: &str| Value::from_safe_string(text.to_owned());
    // Only pages that have such charts carry what draws them.
    let drawn_by = |names: &[&str], script: &str| match names.iter().any(|name| charts.contains_key(*name)) {
        true => trusted(script),
        false => Value::UNDEFINED,
    };
    let context = Value::from_pairs([
        ("page", Value::from(minijinja::value::Serde(&page))),
        ("style", trusted(STYLE)),
        ("watch_script", trusted(WATCH)),
        ("d3_script", trusted(D3)),
        ("plot_script", trusted(PLOT)),
        ("queries_script", drawn_by(&["bars", "dops", "steps", "heats", "cores"], QUERIES)),
        ("worklist_script", drawn_by(&["jobs", "timelines"], WORKLIST)),
        ("charts_script", trusted(CHARTS)),
        ("hashes", trusted(SCRIPT_HASHES.trim())),
        ("data", trusted(&view::script_json(&charts))),
    ]);
    template.render(context).map_err(fault)
}

/// What stands around a probe on a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeHead<'a> {
    /// Heading.
    pub title: &'a str,
    /// Version of this program.
    pub program_version: &'a str,
    /// When it was measured, RFC 3339 in UTC; may be empty.
    pub created_utc: &'a str,
}

/// A probe without a study as one HTML file.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn render_probe(
    topology: &Topology,
    probe: &Probe,
    hardware: &Hardware,
    head: &ProbeHead<'_>,
) -> Result<String, ReportError> {
    let charts =
        data::Charts { hardware: Some(heat::pair_chart(probe, hardware)), ..data::Charts::default() };
    filled(&hardware::probe_page(topology, probe, hardware, head, &charts), &charts)
}

/// The template with a page and its charts' data.
fn filled(page: &data::Page, charts: &data::Charts) -> Result<String, ReportError> {
    let data = data::script_json(charts)?;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(format_value);
    let fault = |error: Error| ReportError::Template(format!("{error:#}"));
    environment.add_template("report.html", TEMPLATE).map_err(fault)?;
    let template = environment.get_template("report.html").map_err(fault)?;
    let trusted = |text: &str| Value::from_safe_string(text.to_owned());
    let context = Value::from_pairs([
        ("page", data::template_value(page)),
        ("style", trusted(STYLE)),
        ("watch_script", trusted(WATCH)),
        ("d3_script", trusted(D3)),
        ("plot_script", trusted(PLOT)),
        // Only pages that have queries, or work lists, carry what draws them.
        ("queries_script", charts.queries.as_ref().map_or(Value::UNDEFINED, |_| trusted(QUERIES))),
        ("worklist_script", charts.worklist.as_ref().map_or(Value::UNDEFINED, |_| trusted(WORKLIST))),
        ("charts_script", trusted(CHARTS)),
        ("hashes", trusted(SCRIPT_HASHES.trim())),
        ("data", trusted(&data)),
    ]);
    template.render(context).map_err(fault)
}

/// Every value of the template passes here: deceptive characters are replaced, then the template
/// engine escapes for HTML.
fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => minijinja::escape_formatter(out, state, &Value::from(marked_lines(text).into_owned())),
        None => minijinja::escape_formatter(out, state, value),
    }
}
