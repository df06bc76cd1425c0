//! Starting a worker on its logical CPUs and under its memory policy. The only module of this crate with `unsafe`.
//!
//! Source: `fork(2)`, `signal-safety(7)` (between fork and exec only async-signal-safe calls),
//! `PR_SET_PDEATHSIG(2const)` (the signal comes when the *thread* that forked ends, so workers are
//! started from the thread that runs the study), `set_mempolicy(2)` (kept over `execve(2)`, and
//! inherited by threads), `setsid(2)`.
#![allow(unsafe_code)]

use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use threadwise_engine::protocol::REPLY_FD;
use threadwise_machine::{CpuSet, MemoryBinding, MemoryMode, pin};
use threadwise_process::marked;

/// How to start a worker.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// Logical CPUs of the whole process from its first instruction on; empty leaves it as it is.
    pub cpus: &'a CpuSet,
    /// Memory policy of the whole process from its first instruction on.
    pub memory: &'a MemoryBinding,
    /// Its current folder.
    pub folder: &'a Path,
    /// File for its stdout and stderr; replaced.
    pub log: &'a Path,
    /// Prefixes of variables that it gets although they may hold a password.
    pub environment: &'a [String],
    /// Prefixes of further variables that it does not get.
    pub withheld: &'a [String],
    /// Mark in its environment, which its descendants inherit: a path in the study's folder.
    pub mark: &'a Path,
}

/// Why a worker could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Anything but its memory policy.
    #[error(transparent)]
    Start(#[from] io::Error),
    /// The kernel refused the memory policy.
    #[error("set_mempolicy(2) refused the memory policy {policy}: {source}; {advice}")]
    MemoryPolicy {
        /// The policy.
        policy: String,
        /// The kernel's reason.
        source: io::Error,
        /// What would allow it.
        advice: &'static str,
    },
}

/// A started worker.
#[derive(Debug)]
pub struct Launched {
    /// The process, leader of its own process group, with its stdin.
    pub child: Child,
    /// The source of its replies.
    pub replies: PipeReader,
    /// Its log, whatever happens to the file's name.
    pub log: File,
}

/// Starts a worker: own process group, dying with the calling thread, bound to its CPUs and memory
/// nodes before its program begins, and without passwords in its environment except its engine's own.
///
/// # Errors
/// The log cannot be made, the program cannot be started, its CPUs or its memory policy are not
/// allowed.
pub fn worker(launch: Launch<'_>) -> Result<Launched, LaunchError> {
    let log = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(launch.log)?;
    let (replies, reply_end) = io::pipe()?;
    let reply_fd = reply_end.as_raw_fd();
    let parent = rustix::process::getpid();
    let words = launch.cpus.words().to_vec();
    let mut command = Command::new(launch.program);
    command
        .args(launch.args)
        .current_dir(launch.folder)
        .env(REPLY_FD, reply_fd.to_string())
        .env(marked::VARIABLE, launch.mark)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .process_group(0);
    for (name, _) in std::env::vars_os() {
        if holds_secret(&name, launch.withheld) && !is_for_its_engine(&name, launch.environment) {
            command.env_remove(name);
        }
    }
    let policy = Policy::of(launch.memory);
    let (mut refused, refused_end) = io::pipe()?;
    let refused_fd = refused_end.as_raw_fd();
    let in_child = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(parent) {
            // The parent ended before the request for its death signal.
            return Err(rustix::io::Errno::SRCH.into());
        }
        if !words.is_empty() {
            pin::set_affinity_raw(&words)?;
        }
        if let Some(policy) = &policy {
            policy.set(refused_fd)?;
        }
        // SAFETY: the parent holds `reply_end` open until after the fork, so that the number is
        // an open descriptor here.
        let reply = unsafe { BorrowedFd::borrow_raw(reply_fd) };
        Ok(rustix::io::fcntl_setfd(reply, rustix::io::FdFlags::empty())?)
    };
    // SAFETY: the closure only makes system calls (prctl, getppid, sched_setaffinity,
    // set_mempolicy, write, fcntl) on values made before the fork, and neither allocates nor takes a lock.
    unsafe { command.pre_exec(in_child) };
    let started = command.spawn();
    drop((reply_end, refused_end));
    match started {
        Ok(child) => Ok(Launched { child, replies, log }),
        Err(source) if refused.read(&mut [0]).is_ok_and(|length| length > 0) => {
            let advice = advice(&source);
            Err(LaunchError::MemoryPolicy { policy: launch.memory.to_string(), source, advice })
        }
        Err(error) => Err(error.into()),
    }
}

/// A memory policy as the kernel takes it.
struct Policy {
    mode: libc::c_long,
    /// Nodes, 64 a word, lowest first.
    nodes: CpuSet,
}

