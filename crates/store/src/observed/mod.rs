//! The file of observed statements: intervals with the counts of statements, one durable transaction each.
//!
//! It is written for months and read meanwhile: SQLite locks it for each transaction only, and a lock of the whole file
//! (flock(2)), which SQLite does not use, keeps a second writer away. docs/OBSERVE.md describes the tables.

mod about;
mod read;
mod write;

pub use about::About;

use crate::connection::{self, Allowance, OBSERVED};
use crate::error::{Fault, Problem, StoreError, from_io};
use crate::header::{self, Writer};
use rusqlite::Connection;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use threadwise_observed::{Count, Interval, StatementText};

/// An open file of observed statements.
#[derive(Debug)]
pub struct ObservedStore {
    // Dropped in this order: SQLite closes the file before its locks are given up.
    connection: Connection,
    writer: Option<(Writer, File)>,
    allowance: Allowance,
    path: PathBuf,
    real: PathBuf,
    about: About,
    /// Ids of statements by key, of a writer.
    ids: HashMap<String, u64>,
    /// Number of intervals, of a writer.
    intervals: u64,
}

impl ObservedStore {
    /// Makes the file, which its owner alone may read, or opens it to continue it if it is there and of the same server
    /// with the same options. The second value is the number of intervals that it has.
    ///
    /// # Errors
    /// It cannot be made or is not such a file, another process writes to it, or it is of another server.
    pub fn create_or_continue(path: &Path, about: &About) -> Result<(Self, u64), StoreError> {
        let mut store = match path.symlink_metadata() {
            Ok(_) => Self::continued(path, about)?,
            Err(_) => Self::created(path, about)?,
        };
        let facts = read::statements(&store.connection).map_err(|fault| fault.on(path, "read"))?;
        store.ids = facts.into_iter().zip(1..).map(|(statement, id)| (statement.key, id)).collect();
        store.intervals = read::count(&store.connection).map_err(|fault| fault.on(path, "read"))?;
        let intervals = store.intervals;
        Ok((store, intervals))
    }

