//! A job's running process, which may be killed from another thread.
//!
//! Source: `waitid(2)` with `WNOWAIT`: a child that was not reaped keeps its number, so that a signal cannot reach
//! another process.

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A place for one process at a time.
#[derive(Debug, Default)]
pub(super) struct ChildSlot(Mutex<Option<Child>>);

impl ChildSlot {
    /// Runs a command to its end; `None` if it was not started because the work must stop.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, command: &mut Command, stop: &AtomicBool) -> io::Result<Option<ExitStatus>> {
        let pid = {
            let mut child = self.lock();
            // A killing thread has set this before, and takes the lock after.
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            child.insert(command.spawn()?).id()
        };
        wait(pid);
        let ended = self.lock().take();
        ended.map(|mut child| child.wait()).transpose()
    }

    /// Kills the process, if there is one.
    pub fn kill(&self) {
        if let Some(child) = self.lock().as_mut() {
            // It may have ended by itself; its waiter reaps it.
            let _ = child.kill();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a child without reaping it.
fn wait(pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == Errno::INTR) {}
}
