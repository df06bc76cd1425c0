//! A journal as a file: made, found, locked, read, extended and removed, whatever its lines hold.
//!
//! Source: `flock(2)` (which also locks a folder), `open(2)` (`O_EXCL`), `fsync(2)`.

use super::entry::{BootNamespace, UNKNOWN};
use super::error::JournalError;
use super::file::{append, file_error, lock, make_folder, open_file, open_folder, read};
use super::owner::Owner;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, OFlags, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// An existing journal, locked until this is dropped.
#[derive(Debug)]
pub struct Locked {
    path: PathBuf,
    folder: OwnedFd,
    name: OsString,
    file: File,
    text: String,
}

/// A journal of some kind in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Where its maker ran.
    pub here: BootNamespace,
    /// Its maker's process number.
    pub pid: u32,
}

/// Another journal of the kind prevents a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other(pub Written);

impl Locked {
    /// `None` if it does not exist, or was removed meanwhile.
    ///
    /// # Errors
    /// It could have been written by others, or cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, JournalError> {
        if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let (folder, name) = open_folder(path)?;
        // For writing too, which some network file systems require for a lock.
        match open_file(&folder, name, OFlags::RDWR | OFlags::APPEND, path) {
            Err(JournalError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Ok(file) => Self::of(path, folder, name, file),
            Err(error) => Err(error),
        }
    }

    /// A new journal of this process, the only one of its kind on this boot.
    ///
    /// # Errors
    /// The folder is not a 0700 folder of this user, or cannot be written. [`Other`] if one already exists.
    pub fn create(folder: &Path, kind: &str) -> Result<Result<Self, Other>, JournalError> {
        let path = folder.join(Owner::this().new_name(kind));
        make_folder(&path)?;
        let (handle, name) = open_folder(&path)?;
        // Other processes that make one wait here, so that there are never two.
        let guard = File::from(handle.try_clone().map_err(|source| file_error("open", &path, source))?);
        lock(&guard, &path)?;
        if let Some(other) = Self::written(folder, kind)?.into_iter().next() {
            return Ok(Err(Other(other)));
        }
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let file = open_file(&handle, name, flags, &path)?;
        rustix::fs::fsync(&handle).map_err(|source| file_error("write", &path, source.into()))?;
        // A lock belongs to the open file, and would end with that of the folder if it were the same.
        let reopened = Self::of(&path, open_folder(&path)?.0, name, file)?;
        let mut journal =
            reopened.ok_or_else(|| file_error("open", &path, io::ErrorKind::NotFound.into()))?;
        journal.enter()?;
        Ok(Ok(journal))
    }

    fn of(path: &Path, folder: OwnedFd, name: &OsStr, mut file: File) -> Result<Option<Self>, JournalError> {
        // A process that is writing a line has not changed its subject yet.
        if !lock(&file, path)? {
            return Ok(None);
        }
        let text = read(&mut file, path)?;
        Ok(Some(Self { path: path.to_owned(), folder, name: name.to_owned(), file, text }))
    }

    /// Journals of a kind that were made on this boot, in order of their names.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn written(folder: &Path, kind: &str) -> Result<Vec<Written>, JournalError> {
        let names = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|source| file_error("look for a", folder, source))?,
        };
        let boot = BootNamespace::now().boot;
        let written = |entry: fs::DirEntry| {
            let Owner { here, pid, .. } = Owner::of_name(kind, entry.file_name().to_str()?)?;
            (here.boot == boot && boot != UNKNOWN).then(|| Written { path: entry.path(), here, pid })
        };
        let mut found: Vec<Written> = names.flatten().filter_map(written).collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All of the text, including a line that was cut off.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The whole lines. The rest was cut off before anything was changed.
    pub fn whole(&self) -> &str {
        &self.text[..self.text.rfind('\n').map_or(0, |at| at + 1)]
    }

    /// Whether a line names an owner; every kind of journal has such lines.
    pub fn is_owner(line: &str) -> bool {
        matches!(Owner::parse(line), Some(Ok(_)))
    }

    /// Records this process as an owner.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn enter(&mut self) -> Result<(), JournalError> {
        self.append(&Owner::this().line())
    }

    /// Another live process that is an owner: the one of the file's name, or of a line.
    pub fn living_owner(&self, kind: &str) -> Option<u32> {
        let (this, here) = (Owner::this(), BootNamespace::now());
        let named = self.name.to_str().and_then(|name| Owner::of_name(kind, name));
        let lines = self.whole().lines().filter_map(|line| Owner::parse(line)?.ok());
        let mut owners = named.into_iter().chain(lines);
        owners.find(|owner| owner.here == here && *owner != this && owner.is_alive()).map(|owner| owner.pid)
    }

    /// Adds lines, durably or not at all.
    ///
    /// # Errors
    /// They cannot be written, and their subject must not be changed.
    pub fn append(&mut self, lines: &str) -> Result<(), JournalError> {
        let whole = self.whole().len();
        append(&mut self.file, whole as u64, lines)
            .map_err(|source| file_error("write", &self.path, source))?;
        self.text.truncate(whole);
        self.text.push_str(lines);
        Ok(())
    }

    /// Removes the file, which is no longer needed.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(self) -> Result<(), JournalError> {
        unlinkat(&self.folder, &self.name, AtFlags::empty())
            .map_err(|error| file_error("remove", &self.path, error.into()))
    }
}
