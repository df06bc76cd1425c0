//! Changes of files below a folder, as a text: `== PATH` and the file's new bytes, `-- PATH` for a removed one,
//! `dd PATH` for a folder in its place, `ll PATH TARGET` for a link.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

/// Adds the files below a folder, by their paths below the root.
///
/// # Errors
/// One of them cannot be read.
pub fn read_below(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let (path, kind) = (folder.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            read_below(root, &path, files)?;
        } else if kind.is_file() {
            files.insert(path.to_string_lossy().into_owned(), fs::read(root.join(&path))?);
        }
    }
    Ok(())
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
        let head = std::str::from_utf8(line).ok().and_then(|line| line.trim_end().split_once(' '));
        let put = match head {
            Some(("==", _)) => Some(Put::Bytes(Vec::new())),
            Some(("--", _)) => Some(Put::Nothing),
            Some(("dd", _)) => Some(Put::Folder),
            Some(("ll", rest)) => rest.split_once(' ').map(|(_, target)| Put::Link(target.to_owned())),
            _ => None,
        };
        match (put, head, found.last_mut()) {
            (Some(put), Some((_, rest)), _) => {
                let path = if matches!(put, Put::Link(_)) {
                    rest.split_once(' ').map_or(rest, |(path, _)| path)
                } else {
                    rest
                };
                found.push(Change { path: path.to_owned(), put });
            }
            (None, _, Some(Change { put: Put::Bytes(bytes), .. })) => bytes.extend_from_slice(line),
            _ => {}
        }
    }
    // Paths are made here; a mutant of a saved input must not leave the tree.
    found.retain(|change| {
        Path::new(&change.path).components().all(|part| matches!(part, Component::Normal(_)))
    });
    found
}

fn remove(path: &Path) {
    // A missing file need not be removed.
    let _ = match fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

/// Makes a change below a root.
///
/// # Errors
/// The file system refuses it.
pub fn apply(root: &Path, change: &Change) -> Result<(), String> {
    let path = root.join(&change.path);
    remove(&path);
    let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
    let put = parent.and_then(|()| match &change.put {
        Put::Bytes(bytes) => fs::write(&path, bytes),
        Put::Nothing => Ok(()),
        Put::Folder => fs::create_dir(&path),
        Put::Link(target) => std::os::unix::fs::symlink(target, &path),
    });
    put.map_err(|error| format!("{}: {error}", path.display()))
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
