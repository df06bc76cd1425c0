//! Files that are complete or absent, even after a power cut: written to another name, synced, renamed, and the folder
//! synced (fsync(2), rename(2); Pillai et al., "All file systems are not created equal", OSDI 2014).

use crate::FleetError;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use threadwise_machine::given;

/// Writes or replaces a file. Other processes see the old or the new one.
///
/// # Errors
/// [`FleetError::File`]; an old file is unchanged.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FleetError> {
    let aside = aside(path);
    let failed = |action: &'static str, error: std::io::Error| {
        // An incomplete file is useless, and its space may be needed.
        let _ = std::fs::remove_file(&aside);
        FleetError::file(action, path, &error)
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(mode);
    let written = options.open(&aside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| failed("write", error))?;
    std::fs::rename(&aside, path).map_err(|error| failed("write", error))?;
    sync_folder_of(path)
}

/// A temporary name beside a file, unique to this process.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

/// Renames a file or folder durably.
///
/// # Errors
/// [`FleetError::File`].
pub fn rename(from: &Path, to: &Path) -> Result<(), FleetError> {
    std::fs::rename(from, to).map_err(|error| FleetError::file("rename", from, &error))?;
    sync_folder_of(to)
}

/// Syncs a file's folder, so that a rename, creation or removal is durable.
///
/// # Errors
/// [`FleetError::File`].
pub fn sync_folder_of(path: &Path) -> Result<(), FleetError> {
    sync(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Syncs a file or folder.
///
/// # Errors
/// [`FleetError::File`].
pub fn sync(path: &Path) -> Result<(), FleetError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    match synced {
        Ok(()) => Ok(()),
        // Some network file systems refuse to sync a folder; nothing else can be done.
        Err(error)
            if path.is_dir() && error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) =>
        {
            Ok(())
        }
        Err(error) => Err(FleetError::file("sync", path, &error)),
    }
}

/// Reads a text of at most this many bytes; longer ones are invalid.
///
/// # Errors
/// [`FleetError::File`], or [`FleetError::Broken`] if it is too long or not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> Result<String, FleetError> {
    given::text(path, most_bytes).map_err(|error| match error.kind() {
        // What it is instead of a valid text.
        ErrorKind::InvalidInput | ErrorKind::InvalidData => FleetError::broken(path, error.to_string()),
        _ => FleetError::file("read", path, &error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one", 0o644).unwrap();
        write(&path, b"two", 0o644).unwrap();
        assert_eq!(read_text(&path, 3).unwrap(), "two");
        assert!(read_text(&path, 2).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("b/c");
        assert!(write(&nowhere, b"x", 0o644).unwrap_err().to_string().contains("b/c"));
    }

    #[test]
    fn where_nothing_can_be_written_the_old_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one", 0o644).unwrap();
        // A folder in the place of the file that is written first.
        std::fs::create_dir(aside(&path)).unwrap();
        assert!(write(&path, b"two", 0o644).is_err());
        assert_eq!(read_text(&path, 9).unwrap(), "one");
    }
}
