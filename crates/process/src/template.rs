//! Copies of a data directory: made once as a template, then copied whole or not at all.
//!
//! A server's user may write in the folders that root copies, so every step starts from an open
//! folder, without following links. Blocks are shared with the template if the file system can
//! (`ioctl_ficlone(2)`: Btrfs, XFS, …). Source: `open(2)`, `openat(2)`, `rename(2)`, `symlink(7)`.

use crate::users::User;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, Uid, fchmod, fchown, fstat, ioctl_ficlone,
    mkdirat, openat, statat, syncfs,
};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Nesting limit; data directories have about four levels, and more would be a circle of mounts.
const MAX_DEPTH: usize = 64;

/// Why a tree was not copied.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}{}", .path.display(), advice(.source))]
pub struct CopyError {
    /// `copy`, `make`, …
    pub action: &'static str,
    /// The path on which it failed.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

/// Copies the folder `from` with its contents to `to`, which must not exist, and returns the
/// bytes of its files. Modes are kept, times are not; all belongs to `owner`, or to this user without one.
///
/// Until it is complete it is named `to`.part; one that an interrupted copy left is removed first,
/// so there may be one copier at a time for each `to`. Nothing is synced, see [`sync`].
///
/// # Errors
/// Anything that cannot be read, written or given away; a symbolic link or anything that is neither file nor
/// folder; a file of several names with an `owner`. Then neither `to` nor `to`.part exists.
pub fn copy(from: &Path, to: &Path, owner: Option<&User>) -> Result<u64, CopyError> {
    let part = part_of(to);
    free(to)?;
    match fs::remove_dir_all(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &part, error)),
        _ => {}
    }
    let mut copier = Copier { from, to: &part, owner, bytes: 0 };
    let copied = copier.all().and_then(|()| {
        // An empty folder would be replaced silently.
        free(to)?;
        fs::rename(&part, to).map_err(|error| failed("rename", &part, error))
    });
    if copied.is_err() {
        // The next copy removes what cannot be removed now.
        let _ = fs::remove_dir_all(&part);
    }
    copied.map(|()| copier.bytes)
}

/// Writes the pending data of `folder`'s file system to the disk, so that it does not happen during a measurement.
///
/// # Errors
/// The kernel's.
pub fn sync(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

fn part_of(to: &Path) -> PathBuf {
    let mut name = OsString::from(to);
    name.push(".part");
    PathBuf::from(name)
}

fn free(to: &Path) -> Result<(), CopyError> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(failed("make", to, io::ErrorKind::AlreadyExists.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("make", to, error)),
    }
}

struct Copier<'a> {
    from: &'a Path,
    to: &'a Path,
    owner: Option<&'a User>,
    bytes: u64,
}

impl Copier<'_> {
    fn all(&mut self) -> Result<(), CopyError> {
        let source = open_folder(CWD, self.from).map_err(|error| failed("open", self.from, error.into()))?;
        let mode = fstat(&source).map_err(|error| failed("open", self.from, error.into()))?.st_mode;
        let target = mkdirat(CWD, self.to, Mode::RWXU).and_then(|()| open_folder(CWD, self.to));
        let target = target.map_err(|error| failed("make", self.to, error.into()))?;
        self.folder(&source, &target, Path::new(""), 0)?;
        self.finish(&target, mode, Path::new(""))
    }

    fn folder(&mut self, from: &OwnedFd, to: &OwnedFd, at: &Path, depth: usize) -> Result<(), CopyError> {
        for name in names(from).map_err(|error| self.failed("read", at, error.into()))? {
            let inside = at.join(OsStr::from_bytes(name.to_bytes()));
            let entry = statat(from, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| self.failed("read", &inside, error.into()))?;
            match FileType::from_raw_mode(entry.st_mode) {
                FileType::RegularFile => self.file(from, to, &name, &inside)?,
                FileType::Directory if depth < MAX_DEPTH => {
                    let source = open_folder(from, name.as_c_str())
                        .map_err(|error| self.failed("open", &inside, error.into()))?;
                    let target = mkdirat(to, name.as_c_str(), Mode::RWXU)
                        .and_then(|()| open_folder(to, name.as_c_str()))
                        .map_err(|error| self.failed("copy", &inside, error.into()))?;
                    self.folder(&source, &target, &inside, depth + 1)?;
                    self.finish(&target, entry.st_mode, &inside)?;
                }
                other => return Err(self.failed("copy", &inside, io::Error::other(unfit(other)))),
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, inside: &Path) -> Result<(), CopyError> {
        let copy = || -> io::Result<(OwnedFd, Stat, u64)> {
            // Without waiting, in case it has become a pipe.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut source = File::from(openat(from, name, flags, Mode::empty())?);
            let entry = fstat(&source)?;
            if FileType::from_raw_mode(entry.st_mode) != FileType::RegularFile {
                return Err(io::Error::other("it changed while it was copied"));
            }
            if self.owner.is_some() && entry.st_nlink > 1 {
                return Err(io::Error::other(SEVERAL_NAMES));
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut target = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
            let bytes = match ioctl_ficlone(&target, &source) {
                Ok(()) => target.metadata()?.len(),
                // Not supported here, or on another file system.
                Err(_) => io::copy(&mut source, &mut target)?,
            };
            Ok((target.into(), entry, bytes))
        };
        let (target, entry, bytes) = copy().map_err(|error| self.failed("copy", inside, error))?;
        self.bytes += bytes;
        self.finish(&target, entry.st_mode, inside)
    }

    /// Sets owner and mode last; the owner first, since a change of owner may clear bits of the mode.
    fn finish(&self, target: &OwnedFd, mode: RawMode, inside: &Path) -> Result<(), CopyError> {
        let (uid, gid) = numbers(self.owner);
        fchown(target, uid, gid)
            .and_then(|()| fchmod(target, Mode::from_raw_mode(mode & 0o777)))
            .map_err(|error| self.failed("set owner and mode of", inside, error.into()))
    }

    fn failed(&self, action: &'static str, inside: &Path, source: io::Error) -> CopyError {
        failed(action, &self.from.join(inside), source)
    }
}

/// The refusal of a file with several names: one of them may be in a folder of another user.
const SEVERAL_NAMES: &str = "the file has several names (hard links)";

fn numbers(owner: Option<&User>) -> (Option<Uid>, Option<Gid>) {
    (owner.map(|owner| Uid::from_raw(owner.uid)), owner.map(|owner| Gid::from_raw(owner.gid)))
}

fn open_folder(at: impl AsFd, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

/// All names in a folder, read before any of them is changed.
fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<std::ffi::CString>> {
    // Opened again, since `folder` may be open as a path only.
    let entries = Dir::new(open_folder(folder, c".")?)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_owned()));
    let mut names = names.collect::<Result<Vec<_>, Errno>>()?;
    names.retain(|name| !matches!(name.to_bytes(), b"." | b".."));
    Ok(names)
}

fn unfit(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "it is a symbolic link that threadwise did not make",
        FileType::Directory => "its folders are nested too deeply",
        _ => "it is neither a file nor a folder",
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> CopyError {
    CopyError { action, path: path.to_owned(), source }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; use a data folder with more space, or less data"
        }
        _ => "",
    }
}
