//! `threadwise report`: the verdict of a study again, and its other forms.

use crate::cli::ReportArgs;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_analysis::asked::Asked;
use threadwise_analysis::{Facts, cost};
use threadwise_report::{Document, html, json, terminal};

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
        (_, true) => output::stream(|out| threadwise_report::csv::runs_csv(&facts, out)),
        _ => output::print(&text(&document)),
    };
    let path = args.html.as_deref();
    output::deliver(printed, path, false, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json && !args.csv))
}

/// Verdict and table, as `run` prints them too.
pub fn text(document: &Document) -> String {
    let style = output::style();
    format!("{}\n\n{}\n", terminal::verdict(document, style), terminal::sections(document, style))
}
