//! A file of threadwise that is open, of either kind: making it, opening it for reading or for writing, and one
//! transaction or one reading on it.

use crate::connection::{self, Allowance, FileKind};
use crate::error::{Fault, StoreError, from_io};
use crate::header::{self, Writer};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A file that is open, of either kind.
#[derive(Debug)]
pub(crate) struct OpenFile {
    // Dropped in this order: SQLite closes the file before its locks are given up.
    pub connection: Connection,
    /// `None` for a reader.
    writer: Option<Writer>,
    allowance: Allowance,
    /// As the user wrote it, for messages.
    pub path: PathBuf,
    /// Without links.
    real: PathBuf,
}

impl OpenFile {
    /// Makes a file, and fills it in one transaction.
    ///
    /// # Errors
    /// The file exists, its folder does not or cannot be written, there is no space, or what `fill` refuses. Then no
    /// file is left behind.
    pub fn create(
        path: &Path,
        kind: &FileKind,
        fill: impl FnOnce(&Connection) -> Result<(), Fault>,
    ) -> Result<Self, StoreError> {
        header::create_exclusively(path, kind.mode)?;
        let make = || -> Result<Self, StoreError> {
            let writer = Some(Writer::enter(path, kind)?);
            let real = path.canonicalize().map_err(|error| from_io(&error, path, "make"))?;
            let build = || -> Result<Connection, Fault> {
                let mut connection = connection::for_creation(&real, kind)?;
                let transaction = connection.transaction()?;
                transaction.execute_batch(kind.schema)?;
                fill(&transaction)?;
                transaction.commit()?;
                Ok(connection)
            };
            let connection = build().map_err(|fault| fault.of_ours().on(path, "make"))?;
            Ok(Self { connection, writer, allowance: Allowance::default(), path: path.to_owned(), real })
        };
        // Just made; if it cannot be removed, the first error is the one to report.
        make().inspect_err(|_| drop(std::fs::remove_file(path)))
    }

    /// Opens a file of any origin for reading; writes nothing beside it.
    ///
    /// # Errors
    /// See [`crate::Store::open`].
    pub fn read(path: &Path, kind: &FileKind) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, kind)?;
        Self::existing(path, real, bytes, None, kind)
    }

    /// Opens a file to continue it, locks it for this process, and undoes what a killed writer left.
    ///
    /// # Errors
    /// As [`Self::read`]; the file or its folder cannot be written, or it is being written.
    pub fn write(path: &Path, kind: &FileKind) -> Result<Self, StoreError> {
        let (real, bytes) = header::probe(path, kind)?;
        header::check_journal(&real)?;
        Self::existing(path, real, bytes, Some(Writer::enter(path, kind)?), kind)
    }

    fn existing(
        path: &Path,
        real: PathBuf,
        bytes: u64,
        writer: Option<Writer>,
        kind: &FileKind,
    ) -> Result<Self, StoreError> {
        let (connection, allowance) = connection::for_existing(path, &real, bytes, writer.is_some(), kind)?;
        Ok(Self { connection, writer, allowance, path: path.to_owned(), real })
    }

    fn refill(&self) {
        self.allowance.refill(self.real.metadata().map_or(0, |metadata| metadata.len()));
    }

    /// Reads from it, with an allowance of its own.
    pub fn reading<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.refill();
        read(&self.connection).map_err(|fault| fault.on(&self.path, "read"))
    }

    /// Runs `write` in one transaction, which is durable when this returns.
    pub fn writing<T>(
        &mut self,
        write: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.refill();
        let (connection, is_writer) = (&mut self.connection, self.writer.is_some());
        let transact = || {
            let transaction = connection.transaction()?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let done = if is_writer { transact() } else { Err(Fault::ReadOnly) };
        done.map_err(|fault| fault.on(&self.path, "write"))
    }

    /// Makes SQLite delete, when the file is closed, the journal of a writer that was killed between
    /// two transactions. It does so only for a journal that it wrote to, so this writes the schema version
    /// again. (A changed row will not do: SQLite leaves out equal ones.)
    pub fn sweep(&self, kind: &FileKind) -> Result<(), StoreError> {
        let swept = self.connection.pragma_update(None, "user_version", kind.version);
        swept.map_err(|error| Fault::from(error).on(&self.path, "write"))
    }
}
