//! Why a plan was not done.

use std::io;
use std::path::{Path, PathBuf};

/// Why a plan was not done. A failed item is none of these: it is reported in its span.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The plan cannot be done; nothing was started.
    #[error("the work list cannot be done: {0}")]
    Refused(String),
    /// A file or folder of the run itself.
    #[error("cannot {what} {path}: {error}", path = .path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There are not as many jobs as there have to be; nothing was started.
    #[error("cannot start {jobs} threads, one for each job: {error}; give fewer jobs")]
    Threads {
        /// How many are wanted.
        jobs: u32,
        /// What the system said.
        error: io::Error,
    },
    /// Somebody asked for an early end. The spans of what was done are written.
    #[error("stopped when {done} of {items} items were done")]
    Stopped {
        /// Items that came to their end.
        done: usize,
        /// Items of the list.
        items: usize,
    },
}

pub(super) fn at(what: &'static str, path: &Path, error: io::Error) -> WorkError {
    WorkError::File { what, path: path.to_owned(), error }
}
