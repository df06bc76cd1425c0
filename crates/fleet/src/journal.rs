//! The journal of submissions: `submitted.jsonl`, a synced line before and after each. A second submit relies on the
//! engine's own list; this file records what was tried, for the user and for jobs that left nothing.

use crate::FleetError;
use crate::cell::CellId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use threadwise_machine::given;

/// Name of the file.
const NAME: &str = "submitted.jsonl";
/// Name of the lock file of `submit`.
const LOCK: &str = "submit.lock";
/// Number of attempts to lock, and the pause between them.
const TRIES: usize = 5;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(40);
/// Maximum bytes of the file.
const MOST_BYTES: u64 = 256 << 20;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number of the submission of this plan, from 1.
    pub attempt: u32,
    /// Time, UTC, RFC 3339.
    pub utc: String,
    /// Cells.
    pub cells: Vec<CellId>,
    /// What happened.
    pub event: Event,
}

/// What happened to cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// They are about to be submitted.
    Submitting,
    /// The engine has accepted them, as this job if it has ids.
    Submitted {
        /// The engine's id.
        job: Option<String>,
    },
    /// The command that ran them itself has failed; cells that left something have their own record.
    EndedBadly {
        /// How, one line.
        why: String,
    },
    /// The engine has rejected them.
    NotSubmitted {
        /// Why, one line.
        why: String,
    },
}

/// The journal of a folder, locked by this process.
pub struct Journal {
    path: PathBuf,
    _lock: File,
    /// Lines so far.
    pub entries: Vec<Entry>,
}

impl Journal {
    /// Opens and locks the journal; another `submit` of the same folder is refused.
    ///
    /// # Errors
    /// [`FleetError::Refused`] if another one runs, or the journal cannot be read.
    pub fn take(dir: &Path) -> Result<Self, FleetError> {
        let lock_path = dir.join(LOCK);
        // Read access too, so that opening a pipe of that name does not block; the folder may come from others.
        let lock = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&lock_path);
        let lock = lock.map_err(|error| FleetError::file("open", &lock_path, &error))?;
        let kind = lock.metadata().map_err(|error| FleetError::file("open", &lock_path, &error))?.file_type();
        if let Some(what) = given::instead(kind) {
            return Err(FleetError::broken(&lock_path, format!("it is {what}, not a file")));
        }
        match patiently(&lock) {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let why =
                    "another threadwise fleet submit of this folder is running: wait until it has ended";
                return Err(FleetError::Refused(format!("{}: {why}", dir.display())));
            }
            Err(std::fs::TryLockError::Error(error)) if has_no_locks(&error) => {}
            Err(std::fs::TryLockError::Error(error)) => {
                return Err(FleetError::file("lock", &lock_path, &error));
            }
        }
        Ok(Self { path: dir.join(NAME), _lock: lock, entries: read(dir)? })
    }

    /// Whether a `submit` of this folder is running; false on file systems without locks.
    pub fn is_taken(dir: &Path) -> bool {
        let lock = given::open(&dir.join(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }

    /// Number of the next submission.
    pub fn next_attempt(&self) -> u32 {
        self.entries.iter().map(|entry| entry.attempt).max().unwrap_or(0).saturating_add(1)
    }

    /// Appends a line durably.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, entry: Entry) -> Result<(), FleetError> {
        let failed = |error: std::io::Error| FleetError::file("write", &self.path, &error);
        let mut line = serde_json::to_string(&entry)
            .map_err(|error| FleetError::Failed(format!("cannot write a line of {NAME}: {error}")))?;
        line.push('\n');
        let mut file =
            OpenOptions::new().create(true).append(true).read(true).open(&self.path).map_err(failed)?;
        // A line that a full disk cut off must not run into the next one.
        if !ends_with_line(&self.path) {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        crate::durable::sync_folder_of(&self.path)?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Locks a file, with retries: a query of the lock holds it for a moment.
fn patiently(lock: &File) -> Result<(), std::fs::TryLockError> {
    for _ in 0..TRIES {
        match lock.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            taken => return taken,
        }
    }
    lock.try_lock()
}

fn ends_with_line(path: &Path) -> bool {
    use std::io::{Seek, SeekFrom};
    let last = || -> std::io::Result<u8> {
        let mut file = given::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    // An empty file has no last byte.
    last().map_or(true, |byte| byte == b'\n')
}

/// Whether a file system has no locks at all, so that other processes are not detected.
pub fn has_no_locks(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::INVAL]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// All readable lines: a line that was cut off is skipped, since it only affects messages.
///
/// # Errors
/// The file exists and cannot be read.
pub fn read(dir: &Path) -> Result<Vec<Entry>, FleetError> {
    let path = dir.join(NAME);
    if path.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let text = crate::durable::read_text(&path, MOST_BYTES)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// The last line of each cell.
pub fn last_of(entries: &[Entry]) -> BTreeMap<&CellId, &Entry> {
    entries.iter().flat_map(|entry| entry.cells.iter().map(move |cell| (cell, entry))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(attempt: u32, event: Event) -> Entry {
        Entry { attempt, utc: "2026-01-01T00:00:00Z".into(), cells: vec!["a.1".parse().unwrap()], event }
    }

    #[test]
    fn lines_come_back_and_a_cut_one_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::take(folder.path()).unwrap();
        assert_eq!(journal.next_attempt(), 1);
        let first = entry(1, Event::Submitting);
        journal.append(first.clone()).unwrap();
        drop(journal);
        let path = folder.path().join(NAME);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"attempt\":2,\"utc\":\"20").unwrap();
        let mut journal = Journal::take(folder.path()).unwrap();
        let second = entry(3, Event::Submitted { job: Some("12".into()) });
        journal.append(second.clone()).unwrap();
        assert_eq!(read(folder.path()).unwrap(), [first, second.clone()]);
        assert_eq!(journal.next_attempt(), 4);
        assert_eq!(last_of(&journal.entries).values().next().unwrap().event, second.event);
    }

    #[test]
    fn only_one_submits() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!Journal::is_taken(folder.path()));
        let first = Journal::take(folder.path()).unwrap();
        assert!(Journal::is_taken(folder.path()));
        assert!(matches!(Journal::take(folder.path()), Err(FleetError::Refused(_))));
        drop(first);
        assert!(Journal::take(folder.path()).is_ok());
    }
}
