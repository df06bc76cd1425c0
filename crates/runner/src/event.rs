//! What happens in a study, for a display of its progress.

use threadwise_study::{Run, Slice};

/// What a progress display needs to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// A remark for the user; it is also in the result file.
    Note(&'a str),
    /// What could not be removed or put back, and is now the user's; it is also in the result file.
    LeftBehind(&'a str),
    /// The hardware is being probed.
    Probing {
        /// What is being measured, in words.
        what: &'a str,
        /// How much of that is done, from 0 to 1.
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
        /// What is being done, in words.
        what: &'a str,
        /// How much of that is done, from 0 to 1.
        share: f64,
    },
    /// The number of blocks is fixed.
    Planned {
        /// Blocks of the whole study.
        blocks: u32,
        /// Seconds still to come.
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
        /// How many there are to be.
        count: u32,
    },
    /// A long window was taken, or left out since its treatment's worker is gone.
    LongWindowFinished {
        /// Treatment name.
        treatment: &'a str,
    },
    /// A slice was taken, or left out since its treatment's worker is gone.
    SliceFinished {
        /// Slices of the study until here, this one included.
        done: u64,
        /// Slices of the whole study, once the number of blocks is fixed; until then those of this
        /// block.
        total: u64,
        /// Treatment name.
        treatment: &'a str,
        /// The slice; `None` where it was left out.
        slice: Option<&'a Slice>,
    },
    /// A run is in the result file.
    RunStored(&'a Run),
    /// A block is complete.
    BlockFinished {
        /// Block, from 0.
        block: u32,
        /// Seconds still to come; with `--until` at the most.
        eta_s: Option<f64>,
    },
    /// The study has ended and its folder is about to go.
    Finished {
        /// Complete blocks.
        blocks: u32,
    },
}
