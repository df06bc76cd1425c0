//! Why a plan was not done.

use std::io;
use std::path::{Path, PathBuf};

/// Why a plan was not done. Failed items are reported in their spans instead.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The plan is invalid; nothing was started.
    #[error("the work list cannot be done: {0}")]
    Refused(String),
    /// A file or folder of the run itself.
    #[error("cannot {what} {path}: {error}", path = .path.display())]
    File {
        /// The failed action.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Not all threads could be started; nothing was run.
    #[error("cannot start {jobs} threads, one for each job: {error}; give fewer jobs")]
    Threads {
        /// How many were needed.
        jobs: u32,
        /// The error of the system.
        error: io::Error,
    },
    /// The work was asked to stop. The spans of finished items are written.
    #[error("stopped when {done} of {items} items were done")]
    Stopped {
        /// Finished items.
        done: usize,
        /// Items of the list.
        items: usize,
    },
}

pub(super) fn at(what: &'static str, path: &Path, error: io::Error) -> WorkError {
    WorkError::File { what, path: path.to_owned(), error }
}
