//! Ending a server that this process started, gently at first.
//!
//! Source: `wait(2)`, `kill(2)`. A child's number is not reused before its parent has
//! waited for it, so signals by number are safe here; for other processes see
//! [`crate::folder_processes`].

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Interval of checks whether a child has ended.
const STEP: Duration = Duration::from_millis(5);

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Its exit status.
    pub status: ExitStatus,
    /// The last signal sent; `None` if it had ended before any was.
    pub signal: Option<Signal>,
}

/// Waits for a child's end for at most `limit`. `None` if it still lives then.
///
/// # Errors
/// The kernel's, which for an own child means that another caller waited for it.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

/// Sends a signal to a child that may have ended already, and to no other process of its group.
///
/// # Errors
/// The kernel's.
pub fn signal(child: &mut Child, signal: Signal) -> io::Result<()> {
    match child.try_wait()? {
        Some(_) => Ok(()),
        None => sent(kill_process(Pid::from_child(child), signal)),
    }
}

/// Sends each signal in turn and waits its time after it; at last kills the whole process group.
///
/// # Errors
/// The kernel's; the child may live then.
pub fn stop(child: &mut Child, steps: &[(Signal, Duration)]) -> io::Result<Stopped> {
    if let Some(status) = child.try_wait()? {
        return Ok(Stopped { status, signal: None });
    }
    for &(step, limit) in steps {
        signal(child, step)?;
        if let Some(status) = wait(child, limit)? {
            return Ok(Stopped { status, signal: Some(step) });
        }
    }
    Ok(Stopped { status: kill_group(child)?, signal: Some(Signal::KILL) })
}

/// Kills a child that leads a process group, and the group, and waits for the child.
///
/// # Errors
/// The kernel's.
pub fn kill_group(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(status) = child.try_wait()? {
        return Ok(status);
    }
    let pid = Pid::from_child(child);
    sent(kill_process(pid, Signal::KILL))?;
    // The child leads its group unless it made another; the rest of the group matters less.
    sent(kill_process_group(pid, Signal::KILL))?;
    child.wait()
}

/// A process that has just ended needs no signal.
fn sent(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}
