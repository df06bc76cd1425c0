//! Processes that work in one of threadwise's folders, and their end: what remains of servers whose starter was
//! killed.
//!
//! A server works in its data directory, so /proc/PID/cwd finds it and all its descendants, including those
//! in their own session or adopted ones. Source: `proc_pid_cwd(5)`, `pidfd_open(2)` (a number may
//! be reused between a check and a signal; a pidfd may not), `mount_namespaces(7)`
//! (a path is valid in one mount namespace only).

use crate::as_owner;
use crate::proc;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// Pause between two checks.
const STEP: Duration = Duration::from_millis(5);
/// Suffix of the kernel for the path of a removed folder.
const DELETED: &[u8] = b" (deleted)";

/// Why processes of a folder were not ended.
#[derive(Debug, thiserror::Error)]
pub enum FolderProcessesError {
    /// The folder is not one to end processes in.
    #[error("no process is ended in '{}': {why}", .folder.display())]
    Folder {
        /// The folder as given.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Some still live.
    #[error(
        "{} of folder '{}' still live{}: end them by hand",
        processes(.pids), .folder.display(), .why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
    )]
    Left {
        /// The folder.
        folder: PathBuf,
        /// Their numbers.
        pids: Vec<u32>,
        /// The kernel's error for the last attempt, if it refused.
        why: Option<io::Error>,
    },
}

/// Processes whose current folder is `folder` or below it, even if it has been removed. This process, its
/// ancestors, and process 1 are left out.
///
/// # Errors
/// The folder is relative, or `/`, or directly below it, or not readable.
pub fn in_folder(folder: &Path) -> Result<Vec<u32>, FolderProcessesError> {
    Ok(find(&real(folder)?, &|_| true))
}

/// Ends the processes of [`in_folder`]: those of PostgreSQL in order, for at most `limit`, since a killed one leaves
/// shared memory; then kills until none is left, again for at most `limit`. Returns how many were killed. For a folder
/// that a user's shell may be in, use [`end_programs_in_folder`].
///
/// # Errors
/// As [`in_folder`]; or some still live.
pub fn end_in_folder(folder: &Path, limit: Duration) -> Result<usize, FolderProcessesError> {
    end(folder, &|_| true, limit)
}

/// As [`end_in_folder`], for processes of the named programs (as in /proc/PID/comm): other processes in the folder,
/// such as a shell, are left alone.
///
/// # Errors
/// As [`end_in_folder`].
pub fn end_programs_in_folder(
    folder: &Path,
    programs: &[&str],
    limit: Duration,
) -> Result<usize, FolderProcessesError> {
    end(folder, &|pid| proc::comm(pid).is_some_and(|comm| programs.contains(&comm.as_str())), limit)
}

fn end(
    folder: &Path,
    is_meant: &dyn Fn(u32) -> bool,
    limit: Duration,
) -> Result<usize, FolderProcessesError> {
    let real = real(folder)?;
    end_in_order(&real, limit);
    let until = Instant::now() + limit;
    let mut ended = BTreeSet::new();
    let mut looked_in_vain = 0;
    loop {
        let pids = find(&real, is_meant);
        // One pass is not enough: a process may have started another meanwhile and ended.
        looked_in_vain = if pids.is_empty() { looked_in_vain + 1 } else { 0 };
        if looked_in_vain == 2 {
            return Ok(ended.len());
        }
        let mut why = None;
        for &pid in &pids {
            let start = proc::start_time(pid, pid);
            match send(pid, &real, Signal::KILL) {
                Ok(true) => drop(ended.insert((pid, start))),
                Ok(false) => {}
                Err(error) => why = Some(error.into()),
            }
        }
        if !pids.is_empty() && Instant::now() >= until {
            return Err(FolderProcessesError::Left { folder: folder.to_owned(), pids, why });
        }
        if !pids.is_empty() {
            std::thread::sleep(STEP);
        }
    }
}

