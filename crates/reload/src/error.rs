//! Errors of the whole run, and of one file.

use std::path::PathBuf;

/// Why nothing was started: the run as a whole is refused and nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// A file of the list does not exist or cannot be inspected.
    #[error("{}: {why}; nothing was touched: correct the list", .path.display())]
    List {
        /// The file or list.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// An option of the engine is unknown, or has a value that no version accepts.
    #[error("{0}; nothing was touched")]
    Option(String),
    /// A requirement of the engine is missing, or it cannot do the requested.
    #[error("{0}")]
    Engine(String),
    /// The log of finished files cannot be used.
    #[error("log {}: {why}; use another --log", .path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The watchdog process cannot be started.
    #[error("cannot start the watchdog {}: {why}; nothing was touched", .program.display())]
    Watchdog {
        /// The program.
        program: PathBuf,
        /// The cause.
        why: String,
    },
}

/// Why one file was not reloaded. The rest of the list continues.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// It was left alone: the reason, and what to do.
    #[error("{0}")]
    Skip(String),
    /// It failed; the original is in its place.
    #[error("{0}")]
    Failed(String),
    /// Something could not be restored or finished; the state stays for a recovery.
    #[error("{0}; `threadwise restore FILE` completes it")]
    LeftBehind(String),
    /// The swap was done, and the user must decide which of both files is right: another try would fail the same way.
    #[error("{0}")]
    Undecided(String),
    /// The user asked to stop; the original is in its place.
    #[error("stopped; the original is as it was")]
    Stopped,
    /// A test asked to leave everything as after a kill.
    #[error("left as after a kill")]
    Abandoned,
}

impl ItemError {
    /// A refusal from anything printable.
    pub fn skip(reason: impl std::fmt::Display) -> Self {
        Self::Skip(reason.to_string())
    }

    /// A failure from anything printable.
    pub fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }
}
