//! An SQLite database held by one connection in exclusive locking mode, from before the copy until after
//! the swap.
//!
//! The connection never writes after the hold: `journal_mode=OFF` closes its journal, since a connection
//! with an open one removes `NAME-journal` by its name when it is closed, and after the swap that name
//! belongs to the new file. The seal is written through a separate descriptor that stays open until
//! the connection is closed.

use super::compare::{compare, setting};
use super::files::{
    BETWEEN_TRIES, Use, connect, has_only_files_beside, is_busy, is_there, open, side, unseal, writable,
};
use super::header::Header;
use super::verdict::{damage, interruptible, is_damage};
use crate::driver::{Held, ReloadItem};
use crate::error::ItemError;
use crate::holders::{others, sees_all, wait_until_alone};
use crate::identity::{Identity, Inode};
use crate::report::Checked;
use rusqlite::Connection;
use rustix::fs::fstat;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Key of the journal mode in the state.
pub(super) const JOURNAL_MODE: &str = "journal_mode";
/// Wait of one try for the lock inside SQLite, which keeps new readers out.
const ONE_TRY: Duration = Duration::from_millis(100);

/// A held database. Fields are in the order of their closing: see the module.
struct HeldDatabase {
    connection: Connection,
    file: File,
    inode: Inode,
    wal: bool,
    sealed: bool,
}

/// Holds a database.
pub fn hold(reload: &ReloadItem) -> Result<Box<dyn Held>, ItemError> {
    let until = Instant::now() + reload.settings.wait;
    has_only_files_beside(&reload.database)?;
    let file = open(&reload.database, Use::Change)
        .map_err(|error| ItemError::skip(format!("cannot be opened: {error}")))?;
    writable(&file)?;
    let found = fstat(&file).map_err(ItemError::skip)?;
    let inode = Identity::of(&found).inode;
    // Mode bits: write for the group, write for others.
    let others_may = found.st_mode & 0o002 != 0
        || (found.st_mode & 0o020 != 0 && found.st_gid != rustix::process::getegid().as_raw());
    if others_may && !sees_all() {
        reload.warn("other users may write it, and only root can see whether they have it open while idle");
    }
    let connection = take(reload, until)?;
    // Any process that has it open now waits for this lock, or would continue after the swap with the old file.
    wait_until_alone(inode, &reload.database, until, &|| reload.is_stopped())?;
    let mut held = HeldDatabase { connection, file, inode, wal: false, sealed: false };
    match held.leave_wal(reload) {
        Ok(()) => Ok(Box::new(held)),
        Err(error) => {
            Box::new(held).release(reload, false)?;
            Err(error)
        }
    }
}

/// Gets the EXCLUSIVE lock, with a new connection for every try: a failed one would keep its SHARED lock.
fn take(reload: &ReloadItem, until: Instant) -> Result<Connection, ItemError> {
    loop {
        let taken = || -> rusqlite::Result<Connection> {
            let connection = connect(&reload.database)?;
            connection.busy_timeout(ONE_TRY)?;
            connection.pragma_update(Some("main"), "locking_mode", "EXCLUSIVE")?;
            connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
            Ok(connection)
        };
        match taken() {
            Ok(connection) => return Ok(connection),
            Err(error) if is_busy(&error) => {
                reload.unless_stopped()?;
                if Instant::now() >= until {
                    return Err(in_use(reload));
                }
                std::thread::sleep(BETWEEN_TRIES);
            }
            Err(error) if is_damage(&error) => return Err(damaged(&error.to_string())),
            Err(error) => return Err(ItemError::skip(format!("cannot be held: {error}"))),
        }
    }
}

fn in_use(reload: &ReloadItem) -> ItemError {
    let who =
        Identity::at(&reload.database).map(|found| others(found.inode, &reload.database)).unwrap_or_default();
    let who = who.first().map(|holder| format!(" by {holder}")).unwrap_or_default();
    ItemError::skip(format!("in use{who}: it is locked; end what uses it, or use a longer --wait"))
}

/// Unreadable contents of the original would be missing in the new file unnoticed.
fn damaged(finding: &str) -> ItemError {
    ItemError::failed(format!(
        "the original is damaged: {finding}; it is unchanged: use a complete backup of it, or \
         save what can be read (sqlite3 FILE .recover)"
    ))
}

impl HeldDatabase {
    /// Empties the write-ahead log and switches it off, after recording it, and then the journal.
    fn leave_wal(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        let skip = |error: rusqlite::Error| match is_damage(&error) {
            true => damaged(&error.to_string()),
            false => ItemError::skip(format!("cannot be held: {error}")),
        };
        let mode: String =
            self.connection.pragma_query_value(None, JOURNAL_MODE, |row| row.get(0)).map_err(skip)?;
        if mode == "wal" {
            reload.note(JOURNAL_MODE, "wal")?;
            self.wal = true;
            let connection = &self.connection;
            let left: String = connection
                .pragma_update_and_check(Some("main"), JOURNAL_MODE, "delete", |row| row.get(0))
                .map_err(skip)?;
            if left != "delete" {
                return Err(ItemError::skip(format!("its journal mode stays {left}")));
            }
        }
        let connection = &self.connection;
        let off: String = connection
            .pragma_update_and_check(Some("main"), JOURNAL_MODE, "off", |row| row.get(0))
            .map_err(skip)?;
        if off != "off" {
            return Err(ItemError::skip(format!("its journal mode stays {off}")));
        }
        clear_side_files(&reload.database)
    }
}

