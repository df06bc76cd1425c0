//! The list of files: given as arguments or in a text file, each file once, and their order.

use crate::error::ReloadError;
use crate::identity::Inode;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One file of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As it was given.
    pub path: PathBuf,
    /// Without links.
    pub database: PathBuf,
    /// Size when the list was read.
    pub size_bytes: u64,
}

/// The order in which files are begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As given.
    Given,
    /// The largest first, so that none of them is begun last and runs alone.
    #[default]
    Largest,
    /// Drawn.
    Shuffled,
}

/// Reads the list: a path, or `@FILE` for a text file with one path a line (empty lines are left out; a
/// file whose name begins with @ is written ./@NAME). A file that is named twice, by whatever links, is
/// in it once.
///
/// # Errors
/// A path that leads nowhere, or a list that cannot be read.
pub fn read(given: &[PathBuf]) -> Result<Vec<Entry>, ReloadError> {
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for path in paths(given)? {
        let refused = |why: std::io::Error| ReloadError::List { path: path.clone(), why: why.to_string() };
        let database = fs::canonicalize(&path).map_err(refused)?;
        let found = fs::symlink_metadata(&database).map_err(refused)?;
        if seen.insert(Inode { dev: found.dev(), ino: found.ino() }) {
            entries.push(Entry { path, database, size_bytes: found.size() });
        }
    }
    Ok(entries)
}

/// The paths as given, those of lists in their place.
///
/// # Errors
/// A list that cannot be read.
pub fn paths(given: &[PathBuf]) -> Result<Vec<PathBuf>, ReloadError> {
    let mut paths = Vec::new();
    for path in given {
        match path.as_os_str().as_bytes().strip_prefix(b"@") {
            Some(list) => paths.extend(lines(Path::new(OsStr::from_bytes(list)))?),
            None => paths.push(path.clone()),
        }
    }
    Ok(paths)
}

fn lines(list: &Path) -> Result<Vec<PathBuf>, ReloadError> {
    let text = fs::read(list)
        .map_err(|error| ReloadError::List { path: list.to_owned(), why: error.to_string() })?;
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.filter(|line| !line.is_empty()).map(|line| PathBuf::from(OsStr::from_bytes(line))).collect())
}

/// Indices of the entries in the order in which they are begun.
pub fn ordered(entries: &[Entry], order: Order, seed: u64) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..entries.len()).collect();
    match order {
        Order::Given => {}
        // Stable: equal sizes stay as given.
        Order::Largest => indices.sort_by_key(|index| std::cmp::Reverse(entries[*index].size_bytes)),
        Order::Shuffled => indices.shuffle(&mut ChaCha8Rng::seed_from_u64(seed)),
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_file_is_there_once_and_a_missing_one_refuses_all() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, size) in [("a b", 3), ("it's", 9), ("new\nline", 5), ("@at", 5)] {
            fs::write(at(name), vec![0; size]).unwrap();
        }
        symlink(at("a b"), at("link")).unwrap();
        let list = format!("{}\r\n\n{}\n", at("link").display(), at("it's").display());
        fs::write(at("list.txt"), list).unwrap();
        let by_list = PathBuf::from(format!("@{}", at("list.txt").display()));
        let given = [at("a b"), at("a b"), by_list, at("new\nline"), at("@at")];
        let entries = read(&given).unwrap();
        let paths: Vec<_> = entries.iter().map(|entry| entry.path.clone()).collect();
        assert_eq!(paths, [at("a b"), at("it's"), at("new\nline"), at("@at")]);
        assert_eq!(ordered(&entries, Order::Given, 0), [0, 1, 2, 3]);
        assert_eq!(ordered(&entries, Order::Largest, 0), [1, 2, 3, 0]);
        let drawn = |seed| ordered(&entries, Order::Shuffled, seed);
        assert_eq!(drawn(1), drawn(1));
        assert!((2..20).any(|seed| drawn(seed) != drawn(1)));
        for missing in [at("absent"), PathBuf::from("@/nowhere/list")] {
            let error = read(&[at("a b"), missing]).unwrap_err().to_string();
            assert!(error.contains("nothing was touched"), "{error}");
        }
    }
}
