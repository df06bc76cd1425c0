//! The two SQLite calls that the safe binding lacks: `sqlite3_config` and `sqlite3_db_status64`
//! (<https://sqlite.org/c3ref/config.html>, <https://sqlite.org/c3ref/db_status.html>).
#![allow(unsafe_code)]

use rusqlite::{Connection, ffi};
use std::sync::OnceLock;

/// Accesses to a connection's page cache since the last reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounters {
    /// Pages found in the cache.
    pub hits: u64,
    /// Pages that had to be fetched from the file.
    pub misses: u64,
    /// Changed pages written: to the log in WAL mode, to the file in the others.
    pub writes: u64,
}

/// Turns off SQLite's memory statistics for this process, once: with them, every allocation of every session
/// takes one lock. Call it before the process opens its first connection.
///
/// # Errors
/// SQLite's result code, if it is too late (21, `SQLITE_MISUSE`) or refused.
pub fn memory_statistics_off() -> Result<(), i32> {
    static DONE: OnceLock<i32> = OnceLock::new();
    let code = *DONE.get_or_init(|| {
        // SAFETY: SQLITE_CONFIG_MEMSTATUS takes exactly one int. sqlite3_config is not thread-safe: the
        // OnceLock keeps other callers of this function out, and once SQLite is initialised by other
        // means it returns SQLITE_MISUSE and changes nothing.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0_i32) }
    });
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(code) }
}

/// Reads a connection's cache counters and sets them to 0: they are 32 bits wide inside SQLite and
/// would wrap within hours.
///
/// # Errors
/// SQLite's result code.
pub fn take_cache_counters(connection: &Connection) -> Result<CacheCounters, i32> {
    let take = |which: i32| {
        let (mut current, mut highest) = (0_i64, 0_i64);
        // SAFETY: the handle is that of an open connection, borrowed for the whole call, and
        // `Connection` is not Sync, so no other thread uses it. Both pointers are to live i64s. The
        // call neither closes the connection nor keeps a pointer.
        let code =
            unsafe { ffi::sqlite3_db_status64(connection.handle(), which, &mut current, &mut highest, 1) };
        if code == ffi::SQLITE_OK { Ok(current as u64) } else { Err(code) }
    };
    Ok(CacheCounters {
        hits: take(ffi::SQLITE_DBSTATUS_CACHE_HIT)?,
        misses: take(ffi::SQLITE_DBSTATUS_CACHE_MISS)?,
        writes: take(ffi::SQLITE_DBSTATUS_CACHE_WRITE)?,
    })
}
