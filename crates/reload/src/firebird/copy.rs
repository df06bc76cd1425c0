//! Copying a database that is locked.

use crate::driver::ReloadItem;
use crate::error::ItemError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes copied between two checks whether the user asked to stop.
const CHUNK_BYTES: u64 = 64 << 20;

/// Copies a locked database by the kernel, which shares its blocks if the file system can.
///
/// # Errors
/// The copy is incomplete, or the user asked to stop.
pub(super) fn copy(from: &File, to: &Path, reload: &ReloadItem) -> Result<(), ItemError> {
    let failed = |error: io::Error| ItemError::failed(format!("cannot copy it to {}: {error}", to.display()));
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    let mut from = from;
    from.rewind().map_err(failed)?;
    while io::copy(&mut from.take(CHUNK_BYTES), &mut copy).map_err(failed)? > 0 {
        reload.unless_stopped()?;
    }
    Ok(())
}
