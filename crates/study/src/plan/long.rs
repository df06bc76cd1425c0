//! Blocks of long windows: their number, times and order.
//!
//! A slice of 50 ms loses 25 to 50 ms to a stall of 500 ms, while a user loses 500; a turbo limit begins after seconds.
//! So some windows are as long as a user's work: blocks of one round in a drawn order, spread evenly over the blocks of
//! slices, since neighbours in time have the same disturbances (docs/METHODOLOGY.md, "Long windows").

use super::stream::{Purpose, random};
use crate::study::{LongWindows, MIN_BLOCKS};
use rand::seq::SliceRandom;

/// Number of the first block of long windows. Blocks of slices have smaller numbers.
pub const FIRST_BLOCK: u32 = 1 << 19;
/// Maximum blocks of long windows in a study.
pub const MOST_BLOCKS: u32 = 1000;
/// Number of pieces that rows of a long window are counted by.
pub const PIECES: u64 = 10;

/// Whether this block number is one of long windows.
pub fn is_long(block: u32) -> bool {
    block >= FIRST_BLOCK
}

/// The treatments by index in the order of a block of long windows.
pub(super) fn order(seed: u64, treatments: usize, number: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..treatments).collect();
    order.shuffle(&mut random(seed, Purpose::LongWindows, number));
    order
}

/// Whether the next block is one of long windows, after this many blocks of slices (of `planned`, if fixed) and of long
/// windows: of L blocks of long windows and n of slices the k-th comes after k·n / L of these. If n is open, all come
/// within the fewest blocks.
pub fn is_due(design: Option<LongWindows>, planned: Option<u32>, done: u32, long_done: u32) -> bool {
    let Some(LongWindows { blocks, .. }) = design.filter(|long| long_done < long.blocks) else {
        return false;
    };
    let slices = u64::from(planned.unwrap_or(MIN_BLOCKS));
    let after = (u64::from(long_done) + 1) * slices;
    u64::from(done) * u64::from(blocks) >= after
}
