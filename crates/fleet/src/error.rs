//! Why a fleet cannot be planned, submitted, measured or read. Each is one line: what failed, on what, what to do.

use std::path::{Path, PathBuf};

/// An error of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// An error in fleet.toml, with its position.
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
        /// The failed action: `read`, `write`, `rename`.
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// The system's message, and what to do if known.
        why: String,
    },
    /// A file of the fleet has invalid content.
    #[error("{}: {why}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The engine cannot express something that was requested, or failed.
    #[error("{engine}: {why}")]
    Engine {
        /// Name of the engine.
        engine: &'static str,
        /// What failed, and what to do.
        why: String,
    },
    /// The machine, or the state of the fleet, does not allow it now.
    #[error("{0}")]
    Refused(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl FleetError {
    /// A file that cannot be read, written or renamed; for a full disk it says what to do.
    pub fn file(action: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "; free some space there and submit again, earlier measurements are kept"
            }
            std::io::ErrorKind::StaleNetworkFileHandle => "; is the shared folder still mounted?",
            _ => "",
        };
        Self::File { action, path: path.to_owned(), why: format!("{error}{hint}") }
    }

    /// A file of a fleet with invalid content.
    pub fn broken(path: &Path, why: impl Into<String>) -> Self {
        Self::Broken { path: path.to_owned(), why: why.into() }
    }
}
