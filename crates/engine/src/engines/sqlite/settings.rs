//! Settings of a connection, set and read back: SQLite reports no error for one that it ignores.

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

/// The value of a pragma.
pub(super) fn query<T: FromSql>(connection: &Connection, pragma: &str) -> Result<T, EngineError> {
    connection
        .pragma_query_value(None, pragma, |row: &Row<'_>| row.get(0))
        .map_err(|cause| failed(format!("read the setting {pragma}"), cause))
}

/// Refuses a pragma with another value.
pub(super) fn expect<T: FromSql + PartialEq + Display>(
    connection: &Connection,
    pragma: &str,
    wanted: T,
) -> Result<(), EngineError> {
    let found: T = query(connection, pragma)?;
    if found == wanted {
        return Ok(());
    }
    Err(failed(format!("set {pragma}={wanted}"), format!("it stays {found}")))
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

/// Turns off memory statistics; call it before any connection is opened.
pub(super) fn initialise() -> Result<(), EngineError> {
    ffi::memory_statistics_off().map_err(|code| {
        failed("turn off memory statistics", format!("result code {code}; this process used SQLite before"))
    })
}
