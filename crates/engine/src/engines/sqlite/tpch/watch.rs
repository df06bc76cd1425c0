//! Which sessions are executing queries, and how they are interrupted.

use rusqlite::InterruptHandle;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock;

/// Pause between two interrupts of a session that continues after the time limit.
const AGAIN: Duration = Duration::from_millis(10);

/// Sessions that are executing queries, and their interrupt handles.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<Executing>,
    rested: Condvar,
}

#[derive(Default)]
struct Executing {
    /// Handles of all sessions, by their number.
    handles: BTreeMap<u32, InterruptHandle>,
    /// Number of sessions that have not finished the slice.
    working: usize,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, Executing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, session: u32, handle: InterruptHandle) {
        self.state().handles.insert(session, handle);
    }

    pub(super) fn all_work(&self) {
        let mut state = self.state();
        state.working = state.handles.len();
    }

    pub(super) fn rests(&self) {
        let mut state = self.state();
        state.working = state.working.saturating_sub(1);
        self.rested.notify_all();
    }

    /// Sleeps until all sessions rest; after `deadline_ns` interrupts those that do not.
    pub(super) fn interrupt_at(&self, deadline_ns: u64) {
        let mut state = self.state();
        while state.working > 0 {
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            let pause = match left_ns {
                0 => {
                    // An interrupt stops a running statement only: one that begins now needs another interrupt.
                    state.handles.values().for_each(InterruptHandle::interrupt);
                    AGAIN
                }
                _ => Duration::from_nanos(left_ns),
            };
            state = self.rested.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
