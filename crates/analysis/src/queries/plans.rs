//! Plans: which there are, which one a treatment mostly had, and how two of them differ.
//!
//! Texts are canonical (docs/WORKER.md): one line an operator, two spaces a level, `~ ` before
//! operators that only move rows between threads or processes. Lines are aligned by their longest
//! common subsequence (Wagner, Fischer, "The string-to-string correction problem", J. ACM 21, 1974).

use std::collections::{BTreeMap, BTreeSet};

use super::table::{Cell, Table};
use super::{Change, Estimated, Plan, PlanChange};
use threadwise_study::{operator_and_estimates, without_estimates};

/// Mark of operators that only move rows.
const MOVES_ROWS: &str = "~ ";

/// Most cells of an alignment's table: 2,000 lines on either side.
const MAX_CELLS: usize = 4_000_000;

/// Offset basis and prime of FNV-1a with 32 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv).
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// Plans of a study and who had them.
pub struct Plans {
    /// By first appearance.
    pub plans: Vec<Plan>,
    /// By treatment and query, how often each plan was seen.
    seen: BTreeMap<(usize, u8), BTreeMap<usize, u32>>,
}

impl Plans {
    /// Collects them.
    pub fn new(table: &Table<'_>) -> Self {
        let mut found = Self { plans: Vec::new(), seen: BTreeMap::new() };
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let cells = table.cells.iter().flat_map(|cells| cells.iter().enumerate());
        for (treatment, cell) in cells {
            for done in cell.iter().flat_map(|cell: &Cell<'_>| &cell.done) {
                let Some(whole) = done.execution.plan.as_deref() else { continue };
                let query = done.execution.query;
                let at = match known.get(whole) {
                    Some(at) => *at,
                    None => {
                        let Some(at) = found.add(whole, query) else { continue };
                        known.insert(whole, at);
                        at
                    }
                };
                *found.seen.entry((treatment, query)).or_default().entry(at).or_default() += 1;
            }
        }
        found
    }

    /// The place of a plan as an engine showed it; `None` where there is nothing of it. Where several were the same but
    /// for their estimates, those of the first one are kept.
    fn add(&mut self, whole: &str, query: u8) -> Option<usize> {
        let text = bare(whole)?;
        let known = self.plans.iter().position(|plan| plan.text == text);
        Some(known.unwrap_or_else(|| {
            let estimates = estimates(whole);
            self.plans.push(Plan { name: name(&text), query, text, estimates });
            self.plans.len() - 1
        }))
    }

    /// The plan most executions of a query had under these treatments together; of equally many the
    /// one seen first.
    pub fn majority(&self, treatments: &[usize], query: u8) -> Option<usize> {
        let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
        for treatment in treatments {
            for (plan, count) in self.seen.get(&(*treatment, query)).into_iter().flatten() {
                *counts.entry(*plan).or_default() += count;
            }
        }
        counts
            .into_iter()
            .max_by_key(|(plan, count)| (*count, std::cmp::Reverse(*plan)))
            .map(|(plan, _)| plan)
    }

    /// How many plans a query had under these treatments together.
    pub fn seen(&self, treatments: &[usize], query: u8) -> u32 {
        let plans = treatments.iter().filter_map(|treatment| self.seen.get(&(*treatment, query)));
        plans.flat_map(BTreeMap::keys).collect::<BTreeSet<_>>().len() as u32
    }

    /// The text of a plan.
    pub fn text(&self, plan: usize) -> &str {
        &self.plans[plan].text
    }

    /// How two plans differ, either of which may be missing.
    pub fn change(&self, one: Option<usize>, other: Option<usize>) -> Change {
        match one.zip(other) {
            Some((one, other)) if one == other => Change::Same,
            Some((one, other)) => change(self.text(one), self.text(other)),
            None => Change::Unknown,
        }
    }

    /// How a treatment's plan of a query differs from its baseline's.
    pub fn against_baseline(&self, table: &Table<'_>, treatment: usize, query: u8) -> Change {
        self.change(self.majority(table.below(treatment), query), self.majority(&[treatment], query))
    }

    /// Queries whose plan is another one in any compared treatment.
    pub fn changed(&self, table: &Table<'_>, numbers: &[u8]) -> BTreeSet<u8> {
        let compared: Vec<usize> =
            (0..table.study.treatments.len()).filter(|at| table.is_compared(*at)).collect();
        let differs = |query: &u8| {
            compared.iter().any(|at| self.against_baseline(table, *at, *query) == Change::Different)
        };
        numbers.iter().copied().filter(differs).collect()
    }

