//! State that the sessions of one treatment share, and what they report as inserted.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::insert_reports::InsertReports;
use super::log::{Log, Tally};
use super::table::{Content, Table, Walked};
use crate::clock;

/// Shared by the sessions and the worker's main thread.
pub struct Shared {
    /// The table; read-locked during a slice, exclusive between slices.
    table: RwLock<Table>,
    /// The log, if there is one.
    pub log: Option<Arc<Log>>,
    reports: InsertReports,
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
    /// State for this many sessions.
    pub fn new(table: Table, log: Option<Arc<Log>>, sessions: usize) -> Self {
        Self { table: RwLock::new(table), log, reports: InsertReports::new(sessions) }
    }

    /// The table for inserting and reading.
    pub fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the added rows from the table; while all sessions are parked.
    pub fn put_table_back(&self) -> Content {
        self.table.write().unwrap_or_else(PoisonError::into_inner).put_back()
    }

    /// Adds what a session has inserted since its last report; at the end of its slice.
    pub fn report(&self, session: usize, content: Content) {
        self.reports.add(session, content);
        if let Some(log) = &self.log {
            // The writer may have fallen asleep at the same moment as its last append.
            log.wake_writer();
        }
    }

    /// Takes what all sessions have reported since the last call.
    pub fn take_reported(&self) -> Content {
        self.reports.take()
    }
}

/// A session's counters by name. `counted_ns` is the time between the two readings of the counters, and the
/// share of time spent spinning is `spin_ns` of `counted_ns`, not of the window: if threads wait for each
/// other, the step under way at the window's end can be long compared with the window.
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
