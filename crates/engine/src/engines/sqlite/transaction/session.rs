//! A session of `transaction` on SQLite: the statements, prepared once, between BEGIN and COMMIT, or
//! ROLLBACK where they are read-only.

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection};
use threadwise_study::SessionSlice;

use super::super::error::failed;
use super::super::ffi::{CacheCounters, take_cache_counters};
use crate::worker::measure::{StepResult, step_loop};
use crate::workloads::transaction::{AnswerSize, Draws, Statement, Transaction};
use crate::{EngineError, Session, SessionRequest, Window};

/// A connection, and the parameters of its next transactions.
#[derive(Debug)]
pub(super) struct TransactionSession {
    connection: Connection,
    transaction: Transaction,
    draws: Draws,
    /// Sum of all readings of the connection's counters.
    totals: CacheCounters,
}

impl TransactionSession {
    /// The session of a request, with its own connection.
    pub(super) fn new(connection: Connection, transaction: Transaction, request: &SessionRequest) -> Self {
        let draws = Draws::new(&transaction, request.seed, request.session);
        Self { connection, transaction, draws, totals: CacheCounters::default() }
    }
}

impl Session for TransactionSession {
    /// Nothing to do: the first transactions cache what they read, and the study measures how long that takes.
    fn warm(&mut self) -> Result<(), EngineError> {
        do_once(&self.connection, &self.transaction, &self.draws.draw())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { connection, transaction, draws, totals } = self;
        let connection = &*connection;
        let mut ends = Ends::prepare(connection, transaction)?;
        let mut statements = prepare(connection, transaction)?;
        step_loop(
            window,
            || {
                let values = draws.draw();
                ends.begin()?;
                for (statement, prepared) in transaction.statements.iter().zip(&mut statements) {
                    execute(statement, prepared, &values)?;
                }
                ends.end()?;
                Ok(StepResult { rows: 1, ..StepResult::default() })
            },
            || {
                let since = take_cache_counters(connection)
                    .map_err(|code| failed("read its cache counters", format!("result code {code}")))?;
                totals.hits += since.hits;
                totals.misses += since.misses;
                Ok([("logical_reads", totals.hits + totals.misses), ("physical_reads", totals.misses)])
            },
        )
    }
}

/// The statements that begin and end a transaction.
struct Ends<'a> {
    begin: CachedStatement<'a>,
    end: CachedStatement<'a>,
}

impl<'a> Ends<'a> {
    fn prepare(connection: &'a Connection, transaction: &Transaction) -> Result<Self, EngineError> {
        // A transaction that reads first and writes later cannot wait for another writer (lang_transaction.html).
        let begin = if transaction.is_read_only() { "BEGIN" } else { "BEGIN IMMEDIATE" };
        let prepare = |sql: &str| {
            connection.prepare_cached(sql).map_err(|cause| failed("prepare a transaction", cause))
        };
        Ok(Self { begin: prepare(begin)?, end: prepare(transaction.ending())? })
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        self.begin.execute([]).map(drop).map_err(|cause| failed("begin a transaction", cause))
    }

    fn end(&mut self) -> Result<(), EngineError> {
        self.end.execute([]).map(drop).map_err(|cause| failed("end a transaction", cause))
    }
}

/// Executes every statement once, in a transaction that is rolled back.
///
/// # Errors
/// SQLite's error, with the line of the statement.
pub(super) fn do_once(
    connection: &Connection,
    transaction: &Transaction,
    values: &[i64],
) -> Result<(), EngineError> {
    Ends::prepare(connection, transaction)?.begin()?;
    let done = prepare(connection, transaction).and_then(|mut statements| {
        let mut each = transaction.statements.iter().zip(&mut statements);
        each.try_for_each(|(statement, prepared)| execute(statement, prepared, values))
    });
    let rolled_back = connection.execute_batch("ROLLBACK").map_err(|cause| failed("roll back", cause));
    done.and(rolled_back)
}

/// The statements in the order of the file; a parameter is numbered by its place in the file's head.
fn prepare<'a>(
    connection: &'a Connection,
    transaction: &Transaction,
) -> Result<Vec<CachedStatement<'a>>, EngineError> {
    let prepare = |statement: &Statement| {
        let sql = statement.text(|at| format!("?{}", at + 1));
        let prepared = connection.prepare_cached(&sql).map_err(|cause| explain(statement, &cause))?;
        match transaction.is_read_only() && !prepared.readonly() {
            true => Err(failed(
                format!("execute line {}", statement.line),
                "it writes, and transactions are read-only",
            )),
            false => Ok(prepared),
        }
    };
    transaction.statements.iter().map(prepare).collect()
}

/// Executes one statement and reads all of its rows.
fn execute(
    statement: &Statement,
    prepared: &mut CachedStatement<'_>,
    values: &[i64],
) -> Result<(), EngineError> {
    let mut size = AnswerSize::default();
    let mut execute = || {
        for (at, value) in values.iter().enumerate().take(prepared.parameter_count()) {
            prepared.raw_bind_parameter(at + 1, value)?;
        }
        let columns = prepared.column_count();
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next()? {
            let mut bytes = 0;
            for column in 0..columns {
                bytes += match row.get_ref(column)? {
                    ValueRef::Text(value) | ValueRef::Blob(value) => value.len(),
                    _ => 8,
                };
            }
            if let Err(why) = size.add_row(bytes) {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    };
    let read: rusqlite::Result<Result<(), String>> = execute();
    read.map_err(|cause| explain(statement, &cause))?
        .map_err(|why| failed(format!("execute line {}", statement.line), why))
}

fn explain(statement: &Statement, cause: &rusqlite::Error) -> EngineError {
    failed(format!("execute line {}", statement.line), cause)
}
