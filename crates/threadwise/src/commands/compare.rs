//! `threadwise compare`: the ratios of several studies side by side.

use crate::cli::CompareArgs;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_report::compare::{self, Named};

/// Prints the table, and writes the page.
pub fn compare(args: &CompareArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let opened: Vec<Opened> = args.files.iter().map(|file| Opened::open(file)).collect::<Result<_, _>>()?;
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    let documents: Vec<Named<'_>> =
        opened.iter().zip(&names).map(|(opened, file)| Named { file, facts: opened.facts() }).collect();
    let text = match args.json {
        true => format!("{}\n", compare::json(&documents)),
        false => format!("{}\n", compare::text(&documents, output::style())),
    };
    let path = args.html.as_deref();
    output::deliver(output::print(&text), path, false, || {
        compare::html(&documents, env!("CARGO_PKG_VERSION")).map_err(AppError::failed)
    })?;
    output::name_page(path.filter(|_| !args.json))
}
