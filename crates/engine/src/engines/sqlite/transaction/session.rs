//! A session of `transaction` on SQLite: the statements, prepared once, between BEGIN and COMMIT, or
//! ROLLBACK where they are read-only.

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row};
use threadwise_study::SessionSlice;

use super::super::error::failed;
use super::super::ffi::{CacheCounters, take_cache_counters};
use crate::worker::{StepResult, step_loop};
use crate::workloads::transaction::{
    AnswerSize, BindValue, ColumnValues, Drawn, Draws, Lists, Script, ScriptTally, Statement, Step,
    Transaction, pause,
};
use crate::{EngineError, Session, SessionRequest, Window};

/// A connection, and its next transactions.
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
    pub(super) fn new(
        connection: Connection,
        transaction: Transaction,
        lists: &Lists,
        request: &SessionRequest,
    ) -> Self {
        let draws = Draws::new(&transaction, lists, request.seed, request.session);
        Self { connection, transaction, draws, totals: CacheCounters::default() }
    }
}

impl Session for TransactionSession {
    /// Nothing to do: the first transactions cache what they read, and the study measures how long that takes.
    fn warm(&mut self) -> Result<(), EngineError> {
        try_each(&self.connection, &self.transaction, &mut self.draws)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { connection, transaction, draws, totals } = self;
        let connection = &*connection;
        let mut ends = Ends::prepare(connection, transaction.is_read_only(), transaction.ending())?;
        let mut statements = prepare(connection, transaction)?;
        let tally = ScriptTally::new(&transaction.scripts);
        let mut slice = step_loop(
            window,
            || {
                let drawn = draws.draw()?;
                let script = &transaction.scripts[drawn.script];
                execute_script(script, &mut statements[drawn.script], &drawn, &mut ends)?;
                tally.add(drawn.script);
                Ok(StepResult { rows: 1, think_ns: drawn.think_ns, ..StepResult::default() })
            },
            || {
                let since = take_cache_counters(connection)
                    .map_err(|code| failed("read its cache counters", format!("result code {code}")))?;
                totals.hits += since.hits;
                totals.misses += since.misses;
                tally.read();
                Ok([("logical_reads", totals.hits + totals.misses), ("physical_reads", totals.misses)])
            },
        )?;
        tally.give_to(&mut slice);
        Ok(slice)
    }
}

/// The statements that begin and end a transaction.
struct Ends<'a> {
    begin: CachedStatement<'a>,
    end: CachedStatement<'a>,
}

impl<'a> Ends<'a> {
    fn prepare(connection: &'a Connection, is_read_only: bool, end: &str) -> Result<Self, EngineError> {
        // A transaction that reads first and writes later cannot wait for another writer (lang_transaction.html).
        let begin = if is_read_only { "BEGIN" } else { "BEGIN IMMEDIATE" };
        let prepare = |sql: &str| {
            connection.prepare_cached(sql).map_err(|cause| failed("prepare a transaction", cause))
        };
        Ok(Self { begin: prepare(begin)?, end: prepare(end)? })
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        self.begin.execute([]).map(drop).map_err(|cause| failed("begin a transaction", cause))
    }

    fn end(&mut self) -> Result<(), EngineError> {
        self.end.execute([]).map(drop).map_err(|cause| failed("end a transaction", cause))
    }
}

/// Executes every script once, in transactions that are rolled back.
///
/// # Errors
/// SQLite's error, with the place of the statement.
pub(super) fn try_each(
    connection: &Connection,
    transaction: &Transaction,
    draws: &mut Draws,
) -> Result<(), EngineError> {
    let mut ends = Ends::prepare(connection, transaction.is_read_only(), "ROLLBACK")?;
    let mut statements = prepare(connection, transaction)?;
    for (at, script) in transaction.scripts.iter().enumerate() {
        let drawn = draws.draw_script(at)?;
        if let Err(cause) = execute_script(script, &mut statements[at], &drawn, &mut ends) {
            // An open transaction is rolled back with its connection, too.
            let _ = ends.end();
            return Err(cause);
        }
    }
    Ok(())
}

