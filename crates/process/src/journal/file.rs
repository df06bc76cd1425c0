//! Opening, locking, reading and extending a journal's file.
//!
//! Source: `flock(2)`, `open(2)`, `fsync(2)`, `fstat(2)` (a file that was removed has no link).

use super::error::JournalError;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest journal; a longer file is damage.
const MAX_BYTES: u64 = 16 << 20;
/// Timeout for a lock: long enough for a restoration of some thousand threads.
const LOCK_LIMIT: Duration = Duration::from_secs(20);
/// Pause before trying again.
const STEP: Duration = Duration::from_millis(5);

pub(super) fn file_error(action: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::File { action, path: path.to_owned(), source }
}

/// Makes the folder of a journal if it does not exist.
pub(super) fn make_folder(path: &Path) -> Result<(), JournalError> {
    let Some(folder) = path.parent().filter(|folder| folder.is_absolute()) else { return Ok(()) };
    let made = DirBuilder::new().mode(0o700).recursive(true).create(folder);
    made.map_err(|source| file_error("make the folder of", path, source))
}

/// The folder of a journal, checked, and the journal's name in it.
pub(super) fn open_folder(path: &Path) -> Result<(OwnedFd, &OsStr), JournalError> {
    let refuse = |why: String| JournalError::Unsafe { path: path.to_owned(), why };
    let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
        return Err(refuse("its path is not an absolute file path".into()));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, parent, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => refuse("its folder is a link or not a folder".into()),
        error => file_error("open", path, error.into()),
    })?;
    let entry = fstat(&folder).map_err(|error| file_error("open", path, error.into()))?;
    let uid = rustix::process::geteuid().as_raw();
    if entry.st_uid != uid {
        return Err(refuse("its folder belongs to another user".into()));
    }
    let mode = entry.st_mode & 0o777;
    if mode & 0o077 != 0 {
        return Err(refuse(format!("its folder has mode {mode:04o}, so others may read it; set mode 0700")));
    }
    Ok((folder, name))
}

pub(super) fn open_file(
    folder: &OwnedFd,
    name: &OsStr,
    flags: OFlags,
    path: &Path,
) -> Result<File, JournalError> {
    let refuse = |why: &str| JournalError::Unsafe { path: path.to_owned(), why: why.to_owned() };
    // Without waiting for the other end of a pipe.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
        Errno::LOOP => refuse("it is a link"),
        error => file_error("open", path, error.into()),
    })?;
    let entry = fstat(&file).map_err(|error| file_error("open", path, error.into()))?;
    if FileType::from_raw_mode(entry.st_mode) != FileType::RegularFile {
        return Err(refuse("it is not a plain file"));
    }
    // Without a name: just removed, see `lock`.
    if entry.st_uid != rustix::process::geteuid().as_raw() || entry.st_mode & 0o022 != 0 || entry.st_nlink > 1
    {
        return Err(refuse("others may write it: it must belong to this user, with mode 0600 and one name"));
    }
    Ok(File::from(file))
}

/// Locks the file until it is closed. `false` if it was removed meanwhile.
///
/// # Errors
/// Another process, for instance a stopped one, holds the lock.
pub(super) fn lock(file: &File, path: &Path) -> Result<bool, JournalError> {
    let until = Instant::now() + LOCK_LIMIT;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(STEP),
            Err(error) => return Err(file_error("lock", path, error.into())),
        }
    }
    let entry = fstat(file).map_err(|error| file_error("open", path, error.into()))?;
    Ok(entry.st_nlink > 0)
}

pub(super) fn read(file: &mut File, path: &Path) -> Result<String, JournalError> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|source| file_error("read", path, source))?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("it is longer than {} MiB", MAX_BYTES >> 20);
        return Err(JournalError::Unsafe { path: path.to_owned(), why });
    }
    // Damage must not keep the whole lines from being restored; its replacement parses as nothing.
    // Only its own bytes count as positions in the file, see `append`.
    Ok(bytes.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { '?' }).collect())
}

/// Adds lines after the last whole one, durably or not at all.
pub(super) fn append(file: &mut File, whole: u64, lines: &str) -> io::Result<()> {
    if whole + lines.len() as u64 > MAX_BYTES {
        // No process would read it any more, and its contents could not be restored.
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.set_len(whole)?;
    let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // A half line would do no harm either.
        let _ = file.set_len(whole);
    }
    written
}
