//! Which other processes have a file open: by `/proc/PID/fd`.
//!
//! Source: `proc_pid_fd(5)`. A link's text is read first, since following it to a file on a dead network
//! file system would hang; only names that begin like the file's are followed. Processes of other users
//! can only be seen by root (`PTRACE_MODE_READ_FSCREDS`).

use crate::error::ItemError;
use crate::identity::Inode;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A process that has the file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Processes other than this one that have the file open, as far as this user can see. `name`: the last
/// part of the path that it was opened by.
pub fn others(inode: Inode, name: &Path) -> Vec<Holder> {
    let Some(name) = name.file_name() else { return Vec::new() };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own && has_open(*pid, inode, name.as_bytes()))
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            Holder { pid, name: name.trim_end().to_owned() }
        })
        .collect()
}

fn has_open(pid: u32, inode: Inode, name: &[u8]) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    descriptors.flatten().any(|entry| {
        let path = entry.path();
        let named = fs::read_link(&path)
            .is_ok_and(|to| to.file_name().is_some_and(|last| last.as_bytes().starts_with(name)));
        named && fs::metadata(&path).is_ok_and(|found| (found.dev(), found.ino()) == (inode.dev, inode.ino))
    })
}

/// Waits until no other process has the file open.
///
/// # Errors
/// [`ItemError::Skip`] with who has it open when the time is over; [`ItemError::Stopped`].
pub fn wait_until_alone(
    inode: Inode,
    name: &Path,
    until: Instant,
    stopped: &dyn Fn() -> bool,
) -> Result<(), ItemError> {
    loop {
        let found = others(inode, name);
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
                "in use: {first}{more} has it open; end what uses it, or give a longer --wait"
            )));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
