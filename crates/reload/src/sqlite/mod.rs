//! SQLite: held by its own EXCLUSIVE lock, copied by `VACUUM INTO`, compared row by row, sealed by the
//! header's write version.
//!
//! Source: "File Locking And Concurrency In SQLite Version 3" (sqlite.org/lockingv3.html),
//! "PRAGMA locking_mode" (a connection in this mode keeps the lock between transactions, and uses a
//! write-ahead log only if no other process is connected), "VACUUM" (with INTO it reads the original only),
//! "How To Corrupt An SQLite Database File" (sqlite.org/howtocorrupt.html), 2.2 (closing any descriptor
//! of the file drops the locks of the process) and 2.4 (what a connection to a renamed file may do).

mod compare;
mod files;
mod header;
mod hold;
mod same;
mod verdict;

use crate::driver::{Depth, Driver, Held, ReloadItem, Settings};
use crate::error::{ItemError, ReloadError};
use crate::report::Checked;
use files::{Use, connect, has_only_files_beside, header_of, is_busy, open, unseal, writable};
use header::Writable;
use hold::JOURNAL_MODE;
use rusqlite::Connection;
pub use same::same_rows;
use std::path::Path;
use std::time::Duration;

/// The engine's name.
pub const NAME: &str = "sqlite";
/// Shortest wait of a recovery for readers.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The driver.
pub fn driver(settings: &Settings) -> Box<dyn Driver> {
    Box::new(Sqlite { settings: settings.clone() })
}

#[derive(Debug)]
struct Sqlite {
    settings: Settings,
}

impl Driver for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self) -> Result<String, ReloadError> {
        if let Some(option) = self.settings.engine.keys().next() {
            return Err(ReloadError::Option(format!("engine sqlite has no option '{option}'")));
        }
        let fits = |size: u32| size.is_power_of_two() && (512..=65536).contains(&size);
        if let Some(size) = self.settings.page_size_bytes.filter(|size| !fits(*size)) {
            let why = format!("page size {size}: SQLite's are powers of 2 from 512 to 65536");
            return Err(ReloadError::Option(why));
        }
        Ok(format!("SQLite {} (built in)", rusqlite::version()))
    }

    fn look(&self, database: &Path) -> Result<(), ItemError> {
        has_only_files_beside(database)?;
        let file = open(database, Use::Look)
            .map_err(|error| ItemError::skip(format!("cannot be opened: {error}")))?;
        writable(&file).map(|_| ())?;
        drop(file);
        let found = crate::identity::Identity::at(database).map_err(ItemError::skip)?;
        match crate::holders::others(found.inode, database).first() {
            None => Ok(()),
            Some(holder) => Err(ItemError::skip(format!("in use: opened by {holder}"))),
        }
    }

    fn hold(&self, reload: &ReloadItem) -> Result<Box<dyn Held>, ItemError> {
        hold::hold(reload)
    }

    fn recover(&self, reload: &ReloadItem) -> Result<(), ItemError> {
        let noted = reload.noted(JOURNAL_MODE).as_deref() == Some("wal");
        let put_back = || -> Result<(), String> {
            let found = header_of(&reload.database)?;
            let Some(found) = found else { return Ok(()) };
            let is_sealed = matches!(found.writable(), Writable::Sealed { .. });
            if !is_sealed && (!noted || found.is_wal()) {
                return Ok(());
            }
            if !is_sealed {
                // A kill while the journal mode was changed may have left a journal to roll back.
                read(&reload.database, reload.settings.wait).map_err(|error| error.to_string())?;
            }
            unseal(&reload.database, noted, reload.settings.wait.max(LONGEST_WAIT))
        };
        put_back().map_err(|why| ItemError::LeftBehind(format!("cannot make it writable again: {why}")))
    }

    fn is_sealed(&self, database: &Path) -> Result<bool, ItemError> {
        let found = header_of(database).map_err(|why| ItemError::skip(format!("cannot be read: {why}")))?;
        let found = found.ok_or_else(|| ItemError::skip("is not an SQLite database (or an empty one)"))?;
        Ok(matches!(found.writable(), Writable::Sealed { .. }))
    }

    fn reopen(&self, reload: &ReloadItem) -> Result<(), ItemError> {
        let found = header_of(&reload.database).map_err(ItemError::failed)?;
        if found.is_none() {
            return Err(ItemError::failed("the new file is empty or no longer an SQLite database"));
        }
        match read(&reload.database, reload.settings.wait) {
            // Another process uses it already.
            Err(error) if is_busy(&error) => Ok(()),
            opened => opened.map_err(|error| {
                ItemError::failed(format!("the new file does not open under its name: {error}"))
            }),
        }
    }

    fn verify(&self, reload: &ReloadItem, depth: Depth) -> Result<Option<Checked>, ItemError> {
        self.reopen(reload)?;
        let checked = || -> rusqlite::Result<Result<Option<Checked>, ItemError>> {
            let connection = connect(&reload.database)?;
            connection.busy_timeout(reload.settings.wait)?;
            // One snapshot for the check and the counts.
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
            Ok(found(&connection, reload, depth))
        };
        match checked() {
            Ok(found) => found,
            // Another process uses it.
            Err(error) if is_busy(&error) && depth == Depth::Check => Ok(None),
            Err(error) if is_busy(&error) => Err(ItemError::skip(
                "the new file is in use, so it cannot be compared with the check before the swap",
            )),
            Err(error) => Err(ItemError::failed(format!("the new file does not open: {error}"))),
        }
    }
}

/// The engine's check of the new file, and its counts if requested.
fn found(connection: &Connection, reload: &ReloadItem, depth: Depth) -> Result<Option<Checked>, ItemError> {
    if let Some(finding) = verdict::damage(connection, reload)? {
        return Err(ItemError::failed(format!("the new file is damaged: {finding}")));
    }
    match depth {
        Depth::Check => Ok(None),
        Depth::Count => verdict::count(connection, reload).map(Some),
    }
}

/// Opens a database as any other program does, and reads from it.
fn read(database: &Path, wait: Duration) -> rusqlite::Result<()> {
    let connection = connect(database)?;
    connection.busy_timeout(wait)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}
