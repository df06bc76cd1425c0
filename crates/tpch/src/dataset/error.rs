//! Errors of data sets, one line each with the next step.

use super::Key;
use crate::options::scale_fault;
use std::io;
use std::path::{Path, PathBuf};

/// Why a data set is not available.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// It exists but is incomplete or damaged.
    #[error("the data set {} is damaged: {why}; make it again, or delete that folder", .folder.display())]
    Damaged {
        /// Its folder.
        folder: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No data can be made for this scale factor.
    #[error("there is no data at scale factor {0}: {why}", why = scale_fault(*.0).unwrap_or_default())]
    Scale(f64),
    /// Too little space.
    #[error(
        "making {key} needs {} MB under {}, but {} MB are free: free some space, set another cache folder with XDG_CACHE_HOME, or use a smaller scale", .needed_bytes / 1_000_000, .folder.display(), .free_bytes / 1_000_000
    )]
    NoSpace {
        /// The data.
        key: Key,
        /// What is needed.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
        /// Where.
        folder: PathBuf,
    },
    /// The disk was full before the data was complete.
    #[error(
        "the disk filled up while {} made {key} under {}: free some space there, set another cache folder with XDG_CACHE_HOME, or use a smaller scale ({why})", .program.display(), .folder.display()
    )]
    Full {
        /// The data.
        key: Key,
        /// Its folder.
        folder: PathBuf,
        /// The program that wrote.
        program: PathBuf,
        /// Its output, in one line.
        why: String,
    },
    /// The generator or a script failed.
    #[error("{} did not make the data: {why}", .program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// Its output, in one line.
        why: String,
    },
    /// The generator made another number of rows than the specification has.
    #[error(
        "{table} of {key} has {found} rows instead of {expected}: install the generator's version that threadwise pins, and try again"
    )]
    Rows {
        /// The data.
        key: Key,
        /// The table.
        table: &'static str,
        /// Rows found.
        found: String,
        /// Expected rows, or their range.
        expected: String,
    },
    /// The user asked to stop.
    #[error("stopped; nothing was left behind")]
    Stopped,
    /// The system refused an operation.
    #[error("cannot {what} {}: {source}{}", .path.display(), advice(source))]
    File {
        /// `make`, `read`, `flush` …
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl DatasetError {
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { what, path: path.to_owned(), source }
    }
}

/// Advice for an error of the file system below the cache folder.
fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; get permission, or set XDG_CACHE_HOME to a folder that you may read and write"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "; part of the path is not a folder: move it away, or set XDG_CACHE_HOME to a folder"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space there, or set XDG_CACHE_HOME to a folder on another disk"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_file_system_say_what_to_do() {
        let said = |kind: io::ErrorKind| {
            let error = DatasetError::file("open the lock", Path::new("/c/.lock-sf1"))(kind.into());
            error.to_string()
        };
        for (kind, part) in [
            (io::ErrorKind::PermissionDenied, "get permission"),
            (io::ErrorKind::ReadOnlyFilesystem, "may read and write"),
            (io::ErrorKind::NotADirectory, "move it away"),
            (io::ErrorKind::StorageFull, "free some space"),
            (io::ErrorKind::QuotaExceeded, "another disk"),
        ] {
            let text = said(kind);
            assert!(text.starts_with("cannot open the lock /c/.lock-sf1: ") && text.contains(part), "{text}");
            assert!(text.contains("XDG_CACHE_HOME") && !text.contains('\n'), "{text}");
        }
        assert!(!said(io::ErrorKind::Interrupted).contains("XDG_CACHE_HOME"));
    }
}
