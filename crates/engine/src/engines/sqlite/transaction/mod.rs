//! `transaction` on SQLite: the user's own file, opened read-only unless it was named as one that may be written to.
//!
//! The file's settings are not changed and no lock is kept between transactions, since other programs may use it: each
//! session has a connection with SQLite's defaults. In a file in WAL mode readers need the `-shm` file beside it, which
//! SQLite creates if it is missing (wal.html, "Read-Only Databases").

mod session;
#[cfg(test)]
mod tests;

use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::time::Duration;

use super::error::failed;
use super::settings::{initialise, refuse_shared_cache_group, set};
use crate::workloads::options::{only, refuse};
use crate::workloads::transaction::{Draws, Quoting, SharedLists, Transaction, needs_users_data};
use crate::{EngineError, LoadRequest, Loaded, Running, Session, SessionRequest};
use session::{TransactionSession, read_lists, try_each};
use threadwise_machine::given;
use threadwise_study::OptionValue;

/// Functions whose effect outlives a ROLLBACK.
const OUTLIVE_ROLLBACK: &str = include_str!("outlive_rollback.txt");

/// Engine option: the file.
const DATABASE: &str = "database";

/// How long a transaction waits for a lock of other programs before its run fails.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

/// The workload with its options, checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    transaction: Transaction,
    file: PathBuf,
}

impl Spec {
    /// Checks the request, as far as possible without the file.
    ///
    /// # Errors
    /// The first option that is missing, unknown or impossible.
    pub(super) fn of(request: &LoadRequest) -> Result<Self, EngineError> {
        only(&request.engine_options, "sqlite with transactions", &[DATABASE])?;
        let quoting = Quoting { brackets: true, ..Quoting::default() };
        let transaction = Transaction::parse(&request.options, quoting, OUTLIVE_ROLLBACK)?;
        let file = match request.engine_options.get(DATABASE) {
            Some(OptionValue::Text(text)) if text.starts_with('/') => text,
            Some(other) => {
                return Err(refuse(DATABASE, format!("'{other}' is not the absolute path of a file")));
            }
            None => return needs_users_data("name its file with --engine-option database=/path/to/file"),
        };
        transaction.expect_database(file)?;
        // SQLite would wait for ever at a pipe. For a missing file it reports an error itself.
        let kind = PathBuf::from(file).metadata().ok().and_then(|found| given::instead(found.file_type()));
        if let Some(what) = kind {
            return Err(refuse(
                DATABASE,
                format!("{file} is {what}, not a file: give the path of a database file"),
            ));
        }
        Ok(Self { transaction, file: PathBuf::from(file) })
    }

    /// A connection to the file.
    fn connect(&self) -> Result<Connection, EngineError> {
        initialise()?;
        let access = match self.transaction.is_read_only() {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let fail =
            |cause: rusqlite::Error| failed("open the database", format!("{}: {cause}", self.file.display()));
        let connection = Connection::open_with_flags(&self.file, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(fail)?;
        refuse_shared_cache_group(&connection)?;
        connection.busy_timeout(BUSY_LIMIT).map_err(fail)?;
        if self.transaction.is_read_only() {
            set(&connection, "query_only", "ON", 1_i64)?;
        }
        // Opening does not read the file, so this tests whether it is a database.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(fail)?;
        Ok(connection)
    }
}

/// Makes no data: executes each statement once, so that a faulty one is reported before anything is measured.
///
/// # Errors
/// SQLite's error, with the line of the statement.
pub(super) fn load(request: &LoadRequest, spec: &Spec) -> Result<Loaded, EngineError> {
    let connection = spec.connect()?;
    let lists = read_lists(&connection, &spec.transaction)?;
    let mut draws = Draws::new(&spec.transaction, &lists, request.seed, 0);
    try_each(&connection, &spec.transaction, &mut draws)?;
    Ok(Loaded { notes: spec.transaction.notes(), ..Loaded::default() })
}

/// SQLite is a library: there is nothing to start before connections are opened.
#[derive(Debug)]
pub(super) struct Transactions {
    spec: Spec,
    lists: SharedLists,
}

impl Transactions {
    /// The sessions of a workload.
    pub(super) fn new(spec: Spec) -> Self {
        Self { spec, lists: SharedLists::default() }
    }
}

impl Running for Transactions {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let (connection, transaction) = (self.spec.connect()?, self.spec.transaction.clone());
        let lists = self.lists.get_or_read(|| read_lists(&connection, &transaction))?;
        Ok(Box::new(TransactionSession::new(connection, transaction, &lists, request)))
    }
}
