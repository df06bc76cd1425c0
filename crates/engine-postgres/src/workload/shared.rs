//! State that the sessions of one worker share with the control connection, and the setup of a connection for
//! measuring.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadwise_engine::workloads::insert::RandomKeys;
use threadwise_engine::{EngineError, clock};

use super::clock::ServerClock;
use super::parallel_scan::Scan;
use crate::error::{failed, query};

/// First version with `plan_cache_mode`.
const PLAN_CACHE_MODE: u32 = 120_000;

/// First version with `pg_stat_force_next_flush`; before it, statistics go through a collector.
pub(super) const FORCED_FLUSH: u32 = 150_000;

/// State of sessions that other connections need.
#[derive(Debug)]
pub(super) struct Shared {
    clock: Mutex<ServerClock>,
    backends: Mutex<BTreeMap<u32, u32>>,
    /// Sessions that are done with the slice.
    resting: Mutex<BTreeSet<u32>>,
    /// Signalled when a session is done.
    rested: Condvar,
    tally: Mutex<Tally>,
    /// Scans of the slice, of `parallel-scan`.
    scans: Mutex<Vec<Scan>>,
    notes: Mutex<BTreeSet<String>>,
}

/// Rows that sessions inserted, and the sum of their keys modulo the workload's prime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Rows.
    pub(super) rows: i64,
    /// Sum of `key_check` of their keys.
    pub(super) key_sum: i64,
}

impl Tally {
    /// Sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, key_sum: self.key_sum + other.key_sum }
    }
}

