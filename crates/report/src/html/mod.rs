//! The HTML report: one file that needs no network, can be mailed, and can be read without its scripts (every chart has
//! a table).
//!
//! The charts are drawn by Observable Plot on d3 (assets/README.md). The page's Content Security Policy (W3C CSP Level
//! 3) allows the seven scripts of this program by their hashes and no network at all, so that a text which slipped
//! through escaping still could not run or send anything.

mod cores;
mod data;
mod gallery;
mod machine;
mod view;

pub use gallery::gallery;

use crate::picture::Sessions;
use crate::{Document, ReportError};
use minijinja::{AutoEscape, Environment, Error, Output, State, Value};
use threadwise_machine::Topology;
use threadwise_machine::text::marked_lines;

/// Kinds of pages, by which the program recognises its own (`<meta name="generator">`).
pub const REPORT: &str = "threadwise";
/// The same of a gallery.
pub const GALLERY: &str = "threadwise gallery";

/// How every page begins: its policy is in this place alone.
macro_rules! page {
    ($($file:literal),*) => {
        concat!(include_str!("../../templates/head.html"), $(include_str!(concat!("../../templates/", $file))),*)
    };
}

const TEMPLATE: &str = page!("picture.html", "report.html");
const GALLERY_TEMPLATE: &str = page!("gallery.html");
const ALONE: &str =
    concat!(include_str!("../../templates/picture.html"), include_str!("../../templates/machine.svg"));
const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");
const STYLE: &str = concat!(
    include_str!("../../assets/colours.css"),
    include_str!("../../assets/report.css"),
    include_str!("../../assets/picture.css")
);
const PICTURE_STYLE: &str =
    concat!(include_str!("../../assets/colours.css"), include_str!("../../assets/picture.css"));
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
    // Only pages with such charts carry their scripts.
    let drawn_by = |names: &[&str], script: &str| match names.iter().any(|name| charts.contains_key(*name)) {
        true => trusted(script),
        false => Value::UNDEFINED,
    };
    let context = Value::from_pairs([
        ("page", Value::from(minijinja::value::Serde(&page))),
        ("generator", Value::from(REPORT)),
        ("style", trusted(STYLE)),
        ("watch_script", trusted(WATCH)),
        ("d3_script", trusted(D3)),
        ("plot_script", trusted(PLOT)),
        ("bars_script", drawn_by(&["bars", "lines", "steps", "heats", "cores"], BARS)),
        ("timelines_script", drawn_by(&["jobs", "timelines"], TIMELINES)),
        ("strip_script", drawn_by(&["strip"], STRIP)),
        ("charts_script", trusted(CHARTS)),
        ("hashes", trusted(SCRIPT_HASHES.trim())),
        ("data", trusted(&view::script_json(&charts))),
    ]);
    filled(TEMPLATE, context)
}

/// A machine as an SVG file, with the sessions of a placement if there is one. Colours follow the viewer's light or
/// dark mode.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn picture(topology: &Topology, sessions: Option<&Sessions<'_>>) -> Result<String, ReportError> {
    let machine = machine::alone(topology, sessions);
    let context = Value::from_pairs([
        ("machine", Value::from(minijinja::value::Serde(&machine))),
        ("style", trusted(PICTURE_STYLE)),
    ]);
    filled(ALONE, context)
}

/// Text of the program, which is not escaped.
fn trusted(text: &str) -> Value {
    Value::from_safe_string(text.to_owned())
}

/// A template with its values, escaped for markup.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub(crate) fn filled(template: &str, context: Value) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(format_value);
    let filled = environment.render_str(template, context);
    filled.map_err(|error: Error| ReportError::Template(format!("{error:#}")))
}

/// Every value of the template passes here: deceptive characters are replaced, then the template engine escapes for
/// HTML.
fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.as_str().filter(|_| !value.is_safe()) {
        Some(text) => minijinja::escape_formatter(out, state, &Value::from(marked_lines(text).into_owned())),
        None => minijinja::escape_formatter(out, state, value),
    }
}
