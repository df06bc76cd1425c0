//! The work folder beside a database: private, marked, and locked by the one process that works in it.
//!
//! Source: `flock(2)` (the lock goes with the last descriptor, so a killed process leaves none behind;
//! a left-over lock *file* is no lock), `open(2)` (`O_NOFOLLOW`).

use crate::error::ItemError;
use crate::identity::{Identity, parent, sync_folder};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// What the folder's name begins with; the database's own name follows.
const PREFIX: &str = ".threadwise-reload-";
/// What a kept original's name ends with.
const KEPT: &str = ".before-reload";
/// Name of the marker file.
const MARKER: &str = "marker";
/// Name of the marker file until it is whole.
const UNFINISHED: &str = "marker.next";
/// Name of the file that is locked.
const LOCK: &str = "lock";
/// First line of the marker file.
const MARKER_LINE: &str = "threadwise reload work folder: see `threadwise reload --recover`";

/// The work folder's path of a database.
pub fn path_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(PREFIX);
    name.push(database.file_name().unwrap_or_default());
    database.with_file_name(name)
}

/// The database that a work folder belongs to; `None` for any other name.
pub fn database_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes().strip_prefix(PREFIX.as_bytes())?;
    (!name.is_empty()).then(|| path.with_file_name(OsStr::from_bytes(name)))
}

/// The name that a database's original is kept under.
pub fn kept_of(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(KEPT);
    database.with_file_name(name)
}

/// The database that an original was kept of; `None` for any other name.
pub fn database_of_kept(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes().strip_suffix(KEPT.as_bytes())?;
    (!name.is_empty()).then(|| path.with_file_name(OsStr::from_bytes(name)))
}

/// A folder that is ours and locked as long as this lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: OwnedFd,
}

impl Drop for Folder {
    /// Closing would leave the lock for a moment to a process that another thread is just starting, which has
    /// a copy of the descriptor until it is its program.
    fn drop(&mut self) {
        // It goes with the descriptor in any case.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// What was tried to get a folder.
enum Tried {
    Got(Folder),
    Absent,
    Changed,
}

impl Folder {
    /// Makes the folder, or takes over what a killed run of ours left.
    ///
    /// # Errors
    /// [`ItemError::Skip`]: another process is at work in it, it is not ours, or it cannot be made.
    pub fn acquire(path: &Path) -> Result<Self, ItemError> {
        for _ in 0..100 {
            match DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(ItemError::skip(format!(
                        "cannot make the work folder {}: {error}; its folder must be writable",
                        path.display()
                    )));
                }
                _ => {}
            }
            if let Tried::Got(folder) = try_lock(path)? {
                folder.mark().map_err(|error| refused(path, &error.to_string()))?;
                return Ok(folder);
            }
        }
        Err(refused(path, "it comes and goes"))
    }

