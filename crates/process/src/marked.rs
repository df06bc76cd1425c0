//! Processes with threadwise's mark in their environment, and their end: what remains of commands and workers
//! that have ended or were killed. They may work in any folder and have any name; all their descendants inherit
//! their environment.
//!
//! Source: `proc_pid_environ(5)` (the environment at the program's start). A process that
//! cleared its environment, or that this user may not inspect, is not found.

use crate::proc;
use rustix::process::Signal;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The variable; its value is a path in the study's folder, which need not exist.
pub const VARIABLE: &str = "THREADWISE_RUN";

/// Pause between two checks.
const STEP: Duration = Duration::from_millis(5);

/// Processes whose mark is `folder` or below it, except this one.
pub fn by(folder: &Path) -> Vec<u32> {
    let mut pids = proc::processes();
    pids.retain(|&pid| pid != std::process::id() && carries(pid, folder));
    pids.sort_unstable();
    pids
}

/// Kills the calling process's children whose mark `is_meant` accepts; returns how many.
pub fn kill_children(is_meant: &dyn Fn(&Path) -> bool) -> usize {
    let this = std::process::id();
    let is_worker = |pid| proc::parent(pid) == Some(this) && mark(pid).is_some_and(|mark| is_meant(&mark));
    let kill = |pid: &u32| proc::signal_if(*pid, Signal::KILL, || is_worker(*pid));
    proc::children(this).iter().filter(|pid| matches!(kill(pid), Ok(true))).count()
}

/// Kills the processes of [`by`] until none is left, for at most `limit`.
///
/// # Errors
/// The numbers of those that still live.
pub fn end(folder: &Path, limit: Duration) -> Result<(), Vec<u32>> {
    let until = Instant::now() + limit;
    // One pass is not enough: a process may have started another meanwhile and ended.
    let mut looked_in_vain = 0;
    loop {
        let pids = by(folder);
        looked_in_vain = if pids.is_empty() { looked_in_vain + 1 } else { 0 };
        if looked_in_vain == 2 {
            return Ok(());
        }
        if pids.is_empty() {
            continue;
        }
        for &pid in &pids {
            // One that may not be sent a signal is found again.
            let _ = proc::signal_if(pid, Signal::KILL, || carries(pid, folder));
        }
        if Instant::now() >= until {
            return Err(pids);
        }
        std::thread::sleep(STEP);
    }
}

fn carries(pid: u32, folder: &Path) -> bool {
    mark(pid).is_some_and(|mark| mark.starts_with(folder))
}

/// `None` for one that has ended, is another user's, or is a kernel thread.
fn mark(pid: u32) -> Option<PathBuf> {
    marks(&fs::read(format!("/proc/{pid}/environ")).ok()?)
}

fn marks(environment: &[u8]) -> Option<PathBuf> {
    environment.split(|&byte| byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(value.to_vec())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_mark_is_one_entry_of_the_environment() {
        let environment = b"A=1\0THREADWISE_RUNNER=/x\0THREADWISE_RUN=/tmp/a b/run-1\0B=2\0";
        assert_eq!(marks(environment), Some(PathBuf::from("/tmp/a b/run-1")));
        assert_eq!(marks(b"A=THREADWISE_RUN=/x\0"), None);
        assert_eq!(marks(b""), None);
    }

    #[test]
    fn marked_processes_are_ended_and_others_spared() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sleep = |mark: &Path| {
            let mut command = Command::new("sh");
            // Its child has the mark from it, and outlives it.
            command.args(["-c", "sleep 600 & sleep 600"]).env(VARIABLE, mark).stdin(Stdio::null());
            command.spawn().unwrap()
        };
        let (mut meant, mut other) =
            (sleep(&folder.path().join("run-1")), sleep(&elsewhere.path().join("run-1")));
        while by(folder.path()).len() < 3 {
            std::thread::yield_now();
        }
        assert_eq!(end(folder.path(), Duration::from_secs(60)), Ok(()));
        assert!(by(folder.path()).is_empty());
        meant.wait().unwrap();
        assert!(other.try_wait().unwrap().is_none());
        assert!(by(elsewhere.path()).contains(&other.id()));
        assert_eq!(end(elsewhere.path(), Duration::from_secs(60)), Ok(()));
        other.wait().unwrap();
    }
}
