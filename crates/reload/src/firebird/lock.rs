//! Firebird's own lock of a database file, taken exclusively.

use crate::driver::ReloadItem;
use crate::error::ItemError;
use crate::holders;
use crate::identity::Inode;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of tries for a lock that others hold.
const STEP: Duration = Duration::from_millis(50);

/// The file under the name, locked exclusively while it is open.
pub(super) fn locked(reload: &ReloadItem) -> Result<File, ItemError> {
    let file = open(&reload.database, OFlags::RDONLY).map_err(ItemError::failed)?;
    lock(&file, &reload.database, reload.settings.wait, &|| reload.is_stopped())?;
    Ok(file)
}

pub(super) fn open(path: &Path, access: OFlags) -> Result<File, String> {
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| format!("cannot be opened: {error}"))?,
    );
    match file.metadata() {
        Ok(entry) if entry.is_file() => Ok(file),
        Ok(_) => Err("not a regular file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Takes Firebird's lock exclusively, waiting for others up to the limit.
pub(super) fn lock(
    file: &File,
    path: &Path,
    wait: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), ItemError> {
    let until = Instant::now() + wait;
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if is_stopped() => return Err(ItemError::Stopped),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(STEP),
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(ItemError::skip(in_use(file, path))),
            Err(error) => return Err(ItemError::skip(format!("cannot be locked (flock): {error}"))),
        }
    }
}

/// The processes that use it, as far as visible.
fn in_use(file: &File, path: &Path) -> String {
    let found = file.metadata().map(|entry| Inode { dev: entry.dev(), ino: entry.ino() });
    let found = found.map(|inode| holders::others(inode, path)).unwrap_or_default();
    let who = match found.as_slice() {
        [] => "a process of Firebird".to_owned(),
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    };
    format!("in use: opened by {who}; end what uses it, or use a longer --wait")
}

/// Whether the path leads to this very file.
pub(super) fn is_named(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(named)) = (file.metadata(), path.symlink_metadata()) else { return false };
    (ours.dev(), ours.ino()) == (named.dev(), named.ino())
}