/// The lists that parameters are drawn from.
///
/// # Errors
/// A file, or an error of SQLite, with the place.
pub(super) fn read_lists(connection: &Connection, transaction: &Transaction) -> Result<Lists, EngineError> {
    transaction.read_lists(|query| {
        let mut prepared = prepare_one(connection, query, true)?;
        let mut values = ColumnValues::default();
        read_rows(query, &mut prepared, &[], |row| {
            let value = match row.get_ref(0)? {
                ValueRef::Null => None,
                ValueRef::Integer(number) => Some(BindValue::Whole(number)),
                ValueRef::Real(number) => Some(BindValue::Real(number)),
                ValueRef::Text(text) => {
                    std::str::from_utf8(text).ok().map(|text| BindValue::Text(text.into()))
                }
                // As text it would be another value, which no row has.
                ValueRef::Blob(_) => None,
            };
            Ok(values.add(value))
        })?;
        Ok(values)
    })
}

/// The statements of each script; a parameter is numbered by its place in the script.
fn prepare<'a>(
    connection: &'a Connection,
    transaction: &Transaction,
) -> Result<Vec<Vec<CachedStatement<'a>>>, EngineError> {
    // Those of a mix must stay prepared from slice to slice.
    connection.set_prepared_statement_cache_capacity(transaction.statements().count() + 8);
    let is_read_only = transaction.is_read_only();
    let of_script = |script: &Script| {
        script.statements.iter().map(|statement| prepare_one(connection, statement, is_read_only)).collect()
    };
    transaction.scripts.iter().map(of_script).collect()
}

fn prepare_one<'a>(
    connection: &'a Connection,
    statement: &Statement,
    is_read_only: bool,
) -> Result<CachedStatement<'a>, EngineError> {
    let sql = statement.text(|at| format!("?{}", at + 1));
    let prepared = connection.prepare_cached(&sql).map_err(|cause| explain(statement, &cause))?;
    match is_read_only && !prepared.readonly() {
        true => {
            Err(failed(format!("execute {}", statement.place), "it writes, and transactions are read-only"))
        }
        false => Ok(prepared),
    }
}

/// Executes one script.
fn execute_script(
    script: &Script,
    prepared: &mut [CachedStatement<'_>],
    drawn: &Drawn,
    ends: &mut Ends<'_>,
) -> Result<(), EngineError> {
    for step in &script.steps {
        match step {
            Step::Begin => ends.begin()?,
            Step::Statement(at) => execute(&script.statements[*at], &mut prepared[*at], &drawn.values)?,
            Step::End => ends.end()?,
            Step::Sleep(sleep) => pause(sleep, &drawn.values)?,
        }
    }
    Ok(())
}

/// Executes one statement and reads all of its rows.
fn execute(
    statement: &Statement,
    prepared: &mut CachedStatement<'_>,
    values: &[BindValue],
) -> Result<(), EngineError> {
    let mut size = AnswerSize::default();
    let columns = prepared.column_count();
    read_rows(statement, prepared, values, |row| {
        let mut bytes = 0;
        for column in 0..columns {
            bytes += match row.get_ref(column)? {
                ValueRef::Text(value) | ValueRef::Blob(value) => value.len(),
                _ => 8,
            };
        }
        Ok(size.add_row(bytes))
    })
}

/// Executes one statement and gives each row to `take`, up to its first error.
fn read_rows(
    statement: &Statement,
    prepared: &mut CachedStatement<'_>,
    values: &[BindValue],
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<Result<(), String>>,
) -> Result<(), EngineError> {
    let mut execute = || {
        for (at, value) in values.iter().enumerate().take(prepared.parameter_count()) {
            match value {
                BindValue::Whole(number) => prepared.raw_bind_parameter(at + 1, number)?,
                BindValue::Real(number) => prepared.raw_bind_parameter(at + 1, number)?,
                BindValue::Text(text) => prepared.raw_bind_parameter(at + 1, &**text)?,
            }
        }
        let mut rows = prepared.raw_query();
        while let Some(row) = rows.next()? {
            if let Err(why) = take(row)? {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    };
    let read: rusqlite::Result<Result<(), String>> = execute();
    read.map_err(|cause| explain(statement, &cause))?
        .map_err(|why| failed(format!("execute {}", statement.place), why))
}

fn explain(statement: &Statement, cause: &rusqlite::Error) -> EngineError {
    failed(format!("execute {}", statement.place), cause)
}
