//! Why a fleet cannot be planned, submitted, measured or read. Each is one line: what failed, on what, what to do.

use std::path::{Path, PathBuf};

/// Why something of a fleet cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// Something in fleet.toml, with its place.
    #[error("{source_name}:{line}:{column}: {message}")]
    At {
        /// File as the user named it.
        source_name: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// A file or folder cannot be read, written or renamed.
    #[error("cannot {action} {}: {why}", path.display())]
    File {
        /// What was to be done: `read`, `write`, `rename`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's words, and what to do where that is known.
        why: String,
    },
    /// A file of the fleet says what it cannot say.
    #[error("{}: {why}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The engine cannot express something that was asked for, or did not do it.
    #[error("{engine}: {why}")]
    Engine {
        /// Name of the engine.
        engine: &'static str,
        /// What, and what to do.
        why: String,
    },
    /// The machine, or the state of the fleet, does not allow it now.
    #[error("{0}")]
    Refused(String),
    /// Anything else that failed while working.
    #[error("{0}")]
    Failed(String),
}

impl FleetError {
    /// A file that cannot be read, written or renamed; a full disk says what to do.
    pub fn file(action: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "; make room there and submit again, nothing that was measured before is lost"
            }
            std::io::ErrorKind::StaleNetworkFileHandle => "; is the shared folder still mounted?",
            _ => "",
        };
        Self::File { action, path: path.to_owned(), why: format!("{error}{hint}") }
    }

    /// A file of a fleet that cannot be what it claims to be.
    pub fn broken(path: &Path, why: impl Into<String>) -> Self {
        Self::Broken { path: path.to_owned(), why: why.into() }
    }
}
