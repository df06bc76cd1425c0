//! Plans side by side: the baseline's and another one, aligned line by line.

use super::super::data::Section;
use super::data::{Fold, PlanCell, PlanView};
use crate::Document;
use crate::queries::{instead, label, only_moves, query_name, query_names, some_names};
use std::collections::BTreeSet;
use threadwise_analysis::queries::{Change, PlanChange, Queries, is_different};

/// Lines of all plans together that a page has at most: a browser, and a reader, take no more.
const MAX_LINES: usize = 4000;

/// The section; `None` where no plan changed.
pub fn section(document: &Document, queries: &Queries) -> Option<Section> {
    if queries.changes.is_empty() {
        return None;
    }
    let of = |kind: Change| {
        let mut own: Vec<&PlanChange> =
            queries.changes.iter().filter(|change| change.change == kind).collect();
        own.sort_by_key(|change| change.query);
        own
    };
    let (different, parallel) = (of(Change::Different), of(Change::ParallelOnly));
    let mut left = MAX_LINES;
    let mut folds = Vec::new();
    let mut hidden = 0;
    for change in &different {
        match views(document, queries, &[change], &mut left).pop() {
            Some(view) => {
                folds.push(Fold { title: title(document, change), plans: vec![view], ..Fold::default() })
            }
            None => hidden += 1,
        }
    }
    // The same plans run in parallel are many and say little: one fold for all.
    let plans = views(document, queries, &parallel, &mut left);
    hidden += parallel.len() - plans.len();
    if !plans.is_empty() {
        let names = query_names(parallel.iter().map(|change| change.query).collect::<BTreeSet<u8>>());
        folds.push(Fold {
            title: format!("The same plan, only run in parallel: {names}"),
            plans,
            ..Fold::default()
        });
    }
    let other = queries.changed();
    let mut paragraphs = vec![match other.is_empty() {
        true => "No query has another plan than the baseline's; those below only went parallel.".to_owned(),
        false => format!(
            "{} {} another plan in at least one treatment: there a ratio is one of plans too, not of hardware alone. Lines \
             that only one side has carry − or +; operators that only move rows between threads are grey.",
            query_names(other.iter().copied()),
            if other.len() == 1 { "has" } else { "have" },
        ),
    }];
    if hidden > 0 {
        paragraphs.push(format!(
            "{hidden} more pairs of plans are not shown here: the page would be too long. The JSON report has them all."
        ));
    }
    Some(Section { id: "plans", title: "Plans", paragraphs, folds, ..Section::default() })
}

/// Both plans of each change, as long as lines are left.
fn views(document: &Document, queries: &Queries, changes: &[&PlanChange], left: &mut usize) -> Vec<PlanView> {
    let mut views = Vec::new();
    for change in changes {
        let Some(rest) = left.checked_sub(change.lines.len()) else { break };
        *left = rest;
        views.push(view(document, queries, change));
    }
    views
}

fn treatments(document: &Document, change: &PlanChange) -> String {
    some_names(&change.treatments.iter().map(|name| label(document, name)).collect::<Vec<_>>())
}

fn title(document: &Document, change: &PlanChange) -> String {
    format!("{} · {} · {}", query_name(change.query), treatments(document, change), instead(change))
}

fn view(document: &Document, queries: &Queries, change: &PlanChange) -> PlanView {
    let name = |at: usize| queries.plans.get(at).map_or("unknown", |plan| plan.name.as_str());
    PlanView {
        left: format!("{}, baseline: plan {}", query_name(change.query), name(change.baseline)),
        right: format!("{}: plan {}", treatments(document, change), name(change.other)),
        rows: change.lines.iter().map(row).collect(),
    }
}

fn row(row: &(Option<String>, Option<String>)) -> (PlanCell, PlanCell) {
    let ((own, other), differs) = (row, is_different(row));
    let cell = |line: &Option<String>, sign: char, class: &'static str| match line {
        None => PlanCell::default(),
        // An operator that only moves rows is no other plan.
        Some(line) if only_moves(line) => PlanCell { class: "moves", text: format!("  {line}") },
        Some(line) if differs => PlanCell { class, text: format!("{sign} {line}") },
        Some(line) => PlanCell { class: "", text: format!("  {line}") },
    };
    (cell(own, '−', "gone"), cell(other, '+', "new"))
}
