//! Slices as light rows: only what a comparison of states needs of each.
//!
//! The statistics of this module work on rows, so that thousands of simulated studies take seconds; [`rows`] makes them
//! from the runs of a study.

use super::states::{Judged, LookState, LookedAt};
use std::collections::BTreeMap;
use threadwise_study::{Comparison, Look, Moment};

/// The owner of a slice, in one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The treatment.
    Treatment,
    /// The baseline, A.
    Baseline,
    /// The baseline under its second name, A′.
    Twin,
    /// Another treatment; its looks count as looks.
    Other,
}

/// An amount and its time: rates are quotients of sums.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amount {
    /// Amount, in the workload's unit.
    pub done: f64,
    /// Time, nanoseconds.
    pub time_ns: f64,
}

impl Amount {
    /// From a rate that is known at one moment alone: all moments weigh the same.
    pub fn rate(rate: f64) -> Self {
        Self { done: rate, time_ns: 1.0 }
    }

    /// The sum of both.
    pub fn add(&mut self, other: Self) {
        self.done += other.done;
        self.time_ns += other.time_ns;
    }

    /// Logarithm of the rate; not finite if the amount or the time is 0.
    pub fn log_rate(self) -> f64 {
        (self.done / self.time_ns).ln()
    }
}

/// A slice and the states around it. States are always those of the treatment's logical CPUs in that block, whichever
/// treatment the slice belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Block.
    pub block: u32,
    /// Round in the block.
    pub round: u32,
    /// Its owner.
    pub side: Side,
    /// Start of the slice, nanoseconds since the study's start.
    pub start_ns: u64,
    /// State in the last look before it; `None` without one.
    pub before: Option<LookState>,
    /// State in the first look after it; `None` without one.
    pub after: Option<LookState>,
    /// Rows that its sessions read, in the window.
    pub amount: Amount,
    /// Steps of CHAIN per nanosecond in the look after it, mean over the treatment's logical CPUs; `None` if one of
    /// them did not run.
    pub chain_per_ns: Option<f64>,
    /// Adds of WIDE per nanosecond in the look after it, sum over the treatment's logical CPUs; `None` if one of them
    /// did not run, or widths are unknown.
    pub adds_per_ns: Option<f64>,
}

/// What slices are sorted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum By {
    /// Two of the treatment's logical CPUs on one core, or each on a core of its own.
    Core,
    /// The treatment's two logical CPUs on cores that pass a cache line in at most this time, or on cores further apart;
    /// in rows near is [`LookState::SameCore`] and far [`LookState::Clear`].
    Distance {
        /// Between the nearest level of lines and the next one, nanoseconds a move.
        cut_ns: f64,
    },
}

impl By {
    /// The state of a treatment's logical CPUs in a look, as rows have it.
    fn state(self, cpus: &[u32], judged: &Judged<'_>) -> LookState {
        let state = LookState::of(cpus, &judged.shares);
        let Self::Distance { cut_ns } = self else { return state };
        match (state, line_ns(judged.look, cpus)) {
            // With neighbours too: these come and go by themselves, and WIDE, which they slow, must be the same.
            (LookState::Clear | LookState::Neighbour, Some(line_ns)) if line_ns <= cut_ns => {
                LookState::SameCore
            }
            (LookState::Clear | LookState::Neighbour, Some(_)) => LookState::Clear,
            (LookState::Away, _) => LookState::Away,
            // Siblings of one core are no distance between cores.
            (LookState::Clear | LookState::Neighbour | LookState::SameCore | LookState::Unknown, _) => {
                LookState::Unknown
            }
        }
    }
}

/// The line between two logical CPUs; `None` of more, or if it did not pass.
fn line_ns(look: &Look, cpus: &[u32]) -> Option<f64> {
    let &[one, other] = cpus else { return None };
    look.pairs.iter().find(|pair| (pair.a, pair.b) == (one.min(other), one.max(other)))?.line_ns
}