impl Shared {
    pub(super) fn new(clock: ServerClock) -> Self {
        Self {
            clock: Mutex::new(clock),
            backends: Mutex::default(),
            resting: Mutex::default(),
            rested: Condvar::new(),
            tally: Mutex::default(),
            scans: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    pub(super) fn clock(&self) -> ServerClock {
        *lock(&self.clock)
    }

    pub(super) fn set_clock(&self, clock: ServerClock) {
        *lock(&self.clock) = clock;
    }

    pub(super) fn add_backend(&self, session: u32, pid: u32) {
        lock(&self.backends).insert(session, pid);
    }

    /// Process ids by session.
    pub(super) fn backends(&self) -> BTreeMap<u32, u32> {
        lock(&self.backends).clone()
    }

    /// Begins a slice: every session will work.
    pub(super) fn all_work(&self) {
        lock(&self.resting).clear();
        lock(&self.scans).clear();
    }

    /// Marks a session as done with the slice.
    pub(super) fn rests(&self, session: u32) {
        lock(&self.resting).insert(session);
        self.rested.notify_all();
    }

    /// Whether the first `sessions` are all done with the slice.
    pub(super) fn rest_up_to(&self, sessions: u32) -> bool {
        lock(&self.resting).range(..sessions).count() == sessions as usize
    }

    /// Sleeps until CLOCK_MONOTONIC reaches a time, or all sessions are done with the slice.
    pub(super) fn sleep_until_ns(&self, deadline_ns: u64) {
        let sessions = self.backends().len();
        let mut resting = lock(&self.resting);
        while resting.len() < sessions {
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            if left_ns == 0 {
                break;
            }
            let left = Duration::from_nanos(left_ns);
            resting = self.rested.wait_timeout(resting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Process ids of the sessions that are not done with the slice.
    pub(super) fn at_work(&self) -> Vec<i32> {
        let resting = lock(&self.resting);
        let at_work = self.backends().into_iter().filter(|(session, _)| !resting.contains(session));
        at_work.map(|(_, pid)| pid as i32).collect()
    }

    pub(super) fn add_rows(&self, rows: Tally) {
        let mut tally = lock(&self.tally);
        *tally = tally.plus(rows);
    }

    pub(super) fn tally(&self) -> Tally {
        *lock(&self.tally)
    }

    pub(super) fn add_scan(&self, scan: Scan) {
        lock(&self.scans).push(scan);
    }

    /// Takes the scans since the slice began.
    pub(super) fn take_scans(&self) -> Vec<Scan> {
        std::mem::take(&mut *lock(&self.scans))
    }

    pub(super) fn note(&self, note: String) {
        lock(&self.notes).insert(note);
    }

    pub(super) fn notes(&self) -> Vec<String> {
        lock(&self.notes).iter().cloned().collect()
    }
}

/// Marks a session as done with a slice when it is dropped.
pub(super) struct Resting<'a>(pub(super) &'a Shared, pub(super) u32);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.rests(self.1);
    }
}

/// The worker reports a panic of a session's thread; the data behind the lock is still valid.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets a session's connection up, with read-back. Plans must be the same in every session and for every step, whatever
/// the server's configuration and statistics are; a parked session must not be ended.
///
/// # Errors
/// An error of the server, or a setting that it does not accept.
pub(super) fn settle(
    client: &mut postgres::Client,
    version_num: u32,
    synchronous_commit: &str,
) -> Result<(), EngineError> {
    let mut settings = vec![
        ("search_path", "pg_catalog"),
        ("timezone", "UTC"),
        ("default_transaction_isolation", "read committed"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("enable_indexonlyscan", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("jit", "off"),
        ("idle_in_transaction_session_timeout", "0"),
        ("synchronous_commit", synchronous_commit),
    ];
    if version_num >= PLAN_CACHE_MODE {
        settings.push(("plan_cache_mode", "force_generic_plan"));
    }
    for (name, value) in settings {
        let action = format!("set {name}={value}");
        let row = client
            .query_one("SELECT set_config($1, $2, false)", &[&name, &value])
            .map_err(|cause| query(action.as_str(), &cause))?;
        let found: String = row.try_get(0).map_err(|cause| query(action.as_str(), &cause))?;
        if found != value {
            return Err(failed(action, format!("it stays {found}")));
        }
    }
    expect(client, "track_counts", "on", "the server counts block accesses only with it")
}

/// The value of a setting in this session.
///
/// # Errors
/// An error of the server.
pub(crate) fn setting(client: &mut postgres::Client, name: &str) -> Result<String, EngineError> {
    let action = format!("read the setting {name}");
    let row = client
        .query_one("SELECT current_setting($1)", &[&name])
        .map_err(|cause| query(action.as_str(), &cause))?;
    row.try_get(0).map_err(|cause| query(action.as_str(), &cause))
}

/// Refuses a server whose setting has another value.
pub(super) fn expect(
    client: &mut postgres::Client,
    name: &str,
    wanted: &str,
    why: &str,
) -> Result<(), EngineError> {
    let found = setting(client, name)?;
    match found == wanted {
        true => Ok(()),
        false => Err(failed(format!("check {name}={wanted}"), format!("it is {found}; {why}"))),
    }
}

/// The process id of the connection's backend.
///
/// # Errors
/// An error of the server.
pub(super) fn backend_pid(client: &mut postgres::Client) -> Result<u32, EngineError> {
    let action = "read the process id of its backend";
    let row = client.query_one("SELECT pg_backend_pid()", &[]).map_err(|cause| query(action, &cause))?;
    let pid: i32 = row.try_get(0).map_err(|cause| query(action, &cause))?;
    u32::try_from(pid).map_err(|cause| failed(action, cause))
}

/// Lets the backend flush its statistics now, if the version can.
///
/// # Errors
/// An error of the server.
pub(super) fn flush_statistics(client: &mut postgres::Client, version_num: u32) -> Result<(), EngineError> {
    if version_num < FORCED_FLUSH {
        return Ok(());
    }
    client
        .simple_query("SELECT pg_stat_force_next_flush()")
        .map(drop)
        .map_err(|cause| query("flush its statistics", &cause))
}

/// A seed for the server's own generators: a function of the block's seed and the session.
pub(super) fn session_seed(block_seed: u64, session: u32) -> i64 {
    RandomKeys::new(block_seed, u64::from(session) + 1).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_block_and_session() {
        let seeds = [(1, 0), (1, 1), (2, 0), (2, 1)].map(|(block, session)| session_seed(block, session));
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 4);
        assert_eq!(session_seed(1, 1), seeds[1]);
    }
}
