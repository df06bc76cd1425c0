//! `insert` on SQLite: one transaction after another into a table with a clustered key.
//!
//! **Table.** `c1 INTEGER PRIMARY KEY` is the rowid (lang_createtable.html, 5): the table is one
//! B-tree in key order, and there is no second index. With ascending keys each session appends at its
//! own place in the tree; with random keys every row goes to another leaf.
//!
//! **File** (`file`): `own`, one file per session, each with all seeded rows, so that sessions share
//! only disk and kernel; `shared`, one file for all. SQLite has one writer at a time for a file: with
//! `shared`, sessions take turns, and their waits are part of their steps. Turns are not fair: a waiting
//! session sleeps while the working one continues, so it may get none in a whole window, and its last step
//! ends up to 100 ms after the window. A commit of one session also empties the page caches of all others
//! (pager.c, pager_reset), which then fetch their pages again: `cache_miss_pages` shows it.
//!
//! **Transaction.** One multi-row INSERT outside of BEGIN and COMMIT is a transaction of its own. It
//! takes the write lock before it reads (vdbe.c, OP_Transaction), as BEGIN IMMEDIATE does, so it never
//! fails half-way because another session wrote. `waits` says how a session waits.
//!
//! **Durability**, `table=durable`: the WAL, with SQLite's default checkpoint inside the commit that
//! brings the log to 1000 pages. `full` is synchronous=FULL, a sync of the log at each commit; `relaxed` is
//! synchronous=NORMAL, syncs at checkpoints only: a loss of power may lose the last transactions, and leaves
//! the others whole (pragma.html#pragma_synchronous). OFF would never sync and may leave a damaged file, which
//! is more than a relaxed commit means elsewhere. Unless it is built with HAVE_FDATASYNC, SQLite syncs by
//! fsync(2) (os_unix.c), which writes the file's modification time as well.
//!
//! **`table=unlogged`**: journal_mode=MEMORY and synchronous=OFF: changed pages are written to the
//! file at commit, nothing is ever synced, and the rollback journal is in memory. A crash in the
//! middle of a commit may destroy the whole table, as with unlogged tables elsewhere. `durability=full`
//! with it is refused. (`:memory:` would keep the pages inside one connection, so that `file` would
//! have another meaning.)
//!
//! **Counters**: `cache_write_pages` (written to the WAL, or to the file without one; not the
//! checkpoint's copying from log to file) and `cache_miss_pages` (fetched from WAL or file, nearly always
//! out of the kernel's cache), of the counted steps; `busy_waits` and `busy_wait_ns`, sleeps for the write
//! lock inside the window, exact.

mod data;
mod session;
mod spec;
mod tally;
mod waits;

use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::error::failed;
use super::settings::initialise;
use crate::{EngineError, Running, Session, SessionRequest, StartRequest};
use data::Facts;
pub(super) use data::load;
use session::InsertSession;
pub(super) use spec::Spec;
use tally::{Tally, check_rows};

/// One run: fresh copies of the template in its own folder, removed at the end.
#[derive(Debug)]
pub(super) struct Inserting {
    spec: Spec,
    facts: Facts,
    folder: PathBuf,
    files: Vec<(PathBuf, Arc<Tally>)>,
}

impl Inserting {
    /// Copies the template, on the worker's main thread: the kernel's cache of the copies follows the
    /// worker's memory policy.
    ///
    /// # Errors
    /// No template, no space, or a file system that does not support the journal mode.
    pub(super) fn start(request: &StartRequest, spec: Spec) -> Result<Self, EngineError> {
        initialise()?;
        let load = &request.load;
        let facts = data::find(load, &spec)?;
        let folder = data::run_folder(load, &spec);
        let files: Vec<_> = (0..spec.files_of(request.sessions.len() as u32))
            .map(|number| (folder.join(format!("session-{number}.db")), Arc::new(Tally::default())))
            .collect();
        // Made before its first file, so that the folder is removed whatever fails from here on.
        let run = Self { spec, facts, folder, files };
        data::copy(load, &spec, &run.folder, run.files.iter().map(|(file, _)| file.as_path()))?;
        Ok(run)
    }

    fn check(&self, file: &Path, tally: &Tally) -> Result<(), EngineError> {
        let connection = Connection::open(file)
            .map_err(|cause| failed("check the table", format!("{}: {cause}", file.display())))?;
        let inserted = (tally.rows.load(Ordering::Relaxed), tally.key_sum.load(Ordering::Relaxed));
        let expected = (self.facts.rows + inserted.0, self.facts.key_sum + inserted.1);
        check_rows(&connection, file, expected)
    }
}

impl Running for Inserting {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let (file, tally) = self
            .files
            .get(self.spec.file_of(request.session))
            .ok_or_else(|| failed("open its data", format!("session {} was not started", request.session)))?;
        let session = InsertSession::open(request, self.spec, &self.facts, file, Arc::clone(tally))?;
        Ok(Box::new(session))
    }

    fn finish(&self) -> Result<(), EngineError> {
        for (file, tally) in &self.files {
            self.check(file, tally)?;
        }
        fs::remove_dir_all(&self.folder)
            .map_err(|cause| failed("remove the run's files", format!("{}: {cause}", self.folder.display())))
    }
}

impl Drop for Inserting {
    fn drop(&mut self) {
        // After `finish` nothing is left; if this fails too, the next run of the treatment or the removal of the
        // study's folder clears it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests;
