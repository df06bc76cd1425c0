//! Errors, one line each with the next step.

use std::io;
use std::path::{Path, PathBuf};

/// An engine cannot be found, installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyticsError {
    /// No engine of this kind has the name.
    #[error("no engine named '{name}' can be added here; known: {known}")]
    Unknown {
        /// The given name.
        name: String,
        /// All names.
        known: String,
    },
    /// A request is invalid; nothing was touched.
    #[error("{0}")]
    Input(String),
    /// The engine is not installed.
    #[error("engine {engine} is not installed here: threadwise engine add {engine}")]
    Absent {
        /// The engine.
        engine: String,
    },
    /// Its environment exists but is incomplete.
    #[error("engine {engine} is not completely installed here ({why}): threadwise engine add {engine}")]
    Incomplete {
        /// The engine.
        engine: String,
        /// What is missing.
        why: String,
    },
    /// Another version of threadwise made the environment, with other packages.
    #[error(
        "engine {engine} is installed here with other packages than this threadwise pins: threadwise engine add {engine}"
    )]
    Outdated {
        /// The engine.
        engine: String,
    },
    /// The place of the environment is occupied.
    #[error(
        "{} was not made by threadwise and is left alone: move it away, or set XDG_DATA_HOME to another folder",
        folder.display()
    )]
    Foreign {
        /// The path.
        folder: PathBuf,
    },
    /// This machine lacks a requirement of an engine; nothing was touched.
    #[error("{0}")]
    Lacks(String),
    /// Another process makes or removes the same thing.
    #[error("{what} is held by process {process}: wait for it to end, then try again")]
    Busy {
        /// The lock file.
        what: String,
        /// Process number in the lock file.
        process: String,
    },
    /// The installation failed; its files are removed.
    #[error("{0}")]
    Install(String),
    /// Stopped by the user.
    #[error("stopped; unfinished parts are removed: the same command starts again")]
    Stopped,
    /// The file system refused.
    #[error("cannot {doing} {}: {cause}{}", path.display(), advice(cause))]
    Io {
        /// The operation, such as `make the folder`.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
}

impl AnalyticsError {
    /// Makes an error of the file system out of its cause.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }
}

fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; set XDG_DATA_HOME to a folder that you may write"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, or set XDG_DATA_HOME to a folder on another disk"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_engine_names_the_one_command() {
        let error = AnalyticsError::Absent { engine: "duckdb".to_owned() };
        assert_eq!(error.to_string(), "engine duckdb is not installed here: threadwise engine add duckdb");
    }

    #[test]
    fn errors_of_the_file_system_say_what_to_do() {
        let message = |kind: io::ErrorKind| {
            AnalyticsError::io("make the folder", Path::new("/users/me/x"))(io::Error::from(kind)).to_string()
        };
        let said = message(io::ErrorKind::ReadOnlyFilesystem);
        assert!(said.starts_with("cannot make the folder /users/me/x: ") && said.contains("XDG_DATA_HOME"));
        assert!(message(io::ErrorKind::StorageFull).contains("free some space"));
        assert!(!message(io::ErrorKind::NotFound).contains("XDG_DATA_HOME"));
    }
}
