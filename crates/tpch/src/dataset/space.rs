//! The disk space that a data set needs and its cache folder has, before anything is made.
//!
//! Source: `access(2)`.

use super::{Cluster, DatasetError, Key, expected_bytes, find};
use crate::options::scale_fault;
use rustix::fs::{Access, access};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Share of `lineitem` in a data set's bytes: measured, see [`expected_bytes`].
pub(super) const LINEITEM_SHARE: f64 = 231.7 / 361.7;

/// A disk with fewer free bytes than this counts as full.
const FULL_BYTES: u64 = 1 << 20;

/// Messages of the C library and of Rust, whose panics print numbers, for a full disk or quota.
const FULL_WORDS: [&str; 4] =
    ["no space left on device", "disk quota exceeded", "(os error 28)", "(os error 122)"];

/// The space for making a data set, and the available space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetSpace {
    /// The data set's own folder, which need not exist.
    pub folder: PathBuf,
    /// The nearest existing folder above it.
    pub existing_parent: PathBuf,
    /// Bytes that making it takes; 0 if it exists, complete by its manifest.
    pub needed_bytes: u64,
    /// Bytes that this user may still write there.
    pub free_bytes: u64,
}

/// Checks whether a data set exists, and if not, whether it could be made: space, and permission to write.
/// Makes nothing.
///
/// # Errors
/// It could not be made, or the system refuses the check.
pub fn space(cache_root: &Path, key: Key) -> Result<DatasetSpace, DatasetError> {
    if scale_fault(key.scale).is_some() {
        return Err(DatasetError::Scale(key.scale));
    }
    let needed_bytes = missing_bytes(cache_root, key)?;
    let existing_parent = existing_parent(cache_root)?;
    let free_bytes = free_bytes(&existing_parent)?;
    if needed_bytes > 0 {
        access(&existing_parent, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| DatasetError::file("write to", &existing_parent)(error.into()))?;
    }
    if free_bytes < needed_bytes {
        return Err(DatasetError::NoSpace { key, needed_bytes, free_bytes, folder: cache_root.to_owned() });
    }
    Ok(DatasetSpace { folder: cache_root.join(key.folder_name()), existing_parent, needed_bytes, free_bytes })
}

/// Bytes of all remaining steps: a sorted data set is made from the plain one.
fn missing_bytes(cache_root: &Path, key: Key) -> Result<u64, DatasetError> {
    match find(cache_root, key) {
        Ok(Some(_)) => return Ok(0),
        // A damaged one is removed only when the new one exists.
        Ok(None) | Err(DatasetError::Damaged { .. }) => {}
        Err(other) => return Err(other),
    }
    let before = match key.cluster {
        Cluster::OrderKey => 0,
        Cluster::ShipDate => missing_bytes(cache_root, Key { cluster: Cluster::OrderKey, ..key })?,
    };
    Ok(before + step_bytes(key))
}

/// Bytes of one step: a twentieth more than expected. For sorting, `lineitem` is written twice, as
/// spilled runs and then complete; the other tables are links.
fn step_bytes(key: Key) -> u64 {
    let bytes = expected_bytes(key) as f64;
    match key.cluster {
        Cluster::OrderKey => (bytes * 1.05) as u64,
        Cluster::ShipDate => (bytes * LINEITEM_SHARE * 2.1) as u64,
    }
}

/// Refuses the next step if there is no space for it.
pub(super) fn check_step(root: &Path, key: Key) -> Result<(), DatasetError> {
    let (needed_bytes, free_bytes) = (step_bytes(key), free_bytes(root)?);
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    Err(DatasetError::NoSpace { key, needed_bytes, free_bytes, folder: root.to_owned() })
}

fn free_bytes(folder: &Path) -> Result<u64, DatasetError> {
    threadwise_process::space::free_bytes(folder).map_err(DatasetError::file("get the free space of", folder))
}

/// The folder itself, or the nearest existing one above it.
fn existing_parent(folder: &Path) -> Result<PathBuf, DatasetError> {
    let mut at = folder;
    loop {
        match fs::metadata(at) {
            Ok(found) if found.is_dir() => return Ok(at.to_owned()),
            Ok(_) => {
                return Err(DatasetError::file("make folders in", at)(io::ErrorKind::NotADirectory.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(DatasetError::file("inspect", at)(error)),
        }
        match at.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => at = parent,
            _ => return Ok(PathBuf::from(".")),
        }
    }
}

/// Whether a program that failed below a folder with this output failed for lack of disk space. Its files must
/// still exist.
pub(super) fn is_full(said: &str, folder: &Path) -> bool {
    let said = said.to_ascii_lowercase();
    FULL_WORDS.iter().any(|words| said.contains(words))
        || free_bytes(folder).is_ok_and(|free| free < FULL_BYTES)
}