    /// Every pair of a baseline's plan and another one, by query.
    pub fn changes(&self, table: &Table<'_>, numbers: &[u8]) -> Vec<PlanChange> {
        let mut changes: Vec<PlanChange> = Vec::new();
        for query in numbers {
            for (at, treatment) in
                table.study.treatments.iter().enumerate().filter(|(at, _)| table.is_compared(*at))
            {
                let both = self.majority(table.below(at), *query).zip(self.majority(&[at], *query));
                let Some((baseline, other)) = both.filter(|(baseline, other)| baseline != other) else {
                    continue;
                };
                let is_same = |change: &&mut PlanChange| {
                    (change.query, change.baseline, change.other) == (*query, baseline, other)
                };
                if let Some(known) = changes.iter_mut().find(is_same) {
                    known.treatments.push(treatment.name.clone());
                    continue;
                }
                let change = self.change(Some(baseline), Some(other));
                if change == Change::Same {
                    continue;
                }
                changes.push(PlanChange {
                    query: *query,
                    baseline,
                    other,
                    treatments: vec![treatment.name.clone()],
                    change,
                    lines: side_by_side(self.text(baseline), self.text(other)),
                });
            }
        }
        changes
    }
}

/// The text without blank lines around it; `None` where nothing is left.
fn trimmed(text: &str) -> Option<&str> {
    Some(text.trim_matches(['\n', '\r']).trim_end()).filter(|text| !text.is_empty())
}

/// The text without estimates; `None` where nothing is left.
pub fn bare(text: &str) -> Option<String> {
    trimmed(&without_estimates(text)).map(str::to_owned)
}

/// What was estimated for each line of a plan that is not blank; empty where nothing was for any.
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
    match all.iter().any(|one| *one != Estimated::default()) {
        true => all,
        false => Vec::new(),
    }
}

/// Short name of a plan, the same wherever the plan is seen, and no proof of identity: eight
/// hexadecimal digits of FNV-1a, of the text without blank lines around it. `None` where nothing is left.
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

/// The lines of two plans, aligned. Lines are equal where they are so without their indentation; each
/// keeps its own.
///
/// Of texts too long to align (beyond 2,000 lines that differ) the lines of the middle stand beside each
/// other as they come.
pub fn side_by_side(one: &str, other: &str) -> Vec<(Option<String>, Option<String>)> {
    let visible = |text: &'_ str| -> Vec<String> {
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.trim_end().to_owned()).collect()
    };
    let (one, other) = (visible(one), visible(other));
    let is_equal = |a: &String, b: &String| a.trim() == b.trim();
    let both = |a: &String, b: &String| (Some(a.clone()), Some(b.clone()));
    let before = one.iter().zip(&other).take_while(|(a, b)| is_equal(a, b)).count();
    let most = one.len().min(other.len()) - before;
    let after =
        one.iter().rev().zip(other.iter().rev()).take(most).take_while(|(a, b)| is_equal(a, b)).count();
    let (left, right) = (&one[before..one.len() - after], &other[before..other.len() - after]);
    let mut rows: Vec<_> = one[..before].iter().zip(&other).map(|(a, b)| both(a, b)).collect();
    rows.extend(aligned(left, right));
    rows.extend(one[one.len() - after..].iter().zip(&other[other.len() - after..]).map(|(a, b)| both(a, b)));
    rows
}

/// Alignment by the longest common subsequence.
fn aligned(left: &[String], right: &[String]) -> Vec<(Option<String>, Option<String>)> {
    let width = right.len() + 1;
    let is_small = (left.len() + 1).checked_mul(width).is_some_and(|cells| cells <= MAX_CELLS);
    let is_equal = |a: usize, b: usize| left[a].trim() == right[b].trim();
    // length[a][b]: of the longest common subsequence of left from a on and right from b on.
    let mut length = vec![0_u32; if is_small { (left.len() + 1) * width } else { 0 }];
    if is_small {
        for a in (0..left.len()).rev() {
            for b in (0..right.len()).rev() {
                length[a * width + b] = match is_equal(a, b) {
                    true => length[(a + 1) * width + b + 1] + 1,
                    false => length[(a + 1) * width + b].max(length[a * width + b + 1]),
                };
            }
        }
    }
    let (mut a, mut b) = (0, 0);
    // Where the lines began that only one side has.
    let (mut from_a, mut from_b) = (0, 0);
    let mut rows = Vec::new();
    while is_small && a < left.len() && b < right.len() {
        if is_equal(a, b) {
            rows.extend(beside(&left[from_a..a], &right[from_b..b]));
            rows.push((Some(left[a].clone()), Some(right[b].clone())));
            (a, b) = (a + 1, b + 1);
            (from_a, from_b) = (a, b);
        } else if length[(a + 1) * width + b] >= length[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    rows.extend(beside(&left[from_a..], &right[from_b..]));
    rows
}

/// Different lines of one place beside each other, in order. Operators that only move rows stand alone:
/// they are in nobody's place.
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
