//! The slices of a block in the order of execution.
//!
//! Sequence numbers are places in the plan, so the slice before is the one with the next lower number that was
//! taken, whatever became of its run. Looks, idle periods of quotas and re-warms between two slices do not count.

use super::fit::OrderedSlice;
use crate::estimate::{Observed, ObservedBlock};
use threadwise_study::{Run, Slice};

/// A block's slices, in the order of execution.
pub struct BlockOrder {
    /// Treatments of all slices that were taken.
    pub ran: Vec<usize>,
    /// Those that count.
    pub counted: Vec<OrderedSlice>,
}

/// Puts the slices of a block's latest attempt in order. Those of usable runs with a rate count.
pub fn in_order(observed: &Observed, block: &ObservedBlock, runs: &[Run]) -> BlockOrder {
    let mut all: Vec<(usize, &Slice)> = Vec::new();
    for (treatment, source) in block.sources.iter().enumerate() {
        let run = source.and_then(|source| runs.get(source));
        all.extend(run.iter().flat_map(|run| &run.slices).map(|slice| (treatment, slice)));
    }
    all.sort_by_key(|(_, slice)| slice.sequence);
    let ran: Vec<usize> = all.iter().map(|(treatment, _)| *treatment).collect();
    let before = std::iter::once(None).chain(ran.iter().copied().map(Some));
    let counted = all.iter().zip(before).filter_map(|((treatment, slice), predecessor)| {
        let digest = observed.usable(block, *treatment)?;
        let log_rate = digest.rounds.get(slice.round as usize)?.rows_per_s()?.ln();
        Some(OrderedSlice { round: slice.round, treatment: *treatment, predecessor, log_rate })
    });
    let counted = counted.collect();
    BlockOrder { ran, counted }
}
