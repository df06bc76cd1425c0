//! DOP n against the next lower one: how much each step gains, per query and for all together.
//!
//! A step compares treatments that differ in their DOP alone. It is better than linear where its
//! distance to the ratio of the DOPs is an effect; "poor, then good" is what an engine shows whose
//! query runs serially below some DOP, or pays for going parallel before it gains.

use std::collections::BTreeMap;

use super::family::{Member, negated, ratios};
use super::plans::Plans;
use super::table::{Quantity, Table};
use super::whole::{Whole, twins};
use super::{Change, DopStep, StepMark};
use crate::Direction;
use crate::Ratio;

/// A doubling that gains less than this is poor, one that gains more than [`GOOD`] is good.
const POOR: f64 = 1.25;

/// See [`POOR`].
const GOOD: f64 = 1.5;

/// One step of one family of treatments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    /// Treatment with the lower DOP.
    from: usize,
    /// With the higher one.
    to: usize,
    from_dop: u32,
    to_dop: u32,
}

impl Pair {
    /// ln of the ratio of the DOPs.
    fn linear(self) -> f64 {
        (f64::from(self.to_dop) / f64::from(self.from_dop)).ln()
    }

    /// What a doubling's factor is for this step.
    fn scaled(self, doubling: f64) -> f64 {
        doubling.powf(self.linear() / std::f64::consts::LN_2)
    }
}

/// Treatments that differ in their DOP alone, ascending by it, each DOP once. Twins are left out: with
/// its twin a baseline is one side.
pub fn ladders(table: &Table<'_>) -> Vec<Vec<(u32, usize)>> {
    let mut ladders: Vec<Vec<(u32, usize)>> = Vec::new();
    for at in 0..table.study.treatments.len() {
        let is_twin = !table.is_compared(at) && table.below(at).first() != Some(&at);
        let Some(dop) = table.dop(at).filter(|dop| *dop > 0 && !is_twin) else { continue };
        match ladders.iter_mut().find(|ladder| table.differ_in_dop(ladder[0].1, at)) {
            Some(ladder) if ladder.iter().any(|(known, _)| *known == dop) => {}
            Some(ladder) => ladder.push((dop, at)),
            None => ladders.push(vec![(dop, at)]),
        }
    }
    ladders.iter_mut().for_each(|ladder| ladder.sort_unstable());
    ladders
}

/// Every step of every query, and of all together.
pub fn steps(table: &Table<'_>, plans: &Plans, numbers: &[u8]) -> Vec<DopStep> {
    let ladders = ladders(table);
    let pairs: Vec<Vec<Pair>> = ladders
        .iter()
        .map(|ladder| {
            let pair = |two: &[(u32, usize)]| Pair {
                from: two[0].1,
                to: two[1].1,
                from_dop: two[0].0,
                to_dop: two[1].0,
            };
            ladder.windows(2).map(pair).collect()
        })
        .collect();
    let all: Vec<Pair> = pairs.iter().flatten().copied().collect();
    let whole = judged(table, &all, &[None]);
    let each: Vec<Option<u8>> = numbers.iter().copied().map(Some).collect();
    let each = judged(table, &all, &each);
    let mut steps = Vec::new();
    for ladder in &pairs {
        for query in [None].into_iter().chain(numbers.iter().copied().map(Some)) {
            let found = if query.is_none() { &whole } else { &each };
            for (at, pair) in ladder.iter().enumerate() {
                let Some(judged) = found.get(&(pair.from, pair.to, query)) else { continue };
                let next = ladder.get(at + 1);
                let next = next.and_then(|next| Some((next, found.get(&(next.from, next.to, query))?)));
                let mark = mark(*pair, judged, next.map(|(next, judged)| (*next, judged)));
                steps.push(step(table, plans, *pair, query, judged.speed.clone(), mark));
            }
        }
    }
    steps
}

/// A step's ratio, and whether it is better than linear.
struct Judged {
    speed: Ratio,
    is_super: bool,
}

/// Judges all steps of these queries as one family, once against 1 and once against linear.
fn judged(
    table: &Table<'_>,
    pairs: &[Pair],
    queries: &[Option<u8>],
) -> BTreeMap<(usize, usize, Option<u8>), Judged> {
    let mut members = Vec::new();
    let mut beyond = Vec::new();
    for pair in pairs {
        for query in queries {
            let d = |top: usize, below: &[usize]| match query {
                Some(query) => negated(table.query(top, below, *query, Quantity::Elapsed)),
                None => Whole::Geometric.d(table, top, below, &Default::default()),
            };
            let a_a = twins(table, pair.to, d);
            let logs = table.over(pair.to, pair.from, d);
            let key = (pair.from, pair.to, *query);
            let Some(member) = Member::new(key, &logs, &a_a, table.alpha) else { continue };
            beyond.push(Member { key, mean: member.mean.shifted(-pair.linear()), floor: member.floor });
            members.push(member);
        }
    }
    let beyond = ratios(beyond, Direction::HigherIsBetter, table.limits());
    let speeds = ratios(members, Direction::HigherIsBetter, table.limits());
    let each = speeds.into_iter().zip(beyond);
    each.map(|((key, speed), (_, beyond))| {
        (key, Judged { speed, is_super: beyond.effect && beyond.value > 1.0 })
    })
    .collect()
}

fn mark(pair: Pair, judged: &Judged, next: Option<(Pair, &Judged)>) -> StepMark {
    let is_good = |(pair, judged): (Pair, &Judged)| judged.speed.low > pair.scaled(GOOD);
    if judged.is_super {
        StepMark::SuperScaling
    } else if judged.speed.high < pair.scaled(POOR) && next.is_some_and(is_good) {
        StepMark::PoorThenGood
    } else {
        StepMark::None
    }
}

fn step(
    table: &Table<'_>,
    plans: &Plans,
    pair: Pair,
    query: Option<u8>,
    speed: Ratio,
    mark: StepMark,
) -> DopStep {
    let name = |at: usize| table.study.treatments[at].name.clone();
    let plan = |at: usize, query: u8| plans.majority(&table.sides(at), query);
    let change = |query: u8| plans.change(plan(pair.from, query), plan(pair.to, query));
    DopStep {
        placement: table.study.treatments[pair.to].placement.clone(),
        streams: table.study.treatments[pair.to].sessions,
        from: name(pair.from),
        to: name(pair.to),
        from_dop: pair.from_dop,
        to_dop: pair.to_dop,
        query,
        speed,
        mark,
        plan_change: query.map_or_else(|| worst(table.asked.iter().map(|query| change(*query))), change),
    }
}

/// Of all queries together the change that says most.
fn worst(changes: impl Iterator<Item = Change>) -> Change {
    let rank = |change: &Change| match change {
        Change::Unknown => 0,
        Change::Same => 1,
        Change::ParallelOnly => 2,
        Change::Different => 3,
    };
    changes.max_by_key(rank).unwrap_or(Change::Unknown)
}
