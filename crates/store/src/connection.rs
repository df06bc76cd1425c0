//! Connections to a result file: hardened, bounded, exclusive for writers, and with our schema alone.
//!
//! Source of the settings: <https://www.sqlite.org/security.html>, section "Untrusted SQLite
//! Database Files", and <https://www.sqlite.org/pragma.html>.

use crate::error::{Fault, Problem, StoreError, VERSION, one_line};
use rusqlite::config::DbConfig;
use rusqlite::ffi::ErrorCode;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The tables of a study.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");

/// A kind of file of threadwise: its tables, and its marks in SQLite's header.
#[derive(Debug)]
pub(crate) struct FileKind {
    /// Its tables.
    pub schema: &'static str,
    /// `application_id`.
    pub application_id: u32,
    /// `user_version`.
    pub version: i32,
    /// Whether its writer keeps it locked, so that no other process reads it.
    pub is_exclusive: bool,
    /// Permissions of a new one, less the umask.
    pub mode: u32,
}

/// The result file of a study: `thwi`.
pub(crate) static STUDY: FileKind = FileKind {
    schema: SCHEMA,
    application_id: 0x7468_7769,
    version: VERSION,
    is_exclusive: true,
    mode: 0o666,
};

/// Statements in production: `thob`. It is written for months, so that others may read it meanwhile.
pub(crate) static OBSERVED: FileKind = FileKind {
    schema: include_str!("observed/schema.sql"),
    application_id: 0x7468_6f62,
    version: 3,
    is_exclusive: false,
    // Texts of statements are for its owner alone.
    mode: 0o600,
};

/// Virtual machine steps that SQLite may still take for the present call; see [`Allowance::refill`].
#[derive(Debug, Default)]
pub(crate) struct Allowance(Arc<AtomicU64>);

/// How long a writer waits for the readers of a file.
const READERS_AT_MOST: Duration = Duration::from_secs(60);
/// Steps between two calls of the progress handler.
const STEPS: i32 = 10_000;
/// Steps for an empty file: about half a second.
const STEPS_ANYWAY: u64 = 50_000_000;
/// Steps per byte of the file. Reading everything takes about 1, since no row has fewer than about
/// 10 bytes.
const STEPS_PER_BYTE: u64 = 8;
/// Steps for `quick_check`; after that it is left unfinished (every value is checked when it is
/// read, so the check only finds damage earlier and with a shorter message).
const STEPS_QUICK_CHECK: u64 = 20_000_000;

impl Allowance {
    /// Restarts the count for a file of this size, as every public function does.
    pub fn refill(&self, file_bytes: u64) {
        let steps = STEPS_ANYWAY.saturating_add(file_bytes.saturating_mul(STEPS_PER_BYTE));
        self.0.store(steps, Ordering::Relaxed);
    }

    fn watch(&self, connection: &mut Connection) -> Result<(), Fault> {
        let left = Arc::clone(&self.0);
        let stop = move || {
            let rest = left.load(Ordering::Relaxed).saturating_sub(STEPS as u64);
            left.store(rest, Ordering::Relaxed);
            rest == 0
        };
        Ok(connection.progress_handler(STEPS, Some(stop))?)
    }
}

/// A new exclusive connection to an empty file that was just made. It has no tables.
pub(crate) fn for_creation(path: &Path, kind: &FileKind) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    harden(&connection)?;
    settle_for_writing(&connection, kind)?;
    Ok(connection)
}

