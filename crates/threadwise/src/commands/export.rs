//! `threadwise export`: raw runs and slices for other tools.

use crate::cli::{ExportArgs, ExportFormat, ExportRows};
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
use threadwise_report::{csv, json};

/// Prints the raw data of a study.
pub fn export(args: &ExportArgs) -> Result<(), AppError> {
    let opened = Opened::open(&args.file)?;
    let facts = opened.facts();
    output::stream(|out| match (args.format, args.what) {
        (ExportFormat::Csv, ExportRows::Runs) => csv::runs_csv(&facts, out),
        (ExportFormat::Csv, ExportRows::Slices) => csv::slices_csv(&facts, out),
        (ExportFormat::Csv, ExportRows::Queries) => csv::queries_csv(&facts, out),
        (ExportFormat::Csv, ExportRows::Items) => csv::items_csv(&facts, out),
        (ExportFormat::Csv, ExportRows::Looks) => csv::looks_csv(&facts, out),
        (ExportFormat::Jsonl, ExportRows::Looks) => json::looks_jsonl(&facts, out),
        (ExportFormat::Jsonl, ExportRows::Items) => json::items_jsonl(&facts, out),
        (ExportFormat::Jsonl, ExportRows::Queries) => json::queries_jsonl(&facts, out),
        (ExportFormat::Jsonl, ExportRows::Runs) => json::runs_jsonl(&facts, out),
        (ExportFormat::Jsonl, ExportRows::Slices) => json::slices_jsonl(&facts, out),
    })
}
