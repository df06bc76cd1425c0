//! How many blocks there are and when to look. Pure.
//!
//! Source of the looks: docs/METHODOLOGY.md, "Stopping".

use threadwise_study::Stopping;
use threadwise_study::study::MIN_BLOCKS;

/// Most blocks of a study.
pub const MAX_BLOCKS: u32 = 64;
/// Numbers of blocks after which `--until` looks.
pub const LOOKS: [u32; 4] = [8, 16, 32, 64];

/// Where the study stands after a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Blocks that are done, those before a resume included.
    pub blocks_done: u32,
    /// Number of blocks as fixed after the first one, where it was.
    pub planned: Option<u32>,
    /// Seconds since this run of the program began, data loading included.
    pub elapsed_s: f64,
    /// Mean seconds of a block.
    pub block_s: f64,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another block.
    Block,
    /// Look at the results; another block follows unless they are good enough.
    Look,
    /// Look at the results, and end whatever they are.
    LastLook,
    /// The end.
    End,
}

/// Fixes the number of blocks where it can be fixed: at once for a given number, and after the
/// first block for a budget, from its duration alone. `--until` has none.
pub fn planned_blocks(stopping: Stopping, progress: &Progress) -> Option<u32> {
    match (progress.planned, stopping) {
        (Some(planned), _) => Some(planned),
        (None, Stopping::Blocks { blocks }) => Some(blocks),
        (None, Stopping::Until { .. }) => None,
        (None, Stopping::Budget { .. }) if progress.blocks_done == 0 => None,
        (None, Stopping::Budget { budget_s }) => {
            let left = (budget_s - progress.elapsed_s) / progress.block_s.max(1e-9);
            // A float that is too large, or none, becomes a bound of the integer.
            let more = left.max(0.0) as u32;
            Some(progress.blocks_done.saturating_add(more).clamp(MIN_BLOCKS, MAX_BLOCKS))
        }
    }
}

/// What comes after `progress.blocks_done` blocks.
pub fn next(stopping: Stopping, progress: &Progress) -> Next {
    let done = progress.blocks_done;
    match (progress.planned, stopping) {
        (_, Stopping::Until { budget_s, .. }) => {
            let over = progress.elapsed_s + progress.block_s > budget_s;
            match (LOOKS.contains(&done), over) {
                _ if done < MIN_BLOCKS => Next::Block,
                _ if done >= MAX_BLOCKS => Next::LastLook,
                (_, true) => Next::LastLook,
                (true, false) => Next::Look,
                (false, false) => Next::Block,
            }
        }
        (Some(planned), _) if done >= planned => Next::End,
        _ => Next::Block,
    }
}

/// Seconds that are still to come; `None` before the first block is done.
pub fn eta_s(stopping: Stopping, progress: &Progress) -> Option<f64> {
    if progress.blocks_done == 0 {
        return None;
    }
    let done = progress.blocks_done;
    let blocks_s = |blocks: u32| f64::from(blocks.saturating_sub(done)) * progress.block_s;
    Some(match (stopping, planned_blocks(stopping, progress)) {
        // At the longest: the budget, or its fewest or most blocks.
        (Stopping::Until { budget_s, .. }, _) => {
            let budget_left_s = (budget_s - progress.elapsed_s).max(blocks_s(MIN_BLOCKS));
            budget_left_s.min(blocks_s(MAX_BLOCKS))
        }
        (_, planned) => blocks_s(planned.unwrap_or(done)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(blocks_done: u32, planned: Option<u32>, elapsed_s: f64, block_s: f64) -> Progress {
        Progress { blocks_done, planned, elapsed_s, block_s }
    }

    #[test]
    fn a_budget_fixes_the_number_after_the_first_block() {
        let budget = Stopping::Budget { budget_s: 90.0 };
        assert_eq!(planned_blocks(budget, &at(0, None, 1.0, 0.0)), None);
        assert_eq!(planned_blocks(budget, &at(1, None, 10.0, 8.0)), Some(11));
        assert_eq!(planned_blocks(budget, &at(1, None, 60.0, 50.0)), Some(8));
        assert_eq!(planned_blocks(budget, &at(1, None, 200.0, 50.0)), Some(8));
        assert_eq!(planned_blocks(budget, &at(1, None, 1.0, 0.1)), Some(64));
        assert_eq!(planned_blocks(budget, &at(1, None, 1.0, 0.0)), Some(64));
        assert_eq!(planned_blocks(budget, &at(5, Some(9), 1.0, 0.1)), Some(9), "fixed is fixed");
        assert_eq!(next(budget, &at(8, Some(9), 500.0, 8.0)), Next::Block);
        assert_eq!(next(budget, &at(9, Some(9), 1.0, 8.0)), Next::End);
    }

    #[test]
    fn until_looks_at_its_blocks_and_at_the_end_of_the_budget() {
        let until = Stopping::Until { half_width: 0.02, budget_s: 100.0 };
        assert_eq!(next(until, &at(7, None, 1000.0, 5.0)), Next::Block, "never fewer than 8");
        assert_eq!(next(until, &at(8, None, 40.0, 5.0)), Next::Look);
        assert_eq!(next(until, &at(9, None, 45.0, 5.0)), Next::Block);
        assert_eq!(next(until, &at(13, None, 96.0, 5.0)), Next::LastLook);
        assert_eq!(next(until, &at(16, None, 96.0, 5.0)), Next::LastLook);
        assert_eq!(next(until, &at(64, None, 1.0, 0.1)), Next::LastLook);
        assert_eq!(planned_blocks(until, &at(9, None, 45.0, 5.0)), None);
    }

    #[test]
    fn a_given_number_is_kept() {
        let blocks = Stopping::Blocks { blocks: 2 };
        let planned = planned_blocks(blocks, &at(0, None, 0.0, 0.0));
        assert_eq!(planned, Some(2));
        assert_eq!(next(blocks, &at(1, planned, 1.0, 1.0)), Next::Block);
        assert_eq!(next(blocks, &at(2, planned, 1.0, 1.0)), Next::End);
    }

    #[test]
    fn the_time_to_come_follows_from_the_blocks() {
        assert_eq!(eta_s(Stopping::Blocks { blocks: 5 }, &at(0, Some(5), 0.0, 0.0)), None);
        assert_eq!(eta_s(Stopping::Blocks { blocks: 5 }, &at(2, Some(5), 9.0, 3.0)), Some(9.0));
        let until = Stopping::Until { half_width: 0.02, budget_s: 100.0 };
        assert_eq!(eta_s(until, &at(2, None, 90.0, 3.0)), Some(18.0), "8 blocks at the least");
        assert_eq!(eta_s(until, &at(2, None, 10.0, 3.0)), Some(90.0));
        assert_eq!(eta_s(until, &at(60, None, 10.0, 3.0)), Some(12.0), "64 at the most");
    }
}
