//! DOP n against the next lower one: how much each step gains, per query and for all together.
//!
//! A step compares treatments that differ in their DOP alone. It is better than linear where its
//! distance to the ratio of the DOPs is an effect; "poor, then good" is what an engine shows whose
//! query runs serially below some DOP, or pays for going parallel before it gains.

use std::collections::BTreeMap;

use super::family::{Member, Single, negated, query_ratios, ratios, singles};
use super::plans::Plans;
use super::table::{Quantity, Table};
use super::whole::{Whole, twins};
use super::{Change, DopStep, StepMark};
use crate::Direction;
use crate::Ratio;
use crate::estimate::Rule;

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
    fn linear_log(self) -> f64 {
        (f64::from(self.to_dop) / f64::from(self.from_dop)).ln()
    }

    /// What a doubling's factor is for this step.
    fn scaled(self, doubling: f64) -> f64 {
        doubling.powf(self.linear_log() / std::f64::consts::LN_2)
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
    let whole = judged(ratios, table, whole(table, &all));
    // The queries of a step are a family.
    let each: Judgements = all
        .iter()
        .flat_map(|pair| judged(query_ratios, table, singles(of_queries(table, *pair, numbers), table.alpha)))
        .collect();
    let mut cpus = cpus(table, &all, numbers);
    let mut steps = Vec::new();
    for ladder in &pairs {
        for query in [None].into_iter().chain(numbers.iter().copied().map(Some)) {
            let found = if query.is_none() { &whole } else { &each };
            for (at, pair) in ladder.iter().enumerate() {
                let Some(judged) = found.get(&(pair.from, pair.to, query)) else { continue };
                let next = ladder.get(at + 1);
                let next = next.and_then(|next| found.get(&(next.from, next.to, query)));
                let mark = mark(judged, next);
                let cpu = cpus.remove(&(pair.from, pair.to, query));
                steps.push(DopStep { cpu, ..step(table, plans, *pair, query, judged.speed.clone(), mark) });
            }
        }
    }
    steps
}

/// A step's ratio, and what it is beside others than 1, each judged with the other steps of its family.
struct Judged {
    speed: Ratio,
    /// Better than the ratio of the DOPs, by more than the margin or by how much is open.
    is_super: bool,
    /// Less than [`POOR`].
    is_poor: bool,
    /// More than [`GOOD`].
    is_good: bool,
}

/// Which step of which query, `None` for all together.
type Key = (Pair, Option<u8>);

/// Judgements by treatments of the step and query.
type Judgements = BTreeMap<(usize, usize, Option<u8>), Judged>;

/// Steps of all queries together.
fn whole(table: &Table<'_>, pairs: &[Pair]) -> Vec<Member<Key>> {
    let d = |top: usize, below: &[usize]| Whole::Geometric.d(table, top, below, &Default::default());
    let member = |pair: &Pair| {
        let a_a = twins(table, pair.to, d);
        Member::new((*pair, None), &table.over(pair.to, pair.from, d), &a_a, table.alpha)
    };
    pairs.iter().filter_map(member).collect()
}

/// One step of every query.
fn of_queries(table: &Table<'_>, pair: Pair, numbers: &[u8]) -> Vec<Single<Key>> {
    let single = |query: &u8| {
        let d = |top: usize, below: &[usize]| negated(table.query(top, below, *query, Quantity::Elapsed));
        Single {
            key: (pair, Some(*query)),
            d: table.over(pair.to, pair.from, d),
            twins: twins(table, pair.to, d),
        }
    };
    numbers.iter().map(single).collect()
}

/// CPU time of the higher DOP over that of the lower, families as those of speeds.
fn cpus(table: &Table<'_>, pairs: &[Pair], numbers: &[u8]) -> BTreeMap<(usize, usize, Option<u8>), Ratio> {
    let whole = |top: usize, below: &[usize]| Whole::Cpu.d(table, top, below, &Default::default());
    let member = |pair: &Pair| {
        let twins = twins(table, pair.to, whole);
        Member::new((*pair, None), &table.over(pair.to, pair.from, whole), &twins, table.alpha)
    };
    let rule = table.rule(Direction::LowerIsBetter);
    let totals = ratios(pairs.iter().filter_map(member).collect(), rule);
    let of_queries = |pair: &Pair| {
        let single = |query: &u8| {
            let d = |top: usize, below: &[usize]| table.query(top, below, *query, Quantity::Cpu);
            let twins = twins(table, pair.to, d);
            Single { key: (*pair, Some(*query)), d: table.over(pair.to, pair.from, d), twins }
        };
        query_ratios(singles(numbers.iter().map(single).collect(), table.alpha), rule)
    };
    let all = totals.into_iter().chain(pairs.iter().flat_map(of_queries));
    all.map(|((pair, query), ratio)| ((pair.from, pair.to, query), ratio)).collect()
}

/// What judges a family.
type Judge = fn(Vec<Member<Key>>, Rule) -> Vec<(Key, Ratio)>;

/// Judges a family: against 1, against linear, and against what is poor and good.
fn judged(judge: Judge, table: &Table<'_>, members: Vec<Member<Key>>) -> Judgements {
    let rule = table.rule(Direction::HigherIsBetter);
    let beside = |log_factor: &dyn Fn(Pair) -> f64| {
        let shifted = |member: &Member<Key>| Member {
            key: member.key,
            mean: member.mean.shifted(-log_factor(member.key.0)),
            floor: member.floor,
        };
        judge(members.iter().map(shifted).collect(), rule)
    };
    let linear = beside(&Pair::linear_log);
    let poor = beside(&|pair| pair.scaled(POOR).ln());
    let good = beside(&|pair| pair.scaled(GOOD).ln());
    let beside = linear.into_iter().zip(poor).zip(good).map(|(((_, linear), (_, poor)), (_, good))| {
        let is_beyond =
            |ratio: &Ratio, is_above: bool| ratio.is_different() && (ratio.value > 1.0) == is_above;
        (linear.is_higher(), is_beyond(&poor, false), is_beyond(&good, true))
    });
    let beside: Vec<(bool, bool, bool)> = beside.collect();
    let speeds = judge(members, rule).into_iter().zip(beside);
    let each = speeds.map(|(((pair, query), speed), (is_super, is_poor, is_good))| {
        ((pair.from, pair.to, query), Judged { speed, is_super, is_poor, is_good })
    });
    each.collect()
}

fn mark(judged: &Judged, next: Option<&Judged>) -> StepMark {
    if judged.is_super {
        StepMark::SuperScaling
    } else if judged.is_poor && next.is_some_and(|next| next.is_good) {
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
        cpu: None,
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
