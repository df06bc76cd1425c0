//! Disturbances of the study: steal, busy siblings, neighbours, clocks, and the samplers themselves.
//!
//! These are covariates: they are shown with every estimate, and the estimate is also given without the blocks that
//! they flag. They exclude nothing, since leaving out blocks because they were slow would bias the rest.

use super::digest::{CpuTotals, Digest, Totals};
use super::observed::{Block, Observed};
use crate::{BlockCovariates, Covariates};
use threadwise_statistics::mean;

/// A block is flagged when more than this share of its own CPUs' time was taken by the hypervisor.
pub const STEAL_FLAG_SHARE: f64 = 0.01;

/// A block is flagged when, in any treatment, sessions that have a logical CPU each waited for it for more than this
/// share of the time, because others used it.
pub const RUN_QUEUE_FLAG_SHARE: f64 = 0.01;

/// A block is flagged when left-over siblings, or the other CPUs, were busy for more than this
/// share of the time.
pub const BUSY_FLAG_SHARE: f64 = 0.10;

/// A block is flagged when a neighbour was busy on the siblings of any treatment's own CPUs for more
/// than this share of the time, before and after its run together.
pub const NEIGHBOUR_FLAG_SHARE: f64 = 0.10;

/// Covariates over all usable runs. Shares are of whole blocks, because /proc/stat counts in ticks
/// of 10 ms and says little about one slice.
pub fn covariates(observed: &Observed) -> Covariates {
    let mut study = [CpuTotals::default(); 3];
    let mut blocks = Vec::new();
    for block in &observed.blocks {
        let times = of_block(observed, block);
        for (sum, part) in study.iter_mut().zip(&times) {
            sum.add(part);
        }
        blocks.push(block_covariates(observed, block, &times));
    }
    let over_blocks = |value: fn(&BlockCovariates) -> Option<f64>| mean(blocks.iter().filter_map(value));
    Covariates {
        steal_share: study[0].steal_share().unwrap_or(0.0),
        steal_share_max: blocks.iter().map(|block| block.steal_share).fold(0.0, f64::max),
        flagged_blocks: blocks.iter().filter(|b| !b.causes.is_empty()).map(|b| b.block).collect(),
        run_queue_wait_share_max: blocks
            .iter()
            .filter_map(|block| block.run_queue_wait_share)
            .reduce(f64::max),
        left_over_busy_share: study[1].busy_share().unwrap_or(0.0),
        others_busy_share: study[2].busy_share().unwrap_or(0.0),
        neighbour_share: over_blocks(|block| block.neighbour_share),
        neighbour_share_max: blocks.iter().filter_map(|block| block.neighbour_share_max).reduce(f64::max),
        clock_mhz: over_blocks(|block| block.clock_mhz),
        straggler_share: over_blocks(|block| block.straggler_share),
        telemetry_cpu_share: over_blocks(|block| block.telemetry_cpu_share),
        blocks,
    }
}

fn block_covariates(observed: &Observed, block: &Block, times: &[CpuTotals; 3]) -> BlockCovariates {
    let runs: Vec<&Digest> = usable(observed, block).collect();
    let over_runs = |value: fn(&Digest) -> Option<f64>| mean(runs.iter().filter_map(|run| value(run)));
    let mut result = BlockCovariates {
        block: block.number,
        steal_share: times[0].steal_share().unwrap_or(0.0),
        run_queue_wait_share: runs.iter().filter_map(|run| run.waited_share()).reduce(f64::max),
        left_over_busy_share: times[1].busy_share().unwrap_or(0.0),
        others_busy_share: times[2].busy_share().unwrap_or(0.0),
        neighbour_before_share: over_runs(|run| run.telemetry.neighbour_before),
        neighbour_after_share: over_runs(|run| run.telemetry.neighbour_after),
        neighbour_share: over_runs(|run| run.telemetry.neighbour()),
        neighbour_share_max: runs.iter().filter_map(|run| run.telemetry.neighbour()).reduce(f64::max),
        clock_mhz: over_runs(|run| run.telemetry.clock_mhz),
        straggler_share: over_runs(|run| run.telemetry.straggler_share),
        telemetry_cpu_share: over_runs(|run| run.telemetry.own_cpu_share),
        causes: Vec::new(),
    };
    result.causes = causes(&result);
    result
}

fn causes(block: &BlockCovariates) -> Vec<&'static str> {
    let limits = [
        ("steal", Some(block.steal_share), STEAL_FLAG_SHARE),
        ("run-queue-wait", block.run_queue_wait_share, RUN_QUEUE_FLAG_SHARE),
        ("left-over-busy", Some(block.left_over_busy_share), BUSY_FLAG_SHARE),
        ("others-busy", Some(block.others_busy_share), BUSY_FLAG_SHARE),
        ("neighbour", block.neighbour_share_max, NEIGHBOUR_FLAG_SHARE),
    ];
    let above = |share: Option<f64>, limit: f64| share.is_some_and(|share| share > limit);
    limits.into_iter().filter(|(_, share, limit)| above(*share, *limit)).map(|(cause, ..)| cause).collect()
}

fn usable<'a>(observed: &'a Observed, block: &'a Block) -> impl Iterator<Item = &'a Digest> {
    (0..block.runs.len()).filter_map(|treatment| observed.usable(block, treatment))
}

/// Own, left-over and other CPUs of one block.
fn of_block(observed: &Observed, block: &Block) -> [CpuTotals; 3] {
    let mut sums = [CpuTotals::default(); 3];
    for run in usable(observed, block) {
        let Totals { assigned, left_over, others, .. } = &run.totals;
        for (sum, part) in sums.iter_mut().zip([assigned, left_over, others]) {
            sum.add(part);
        }
    }
    sums
}
