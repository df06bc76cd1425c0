//! Which sessions are at work, and how they are stopped.

use rusqlite::InterruptHandle;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock;

/// Pause between two interrupts of a session that goes on after the time limit.
const AGAIN: Duration = Duration::from_millis(10);

/// Which sessions are at work, and how to stop them.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<State>,
    rested: Condvar,
}

#[derive(Default)]
struct State {
    handles: BTreeMap<u32, InterruptHandle>,
    working: usize,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
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

    /// Sleeps until all rest; from a time on interrupts those that do not.
    pub(super) fn interrupt_at(&self, deadline_ns: u64) {
        let mut state = self.state();
        while state.working > 0 {
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            let pause = match left_ns {
                0 => {
                    // Only a statement that runs is interrupted: one that begins just now needs another.
                    state.handles.values().for_each(InterruptHandle::interrupt);
                    AGAIN
                }
                _ => Duration::from_nanos(left_ns),
            };
            state = self.rested.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
