//! Two treatments against each other, query by query: both threads of every core over one at the same DOP, DOP of all
//! logical CPUs over DOP of all cores, and whatever pairs a study names. What is compared with the baseline stands with
//! each treatment, and one DOP over the next lower one in `steps`.
//!
//! The queries of a comparison are a family, as everywhere; a total is one of all comparisons (docs/METHODOLOGY.md,
//! "Queries").

use super::Change;
use super::family::{Member, Single, negated, query_ratios, ratios, singles};
use super::plans::Plans;
use super::table::{Quantity, Table};
use super::whole::{Whole, twins};
use crate::{Direction, Ratio};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_study::Comparison;

/// Kinds of comparisons that have their place elsewhere.
const ELSEWHERE: [&str; 2] = ["baseline", "dop-step"];

/// One treatment over another, query by query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryComparison {
    /// Name of the comparison.
    pub name: String,
    /// What a ratio means: `smt-dop` (both threads of every core over one, at the same DOP), `both-threads` (the same,
    /// each with as many threads as it has logical CPUs), or the study's word.
    pub kind: String,
    /// Treatment on top.
    pub treatment: String,
    /// Treatment below.
    pub baseline: String,
    /// Queries that both sides executed in a block, ascending.
    pub queries: Vec<ComparedQuery>,
    /// Queries whose plans differ between the two, ascending.
    #[serde(rename = "plans_changed")]
    pub changed: Vec<u8>,
    /// Ratio of the totals (below over top): above 1 is faster. Streams: of queries per hour.
    pub speed: Option<Ratio>,
    /// Geometric mean of the queries' speeds.
    pub geometric: Option<Ratio>,
    /// CPU per query: above 1 is more.
    pub cpu: Option<Ratio>,
    /// The ratio of the totals without queries whose plans differ between the two; `None` where there are none, and of
    /// streams.
    pub speed_same_plans: Option<Ratio>,
    /// The geometric mean without them.
    pub geometric_same_plans: Option<Ratio>,
}

/// One query of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedQuery {
    /// Number.
    pub query: u8,
    /// Elapsed below over elapsed on top: above 1 is faster.
    pub speed: Ratio,
    /// CPU time on top over CPU time below: above 1 is more. `None` where it is not known.
    pub cpu: Option<Ratio>,
    /// How the two plans differ.
    pub plan_change: Change,
}

/// A comparison as indices of treatments.
struct Sides<'a> {
    named: &'a Comparison,
    top: usize,
    below: Vec<usize>,
    /// Queries whose plans differ.
    changed: BTreeSet<u8>,
}

/// All of a study that have their place here, in its order; without those of which no block has both sides.
pub fn comparisons(table: &Table<'_>, plans: &Plans, numbers: &[u8]) -> Vec<QueryComparison> {
    let placed = table.study.comparisons.iter().filter(|named| !ELSEWHERE.contains(&named.kind.as_str()));
    let all: Vec<Sides<'_>> = placed
        .filter_map(|named| {
            let sides = crate::estimate::sides::Sides::of(table.study, named)?;
            let (top, below) = (sides.top, sides.below);
            let differs = |query: &u8| plan_change(plans, (top, &below), *query) == Change::Different;
            let changed = numbers.iter().copied().filter(differs).collect();
            Some(Sides { named, top, below, changed })
        })
        .collect();
    let whole = |whole: Whole| wholes(table, &all, whole);
    let (speed, geometric, cpu) = (whole(Whole::Speed), whole(Whole::Geometric), whole(Whole::Cpu));
    let (speed_same, geometric_same) = (whole(Whole::SpeedSamePlans), whole(Whole::GeometricSamePlans));
    let each = all.iter().enumerate().map(|(at, sides)| QueryComparison {
        name: sides.named.name.clone(),
        kind: sides.named.kind.clone(),
        treatment: sides.named.treatment.clone(),
        baseline: sides.named.baseline.first().cloned().unwrap_or_default(),
        queries: of_queries(table, plans, sides, numbers),
        changed: sides.changed.iter().copied().collect(),
        speed: speed.get(&at).cloned(),
        geometric: geometric.get(&at).cloned(),
        cpu: cpu.get(&at).cloned(),
        speed_same_plans: speed_same.get(&at).cloned(),
        geometric_same_plans: geometric_same.get(&at).cloned(),
    });
    each.filter(|comparison| !comparison.queries.is_empty() || comparison.speed.is_some()).collect()
}

fn plan_change(plans: &Plans, (top, below): (usize, &[usize]), query: u8) -> Change {
    plans.change(plans.majority(below, query), plans.majority(&[top], query))
}

/// One ratio of all queries together: one family over the comparisons, by their places.
fn wholes(table: &Table<'_>, all: &[Sides<'_>], whole: Whole) -> BTreeMap<usize, Ratio> {
    let members = all.iter().enumerate().filter_map(|(at, sides)| {
        let d = |top: usize, below: &[usize]| whole.d(table, top, below, &sides.changed);
        Member::new(at, &d(sides.top, &sides.below), &twins(table, sides.top, d), table.alpha)
    });
    let direction = if whole == Whole::Cpu { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
    ratios(members.collect(), table.rule(direction)).into_iter().collect()
}

fn of_queries(table: &Table<'_>, plans: &Plans, sides: &Sides<'_>, numbers: &[u8]) -> Vec<ComparedQuery> {
    let mut speeds = of_quantity(table, sides, numbers, Quantity::Elapsed);
    let mut cpus = of_quantity(table, sides, numbers, Quantity::Cpu);
    let compared = |query: &u8| {
        Some(ComparedQuery {
            query: *query,
            speed: speeds.remove(query)?,
            cpu: cpus.remove(query),
            plan_change: plan_change(plans, (sides.top, &sides.below), *query),
        })
    };
    numbers.iter().filter_map(compared).collect()
}

/// Ratios of one quantity by query, judged together.
fn of_quantity(
    table: &Table<'_>,
    sides: &Sides<'_>,
    numbers: &[u8],
    quantity: Quantity,
) -> BTreeMap<u8, Ratio> {
    let direction = match quantity {
        Quantity::Elapsed => Direction::HigherIsBetter,
        Quantity::Cpu => Direction::LowerIsBetter,
    };
    let oriented = |d: Vec<f64>| if quantity == Quantity::Elapsed { negated(d) } else { d };
    let single = |query: &u8| {
        let d = |top: usize, below: &[usize]| oriented(table.query(top, below, *query, quantity));
        Single { key: *query, d: d(sides.top, &sides.below), twins: twins(table, sides.top, d) }
    };
    let members = singles(numbers.iter().map(single).collect(), table.alpha);
    query_ratios(members, table.rule(direction)).into_iter().collect()
}