/// The rows of a comparison in order of time: slices of all treatments in blocks in which the treatment has a run.
/// Empty if the comparison does not have a baseline of two, or the treatment has fewer than two logical CPUs, which
/// cannot share a core.
pub fn rows(comparison: &Comparison, slices: &[LookedAt<'_>], by: By) -> Vec<Row> {
    let [baseline, twin] = comparison.baseline.as_slice() else { return Vec::new() };
    let side = |name: &String| match name {
        _ if *name == comparison.treatment => Side::Treatment,
        _ if name == baseline => Side::Baseline,
        _ if name == twin => Side::Twin,
        _ => Side::Other,
    };
    let treated = slices.iter().filter(|slice| slice.run.treatment == comparison.treatment);
    let cpus: BTreeMap<u32, &[u32]> = treated
        .map(|slice| (slice.run.block, slice.run.cpus.as_slice()))
        .filter(|(_, cpus)| cpus.len() > 1)
        .collect();
    let row = |slice: &LookedAt<'_>| {
        let cpus = cpus.get(&slice.run.block)?;
        let last = slice.looks.iter().rev().find(|one| one.moment == Moment::Before);
        let first = slice.looks.iter().find(|one| one.moment == Moment::After);
        let after = first.map(|one| one.look);
        Some(Row {
            block: slice.run.block,
            round: slice.slice.round,
            side: side(&slice.run.treatment),
            start_ns: slice.slice.start_ns,
            before: last.map(|one| by.state(cpus, one)),
            after: first.map(|one| by.state(cpus, one)),
            amount: Amount { done: slice.slice.rows() as f64, time_ns: slice.slice.window_ns as f64 },
            chain_per_ns: after.and_then(|look| chain_per_ns(look, cpus)),
            adds_per_ns: after.and_then(|look| adds_per_ns(look, cpus)),
        })
    };
    slices.iter().filter_map(row).collect()
}

fn chain_per_ns(look: &Look, cpus: &[u32]) -> Option<f64> {
    let steps = per_cpu(look, cpus, |seen| Some(1.0 / seen.chain_ns?))?;
    Some(steps.iter().sum::<f64>() / steps.len() as f64)
}

fn adds_per_ns(look: &Look, cpus: &[u32]) -> Option<f64> {
    Some(per_cpu(look, cpus, |seen| Some(seen.adds_per_step? / seen.chain_ns?))?.iter().sum())
}

/// A number of each logical CPU; `None` if one does not have it, or it is not positive.
fn per_cpu(
    look: &Look,
    cpus: &[u32],
    number: impl Fn(&threadwise_study::CpuLook) -> Option<f64>,
) -> Option<Vec<f64>> {
    let one = |cpu: &u32| number(look.cpus.iter().find(|seen| seen.cpu == *cpu)?);
    let all: Option<Vec<f64>> = cpus.iter().map(one).collect();
    all.filter(|all| all.iter().all(|value| value.is_finite() && *value > 0.0))
}

/// A round in which the treatment and both baselines have a slice with some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The treatment's slice.
    pub treatment: Row,
    /// Those of A and A′.
    pub baselines: [Row; 2],
}

/// The complete rounds, by block and round.
pub fn rounds(rows: &[Row]) -> Vec<Round> {
    let mut found: BTreeMap<(u32, u32), [Option<Row>; 3]> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.amount.log_rate().is_finite()) {
        let place = match row.side {
            Side::Treatment => 0,
            Side::Baseline => 1,
            Side::Twin => 2,
            Side::Other => continue,
        };
        found.entry((row.block, row.round)).or_default()[place] = Some(*row);
    }
    let complete = found.into_values().filter_map(|slices| match slices {
        [Some(treatment), Some(a), Some(twin)] => Some(Round { treatment, baselines: [a, twin] }),
        _ => None,
    });
    complete.collect()
}
