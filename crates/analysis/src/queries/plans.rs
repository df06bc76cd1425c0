//! Plans: all plans, the most frequent one of a treatment, and how two of them differ.
//!
//! Texts are canonical (docs/WORKER.md): one line per operator, two spaces per level, `~ ` before operators that only
//! move rows between threads or processes. Lines are aligned by their longest common subsequence (Wagner, Fischer, "The
//! string-to-string correction problem", J. ACM 21, 1974).

use super::executions::{Executions, Pair};
use super::query_study::{MAX_QUERIES, QueryStudy};
use super::types::{Change, Estimated, Plan, PlanChange, Queries, is_different};
use super::words::{cut_short, if_any, query_list, query_name, query_names};
use crate::words::finding;
use crate::{Finding, FindingKind};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::numbers::{capital, grouped, significant};
use threadwise_document::{Block, Difference, Fold, Prose, Section, Shown, SideLine, Sides, prose};
use threadwise_study::{operator_and_estimates, without_estimates};

/// Mark of operators that only move rows.
const MOVES_ROWS: &str = "~ ";

/// Most cells of an alignment's table: 2,000 lines on either side.
const MAX_CELLS: usize = 4_000_000;

/// Offset basis and prime of FNV-1a with 32 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// Most lines of all plans together on a page, for the sake of browser and reader.
const MAX_LINES: usize = 4000;

/// Longest operator in a sentence.
const MAX_OPERATOR: usize = 40;

/// Plans of a study, and who had them.
pub struct Plans {
    /// By first appearance.
    pub plans: Vec<Plan>,
    /// By treatment and query, how often each plan was seen.
    seen: BTreeMap<(usize, u8), BTreeMap<usize, u32>>,
}

impl Plans {
    /// Collects them.
    pub fn new(table: &Executions<'_>) -> Self {
        let mut found = Self { plans: Vec::new(), seen: BTreeMap::new() };
        let mut known: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        let cells = table.cells.iter().flat_map(|cells| cells.iter().enumerate());
        for (treatment, cell) in cells {
            for done in cell.iter().flat_map(|cell| &cell.done) {
                let (Some(whole), query) = (done.execution.plan.as_deref(), done.execution.query) else {
                    continue;
                };
                let at = *known.entry(whole).or_insert_with(|| found.add(whole, query));
                if let Some(at) = at {
                    *found.seen.entry((treatment, query)).or_default().entry(at).or_default() += 1;
                }
            }
        }
        found
    }

    /// Index of a plan as an engine showed it; `None` if it is empty. If several differ in their estimates alone, those
    /// of the first one are kept.
    fn add(&mut self, whole: &str, query: u8) -> Option<usize> {
        let text = bare(whole)?;
        let known = self.plans.iter().position(|plan| plan.text == text);
        Some(known.unwrap_or_else(|| {
            let estimates = estimates(whole);
            self.plans.push(Plan { name: name(&text), query, text, estimates });
            self.plans.len() - 1
        }))
    }

    /// How often each plan of a query was seen under these treatments together.
    fn counts(&self, side: &[usize], query: u8) -> BTreeMap<usize, u32> {
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for (plan, count) in side.iter().filter_map(|at| self.seen.get(&(*at, query))).flatten() {
            *counts.entry(*plan).or_default() += count;
        }
        counts
    }

    /// The plan that most executions of a query had under these treatments together; of equally frequent ones the one
    /// seen first.
    pub fn majority(&self, side: &[usize], query: u8) -> Option<usize> {
        let counts = self.counts(side, query).into_iter();
        counts.max_by_key(|(plan, count)| (*count, std::cmp::Reverse(*plan))).map(|(plan, _)| plan)
    }

    /// How many plans a query had under these treatments together.
    pub fn seen(&self, side: &[usize], query: u8) -> u32 {
        self.counts(side, query).len() as u32
    }

    /// The text of a plan.
    pub fn text(&self, plan: usize) -> &str {
        &self.plans[plan].text
    }

