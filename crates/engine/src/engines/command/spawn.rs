//! Starting a command's process and learning what it used. The only module of this engine with
//! `unsafe`.
//!
//! Source: `fork(2)`, `signal-safety(7)` (between fork and exec only async-signal-safe calls),
//! `PR_SET_PDEATHSIG(2const)` (the signal comes when the *thread* that forked ends), `wait4(2)` and
//! `getrusage(2)`: what a child used includes its own children, as far as it waited for them; blocks
//! of input and output are of 512 bytes, as in `du(1)`.
#![allow(unsafe_code)]

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, set_parent_process_death_signal, waitid,
};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use threadwise_machine::{CpuSet, pin};
use threadwise_process::marked;

use crate::clock;
use crate::protocol::REPLY_FD;

/// What to start, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    /// The program and its arguments, filled in.
    pub words: &'a [String],
    /// Working directory.
    pub folder: &'a Path,
    /// The engine's folder, by which leftover processes are found after this one was killed.
    pub home: &'a Path,
    /// File for its standard output; truncated.
    pub stdout: &'a Path,
    /// File for its standard error; truncated.
    pub stderr: &'a Path,
    /// Logical CPUs of the process from its first instruction on.
    pub cpus: &'a CpuSet,
    /// File `cgroup.procs` of the control group that counts it.
    pub group: Option<&'a File>,
    /// CLOCK_MONOTONIC before which the program does not begin: what comes before is not part of its
    /// time. Joining a control group alone takes the kernel up to 10 ms.
    pub at_ns: u64,
}

/// How a process ended, and what it used together with the children that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub status: ExitStatus,
    pub used: Used,
}

/// Sums over processes; memory is that of the largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    /// User and system time.
    pub cpu_ns: u64,
    /// Largest resident memory of any single process.
    pub max_rss_bytes: u64,
    /// Read from disks.
    pub read_bytes: u64,
    /// Written to disks, by the process itself.
    pub written_bytes: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Used {
    /// Sum; of memory the larger.
    pub fn and(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            max_rss_bytes: self.max_rss_bytes.max(other.max_rss_bytes),
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// Starts a process in its own process group: nothing on stdin, output into files, no inherited open file,
/// killed when the calling thread ends. Gives its number; the caller reaps it by [`reap`].
///
/// # Errors
/// The files cannot be made, or the program cannot be started there.
pub(super) fn start(start: &Start<'_>) -> io::Result<u32> {
    let (program, args) = start.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let make = |path: &Path| {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(start.folder)
        .env_remove(REPLY_FD)
        .env(marked::VARIABLE, start.home)
        .stdin(Stdio::null())
        .stdout(make(start.stdout)?)
        .stderr(make(start.stderr)?)
        .process_group(0);
    let words = start.cpus.words().to_vec();
    let group = start.group.map(AsRawFd::as_raw_fd);
    let files = open_files();
    let (parent, at_ns) = (getpid(), start.at_ns);
    let in_child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // The parent ended before its death signal was set.
            return Err(Errno::SRCH.into());
        }
        if let Some(group) = group {
            // SAFETY: the parent holds the file open until after the fork.
            let group = unsafe { BorrowedFd::borrow_raw(group) };
            // If the group refuses it, it counts nothing; rusage counts anyway.
            let _ = rustix::io::write(group, b"0");
        }
        pin::set_affinity_raw(&words)?;
        for &file in files.iter().filter(|&&file| file > 2) {
            // SAFETY: the call takes numbers only. A descriptor that is closed by now gives EBADF, which is fine.
            // The child uses no descriptor above 2 after exec, which is when this closes it.
            unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        // Asleep, since a spin would count as the command's CPU time.
        clock::sleep_until_ns(at_ns);
        Ok(())
    };
    // SAFETY: the closure only makes system calls (prctl, getppid, write, sched_setaffinity, fcntl,
    // clock_nanosleep) on values made before the fork, and neither allocates nor takes a
    // lock.
    unsafe { command.pre_exec(in_child) };
    Ok(command.spawn()?.id())
}

/// Numbers of this process's open files.
fn open_files() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Waits for the end of a child without reaping it.
pub(super) fn wait(pid: u32) {
    while has_ended(pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) == Err(Errno::INTR) {}
}

/// Whether a child has ended; true if it is no child (any more).
pub(super) fn is_over(pid: u32) -> bool {
    has_ended(pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG).unwrap_or(true)
}

fn has_ended(pid: u32, options: WaitIdOptions) -> Result<bool, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::CHILD)?;
    waitid(WaitId::Pid(pid), options).map(|status| status.is_some())
}

/// Reaps a child that has ended. `None` if it still runs, or is not a child.
pub(super) fn reap(pid: u32) -> Option<Ended> {
    let number = libc::pid_t::try_from(pid).ok().filter(|&number| number > 0)?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid and writable for the whole call, and as large as the kernel
    // expects; a zeroed rusage is a valid value (it holds integers only).
    let (found, usage) = unsafe {
        let found = libc::wait4(number, &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
        (found, usage.assume_init())
    };
    let time_ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let used = Used {
        cpu_ns: time_ns(usage.ru_utime) + time_ns(usage.ru_stime),
        max_rss_bytes: count(usage.ru_maxrss) * 1024,
        read_bytes: count(usage.ru_inblock) * 512,
        written_bytes: count(usage.ru_oublock) * 512,
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    };
    (found == number).then(|| Ended { status: ExitStatus::from_raw(status), used })
}
