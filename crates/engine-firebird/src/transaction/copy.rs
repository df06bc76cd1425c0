//! The copy of the user's file, made while no Firebird process has it open.
//!
//! Every Firebird process holds flock(2) on a database file while it has it open, exclusively as a SuperServer and
//! shared in the other modes, and refuses a file with a conflicting lock (Firebird 3.0's
//! `src/jrd/os/posix/unix.cpp`, `lockDatabaseFile`). While this process holds the exclusive lock, no other process has
//! the file open or can open it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_machine::given;
use threadwise_reload::firebird::header::{self, Header};

use crate::error::{failed, io_error};
use crate::home::{DATABASE, Home};

/// Copies a database that no process has open. It is only read.
///
/// # Errors
/// It is in use, or cannot be measured; or an error of the file system.
pub(super) fn copy(original: &Path, to: &Path) -> Result<(), EngineError> {
    let action = || format!("copy {}", original.display());
    let mut from = given::open(original).map_err(|cause| match cause.kind() {
        io::ErrorKind::InvalidInput => failed(action(), format!("{cause}: give the path of a database file")),
        _ => io_error("copy", original, &cause),
    })?;
    from.try_lock().map_err(|cause| match cause {
        TryLockError::WouldBlock => failed(
            action(),
            "a Firebird process has it open: end that process, or give the restored copy of a backup",
        ),
        TryLockError::Error(cause) => failed(action(), format!("it cannot be locked (flock): {cause}")),
    })?;
    header::whole(&from).map_err(|why| failed(action(), why))?;
    let into = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    let copied = into.and_then(|mut into| io::copy(&mut from, &mut into));
    copied.map(drop).map_err(|cause| io_error("write", to, &cause))
}

/// The header of the database in a home.
///
/// # Errors
/// An error of the file system.
pub(super) fn header(home: &Home) -> Result<Header, EngineError> {
    let path = home.0.data().join(DATABASE);
    let file = File::open(&path).map_err(|cause| io_error("read", &path, &cause))?;
    header::whole(&file).map_err(|why| failed(format!("read {}", path.display()), why))
}

/// Size of the database in a home, bytes.
///
/// # Errors
/// An error of the file system.
pub(super) fn bytes(home: &Home) -> Result<u64, EngineError> {
    let path = home.0.data().join(DATABASE);
    fs::metadata(&path).map(|entry| entry.len()).map_err(|cause| io_error("read", &path, &cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_or_no_database_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (original, to) = (folder.path().join("shop.fdb"), folder.path().join("copy"));
        let why = || copy(&original, &to).unwrap_err().to_string();
        assert!(why().contains("shop.fdb") && why().contains("No such file"), "{}", why());
        fs::write(&original, "a text").unwrap();
        assert!(why().contains("not a database of Firebird"), "{}", why());
        let other = File::open(&original).unwrap();
        other.lock_shared().unwrap();
        assert!(why().contains("has it open") && why().contains("backup"), "{}", why());
        assert!(copy(folder.path(), &to).unwrap_err().to_string().contains("path of a database file"));
        assert!(!to.exists());
    }
}
