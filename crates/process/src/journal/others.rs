//! Records of other running studies: a thread's present mask may be one that such a study set.
//!
//! Two studies of one user know each other by the folder of their journals. Those of different users do not.

use super::entry::{BootNamespace, Entry, Thread};
use super::error::JournalError;
use super::file::{file_error, lock, open_file, open_folder, read};
use super::owner::{MASKS, Owner};
use super::server::{self, ServerEntry};
use crate::find::Server;
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use threadwise_machine::CpuSet;

/// The journal of another running study.
#[derive(Debug)]
pub(super) struct Other {
    /// The process that measures.
    pid: u32,
    entries: Vec<Entry>,
    servers: Vec<ServerEntry>,
}

impl Other {
    /// Whether it binds that server, or a part of it, as a whole.
    fn binds(&self, server: &Server) -> bool {
        let (pid, start) = server.root;
        self.servers.iter().any(|entry| entry.server == *server)
            || self.entries.iter().any(|entry| (entry.thread.pid, entry.thread.start) == (pid, start))
    }
}

/// A thread's own mask, if another study may have set its present one.
pub(super) fn own_mask(others: &[Other], thread: Thread, present: CpuSet) -> CpuSet {
    let mut entries = others.iter().flat_map(|other| &other.entries);
    entries.find(|entry| entry.thread == thread).map_or(present, |entry| entry.mask.clone())
}

/// Keeps other studies of this user from recording masks until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(#[expect(dead_code, reason = "its lock is what counts")] File);

/// Waits for the turn to read masks and record them.
pub(super) fn turn(path: &Path, folder: &OwnedFd) -> Result<Turn, JournalError> {
    // Opened again: a lock belongs to the open file.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, ".", flags, rustix::fs::Mode::empty());
    let file = File::from(opened.map_err(|error| file_error("open", path, error.into()))?);
    lock(&file, path)?;
    Ok(Turn(file))
}

/// The journals of other running studies, in the folder of the journal at `path`.
pub(super) fn running(path: &Path) -> Result<Vec<Other>, JournalError> {
    let (Some(parent), this) = (path.parent(), path.file_name()) else { return Ok(Vec::new()) };
    let names = match fs::read_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|source| file_error("look for a", parent, source))?,
    };
    let here = BootNamespace::now();
    let mut found = Vec::new();
    for name in names.flatten().map(|entry| entry.file_name()).filter(|name| Some(name.as_os_str()) != this) {
        let owner = name.to_str().and_then(|name| Owner::of_name(MASKS, name));
        let Some(owner) = owner.filter(|owner| owner.here == here && owner.is_alive()) else { continue };
        let other = parent.join(&name);
        let (folder, name) = open_folder(&other)?;
        let mut file = match open_file(&folder, name, OFlags::RDONLY, &other) {
            // Its study has just ended.
            Err(JournalError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let (entries, servers) = server::of_here(&read(&mut file, &other)?, &here);
        found.push(Other { pid: owner.pid, entries, servers });
    }
    Ok(found)
}

/// Refuses a server that another study of this user binds, whose present masks are not its own. `path` is that of
/// a journal, which need not exist.
///
/// # Errors
/// [`JournalError::Bound`]; or a journal cannot be read.
pub fn expect_unbound(path: &Path, server: &Server) -> Result<(), JournalError> {
    expect_unbound_by(&running(path)?, server)
}

pub(super) fn expect_unbound_by(others: &[Other], server: &Server) -> Result<(), JournalError> {
    match others.iter().find(|other| other.binds(server)) {
        Some(other) => Err(JournalError::Bound { pid: other.pid }),
        None => Ok(()),
    }
}