/// Asks PostgreSQL's programs to end, and waits for them until the limit: initdb too, which otherwise would start
/// the next server.
fn end_in_order(folder: &Path, limit: Duration) {
    let until = Instant::now() + limit;
    let mut asked = BTreeSet::new();
    loop {
        let pids = find(folder, &|_| true);
        let ends: Vec<(u32, Option<Signal>)> =
            pids.iter().filter_map(|&pid| Some((pid, end_of(pid)?))).collect();
        if ends.is_empty() || Instant::now() >= until {
            return;
        }
        for (pid, signal) in ends {
            if let Some(signal) = signal
                && asked.insert((pid, proc::start_time(pid, pid)))
            {
                // One that may not be sent a signal is killed or listed afterwards.
                let _ = send(pid, folder, signal);
            }
        }
        std::thread::sleep(STEP);
    }
}

/// The signal on which a program of PostgreSQL ends in order; `Some(None)` for one that gets none, since any kills
/// it and leaves its shared memory: a server without a postmaster, which ends when initdb, whose output it reads, does.
/// `None` for other programs, and for processes that end with their postmaster.
///
/// Source: PostgreSQL, `src/bin/initdb/initdb.c` (`trapsig`), `src/backend/bootstrap/bootstrap.c` (`bootstrap_signals`),
/// `src/backend/main/main.c` (the first argument, which begins with two dashes, is the kind of server).
fn end_of(pid: u32) -> Option<Option<Signal>> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0);
    let program = Path::new(OsStr::from_bytes(words.next()?)).file_name()?;
    match words.next()? {
        _ if program == "initdb" => Some(Some(Signal::TERM)),
        b"--boot" | b"--check" | b"--single" => Some(None),
        b"-D" => {
            let data = Path::new(OsStr::from_bytes(words.next()?));
            let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
            (file.lines().next()?.trim().parse() == Ok(pid)).then_some(Some(Signal::QUIT))
        }
        _ => None,
    }
}

/// The folder without links, even if it or the end of its path does not exist.
fn real(folder: &Path) -> Result<PathBuf, FolderProcessesError> {
    let refuse = |why: &str| FolderProcessesError::Folder { folder: folder.to_owned(), why: why.to_owned() };
    if !folder.is_absolute() || folder.components().any(|step| step == Component::ParentDir) {
        return Err(refuse("its path is not absolute"));
    }
    let resolved = folder.ancestors().find_map(|there| match fs::canonicalize(there) {
        Ok(real) => {
            let rest = folder.strip_prefix(there).unwrap_or(Path::new(""));
            // Joining nothing would add a slash.
            Some(Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error)),
    });
    let real = match resolved {
        Some(Ok(real)) => real,
        Some(Err(error)) => return Err(refuse(&error.to_string())),
        None => return Err(refuse("there is no such path")),
    };
    match real.components().filter(|step| matches!(step, Component::Normal(_))).count() {
        0 | 1 => Err(refuse("it is too near to the root to be a threadwise folder")),
        _ => Ok(real),
    }
}

fn find(folder: &Path, is_meant: &dyn Fn(u32) -> bool) -> Vec<u32> {
    let spared = spared();
    let mut pids = proc::processes();
    pids.retain(|pid| !spared.contains(pid) && is_meant(*pid) && lives_in(*pid, folder));
    pids.sort_unstable();
    pids
}

/// Process 1, this process and its ancestors.
fn spared() -> BTreeSet<u32> {
    let mut spared = BTreeSet::from([1]);
    let mut at = Some(std::process::id());
    while let Some(pid) = at.filter(|&pid| pid != 0) {
        if !spared.insert(pid) {
            break;
        }
        at = proc::parent(pid);
    }
    spared
}

fn lives_in(pid: u32, folder: &Path) -> bool {
    let seen = match current_folder(pid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            as_owner::run(pid, || current_folder(pid)).unwrap_or(Err(error))
        }
        other => other,
    };
    // Ended, a zombie (which has no folder), or a process of another user.
    seen.is_ok_and(|current| current.is_some_and(|current| current.starts_with(folder)))
}

