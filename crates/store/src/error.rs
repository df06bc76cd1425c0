//! Errors of a result file, one line each, and the mapping of SQLite's codes to them.
//!
//! Source of the codes: <https://www.sqlite.org/rescode.html>.

use rusqlite::ffi::{self, ErrorCode};
use std::io;
use std::path::{Path, PathBuf};

/// Why a result file could not be made, read or written. Every message is one line with what
/// failed, on which file, and what to do next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new file was requested, but the name exists.
    #[error(
        "{path} exists and is never overwritten: use another --output, or continue it with `threadwise run --resume {path}`"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A new file was requested, but SQLite would take the side file of an earlier one for its own.
    #[error("{path} is left over from another file: move it away or use another --output")]
    LeftOver {
        /// The side file.
        path: PathBuf,
    },
    /// The file does not exist.
    #[error("there is no file {path}: check its name and folder")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The path is not a file.
    #[error("{path} is {what}, not a file: name the result file itself")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// `a folder`, `a device or pipe`.
        what: &'static str,
    },
    /// A file of 0 bytes, such as a study that was killed before it began.
    #[error("{path} is empty: remove it and run the study again")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Not an SQLite file.
    #[error("{path} is not a result file ({why}): name a file that `threadwise run` wrote")]
    NotSqlite {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// An SQLite file of another program.
    #[error(
        "{path} is an SQLite file of another program (application id {application_id:#010x}): name a file that `threadwise run` wrote"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its id.
        application_id: u32,
    },
    /// Written by a later version of this program.
    #[error(
        "{path} was written by a newer threadwise (schema {found}, this one reads up to {known}): update threadwise"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i32,
        /// The newest version that this program knows.
        known: i32,
    },
    /// Has threadwise's marks, but content that threadwise does not write.
    #[error("{path} differs from what threadwise writes ({what}): use the original file")]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Truncated, or with impossible values.
    #[error("{path} is damaged ({why}): use a complete copy of it, or run the study again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A writer was killed inside a transaction, and undoing it needs to write.
    #[error(
        "{path} was interrupted while a run was being stored: `threadwise run --resume {path}` repairs it and continues (if its folder is read-only, first copy it and {path}-journal to a writable one)"
    )]
    Interrupted {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds it.
    #[error("{path} is in use, probably by a running study: wait until that ends, or stop it")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The disk, or the user's quota, is full.
    #[error(
        "no space left for {path}: free {needed_mib} MiB or use --output on another disk; what was stored is kept"
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Space for continuing a while, in MiB.
        needed_mib: u64,
    },
    /// The file or its folder cannot be written.
    #[error("{path} or its folder is read-only: use --output elsewhere, or make both writable")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("no permission to {action} {path}: ask its owner, or use a file and folder of your own")]
    Denied {
        /// The file.
        path: PathBuf,
        /// `read`, `write`, `make`.
        action: &'static str,
    },
    /// The study cannot be resumed, since its environment has changed.
    #[error("{path} cannot be resumed: {what}; its numbers would not compare, so start a new study")]
    Changed {
        /// The file.
        path: PathBuf,
        /// The old and the new value.
        what: String,
    },
    /// A value that the file cannot hold. Nothing was stored; store a run with such a value as failed, without it.
    #[error("cannot store this in {path}: {what}")]
    Unstorable {
        /// The file.
        path: PathBuf,
        /// The value and the limit.
        what: String,
    },
    /// Any other error of the system or SQLite.
    #[error("cannot {action} {path}: {why}; check the disk")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The system's message.
        why: String,
    },
}

/// Errors before the file is known.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Damaged(String),
    NotOurs(String),
    Unstorable(String),
    ReadOnly,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// The same with the file's name. `needed_mib` is for a full disk.
    pub(crate) fn on(self, path: &Path, action: &'static str, needed_mib: u64) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => from_sqlite(error, path, action, needed_mib),
            Self::Damaged(why) => StoreError::Damaged { path, why },
            Self::NotOurs(what) => StoreError::NotOurs { path, what },
            Self::Unstorable(what) => StoreError::Unstorable { path, what },
            Self::ReadOnly => StoreError::ReadOnly { path },
        }
    }
}

/// Requested space if the size of what follows is unknown.
pub(crate) const SPARE_MIB: u64 = 16;

