//! `fleet report`: machines of each kind, and kinds against each other.

use super::args::FleetReportArgs;
use super::gather;
use crate::commands::screen;
use crate::error::AppError;
use crate::output;
use std::path::Path;
use threadwise_analysis::{fleet, of_cautions};
use threadwise_document::Prose;
use threadwise_report::{html, json};

/// Prints and writes the requested formats.
pub fn report(args: &FleetReportArgs) -> Result<(), AppError> {
    args.html.as_deref().map_or(Ok(()), output::check_new)?;
    let fleet = match args.sources.as_slice() {
        [only] if Path::new(only).is_dir() => gather::of_folder(Path::new(only))?,
        files => gather::of_files(files)?,
    };
    let judged = fleet::judge(&fleet);
    let document = fleet::document(&fleet, &judged, env!("CARGO_PKG_VERSION"));
    let can_tell = judged.kinds.iter().all(|kind| kind.machines as usize >= fleet::MIN_MACHINES);
    let trust = of_cautions(&document, can_tell);
    let document = screen::with_screen(document, trust, Prose::command(screen::again("--html FILE")));
    let text = match args.json {
        true => format!("{}\n", json::fleet(&fleet, &judged)),
        false => screen::shown(&document, args.all),
    };
    let path = args.html.as_deref();
    output::deliver(output::print(&text), path, None, || html::render(&document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json))
}
