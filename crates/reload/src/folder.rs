//! The work folder beside a database: private, marked, and locked by the one process that works in it.
//!
//! Source: `flock(2)` (the lock ends with the last descriptor, so a killed process leaves none;
//! a left-over lock *file* is not a lock), `open(2)` (`O_NOFOLLOW`).

use crate::dir::Dir;
use crate::error::ItemError;
use crate::identity::{Identity, Inode, parent};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use threadwise_process::proc;

/// Prefix of the folder's name; the database's own name follows.
const PREFIX: &str = ".threadwise-reload-";
/// Suffix of a kept original's name.
const KEPT: &str = ".before-reload";
/// Name of the marker file.
const MARKER: &str = "marker";
/// Name of the marker file until it is complete.
const UNFINISHED: &str = "marker.next";
/// Name of the file that is locked.
const LOCK: &str = "lock";
/// Name of the state file.
pub const STATE: &str = "state";
/// Name of the new database.
pub const NEW: &str = "new";
/// Name of the file for tests of the file system.
const PROBE: &str = "probe";
/// First line of the marker file.
const MARKER_LINE: &str = "threadwise reload work folder: see `threadwise restore --help`";

/// The work folder's path of a database.
pub fn path_of(database: &Path) -> PathBuf {
    let mut name = OsString::from(PREFIX);
    name.push(database.file_name().unwrap_or_default());
    database.with_file_name(name)
}

/// The database of a work folder; `None` for any other name.
pub fn database_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes().strip_prefix(PREFIX.as_bytes())?;
    (!name.is_empty()).then(|| path.with_file_name(OsStr::from_bytes(name)))
}

/// The name of a database's kept original.
pub fn kept_of(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(KEPT);
    database.with_file_name(name)
}

/// The database of a kept original; `None` for any other name.
pub fn database_of_kept(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes().strip_suffix(KEPT.as_bytes())?;
    (!name.is_empty()).then(|| path.with_file_name(OsStr::from_bytes(name)))
}

/// A work folder that is locked as long as this lives, with its parent. All names are relative
/// to the two descriptors.
#[derive(Debug)]
pub struct Folder {
    outside: Dir,
    inside: Dir,
    /// The work folder's own name.
    name: OsString,
    database: OsString,
    kept: OsString,
    lock: OwnedFd,
}

/// A file of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemFile {
    /// The database's name.
    Database,
    /// Its second name, which is kept.
    Kept,
    /// The new file in the work folder.
    New,
}

