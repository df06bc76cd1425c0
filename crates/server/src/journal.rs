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

mod entry;
mod server;

use crate::masks::{self, MaskError};
use crate::{proc, users};
use entry::{Entry, Here, Thread};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use threadwise_machine::{CpuSet, pin};

/// No journal is longer; a longer file is damage.
const MAX_BYTES: u64 = 16 << 20;

/// Why a mask was not written down, or none was put back.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder or the file is not safe to believe.
    #[error("journal {} is not used: {why}", .path.display())]
    Unsafe {
        /// The journal.
        path: PathBuf,
        /// What is wrong, and what is wanted.
        why: String,
    },
    /// The file cannot be made, read or written.
    #[error("cannot {action} journal {}: {source}; no mask is changed without it", .path.display())]
    File {
        /// `open`, `lock`, `read`, `write`.
        action: &'static str,
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The thread is no more.
    #[error("thread {tid} of process {pid} has ended; look for the server's threads again")]
    Ended {
        /// The process.
        pid: u32,
        /// The thread.
        tid: u32,
    },
}

/// What [`restore`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// Threads that have their first mask again.
    pub put_back: usize,
    /// Threads that have ended.
    pub gone: usize,
    /// One sentence for each line that could not be acted on.
    pub failed: Vec<String>,
}

/// A journal to write to. Several may be open for one file, in one process and in many.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    name: OsString,
    folder: OwnedFd,
}

impl Journal {
    /// Opens the journal at `path`, an absolute one, and makes it if it is not there.
    ///
    /// # Errors
    /// Its folder is not a 0700 folder of ours, or it is a link or no plain file of ours.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let (folder, name) = open_folder(path)?;
        let journal = Self { path: path.to_owned(), name: name.to_owned(), folder };
        journal.open_file()?;
        rustix::fs::fsync(&journal.folder).map_err(|source| file_error("write", path, source.into()))?;
        Ok(journal)
    }

    /// Writes down the present mask of a thread, durably, unless it is there already. Only after that
    /// may the caller change it.
    ///
    /// # Errors
    /// The thread has ended, or the journal cannot be written.
    pub fn record(&self, pid: u32, tid: u32) -> Result<(), JournalError> {
        match self.record_all(&[(pid, tid)])?.is_empty() {
            true => Err(JournalError::Ended { pid, tid }),
            false => Ok(()),
        }
    }

    /// As [`Journal::record`], for many threads (process, thread) at the cost of one. Gives those that
    /// are in the journal now; the others have ended.
    ///
    /// # Errors
    /// The journal cannot be written, and no mask may be changed.
    pub fn record_all(&self, threads: &[(u32, u32)]) -> Result<Vec<(u32, u32)>, JournalError> {
        // Opened anew, since a lock belongs to the open file, which threads and forks would share.
        let mut file = self.open_file()?;
        file.lock().map_err(|source| file_error("lock", &self.path, source))?;
        let text = read(&mut file, &self.path)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let here = Here::now();
        let entries: Vec<Entry> = text[..whole]
            .lines()
            .filter_map(|line| Entry::parse(line).ok())
            .filter(|entry| entry.here == here)
            .collect();
        let mut known: BTreeSet<Thread> = entries.iter().map(|entry| entry.thread).collect();
        let (mut lines, mut recorded) = (String::new(), Vec::new());
        let mut write = |thread: Thread, mask: CpuSet| {
            if known.insert(thread) {
                lines.push_str(&Entry { here: here.clone(), thread, mask }.line());
            }
        };
        for &(pid, tid) in threads {
            let Some((thread, mask)) = look(pid, tid) else { continue };
            match first_mask(&entries, pid) {
                // Started since then, perhaps by a thread that is bound: its own mask says nothing.
                Some(first) => write(thread, first),
                None => {
                    write(thread, mask);
                    // All of a process at once, so that one without a line is known to be new.
                    let others = proc::threads(pid).into_iter().filter_map(|(other, _)| look(pid, other));
                    others.for_each(|(other, mask)| write(other, mask));
                }
            }
            recorded.push((pid, tid));
        }
        if !lines.is_empty() {
            append(&mut file, whole as u64, &lines)
                .map_err(|source| file_error("write", &self.path, source))?;
        }
        Ok(recorded)
    }

    fn open_file(&self) -> Result<File, JournalError> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        open_file(&self.folder, &self.name, flags, &self.path)
    }
}

