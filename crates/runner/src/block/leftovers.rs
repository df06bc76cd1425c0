//! What the workers of a block have started and left when they ended: daemons, for instance.
//!
//! A worker's process group is killed with it, but a daemon has made a group of its own. It still has the
//! worker's environment, and in it the mark of the block.

use crate::places::Folders;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_machine::text::one_line;
use threadwise_process::{marked, proc};

/// How long they may take to go when they are killed.
const END: Duration = Duration::from_secs(10);

/// Mark of the workers of a block, which is not that of the worker that loaded and may stay.
pub(super) fn mark(folders: Folders<'_>, block: u32) -> PathBuf {
    folders.logs.join(format!("block-{block}"))
}

/// Ends them, so that the next block does not run beside them. Gives what a reader must know.
pub(super) fn end(mark: &Path) -> Option<String> {
    let left = marked::by(mark);
    let names: BTreeSet<String> = left.iter().map(|&pid| name(pid)).collect();
    let names = names.into_iter().collect::<Vec<String>>().join(", ");
    match marked::end(mark, END) {
        Ok(()) if left.is_empty() => None,
        Ok(()) => Some(format!("workers left processes behind, which were ended: {names}")),
        Err(pids) => Some(format!("workers left processes behind that live on: {pids:?}; end them by hand")),
    }
}

/// A process chooses its own name.
fn name(pid: u32) -> String {
    one_line(&proc::comm(pid).unwrap_or_default(), 40)
}