/// `None` for a process in another mount namespace.
fn current_folder(pid: u32) -> io::Result<Option<PathBuf>> {
    let mounts = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt"));
    // A kernel without namespaces has no such file.
    if let Ok(ours) = mounts("self")
        && mounts(&pid.to_string())? != ours
    {
        return Ok(None);
    }
    let link = PathBuf::from(format!("/proc/{pid}/cwd"));
    match fs::read_link(&link) {
        Ok(text) => Ok(Some(without_mark(&link, text))),
        // The first thread has ended; others may continue.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let links = proc::numbers(&format!("/proc/{pid}/task"))
                .into_iter()
                .map(|tid| PathBuf::from(format!("/proc/{pid}/task/{tid}/cwd")));
            let mut found = links.filter_map(|link| Some(without_mark(&link, fs::read_link(&link).ok()?)));
            found.next().map(Some).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// The path less the kernel's suffix for a removed folder. A folder may also have such a name: then its path
/// leads to it.
fn without_mark(link: &Path, text: PathBuf) -> PathBuf {
    let Some(stripped) = text.as_os_str().as_bytes().strip_suffix(DELETED) else { return text };
    let identity = |path: &Path| fs::metadata(path).ok().map(|entry| (entry.dev(), entry.ino()));
    match (identity(link), identity(&text)) {
        (Some(real), Some(named)) if real == named => text,
        _ => PathBuf::from(OsString::from_vec(stripped.to_vec())),
    }
}

/// Sends a signal to a process if it still works in the folder; returns `false` if not.
fn send(pid: u32, folder: &Path, signal: Signal) -> rustix::io::Result<bool> {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    let handle = match pidfd_open(number, PidfdFlags::empty()) {
        Ok(handle) => Some(handle),
        Err(Errno::SRCH) => return Ok(false),
        // Before Linux 5.3, or hidden by a seccomp filter: by number, right after the check.
        Err(_) => None,
    };
    if !lives_in(pid, folder) {
        return Ok(false);
    }
    let send = || match &handle {
        Some(handle) => pidfd_send_signal(handle, signal),
        None => kill_process(number, signal),
    };
    let sent = match send() {
        Err(Errno::PERM) => as_owner::run(pid, send).unwrap_or(Err(Errno::PERM)),
        other => other,
    };
    match sent {
        Err(Errno::SRCH) => Ok(false),
        other => other.map(|()| true),
    }
}

fn processes(pids: &[u32]) -> String {
    let numbers: Vec<String> = pids.iter().map(u32::to_string).collect();
    format!("{} {}", if pids.len() == 1 { "process" } else { "processes" }, numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_near_the_root_and_relative_ones_are_refused() {
        for folder in ["/", "/tmp", "/nowhere", "//", "tmp/a", "", "/tmp/a/../..", "/proc/self/root"] {
            let error = in_folder(Path::new(folder)).unwrap_err();
            assert!(matches!(error, FolderProcessesError::Folder { .. }), "{folder}: {error}");
            assert!(end_in_folder(Path::new(folder), Duration::ZERO).is_err(), "{folder}");
        }
    }

    #[test]
    fn links_are_followed_and_what_is_gone_keeps_its_name() {
        let root = tempfile::tempdir().unwrap();
        let there = fs::canonicalize(root.path()).unwrap();
        std::os::unix::fs::symlink(&there, there.join("link")).unwrap();
        assert_eq!(real(&there.join("link")).unwrap(), there);
        assert_eq!(real(&there.join("link/gone/deep")).unwrap(), there.join("gone/deep"));
    }

    #[test]
    fn a_folder_may_be_named_as_if_it_were_removed() {
        let root = tempfile::tempdir().unwrap();
        let odd = root.path().join("a (deleted)");
        fs::create_dir(&odd).unwrap();
        assert_eq!(without_mark(&odd, odd.clone()), odd);
        assert_eq!(without_mark(Path::new("/nowhere"), odd.clone()), root.path().join("a"));
        assert_eq!(without_mark(&odd, PathBuf::from("/a")), Path::new("/a"));
    }

    #[test]
    fn we_and_those_before_us_are_spared() {
        let spared = spared();
        assert!(spared.contains(&std::process::id()) && spared.contains(&1));
        let parent = std::os::unix::process::parent_id();
        assert!(parent == 0 || spared.contains(&parent));
    }

    #[test]
    fn numbers_are_reported() {
        let left = |pids: &[u32]| {
            let folder = "/tmp/x".into();
            FolderProcessesError::Left { folder, pids: pids.to_vec(), why: None }.to_string()
        };
        assert_eq!(left(&[7]), "process 7 of folder '/tmp/x' still live: end them by hand");
        assert!(left(&[7, 8]).starts_with("processes 7, 8 of"));
    }
}
