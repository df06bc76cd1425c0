//! `threadwise compare`: the ratios of several studies side by side.

use crate::cli::CompareArgs;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_analysis::{Facts, compare};
use threadwise_report::{html, json, terminal};

/// Prints the table, and writes the page.
pub fn compare(args: &CompareArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let opened: Vec<Opened> = args.files.iter().map(|file| Opened::open(file)).collect::<Result<_, _>>()?;
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let studies: Vec<Facts<'_>> =
        opened.iter().zip(&names).map(|(opened, file)| Facts { source: file, ..opened.facts() }).collect();
    let document = compare::document(&studies, env!("CARGO_PKG_VERSION"));
    let style = output::style();
    let text = match args.json {
        true => format!("{}\n", json::compare(&studies)),
        false => {
            format!("{}\n{}\n", terminal::verdict(&document, style), terminal::sections(&document, style))
        }
    };
    let path = args.html.as_deref();
    output::deliver(output::print(&text), path, false, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json))
}
