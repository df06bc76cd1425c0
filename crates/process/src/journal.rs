//! Masks of processes that are not ours, written down before they are changed, and put back.
//!
//! One line a thread: `v1 BOOT PIDNS PID TID START MASK`, which names the thread beyond doubt (a number
//! alone may be given again, also after a restart of the machine or in another PID namespace). The
//! first mask of a thread counts, whoever writes: lines are added under a lock and only for threads
//! that have none. A line without its end was cut off before anything was changed.
//!
//! The file is believed only as far as nobody else could have written it: it is a plain file of ours in
//! a 0700 folder of ours, opened without following links, and a line may name only what we may touch.
//! Source: `flock(2)`, `open(2)`, `fsync(2)`, `proc_pid_stat(5)`, `pid_namespaces(7)`.
//!
//! What a bound thread starts inherits its mask. All threads of a process are written down when its first
//! one is, so that a thread without a line is known to be new; it gets the mask of its process's first
//! thread. A new *process* is not known, so what starts processes (the postmaster) is left as it is,
//! unless the whole server is bound and written down as such (`server`).
//!
//! Each study has a file of its own in the user's state folder ([`crate::state`]). The file's name says
//! which process measures, and lines `owner BOOT PIDNS PID START` which workers write to it. It is put
//! back and removed by whoever comes first when all of these have ended: the study's end, its janitor, or
//! the next command of that user ([`put_left_back`]). While one of them lives nobody else touches it.
//!
//! Other state of the machine is journalled in files of the same form, in the same folder, under the same
//! rules ([`Locked`]), by whoever changes it.

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

pub use entry::{Entry, Here, Thread};
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

/// Why masks are left alone where [`new_path`] gave nothing.
pub const NO_JOURNAL: &str =
    "its masks would not be put back: there is no folder for a journal, set THREADWISE_STATE_DIR";

/// A path for the journal of the calling process, which nobody else has, in the user's state folder. Nothing
/// is made yet.
///
/// # Errors
/// There is no place for such a folder; in one line.
pub fn new_path() -> Result<PathBuf, String> {
    state::folder().map(|folder| folder.join(Owner::this().new_name(MASKS)))
}

/// Makes the folder of a journal, if it is not there, and looks whether a journal in it would be believed.
///
/// # Errors
/// It cannot be made, or is not a 0700 folder of ours.
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
    /// Opens the journal at `path`, an absolute one, and makes it and its folder if they are not there.
    /// As long as the calling process lives, no other process puts back what is in it.
    ///
    /// # Errors
    /// Its folder is not a 0700 folder of ours, or it is a link or no plain file of ours; it cannot be
    /// written.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        make_folder(path)?;
        let (folder, name) = open_folder(path)?;
        let journal = Self { path: path.to_owned(), name: name.to_owned(), folder };
        // Removed by another process between opening and locking: made again.
        while !journal.enter(&mut journal.open_file(OFlags::CREATE)?)? {}
        rustix::fs::fsync(&journal.folder).map_err(|source| file_error("write", path, source.into()))?;
        Ok(journal)
    }

    /// Names this process as an owner, once. `false` where the file has lost its name.
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
        // Opened again, since a lock belongs to the open file, which threads and forks would share.
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

/// The mask that a process's first thread had, if it is the same process still.
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
