//! SQLite's own check of a database, in one line, ended early when the user asks to stop.
//!
//! Source: "PRAGMA integrity_check" (sqlite.org/pragma.html): `ok`, or up to 100 rows, of which one may
//! have several lines under a heading in asterisks.

use super::compare::{quoted, tables};
use crate::driver::ReloadItem;
use crate::error::ItemError;
use crate::report::Checked;
use rusqlite::{Connection, ErrorCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two checks whether to end a long statement.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Runs long statements, interrupted when the user asks to stop.
///
/// # Errors
/// [`ItemError::Stopped`] then; SQLite's own are in the value.
pub fn interruptible<T>(
    connection: &Connection,
    reload: &ReloadItem,
    run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<rusqlite::Result<T>, ItemError> {
    let (handle, done) = (connection.get_interrupt_handle(), AtomicBool::new(false));
    let ended = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if reload.is_stopped() {
                    handle.interrupt();
                }
                std::thread::park_timeout(BETWEEN_LOOKS);
            }
        });
        let ended = run(connection);
        done.store(true, Ordering::Relaxed);
        looking.thread().unpark();
        ended
    });
    reload.unless_stopped()?;
    Ok(ended)
}

/// The findings of `integrity_check`, in one line; `None` if there are none.
///
/// # Errors
/// It could not be run to its end.
pub fn damage(connection: &Connection, reload: &ReloadItem) -> Result<Option<String>, ItemError> {
    let read = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
        connection.prepare("PRAGMA main.integrity_check")?.query_map([], |row| row.get(0))?.collect()
    };
    match interruptible(connection, reload, read)? {
        Ok(rows) => Ok(brief(&rows)),
        Err(error) if is_damage(&error) => Ok(Some(error.to_string())),
        Err(error) => Err(ItemError::failed(format!("cannot be checked: {error}"))),
    }
}

/// Whether SQLite reports that a file is damaged.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// The first finding and the number of the others.
fn brief(rows: &[String]) -> Option<String> {
    let lines = rows.iter().flat_map(|row| row.lines());
    let mut found = lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("***"));
    let first = found.next().filter(|first| *first != "ok")?;
    Some(match found.count() {
        0 => first.to_owned(),
        more => format!("{first}, {more} more"),
    })
}

/// The number of tables and of rows in them.
///
/// # Errors
/// One of them cannot be read.
pub fn count(connection: &Connection, reload: &ReloadItem) -> Result<Checked, ItemError> {
    let mut counted = Checked::default();
    for table in tables(connection)? {
        let query = format!("SELECT count(*) FROM main.{} NOT INDEXED", quoted(&table));
        let rows = interruptible(connection, reload, |connection| {
            connection.query_row(&query, [], |row| row.get::<_, i64>(0))
        })?;
        let rows = rows.map_err(|error| {
            ItemError::failed(format!("the rows of table {table} cannot be counted: {error}"))
        })?;
        counted.rows += rows.unsigned_abs();
        counted.tables += 1;
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_one_line() {
        let rows = |rows: &[&str]| brief(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
        assert_eq!(rows(&["ok"]), None);
        assert_eq!(rows(&["row 3 missing from index i"]).unwrap(), "row 3 missing from index i");
        let several = rows(&["*** in database main ***\nTree 3 page 5: bad\nPage 7: never used", "row 1 x"]);
        assert_eq!(several.unwrap(), "Tree 3 page 5: bad, 2 more");
    }
}
