//! What a study of queries says: all together, the range of single queries, plans, steps of DOP, SMT,
//! the plateau, what stands out. Each in two or three lines of a terminal: the table, the HTML report
//! and the JSON have the rest.

mod choice;
mod cores;
mod plans;
mod scope;
mod short;
mod stands;
mod steps;
mod total;
mod trust;

pub use scope::scope;
pub use trust::trust;

use crate::Facts;
use crate::findings::machine::has_allowed_siblings;
use crate::findings::{scaling, smt};
use crate::queries::{DataSize, Queries};
use crate::words::{finding, names};
use crate::{Estimate, Finding};
use choice::{Choice, MAX_SHOWN, NamedRatio};
use std::cmp::Reverse;
use threadwise_document::{Prose, numbers, prose};

/// Comparisons that tell of siblings.
const SMT_KINDS: [&str; 2] = ["smt-dop", "both-threads"];

/// All of them, in the order in which they should be read.
pub fn queries(facts: &Facts<'_>, queries: &Queries) -> Vec<Finding> {
    let choice = Choice::of(facts, queries);
    let mut findings: Vec<Finding> = [
        short::short(facts, queries),
        total::total(facts, queries, &choice),
        total::best(facts, queries),
        total::range(queries, &choice),
        plans::plan_change(facts, queries),
        cores::core_seconds(facts, queries, &choice),
        steps::steps(facts, queries, &choice),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(smt_found(facts, queries));
    findings.extend(
        [
            steps::plateau(queries, facts.study.design.margin),
            stands::outliers(queries),
            scaling::asked(facts),
        ]
        .into_iter()
        .flatten(),
    );
    findings
}

/// How large the data is beside memory and caches.
pub fn data_size(queries: &Queries) -> Option<Finding> {
    let times =
        |bytes: f64, whole: u64| Prose::figure(format!("{}x", numbers::significant(bytes / whole as f64, 2)));
    let (least, most) = queries.data.first().zip(queries.data.last())?;
    let times = |size: fn(&DataSize) -> Option<u64>, what: &str| {
        let Some(bytes_of) = size(least).filter(|size| *size > 0) else {
            return prose!("{} of unknown size", what);
        };
        let (low, high) = (times(least.logical_bytes, bytes_of), times(most.logical_bytes, bytes_of));
        let range = if low == high { low } else { prose!("{} to {}", low, high) };
        prose!("{} {} ({})", range, what, Prose::figure(numbers::bytes(bytes_of)))
    };
    let (memory, llc) =
        (times(|data| data.memory_bytes, "memory"), times(|data| data.llc_bytes, "the last-level caches"));
    let each = "1 is 1 GB of rows as text";
    // As its user set it.
    let scale = |data: &DataSize| data.scale.to_string();
    let factors = match queries.data.as_slice() {
        [one] => prose!(
            "scale factor {}, {} GB of rows as text",
            scale(one),
            numbers::set_number(one.logical_bytes / 1e9)
        ),
        [low, high] => prose!("scale factors {} and {} ({})", scale(low), scale(high), each),
        all => prose!("{} scale factors, {} to {} ({})", all.len(), scale(least), scale(most), each),
    };
    Some(finding("data-size", prose!("Data: {}: {}, {}.", factors, memory, llc), &[]))
}

/// What siblings bring, or why that cannot be reported.
fn smt_found(facts: &Facts<'_>, queries: &Queries) -> Vec<Finding> {
    let words = [
        "The same DOP, free to use both threads of each core, against one thread a core",
        "Both threads of each core, at their DOP, against one thread a core at its own",
    ];
    let of_kind = |(kind, text): (&str, &str)| of_kind(facts, queries, kind, text);
    let found: Vec<Finding> = SMT_KINDS.into_iter().zip(words).filter_map(of_kind).collect();
    if !found.is_empty() {
        return found;
    }
    let is_asked =
        facts.study.comparisons.iter().any(|comparison| SMT_KINDS.contains(&comparison.kind.as_str()));
    let text = match (has_allowed_siblings(facts.topology), is_asked) {
        (false, _) => return vec![smt::not_measured(facts)],
        (true, true) => "SMT yield: not measured, no block has usable runs of both sides.",
        (true, false) => "SMT yield: not part of this study; cores with siblings are there.",
    };
    vec![finding("not-measurable", text.to_owned(), &[])]
}

/// Comparisons of one kind, those of the highest DOPs.
fn of_kind(facts: &Facts<'_>, queries: &Queries, kind: &str, text: &str) -> Option<Finding> {
    let mut estimates: Vec<&Estimate> = facts.throughput().filter(|estimate| estimate.kind == kind).collect();
    let all = estimates.len();
    let dop = |estimate: &&Estimate| {
        let measured = queries.treatments.iter().find(|measured| measured.treatment == estimate.treatment);
        Reverse(measured.and_then(|measured| measured.dop))
    };
    estimates.sort_by_key(dop);
    estimates.truncate(MAX_SHOWN);
    let clauses = choice::judged(
        &estimates.iter().map(|estimate| NamedRatio::of_estimate(estimate)).collect::<Vec<_>>(),
    )?;
    let what = if queries.is_throughput { "queries per hour" } else { "geometric mean" };
    let more = match all - estimates.len() {
        0 => String::new(),
        more => format!("; {more} more in the table"),
    };
    Some(finding(kind, prose!("{} ({}): {}{}.", text, what, clauses, more), &names(&estimates)))
}