/// Gives every thread of the journal at `path` that still lives the mask that it had at first, and
/// reads it back. A journal that is not there has nothing to put back. May be repeated.
///
/// # Errors
/// The journal cannot be read, or could have been written by others; nothing has been changed then.
pub fn restore(path: &Path) -> Result<Restored, JournalError> {
    if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Ok(Restored::default());
    }
    let (folder, name) = open_folder(path)?;
    // For writing too, which some network file systems want of who locks.
    let mut file = open_file(&folder, name, OFlags::RDWR, path)?;
    // Whoever is writing a line has not changed the mask yet.
    file.lock().map_err(|source| file_error("lock", path, source))?;
    let text = read(&mut file, path)?;
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let here = Here::now();
    let mut restored = Restored::default();
    let mut seen = BTreeSet::new();
    let (mut entries, mut servers) = (Vec::new(), Vec::new());
    for (index, line) in text[..whole].lines().enumerate() {
        if let Some(Ok(entry)) = server::parse(line) {
            servers.extend((entry.here == here).then_some(entry));
            continue;
        }
        match Entry::parse(line) {
            Ok(entry) if entry.here.boot != here.boot => restored.gone += 1,
            Ok(entry) if entry.here.pid_namespace != here.pid_namespace => restored.failed.push(format!(
                "line {}: thread {} was written down in another PID namespace (container); put it back there",
                index + 1,
                entry.thread.tid
            )),
            Ok(entry) if !seen.insert(entry.thread) => {}
            Ok(entry) => {
                match put_back(&entry) {
                    Ok(true) => restored.put_back += 1,
                    Ok(false) => restored.gone += 1,
                    Err(why) => restored.failed.push(format!("line {}: {why}", index + 1)),
                }
                entries.push(entry);
            }
            Err(why) => {
                restored.failed.push(format!("line {} is damaged and was left out: {why}", index + 1))
            }
        }
    }
    match servers.is_empty() {
        true => put_back_heirs(&entries, &mut restored),
        false => server::put_back_heirs(&entries, &servers, &mut restored),
    }
    Ok(restored)
}

/// The mask that a process's first thread had, if it is the same process still.
fn first_mask(entries: &[Entry], pid: u32) -> Option<CpuSet> {
    let first = entries.iter().find(|entry| entry.thread.pid == pid && entry.thread.tid == pid)?;
    (proc::start_time(pid, pid) == Some(first.thread.start)).then(|| first.mask.clone())
}

/// Threads without a line began after their process was written down, and may have inherited a mask of
/// ours; they get that of the process's first thread. Twice, since one may start another meanwhile.
fn put_back_heirs(entries: &[Entry], restored: &mut Restored) {
    let known: BTreeSet<Thread> = entries.iter().map(|entry| entry.thread).collect();
    let pids: BTreeSet<u32> = known.iter().map(|thread| thread.pid).collect();
    for pid in pids.iter().chain(&pids) {
        let Some(mask) = first_mask(entries, *pid) else { continue };
        for (tid, _) in proc::threads(*pid) {
            let Some((thread, present)) = look(*pid, tid) else { continue };
            if known.contains(&thread) || agrees(&mask, &present, online().as_ref()) {
                continue;
            }
            let here = Here::now();
            match put_back(&Entry { here, thread, mask: mask.clone() }) {
                Ok(true) => restored.put_back += 1,
                Ok(false) => {}
                Err(why) => restored.failed.push(format!("thread {tid} of process {pid}: {why}")),
            }
        }
    }
}

