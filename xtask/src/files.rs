//! Files and folders, with errors that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn named<T>(what: &str, path: &Path, done: io::Result<T>) -> Result<T, String> {
    done.map_err(|cause| format!("cannot {what} {}: {cause}", path.display()))
}

/// A path that holds for programs that change their folder.
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf, String> {
    named("find", path.as_ref(), std::path::absolute(&path))
}

/// The bytes of a file.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>, String> {
    named("read", path.as_ref(), fs::read(&path))
}

/// The text of a file.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, String> {
    named("read", path.as_ref(), fs::read_to_string(&path))
}

/// What is in a folder, in order.
pub fn entries(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(&folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut paths: Vec<PathBuf> =
        named("read", folder.as_ref(), entries)?.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// Makes a folder and those above it.
pub fn make_folder(folder: impl AsRef<Path>) -> Result<(), String> {
    named("make", folder.as_ref(), fs::create_dir_all(&folder))
}

/// Makes a folder again, without what it had.
pub fn empty_folder(folder: impl AsRef<Path>) -> Result<(), String> {
    if folder.as_ref().exists() {
        named("remove", folder.as_ref(), fs::remove_dir_all(&folder))?;
    }
    make_folder(folder)
}

/// Writes a file, and makes its folder.
pub fn write(file: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    file.as_ref().parent().map_or(Ok(()), make_folder)?;
    named("write", file.as_ref(), fs::write(&file, bytes))
}

/// Copies a file with its mode, and makes its folder.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), String> {
    to.as_ref().parent().map_or(Ok(()), make_folder)?;
    named("copy", from.as_ref(), fs::copy(&from, &to).map(|_| ()))
}

/// Gives a file another name.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), String> {
    named("rename", from.as_ref(), fs::rename(&from, &to))
}
