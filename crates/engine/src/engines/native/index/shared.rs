//! State that the sessions of one treatment share, and what they report as inserted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::insert_reports::InsertReports;
use super::structure::{Costs, Structure};
use crate::clock;

/// Shared by the sessions and the worker's main thread.
pub struct Shared {
    /// The index.
    pub structure: Structure,
    /// Taken behind a lock outside of windows, so that waiting sessions sleep instead of spinning all at once.
    turn: Mutex<()>,
    /// What sessions report as inserted.
    pub reports: InsertReports,
}

/// Counters of the lock.
const OF_LOCK: [&str; 5] = ["spins", "spin_ns", "lock_acquisitions", "lock_contended", "lock_yields"];
/// Counters of the hash index.
const OF_HASH: [&str; 2] = ["index_retries", "chain_steps"];
/// Time over which the other counters were counted.
const COUNTED_NS: &str = "counted_ns";

impl Shared {
    /// State for this many sessions.
    pub fn new(structure: Structure, sessions: usize) -> Self {
        Self { structure, turn: Mutex::default(), reports: InsertReports::new(sessions) }
    }

    /// A session's turn; `None` without a lock, where all may work at once.
    pub fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.structure.has_lock().then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A session's counters by name.
pub fn counters(costs: &Costs) -> [(&'static str, u64); 8] {
    let Costs { waits, walked } = costs;
    let [spins, spin_ns, acquisitions, contended, yields] = OF_LOCK;
    let [retries, steps] = OF_HASH;
    [
        (spins, waits.spins),
        (spin_ns, waits.spin_ns),
        (acquisitions, waits.acquisitions),
        (contended, waits.contended),
        (yields, waits.yields),
        (retries, walked.retries),
        (steps, walked.chain_steps),
        (COUNTED_NS, clock::monotonic_ns()),
    ]
}

/// Whether an index has what a counter counts: one without a lock has no spins, and the waits inside `scc` are
/// unknown.
pub fn counted(name: &str, structure: &Structure) -> bool {
    match name {
        _ if OF_LOCK.contains(&name) || name == COUNTED_NS => structure.has_lock(),
        _ if OF_HASH.contains(&name) => matches!(structure, Structure::Hash(..)),
        _ => true,
    }
}
