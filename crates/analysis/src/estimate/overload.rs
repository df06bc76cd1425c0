//! Rates that are too high: a queue that does not settle has no latency.

use super::observed::{Block, Observed};
use crate::Interval;
use threadwise_statistics::arithmetic;

/// Share of the requests of a window that have not begun at its end, from which on a rate is too high.
const TOO_MANY: f64 = 0.05;

/// Shares of requests that wait at the end of a treatment's windows, mean over blocks; `None` without a rate.
pub fn waiting(observed: &Observed, treatment: usize, alpha: f64) -> Option<Interval> {
    let of_block = |block: &Block| observed.usable(block, treatment)?.waiting_share;
    arithmetic(&observed.blocks.iter().filter_map(of_block).collect::<Vec<f64>>(), "share", alpha)
}

/// Whether a treatment's rate is shown to be too high.
pub fn is_overload(observed: &Observed, treatment: usize, alpha: f64) -> bool {
    is_too_high(waiting(observed, treatment, alpha).as_ref())
}

/// Whether the share of waiting requests is that of a rate that is too high.
pub fn is_too_high(waiting: Option<&Interval>) -> bool {
    waiting.is_some_and(|share| share.low > TOO_MANY)
}
