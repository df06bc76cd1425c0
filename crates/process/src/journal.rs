//! Masks of foreign processes, recorded before they are changed, and restored.
//!
//! One line a thread: `v1 BOOT PIDNS PID TID START MASK`, which identifies the thread uniquely (a number
//! alone may be reused, also after a reboot or in another PID namespace). The
//! first mask of a thread counts, whichever process writes: lines are added under a lock and only for threads
//! without one. A line without its end was cut off before anything was changed.
//!
//! The file is trusted only if no other user could have written it: it is a plain file of this user in
//! a 0700 folder of this user, opened without following links, and a line may name only what this user may change.
//! Source: `flock(2)`, `open(2)`, `fsync(2)`, `proc_pid_stat(5)`, `pid_namespaces(7)`.
//!
//! New threads and processes inherit the mask of a bound thread. All threads of a process are recorded with its
//! first one, so that a thread without a line is known to be new; it gets the mask of its process's first
//! thread. A new *process* is not recorded, so what starts processes (the postmaster) is left as it is,
//! unless the whole server is bound and recorded as such (`server`).
//!
//! Each study has its own file in the user's state folder ([`crate::state`]). The file's name identifies
//! the process that measures, and lines `owner BOOT PIDNS PID START` the workers that write to it. When all
//! of these have ended, the first of the study's end, its watchdog, or the next command of that user
//! ([`put_left_back`]) restores and removes it. While one of them lives no other process touches it.
//!
//! Other state of the machine is journalled in files of the same form, in the same folder, under the same
//! rules ([`Locked`]), by the process that changes it.

mod entry;
mod error;
mod file;
mod lasting;
mod left;
mod locked;
mod others;
mod owner;
mod put_back;
mod record;
mod restore;
mod server;

pub use entry::{BootNamespace, Entry, Thread};
pub use error::JournalError;
pub use lasting::{LASTING, has_lasting, kind_of, lasting, left_lasting, says_line};
pub use left::{Bound, PutBack, left, put_left_back};
pub use locked::{Locked, Other, Written};
pub use others::expect_unbound;
pub use put_back::Restored;
pub use restore::{close, restore};

use crate::{proc, state};
use file::{append, file_error, lock, make_folder, open_file, open_folder, read};
use owner::{MASKS, Owner};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use threadwise_machine::{CpuSet, pin};

/// Why masks are not changed if [`new_path`] fails.
pub const NO_JOURNAL: &str =
    "its masks could not be restored: there is no folder for a journal, set THREADWISE_STATE_DIR";

/// A unique path for the journal of the calling process, in the user's state folder. Creates nothing.
///
/// # Errors
/// No such folder is possible; one line.
pub fn new_path() -> Result<PathBuf, String> {
    state::folder().map(|folder| folder.join(Owner::this().new_name(MASKS)))
}

/// Makes the folder of a journal if it does not exist, and checks that a journal in it would be trusted.
///
/// # Errors
/// It cannot be made, or is not a 0700 folder of this user.
pub fn check_folder(path: &Path) -> Result<(), JournalError> {
    make_folder(path)?;
    open_folder(path).map(|_| ())
}

/// A journal to write to. Several may be open for one file, in one process and in many.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    name: OsString,
    folder: OwnedFd,
}

impl Journal {
    /// Opens the journal at `path`, which is absolute, and makes it and its folder if they do not exist.
    /// While the calling process lives, no other process restores its contents.
    ///
    /// # Errors
    /// Its folder is not a 0700 folder of this user, or it is a link or not a plain file of this user; it cannot be
    /// written.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        make_folder(path)?;
        let (folder, name) = open_folder(path)?;
        let journal = Self { path: path.to_owned(), name: name.to_owned(), folder };
        // Another process removed it between opening and locking: make it again.
        while !journal.enter(&mut journal.open_file(OFlags::CREATE)?)? {}
        rustix::fs::fsync(&journal.folder).map_err(|source| file_error("write", path, source.into()))?;
        Ok(journal)
    }

    /// Records this process as an owner, once. `false` if the file has lost its name.
    fn enter(&self, file: &mut File) -> Result<bool, JournalError> {
        if !lock(file, &self.path)? {
            return Ok(false);
        }
        let text = read(file, &self.path)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let line = Owner::this().line();
        if !text[..whole].contains(&line) {
            append(file, whole as u64, &line).map_err(|source| file_error("write", &self.path, source))?;
        }
        Ok(true)
    }

    /// The file, locked, and its text.
    fn locked(&self) -> Result<(File, String), JournalError> {
        // Opened again: a lock belongs to the open file, which threads and forks would share.
        let mut file = self.open_file(OFlags::empty())?;
        if !lock(&file, &self.path)? {
            return Err(file_error("open", &self.path, io::ErrorKind::NotFound.into()));
        }
        let text = read(&mut file, &self.path)?;
        Ok((file, text))
    }

    fn open_file(&self, more: OFlags) -> Result<File, JournalError> {
        open_file(&self.folder, &self.name, OFlags::RDWR | OFlags::APPEND | more, &self.path)
    }
}

/// The mask that a process's first thread had, if it is still the same process.
fn first_mask(entries: &[Entry], pid: u32) -> Option<CpuSet> {
    let first = entries.iter().find(|entry| entry.thread.pid == pid && entry.thread.tid == pid)?;
    (proc::start_time(pid, pid) == Some(first.thread.start)).then(|| first.mask.clone())
}

/// A thread and its mask, both of the same thread.
fn look(pid: u32, tid: u32) -> Option<(Thread, CpuSet)> {
    let start = proc::start_time(pid, tid)?;
    let mask = pin::thread_affinity(pid, tid).ok()?;
    (proc::start_time(pid, tid) == Some(start)).then_some((Thread { pid, tid, start }, mask))
}
