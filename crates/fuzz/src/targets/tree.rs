//! Changes of files below a folder, as a text: `== PATH` and the file's new bytes, `-- PATH` for a removed one,
//! `dd PATH` for a folder in its place, `ll PATH TARGET` for a link.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

/// Adds the files below a folder, by their paths below the root.
pub fn read_below(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder").flatten() {
        let path = folder.join(entry.file_name());
        let kind = entry.file_type().expect("its type");
        if kind.is_dir() {
            read_below(root, &path, files);
        } else if kind.is_file() {
            files.insert(path.to_string_lossy().into_owned(), fs::read(root.join(&path)).expect("a file"));
        }
    }
}

/// Replacement of a file.
#[derive(Debug, PartialEq)]
pub enum Put {
    /// A file.
    Bytes(Vec<u8>),
    /// It is removed.
    Nothing,
    /// A folder.
    Folder,
    /// A link to this path.
    Link(String),
}

/// A changed file.
#[derive(Debug, PartialEq)]
pub struct Change {
    /// Below the root.
    pub path: String,
    /// What is there instead.
    pub put: Put,
}

/// The changes in a text; other lines belong to the file before them.
pub fn changes(input: &[u8]) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let words: Vec<&str> =
            std::str::from_utf8(line).map_or(Vec::new(), |line| line.trim_end().splitn(3, ' ').collect());
        let (path, put) = match words[..] {
            ["==", path] => (path, Put::Bytes(Vec::new())),
            ["--", path] => (path, Put::Nothing),
            ["dd", path] => (path, Put::Folder),
            ["ll", path, target] => (path, Put::Link(target.to_owned())),
            _ => {
                if let Some(Change { put: Put::Bytes(bytes), .. }) = found.last_mut() {
                    bytes.extend_from_slice(line);
                }
                continue;
            }
        };
        found.push(Change { path: path.to_owned(), put });
    }
    // Paths are made here; a mutant of a saved input must not leave the tree.
    found.retain(|change| {
        Path::new(&change.path).components().all(|part| matches!(part, Component::Normal(_)))
    });
    found
}

/// Makes a change below a root.
pub fn apply(root: &Path, change: &Change) {
    let path = root.join(&change.path);
    // A missing file need not be removed.
    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    let put = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| match &change.put {
        Put::Bytes(bytes) => fs::write(&path, bytes),
        Put::Nothing => Ok(()),
        Put::Folder => fs::create_dir(&path),
        Put::Link(target) => std::os::unix::fs::symlink(target, &path),
    });
    put.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_are_written_and_stay_inside() {
        let found = changes(b"server\n== a/b\nx\ny\n-- c\nll d /e f\n== ../out\nz\n== /abs\n");
        let change = |path: &str, put| Change { path: path.to_owned(), put };
        let wanted = [
            change("a/b", Put::Bytes(b"x\ny\n".to_vec())),
            change("c", Put::Nothing),
            change("d", Put::Link("/e f".to_owned())),
        ];
        assert_eq!(found, wanted);
    }
}
