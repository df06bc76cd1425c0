//! `threadwise report`: the verdict of a study again, and its other forms.

use crate::cli::ReportArgs;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use std::path::Path;
use threadwise_analysis::asked::Asked;
use threadwise_analysis::{Facts, cost, of_document};
use threadwise_document::Prose;
use threadwise_document::screen::Trust;
use threadwise_report::{Document, html, json, results, terminal};

/// Prints or writes the asked-for forms.
pub fn report(args: &ReportArgs) -> Result<(), AppError> {
    if let Some(path) = &args.html {
        output::check_new(path)?;
    }
    let opened = Opened::open(&args.file)?;
    let before = opened.facts().asked;
    let prices = args.prices.over(before.prices);
    let asked = Asked { prices, p99_ns: args.slo.map(|seconds| seconds * 1e9) };
    let facts = Facts { asked: asked.over(before), ..opened.facts() };
    if let Some(fault) = prices.and_then(|prices| cost::fault(&prices, facts.study)) {
        return Err(AppError::Input(fault));
    }
    let document = threadwise_analysis::document(&facts);
    let printed = match (args.json, args.csv) {
        (true, _) => output::print(&format!("{}\n", json::report(&facts, &document))),
        (_, true) => output::stream(|out| threadwise_report::csv::results_csv(&facts, out)),
        _ if args.markdown => output::print(&results::markdown(&document)),
        _ => output::print(&shown(&document, args.all)),
    };
    let path = args.html.as_deref();
    output::deliver(printed, path, false, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json && !args.csv && !args.markdown))
}

/// The answer on one screen, or all that a terminal has room for.
pub fn shown(document: &Document, all: bool) -> String {
    match all {
        true => text(document),
        false => format!("{}\n", terminal::screen(&document.screen, output::style())),
    }
}

/// The same of a document that is not of one study; `command` is what shows it again.
pub fn shown_of(document: &mut Document, trust: Trust, next: &str, command: &str, all: bool) -> String {
    document.screen = of_document(document, trust, Prose::command(next), command);
    shown(document, all)
}

/// The words of a command line: how to run it again.
pub fn command_line() -> String {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| output::shell_word(Path::new(&word))).collect();
    format!("threadwise {}", words.join(" "))
}

/// Verdict and tables.
fn text(document: &Document) -> String {
    let style = output::style();
    format!("{}\n\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}
