//! What stands out, in one sentence or two: executions that share block and cause
//! together.

use super::choice::query_list;
use crate::Finding;
use crate::queries::{Outlier, Queries, Reason};
use crate::words::finding;
use std::collections::BTreeSet;
use threadwise_document::numbers::{counted, significant};
use threadwise_document::{Prose, prose};

/// Most groups that are reported: single executions first, the last place for a query as a whole.
const MAX_GROUPS: usize = 3;

/// Most groups of queries as a whole.
const MAX_WHOLE: usize = 2;

/// With more letters than that the last group is left out.
const MAX_TEXT: usize = 230;

/// Most queries that a group names.
const MAX_NAMED: usize = 3;

/// What stands out, with the likeliest reason; `None` where nothing does. Queries of another plan are
/// reported as such elsewhere.
pub fn outliers(queries: &Queries) -> Option<Finding> {
    let (single, whole): (Vec<&Outlier>, Vec<&Outlier>) = queries
        .outliers
        .iter()
        .filter(|one| one.block.is_some() || one.reason != Reason::Plan)
        .partition(|one| one.block.is_some());
    let all = single.len() + whole.len() + queries.outliers_left_out;
    let mut single = grouped(&single, |a, b| (a.block, a.cause) == (b.block, b.cause));
    let mut whole = grouped(&whole, |a, b| (a.query, a.cause) == (b.query, b.cause));
    single.truncate(MAX_GROUPS - whole.len().min(1));
    whole.truncate(MAX_WHOLE.min(MAX_GROUPS - single.len()));
    let mut sentences: Vec<Prose> = Vec::new();
    let mut texts: Vec<Prose> = single.iter().filter_map(|group| executions(group)).collect();
    while texts.len() > 1 && texts.iter().map(|text| text.to_string().len()).sum::<usize>() > MAX_TEXT {
        texts.pop();
        single.pop();
    }
    if !texts.is_empty() {
        sentences.push(prose!("Stands out: {}.", Prose::join(texts, "; ")));
    }
    let texts: Vec<Prose> = whole.iter().filter_map(|group| query(group)).collect();
    if !texts.is_empty() {
        sentences.push(prose!("Apart from the rest: {}.", Prose::join(texts, "; ")));
    }
    let shown: Vec<&&Outlier> = single.iter().chain(&whole).flatten().collect();
    match all - shown.len() {
        0 => {}
        1 => sentences.push("1 more stands out less.".into()),
        more => sentences.push(prose!("{} more stand out less.", more)),
    }
    let mut names: Vec<&str> = shown.iter().map(|one| one.treatment.as_str()).collect();
    names.sort_unstable();
    (!sentences.is_empty()).then(|| finding("outlier", Prose::join(sentences, " "), &names))
}

/// Groups of what is alike, each where its first one is.
fn grouped<'a>(all: &[&'a Outlier], is_alike: fn(&Outlier, &Outlier) -> bool) -> Vec<Vec<&'a Outlier>> {
    let mut groups: Vec<Vec<&Outlier>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(first, one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// `Q4, Q6 and Q11 under d2 in block 3, 4.0 to 9.1 times their medians (steal)`.
fn executions(group: &[&Outlier]) -> Option<Prose> {
    let first = group.first()?;
    let (block, cause) = (first.block?, first.cause);
    let mut numbers: Vec<u8> = group.iter().map(|one| one.query).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let which = match group.iter().all(|one| one.treatment == first.treatment) {
        true => format!("{} under {}", query_list(&numbers, MAX_NAMED), first.treatment),
        false => {
            format!("{} under {}", query_list(&numbers, MAX_NAMED), counted(treatments(group), "treatment"))
        }
    };
    let (low, high) = group
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one.times), high.max(one.times)));
    let figure = |times: f64| Prose::figure(significant(times, 2));
    let times = match group {
        [_] => prose!("{} times its median", figure(high)),
        _ => prose!("{} to {} times their medians", figure(low), figure(high)),
    };
    Some(prose!("{} in block {}, {} ({})", which, block, times, cause))
}

/// How many different treatments.
fn treatments(group: &[&Outlier]) -> usize {
    group.iter().map(|one| one.treatment.as_str()).collect::<BTreeSet<&str>>().len()
}

/// `Q6 under d4 and 2 more treatments slower (steal)`: by rank alone, since an interval of one that was chosen for being
/// far from the others would not account for that.
fn query(group: &[&Outlier]) -> Option<Prose> {
    let first = group.first()?;
    let more = match group.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more treatment")),
    };
    let word = if first.times < 1.0 { "slower" } else { "faster" };
    Some(prose!("Q{} under {}{} {} ({})", u32::from(first.query), &first.treatment, more, word, first.cause))
}
