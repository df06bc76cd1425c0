//! Queries whose plan differs between treatments, and plans that differed within one.

use super::choice::{MAX_QUERIES, query_list};
use crate::Facts;
use crate::Finding;
use crate::queries::{Change, PlanChange, Queries, short};
use crate::words::finding;
use std::collections::BTreeSet;

/// Longest operator inside a sentence.
const MAX_OPERATOR: usize = 40;

/// Other plans than the baseline's; `None` where all that are known are the same.
pub fn plan_change(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let different: Vec<&PlanChange> =
        queries.changes.iter().filter(|change| change.change == Change::Different).collect();
    let mut sentences = Vec::new();
    if let Some(first) = different.first() {
        let hold = match facts.study.properties().holds_plans {
            true => ": hold_plan=true tells them apart",
            false => "",
        };
        let (changed, example) = (queries.changed(), tell(first));
        let clauses = match changed.as_slice() {
            [_] => example,
            all => format!("{}, such as {example}", query_list(all, MAX_QUERIES)),
        };
        sentences.push(format!(
            "Another plan than the baseline's: {clauses}. Such ratios are of plan and hardware together{hold}."
        ));
    }
    sentences.extend(unstable(queries));
    let mut names: Vec<&str> =
        different.iter().flat_map(|change| change.treatments.iter().map(String::as_str)).collect();
    names.sort_unstable();
    (!sentences.is_empty()).then(|| finding("plan-change", sentences.join(" "), &names))
}

/// `Q15 under all d8 (HASH_JOIN … instead of NESTED_LOOP …)`.
fn tell(change: &PlanChange) -> String {
    let operators = match change.operators() {
        (Some(now), Some(was)) => format!(" ({} instead of {})", cut(now), cut(was)),
        (Some(now), None) => format!(" ({} in addition)", cut(now)),
        (None, Some(was)) => format!(" (without {})", cut(was)),
        // The same lines at other levels.
        (None, None) => " (the same operators in another order)".to_owned(),
    };
    let (first, more) = (change.treatments.first(), change.treatments.len().saturating_sub(1));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("Q{} under {}{more}{operators}", change.query, first.map_or("", String::as_str))
}

fn cut(line: &str) -> String {
    short(line.trim(), MAX_OPERATOR)
}

/// Queries that had more than one plan under the same treatment.
fn unstable(queries: &Queries) -> Option<String> {
    let all = queries.treatments.iter().flat_map(|measured| &measured.queries);
    let found: BTreeSet<u8> =
        all.filter(|(_, estimates)| estimates.plans_seen > 1).map(|(number, _)| *number).collect();
    let numbers: Vec<u8> = found.into_iter().collect();
    (!numbers.is_empty()).then(|| {
        format!(
            "More than one plan under the same treatment: {}; the commonest is compared.",
            query_list(&numbers, MAX_QUERIES)
        )
    })
}
