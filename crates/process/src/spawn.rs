//! Starting a server or one of its tools. The only module of this crate with `unsafe`.
//!
//! Source: `fork(2)`, `signal-safety(7)` (between fork and exec only async-signal-safe calls),
//! `PR_SET_PDEATHSIG(2const)`: the signal comes when the *thread* that forked ends, so a server is
//! started from the worker's main thread; and a change of user clears the request, so it is made after
//! it (`std` changes user, group and folder before it runs the closure in the child).
#![allow(unsafe_code)]

use crate::stopping;
use crate::users::User;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use threadwise_machine::{CpuSet, pin};

/// The signal for a program when the thread that started it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeathSignal {
    /// SIGQUIT, on which PostgreSQL's postmaster ends its processes and itself at once.
    Quit,
    /// SIGTERM, on which initdb ends when the server that it runs has ended.
    Terminate,
    /// SIGKILL.
    Kill,
}

impl DeathSignal {
    fn signal(self) -> Signal {
        match self {
            Self::Quit => Signal::QUIT,
            Self::Terminate => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }

    /// The signal for a program that must end at once, before its whole process group is killed, and its time limit.
    pub fn steps(self) -> &'static [(Signal, Duration)] {
        match self {
            Self::Quit => &[(Signal::QUIT, END_LIMIT)],
            Self::Terminate => &[(Signal::TERM, END_LIMIT)],
            Self::Kill => &[],
        }
    }
}

/// How to start a program.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The program; absolute, since no PATH is searched.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// The user that it runs as, with no further groups; `None` for this process's. Only root may set one.
    pub user: Option<&'a User>,
    /// Its current folder, which its user must be able to enter.
    pub folder: &'a Path,
    /// File that its stdout and stderr are appended to; made if it does not exist, and never a link.
    pub log: &'a Path,
    /// The signal that ends it with the calling thread.
    pub death_signal: DeathSignal,
    /// Logical CPUs of the whole process from its first instruction on; `None` for the calling thread's.
    pub cpus: Option<&'a CpuSet>,
}

