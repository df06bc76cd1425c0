//! What the sessions' threads and the watching thread share during a run.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::spawn::{self, Ended, Used};
use super::tree::{self, Identity};

/// Why a run was ended, or does not count although its processes ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The study was stopped.
    Interrupted,
    /// It took too long.
    TimedOut,
    /// A process wrote more than it may.
    TooMuchOutput,
    /// A thread may run outside of the placement.
    Astray(String),
    /// Processes were still running after the last one that the engine had started.
    LeftBehind(String),
}

/// The processes of a run and how they ended.
#[derive(Debug, Default)]
pub(super) struct RunProcesses {
    /// Processes that are still to be started.
    pub unstarted: usize,
    /// Processes that have not ended, those not yet started included.
    pub unended: usize,
    /// Processes that the engine started and has not reaped.
    pub roots: Vec<u32>,
    /// How each session's process ended.
    pub ends: Vec<(u32, ExitStatus)>,
    /// Processes from before the run, such as a server that `setup` started.
    pub spared: BTreeSet<Identity>,
    /// What processes used whose parents had ended.
    pub adopted: Used,
    /// Most memory seen.
    pub peak_rss_bytes: u64,
    /// Longest time without a poll, nanoseconds.
    pub unseen_ns: u64,
    /// When the last descendant of the run's processes had ended, if later than these; CLOCK_MONOTONIC.
    pub outlived_ns: Option<u64>,
    /// Why the run does not count.
    pub verdict: Option<Verdict>,
}

/// The shared state; its changes wake waiting threads.
#[derive(Debug, Default)]
pub(super) struct Progress {
    state: Mutex<RunProcesses>,
    changed: Condvar,
}

impl Progress {
    /// The state. A thread that panicked while it held it left it whole: every change is one assignment.
    pub fn lock(&self) -> MutexGuard<'_, RunProcesses> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all processes have ended, for at most `pause`.
    pub fn wait(&self, pause: Duration) -> MutexGuard<'_, RunProcesses> {
        let waited = self.changed.wait_timeout_while(self.lock(), pause, |state| state.unended > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Starts a run of this many processes.
    pub fn begin(&self, processes: usize, spared: BTreeSet<Identity>) {
        *self.lock() =
            RunProcesses { unstarted: processes, unended: processes, spared, ..RunProcesses::default() };
    }

    /// A process was started, or could not be.
    pub fn started(&self, pid: Option<u32>) {
        let mut state = self.lock();
        state.unstarted -= 1;
        match pid {
            Some(pid) => state.roots.push(pid),
            None => state.unended -= 1,
        }
        self.changed.notify_all();
    }

    /// Reaps a process that has ended. Its number is not reused before that, so the watching thread may
    /// send it signals while it holds the state.
    pub fn reap(&self, session: u32, pid: u32) -> Option<Ended> {
        let mut state = self.lock();
        let ended = spawn::reap(pid);
        state.roots.retain(|&root| root != pid);
        state.unended -= 1;
        state.ends.extend(ended.map(|ended| (session, ended.status)));
        self.changed.notify_all();
        ended
    }

    /// Ends a run's processes; the first verdict is the one that counts.
    pub fn end(&self, verdict: Verdict, limit: Duration) {
        let (spared, roots) = {
            let mut state = self.lock();
            state.verdict.get_or_insert(verdict);
            state.roots.iter().for_each(|&root| tree::kill_group(root));
            (state.spared.clone(), state.roots.clone())
        };
        let mut used = Used::default();
        tree::end(&spared, &roots, None, limit, &mut used);
        self.adopt(used);
    }

    /// Adds what adopted processes used.
    pub fn adopt(&self, used: Used) {
        let mut state = self.lock();
        state.adopted = state.adopted.and(used);
    }
}
