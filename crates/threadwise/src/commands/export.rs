//! `threadwise export`: raw runs and slices for other tools.

use crate::cli::{ExportArgs, ExportFormat, ExportRows};
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_report::{csv, json};

/// Prints the raw data of a study.
pub fn export(args: &ExportArgs) -> Result<(), AppError> {
    let opened = Opened::open(&args.file)?;
    let document = opened.document();
    output::stream(|out| match (args.format, args.what) {
        (ExportFormat::Csv, ExportRows::Runs) => csv::runs_csv(&document, out),
        (ExportFormat::Csv, ExportRows::Slices) => csv::slices_csv(&document, out),
        (ExportFormat::Csv, ExportRows::Queries) => csv::queries_csv(&document, out),
        (ExportFormat::Csv, ExportRows::Items) => csv::items_csv(&document, out),
        (ExportFormat::Jsonl, ExportRows::Items) => json::items_jsonl(&document, out),
        (ExportFormat::Jsonl, ExportRows::Queries) => json::queries_jsonl(&document, out),
        (ExportFormat::Jsonl, ExportRows::Runs) => json::runs_jsonl(&document, out),
        (ExportFormat::Jsonl, ExportRows::Slices) => json::slices_jsonl(&document, out),
    })
}
