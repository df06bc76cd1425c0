//! Small text files that detect damage: their last line is the SHA-256 of all before it.
//! Written to another name first, flushed to the disk and renamed, so that a file under its own name is
//! complete.

use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Largest size of such a file, bytes: far above the longest answer.
const MAX_BYTES: u64 = 256 << 20;

/// Writes a file of these lines.
///
/// # Errors
/// The kernel's; then no file of this name was made or changed.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Two processes may write the same answer: each to a separate name.
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = write_to(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // A leftover must not fill the disk; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

fn write_to(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    writeln!(file, "sha256 {:x}", Sha256::digest(text))?;
    file.sync_all()
}

/// Makes renames in a folder durable.
///
/// # Errors
/// The kernel's.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The lines of a file without its last; `None` if the file does not exist or is damaged.
///
/// # Errors
/// The kernel's, except that the file does not exist.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    let length = match fs::metadata(path) {
        Ok(entry) => entry.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if length > MAX_BYTES {
        return Ok(None);
    }
    let Ok(text) = String::from_utf8(fs::read(path)?) else { return Ok(None) };
    Ok(unsealed(text))
}

fn unsealed(mut text: String) -> Option<String> {
    let start = text.strip_suffix('\n')?.rfind('\n')? + 1;
    let sum = text[start..].trim_end().strip_prefix("sha256 ")?;
    if sum != format!("{:x}", Sha256::digest(&text[..start])) {
        return None;
    }
    text.truncate(start);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "one\ntwo\n").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("one\ntwo\n"));
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read(&path).unwrap(), None, "cut to {length} bytes");
        }
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 0x55;
            fs::write(&path, damaged).unwrap();
            assert_eq!(read(&path).unwrap(), None, "byte {index}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(&folder.path().join("no/such.txt"), "x\n").is_err());
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write(&folder.path().join("taken"), "x\n").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
