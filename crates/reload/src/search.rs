//! What killed runs left in a folder and in those below it.

use crate::error::ItemError;
use crate::folder;
use crate::identity::stat;
use rustix::fs::FileType;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most folders that are looked into: a bound against trees without an end, far above what keeps databases.
const MAX_FOLDERS: usize = 200_000;

/// What was found, and what was not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Databases of which something is left, in the order of their names.
    pub databases: Vec<PathBuf>,
    /// Folders that were looked into.
    pub folders: usize,
    /// Folders below that lie on another file system; they have to be named to be looked into.
    pub elsewhere: Vec<PathBuf>,
    /// Folders below that this user cannot read.
    pub closed: Vec<PathBuf>,
    /// There were more folders than are looked into.
    pub is_cut: bool,
}

/// Looks into a folder and those below it; links are not followed, and other file systems left out. A work
/// folder that is given itself stands for its database.
///
/// # Errors
/// The folder itself cannot be read.
pub fn below(folder: &Path) -> Result<Found, ItemError> {
    if let Some(database) = folder::database_of(folder) {
        return Ok(Found { databases: vec![database], folders: 1, ..Found::default() });
    }
    let refused = |error: io::Error| ItemError::skip(format!("the folder cannot be read: {error}"));
    let device = fs::metadata(folder).map(|found| std::os::unix::fs::MetadataExt::dev(&found));
    let device = device.map_err(refused)?;
    let mut found = Found::default();
    let mut next = look(folder, &mut found).map_err(refused)?;
    while let Some(folder) = next.pop() {
        if found.folders >= MAX_FOLDERS {
            found.is_cut = true;
            break;
        }
        match stat(&folder) {
            Ok(stat) if stat.st_dev != device => found.elsewhere.push(folder),
            Ok(_) => match look(&folder, &mut found) {
                Ok(more) => next.extend(more),
                // Removed in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => found.closed.push(folder),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => found.closed.push(folder),
        }
    }
    found.databases.sort();
    found.elsewhere.sort();
    found.closed.sort();
    Ok(found)
}

/// One folder: what is left in it, and the folders in it.
fn look(folder: &Path, found: &mut Found) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(database) = folder::database_of(&path) {
            found.databases.push(database);
        } else if stat(&path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
            folders.push(path);
        }
    }
    found.folders += 1;
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn folders_below_are_searched_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b/.threadwise-reload-deep.db")).unwrap();
        fs::create_dir(at(".threadwise-reload-x.db")).unwrap();
        fs::create_dir(other.path().join(".threadwise-reload-y.db")).unwrap();
        symlink(other.path(), at("link")).unwrap();
        symlink(root.path(), at("a/loop")).unwrap();
        let found = below(root.path()).unwrap();
        assert_eq!(found.databases, [at("a/b/deep.db"), at("x.db")]);
        assert_eq!((found.folders, found.is_cut), (3, false));
        assert!(found.elsewhere.is_empty() && found.closed.is_empty());
        assert_eq!(below(&at("a/b/.threadwise-reload-deep.db")).unwrap().databases, [at("a/b/deep.db")]);
        assert!(below(&at("nowhere")).unwrap_err().to_string().contains("cannot be read"));
    }
}
