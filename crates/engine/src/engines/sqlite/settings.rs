//! Settings of a connection, set and read back: SQLite says nothing when it does not take one.

use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};
use std::fmt::Display;

use super::error::failed;
use super::ffi;
use crate::EngineError;

/// Built with ENABLE_MEMORY_MANAGEMENT, SQLite keeps all connections' page caches in one group
/// behind one lock, and two sessions would measure that lock (pcache1.c, "mode 2").
pub(super) fn refuse_shared_cache_group(connection: &Connection) -> Result<(), EngineError> {
    let sql = "SELECT sqlite_compileoption_used('ENABLE_MEMORY_MANAGEMENT')";
    match connection.query_row(sql, [], |row| row.get::<_, i64>(0)) {
        Ok(0) => Ok(()),
        Ok(_) => Err(failed(
            "give each session its own cache",
            "this SQLite was built with ENABLE_MEMORY_MANAGEMENT, which puts all caches behind one lock",
        )),
        Err(cause) => Err(failed("read SQLite's build options", cause)),
    }
}

/// What a pragma says.
pub(super) fn query<T: FromSql>(connection: &Connection, pragma: &str) -> Result<T, EngineError> {
    connection
        .pragma_query_value(None, pragma, |row: &Row<'_>| row.get(0))
        .map_err(|cause| failed(format!("read the setting {pragma}"), cause))
}

/// Refuses another value than the wanted one.
pub(super) fn expect<T: FromSql + PartialEq + Display>(
    connection: &Connection,
    pragma: &str,
    wanted: T,
) -> Result<(), EngineError> {
    let found: T = query(connection, pragma)?;
    if found == wanted {
        return Ok(());
    }
    Err(failed(format!("have {pragma}={wanted}"), format!("SQLite says {found}")))
}

/// Sets a pragma and reads it back.
pub(super) fn set<T: FromSql + PartialEq + Display>(
    connection: &Connection,
    pragma: &str,
    value: &str,
    wanted: T,
) -> Result<(), EngineError> {
    connection
        .execute_batch(&format!("PRAGMA {pragma}={value}"))
        .map_err(|cause| failed(format!("set {pragma}={value}"), cause))?;
    expect(connection, pragma, wanted)
}

/// Called before any connection is opened.
pub(super) fn initialise() -> Result<(), EngineError> {
    ffi::memory_statistics_off().map_err(|code| {
        failed("turn memory statistics off", format!("result code {code}; this process used SQLite before"))
    })
}
