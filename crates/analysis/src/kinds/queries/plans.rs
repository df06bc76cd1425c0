//! Plans: on a terminal what changed, on the page both plans side by side; and what stands out.

use super::found::{Found, query_name, query_names};
use crate::queries::{Change, Estimated, Outlier, PlanChange, is_different, short};
use std::collections::BTreeSet;
use threadwise_document::numbers::{grouped, significant};
use threadwise_document::{Block, Difference, Fold, Prose, Section, Shown, SideLine, Sides, prose};

/// Lines of all plans together that a page has at most: a browser, and a reader, take no more.
const MAX_LINES: usize = 4000;

/// Longest operator that is written into a sentence.
const MAX_OPERATOR: usize = 40;

/// Plans; `None` where none changed.
pub fn section(found: Found<'_>) -> Option<Section> {
    let changed = |kind: Change| {
        let mut all: Vec<&PlanChange> =
            found.queries.changes.iter().filter(|change| change.change == kind).collect();
        all.sort_by_key(|change| change.query);
        all
    };
    let (different, parallel) = (changed(Change::Different), changed(Change::ParallelOnly));
    let folded = query_names(parallel.iter().map(|change| change.query).collect::<BTreeSet<u8>>());
    let mut lines: Vec<Prose> = different.iter().map(|change| prose!("{}", words(found, change))).collect();
    if !parallel.is_empty() {
        lines.push(prose!("the same plan, only run in parallel: {}", &folded));
    }
    let mut left = MAX_LINES;
    let mut fits = |change: &&&PlanChange| {
        let rest = left.checked_sub(change.lines.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let shown: Vec<&&PlanChange> = different.iter().filter(&mut fits).collect();
    // The same plans run in parallel are many and say little: one fold for all.
    let plans: Vec<Sides> = parallel.iter().filter(&mut fits).map(|change| sides(found, change)).collect();
    let hidden = different.len() + parallel.len() - shown.len() - plans.len();
    let mut folds: Vec<Fold> = shown.into_iter().map(|change| fold(found, change)).collect();
    folds.extend((!plans.is_empty()).then(|| Fold {
        title: format!("The same plan, only run in parallel: {folded}"),
        sides: plans,
        ..Fold::default()
    }));
    let mut blocks = vec![
        Block::Text(about(found), Shown::Page),
        Block::Text(prose!("plan changes; both plans side by side: HTML report, --json"), Shown::Terminal),
        Block::List(lines, Shown::Terminal),
    ];
    blocks.extend((hidden > 0).then(|| {
        let text = prose!(
            "{} more pairs of plans are not shown here: the page would be too long. The JSON report has them all.",
            hidden
        );
        Block::Text(text, Shown::Page)
    }));
    blocks.extend(folds.into_iter().map(Block::Fold));
    (!found.queries.changes.is_empty()).then(|| Section::new("plans", "Plans", blocks))
}

fn about(found: Found<'_>) -> Prose {
    let other = found.queries.changed();
    match other.is_empty() {
        true => prose!("No query has another plan than the baseline's; those below only went parallel."),
        false => prose!(
            "{} {} another plan in at least one treatment: there a ratio is one of plans too, not of hardware alone. Lines \
             that only one side has carry − or +; operators that only move rows between threads are grey.{}",
            query_names(other.iter().copied()),
            if other.len() == 1 { "has" } else { "have" },
            match found.queries.plans.iter().any(|plan| !plan.estimates.is_empty()) {
                true => " Rows and costs behind a line are the engine's estimates, from which it chose.",
                false => "",
            },
        ),
    }
}

/// `Q15: HASH_JOIN (…) instead of NESTED_LOOP_JOIN (…) in d8`.
fn words(found: Found<'_>, change: &PlanChange) -> String {
    format!("{}: {} in {}", query_name(change.query), instead(change), found.some_names(&change.treatments))
}

/// What is in the other plan instead of what the baseline's has, by the first operators that differ:
/// `HASH_JOIN (…) instead of NESTED_LOOP_JOIN (…)`.
fn instead(change: &PlanChange) -> String {
    let cut = |line: &str| short(line, MAX_OPERATOR);
    let (other, new) = change.operators();
    match (other.map(cut), new.map(cut)) {
        (Some(other), Some(new)) => format!("{other} instead of {new}"),
        (Some(other), None) => format!("{other} more"),
        (None, Some(new)) => format!("without {new}"),
        (None, None) => "the same operators in another order".to_owned(),
    }
}

fn fold(found: Found<'_>, change: &PlanChange) -> Fold {
    let names = found.some_names(&change.treatments);
    Fold {
        title: format!("{} · {names} · {}", query_name(change.query), instead(change)),
        sides: vec![sides(found, change)],
        ..Fold::default()
    }
}

fn sides(found: Found<'_>, change: &PlanChange) -> Sides {
    let plan = |at: usize| found.queries.plans.get(at);
    let name = |at: usize| plan(at).map_or("unknown", |plan| plan.name.as_str());
    let estimates = |at: usize| plan(at).map_or(&[][..], |plan| &plan.estimates).iter();
    let (mut of_left, mut of_right) = (estimates(change.baseline), estimates(change.other));
    let rows = change.lines.iter().map(|lines| {
        let [mut left, mut right] = row(lines);
        left.text += &lines.0.as_ref().and(of_left.next()).map_or(String::new(), estimated);
        right.text += &lines.1.as_ref().and(of_right.next()).map_or(String::new(), estimated);
        [left, right]
    });
    Sides {
        left: format!("{}, baseline: plan {}", query_name(change.query), name(change.baseline)),
        right: format!("{}: plan {}", found.some_names(&change.treatments), name(change.other)),
        rows: rows.collect(),
    }
}

/// ` · 1,234 rows, cost 5,678`, as the engine estimated; nothing where it does not say.
fn estimated(estimates: &Estimated) -> String {
    let number =
        |value: f64| if value < 1e15 { grouped(value.round() as u64) } else { significant(value, 3) };
    let rows = estimates.rows.map(|rows| format!("{} rows", number(rows)));
    let cost = estimates.cost.map(|cost| format!("cost {}", number(cost)));
    let words: Vec<String> = rows.into_iter().chain(cost).collect();
    if words.is_empty() { String::new() } else { format!(" · {}", words.join(", ")) }
}

fn row(row: &(Option<String>, Option<String>)) -> [SideLine; 2] {
    let ((left, other), differs) = (row, is_different(row));
    let line = |line: &Option<String>, sign: char, class: Difference| match line {
        None => SideLine::default(),
        // An operator that only moves rows is no other plan.
        Some(line) if line.trim_start().starts_with("~ ") => {
            SideLine { class: Difference::Moves, text: format!("  {line}") }
        }
        Some(line) if differs => SideLine { class, text: format!("{sign} {line}") },
        Some(line) => SideLine { class: Difference::Same, text: format!("  {line}") },
    };
    [line(left, '−', Difference::Gone), line(other, '+', Difference::New)]
}

/// What stands out: whole queries first, then what is furthest from the usual; `None` where nothing does.
pub fn outliers(found: Found<'_>) -> Option<Section> {
    let mut all: Vec<&Outlier> = found.queries.outliers.iter().collect();
    let distance = |outlier: &Outlier| outlier.times.ln().abs();
    all.sort_by(|a, b| a.block.is_some().cmp(&b.block.is_some()).then(distance(b).total_cmp(&distance(a))));
    let more = found.queries.outliers_left_out;
    let more =
        (more > 0).then(|| Block::Text(prose!("{} more stand out less.", grouped(more as u64)), Shown::Page));
    let lines = Block::List(all.iter().map(|outlier| outlier.text.clone()).collect(), Shown::Page);
    let blocks = more.into_iter().chain([lines]).collect();
    (!all.is_empty()).then(|| Section::new("outliers", "What stands out", blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(lines: &[(Option<&str>, Option<&str>)]) -> PlanChange {
        let owned = |line: Option<&str>| line.map(str::to_owned);
        PlanChange {
            query: 15,
            baseline: 0,
            other: 1,
            treatments: vec![],
            change: Change::Different,
            lines: lines.iter().map(|(left, other)| (owned(*left), owned(*other))).collect(),
        }
    }

    #[test]
    fn the_first_operators_that_differ_are_named() {
        let moved = (None, Some("  ~ Gather"));
        let same = (Some("SORT a"), Some("SORT a"));
        let changed = change(&[same, moved, (Some("  NL JOIN b"), None), (None, Some("  HASH JOIN b"))]);
        assert_eq!(instead(&changed), "HASH JOIN b instead of NL JOIN b");
        assert_eq!(instead(&change(&[same, (None, Some("TOP_N 10"))])), "TOP_N 10 more");
        assert_eq!(instead(&change(&[same, (Some("FILTER"), None)])), "without FILTER");
        assert_eq!(instead(&change(&[same])), "the same operators in another order");
        let long = "HASH JOIN ".repeat(20);
        assert!(instead(&change(&[(Some("a"), Some(&long))])).chars().count() < 70);
    }
}