fn from_sqlite(error: rusqlite::Error, path: PathBuf, action: &'static str, needed_mib: u64) -> StoreError {
    let rusqlite::Error::SqliteFailure(failure, _) = &error else {
        return StoreError::Damaged { path, why: one_line(&error.to_string()) };
    };
    match (failure.code, failure.extended_code) {
        // A hot journal without write permission: it must be undone first.
        (_, ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY) => {
            StoreError::Interrupted { path }
        }
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::InUse { path },
        (ErrorCode::DiskFull, _) => StoreError::NoSpace { path, needed_mib },
        (ErrorCode::ReadOnly, _) => StoreError::ReadOnly { path },
        (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _) => {
            StoreError::Denied { path, action }
        }
        // The journal could not be made although the file could be opened: the folder is read-only.
        (ErrorCode::CannotOpen, _) if action != "open" => StoreError::ReadOnly { path },
        (ErrorCode::NotADatabase, _) => StoreError::NotSqlite { path, why: "no SQLite file".into() },
        (ErrorCode::OperationInterrupted, _) => {
            StoreError::Damaged { path, why: "reading it takes far longer than its size allows".into() }
        }
        (ErrorCode::TooBig | ErrorCode::ConstraintViolation, _) if action != "read" => {
            StoreError::Unstorable { path, what: one_line(&error.to_string()) }
        }
        (
            ErrorCode::DatabaseCorrupt
            | ErrorCode::TooBig
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch
            | ErrorCode::Unknown,
            _,
        ) => StoreError::Damaged { path, why: one_line(&error.to_string()) },
        _ => StoreError::Io { path, action, why: one_line(&error.to_string()) },
    }
}

/// An error of the file system.
pub(crate) fn from_io(error: &io::Error, path: &Path, action: &'static str) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound if action == "make" => {
            StoreError::Io { path, action, why: "its folder does not exist; create it first".into() }
        }
        io::ErrorKind::NotFound => StoreError::Missing { path },
        io::ErrorKind::AlreadyExists => StoreError::Exists { path },
        io::ErrorKind::PermissionDenied => StoreError::Denied { path, action },
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::NoSpace { path, needed_mib: SPARE_MIB }
        }
        io::ErrorKind::IsADirectory => StoreError::NotAFile { path, what: "a folder" },
        _ => StoreError::Io { path, action, why: one_line(&error.to_string()) },
    }
}

/// Text of a file or a library for a message: one line, sanitised, and short.
pub(crate) fn one_line(text: &str) -> String {
    threadwise_machine::text::one_line(text, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(code: i32, action: &'static str) -> String {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        Fault::Sql(error).on(Path::new("a.tw"), action, 40).to_string()
    }

    #[test]
    fn codes_become_advice() {
        assert_eq!(
            message(ffi::SQLITE_FULL, "write"),
            "no space left for a.tw: free 40 MiB or use --output on another disk; what was stored is kept"
        );
        for (code, action, word) in [
            (ffi::SQLITE_READONLY_ROLLBACK, "read", "--resume"),
            (ffi::SQLITE_READONLY, "write", "read-only"),
            (ffi::SQLITE_READONLY_DIRECTORY, "write", "read-only"),
            (ffi::SQLITE_CANTOPEN, "write", "read-only"),
            (ffi::SQLITE_PERM, "open", "no permission"),
            (ffi::SQLITE_BUSY, "open", "in use"),
            (ffi::SQLITE_CORRUPT, "read", "damaged"),
            (ffi::SQLITE_NOTADB, "read", "not a result file"),
            (ffi::SQLITE_IOERR_FSYNC, "write", "check the disk"),
            (ffi::SQLITE_INTERRUPT, "read", "longer than its size"),
        ] {
            let text = message(code, action);
            assert!(text.contains(word) && !text.contains('\n'), "{code}: {text}");
        }
    }

    #[test]
    fn file_system_errors_become_advice() {
        for (kind, word) in [
            (io::ErrorKind::PermissionDenied, "no permission to read a.tw"),
            (io::ErrorKind::ReadOnlyFilesystem, "read-only"),
            (io::ErrorKind::StorageFull, "no space left"),
            (io::ErrorKind::QuotaExceeded, "no space left"),
            (io::ErrorKind::NotFound, "there is no file"),
        ] {
            let text = from_io(&kind.into(), Path::new("a.tw"), "read").to_string();
            assert!(text.contains(word), "{text}");
        }
    }
}
