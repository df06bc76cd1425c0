//! The number of blocks, the times of looks, and what a time limit cannot hold. Pure.
//!
//! Source of the looks and of the limit: docs/METHODOLOGY.md, "Stopping".

use crate::shortfall::Shortfall;
use threadwise_study::plan::long;
use threadwise_study::study::MIN_BLOCKS;
use threadwise_study::{LongWindows, Stopping};

/// Most blocks of a study.
pub const MAX_BLOCKS: u32 = 256;
/// Numbers of blocks after which `--until` looks.
pub const LOOKS: [u32; 10] = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192];
/// Part of a limit that is reserved for ending in order: this share of it, and at most so many seconds.
pub const ENDING: (f64, f64) = (0.02, 2.0);
/// How much longer than the first block the others may take and still count as fitting.
pub const FIRST_BLOCK_FACTOR: f64 = 1.1;
/// The first workers that start find caches cold: a limit counts as too small before the block is done only if even
/// half of their time is too much.
const STARTS_FACTOR: f64 = 0.5;

/// The limits of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The study's own.
    pub stopping: Stopping,
    /// Most seconds of this start of the program, instead of the study's own budget; `None`
    /// without a limit: a budget is then what the number of blocks is planned from.
    pub limit_s: Option<f64>,
    /// Rounds of a block, if a study with a larger budget could have more.
    pub rounds: Option<u32>,
}

/// The progress of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Complete blocks, including those before a resume.
    pub blocks_done: u32,
    /// Those of this start of the program.
    pub blocks_here: u32,
    /// Number of blocks, if it is fixed, after the first one.
    pub planned: Option<u32>,
    /// Seconds since this start of the program.
    pub elapsed_s: f64,
    /// Seconds of this start before its first block began.
    pub setup_s: f64,
    /// Mean seconds of a block of this start; 0 before the first one is done.
    pub block_s: f64,
    /// Its long windows.
    pub long: LongProgress,
}

/// The progress of the long windows of a study.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LongProgress {
    /// The study's design of them.
    pub design: Option<LongWindows>,
    /// Their complete blocks, including those before a resume.
    pub done: u32,
    /// Seconds of such a block: its windows alone before the first one of this start is done.
    pub block_s: f64,
    /// Seconds of those of this start.
    pub spent_s: f64,
}

impl LongProgress {
    /// Seconds of the remaining ones.
    pub fn to_come_s(self) -> f64 {
        let blocks = self.design.map_or(0, |long| long.blocks.saturating_sub(self.done));
        f64::from(blocks) * self.block_s
    }
}

/// What is known of the seconds of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockTime {
    /// Lower bound: its slices alone, or the seen part of an unfinished one.
    AtLeast(f64),
    /// Estimated from the starts of its first workers, or from a part of it.
    Starts(f64),
    /// Measured: the mean in [`Progress`].
    Measured,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Another block.
    Block,
    /// A block of long windows.
    LongBlock,
    /// Look at the results; another block follows unless they are good enough.
    Look,
    /// Look at the results, and end in any case.
    LastLook,
    /// The end.
    End,
    /// The end, with fewer blocks than planned: the limit cannot hold another one.
    Over,
    /// The end, without the blocks that intervals need: the limit cannot hold them.
    Short(Shortfall),
}

impl BlockTime {
    fn seconds(self, progress: &Progress) -> f64 {
        match self {
            Self::AtLeast(block_s) | Self::Starts(block_s) => block_s,
            Self::Measured => progress.block_s,
        }
    }
}

impl Rule {
    /// Fewest blocks of the study.
    pub fn least_blocks(self) -> u32 {
        match self.stopping {
            Stopping::Blocks { blocks } => blocks,
            Stopping::Budget { .. } | Stopping::Until { .. } => MIN_BLOCKS,
        }
    }

    /// Seconds after which no block may be under way; `None` if the number of blocks is given and there
    /// is no limit. Without a limit the study's own budget, which the fewest blocks may exceed.
    pub fn usable_s(self) -> Option<f64> {
        match (self.limit_s, self.stopping) {
            (Some(limit_s), _) => Some(limit_s - (limit_s * ENDING.0).min(ENDING.1)),
            (None, Stopping::Budget { budget_s } | Stopping::Until { budget_s, .. }) => Some(budget_s),
            (None, Stopping::Blocks { .. }) => None,
        }
    }

    /// Latest time, in seconds, for the end of setting up, if blocks take at least `floor_s`.
    pub fn setup_until_s(self, progress: &Progress, floor_s: f64) -> Option<f64> {
        let blocks_s = self.blocks_left(progress) * floor_s + progress.long.to_come_s();
        self.limit_s.and(self.usable_s()).map(|usable_s| usable_s - blocks_s)
    }

    /// Blocks that the study still needs.
    fn blocks_left(self, progress: &Progress) -> f64 {
        f64::from(self.least_blocks().saturating_sub(progress.blocks_done))
    }
}

