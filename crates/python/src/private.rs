//! Folders and files for this user only.

use crate::AnalyticsError;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder for this user only, and its missing parents; an existing one stays.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a new file atomically: under another name first, synced, then renamed.
pub(crate) fn write_synced(path: &Path, text: &str) -> Result<(), AnalyticsError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let next = path.with_file_name(name);
    // A leftover of a killed process; the caller holds the lock.
    let _ = fs::remove_file(&next);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.and_then(|()| fs::rename(&next, path)).map_err(AnalyticsError::io("write", path))
}
