//! Processes that a block's workers started and left behind, for instance daemons.
//!
//! A worker's process group is killed with it, but a daemon has made its own group. It still has the
//! worker's environment, which holds the mark of the block.

use crate::places::Folders;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_machine::text::one_line;
use threadwise_process::{marked, proc};

/// How long they may take to end when killed.
const END: Duration = Duration::from_secs(10);

/// Mark of the workers of a block, other than that of the worker that loaded and may stay.
pub(super) fn mark(folders: Folders<'_>, block: u32) -> PathBuf {
    folders.logs.join(format!("block-{block}"))
}

/// Ends them, so that the next block does not run beside them. Returns a note for the reader.
pub(super) fn end(mark: &Path) -> Option<String> {
    let left = marked::by(mark);
    let names: BTreeSet<String> = left.iter().map(|&pid| name(pid)).collect();
    let names = names.into_iter().collect::<Vec<String>>().join(", ");
    match marked::end(mark, END) {
        Ok(()) if left.is_empty() => None,
        Ok(()) => Some(format!("workers left processes behind, which were ended: {names}")),
        Err(pids) => {
            Some(format!("workers left processes behind that still live: {pids:?}; end them by hand"))
        }
    }
}

/// A process chooses its own name.
fn name(pid: u32) -> String {
    one_line(&proc::comm(pid).unwrap_or_default(), 40)
}