/// `false` when the thread has ended.
fn put_back(entry: &Entry) -> Result<bool, String> {
    let Thread { pid, tid, start } = entry.thread;
    if proc::start_time(pid, tid) != Some(start) {
        return Ok(false);
    }
    let own = rustix::process::geteuid().as_raw();
    if !users::is_root() && proc::owner(pid).is_some_and(|owner| owner.uid != own) {
        return Err(format!("process {pid} belongs to another user; put it back as that user or as root"));
    }
    match masks::set_and_read(tid, &entry.mask) {
        Ok(actual) if agrees(&entry.mask, &actual, online().as_ref()) => Ok(true),
        Ok(actual) => Err(MaskError::Differs { tid, wanted: entry.mask.clone(), actual }.to_string()),
        Err(MaskError::Ended { .. }) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

/// A mask that nobody ever set also names logical CPUs that are not there, which the kernel leaves out
/// when it is set.
fn agrees(wanted: &CpuSet, actual: &CpuSet, online: Option<&CpuSet>) -> bool {
    wanted == actual
        || online.is_some_and(|online| {
            actual.is_subset(wanted) && wanted.intersection(online) == actual.intersection(online)
        })
}

fn online() -> Option<CpuSet> {
    CpuSet::parse_list(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?).ok()
}

/// A thread and its mask, both of the same thread.
fn look(pid: u32, tid: u32) -> Option<(Thread, CpuSet)> {
    let start = proc::start_time(pid, tid)?;
    let mask = pin::thread_affinity(pid, tid).ok()?;
    (proc::start_time(pid, tid) == Some(start)).then_some((Thread { pid, tid, start }, mask))
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::File { action, path: path.to_owned(), source }
}

/// The folder of a journal, checked, and the journal's name in it.
fn open_folder(path: &Path) -> Result<(OwnedFd, &OsStr), JournalError> {
    let refuse = |why: String| JournalError::Unsafe { path: path.to_owned(), why };
    let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
        return Err(refuse("its path is not an absolute one of a file".into()));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, parent, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR => refuse("its folder is a link or no folder".into()),
        error => file_error("open", path, error.into()),
    })?;
    let entry = fstat(&folder).map_err(|error| file_error("open", path, error.into()))?;
    let own = rustix::process::geteuid().as_raw();
    if entry.st_uid != own {
        return Err(refuse("its folder belongs to another user".into()));
    }
    let mode = entry.st_mode & 0o777;
    if mode & 0o077 != 0 {
        return Err(refuse(format!("its folder has mode {mode:04o} and others may look in; 0700 is wanted")));
    }
    Ok((folder, name))
}

fn open_file(folder: &OwnedFd, name: &OsStr, flags: OFlags, path: &Path) -> Result<File, JournalError> {
    let refuse = |why: &str| JournalError::Unsafe { path: path.to_owned(), why: why.to_owned() };
    // Without waiting for the other end of a pipe.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(|error| match error {
        Errno::LOOP => refuse("it is a link"),
        error => file_error("open", path, error.into()),
    })?;
    let entry = fstat(&file).map_err(|error| file_error("open", path, error.into()))?;
    if FileType::from_raw_mode(entry.st_mode) != FileType::RegularFile {
        return Err(refuse("it is no plain file"));
    }
    if entry.st_uid != rustix::process::geteuid().as_raw()
        || entry.st_mode & 0o022 != 0
        || entry.st_nlink != 1
    {
        return Err(refuse("others may write it: it has to be ours, with mode 0600 and one name"));
    }
    Ok(File::from(file))
}

fn read(file: &mut File, path: &Path) -> Result<String, JournalError> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|source| file_error("read", path, source))?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("it is longer than {} MiB", MAX_BYTES >> 20);
        return Err(JournalError::Unsafe { path: path.to_owned(), why });
    }
    // Damage must not keep the whole lines from being put back; what replaces it parses as nothing.
    // Only its own bytes count as positions in the file, see `append`.
    Ok(bytes.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { '?' }).collect())
}

/// Adds lines behind the last whole one, durably or not at all.
fn append(file: &mut File, whole: u64, lines: &str) -> io::Result<()> {
    if whole + lines.len() as u64 > MAX_BYTES {
        // Nobody would read it any more, and what is in it could not be put back.
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.set_len(whole)?;
    let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // A half line would do no harm either.
        let _ = file.set_len(whole);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_are_not_there_do_not_count() {
        let set = |list| CpuSet::parse_list(list).unwrap();
        let online = set("0-3");
        assert!(agrees(&set("0-1"), &set("0-1"), None));
        assert!(!agrees(&set("0-7"), &set("0-3"), None));
        assert!(agrees(&set("0-7"), &set("0-3"), Some(&online)));
        assert!(!agrees(&set("0-7"), &set("0-2"), Some(&online)), "3 is online and missing");
        assert!(!agrees(&set("0-1"), &set("0-1,9"), Some(&online)), "9 was not wanted");
    }
}