/// A connection to an existing file. `path` is for messages, `real` is the file without links.
pub(crate) fn for_existing(
    path: &Path,
    real: &Path,
    bytes: u64,
    writing: bool,
    kind: &FileKind,
) -> Result<(Connection, Allowance), StoreError> {
    let access = match writing {
        true => OpenFlags::SQLITE_OPEN_READ_WRITE,
        false => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let opened = Connection::open_with_flags(real, access | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let mut connection = opened.map_err(|error| Fault::from(error).on(path, "open"))?;
    // SQLite falls back to reading when a file cannot be written.
    if writing && connection.is_readonly("main").unwrap_or(true) {
        return Err(Problem::ReadOnly.of(path));
    }
    let allowance = Allowance::default();
    allowance.refill(bytes);
    let mut ready = || -> Result<(), Fault> {
        allowance.watch(&mut connection)?;
        harden(&connection)?;
        if writing {
            settle_for_writing(&connection, kind)?;
            // Takes the lock, and undoes what a killed writer left.
            connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
        }
        Ok(())
    };
    ready().map_err(|fault| fault.on(path, "read"))?;
    check_identity(&connection, path, kind)?;
    verify(&connection, kind)
        .and_then(|()| quick_check(&connection, &allowance))
        .map_err(|fault| fault.on(path, "read"))?;
    allowance.refill(bytes);
    Ok((connection, allowance))
}

/// No content of a file may make SQLite run code, take much memory or write elsewhere.
fn harden(connection: &Connection) -> Result<(), Fault> {
    use DbConfig::*;
    for (setting, value) in [
        (SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (SQLITE_DBCONFIG_DEFENSIVE, true),
        (SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (SQLITE_DBCONFIG_ENABLE_FKEY, true),
        (SQLITE_DBCONFIG_DQS_DML, false),
        (SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    use Limit::*;
    for (limit, value) in [
        (SQLITE_LIMIT_LENGTH, 8 << 20),
        (SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
        (SQLITE_LIMIT_COLUMN, 40),
        (SQLITE_LIMIT_EXPR_DEPTH, 50),
        (SQLITE_LIMIT_COMPOUND_SELECT, 10),
        (SQLITE_LIMIT_VDBE_OP, 25_000),
        (SQLITE_LIMIT_FUNCTION_ARG, 8),
        (SQLITE_LIMIT_ATTACHED, 0),
        (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (SQLITE_LIMIT_VARIABLE_NUMBER, 40),
        (SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.set_prepared_statement_cache_capacity(64);
    // None of these reads the file.
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}

/// Locks the file for this process with the first transaction, and makes commits durable. That of a new file writes all
/// of it: an empty one would leave a file without our marks.
///
/// `locking_mode=EXCLUSIVE` keeps the lock until the connection closes, even if the process is
/// killed: two runs can never append to one study, and no reader can delay a commit
/// during a measurement. It also avoids making and deleting a journal per run. A file that others may read is locked
/// for each transaction only, and a reader may delay it for a while.
fn settle_for_writing(connection: &Connection, kind: &FileKind) -> Result<(), Fault> {
    match kind.is_exclusive {
        true => connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?,
        false => connection.busy_timeout(READERS_AT_MOST)?,
    }
    connection.query_row("PRAGMA journal_mode=DELETE", [], |_| Ok(()))?;
    Ok(connection.pragma_update(None, "synchronous", "FULL")?)
}

/// Checks the header's marks again, through SQLite: an undone journal may have changed them.
fn check_identity(connection: &Connection, path: &Path, kind: &FileKind) -> Result<(), StoreError> {
    let pragma = |name: &str| -> Result<i64, StoreError> {
        let value = connection.pragma_query_value(None, name, |row| row.get(0));
        value.map_err(|error| Fault::from(error).on(path, "read"))
    };
    if pragma("page_count")? == 0 {
        return Err(Problem::Empty.of(path));
    }
    check_marks(pragma("application_id")? as u32, pragma("user_version")? as i32, path, kind)
}

/// Refuses another program's file, another kind, and another version.
pub(crate) fn check_marks(
    application_id: u32,
    version: i32,
    path: &Path,
    kind: &FileKind,
) -> Result<(), StoreError> {
    let is =
        |other: &FileKind| application_id == other.application_id && application_id != kind.application_id;
    let problem = match version {
        _ if is(&OBSERVED) => Problem::Observed,
        _ if is(&STUDY) => Problem::Study,
        _ if application_id != kind.application_id => Problem::Foreign(application_id),
        _ if version == kind.version => return Ok(()),
        _ if version > kind.version => Problem::Newer(version, kind.version),
        1.. if kind.application_id == OBSERVED.application_id => {
            Problem::OlderObserved(version, kind.version)
        }
        1.. => Problem::Older(version),
        _ => Problem::Damaged(format!("schema {version} was never written")),
    };
    Err(problem.of(path))
}

/// One entry of `sqlite_schema`: type, name, table, SQL text.
type Entry = (String, String, String, Option<String>);

/// Checks that the file's tables and indexes are exactly the expected ones: a foreign view, trigger,
/// generated column or CHECK would be run by threadwise's queries.
fn verify(connection: &Connection, kind: &FileKind) -> Result<(), Fault> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(kind.schema)?;
    let expected = entries(&ours)?;
    let found = entries(connection)?;
    if let Some(entry) = found.iter().find(|entry| !expected.contains(entry)) {
        let (kind, name) = (one_line(&entry.0), one_line(&entry.1));
        let known = expected.iter().any(|ours| ours.1 == entry.1);
        let what = if known { "differs" } else { "is unknown" };
        return Err(Fault::NotOurs(format!("its {kind} {name} {what}")));
    }
    match expected.iter().find(|entry| !found.contains(entry)) {
        Some(entry) => Err(Fault::NotOurs(format!("it lacks the {} {}", entry.0, entry.1))),
        None => Ok(()),
    }
}

fn entries(connection: &Connection) -> Result<Vec<Entry>, Fault> {
    // The schema has fewer than 50; more than 100 need not be read to refuse it.
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// SQLite's own check of the structure, up to the first fault or [`STEPS_QUICK_CHECK`].
fn quick_check(connection: &Connection, allowance: &Allowance) -> Result<(), Fault> {
    allowance.0.store(STEPS_QUICK_CHECK, Ordering::Relaxed);
    let result = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match result {
        Ok(text) if text == "ok" => Ok(()),
        Ok(text) => Err(Fault::Damaged(one_line(&text))),
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == ErrorCode::OperationInterrupted =>
        {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files in the hands of users were made with exactly this text.
    #[test]
    fn the_schema_of_a_version_never_changes() {
        // FNV-1a, 64 bits.
        let hash = SCHEMA.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(
            hash, 3_173_465_659_830_555_914,
            "the schema changed: give it a new user_version, let convert.py write it, then set its hash"
        );
        for kind in [&STUDY, &OBSERVED] {
            assert!(kind.schema.contains(&format!("application_id = {:#x}", kind.application_id)));
            assert!(kind.schema.contains(&format!("user_version = {};", kind.version)));
        }
    }
}
