//! Events of a study, for a display of its progress.

use threadwise_study::{Run, Slice};

/// An event for a progress display.
#[derive(Debug)]
pub enum Event<'a> {
    /// A remark for the user; it is also in the result file.
    Note(&'a str),
    /// What could not be removed or restored, and is left to the user; it is also in the result file.
    LeftBehind(&'a str),
    /// The hardware is being probed.
    Probing {
        /// What is being measured, as text.
        what: &'a str,
        /// The finished share, from 0 to 1.
        share: f64,
    },
    /// Data of a treatment is being made.
    Loading {
        /// Treatment name.
        what: &'a str,
        /// Its number, from 0.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// The data set of queries, or answers to compare with, are being made.
    Making {
        /// What is being done, as text.
        what: &'a str,
        /// The finished share, from 0 to 1.
        share: f64,
    },
    /// The number of blocks is fixed.
    Planned {
        /// Blocks of the whole study.
        blocks: u32,
        /// Remaining seconds.
        eta_s: Option<f64>,
    },
    /// A block begins: its workers are started and warmed.
    BlockStarted {
        /// Block, from 0.
        block: u32,
        /// Blocks of the whole study, once fixed.
        blocks: Option<u32>,
    },
    /// A block of long windows begins.
    LongBlockStarted {
        /// Its number, from 0.
        number: u32,
        /// The planned number of them.
        count: u32,
    },
    /// A long window was taken, or left out because its treatment's worker has ended.
    LongWindowFinished {
        /// Treatment name.
        treatment: &'a str,
    },
    /// A slice was taken, or left out because its treatment's worker has ended.
    SliceFinished {
        /// Slices of the study so far, including this one.
        done: u64,
        /// Slices of the whole study, once the number of blocks is fixed; until then those of this
        /// block.
        total: u64,
        /// Treatment name.
        treatment: &'a str,
        /// The slice; `None` if it was left out.
        slice: Option<&'a Slice>,
    },
    /// A run is in the result file.
    RunStored(&'a Run),
    /// A block is complete.
    BlockFinished {
        /// Block, from 0.
        block: u32,
        /// Remaining seconds; with `--until` at most.
        eta_s: Option<f64>,
    },
    /// The study has ended and its folder will be removed.
    Finished {
        /// Complete blocks.
        blocks: u32,
    },
}
