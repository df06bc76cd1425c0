//! What disturbed the study: steal, busy siblings, busy strangers.
//!
//! These are covariates: they are shown beside every estimate, and the estimate is also given
//! without the blocks that they flag. Nothing is excluded for them, since leaving blocks out for
//! having been slow would bias what is left.

use super::digest::{CpuTotals, Totals};
use super::observed::{Block, Observed};
use crate::Covariates;

/// A block is flagged when more than this share of its own CPUs' time was taken by the hypervisor.
pub const STEAL_FLAG_SHARE: f64 = 0.01;

/// A block is flagged when left-over siblings, or the other CPUs, were busy for more than this
/// share of the time.
pub const BUSY_FLAG_SHARE: f64 = 0.10;

/// Covariates over all usable runs. Shares are of whole blocks, because /proc/stat counts in ticks
/// of 10 ms and says little about one slice.
pub fn covariates(observed: &Observed) -> Covariates {
    let mut result = Covariates::default();
    let mut study = [CpuTotals::default(); 3];
    for block in &observed.blocks {
        let [own, left_over, others] = of_block(observed, block);
        let steal = own.steal_share().unwrap_or(0.0);
        let busy = left_over.busy_share().unwrap_or(0.0).max(others.busy_share().unwrap_or(0.0));
        if steal > STEAL_FLAG_SHARE || busy > BUSY_FLAG_SHARE {
            result.flagged_blocks.push(block.number);
        }
        result.steal_share_max = result.steal_share_max.max(steal);
        for (sum, part) in study.iter_mut().zip([own, left_over, others]) {
            sum.add(&part);
        }
    }
    result.steal_share = study[0].steal_share().unwrap_or(0.0);
    result.left_over_busy_share = study[1].busy_share().unwrap_or(0.0);
    result.others_busy_share = study[2].busy_share().unwrap_or(0.0);
    result
}

/// Own, left-over and other CPUs of one block.
fn of_block(observed: &Observed, block: &Block) -> [CpuTotals; 3] {
    let mut sums = [CpuTotals::default(); 3];
    for treatment in 0..block.runs.len() {
        let Some(run) = observed.usable(block, treatment) else { continue };
        let Totals { own, left_over, others, .. } = &run.totals;
        for (sum, part) in sums.iter_mut().zip([own, left_over, others]) {
            sum.add(part);
        }
    }
    sums
}