impl Drop for Folder {
    /// Closing would briefly leave the lock to a process that another thread is just starting, which has
    /// a copy of the descriptor until exec.
    fn drop(&mut self) {
        // It ends with the descriptor in any case.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Result of a try to get a folder.
enum Tried {
    Got(Folder),
    Absent,
    Changed,
}

impl Folder {
    /// Makes the folder, or takes over one that a killed run left.
    ///
    /// # Errors
    /// [`ItemError::Skip`]: another process works in it, threadwise did not make it, or it cannot be made.
    pub fn acquire(path: &Path) -> Result<Self, ItemError> {
        let (outside, name) = outside(path)?;
        for _ in 0..100 {
            let made = match mkdirat(&outside, &name, Mode::RWXU) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => {
                    return Err(ItemError::skip(format!(
                        "cannot make the work folder {}: {error}; its folder must be writable",
                        path.display()
                    )));
                }
            };
            if let Tried::Got(folder) = try_lock(&outside, &name)? {
                return match folder.mark() {
                    Ok(()) => Ok(folder),
                    Err(error) => Err(folder.unmarked(&error, made)),
                };
            }
        }
        Err(refused(path, "it appears and disappears"))
    }

    /// Takes over a folder that a killed run left; `None` if there is none.
    ///
    /// # Errors
    /// As [`Folder::acquire`].
    pub fn take_over(path: &Path) -> Result<Option<Self>, ItemError> {
        let (outside, name) = outside(path)?;
        for _ in 0..100 {
            match try_lock(&outside, &name)? {
                Tried::Got(folder) => return Ok(Some(folder)),
                Tried::Absent => return Ok(None),
                Tried::Changed => {}
            }
        }
        Err(refused(path, "it appears and disappears"))
    }

    /// The folder's path, for messages and for the engines, which accept only paths.
    pub fn path(&self) -> &Path {
        self.inside.path()
    }

    /// The folder.
    pub fn inside(&self) -> &Dir {
        &self.inside
    }

    /// The parent, which also holds the database.
    pub fn outside(&self) -> &Dir {
        &self.outside
    }

    /// A file of the item: its folder and its name there.
    pub fn at(&self, file: ItemFile) -> (&Dir, &OsStr) {
        match file {
            ItemFile::Database => (&self.outside, &self.database),
            ItemFile::Kept => (&self.outside, &self.kept),
            ItemFile::New => (&self.inside, OsStr::new(NEW)),
        }
    }

    /// The file there; `None` if there is none.
    ///
    /// # Errors
    /// The name cannot be inspected.
    pub fn inode(&self, file: ItemFile) -> Result<Option<Inode>, ItemError> {
        let (dir, name) = self.at(file);
        dir.inode(name)
    }

    /// Removes a name if it exists.
    ///
    /// # Errors
    /// Those of `unlink(2)`.
    pub fn remove_name(&self, file: ItemFile) -> io::Result<()> {
        let (dir, name) = self.at(file);
        dir.remove(name)
    }

    /// Removes it with its contents. The state goes before the marker and after everything else, so
    /// that the rest of an interrupted removal is still recognised. Do not use it afterwards.
    ///
    /// # Errors
    /// What cannot be removed.
    pub fn remove(&self) -> Result<(), ItemError> {
        let last = [STATE, MARKER, LOCK];
        let clear = || -> io::Result<()> {
            self.inside.clear(&last)?;
            last.iter().try_for_each(|name| self.inside.remove(OsStr::new(name)))?;
            match unlinkat(&self.outside, &self.name, AtFlags::REMOVEDIR) {
                // Without its lock file the next run may have it already.
                Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
                // Not synced: what reappears after a power loss is recovered again.
                removed => Ok(removed?),
            }
        };
        clear().map_err(|error| {
            ItemError::failed(format!("cannot remove {}: {error}; remove it by hand", self.path().display()))
        })
    }

    /// Records this process as the folder's owner, durably, unless it is recorded already.
    fn mark(&self) -> io::Result<()> {
        let pid = std::process::id();
        let start = proc::start_time(pid, pid).unwrap_or(0);
        let text = format!("{MARKER_LINE}\npid {pid}\nstart {start}\n");
        // The names inside become durable with the first state.
        self.inside.replace(OsStr::new(MARKER), OsStr::new(UNFINISHED), &text, false)?;
        self.outside.sync()
    }

    /// The error if the marker could not be written; a folder that was made for it is removed.
    fn unmarked(&self, error: &io::Error, made: bool) -> ItemError {
        let removed = if made { self.remove().err() } else { None };
        let left = match removed {
            Some(why) => format!("; {why}"),
            None if made => String::new(),
            None => "; it existed before: `threadwise restore FILE` removes it".to_owned(),
        };
        refused(self.path(), &format!("its marker cannot be written: {error}{left}"))
    }
}

fn refused(path: &Path, why: &str) -> ItemError {
    ItemError::skip(format!("the work folder {} cannot be used: {why}", path.display()))
}

/// The parent of a work folder, and its name there.
fn outside(path: &Path) -> Result<(Dir, OsString), ItemError> {
    let name = path.file_name().ok_or_else(|| refused(path, "it has no name"))?;
    let outside = Dir::open(parent(path)).map_err(|error| {
        ItemError::skip(format!("its folder {} cannot be opened: {error}", parent(path).display()))
    })?;
    Ok((outside, name.to_owned()))
}

fn try_lock(outside: &Dir, name: &OsStr) -> Result<Tried, ItemError> {
    let path = &outside.path().join(name);
    let failed = |error: &dyn std::fmt::Display| refused(path, &error.to_string());
    let inside = match outside.below(name) {
        Err(Errno::NOENT) => return Ok(Tried::Absent),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Err(refused(path, "a file or link has that name; remove it"));
        }
        Err(Errno::ACCESS) => {
            return Err(refused(path, "it belongs to another user: recover as that user, or as root"));
        }
        opened => opened.map_err(|error| failed(&error))?,
    };
    let stat = fstat(&inside).map_err(|error| failed(&error))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused(path, &of_another(stat.st_uid)));
    }
    if !is_ours(&inside).map_err(|error| failed(&error))? {
        return Err(refused(path, "threadwise did not make it; check its contents and remove it"));
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = match openat(&inside, LOCK, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::NOENT) => return Ok(Tried::Changed),
        opened => opened.map_err(|error| refused(path, &format!("its lock: {error}")))?,
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Err(refused(path, "another threadwise reload works there")),
        locked => locked.map_err(|error| refused(path, &format!("its lock: {error}")))?,
    }
    // If it was removed in between, the lock is on a file without a name.
    let same = |dir: &Dir, name: &OsStr, file: BorrowedFd<'_>| {
        let open = fstat(file).map(|stat| Identity::of(&stat).inode);
        dir.inode(name).is_ok_and(|named| open.ok() == named)
    };
    if !same(outside, name, inside.as_fd()) || !same(&inside, OsStr::new(LOCK), lock.as_fd()) {
        return Ok(Tried::Changed);
    }
    let database = database_of(path).ok_or_else(|| refused(path, "its name is not a work folder's"))?;
    let last = |path: PathBuf| path.file_name().unwrap_or_default().to_owned();
    let (kept, database) = (last(kept_of(&database)), last(database));
    let outside = outside.try_clone().map_err(|error| failed(&error))?;
    Ok(Tried::Got(Folder { outside, inside, name: name.to_owned(), database, kept, lock }))
}

