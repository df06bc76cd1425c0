//! `threadwise report`: the verdict of a study again, and its other formats.

use crate::cli::ReportArgs;
use crate::commands::screen::shown;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_analysis::asked::Asked;
use threadwise_analysis::{Facts, cost};
use threadwise_report::{html, json, markdown};

/// Prints or writes the requested formats.
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
        _ if args.markdown => output::print(&markdown::markdown(&document)),
        _ => output::print(&shown(&document, args.all)),
    };
    let path = args.html.as_deref();
    output::deliver(printed, path, None, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json && !args.csv && !args.markdown))
}
