//! Runs that do not count, with their reasons.

use crate::Facts;
use crate::kind::Kind;
use threadwise_document::numbers::counted;
use threadwise_document::{Block, Cell, Column, Section, Shown, Table, prose};
use threadwise_study::{Run, RunStatus};

/// Most failures in the list.
const MAX_FAILURES: usize = 200;

/// The section.
pub fn section(facts: &Facts<'_>, kind: &dyn Kind) -> Section {
    let bad: Vec<&Run> = facts.runs.iter().filter(|run| !run.status.is_valid()).collect();
    let sentence = match (bad.len(), bad.len().saturating_sub(MAX_FAILURES)) {
        (0, _) => prose!("Every run was valid."),
        (all, 0) => prose!("{} not counted.", counted(all, "run")),
        (all, more) => prose!(
            "{} not counted; {} more than are listed here, see `threadwise export`.",
            counted(all, "run"),
            more
        ),
    };
    let mut blocks = vec![Block::Text(sentence, Shown::Page)];
    if !bad.is_empty() {
        let rows = bad.iter().take(MAX_FAILURES).map(|run| row(kind, run));
        let texts = ["treatment", "status", "kind", "message"].map(Column::text);
        let columns = texts.into_iter().chain(["block", "attempt"].map(Column::figure)).collect();
        blocks.push(Block::Table(Table::new("Runs", columns, rows).shown(Shown::Page)));
    }
    Section::new("failures", "Failures", blocks)
}

fn row(kind: &dyn Kind, run: &Run) -> Vec<Cell> {
    let (status, cause, message) = match &run.status {
        RunStatus::Valid => ("valid", "", ""),
        RunStatus::Failed { kind, message } => ("failed", kind.as_str(), message.as_str()),
        RunStatus::Invalid { kind, message } => ("invalid", kind.as_str(), message.as_str()),
        RunStatus::Superseded => ("superseded", "", ""),
    };
    vec![
        Cell::text(&run.treatment),
        Cell::text(status),
        Cell::text(cause),
        Cell::Text(kind.reason(message)),
        Cell::text(run.block.to_string()),
        Cell::text(run.attempt.to_string()),
    ]
}