impl Policy {
    /// `None` if the process keeps the policy that it is started under.
    fn of(binding: &MemoryBinding) -> Option<Self> {
        let mode = match binding.mode {
            MemoryMode::Default => return None,
            MemoryMode::Bind => libc::MPOL_BIND.into(),
            MemoryMode::Interleave => libc::MPOL_INTERLEAVE.into(),
        };
        Some(Self { mode, nodes: binding.nodes.iter().copied().collect() })
    }

    /// Sets the calling thread's policy. If the kernel refuses, writes a byte to `refused`, since the
    /// parent sees only an error number of the child. Does not allocate.
    fn set(&self, refused: RawFd) -> io::Result<()> {
        let words = self.nodes.words();
        // The kernel uses one bit less than it is given (`get_nodes` in its mm/mempolicy.c).
        let bits = words.len() * 64 + 1;
        // SAFETY: the pointer and the number of bits describe one live slice, which the kernel only
        // reads (the bit too many is the one that it leaves out). Its `unsigned long` words and these
        // have the same layout on 64-bit and on little-endian targets.
        let status = unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, words.as_ptr(), bits) };
        if status == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        // SAFETY: the parent holds the pipe's end open until after the fork.
        let refused = unsafe { BorrowedFd::borrow_raw(refused) };
        // Without the byte the error is still reported, less clearly.
        let _ = rustix::io::write(refused, &[1]);
        Err(error)
    }
}

/// What would allow a memory policy that the kernel refused.
fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            "a seccomp filter forbids it, as containers do by default: allow it with --cap-add SYS_NICE, or run outside of the container, or use memory=local"
        }
        Some(libc::ENOSYS) => {
            "the kernel was built without NUMA, or a seccomp filter hides the call (containers: --cap-add SYS_NICE): use memory=local"
        }
        Some(libc::EINVAL) => "a node is offline or outside of the cpuset: name other nodes",
        _ => "use memory=local",
    }
}

/// Whether an environment variable belongs to the worker's engine.
fn is_for_its_engine(name: &OsStr, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| name.to_string_lossy().starts_with(prefix))
}

/// Whether an environment variable may hold a password or a key, or is one that engines read, whose names
/// begin with `withheld`.
fn holds_secret(name: &OsStr, withheld: &[String]) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let parts = ["PASSW", "PWD", "SECRET", "TOKEN", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY"];
    let prefixes = ["AWS_", "AZURE_"];
    let plain = ["PWD", "OLDPWD"];
    !plain.contains(&name.as_str())
        && (parts.iter().any(|part| name.contains(part))
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
            || withheld.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(memory: &MemoryBinding, program: &str) -> Result<Launched, LaunchError> {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let program = Path::new(program);
        worker(Launch {
            program,
            args: &[],
            cpus: &CpuSet::new(),
            memory,
            folder: folder.path(),
            log: &log,
            environment: &[],
            withheld: &[],
            mark: folder.path(),
        })
    }

    #[test]
    fn a_policy_that_the_kernel_refuses_is_distinguished_from_other_causes() {
        // No kernel has so many nodes (CONFIG_NODES_SHIFT ends at 10).
        let absent = MemoryBinding { mode: MemoryMode::Bind, nodes: vec![5000] };
        let error = start(&absent, "true").unwrap_err();
        assert!(matches!(error, LaunchError::MemoryPolicy { .. }), "{error:?}");
        let message = error.to_string();
        assert!(message.starts_with("set_mempolicy(2) refused the memory policy bind:5000: "), "{message}");
        let error = start(&MemoryBinding::default(), "/proc/nowhere/program").unwrap_err();
        assert!(matches!(error, LaunchError::Start(_)), "{error:?}");
    }

    #[test]
    fn each_refusal_says_what_would_allow_the_policy() {
        let said = |number| advice(&io::Error::from_raw_os_error(number));
        assert!(said(libc::EPERM).contains("seccomp") && said(libc::EPERM).contains("SYS_NICE"));
        assert!(said(libc::ENOSYS).contains("without NUMA"));
        assert!(said(libc::EINVAL).contains("cpuset"));
        assert!(said(libc::EFAULT).contains("local"));
    }

    #[test]
    fn password_like_variables_are_known() {
        let known = ["PG".to_owned(), "MYSQL".to_owned()];
        for name in ["PGPASSWORD", "PGHOST", "MYSQL_PWD", "db_password", "GITHUB_TOKEN", "AWS_PROFILE"] {
            assert!(holds_secret(OsStr::new(name), &known), "{name}");
        }
        assert!(!holds_secret(OsStr::new("PGHOST"), &known[1..]));
        let known_here = &known[..1];
        assert!(is_for_its_engine(OsStr::new("PGPASSWORD"), known_here));
        assert!(!is_for_its_engine(OsStr::new("MYSQL_PWD"), known_here));
        for name in ["PATH", "HOME", "PWD", "OLDPWD", "LANG", "TMPDIR", "LD_LIBRARY_PATH"] {
            assert!(!holds_secret(OsStr::new(name), &known), "{name}");
        }
    }
}