    /// How the plans of a query differ between two sides, either of which may have none.
    pub fn between(&self, pair: &Pair, query: u8) -> Change {
        self.change(self.majority(&pair.below, query), self.majority(&pair.top, query))
    }

    fn change(&self, one: Option<usize>, other: Option<usize>) -> Change {
        match one.zip(other) {
            Some((one, other)) if one == other => Change::Same,
            Some((one, other)) => change(self.text(one), self.text(other)),
            None => Change::Unknown,
        }
    }

    /// Every pair of a baseline's plan and another one, by query.
    pub fn changes(&self, table: &Executions<'_>) -> Vec<PlanChange> {
        let mut changes: Vec<PlanChange> = Vec::new();
        let treatments = |query: u8| table.compared().map(move |at| (query, at));
        for (query, at) in table.numbers.iter().copied().flat_map(treatments) {
            let [below, top] = [table.below(at), vec![at]].map(|side| self.majority(&side, query));
            let (Some((baseline, other)), change) = (below.zip(top), self.change(below, top)) else {
                continue;
            };
            if change == Change::Same {
                continue;
            }
            let place = (query, baseline, other);
            let known = changes.iter().position(|one| (one.query, one.baseline, one.other) == place);
            let known = known.unwrap_or_else(|| {
                let lines = side_by_side(self.text(baseline), self.text(other));
                changes.push(PlanChange { query, baseline, other, treatments: Vec::new(), change, lines });
                changes.len() - 1
            });
            changes[known].treatments.push(table.study.treatments[at].name.clone());
        }
        changes
    }
}

/// The section of plans; `None` if none changed.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let changed = |kind: Change| -> Vec<&PlanChange> {
        found.queries.changes.iter().filter(|change| change.change == kind).collect()
    };
    let (different, parallel) = (changed(Change::Different), changed(Change::ParallelOnly));
    let folded = query_names(parallel.iter().map(|change| change.query).collect::<BTreeSet<u8>>());
    let line = |change: &&PlanChange| {
        let names = found.some_names(&change.treatments);
        format!("{}: {} in {names}", query_name(change.query), instead(change)).into()
    };
    let mut lines: Vec<Prose> = different.iter().map(line).collect();
    let of_parallel = || format!("the same plan, only run in parallel: {folded}");
    lines.extend((!parallel.is_empty()).then(|| of_parallel().into()));
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
    let fold = |change: &&PlanChange| {
        let (query, names) = (query_name(change.query), found.some_names(&change.treatments));
        let title = format!("{query} · {names} · {}", instead(change));
        Fold { title, sides: vec![sides(found, change)], ..Fold::default() }
    };
    let mut folds: Vec<Fold> = shown.into_iter().map(fold).collect();
    let title = capital(&of_parallel());
    folds.extend((!plans.is_empty()).then(|| Fold { title, sides: plans, ..Fold::default() }));
    let mut blocks = vec![
        Block::Text(about(found), Shown::Page),
        Block::Text(prose!("plan changes; both plans side by side: HTML report, --json"), Shown::Terminal),
        Block::List(lines, Shown::Terminal),
    ];
    blocks.extend((hidden > 0).then(|| {
        let text = prose!(
            "{} more pairs of plans are left out to keep the page short. The JSON report has all of them.",
            hidden
        );
        Block::Text(text, Shown::Page)
    }));
    blocks.extend(folds.into_iter().map(Block::Fold));
    (!found.queries.changes.is_empty()).then(|| Section::new("plans", "Plans", blocks))
}

fn about(found: QueryStudy<'_>) -> Prose {
    let other = found.queries.changed();
    match other.is_empty() {
        true => prose!("Every query has the baseline's plan; those below only run in parallel."),
        false => prose!(
            "{} {} another plan in at least one treatment: there a ratio is of plans too, not of hardware alone. \
             Lines that only one side has are marked − or +; operators that only move rows between threads are grey.{}",
            query_names(other.iter().copied()),
            if other.len() == 1 { "has" } else { "have" },
            match found.queries.plans.iter().any(|plan| !plan.estimates.is_empty()) {
                true =>
                    " Rows and costs after a line are the engine's estimates, which its choice was based on.",
                false => "",
            },
        ),
    }
}

