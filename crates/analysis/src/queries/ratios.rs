//! Families of ratios: each with its t interval over blocks, judged together.
//!
//! Totals are few, and each has to hold: Holm's procedure. Single queries are many, of which some are selected:
//! Benjamini and Hochberg's, with variances shrunk across the queries of a comparison (`statistics::moderated`).
//! Sources: Student 1908, Smyth 2004, Holm 1979, Benjamini, Hochberg 1995, docs/METHODOLOGY.md ("Queries").

use super::executions::{Executions, Pair, Quantity};
use super::plans::Plans;
use super::types::{ComparedQuery, Together};
use crate::estimate::member::floor_of;
use crate::estimate::{Judgeable, judge_known, judge_many, means};
use crate::{Direction, Ratio};
use std::collections::BTreeMap;
use threadwise_statistics::{MeanEstimate, moderated};

/// Quantity of all queries together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// Queries per hour of the elapsed time.
    Speed,
    /// Geometric mean of the queries' ratios.
    Geometric,
    /// CPU per query.
    Cpu,
    /// Queries per hour, without queries with another plan.
    SpeedSamePlans,
    /// Geometric mean, without queries with another plan.
    GeometricSamePlans,
}

impl Whole {
    const ALL: [Self; 5] =
        [Self::Speed, Self::Geometric, Self::Cpu, Self::SpeedSamePlans, Self::GeometricSamePlans];

    /// d by block; above 0 is faster, for CPU more.
    pub fn d(self, table: &Executions<'_>, pair: &Pair) -> Vec<f64> {
        let rest: Vec<u8> =
            table.asked.iter().copied().filter(|query| !pair.changed.contains(query)).collect();
        match self {
            Self::Speed => table.number(pair, |cell| Some(cell.total?.per_h().ln())),
            Self::Geometric => table.queries(pair, &table.asked, Quantity::Elapsed),
            Self::Cpu => table.number(pair, |cell| {
                let total = cell.total?;
                Some((total.cpu_s? / total.queries).ln())
            }),
            _ if pair.changed.is_empty() => Vec::new(),
            Self::SpeedSamePlans if table.is_throughput => Vec::new(),
            Self::SpeedSamePlans => table.number(pair, |cell| Some(-cell.sum(&rest)?.elapsed_s.ln())),
            Self::GeometricSamePlans => table.queries(pair, &rest, Quantity::Elapsed),
        }
    }

    fn direction(self) -> Direction {
        if self == Self::Cpu { Direction::LowerIsBetter } else { Direction::HigherIsBetter }
    }
}

/// The A/A result in the group of a pair's top.
pub fn floor(table: &Executions<'_>, pair: &Pair, d: impl Fn(&Pair) -> Vec<f64>) -> Option<f64> {
    floor_of(MeanEstimate::of(&d(&table.twins(pair))), table.alpha)
}

/// One ratio of all queries together, pair by pair; `None` if a pair has no block.
pub fn members(table: &Executions<'_>, pairs: &[Pair], whole: Whole) -> Vec<Option<Judgeable>> {
    let d = |pair: &Pair| whole.d(table, pair);
    let member = |pair: &Pair| Some((MeanEstimate::of(&d(pair))?, floor(table, pair, d)));
    pairs.iter().map(member).collect()
}

/// All queries together, pair by pair: each kind of ratio is one family over the pairs.
pub fn together(table: &Executions<'_>, pairs: &[Pair]) -> Vec<Together> {
    let family =
        |whole: Whole| judge_known(&members(table, pairs, whole), table.rule(whole.direction())).into_iter();
    let [mut speed, mut geometric, mut cpu, mut speed_same, mut geometric_same] = Whole::ALL.map(family);
    let of_pair = |_: &Pair| Together {
        speed: speed.next().flatten(),
        geometric: geometric.next().flatten(),
        cpu: cpu.next().flatten(),
        speed_same_plans: speed_same.next().flatten(),
        geometric_same_plans: geometric_same.next().flatten(),
    };
    pairs.iter().map(of_pair).collect()
}

/// The queries of one comparison that have a block, with one coefficient for the correlation of blocks and variances
/// shrunk across them.
pub fn query_members(table: &Executions<'_>, pair: &Pair, quantity: Quantity) -> BTreeMap<u8, Judgeable> {
    let d = |pair: &Pair| -> Vec<Vec<f64>> {
        table.numbers.iter().map(|query| table.queries(pair, &[*query], quantity)).collect()
    };
    let (series, noise) = (d(pair), d(&table.twins(pair)));
    let known = table.numbers.iter().zip(&noise).zip(means(&series, &noise));
    let known: Vec<_> = known.filter_map(|(query, mean)| Some((query, mean?))).collect();
    let means: Vec<MeanEstimate> = known.iter().map(|(_, mean)| *mean).collect();
    let floor = |noise: &[f64]| floor_of(MeanEstimate::of(noise), table.alpha);
    let members = known.iter().zip(moderated(&means));
    members.map(|(((query, noise), _), mean)| (**query, (mean, floor(noise)))).collect()
}

/// Each pair: all queries together, and query by query.
pub fn contrasts(
    table: &Executions<'_>,
    plans: &Plans,
    pairs: &[Pair],
) -> Vec<(Together, Vec<ComparedQuery>)> {
    let each = pairs.iter().map(|pair| queries(table, plans, pair));
    together(table, pairs).into_iter().zip(each).collect()
}

/// The queries of one comparison, judged together.
fn queries(table: &Executions<'_>, plans: &Plans, pair: &Pair) -> Vec<ComparedQuery> {
    let judged = |quantity: Quantity, direction: Direction| {
        let (queries, family): (Vec<u8>, Vec<Judgeable>) =
            query_members(table, pair, quantity).into_iter().unzip();
        queries.into_iter().zip(judge_many(&family, table.rule(direction)))
    };
    let mut cpus: BTreeMap<u8, Ratio> = judged(Quantity::Cpu, Direction::LowerIsBetter).collect();
    let speeds = judged(Quantity::Elapsed, Direction::HigherIsBetter);
    let compared = speeds.map(|(query, speed)| {
        let plan_change = plans.between(pair, query);
        ComparedQuery { query, speed, cpu: cpus.remove(&query), plan_change }
    });
    compared.collect()
}
