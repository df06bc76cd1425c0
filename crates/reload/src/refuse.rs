//! Reasons against reloading a file, found before anything of it is touched.

use crate::error::ItemError;
use crate::folder::{Folder, Probe, kept_of};
use crate::identity::{parent, stat};
use crate::metadata::Metadata;
use rustix::fs::{Access, AtFlags, CWD, FileType, StatxFlags, accessat, fstat, statx};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use threadwise_process::space::free_bytes;

const MOUNTED: &str = "is mounted by itself, so no other file can take its name";

/// The path without links.
///
/// # Errors
/// It cannot be followed.
pub fn resolve(path: &Path) -> Result<PathBuf, ItemError> {
    fs::canonicalize(path).map_err(|error| ItemError::skip(format!("cannot be found: {error}")))
}

/// Refuses anything but a single writable file; returns its size in bytes.
///
/// # Errors
/// [`ItemError::Skip`] with the reason.
pub fn file(database: &Path) -> Result<u64, ItemError> {
    let found = stat(database).map_err(|error| ItemError::skip(format!("cannot be inspected: {error}")))?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(ItemError::skip("is not a regular file"));
    }
    if is_mounted_by_itself(database) {
        return Err(ItemError::skip(MOUNTED));
    }
    let kept = kept_of(database);
    let second = stat(&kept).is_ok_and(|kept| (kept.st_dev, kept.st_ino) == (found.st_dev, found.st_ino));
    if second {
        return Err(ItemError::skip(format!(
            "{} is another name of it, left by a power loss: remove that name",
            kept.display()
        )));
    }
    if found.st_nlink != 1 {
        return Err(ItemError::skip(format!(
            "has {} names (hard links), which a swap would separate; leave one",
            found.st_nlink
        )));
    }
    let may = |path: &Path, access: Access| accessat(CWD, path, access, AtFlags::EACCESS);
    may(database, Access::READ_OK | Access::WRITE_OK)
        .map_err(|error| ItemError::skip(format!("is not readable and writable for this user: {error}")))?;
    let folder = parent(database);
    may(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        ItemError::skip(format!("its folder {} is not writable for this user: {error}", folder.display()))
    })?;
    match stat(&kept) {
        Ok(_) => Err(ItemError::skip(format!(
            "{} exists from an earlier reload: remove it when it is no longer needed",
            kept.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(u64::try_from(found.st_size).unwrap_or(0))
        }
        Err(error) => Err(ItemError::skip(format!("cannot inspect {}: {error}", kept.display()))),
    }
}

/// Whether the file is a mount (such as a file passed to a container): by mount
/// numbers, since a bind mount from the same file system has the folder's device. Source: `statx(2)`,
/// `stx_mnt_id`, since Linux 5.8; before that only another device shows it.
fn is_mounted_by_itself(database: &Path) -> bool {
    let mount = |path: &Path| {
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
        (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
    };
    match (mount(database), mount(parent(database))) {
        (Some(file), Some(folder)) => file != folder,
        _ => {
            let device = |path: &Path| stat(path).map(|found| found.st_dev).ok();
            device(database) != device(parent(database))
        }
    }
}

/// Owner, mode and attributes that this user could not set on a new file, tested without leaving anything.
///
/// # Errors
/// [`ItemError::Skip`] with the reason.
pub fn attributes(database: &Path) -> Result<(), ItemError> {
    let metadata = Metadata::of(database)
        .map_err(|error| ItemError::skip(format!("cannot read its attributes: {error}")))?;
    metadata.try_in(parent(database)).map_err(not_given)
}

fn not_given(why: String) -> ItemError {
    let user = rustix::process::geteuid().as_raw();
    ItemError::skip(format!(
        "{why} as user {user}: to keep it, run as its owner, or as root in a folder of root's"
    ))
}

/// Space for two copies and 5% more beside the database.
///
/// # Errors
/// [`ItemError::Skip`] with the available and the needed space.
pub fn room(folder: &Path, size_bytes: u64) -> Result<(), ItemError> {
    let free = free_bytes(folder).map_err(|error| {
        ItemError::skip(format!("cannot get the free space of {}: {error}", folder.display()))
    })?;
    // The size of a sparse file may be anything.
    let needed = u128::from(size_bytes) * 21 / 10;
    if let Some(longest) = getrlimit(Resource::Fsize).current.filter(|longest| size_bytes > *longest) {
        return Err(ItemError::skip(format!(
            "no space: files may be at most {} KiB here: raise the limit (ulimit -f)",
            longest >> 10
        )));
    }
    match u128::from(free) >= needed {
        true => Ok(()),
        false => Err(ItemError::skip(format!(
            "no space: {} MiB are free beside it, {} MiB are needed (twice its size and 5%)",
            free >> 20,
            (needed >> 20) + 1
        ))),
    }
}

/// Refuses what the work folder cannot serve: another file system, no space, an owner, a mode or
/// attributes that this user could not set on the new file.
///
/// # Errors
/// [`ItemError::Skip`] with the reason.
pub fn beside(database: &Path, folder: &Folder, size_bytes: u64) -> Result<(), ItemError> {
    let refused = |error: &dyn std::fmt::Display| ItemError::skip(format!("the work folder: {error}"));
    let file = stat(database).map_err(|error| refused(&error))?;
    let here = fstat(folder.inside()).map_err(|error| refused(&error))?;
    if file.st_dev != here.st_dev {
        return Err(ItemError::skip(MOUNTED));
    }
    room(folder.path(), size_bytes)?;
    let metadata = Metadata::of(database)
        .map_err(|error| ItemError::skip(format!("cannot read its attributes: {error}")))?;
    let probe = Probe::new(folder).map_err(|error| refused(&error))?;
    metadata.give(&probe.file).map_err(not_given)
}
