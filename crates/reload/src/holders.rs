//! Finding the other processes that have a file open, by `/proc/PID/fd`.
//!
//! Source: `proc_pid_fd(5)`. A link's text is read first, since following it to a file on a dead network
//! file system would hang; only names that begin like the file's are followed. Only root can see processes
//! of other users (`PTRACE_MODE_READ_FSCREDS`).

use crate::apart::root;
use crate::error::ItemError;
pub use crate::holder::Holder;
use crate::identity::Inode;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two checks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Processes other than this one that have the file open, as far as visible. `name`: the last
/// part of the path that it was opened by.
pub fn others(inode: Inode, name: &Path) -> Vec<Holder> {
    seen(inode, name).unwrap_or_default()
}

/// As [`others`], but a failure to read is an error: without a free descriptor none would be found.
fn seen(inode: Inode, name: &Path) -> io::Result<Vec<Holder>> {
    let Some(name) = name.file_name() else { return Ok(Vec::new()) };
    root::ask_root(inode, name).unwrap_or_else(|| seen_besides(inode, name, std::process::id()))
}

/// Processes other than this one and `besides` that have a file open whose name begins like this one.
///
/// # Errors
/// No process can be seen.
pub(crate) fn seen_besides(inode: Inode, name: &OsStr, besides: u32) -> io::Result<Vec<Holder>> {
    let left_out = [std::process::id(), besides];
    let mut holders = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?.file_name();
        let Some(pid) = process.to_str().and_then(|text| text.parse::<u32>().ok()) else { continue };
        if !left_out.contains(&pid) && has_open(pid, inode, name.as_bytes())? {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            holders.push(Holder { pid, name: name.trim_end().to_owned() });
        }
    }
    Ok(holders)
}

/// Whether the processes of all users are seen: as root, or with root's help.
pub fn sees_all() -> bool {
    rustix::process::geteuid().is_root() || root::has_root()
}

fn has_open(pid: u32, inode: Inode, name: &[u8]) -> io::Result<bool> {
    let descriptors = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(descriptors) => descriptors,
        Err(error) if is_ours(&error) => return Err(error),
        // Another user's, or ended.
        Err(_) => return Ok(false),
    };
    Ok(descriptors.flatten().any(|entry| {
        let path = entry.path();
        let named = fs::read_link(&path)
            .is_ok_and(|to| to.file_name().is_some_and(|last| last.as_bytes().starts_with(name)));
        named && fs::metadata(&path).is_ok_and(|found| (found.dev(), found.ino()) == (inode.dev, inode.ino))
    }))
}

/// Whether an error concerns this process and not the one that was inspected.
fn is_ours(error: &io::Error) -> bool {
    let ours = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|error| ours.contains(&error))
}

/// Waits until no other process has the file open.
///
/// # Errors
/// [`ItemError::Skip`] with the process that has it open at the timeout; [`ItemError::Stopped`].
pub fn wait_until_alone(
    inode: Inode,
    name: &Path,
    until: Instant,
    stopped: &dyn Fn() -> bool,
) -> Result<(), ItemError> {
    loop {
        let found = seen(inode, name)
            .map_err(|error| ItemError::skip(format!("cannot find in /proc who has it open: {error}")))?;
        let Some(first) = found.first() else { return Ok(()) };
        if stopped() {
            return Err(ItemError::Stopped);
        }
        if Instant::now() >= until {
            let more = match found.len() {
                1 => String::new(),
                number => format!(" and {} more", number - 1),
            };
            return Err(ItemError::skip(format!(
                "in use: opened by {first}{more}; end what uses it, or use a longer --wait"
            )));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
