//! A database as a file: opening, locking and connecting; its header, its seal and its side files.

use super::header::{Header, Writable};
use crate::error::ItemError;
use crate::identity::stat;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, OFlags, fcntl_lock};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two tries for a lock.
pub(super) const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Opens a database file to read its header, or with [`Use::Change`] to write it too; never through a link, and
/// without blocking.
pub(super) fn open(path: &Path, purpose: Use) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).write(purpose == Use::Change);
    let file = options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is not a regular file")),
    }
}

/// Purpose of opening a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// To read it.
    Look,
    /// To write its header.
    Change,
}

/// Refuses a database whose side files are not regular: SQLite itself would block for ever at a pipe.
pub(super) fn has_only_files_beside(database: &Path) -> Result<(), ItemError> {
    let strange = ["-journal", "-wal", "-shm"]
        .map(|suffix| side(database, suffix))
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok_and(|found| !found.is_file()));
    strange.map_or(Ok(()), |path| {
        Err(ItemError::skip(format!(
            "{} is not a regular file, which SQLite needs there: remove it",
            path.display()
        )))
    })
}

/// A connection to an existing database.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    // Without SQLITE_OPEN_URI and SQLITE_OPEN_CREATE: the name is taken literally, and a missing file is an error.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Whether the error is another process's lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The header of a writable database.
pub(super) fn writable(file: &File) -> Result<Header, ItemError> {
    let found = Header::read(file).map_err(|error| ItemError::skip(format!("cannot be read: {error}")))?;
    let found = found.ok_or_else(|| {
        ItemError::skip("is not an SQLite database (or an empty one, or encrypted): nothing to reload")
    })?;
    match found.writable() {
        Writable::Yes => Ok(found),
        Writable::Sealed { .. } => Err(ItemError::skip(
            "is sealed, like a kept original: `threadwise reload --engine sqlite --unseal` makes it usable",
        )),
        Writable::No => Err(ItemError::skip("its header forbids writing (write version above 2)")),
    }
}

/// A side file of a database.
pub(super) fn side(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

/// Locks the whole file, and with it the bytes at 1 GiB that SQLite locks, like SQLite's EXCLUSIVE lock.
fn lock(file: &File, wait: Duration) -> io::Result<()> {
    let until = Instant::now() + wait;
    loop {
        match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::ACCESS) if Instant::now() < until => std::thread::sleep(BETWEEN_TRIES),
            Err(Errno::AGAIN | Errno::ACCESS) => {
                return Err(io::Error::other("another process reads it all the time; end that process"));
            }
            locked => return Ok(locked?),
        }
    }
}

/// The header of a file; `None` if it is not a database.
pub(super) fn header_of(database: &Path) -> Result<Option<Header>, String> {
    let file = open(database, Use::Look).map_err(|error| error.to_string())?;
    Header::read(&file).map_err(|error| error.to_string())
}

/// Removes the seal, and makes a database use a write-ahead log again.
pub(super) fn unseal(database: &Path, wal: bool, wait: Duration) -> Result<(), String> {
    let put_back = || -> io::Result<()> {
        let file = open(database, Use::Change)?;
        lock(&file, wait)?;
        // Read under the lock, which ends when the file is closed.
        let Some(found) = Header::read(&file)? else { return Ok(()) };
        match found.writable() {
            Writable::Sealed { wal: had_wal } => found.unsealed(wal || had_wal).write(&file),
            Writable::Yes if wal && !found.is_wal() => found.unsealed(true).write(&file),
            _ => Ok(()),
        }
    };
    put_back().map_err(|error| error.to_string())
}

/// Whether a file or link exists.
pub(super) fn is_there(path: &Path) -> bool {
    !matches!(stat(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
