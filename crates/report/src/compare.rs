//! Several studies side by side, for a terminal, a browser and programs: one row a comparison, one column a
//! study. The table itself is made by [`threadwise_analysis::compare`].

use crate::json as forms;
use threadwise_analysis::Facts;
use threadwise_analysis::compare::{Side, SideBySide, side_by_side};
use threadwise_study::tpch;

/// A study with the name of its file.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// File as its user named it.
    pub file: &'a str,
    /// The study.
    pub facts: Facts<'a>,
}

/// What may be compared, and what may not.
pub fn foot(documents: &[Named<'_>]) -> &'static str {
    if all_commands(documents) {
        return "Ratios may be compared side by side: each is of a command to itself. Times and metrics may be compared \
                only where command, input and machine are the same.";
    }
    match all_queries(documents) {
        true => {
            "Ratios may be compared side by side: each is of an engine to itself. Times of queries may be compared only \
             where scale, parameters, storage and machine are the same."
        }
        false => {
            "Ratios may be compared side by side: each is of an engine to itself. Rows per second are not: each \
             engine's rows are its own work."
        }
    }
}

/// Whether every study's workload consists of queries.
fn all_queries(documents: &[Named<'_>]) -> bool {
    !documents.is_empty() && documents.iter().all(|named| named.facts.study.workload == tpch::WORKLOAD)
}

/// Whether every study is one of commands.
fn all_commands(documents: &[Named<'_>]) -> bool {
    !documents.is_empty() && documents.iter().all(|named| named.facts.study.runs_whole())
}

/// Whether any study is one of commands, whose rows name what their ratios are of.
pub(crate) fn any_commands(documents: &[Named<'_>]) -> bool {
    documents.iter().any(|named| named.facts.study.runs_whole())
}

/// The table as JSON: `{"version": 1, "studies": […], "rows": […]}`.
pub fn json(documents: &[Named<'_>]) -> String {
    forms::compare(documents, &made(documents))
}

fn made<'a>(documents: &[Named<'a>]) -> SideBySide<'a> {
    let sides = documents.iter().map(|named| Side {
        study: named.facts.study,
        topology: named.facts.topology,
        analysis: named.facts.analysis,
    });
    side_by_side(&sides.collect::<Vec<_>>())
}

