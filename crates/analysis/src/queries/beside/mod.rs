//! Short queries beside streams: their latency under each treatment, its ratio to that of the lowest DOP of the same
//! placement, and how parallel the streams' queries may be before it rises.
//!
//! A percentile is that of a block's merged histograms, the ratio of a block is one of two percentiles, and intervals are
//! Student's t over blocks, as those of steps are (`estimate::comparisons`). All ratios of a study are one family (Holm).

mod limit;
mod measured;
mod types;

use std::collections::BTreeSet;

use threadwise_study::Run;

use super::family::{Member, floor, ratios};
use super::steps::ladders;
use super::table::{Cell, Table};
use super::whole::{Whole, twins};
use crate::estimate::{MIN_STEPS, Observed};
use crate::{Direction, Ratio};
pub use limit::{DopLimit, Step, limit};
use limit::{blocks_needed, limits};
pub(crate) use measured::streams_alone;
use measured::{Measured, of_blocks};
use threadwise_statistics::{MeanEstimate, correlation, geometric, mean};
pub use types::ShortQueries;

/// What a study says of short queries, treatments by ladder and DOP.
pub fn beside(table: &Table<'_>, observed: &Observed, runs: &[Run]) -> (Vec<ShortQueries>, Vec<DopLimit>) {
    let short = |at: usize| table.study.short_sessions(&table.study.treatments[at]);
    let ladders: Vec<Vec<(u32, usize)>> =
        ladders(table).into_iter().filter(|ladder| short(ladder[0].1) > 0).collect();
    if ladders.is_empty() {
        return Default::default();
    }
    let found = Beside { table, of_blocks: of_blocks(table, observed, runs) };
    let pairs: Vec<(usize, usize)> =
        ladders.iter().flat_map(|ladder| ladder.iter().skip(1).map(|(_, at)| (*at, ladder[0].1))).collect();
    let p99 = found.ratios(&pairs, Direction::LowerIsBetter, |top, below| found.p99(top, below));
    let speed = |top: usize, below: &[usize]| Whole::Speed.d(table, top, below, &BTreeSet::new());
    let throughput = found.ratios(&pairs, Direction::HigherIsBetter, speed);
    let ratio_of = |ratios: &[(usize, Ratio)], at: usize| {
        ratios.iter().find(|(top, _)| *top == at).map(|(_, ratio)| ratio.clone())
    };
    let rows = ladders.iter().flat_map(|ladder| {
        ladder.iter().map(|(dop, at)| {
            let (p99, throughput) = (ratio_of(&p99, *at), ratio_of(&throughput, *at));
            ShortQueries { p99, throughput, ..found.figures(*at, *dop, ladder[0].1) }
        })
    });
    let rows: Vec<ShortQueries> = rows.collect();
    let needed = |ratio: &Ratio| blocks_needed(ratio, pairs.len(), table.alpha);
    let limits = limits(&rows, table.study.design.margin, needed);
    (rows, limits)
}

/// What is known of short queries, block by block.
struct Beside<'t, 'a> {
    table: &'t Table<'a>,
    of_blocks: Measured,
}

impl Beside<'_, '_> {
    /// A treatment's own figures; of a baseline those of both of its runs in every block.
    fn figures(&self, at: usize, dop: u32, lowest: usize) -> ShortQueries {
        let treatments = &self.table.study.treatments;
        let (treatment, sides) = (&treatments[at], self.table.sides(at));
        let blocks = self.table.together(&sides);
        let over_sides = |value: &dyn Fn(&Cell<'_>) -> Option<f64>| -> Vec<f64> {
            let of_block = |cells: &Vec<&Cell<'_>>| {
                let each: Option<Vec<f64>> = cells.iter().map(|cell| Some(value(cell)?.ln())).collect();
                mean(each?.into_iter()).filter(|log| log.is_finite())
            };
            blocks.iter().filter_map(of_block).collect()
        };
        let percentile = |value: &dyn Fn(&Cell<'_>) -> Option<f64>| {
            let is_known = sides.iter().all(|side| self.is_known(*side));
            geometric(&over_sides(value), 1.0, "ns", self.table.alpha).filter(|_| is_known)
        };
        let steps = blocks.iter().flatten().map(|cell| self.of_blocks.steps(cell));
        ShortQueries {
            treatment: treatment.name.clone(),
            placement: treatment.placement.clone(),
            dop,
            streams: treatment.sessions,
            sessions: self.table.study.short_sessions(treatment),
            blocks: blocks.len() as u32,
            fewest_in_a_block: steps.min().unwrap_or(0),
            short_per_s: geometric(
                &over_sides(&|cell| self.of_blocks.per_s(cell)),
                1.0,
                "1/s",
                self.table.alpha,
            ),
            latency_ns_p50: percentile(&|cell| self.of_blocks.p50_ns(cell)),
            latency_ns_p99: percentile(&|cell| self.of_blocks.p99_ns(cell)),
            lowest: treatments[lowest].name.clone(),
            p99: None,
            throughput: None,
        }
    }

    /// Whether every block has enough short queries of a treatment: dropping only those that have not would favour
    /// blocks in which short queries were quick.
    fn is_known(&self, at: usize) -> bool {
        self.table.of(at).all(|cell| self.of_blocks.steps(cell) >= MIN_STEPS)
    }

    /// d of the 99th percentile by block; nothing where a side lacks it in any block.
    fn p99(&self, top: usize, below: &[usize]) -> Vec<f64> {
        match below.iter().chain([&top]).all(|at| self.is_known(*at)) {
            true => self.table.number(top, below, |cell| self.of_blocks.p99_ns(cell)),
            false => Vec::new(),
        }
    }

    /// One family of ratios of treatments to the lowest DOP of their ladder, with one coefficient for the correlation of
    /// blocks.
    fn ratios(
        &self,
        pairs: &[(usize, usize)],
        direction: Direction,
        d: impl Fn(usize, &[usize]) -> Vec<f64>,
    ) -> Vec<(usize, Ratio)> {
        let a_a = |at: usize| twins(self.table, at, &d);
        let series: Vec<(usize, Vec<f64>)> = pairs
            .iter()
            .map(|(top, lowest)| (*top, self.table.over(*top, *lowest, &d)))
            .filter(|(_, d)| !d.is_empty())
            .collect();
        let noise: Vec<Vec<f64>> = series.iter().map(|(top, _)| a_a(*top)).collect();
        let every: Vec<&[f64]> =
            series.iter().map(|(_, d)| d).chain(noise.first()).map(Vec::as_slice).collect();
        let common = correlation::common(&every);
        let mean = |d: &[f64]| MeanEstimate::correlated(d, correlation::of_one(d, common));
        let members = series.iter().zip(&noise).filter_map(|((top, d), noise)| {
            Some(Member { key: *top, mean: mean(d)?, floor: floor(noise, self.table.alpha) })
        });
        ratios(members.collect(), self.table.rule(direction))
    }
}
