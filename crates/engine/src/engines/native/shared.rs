//! What the sessions of one treatment share, and what they said that they did.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::log::{Log, Tally};
use super::said::Said;
use super::table::{Content, Table, Walked};
use crate::clock;

/// Shared by the sessions and the worker's main thread.
pub struct Shared {
    /// The table; held for reading during a slice, alone between slices.
    table: RwLock<Table>,
    /// The log, where there is one.
    pub log: Option<Arc<Log>>,
    said: Said,
}

/// Names of the sessions' counters, in the order of [`counters`].
const NAMES: [&str; 10] = [
    "spins",
    "spin_ns",
    "lock_acquisitions",
    "lock_contended",
    "lock_yields",
    "log_bytes",
    "log_full_waits",
    "index_retries",
    "chain_steps",
    "counted_ns",
];

impl Shared {
    /// For so many sessions.
    pub fn new(table: Table, log: Option<Arc<Log>>, sessions: usize) -> Self {
        Self { table: RwLock::new(table), log, said: Said::new(sessions) }
    }

    /// The table for inserting and reading.
    pub fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out of the table what was added; while all sessions are parked.
    pub fn put_table_back(&self) -> Content {
        self.table.write().unwrap_or_else(PoisonError::into_inner).put_back()
    }

    /// A session says what it has inserted since it last said so; at the end of its slice.
    pub fn say(&self, session: usize, content: Content) {
        self.said.add(session, content);
        if let Some(log) = &self.log {
            // Its last records may lie before a writer that fell asleep at the same moment.
            log.wake_writer();
        }
    }

    /// What all sessions said since this was last asked.
    pub fn take_said(&self) -> Content {
        self.said.take()
    }
}

/// A session's counters by name. `counted_ns` is the time over which the others were counted, from one
/// reading to the next: the step under way at the window's end can be long beside the window where
/// threads wait for each other, so the share of time spent spinning is `spin_ns` of `counted_ns`.
pub fn counters(tally: &Tally, walked: &Walked) -> [(&'static str, u64); NAMES.len()] {
    let values = [
        tally.lock.spins,
        tally.lock.spin_ns,
        tally.lock.acquisitions,
        tally.lock.contended,
        tally.lock.yields,
        tally.bytes,
        tally.full_waits,
        walked.retries,
        walked.chain_steps,
        clock::monotonic_ns(),
    ];
    std::array::from_fn(|at| (NAMES[at], values[at]))
}