/// The owner of the folder, and what to do.
fn of_another(uid: u32) -> String {
    match uid {
        0 => {
            "it belongs to root, and the database's folder does not: an older version of threadwise left it, \
              so recover with that one"
                .to_owned()
        }
        uid => format!("it belongs to user {uid}: run `threadwise restore FILE` as that user"),
    }
}

/// Whether the folder has the marker, or only what is made before it.
fn is_ours(inside: &Dir) -> io::Result<bool> {
    let marker = OsStr::new(MARKER);
    if inside.stat(marker)?.is_some_and(|found| FileType::from_raw_mode(found.st_mode).is_file()) {
        let text = inside.text(marker, 4096)?.unwrap_or_default();
        return Ok(text.lines().next() == Some(MARKER_LINE));
    }
    let known = |name: &OsString| name == LOCK || name == UNFINISHED || name == MARKER;
    Ok(inside.names()?.iter().all(known))
}

/// A file for tests of the file system, removed when dropped.
#[derive(Debug)]
pub struct Probe<'a> {
    /// The file.
    pub file: File,
    inside: &'a Dir,
}

impl<'a> Probe<'a> {
    /// Makes it in the folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(folder: &'a Folder) -> io::Result<Self> {
        let inside = folder.inside();
        inside.create(OsStr::new(PROBE)).map(|file| Self { file, inside })
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        // A file that stays is removed with the folder.
        let _ = self.inside.remove(OsStr::new(PROBE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn one_process_at_a_time_and_a_leftover_lock_file_is_no_lock() {
        let root = tempfile::tempdir().unwrap();
        let path = path_of(&root.path().join("a b.db"));
        assert_eq!(path, root.path().join(".threadwise-reload-a b.db"));
        let folder = Folder::acquire(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        // A lock of flock(2) belongs to the open file, so that a second one meets it in one process too.
        assert!(Folder::acquire(&path).unwrap_err().to_string().contains("works there"));
        assert!(Folder::take_over(&path).unwrap_err().to_string().contains("works there"));
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
