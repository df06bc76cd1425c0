//! Findings to terminal, HTML, JSON and CSV. No engine, no system access, no clock: a report is a function of a
//! [`Document`].
//!
//! One renderer is one file and one line below. Every text of a document may come from a study file that was mailed, so
//! each renderer escapes for its own medium: control and direction characters for the terminal ([`text::plain`]),
//! markup for HTML (`html`), formulas for spreadsheets ([`csv`]).

pub mod ci;
pub mod csv;
pub mod drawing;
pub mod estimates;
mod gaps;
pub mod hardware;
pub mod html;
pub mod json;
pub mod layout;
pub mod markdown;
pub mod picture;
pub mod terminal;
pub mod text;

pub use threadwise_analysis::Facts;
pub use threadwise_document::Document;

/// Errors of a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The HTML template failed: a fault of the program.
    #[error(
        "cannot make the HTML report: {0}; this is a fault of the program, please report it with the result file"
    )]
    Template(String),
    /// A line could not be written.
    #[error("cannot write the export: {0}; check the free space of the disk that it goes to")]
    Write(#[from] std::io::Error),
}
