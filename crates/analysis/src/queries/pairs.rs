//! Pairs of treatments that a study compares with each other, query by query: both threads of every core over one at
//! the same DOP, DOP of all logical CPUs over DOP of all cores, and the pairs that a study names. Comparisons with the
//! baseline are with each treatment, and one DOP over the next lower one in `steps`.
//!
//! The queries of a comparison are a family, as everywhere; totals are one family of all comparisons
//! (docs/METHODOLOGY.md, "Queries").

use super::executions::{Executions, Pair};
use super::plans::Plans;
use super::query_study::{
    MAX_SHOWN, NamedRatio, PLAN_SIGN, QueryStudy, bare, by_query, judged, or_none, speed, with_sign,
};
use super::ratios::contrasts;
use super::types::{Change, ComparedQuery, QueryComparison};
use super::words::{if_any, query_name, query_names};
use crate::estimate::Sides;
use crate::findings::machine::has_allowed_siblings;
use crate::findings::smt;
use crate::words::{finding, names};
use crate::{Estimate, Finding, FindingKind};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use threadwise_document::{Block, Cell, Column, Section, Shown, Table, prose};
use threadwise_study::{Comparison, ComparisonKind};

/// Kinds of comparisons that are reported elsewhere.
const ELSEWHERE: [ComparisonKind; 2] = [ComparisonKind::Baseline, ComparisonKind::DopStep];

/// Kinds of comparisons of siblings, with what they compare.
const SMT_KINDS: [(ComparisonKind, FindingKind, &str); 2] = [
    (
        ComparisonKind::SmtDop,
        FindingKind::SmtDop,
        "The same DOP, free to use both threads of each core, against one thread per core",
    ),
    (
        ComparisonKind::BothThreads,
        FindingKind::BothThreads,
        "Both threads of each core, at their DOP, against one thread per core at its own",
    ),
];

fn is_smt(kind: &ComparisonKind) -> bool {
    SMT_KINDS.iter().any(|(known, ..)| known == kind)
}

/// All pairs of a study that belong here, in its order; without those of which no block has both sides.
pub fn comparisons(table: &Executions<'_>, plans: &Plans) -> Vec<QueryComparison> {
    let placed = table.study.comparisons.iter().filter(|named| !ELSEWHERE.contains(&named.kind));
    let pair = |named: &'_ Comparison| {
        let Sides { top, below } = Sides::of(table.study, named)?;
        let mut pair = Pair { top: vec![top], below, changed: BTreeSet::new() };
        let differs = |query: &u8| plans.between(&pair, *query) == Change::Different;
        pair.changed = table.numbers.iter().copied().filter(differs).collect();
        Some(pair)
    };
    let (named, pairs): (Vec<&Comparison>, Vec<Pair>) =
        placed.filter_map(|named| Some((named, pair(named)?))).unzip();
    let all = named.into_iter().zip(&pairs).zip(contrasts(table, plans, &pairs));
    let each = all.map(|((named, pair), (ratios, queries))| QueryComparison {
        name: named.name.clone(),
        kind: named.kind.clone(),
        treatment: named.treatment.clone(),
        baseline: named.baseline.first().cloned().unwrap_or_default(),
        queries,
        changed: pair.changed.iter().copied().collect(),
        ratios,
    });
    each.filter(|comparison| !comparison.queries.is_empty() || comparison.ratios.speed.is_some()).collect()
}

/// Gain from siblings, or why it cannot be reported.
pub fn smt_findings(found: QueryStudy<'_>) -> Vec<Finding> {
    let all: Vec<Finding> =
        SMT_KINDS.iter().filter_map(|(compared, kind, text)| of_kind(found, compared, *kind, text)).collect();
    if !all.is_empty() {
        return all;
    }
    let is_asked = found.facts.study.comparisons.iter().any(|comparison| is_smt(&comparison.kind));
    let text = match (has_allowed_siblings(found.facts.topology), is_asked) {
        (false, _) => return vec![smt::not_measured(&found.facts)],
        (true, true) => "SMT yield: not measured, no block has usable runs of both sides.",
        (true, false) => "SMT yield: not part of this study, although the machine has cores with siblings.",
    };
    vec![finding(FindingKind::NotMeasurable, text.to_owned(), &[])]
}

