//! The list of files: given as arguments or in a text file, each file once, and their order.

use crate::error::{ItemError, ReloadError};
use crate::identity::Inode;
use crate::runs_as;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rustix::fs::OFlags;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest list or log that is read: far above what lists of files need.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// The byte order mark that some editors write: U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One file of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The given path.
    pub path: PathBuf,
    /// Without links.
    pub database: PathBuf,
    /// Why it is left alone: it is reached by another user's link.
    pub refusal: Option<String>,
    /// Size when the list was read.
    pub size_bytes: u64,
}

impl Entry {
    /// Whether its path permits working on it.
    ///
    /// # Errors
    /// [`ItemError::Skip`] with the reason.
    pub fn allowed(&self) -> Result<(), ItemError> {
        self.refusal.as_ref().map_or(Ok(()), |why| Err(ItemError::skip(why)))
    }

    /// The file that is changed, if the given path leads to it by a link.
    pub fn behind_link(&self) -> Option<&Path> {
        let given = std::path::absolute(&self.path).ok()?;
        let is_same = match (given.parent().map(fs::canonicalize), given.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.join(name) == self.database,
            _ => false,
        };
        (!is_same).then_some(self.database.as_path())
    }
}

/// The order in which files are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As given.
    Given,
    /// The largest first, so that none of them starts last and runs alone.
    #[default]
    Largest,
    /// Random.
    Shuffled,
}

/// Reads the list: a path, or `@FILE` for a text file with one path a line (empty lines are left out; a
/// file whose name begins with @ is written ./@NAME). A file that is named twice, by whatever links, is
/// in it once.
///
/// # Errors
/// A path without a file, or a list that cannot be read.
pub fn read(given: &[PathBuf]) -> Result<Vec<Entry>, ReloadError> {
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for path in paths(given)? {
        let refused = |why: std::io::Error| ReloadError::List { path: path.clone(), why: why.to_string() };
        let (database, refusal) = runs_as::follow(&path).map_err(refused)?;
        let found = fs::symlink_metadata(&database).map_err(refused)?;
        if seen.insert(Inode { dev: found.dev(), ino: found.ino() }) {
            entries.push(Entry { path, database, refusal, size_bytes: found.size() });
        }
    }
    Ok(entries)
}

/// The given paths, with lists replaced by their contents.
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
    let refused = |why: String| ReloadError::List { path: list.to_owned(), why };
    let mut file =
        regular(OpenOptions::new().read(true), list).map_err(|error| refused(error.to_string()))?;
    let text = whole(&mut file).map_err(|error| refused(error.to_string()))?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let paths: Vec<PathBuf> =
        lines.filter(|line| !line.is_empty()).map(|line| PathBuf::from(OsStr::from_bytes(line))).collect();
    match paths.is_empty() {
        true => Err(refused("the list is empty".to_owned())),
        false => Ok(paths),
    }
}

/// Opens only a regular file: a pipe would block for ever, and `/dev/zero` has no end. Checked
/// before, since opening some devices has an effect, and after, since the name may have changed.
///
/// # Errors
/// Those of `open(2)`, or it is not a regular file.
pub(crate) fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let refused = || io::Error::other("is not a regular file");
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(refused());
    }
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused()),
    }
}

/// A whole text, up to a limit.
///
/// # Errors
/// Those of `read(2)`, or it is longer.
pub(crate) fn whole(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut text)?;
    match text.len() as u64 <= MAX_TEXT_BYTES {
        true => Ok(text),
        false => Err(io::Error::other(format!("is longer than {} MiB", MAX_TEXT_BYTES >> 20))),
    }
}

/// Indices of the entries in the order in which they are started.
pub fn ordered(entries: &[Entry], order: Order, seed: u64) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..entries.len()).collect();
    match order {
        Order::Given => {}
        // Stable: equal sizes keep their order.
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
        for missing in [at("absent"), PathBuf::from("@/proc/nowhere/list")] {
            let error = read(&[at("a b"), missing]).unwrap_err().to_string();
            assert!(error.contains("nothing was touched"), "{error}");
        }
    }

    #[test]
    fn a_list_is_a_regular_file_with_something_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "x").unwrap();
        let list = |path: &Path| read(&[PathBuf::from(format!("@{}", path.display()))]);
        let refused = |path: &Path| list(path).unwrap_err().to_string();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        for path in [at("pipe"), "/dev/zero".into(), "/dev/null".into(), folder.path().to_owned()] {
            assert!(refused(&path).contains("is not a regular file"), "{path:?}");
        }
        for text in ["", "\n\r\n", "\u{feff}"] {
            fs::write(at("list"), text).unwrap();
            assert!(refused(&at("list")).contains("the list is empty"), "{text:?}");
        }
        fs::write(at("list"), format!("\u{feff}{}\n", at("a").display())).unwrap();
        assert_eq!(list(&at("list")).unwrap()[0].path, at("a"));
        // Sparse: no bytes are written.
        File::create(at("long")).unwrap().set_len(MAX_TEXT_BYTES + 1).unwrap();
        assert!(refused(&at("long")).contains("64 MiB"));
    }
}
