//! Errors of a result file, one line each, and the mapping of SQLite's codes to them.
//!
//! Source of the codes: <https://www.sqlite.org/rescode.html>.

use rusqlite::ffi::{self, ErrorCode};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the schema, in SQLite's header as `user_version`; no other is read.
pub const VERSION: i32 = 8;

/// Why a result file could not be made, read or written. Its message is one line with what
/// failed, on which file, and what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{}", .problem.about(.path))]
pub struct StoreError {
    /// The file.
    pub path: PathBuf,
    /// What failed.
    pub problem: Problem,
}

/// What can be wrong with a result file.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// A new file was requested, but the name exists.
    Exists,
    /// A new file was requested, but SQLite would take this side file of an earlier one for its own.
    LeftOver,
    /// The file does not exist.
    Missing,
    /// The path is `a folder`, `a device or pipe`.
    NotAFile(&'static str),
    /// A file of 0 bytes, such as a study that was killed before it began.
    Empty,
    /// Not an SQLite file, and why.
    NotSqlite(String),
    /// An SQLite file of another program, by its application id.
    Foreign(u32),
    /// Statements in production, where a study was expected.
    Observed,
    /// A study, where statements in production were expected.
    Study,
    /// Written by a later version of this program, by its schema, and the schema that this one reads.
    Newer(i32, i32),
    /// Written before the first release, by its schema.
    Older(i32),
    /// Statements in production, likewise, and the schema that this one reads.
    OlderObserved(i32, i32),
    /// Has threadwise's marks, but content that threadwise does not write.
    NotOurs(String),
    /// Truncated, or with impossible values.
    Damaged(String),
    /// A writer was killed inside a transaction, and undoing it needs to write.
    Interrupted,
    /// Another process holds it.
    InUse,
    /// Another `threadwise observe` writes to it.
    Observing,
    /// The disk, or the user's quota, is full.
    NoSpace,
    /// The file or its folder cannot be written.
    ReadOnly,
    /// The file system refuses to `read`, `write`, `make` it.
    Denied(&'static str),
    /// The study cannot be resumed, since its environment has changed: the old and the new value.
    Changed(String),
    /// The file of observed statements is of another server or other options: the old and the new value.
    Elsewhere(String),
    /// A value that the file cannot hold, and the limit. Nothing was stored; store a run with such a value as failed,
    /// without it.
    Unstorable(String),
    /// Any other error of the system or SQLite: the operation and the system's message.
    Io(&'static str, String),
}

impl Problem {
    /// The error of a file.
    pub(crate) fn of(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), problem: self }
    }

    fn about(&self, path: &Path) -> String {
        let file = path.display();
        match self {
            Self::Exists => format!(
                "{file} exists and is never overwritten: use another --output, or continue it with `threadwise run --resume {file}`"
            ),
            Self::LeftOver => {
                format!("{file} is left over from another file: move it away or use another --output")
            }
            Self::Missing => format!("there is no file {file}: check its name and folder"),
            Self::NotAFile(what) => format!("{file} is {what}, not a file: name the result file itself"),
            Self::Empty => format!("{file} is empty: remove it and start again"),
            Self::NotSqlite(why) => {
                format!("{file} is not a result file ({why}): name a file that threadwise wrote")
            }
            Self::Foreign(id) => format!(
                "{file} is an SQLite file of another program (application id {id:#010x}): name a file that threadwise wrote"
            ),
            Self::Observed => format!(
                "{file} holds statements in production, not a study: `threadwise compare {file} --by smt` compares them"
            ),
            Self::Study => format!(
                "{file} is a study, not a file of `threadwise observe`: `threadwise report {file}` shows it"
            ),
            Self::Newer(found, reads) => format!(
                "{file} was written by a newer threadwise (schema {found}, this one reads {reads}): update threadwise"
            ),
            Self::Older(found) => format!(
                "{file} was made by a development version of threadwise (schema {found}, this one reads {VERSION}): run the study again, or convert a copy by crates/store/convert.py"
            ),
            Self::OlderObserved(found, reads) => format!(
                "{file} was made by a development version of `threadwise observe` (schema {found}, this one reads {reads}): observe into another file (--output), and compare this one with the version that made it"
            ),
            Self::NotOurs(what) => {
                format!("{file} differs from what threadwise writes ({what}): use the original file")
            }
            Self::Damaged(why) => {
                format!("{file} is damaged ({why}): use a complete copy of it, or run the study again")
            }
            Self::Interrupted => format!(
                "{file} was interrupted while a run was being stored: `threadwise run --resume {file}` repairs it and continues (if its folder is read-only, first copy it and {file}-journal to a writable one)"
            ),
            Self::InUse => {
                format!("{file} is in use, probably by a running study: wait until that ends, or stop it")
            }
            Self::Observing => format!(
                "{file} is being written by another `threadwise observe`: stop that one, or use another --output"
            ),
            Self::NoSpace => format!(
                "no space left for {file}: free {SPARE_MIB} MiB or more, or use --output on another disk; what was stored is kept"
            ),
            Self::ReadOnly => {
                format!("{file} or its folder is read-only: use --output elsewhere, or make both writable")
            }
            Self::Denied(action) => format!(
                "no permission to {action} {file}: ask its owner, or use a file and folder of your own"
            ),
            Self::Changed(what) => format!(
                "{file} cannot be resumed: {what}; its numbers would not compare, so start a new study"
            ),
            Self::Elsewhere(what) => {
                format!("{file} cannot be continued: {what}; use another --output")
            }
            Self::Unstorable(what) => format!("cannot store this in {file}: {what}"),
            Self::Io(action, why) => format!("cannot {action} {file}: {why}; check the disk"),
        }
    }
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
    /// The same of a file that is being made: what cannot be read back cannot be stored.
    pub(crate) fn of_ours(self) -> Self {
        match self {
            Self::Damaged(why) => Self::Unstorable(why),
            other => other,
        }
    }

    /// The same with the file's name, after an attempt to `action` it.
    pub(crate) fn on(self, path: &Path, action: &'static str) -> StoreError {
        let problem = match self {
            Self::Sql(error) => from_sqlite(&error, action),
            Self::Damaged(why) => Problem::Damaged(why),
            Self::NotOurs(what) => Problem::NotOurs(what),
            Self::Unstorable(what) => Problem::Unstorable(what),
            Self::ReadOnly => Problem::ReadOnly,
        };
        problem.of(path)
    }
}

