//! What the sessions' threads and the watching thread share while a run's processes are at work.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::spawn::{self, Ended, Used};
use super::tree::{self, Identity};

/// Why a run was ended, or cannot count although its processes ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// We were asked to stop.
    Interrupted,
    /// It took too long.
    TimedOut,
    /// A process wrote more than it may.
    TooMuchOutput,
    /// A thread may run outside of the placement.
    Astray(String),
    /// Processes lived on after the last one that we had started.
    LeftBehind(String),
}

/// Where a run stands.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Processes that are still to be started.
    pub unstarted: usize,
    /// Processes that have not ended, those included.
    pub unended: usize,
    /// Numbers of our processes that were not reaped.
    pub roots: Vec<u32>,
    /// How each session's process ended.
    pub ends: Vec<(u32, ExitStatus)>,
    /// What was there before the run, such as a server that `setup` started.
    pub spared: BTreeSet<Identity>,
    /// What processes used whose parents had ended.
    pub adopted: Used,
    /// Most memory that was seen.
    pub peak_rss_bytes: u64,
    /// Longest time without a look, nanoseconds.
    pub unseen_ns: u64,
    /// When the last of what the run's processes started had ended, where that was after them;
    /// CLOCK_MONOTONIC.
    pub outlived_ns: Option<u64>,
    /// Why it cannot count.
    pub verdict: Option<Verdict>,
}

/// The shared state, and who waits for its changes.
#[derive(Debug, Default)]
pub(super) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

impl Progress {
    /// The state. A thread that panicked while it had it left it whole: every change is one assignment.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all processes have ended, for at most `pause`.
    pub fn wait(&self, pause: Duration) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.lock(), pause, |state| state.unended > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// A new run of so many processes.
    pub fn begin(&self, processes: usize, spared: BTreeSet<Identity>) {
        *self.lock() = State { unstarted: processes, unended: processes, spared, ..State::default() };
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

    /// Reaps a process that has ended. While it is not reaped its number is its own, so the watching
    /// thread may send signals to it as long as it holds the state.
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
