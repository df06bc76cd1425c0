//! The HTML report: one file that needs no network, can be mailed, and can be read without its scripts (every chart has
//! a table).
//!
//! The charts are drawn by Observable Plot on d3 (assets/README.md). The page's Content Security Policy (W3C CSP Level
//! 3) allows the seven scripts of this program by their hashes and no network at all, so that a text which slipped
//! through escaping still could not run or send anything.

mod cores;
mod data;
mod machine;
mod view;

use crate::{Document, ReportError};
use minijinja::{AutoEscape, Environment, Error, Output, State, Value};
use threadwise_machine::text::marked_lines;

const TEMPLATE: &str = include_str!("../../templates/report.html");
const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");
const STYLE: &str = include_str!("../../assets/report.css");
const WATCH: &str = include_str!("../../assets/watch.js");
const BARS: &str = include_str!("../../assets/bars.js");
const TIMELINES: &str = include_str!("../../assets/timelines.js");
const STRIP: &str = include_str!("../../assets/strip.js");
const CHARTS: &str = include_str!("../../assets/report.js");

/// SHA-256 of the seven scripts, base64, in the form of a CSP source list; `tests/it/report/page.rs` checks
/// them and prints the right ones.
const SCRIPT_HASHES: &str = include_str!("../../assets/hashes.txt");

/// A document as one HTML file.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn render(document: &Document) -> Result<String, ReportError> {
    let view::Filled { page, charts } = view::filled(document)?;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(format_value);
    let fault = |error: Error| ReportError::Template(format!("{error:#}"));
    environment.add_template("report.html", TEMPLATE).map_err(fault)?;
    let template = environment.get_template("report.html").map_err(fault)?;
    let trusted = |text: &str| Value::from_safe_string(text.to_owned());
    // Only pages with such charts carry their scripts.
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
        ("bars_script", drawn_by(&["bars", "dops", "steps", "heats", "cores"], BARS)),
        ("timelines_script", drawn_by(&["jobs", "timelines"], TIMELINES)),
        ("strip_script", drawn_by(&["strip"], STRIP)),
        ("charts_script", trusted(CHARTS)),
        ("hashes", trusted(SCRIPT_HASHES.trim())),
        ("data", trusted(&view::script_json(&charts))),
    ]);
    template.render(context).map_err(fault)
}

/// Every value of the template passes here: deceptive characters are replaced, then the template engine escapes for
/// HTML.
fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => minijinja::escape_formatter(out, state, &Value::from(marked_lines(text).into_owned())),
        None => minijinja::escape_formatter(out, state, value),
    }
}