/// What the other plan has in place of the baseline's, by the first operators that differ: `HASH_JOIN (…) instead of
/// NESTED_LOOP_JOIN (…)`.
fn instead(change: &PlanChange) -> String {
    let cut = |line: &str| cut_short(line, MAX_OPERATOR);
    let (other, left) = change.operators();
    match (other.map(cut), left.map(cut)) {
        (Some(other), Some(left)) => format!("{other} instead of {left}"),
        (Some(other), None) => format!("{other} in addition"),
        (None, Some(left)) => format!("without {left}"),
        (None, None) => "the same operators in another order".to_owned(),
    }
}

fn sides(found: QueryStudy<'_>, change: &PlanChange) -> Sides {
    let plan = |at: usize| found.queries.plans.get(at);
    let name = |at: usize| plan(at).map_or("unknown", |plan| plan.name.as_str());
    let estimates = |at: usize| plan(at).map_or(&[][..], |plan| &plan.estimates).iter();
    let (mut of_left, mut of_right) = (estimates(change.baseline), estimates(change.other));
    let rows = change.lines.iter().map(|lines| {
        let differs = is_different(lines);
        [
            side_line(&lines.0, differs.then_some(('−', Difference::Gone)), &mut of_left),
            side_line(&lines.1, differs.then_some(('+', Difference::New)), &mut of_right),
        ]
    });
    Sides {
        left: format!("{}, baseline: plan {}", query_name(change.query), name(change.baseline)),
        right: format!("{}: plan {}", found.some_names(&change.treatments), name(change.other)),
        rows: rows.collect(),
    }
}

/// ` · 1,234 rows, cost 5,678`, as the engine estimated; empty without estimates.
fn estimated(estimates: &Estimated) -> String {
    let number =
        |value: f64| if value < 1e15 { grouped(value.round() as u64) } else { significant(value, 3) };
    let rows = estimates.rows.map(|rows| format!("{} rows", number(rows)));
    let cost = estimates.cost.map(|cost| format!("cost {}", number(cost)));
    let words: Vec<String> = rows.into_iter().chain(cost).collect();
    if words.is_empty() { String::new() } else { format!(" · {}", words.join(", ")) }
}

/// A line of one side with the next of its estimates, and with a sign if the sides differ there.
fn side_line<'e>(
    line: &Option<String>,
    differs: Option<(char, Difference)>,
    estimates: &mut impl Iterator<Item = &'e Estimated>,
) -> SideLine {
    // A line that the other side alone has takes no estimate of this one.
    let Some(line) = line else { return SideLine::default() };
    let estimate = estimates.next();
    // An operator that only moves rows does not change the plan.
    let (sign, class) = match differs {
        _ if line.trim_start().starts_with(MOVES_ROWS) => (' ', Difference::Moves),
        differs => differs.unwrap_or((' ', Difference::Same)),
    };
    SideLine { class, text: format!("{sign} {line}{}", estimate.map_or(String::new(), estimated)) }
}

/// Plans other than the baseline's; `None` if all known plans are the same.
pub fn finding_of(found: QueryStudy<'_>) -> Option<Finding> {
    let different: Vec<&PlanChange> =
        found.queries.changes.iter().filter(|change| change.change == Change::Different).collect();
    let sentence = different.first().map(|first| {
        let is_held = found.facts.study.properties().holds_plans;
        let hold = if is_held { ": hold_plan=true separates them" } else { "" };
        let (changed, mut clauses) = (found.queries.changed(), example(first));
        if changed.len() > 1 {
            clauses = format!("{}, such as {clauses}", query_list(changed, MAX_QUERIES));
        }
        format!(
            "Another plan than the baseline's: {clauses}. Such ratios are of plan and hardware together{hold}."
        )
    });
    let sentences: Vec<String> = sentence.into_iter().chain(unstable(found.queries)).collect();
    let mut names: Vec<&str> =
        different.iter().flat_map(|change| change.treatments.iter().map(String::as_str)).collect();
    names.sort_unstable();
    (!sentences.is_empty()).then(|| finding(FindingKind::PlanChange, sentences.join(" "), &names))
}