/// Comparisons of one kind, those of the highest DOPs.
fn of_kind(
    found: QueryStudy<'_>,
    compared: &ComparisonKind,
    kind: FindingKind,
    text: &str,
) -> Option<Finding> {
    let mut estimates: Vec<&Estimate> =
        found.facts.throughput().filter(|estimate| estimate.kind == *compared).collect();
    let all = estimates.len();
    estimates.sort_by_key(|estimate| {
        let mut treatments = found.queries.treatments.iter();
        Reverse(treatments.find(|one| one.treatment == estimate.treatment).and_then(|one| one.dop))
    });
    estimates.truncate(MAX_SHOWN);
    let clauses = judged(estimates.iter().map(|one| NamedRatio::of(&one.name, &one.ratio, "")))?;
    let what = if found.queries.is_throughput { "queries per hour" } else { "geometric mean" };
    let more = if_any("; ", all - estimates.len(), " more in the table");
    Some(finding(kind, prose!("{} ({}): {}{}.", text, what, clauses, more), &names(&estimates)))
}

/// The section; `None` if no pair is compared.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let pairs = &found.queries.comparisons;
    let title = match pairs.iter().all(|pair| is_smt(&pair.kind)) {
        true => "Second threads, query by query",
        false => "Pairs of treatments, query by query",
    };
    let about = prose!(
        "One treatment over another of the same blocks: speed above 1 is faster, CPU above 1 is more. The queries of a pair \
         are judged together (see \"How it was measured\")."
    );
    let mut blocks = vec![Block::Text(about, Shown::Page), Block::Table(totals(pairs))];
    blocks.push(Block::Table(across(found, "Speed of each query, pair by pair", |query| {
        speed(Some(&query.speed))
    })));
    if pairs.iter().flat_map(|pair| &pair.queries).any(|query| query.cpu.is_some()) {
        blocks.push(Block::Table(across(found, "CPU time of each query, pair by pair", |query| {
            bare(query.cpu.as_ref())
        })));
    }
    (!pairs.is_empty()).then(|| Section::new("pairs", title, blocks))
}

/// Pairs down: all queries together.
fn totals(pairs: &[QueryComparison]) -> Table {
    let any_cpu = pairs.iter().any(|pair| pair.ratios.cpu.is_some());
    let any_changed = pairs.iter().any(|pair| !pair.changed.is_empty());
    let row = |pair: &QueryComparison| {
        let ratios = &pair.ratios;
        let page = |name: &str| Column::text(name).shown(Shown::Page);
        let mut cells = vec![
            (Column::text("pair"), Cell::text(&pair.name)),
            (Column::text("ratio of totals").shorten_at(3), speed(ratios.speed.as_ref())),
            (Column::text("geo. mean").shorten_at(1).drop_at(4), speed(ratios.geometric.as_ref())),
        ];
        cells.extend(any_cpu.then(|| (Column::text("CPU").shorten_at(2), bare(ratios.cpu.as_ref()))));
        if any_changed {
            cells.push((page("other plans"), Cell::text(query_names(pair.changed.iter().copied()))));
            cells.push((page("without these"), speed(ratios.speed_same_plans.as_ref())));
        }
        cells
    };
    Table::headed("Pairs, all queries together", pairs.iter().map(row))
}

/// One row per query, one column per pair; for the page, since a terminal shows every treatment's queries already.
fn across(found: QueryStudy<'_>, caption: &str, cell: impl Fn(&ComparedQuery) -> Cell) -> Table {
    let pairs = &found.queries.comparisons;
    let columns: Vec<(String, &QueryComparison)> =
        pairs.iter().map(|pair| (pair.name.clone(), pair)).collect();
    let is_any = pairs.iter().any(|pair| !pair.changed.is_empty());
    let sign = if is_any { format!("; {PLAN_SIGN}: another plan") } else { String::new() };
    let rows = found.queries.numbers.iter().map(|query| (query_name(*query), *query));
    by_query(prose!("{}{}", caption, sign), &columns, rows, |pair, number| {
        let query = pair.queries.iter().find(|query| query.query == number);
        or_none(query.map(|query| with_sign(cell(query), query.plan_change)))
    })
}
