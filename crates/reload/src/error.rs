//! What can go wrong: for the whole run, and for one file.

use std::path::PathBuf;

/// Why nothing was started: the run as a whole is refused and nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// A file of the list is not there or cannot be looked at.
    #[error("{}: {why}; nothing was touched: correct the list", .path.display())]
    List {
        /// The file or list.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// An option of the engine is unknown, or has a value that none of its versions takes.
    #[error("{0}; nothing was touched")]
    Option(String),
    /// Something that the engine needs is missing, or cannot do what was asked.
    #[error("{0}")]
    Engine(String),
    /// The log of finished files cannot be used.
    #[error("log {}: {why}; give another --log", .path.display())]
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

/// Why one file was not reloaded. The rest of the list goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// It was left alone: what keeps us from it, and what to do.
    #[error("{0}")]
    Skip(String),
    /// Something went wrong; the original is in its place.
    #[error("{0}")]
    Failed(String),
    /// Something could not be put back or finished; the state stays for a recovery.
    #[error("{0}; `threadwise reload --recover` does what is left to do")]
    LeftBehind(String),
    /// The swap was done, and which of both files is right is for the user to decide: to try again would
    /// say the same.
    #[error("{0}")]
    Undecided(String),
    /// The user asked to stop; the original is in its place.
    #[error("stopped; the original is as it was")]
    Stopped,
    /// A test asked to leave everything as a kill would.
    #[error("left as a kill would leave it")]
    Abandoned,
}

impl ItemError {
    /// A refusal from anything that prints.
    pub fn skip(reason: impl std::fmt::Display) -> Self {
        Self::Skip(reason.to_string())
    }

    /// A failure from anything that prints.
    pub fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }
}