/// Space for continuing a while, in MiB.
const SPARE_MIB: u64 = 16;

fn from_sqlite(error: &rusqlite::Error, action: &'static str) -> Problem {
    let text = || one_line(&error.to_string());
    let failure = match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure,
        rusqlite::Error::ToSqlConversionFailure(_) => return Problem::Unstorable(text()),
        _ => return Problem::Damaged(text()),
    };
    match (failure.code, failure.extended_code) {
        // A hot journal without write permission: it must be undone first.
        (_, ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY) => Problem::Interrupted,
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Problem::InUse,
        (ErrorCode::DiskFull, _) => Problem::NoSpace,
        (ErrorCode::ReadOnly, _) => Problem::ReadOnly,
        (ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied, _) => {
            Problem::Denied(action)
        }
        // The journal could not be made although the file could be opened: the folder is read-only.
        (ErrorCode::CannotOpen, _) if action != "open" => Problem::ReadOnly,
        (ErrorCode::NotADatabase, _) => Problem::NotSqlite("no SQLite file".into()),
        (ErrorCode::OperationInterrupted, _) => {
            Problem::Damaged("reading it takes far longer than its size allows".into())
        }
        (ErrorCode::TooBig | ErrorCode::ConstraintViolation, _) if action != "read" => {
            Problem::Unstorable(text())
        }
        (
            ErrorCode::DatabaseCorrupt
            | ErrorCode::TooBig
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch
            | ErrorCode::Unknown,
            _,
        ) => Problem::Damaged(text()),
        _ => Problem::Io(action, text()),
    }
}

/// An error of the file system.
pub(crate) fn from_io(error: &io::Error, path: &Path, action: &'static str) -> StoreError {
    let problem = match error.kind() {
        io::ErrorKind::NotFound if action == "make" => {
            Problem::Io(action, "its folder does not exist; create it first".into())
        }
        io::ErrorKind::NotFound => Problem::Missing,
        io::ErrorKind::AlreadyExists => Problem::Exists,
        io::ErrorKind::PermissionDenied => Problem::Denied(action),
        io::ErrorKind::ReadOnlyFilesystem => Problem::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Problem::NoSpace,
        io::ErrorKind::IsADirectory => Problem::NotAFile("a folder"),
        _ => Problem::Io(action, one_line(&error.to_string())),
    };
    problem.of(path)
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
        Fault::Sql(error).on(Path::new("a.tw"), action).to_string()
    }

    #[test]
    fn codes_become_advice() {
        assert_eq!(
            message(ffi::SQLITE_FULL, "write"),
            "no space left for a.tw: free 16 MiB or more, or use --output on another disk; what was stored is kept"
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