/// Fixes the number of blocks if possible: at once for a given number, and after the
/// first block for a budget, only from durations. `--until` has none, and what does not fit has none.
pub fn planned_blocks(rule: Rule, progress: &Progress) -> Option<u32> {
    match (progress.planned, rule.stopping, rule.usable_s()) {
        (Some(planned), ..) => Some(planned),
        (None, Stopping::Blocks { blocks }, _) => Some(blocks),
        (None, Stopping::Budget { .. }, Some(usable_s)) if progress.blocks_here > 0 => {
            let left =
                (usable_s - progress.elapsed_s - progress.long.to_come_s()) / progress.block_s.max(1e-9);
            // A float that is too large, or NaN, saturates.
            let planned = progress.blocks_done.saturating_add(left.max(0.0) as u32);
            let is_short = shortfall(rule, progress, BlockTime::Measured).is_some();
            (!is_short).then_some(planned.clamp(MIN_BLOCKS, MAX_BLOCKS))
        }
        _ => None,
    }
}

/// The step after a block.
pub fn next(rule: Rule, progress: &Progress) -> Next {
    if let Some(short) = shortfall(rule, progress, BlockTime::Measured) {
        return Next::Short(short);
    }
    let done = progress.blocks_done;
    let next_ends_s = progress.elapsed_s + progress.block_s + progress.long.to_come_s();
    let is_over = rule.usable_s().is_some_and(|usable_s| next_ends_s > usable_s);
    // If no other block fits, these are all.
    let is_last = is_over && rule.limit_s.is_some() && done >= rule.least_blocks();
    let planned_now = if is_last { Some(done) } else { progress.planned };
    if is_long_due(rule, progress, planned_now) {
        return Next::LongBlock;
    }
    match (progress.planned, rule.stopping) {
        (_, Stopping::Until { .. }) => match (LOOKS.contains(&done), is_over) {
            _ if done < MIN_BLOCKS => Next::Block,
            _ if done >= MAX_BLOCKS => Next::LastLook,
            (_, true) => Next::LastLook,
            (true, false) => Next::Look,
            (false, false) => Next::Block,
        },
        (Some(planned), _) if done >= planned => Next::End,
        _ if is_last => Next::Over,
        _ => Next::Block,
    }
}

/// Whether a block of long windows is due and, with a limit, fits.
fn is_long_due(rule: Rule, progress: &Progress, planned: Option<u32>) -> bool {
    let long = progress.long;
    let is_due = long::is_due(long.design, planned, progress.blocks_done, long.done);
    let usable_s = rule.limit_s.and(rule.usable_s());
    is_due && usable_s.is_none_or(|usable_s| progress.elapsed_s + long.block_s <= usable_s)
}

/// Whether a start of the program begins with a block of long windows that an earlier start left.
pub fn starts_long(rule: Rule, progress: &Progress) -> bool {
    progress.blocks_done > 0 && is_long_due(rule, progress, progress.planned)
}

/// Why a limit cannot hold the blocks that the study needs, as far as is known; `None` if it can, and
/// without a limit.
pub fn shortfall(rule: Rule, progress: &Progress, block: BlockTime) -> Option<Shortfall> {
    let usable_s = rule.limit_s.and(rule.usable_s())?;
    let factor = match block {
        BlockTime::AtLeast(_) => 1.0,
        BlockTime::Starts(_) => STARTS_FACTOR,
        BlockTime::Measured if progress.blocks_here == 1 => FIRST_BLOCK_FACTOR,
        BlockTime::Measured => 1.0,
    };
    let left = rule.blocks_left(progress);
    let needed_s = progress.elapsed_s + progress.long.to_come_s() + left * block.seconds(progress) * factor;
    (left > 0.0 && needed_s > usable_s).then(|| lacking(rule, progress, block))
}

/// The shortfall of a limit that is known to be too small.
pub fn lacking(rule: Rule, progress: &Progress, block: BlockTime) -> Shortfall {
    Shortfall {
        limit_s: rule.limit_s.unwrap_or(f64::INFINITY),
        blocks: rule.least_blocks(),
        blocks_done: progress.blocks_done,
        blocks_here: progress.blocks_here,
        setup_s: progress.setup_s,
        is_set_up: true,
        block_s: block.seconds(progress),
        is_least: matches!(block, BlockTime::AtLeast(_)),
        long_s: progress.long.spent_s + progress.long.to_come_s(),
        rounds: rule.rounds,
    }
}

/// Remaining seconds, with `--until` at most; `None` before the first block is done.
pub fn eta_s(rule: Rule, progress: &Progress) -> Option<f64> {
    if progress.blocks_done == 0 {
        return None;
    }
    let done = progress.blocks_done;
    let long_s = progress.long.to_come_s();
    let blocks_s = |blocks: u32| f64::from(blocks.saturating_sub(done)) * progress.block_s + long_s;
    let left_s = rule.usable_s().map_or(f64::INFINITY, |usable_s| usable_s - progress.elapsed_s);
    let eta_s = match (rule.stopping, planned_blocks(rule, progress)) {
        // The budget, or its fewest or most blocks.
        (Stopping::Until { .. }, _) => left_s.max(blocks_s(MIN_BLOCKS)).min(blocks_s(MAX_BLOCKS)),
        (_, planned) => blocks_s(planned.unwrap_or(done)),
    };
    Some(if rule.limit_s.is_some() { eta_s.min(left_s.max(0.0)) } else { eta_s })
}

#[cfg(test)]
mod tests;
