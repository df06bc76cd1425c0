//! A connection's backend: its settings for measuring, its process, its statistics.

use postgres::Client;
use std::sync::{Mutex, MutexGuard, PoisonError};
use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine_sql::Opened;

use crate::Server;
use crate::connect::Locality;
use crate::error::{failed, query};

/// First version with `plan_cache_mode`.
pub(crate) const PLAN_CACHE_MODE: u32 = 120_000;

/// First version with `pg_stat_force_next_flush`; before it, statistics go through a collector.
pub(crate) const FORCED_FLUSH: u32 = 150_000;

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
    client: &mut Client,
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
pub(crate) fn setting(client: &mut Client, name: &str) -> Result<String, EngineError> {
    let action = format!("read the setting {name}");
    let row = client
        .query_one("SELECT current_setting($1)", &[&name])
        .map_err(|cause| query(action.as_str(), &cause))?;
    row.try_get(0).map_err(|cause| query(action.as_str(), &cause))
}

/// Refuses a server whose setting has another value.
pub(crate) fn expect(client: &mut Client, name: &str, wanted: &str, why: &str) -> Result<(), EngineError> {
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
pub(crate) fn backend_pid(client: &mut Client) -> Result<u32, EngineError> {
    let action = "read the process id of its backend";
    let row = client.query_one("SELECT pg_backend_pid()", &[]).map_err(|cause| query(action, &cause))?;
    let pid: i32 = row.try_get(0).map_err(|cause| query(action, &cause))?;
    u32::try_from(pid).map_err(|cause| failed(action, cause))
}

/// Lets the backend flush its statistics now, if the version can.
///
/// # Errors
/// An error of the server.
pub(crate) fn flush_statistics(client: &mut Client, version_num: u32) -> Result<(), EngineError> {
    if version_num < FORCED_FLUSH {
        return Ok(());
    }
    client
        .simple_query("SELECT pg_stat_force_next_flush()")
        .map(drop)
        .map_err(|cause| query("flush its statistics", &cause))
}

/// The backend's thread, which is all of its process, or why it is out of reach.
pub(crate) fn thread(server: &Server, pid: u32) -> Result<Thread, String> {
    match server.locality() {
        Locality::Here { .. } => Ok((pid, pid)),
        Locality::Elsewhere { why } => Err(why.clone()),
    }
}

/// A session's connection with its backend, whose statement is cancelled if this process is asked to end.
///
/// # Errors
/// An error of the server.
pub(crate) fn opened(server: &Server, mut client: Client) -> Result<Opened<Client>, EngineError> {
    let pid = backend_pid(&mut client)?;
    let (backend, at_end) = (thread(server, pid), Some(server.cancel_at_end(&client)?));
    Ok(Opened { connection: client, id: i64::from(pid), is_near: backend.is_ok(), backend, at_end })
}
