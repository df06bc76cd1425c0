//! The verdict and the table of treatments for a terminal; the screens of `probe` and `doctor` are
//! modules of their own.

mod cpus;
mod doctor;
mod document;
mod lines;
mod pairs;
mod probe;
mod sheet;
pub(crate) mod sign;

use crate::text::plain;
pub(crate) use lines::{columns, flow, wrap};
pub(crate) use sheet::bounds;
use threadwise_analysis::Finding;

pub use crate::drawing::{drawing, topology_line};
pub use doctor::{DoctorRow, doctor};
pub use document::{sections, verdict};
pub use probe::probe;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const CYAN: &str = "36";

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Findings as numbered lines, wrapped to the style's width.
fn numbered(findings: &[Finding], style: Style) -> Vec<String> {
    let digits = findings.len().max(1).ilog10() as usize + 1;
    let mut lines = Vec::new();
    for (number, finding) in (1..).zip(findings) {
        let head = format!("{number:digits$}. ");
        let line = plain(&finding.line.to_string(), style.unicode);
        for (at, part) in wrap(&line, style.width.saturating_sub(head.len()).max(20)).iter().enumerate() {
            let indent = " ".repeat(head.len());
            lines.push(format!("{}{part}", if at == 0 { &head } else { &indent }));
        }
    }
    lines
}