/// `Q15 under all d8 (HASH_JOIN … instead of NESTED_LOOP …)`.
fn example(change: &PlanChange) -> String {
    let more = if_any(" and ", change.treatments.len().saturating_sub(1), " more");
    let first = change.treatments.first().map_or("", String::as_str);
    format!("{} under {first}{more} ({})", query_name(change.query), instead(change))
}

/// Queries that had more than one plan under the same treatment.
fn unstable(queries: &Queries) -> Option<String> {
    let all = queries.treatments.iter().flat_map(|measured| &measured.queries);
    let several: BTreeSet<u8> =
        all.filter(|(_, estimates)| estimates.plans_seen > 1).map(|(number, _)| *number).collect();
    (!several.is_empty()).then(|| {
        let queries = query_list(several, MAX_QUERIES);
        format!("More than one plan under the same treatment: {queries}; the most frequent is compared.")
    })
}

/// The text without estimates and blank lines around it; `None` if nothing is left.
pub fn bare(text: &str) -> Option<String> {
    let text = without_estimates(text);
    let bare = text.trim_matches(['\n', '\r']).trim_end();
    (!bare.is_empty()).then(|| bare.to_owned())
}

/// Estimates for each line of a plan that is not blank; empty if there are none.
fn estimates(text: &str) -> Vec<Estimated> {
    let of_line = |line: &str| {
        let number = |name: &str| {
            let words = operator_and_estimates(line).1.split(' ');
            let value: f64 = words.filter_map(|word| word.strip_prefix(name)).next()?.parse().ok()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        Estimated { rows: number("rows="), cost: number("cost=") }
    };
    let lines = text.lines().filter(|line| !operator_and_estimates(line).0.trim().is_empty());
    let all: Vec<Estimated> = lines.map(of_line).collect();
    if all.iter().any(|one| *one != Estimated::default()) { all } else { Vec::new() }
}

/// Short name of a plan, the same wherever the plan is seen, but not unique: eight hexadecimal digits of FNV-1a, of the
/// text without blank lines around it. `None` if nothing is left.
pub fn plan_name(text: &str) -> Option<String> {
    bare(text).as_deref().map(name)
}

fn name(text: &str) -> String {
    let hash = text.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME));
    format!("{hash:08x}")
}

/// How two plans in canonical form differ. Never [`Change::Unknown`].
pub fn change(one: &str, other: &str) -> Change {
    if lines(one).eq(lines(other)) {
        Change::Same
    } else if skeleton(one) == skeleton(other) {
        Change::ParallelOnly
    } else {
        Change::Different
    }
}

/// Lines that are not blank, with their level.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let level = |line: &str| (line.len() - line.trim_start_matches(' ').len()) / 2;
    text.lines().filter(|line| !line.trim().is_empty()).map(move |line| (level(line), line.trim()))
}

/// A plan without the operators that only move rows; what was below them moves up a level.
fn skeleton(text: &str) -> Vec<(usize, &str)> {
    let mut left_out: Vec<usize> = Vec::new();
    let mut kept = Vec::new();
    for (level, line) in lines(text) {
        while left_out.last().is_some_and(|above| *above >= level) {
            left_out.pop();
        }
        if line.starts_with(MOVES_ROWS) || line == MOVES_ROWS.trim_end() {
            left_out.push(level);
        } else {
            kept.push((level - left_out.len(), line));
        }
    }
    kept
}

