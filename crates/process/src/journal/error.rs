//! Errors of a journal.

use std::io;
use std::path::PathBuf;

/// Why a mask was not recorded, or none was restored.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder or the file cannot be trusted.
    #[error("journal {} is not used: {why}", .path.display())]
    Unsafe {
        /// The journal.
        path: PathBuf,
        /// What is wrong, and what is required.
        why: String,
    },
    /// The file cannot be made, read or written.
    #[error("cannot {action} journal {}: {source}; nothing is changed without it", .path.display())]
    File {
        /// `open`, `lock`, `read`, `write` and the like.
        action: &'static str,
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A process that writes to it still lives.
    #[error("journal {} is in use by process {pid}: its masks are restored when that has ended", .path.display())]
    InUse {
        /// The journal.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// Another study binds the same server, so its present masks are not its own.
    #[error(
        "threadwise (process {pid}) has bound it for another study: wait until that has ended, or end it"
    )]
    Bound {
        /// The process that measures.
        pid: u32,
    },
}