/// Why a tool failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// It ended with a failure.
    #[error("{} ended with {status}: {}", .program.display(), or_silence(.said))]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines.
        said: String,
    },
    /// It took too long and was killed.
    #[error(
        "{} did not finish within {} s and was killed: {}; check for a slow or full disk",
        .program.display(), .limit.as_secs(), or_silence(.said)
    )]
    TooLong {
        /// The program.
        program: PathBuf,
        /// The time limit.
        limit: Duration,
        /// Its last lines.
        said: String,
    },
    /// Waiting for its end failed.
    #[error("cannot wait for the end of {}: {source}", .program.display())]
    Wait {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Starts a program in its own process group: with an empty stdin, an environment of PATH, TZ and the
/// C locale, no inherited open files, signals that end it by default, and one of them when the *calling thread* ends.
///
/// # Errors
/// The log cannot be opened, or the program cannot be started as this user, in this folder, on these
/// logical CPUs; the message names them.
pub fn start(program: &Program<'_>) -> io::Result<Child> {
    launch(program).map_err(|error| {
        let user = program.user.map(|user| format!(" as user {}", user.name)).unwrap_or_default();
        let cpus = program.cpus.map(|cpus| format!(" on logical CPUs {cpus}")).unwrap_or_default();
        let (path, folder) = (program.program.display(), program.folder.display());
        io::Error::new(error.kind(), format!("cannot start {path}{user} in {folder}{cpus}: {error}"))
    })
}

fn launch(program: &Program<'_>) -> io::Result<Child> {
    if !program.program.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the program's path is not absolute"));
    }
    let log = open_log(program.log)
        .map_err(|error| io::Error::new(error.kind(), format!("log {}: {error}", program.log.display())))?;
    let mut command = Command::new(program.program);
    command
        .args(program.args)
        .env_clear()
        .envs(["PATH", "TZ"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .envs([("LANG", "C"), ("LC_ALL", "C")])
        .current_dir(program.folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    if let Some(user) = program.user {
        // With a user given, std also drops all further groups if this process is root's.
        command.uid(user.uid).gid(user.gid);
    }
    let death_signal = program.death_signal.signal();
    let words = program.cpus.map(|cpus| cpus.words().to_vec());
    let files = crate::proc::numbers("/proc/self/fd");
    let parent = getpid();
    let in_child = move || {
        set_parent_process_death_signal(Some(death_signal))?;
        if getppid() != Some(parent) {
            // The parent ended before the request for its death signal.
            return Err(rustix::io::Errno::SRCH.into());
        }
        if let Some(words) = &words {
            pin::set_affinity_raw(words)?;
        }
        heed_signals();
        close_at_exec(&files);
        Ok(())
    };
    // SAFETY: the closure only makes system calls (prctl, getppid, sched_setaffinity, sigaction, fcntl) on
    // values made before the fork, and neither allocates nor takes a lock.
    unsafe { command.pre_exec(in_child) };
    command.spawn()
}

/// Starts a program that outlives this process: in its own session, with no inherited open file but a pipe as its
/// stdin, whose end it sees when this process has ended, and with only this environment.
///
/// # Errors
/// The program cannot be started.
pub fn detached<E: AsRef<OsStr>>(
    program: &Path,
    args: &[impl AsRef<OsStr>],
    environment: impl IntoIterator<Item = (E, E)>,
) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .envs(environment)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let files = crate::proc::numbers("/proc/self/fd");
    let in_child = move || {
        rustix::process::setsid()?;
        close_at_exec(&files);
        Ok(())
    };
    // SAFETY: the closure only makes system calls (setsid, fcntl) on values made before the fork, and neither
    // allocates nor takes a lock.
    unsafe { command.pre_exec(in_child) };
    command.spawn()
}

/// Restores the default action of the signals that end a program: a shell ignores two of them for what a script starts
/// with `&`, and exec keeps that (execve(2); POSIX.1-2017, "Signals and Error Handling" of the shell).
fn heed_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the default action takes no handler, and the call is async-signal-safe (signal-safety(7)).
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Closes files above the first three when the program begins.
fn close_at_exec(files: &[u32]) {
    for &file in files.iter().filter(|&&file| file > 2) {
        // SAFETY: the call takes numbers only. A closed one gives EBADF, which does no harm.
        // The child uses no descriptor above 2 after exec, which is when this closes them.
        unsafe { libc::fcntl(file.cast_signed(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Runs a tool to its end and returns the last 64 KiB of its output.
///
/// # Errors
/// See [`RunError`]; after [`RunError::TooLong`] its whole process group has been killed.
pub fn run(program: &Program<'_>, limit: Duration) -> Result<String, RunError> {
    let path = program.program.to_owned();
    let before = std::fs::metadata(program.log).map_or(0, |entry| entry.len());
    let mut child = start(program).map_err(RunError::Start)?;
    let ended = stopping::wait(&mut child, limit);
    let said = || last_lines(&text_from(program.log, before), SAID_LINES);
    match ended {
        Ok(Some(status)) if status.success() => Ok(text_from(program.log, before)),
        Ok(Some(status)) => Err(RunError::Failed { program: path, status, said: said() }),
        Ok(None) => match stopping::stop(&mut child, program.death_signal.steps()) {
            Ok(_) => Err(RunError::TooLong { program: path, limit, said: said() }),
            Err(source) => Err(RunError::Wait { program: path, source }),
        },
        Err(source) => Err(RunError::Wait { program: path, source }),
    }
}

/// Time limit for a program to end.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Number of last lines in an error.
const SAID_LINES: usize = 3;
/// Bytes of a log that are read, from its end.
const SAID_BYTES: u64 = 64 * 1024;

/// The last lines of a log that are not empty, as one line; empty if there are none. An error about a server that did
/// not start ends with it.
pub fn last_words(log: &Path) -> String {
    last_lines(&text_from(log, 0), SAID_LINES)
}

fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn text_from(log: &Path, start: u64) -> String {
    let read = || -> io::Result<String> {
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(start.max(length.saturating_sub(SAID_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(SAID_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    // A log that cannot be read must not hide what is reported with it.
    read().unwrap_or_default()
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("; ")
}

fn or_silence(said: &str) -> &str {
    if said.is_empty() { "no output" } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_say_something_are_one_line() {
        assert_eq!(last_lines("a\nb\n\n  c  \n\nd\n \n", 3), "b; c; d");
        assert_eq!(last_lines("d", 3), "d");
        assert_eq!(last_lines("\n\n", 3), "");
        assert_eq!(last_words(Path::new("/proc/nowhere/log")), "");
    }
}
