//! The user's statements, prepared on one connection, and the statements that begin and end their transaction.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement as Handle, Value};
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::{AnswerSize, Statement, Transaction};

use crate::Server;
use crate::error::{advice, failed, query};

/// A prepared statement.
pub(super) struct Prepared {
    line: usize,
    handle: Handle,
    /// Its parameters, as indexes in the file's head.
    parameters: Vec<usize>,
}

impl Prepared {
    /// All statements, in the order of the file.
    ///
    /// # Errors
    /// An error of the server, with the line of the statement.
    pub(super) fn all(connection: &mut Conn, transaction: &Transaction) -> Result<Vec<Self>, EngineError> {
        transaction.statements.iter().map(|statement| Self::new(connection, statement)).collect()
    }

    fn new(connection: &mut Conn, statement: &Statement) -> Result<Self, EngineError> {
        let (line, parameters) = (statement.line, statement.parameters());
        let sql = statement.text(|_| "?".to_owned());
        let handle = connection.prep(sql).map_err(|cause| explain(line, &advice(&cause)))?;
        match usize::from(handle.num_params()) == parameters.len() {
            true => Ok(Self { line, handle, parameters }),
            false => Err(explain(line, "a '?' alone has no value: write :NAME, with its range in the head")),
        }
    }

    /// Executes it, and reads all rows of all its answers, one after another.
    ///
    /// # Errors
    /// An error of the server, with the line of the statement; or its answer is too large, and it was cancelled.
    pub(super) fn execute(
        &self,
        server: &Server,
        connection: &mut Conn,
        values: &[i64],
    ) -> Result<(), EngineError> {
        let id = connection.connection_id();
        let mut size = AnswerSize::default();
        let value = |at: &usize| Value::from(values.get(*at).copied());
        let parameters = match self.parameters.as_slice() {
            [] => Params::Empty,
            places => Params::Positional(places.iter().map(value).collect()),
        };
        let fail = |cause: mysql::Error| explain(self.line, &advice(&cause));
        let mut answer = connection.exec_iter(&self.handle, parameters).map_err(fail)?;
        // Explicitly: when it is dropped, the library reads what is left and hides an error in it.
        while let Some(rows) = answer.iter() {
            for row in rows {
                size.add_row(bytes(&row.map_err(fail)?)).map_err(|why| {
                    // The library reads an answer to its end before it does anything else.
                    server.cancel(id);
                    explain(self.line, &why)
                })?;
            }
        }
        Ok(())
    }
}

/// Bytes of the values of a row; only strings can be large.
fn bytes(row: &Row) -> usize {
    let bytes = |at: usize| match row.as_ref(at) {
        Some(Value::Bytes(bytes)) => bytes.len(),
        _ => 8,
    };
    (0..row.len()).map(bytes).sum()
}

fn explain(line: usize, why: &str) -> EngineError {
    failed(format!("execute line {line}"), why)
}

/// Begins a transaction.
///
/// # Errors
/// An error of the server.
pub(super) fn begin(connection: &mut Conn, transaction: &Transaction) -> Result<(), EngineError> {
    let sql = if transaction.is_read_only() { "START TRANSACTION READ ONLY" } else { "START TRANSACTION" };
    connection.query_drop(sql).map_err(|cause| query("begin a transaction", &cause))
}

/// Ends a transaction by `COMMIT` or `ROLLBACK`. With completion_type set, a server would otherwise chain another
/// transaction to it, in which the session would be parked, or close the connection.
///
/// # Errors
/// An error of the server.
pub(super) fn end(connection: &mut Conn, how: &str) -> Result<(), EngineError> {
    let sql = format!("{how} AND NO CHAIN NO RELEASE");
    connection.query_drop(sql).map_err(|cause| query("end a transaction", &cause))
}
