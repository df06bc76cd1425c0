//! State that the sessions of one worker share with the control connection, and the setup of a connection for
//! measuring.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threadwise_engine::{EngineError, clock};
use threadwise_engine_sql::clock::{AskTime, ServerClock};
use threadwise_engine_sql::{Call, Usage};
use threadwise_study::SessionSlice;

use super::parallel_scan::Scan;
use crate::dialect::DIALECT;
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
    /// Scans of the slice, of `parallel-scan`.
    scans: Mutex<Vec<Scan>>,
    notes: Mutex<BTreeSet<String>>,
}

impl Shared {
    pub(super) fn new(clock: ServerClock) -> Self {
        Self {
            clock: Mutex::new(clock),
            backends: Mutex::default(),
            resting: Mutex::default(),
            rested: Condvar::new(),
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
    pub(super) fn at_work(&self) -> Vec<u32> {
        let resting = lock(&self.resting);
        let at_work = self.backends().into_iter().filter(|(session, _)| !resting.contains(session));
        at_work.map(|(_, pid)| pid).collect()
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
pub(crate) fn settle(
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
pub(crate) fn expect(
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
pub(crate) fn backend_pid(client: &mut postgres::Client) -> Result<u32, EngineError> {
    let action = "read the process id of its backend";
    let row = client.query_one("SELECT pg_backend_pid()", &[]).map_err(|cause| query(action, &cause))?;
    let pid: i32 = row.try_get(0).map_err(|cause| query(action, &cause))?;
    u32::try_from(pid).map_err(|cause| failed(action, cause))
}

/// Lets the backend flush its statistics now, if the version can.
///
/// # Errors
/// An error of the server.
pub(crate) fn flush_statistics(client: &mut postgres::Client, version_num: u32) -> Result<(), EngineError> {
    if version_num < FORCED_FLUSH {
        return Ok(());
    }
    client
        .simple_query("SELECT pg_stat_force_next_flush()")
        .map(drop)
        .map_err(|cause| query("flush its statistics", &cause))
}

/// Lets `with` read the server's clock by a prepared statement.
///
/// # Errors
/// An error of the server, or of `with`.
pub(super) fn with_clock<T>(
    client: &mut postgres::Client,
    with: impl FnOnce(AskTime<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let action = "read the server's clock";
    let now = client.prepare(DIALECT.now).map_err(|cause| query(action, &cause))?;
    with(&mut || {
        let row = client.query_one(&now, &[]).and_then(|row| row.try_get(0));
        row.map(Some).map_err(|cause| query(action, &cause))
    })
}

/// A time of the server on CLOCK_MONOTONIC.
pub(super) fn monotonic_ns(clock: ServerClock, time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    clock.monotonic_ns_of(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// What a backend, which has one thread, has used; zeros if it is out of reach.
pub(super) fn usage(pid: Option<u32>) -> Usage {
    Usage::of_thread(pid.map(|pid| (pid, pid)))
}

/// Gives a slice what its backend used between two readings, and what its client's thread has used since `client_ns`.
pub(super) fn give(slice: &mut SessionSlice, client_ns: u64, readings: [Usage; 2]) {
    let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(client_ns);
    Call { client_cpu_ns, ..Call::new(1, 1, 1, readings) }.give_to(slice);
}