impl Held for HeldDatabase {
    fn backup(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        if let Some(finding) = damage(&self.connection, reload)? {
            return Err(damaged(&finding));
        }
        let text = reload.backup.to_str().ok_or_else(|| ItemError::skip("its path is not valid UTF-8"))?;
        let prepare = || -> rusqlite::Result<()> {
            if let Some(size) = reload.settings.page_size_bytes {
                self.connection.pragma_update(Some("main"), "page_size", size)?;
            }
            // The copy is made durable once, when it is complete.
            self.connection.pragma_update(Some("main"), "synchronous", "OFF")
        };
        prepare().map_err(ItemError::failed)?;
        let vacuum = |connection: &Connection| connection.execute("VACUUM main INTO ?1", [text]);
        match interruptible(&self.connection, reload, vacuum)? {
            Ok(_) => Ok(()),
            Err(error) if is_damage(&error) => Err(damaged(&error.to_string())),
            Err(error) => Err(ItemError::failed(format!("cannot be copied: {error}"))),
        }
    }

    /// After `VACUUM INTO`, sets the journal mode, which it does not carry over.
    fn restore(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        fs::rename(&reload.backup, &reload.new).map_err(ItemError::failed)?;
        if self.wal {
            unseal(&reload.new, true, Duration::ZERO).map_err(ItemError::failed)?;
        }
        Ok(())
    }

    fn check(&mut self, reload: &ReloadItem) -> Result<Checked, ItemError> {
        let new = connect(&reload.new).map_err(ItemError::failed)?;
        let size = setting(&new, "page_size")?;
        let wanted = match reload.settings.page_size_bytes {
            Some(size) => size.to_string(),
            None => setting(&self.connection, "page_size")?,
        };
        if size != wanted {
            return Err(ItemError::failed(format!("its page size is {size} instead of {wanted}")));
        }
        let mode = setting(&new, JOURNAL_MODE)?;
        if (mode == "wal") != self.wal {
            return Err(ItemError::failed(format!("its journal mode is {mode}")));
        }
        if let Some(finding) = damage(&new, reload)? {
            return Err(ItemError::failed(format!("the copy is damaged, but not the original: {finding}")));
        }
        let checked = compare(&self.connection, &new, &|| reload.unless_stopped())?;
        new.close().map_err(|(_, error)| ItemError::failed(error))?;
        match ["-wal", "-shm", "-journal"].iter().find(|suffix| is_there(&side(&reload.new, suffix))) {
            None => Ok(checked),
            Some(suffix) => Err(ItemError::failed(format!("the new file left a side file {suffix}"))),
        }
    }

    fn seal(&mut self, reload: &ReloadItem) -> Result<(), ItemError> {
        let failed = |error: io::Error| ItemError::failed(format!("cannot seal the original: {error}"));
        let until = Instant::now() + reload.settings.wait;
        loop {
            wait_until_alone(self.inode, &reload.database, until, &|| reload.is_stopped())?;
            clear_side_files(&reload.database)?;
            let header = writable(&self.file)?;
            self.sealed = true;
            header.sealed(self.wal).write(&self.file).map_err(failed)?;
            // Checked again, since the seal takes as long as a disk write.
            if others(self.inode, &reload.database).is_empty() {
                return Ok(());
            }
            self.put_back(false).map_err(failed)?;
        }
    }

    fn release(self: Box<Self>, reload: &ReloadItem, swapped: bool) -> Result<(), ItemError> {
        let mut held = self;
        if swapped {
            // A process that opened the old file just before the swap gets a lock error.
            let until = Instant::now() + reload.settings.wait;
            return wait_until_alone(held.inode, &reload.database, until, &|| reload.is_stopped()).map_err(
                |error| {
                    ItemError::failed(format!("the old file is still open elsewhere, read-only: {error}"))
                },
            );
        }
        held.put_back(held.wal)
            .map_err(|error| ItemError::LeftBehind(format!("cannot make it writable again: {error}")))
    }
}

impl HeldDatabase {
    /// Under the lock, in place, so that it needs neither space nor a side file.
    fn put_back(&mut self, wal: bool) -> io::Result<()> {
        if (self.sealed || wal)
            && let Some(header) = Header::read(&self.file)?
            && (self.sealed || header.is_wal() != wal)
        {
            header.unsealed(wal).write(&self.file)?;
        }
        self.sealed = false;
        Ok(())
    }
}

/// Removes obsolete side files; under the EXCLUSIVE lock, so that no process makes new ones.
///
/// A journal that begins with a zero byte or is empty is from `journal_mode=PERSIST` and `TRUNCATE`
/// or from a former write-ahead log; any other was rolled back when the lock was taken.
fn clear_side_files(database: &Path) -> Result<(), ItemError> {
    let wal = side(database, "-wal");
    if fs::metadata(&wal).is_ok_and(|found| found.len() > 0) {
        return Err(ItemError::skip(format!("{} is not empty; open it once with SQLite", wal.display())));
    }
    let journal = side(database, "-journal");
    let mut first = [0];
    let read = open(&journal, Use::Look).and_then(|mut file| file.read(&mut first));
    if read.is_ok() && first != [0] {
        return Err(ItemError::skip(format!("{} is hot; open the database once", journal.display())));
    }
    for path in [wal, journal, side(database, "-shm")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ItemError::skip(format!("{} cannot be removed: {error}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}