/// The lines of two plans, aligned. Lines are equal if they are so without their indentation; each keeps its own.
///
/// If texts are too long to align (beyond 2,000 different lines), the lines of the middle are paired in order.
pub fn side_by_side(one: &str, other: &str) -> Vec<(Option<String>, Option<String>)> {
    let visible = |text: &'_ str| -> Vec<String> {
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()).collect()
    };
    let (left, right) = (visible(one), visible(other));
    let (mut rows, mut from) = (Vec::new(), (0, 0));
    for (a, b) in equal_lines(&left, &right).into_iter().chain([(left.len(), right.len())]) {
        rows.extend(beside(&left[from.0..a], &right[from.1..b]));
        rows.extend(left.get(a).zip(right.get(b)).map(|(a, b)| (Some(a.clone()), Some(b.clone()))));
        from = (a + 1, b + 1);
    }
    rows
}

/// Indexes of lines that are equal: those before the first difference and after the last, and between them the longest
/// common subsequence.
fn equal_lines(left: &[String], right: &[String]) -> Vec<(usize, usize)> {
    let is_equal = |a: usize, b: usize| left[a].trim() == right[b].trim();
    let most = left.len().min(right.len());
    let before = (0..most).take_while(|at| is_equal(*at, *at)).count();
    let is_equal_behind = |at: &usize| is_equal(left.len() - at, right.len() - at);
    let after = (1..=most - before).take_while(is_equal_behind).count();
    let [ends, other_ends] = [left.len() - after, right.len() - after];
    let width = other_ends + 1 - before;
    let at = |a: usize, b: usize| (a - before) * width + b - before;
    let mut all: Vec<(usize, usize)> = (0..before).map(|at| (at, at)).collect();
    if (ends + 1 - before).saturating_mul(width) <= MAX_CELLS {
        // By place: length of the longest common subsequence of left from a on and right from b on.
        let mut length = vec![0_u32; (ends + 1 - before) * width];
        for a in (before..ends).rev() {
            for b in (before..other_ends).rev() {
                length[at(a, b)] = match is_equal(a, b) {
                    true => length[at(a + 1, b + 1)] + 1,
                    false => length[at(a + 1, b)].max(length[at(a, b + 1)]),
                };
            }
        }
        let (mut a, mut b) = (before, before);
        while a < ends && b < other_ends {
            let is_left = length[at(a + 1, b)] >= length[at(a, b + 1)];
            match is_equal(a, b) {
                true => {
                    all.push((a, b));
                    (a, b) = (a + 1, b + 1);
                }
                false if is_left => a += 1,
                false => b += 1,
            }
        }
    }
    all.extend((ends..left.len()).zip(other_ends..));
    all
}

/// Different lines of one place side by side, in order. Operators that only move rows are alone: they correspond to no
/// other operator.
fn beside(left: &[String], right: &[String]) -> Vec<(Option<String>, Option<String>)> {
    let moves = |line: &&String| line.trim_start().starts_with(MOVES_ROWS);
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut rows = Vec::new();
    loop {
        let (left, other) = match (left.peek(), right.peek()) {
            (None, None) => return rows,
            (Some(line), _) if moves(line) => (left.next(), None),
            (_, Some(line)) if moves(line) => (None, right.next()),
            _ => (left.next(), right.next()),
        };
        rows.push((left.cloned(), other.cloned()));
    }
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
        assert_eq!(instead(&change(&[same, (None, Some("TOP_N 10"))])), "TOP_N 10 in addition");
        assert_eq!(instead(&change(&[same, (Some("FILTER"), None)])), "without FILTER");
        assert_eq!(instead(&change(&[same])), "the same operators in another order");
        let long = "HASH JOIN ".repeat(20);
        assert!(instead(&change(&[(Some("a"), Some(&long))])).chars().count() < 70);
    }

    #[test]
    fn estimates_stand_at_their_own_operators() {
        let rows = [10.0, 20.0].map(|rows| Estimated { rows: Some(rows), cost: None });
        let mut estimates = rows.iter();
        let lines = [Some("JOIN"), None, Some("SCAN")];
        let texts = lines.map(|line| side_line(&line.map(str::to_owned), None, &mut estimates).text);
        assert_eq!(texts, ["  JOIN · 10 rows", "", "  SCAN · 20 rows"]);
    }
}
