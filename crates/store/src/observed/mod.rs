//! The file of observed statements: intervals with the counts of statements, one durable transaction each.
//!
//! It is written for months and read meanwhile: SQLite locks it for each transaction only, and a lock of the whole file
//! keeps a second writer away. docs/OBSERVE.md describes the tables.

mod about;
mod read;
mod write;

pub use about::About;

use crate::connection::OBSERVED;
use crate::error::{Problem, StoreError};
use crate::file::OpenFile;
use std::collections::HashMap;
use std::path::Path;
use threadwise_observed::{Count, Interval, StatementText};

/// An open file of observed statements.
#[derive(Debug)]
pub struct ObservedStore {
    file: OpenFile,
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
        let file = match path.symlink_metadata() {
            Ok(_) => OpenFile::write(path, &OBSERVED)?,
            Err(_) => OpenFile::create(path, &OBSERVED, |connection| write::about(connection, about))?,
        };
        let mut store = Self::of(file)?;
        if let Some(what) = change(&store.about, about) {
            return Err(Problem::Elsewhere(what).of(path));
        }
        store.ids =
            store.statements()?.into_iter().zip(1..).map(|(statement, id)| (statement.key, id)).collect();
        store.intervals = store.file.reading(read::count)?;
        let intervals = store.intervals;
        Ok((store, intervals))
    }

    /// Opens a file of any origin for reading. An interval that was being stored when its writer was killed is undone
    /// if the file may be written.
    ///
    /// # Errors
    /// As of a study's file ([`crate::Store::open`]).
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = match OpenFile::read(path, &OBSERVED) {
            Err(StoreError { problem: Problem::Interrupted, .. }) => {
                drop(OpenFile::write(path, &OBSERVED)?);
                OpenFile::read(path, &OBSERVED)?
            }
            other => other?,
        };
        // One view of the file, whatever is added meanwhile.
        file.reading(|connection| Ok(connection.execute_batch("BEGIN")?))?;
        Self::of(file)
    }

    fn of(file: OpenFile) -> Result<Self, StoreError> {
        let about = file.reading(read::about)?;
        Ok(Self { file, about, ids: HashMap::new(), intervals: 0 })
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
        let (ids, number) = (&self.ids, self.intervals + 1);
        let new = self.file.writing(|connection| {
            let new = write::interval(connection, number, interval, texts, ids)?;
            write::describe(connection, texts, ids)?;
            Ok(new)
        })?;
        self.ids.extend(new);
        self.intervals = number;
        Ok(())
    }

    /// Stores what is now known of statements that it has, durably.
    ///
    /// # Errors
    /// As [`ObservedStore::append`].
    pub fn describe(&mut self, texts: &[StatementText]) -> Result<(), StoreError> {
        self.file.writing(|connection| write::describe(connection, texts, &self.ids))
    }

    /// Statements in the order of their ids, the first with id 0.
    ///
    /// # Errors
    /// A file that cannot be read, or impossible values in it.
    pub fn statements(&self) -> Result<Vec<StatementText>, StoreError> {
        self.file.reading(read::statements)
    }

    /// Intervals in order, without their counts.
    ///
    /// # Errors
    /// As [`ObservedStore::statements`].
    pub fn intervals(&self) -> Result<Vec<Interval<u32>>, StoreError> {
        self.file.reading(read::intervals)
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
        self.file.reading(|connection| read::counts(connection, intervals, statements, take))
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
