//! What the processes of a parallel scan did: how many rows each, how fast beside a busy sibling and without one, and
//! what a straggler costs.
//!
//! The engine says of every slice what each process did (`threadwise_study::parallel`). A block gives one number of each
//! kind, and intervals are Student's over blocks; all treatments of a study are one family (docs/METHODOLOGY.md,
//! "Parallel workers").

mod fit;
mod types;

#[cfg(test)]
pub(crate) mod tests;

pub use fit::{Gap, ProcessSlice, log_ratio};
pub use types::{Parallel, TreatmentParallel};

use crate::Ratio;
use crate::estimate::{Observed, ObservedBlock, Rule, judge};
use crate::setting::Setting;
use std::collections::BTreeMap;
use threadwise_document::{Direction, Interval};
use threadwise_statistics::{MeanEstimate, arithmetic, correlation, geometric, mean, per};
use threadwise_study::parallel::{Parts, WORKLOAD};
use threadwise_study::{OptionValue, Run, Treatment};

/// All treatments of a study; `None` of another workload, and where nothing was counted.
pub(crate) fn parallel(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Option<Parallel> {
    if setting.study.workload != WORKLOAD {
        return None;
    }
    let treatments = &setting.study.treatments;
    let blocks = |at: usize| -> Vec<Block> {
        let of_block = |block: &ObservedBlock| {
            observed.usable(block, at)?;
            Block::of(runs.get(block.sources[at]?)?, setting)
        };
        observed.blocks.iter().filter_map(of_block).collect()
    };
    let all: Vec<Vec<Block>> = (0..treatments.len()).map(blocks).collect();
    let series: Vec<Vec<f64>> = all.iter().map(|blocks| logs(blocks)).collect();
    let rule = Rule {
        margin: setting.study.design.margin,
        alpha: setting.alpha,
        direction: Direction::HigherIsBetter,
    };
    let ratios = ratios(&series, rule);
    let is_known = all.iter().flatten().next().is_some();
    let treatments = treatments.iter().zip(&all).zip(ratios);
    let treatments =
        treatments.map(|((one, blocks), ratio)| summary(one, blocks, ratio, setting.alpha)).collect();
    is_known.then_some(Parallel { treatments })
}

/// The ratios of a family, each from ln(b / a) of its blocks; `None` for one without a block.
pub fn ratios(series: &[Vec<f64>], rule: Rule) -> Vec<Option<Ratio>> {
    let all: Vec<&[f64]> = series.iter().filter(|d| !d.is_empty()).map(Vec::as_slice).collect();
    let common = correlation::common(&all);
    let means: Vec<Option<MeanEstimate>> =
        series.iter().map(|d| MeanEstimate::correlated(d, correlation::of_one(d, common))).collect();
    let family: Vec<(MeanEstimate, Option<f64>)> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge(&family, rule).into_iter();
    means.into_iter().map(|mean| mean.and_then(|_| judged.next())).collect()
}

/// One block of a treatment.
struct Block {
    parts: Vec<Parts>,
    ratio: Result<f64, Gap>,
}

impl Block {
    /// `None` where the run's slices have nothing of processes.
    fn of(run: &Run, setting: &Setting<'_>) -> Option<Self> {
        let parts: Vec<Parts> = run.slices.iter().filter_map(|slice| Parts::read(&slice.counters)).collect();
        let slices: Vec<ProcessSlice> = parts.iter().flat_map(process_slices).collect();
        // What no larger table would change comes first.
        let ratio = match parts.iter().any(|part| part.scans > 0) {
            _ if !has_siblings(run, setting) => Err(Gap::NoSiblings),
            false => Err(Gap::Unsampled),
            true if parts.iter().all(|part| part.processes <= part.scans) => Err(Gap::OneProcess),
            true => log_ratio(&slices),
        };
        (!parts.is_empty()).then_some(Self { parts, ratio })
    }

    fn sum(&self, amount: fn(&Parts) -> u64) -> f64 {
        self.parts.iter().map(amount).sum::<u64>() as f64
    }
}

fn process_slices(parts: &Parts) -> impl Iterator<Item = ProcessSlice> {
    parts.by_process.iter().filter(|one| one.running_ns > 0).map(|one| ProcessSlice {
        rows: one.rows as f64,
        alone_s: one.running_ns.saturating_sub(one.sibling_busy_ns) as f64 / 1e9,
        shared_s: one.sibling_busy_ns.min(one.running_ns) as f64 / 1e9,
    })
}

/// Whether two of a run's logical CPUs share a core, or nobody knows.
fn has_siblings(run: &Run, setting: &Setting<'_>) -> bool {
    let Some(topology) = setting.topology else { return true };
    let core = |cpu: u32| topology.cpu(cpu).map(|known| &known.siblings);
    let shares = |cpu: &u32| {
        run.cpus.iter().any(|other| other != cpu && core(*cpu).is_some_and(|core| core.contains(*other)))
    };
    run.cpus.iter().any(shares)
}

/// One number a block. Leaving out the blocks whose scatter gives no rate would choose blocks by their result: then
/// there is none.
fn logs(blocks: &[Block]) -> Vec<f64> {
    if blocks.iter().any(|block| block.ratio == Err(Gap::Scatter)) {
        return Vec::new();
    }
    blocks.iter().filter_map(|block| block.ratio.ok()).collect()
}

fn summary(treatment: &Treatment, blocks: &[Block], ratio: Option<Ratio>, alpha: f64) -> TreatmentParallel {
    let sum = |amount: fn(&Parts) -> u64| blocks.iter().map(|block| block.sum(amount)).sum::<f64>();
    let share = |part: fn(&Parts) -> u64, whole: fn(&Parts) -> u64| -> Option<Interval> {
        let by_block = blocks.iter().filter_map(|block| per(block.sum(part), block.sum(whole)));
        arithmetic(&by_block.collect::<Vec<f64>>(), "share", alpha)
    };
    let dop = match treatment.options.get("dop") {
        Some(OptionValue::Integer(dop)) => u32::try_from(*dop).ok(),
        _ => None,
    };
    TreatmentParallel {
        treatment: treatment.name.clone(),
        dop,
        processes: per(sum(|part| part.processes), sum(|part| part.scans)),
        blocks: blocks.len() as u32,
        scans: sum(|part| part.scans) as u64,
        unsampled_scans: sum(|part| part.unsampled_scans) as u64,
        row_shares: row_shares(blocks),
        sibling_busy: share(
            |part| part.by_process.iter().map(|one| one.sibling_busy_ns).sum(),
            |part| part.by_process.iter().map(|one| one.running_ns).sum(),
        ),
        ratio_blocks: logs(blocks).len() as u32,
        gap: if ratio.is_some() { None } else { Some(commonest_gap(blocks)) },
        ratio,
        equal_loss: equal_loss(blocks, alpha),
        idle_tail: share(|part| part.tail_ns, |part| part.process_span_ns),
        looking: share(|part| part.looking_ns, |part| part.span_ns),
    }
}

/// What equal parts would have taken longer than parts by rate: of each block the logarithm.
fn equal_loss(blocks: &[Block], alpha: f64) -> Option<Interval> {
    let by_block = blocks
        .iter()
        .filter_map(|block| per(block.sum(|part| part.equal_ns), block.sum(|part| part.by_rate_ns)));
    let logs: Vec<f64> = by_block.map(f64::ln).filter(|log| log.is_finite()).collect();
    let Interval { mean, low, high, .. } = geometric(&logs, 1.0, "share", alpha)?;
    // Parts by rate are never slower.
    Some(Interval { mean: mean - 1.0, low: (low - 1.0).max(0.0), high: high - 1.0, unit: "share".to_owned() })
}

/// The gap that most blocks have, but for the one that leaves all of them without a ratio.
fn commonest_gap(blocks: &[Block]) -> Gap {
    let mut counts: BTreeMap<Gap, usize> = BTreeMap::new();
    for gap in blocks.iter().filter_map(|block| block.ratio.err()) {
        if gap == Gap::Scatter {
            return gap;
        }
        *counts.entry(gap).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or(Gap::Unsampled, |(gap, _)| gap)
}

/// Shares of the rows of a slice by process, the largest first, on average over all slices. Who is fast differs from
/// slice to slice, so that shares by the process's number would be alike.
fn row_shares(blocks: &[Block]) -> Vec<f64> {
    let mut by_rank: Vec<Vec<f64>> = Vec::new();
    for parts in blocks.iter().flat_map(|block| &block.parts) {
        let rows: f64 = parts.by_process.iter().map(|one| one.rows as f64).sum();
        let mut shares: Vec<f64> =
            parts.by_process.iter().filter_map(|one| per(one.rows as f64, rows)).collect();
        shares.sort_by(|one, other| other.total_cmp(one));
        by_rank.resize(by_rank.len().max(shares.len()), Vec::new());
        by_rank.iter_mut().zip(shares).for_each(|(rank, share)| rank.push(share));
    }
    by_rank.into_iter().filter_map(|shares| mean(shares.into_iter())).collect()
}