    /// Takes over what a killed run of ours left; `None` where there is no folder.
    ///
    /// # Errors
    /// As [`Folder::acquire`].
    pub fn take_over(path: &Path) -> Result<Option<Self>, ItemError> {
        for _ in 0..100 {
            match try_lock(path)? {
                Tried::Got(folder) => return Ok(Some(folder)),
                Tried::Absent => return Ok(None),
                Tried::Changed => {}
            }
        }
        Err(refused(path, "it comes and goes"))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with all that is in it. The state goes before the marker and after everything else, so
    /// that what is left of an interrupted removal is still understood.
    ///
    /// # Errors
    /// What cannot be removed.
    pub fn remove(self) -> Result<(), ItemError> {
        let last = ["state", MARKER, LOCK];
        let clear = || -> io::Result<()> {
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if last.iter().any(|name| entry.file_name() == *name) {
                    continue;
                }
                match entry.file_type()?.is_dir() {
                    true => fs::remove_dir_all(entry.path())?,
                    false => fs::remove_file(entry.path())?,
                }
            }
            for name in last {
                match fs::remove_file(self.path.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            match fs::remove_dir(&self.path) {
                // Without our lock file the next run may have it already.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                // Not synced: what a power loss brings back is recovered once more.
                removed => removed,
            }
        };
        clear().map_err(|error| {
            ItemError::failed(format!("cannot remove {}: {error}; remove it by hand", self.path.display()))
        })
    }

    /// Says who works here, durably, unless it is said already.
    fn mark(&self) -> io::Result<()> {
        let (pid, marker) = (std::process::id(), self.path.join(MARKER));
        let start = start_time(pid).unwrap_or(0);
        let unfinished = self.path.join(UNFINISHED);
        fs::write(&unfinished, format!("{MARKER_LINE}\npid {pid}\nstart {start}\n"))?;
        fs::rename(&unfinished, &marker)?;
        // The names inside become durable with the first state.
        sync_folder(parent(&self.path))
    }
}

fn refused(path: &Path, why: &str) -> ItemError {
    ItemError::skip(format!("the work folder {} cannot be used: {why}", path.display()))
}

fn try_lock(path: &Path) -> Result<Tried, ItemError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(rustix::fs::CWD, path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Tried::Absent),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Err(refused(path, "there is a file or a link of that name; remove it"));
        }
        Err(Errno::ACCESS) => {
            return Err(refused(path, "it belongs to another user: recover as that user, or as root"));
        }
        opened => opened.map_err(|error| refused(path, &error.to_string()))?,
    };
    let stat = fstat(&folder).map_err(|error| refused(path, &error.to_string()))?;
    let own = rustix::process::geteuid().as_raw();
    if stat.st_uid != own {
        let why =
            format!("it belongs to user {}: run `threadwise reload --recover` as that user", stat.st_uid);
        return Err(refused(path, &why));
    }
    if !is_ours(path).map_err(|error| refused(path, &error.to_string()))? {
        return Err(refused(path, "threadwise did not make it; look into it and remove it"));
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match openat(&folder, LOCK, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::NOENT) => return Ok(Tried::Changed),
        opened => opened.map_err(|error| refused(path, &format!("its lock: {error}")))?,
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Err(refused(path, "another threadwise reload is at work there")),
        locked => locked.map_err(|error| refused(path, &format!("its lock: {error}")))?,
    }
    // Whoever removed the folder in between left us with a lock on a file without a name.
    let same = |path: &Path, file: &OwnedFd| {
        let open = fstat(file).map(|stat| Identity::of(&stat).inode);
        Identity::at(path).is_ok_and(|named| open == Ok(named.inode))
    };
    match same(path, &folder) && same(&path.join(LOCK), &lock) {
        true => Ok(Tried::Got(Folder { path: path.to_owned(), lock })),
        false => Ok(Tried::Changed),
    }
}

/// Whether the folder has our marker, or nothing yet but what we make before it.
fn is_ours(path: &Path) -> io::Result<bool> {
    let marker = path.join(MARKER);
    if fs::symlink_metadata(&marker).is_ok_and(|found| found.is_file()) {
        let text = fs::read_to_string(&marker)?;
        return Ok(text.lines().next() == Some(MARKER_LINE));
    }
    let known = |name: &OsStr| name == LOCK || name == UNFINISHED || name == MARKER;
    for entry in match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries?,
    } {
        if !known(&entry?.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Start time of a process in ticks since the machine's start: field 22 of `proc_pid_stat(5)`.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// A file for trying things out, gone when dropped.
#[derive(Debug)]
pub struct Probe(pub PathBuf);

impl Probe {
    /// Makes it in the folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(folder: &Folder) -> io::Result<Self> {
        let path = folder.path().join("probe");
        File::create(&path).map(|_| Self(path))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // What stays goes with the folder.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn one_process_at_a_time_and_a_leftover_lock_file_is_no_lock() {
        let root = tempfile::tempdir().unwrap();
        let path = path_of(&root.path().join("a b.db"));
        assert_eq!(path, root.path().join(".threadwise-reload-a b.db"));
        let folder = Folder::acquire(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        // A lock of flock(2) belongs to the open file, so that a second one meets it in one process too.
        assert!(Folder::acquire(&path).unwrap_err().to_string().contains("at work"));
        assert!(Folder::take_over(&path).unwrap_err().to_string().contains("at work"));
        drop(folder);
        assert!(path.join(LOCK).exists(), "as a kill leaves it");
        let folder = Folder::take_over(&path).unwrap().unwrap();
        fs::create_dir(path.join("inside")).unwrap();
        fs::write(path.join("inside/file"), "x").unwrap();
        folder.remove().unwrap();
        assert!(!path.exists());
        assert!(Folder::take_over(&path).unwrap().is_none());
    }

    #[test]
    fn what_threadwise_did_not_make_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = path_of(&root.path().join("db"));
        let precious = root.path().join("precious");
        fs::create_dir(&precious).unwrap();
        symlink(&precious, &path).unwrap();
        assert!(Folder::acquire(&path).unwrap_err().to_string().contains("link"));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        assert!(Folder::acquire(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("theirs"), "x").unwrap();
        assert!(Folder::acquire(&path).unwrap_err().to_string().contains("did not make it"));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing was added");
        // Killed between the folder and its marker.
        fs::rename(path.join("theirs"), path.join(UNFINISHED)).unwrap();
        assert!(Folder::acquire(&path).is_ok());
        assert_eq!(fs::read_dir(&precious).unwrap().count(), 0);
    }
}
