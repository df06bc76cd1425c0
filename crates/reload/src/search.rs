//! Leftovers of killed runs in a folder and in those below it.

use crate::error::ItemError;
use crate::folder;
use crate::identity::stat;
use rustix::fs::FileType;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Most folders that are read: a limit against endless trees, far above real folders of databases.
const MAX_FOLDERS: usize = 200_000;

/// Leftovers of killed runs, and what was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Databases with leftovers, in the order of their names.
    pub databases: Vec<PathBuf>,
    /// Number of folders read.
    pub folders: usize,
    /// Folders below on another file system; name them to read them.
    pub elsewhere: Vec<PathBuf>,
    /// Folders below that this user cannot read.
    pub closed: Vec<PathBuf>,
    /// There were more folders than the limit.
    pub is_cut: bool,
}

/// Searches a folder and those below it; does not follow links, and skips other file systems. A given work
/// folder stands for its database.
///
/// # Errors
/// The folder itself cannot be read.
pub fn below(folder: &Path) -> Result<Leftovers, ItemError> {
    if let Some(database) = folder::database_of(folder) {
        return Ok(Leftovers { databases: vec![database], folders: 1, ..Leftovers::default() });
    }
    let refused = |error: io::Error| ItemError::skip(format!("the folder cannot be read: {error}"));
    let device = fs::metadata(folder).map(|found| std::os::unix::fs::MetadataExt::dev(&found));
    let device = device.map_err(refused)?;
    let mut found = Leftovers::default();
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

/// One folder: its leftovers, and the folders in it.
fn look(folder: &Path, found: &mut Leftovers) -> io::Result<Vec<PathBuf>> {
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