    fn created(path: &Path, about: &About) -> Result<Self, StoreError> {
        header::create_exclusively(path, 0o600)?;
        let fill = || -> Result<Self, StoreError> {
            let locked = Self::locked(path)?;
            let real = path.canonicalize().map_err(|error| from_io(&error, path, "make"))?;
            let build = || -> Result<Connection, Fault> {
                let mut connection = connection::for_creation(&real, &OBSERVED)?;
                let transaction = connection.transaction()?;
                transaction.execute_batch(OBSERVED.schema)?;
                write::about(&transaction, about)?;
                transaction.commit()?;
                Ok(connection)
            };
            let connection = build().map_err(|fault| fault.of_ours().on(path, "make"))?;
            Ok(Self::of(connection, Some(locked), Allowance::default(), path, real, about.clone()))
        };
        let made = fill();
        if made.is_err() {
            // Just made; if it cannot be removed, the first error is the one to report.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn continued(path: &Path, about: &About) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, &OBSERVED)?;
        header::check_journal(&real)?;
        let locked = Self::locked(path)?;
        let (connection, allowance) = connection::for_existing(path, &real, bytes, true, &OBSERVED)?;
        let found = read::about(&connection).map_err(|fault| fault.on(path, "read"))?;
        if let Some(what) = change(&found, about) {
            return Err(Problem::Elsewhere(what).of(path));
        }
        Ok(Self::of(connection, Some(locked), allowance, path, real, found))
    }

    /// Opens a file of any origin for reading. An interval that was being stored when its writer was killed is undone
    /// if the file may be written.
    ///
    /// # Errors
    /// As of a study's file ([`crate::Store::open`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match Self::opened(path) {
            Err(StoreError { problem: Problem::Interrupted, .. }) => {
                let (real, bytes) = header::probe(path, &OBSERVED)?;
                header::check_journal(&real)?;
                let locked = Self::locked(path)?;
                drop(connection::for_existing(path, &real, bytes, true, &OBSERVED)?);
                drop(locked);
                Self::opened(path)
            }
            other => other,
        }
    }

    fn opened(path: &Path) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, &OBSERVED)?;
        let (connection, allowance) = connection::for_existing(path, &real, bytes, false, &OBSERVED)?;
        // One view of the file, whatever is added meanwhile.
        let begun = connection.execute_batch("BEGIN").map_err(Fault::from);
        let about = begun.and_then(|()| read::about(&connection)).map_err(|fault| fault.on(path, "read"))?;
        Ok(Self::of(connection, None, allowance, path, real, about))
    }

    /// Keeps other writers away, of this process and of others.
    fn locked(path: &Path) -> Result<(Writer, File), StoreError> {
        let writer = Writer::enter(path)?;
        let file = File::open(path).map_err(|error| from_io(&error, path, "read"))?;
        file.try_lock().map_err(|_| Problem::Observing.of(path))?;
        Ok((writer, file))
    }

    fn of(
        connection: Connection,
        writer: Option<(Writer, File)>,
        allowance: Allowance,
        path: &Path,
        real: PathBuf,
        about: About,
    ) -> Self {
        let path = path.to_owned();
        Self { connection, writer, allowance, path, real, about, ids: HashMap::new(), intervals: 0 }
    }

    /// Whose statements they are.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether a statement is known.
    pub fn knows(&self, key: &str) -> bool {
        self.ids.contains_key(key)
    }

    /// Stores an interval, completely and durably when this returns, with what is now known of statements that are new in
    /// it, or that it has without a description.
    ///
    /// # Errors
    /// No space, a reader that does not end, or a value that the file cannot hold. Then nothing of the interval is
    /// stored, and everything before it stays.
    pub fn append(&mut self, interval: &Interval, texts: &[StatementText]) -> Result<(), StoreError> {
        self.refill();
        let (connection, ids, number) = (&mut self.connection, &self.ids, self.intervals + 1);
        let mut transact = || {
            let transaction = connection.transaction()?;
            let new = write::interval(&transaction, number, interval, texts, ids)?;
            write::describe(&transaction, texts, ids)?;
            transaction.commit()?;
            Ok(new)
        };
        let done = if self.writer.is_some() { transact() } else { Err(Fault::ReadOnly) };
        let new = done.map_err(|fault| fault.on(&self.path, "write"))?;
        self.ids.extend(new);
        self.intervals = number;
        Ok(())
    }

    /// Stores what is now known of statements that it has, durably.
    ///
    /// # Errors
    /// As [`ObservedStore::append`].
    pub fn describe(&mut self, texts: &[StatementText]) -> Result<(), StoreError> {
        self.refill();
        let (connection, ids) = (&mut self.connection, &self.ids);
        let mut transact = || {
            let transaction = connection.transaction()?;
            write::describe(&transaction, texts, ids)?;
            Ok(transaction.commit()?)
        };
        let done = if self.writer.is_some() { transact() } else { Err(Fault::ReadOnly) };
        done.map_err(|fault: Fault| fault.on(&self.path, "write"))
    }

    /// Statements in the order of their ids, the first with id 0.
    ///
    /// # Errors
    /// A file that cannot be read, or impossible values in it.
    pub fn statements(&self) -> Result<Vec<StatementText>, StoreError> {
        self.refill();
        read::statements(&self.connection).map_err(|fault| fault.on(&self.path, "read"))
    }

    /// Intervals in order, without their counts.
    ///
    /// # Errors
    /// As [`ObservedStore::statements`].
    pub fn intervals(&self) -> Result<Vec<Interval<u32>>, StoreError> {
        self.refill();
        read::intervals(&self.connection).map_err(|fault| fault.on(&self.path, "read"))
    }

    /// Gives each count with the index of its interval, in their order; a statement by its index.
    ///
    /// # Errors
    /// As [`ObservedStore::statements`].
    pub fn counts(
        &self,
        intervals: usize,
        statements: usize,
        take: impl FnMut(usize, &Count<u32>),
    ) -> Result<(), StoreError> {
        self.refill();
        read::counts(&self.connection, intervals, statements, take)
            .map_err(|fault| fault.on(&self.path, "read"))
    }

    fn refill(&self) {
        self.allowance.refill(self.real.metadata().map_or(0, |metadata| metadata.len()));
    }
}

/// What prevents continuing a file with these options, if anything.
fn change(found: &About, wanted: &About) -> Option<String> {
    let pairs = [
        ("engine", found.engine.clone(), wanted.engine.clone()),
        ("server", found.server.clone(), wanted.server.clone()),
        ("observing machine", found.host.clone(), wanted.host.clone()),
        ("number of statements (--top)", found.most.to_string(), wanted.most.to_string()),
        ("storing of texts (--no-text)", found.has_texts.to_string(), wanted.has_texts.to_string()),
    ];
    let differs = pairs.into_iter().find(|(_, found, wanted)| found != wanted);
    differs.map(|(what, found, wanted)| format!("its {what} is {found}, and now it is {wanted}"))
}
