//! `transaction` on PostgreSQL: the user's statements in the user's database, prepared, in transactions of their own.
//!
//! A session's settings are those that the user's own clients have: none that other workloads set for their plans.
//! Nothing is made in the server.

mod session;
mod values;

use postgres::Client;
use threadwise_engine::workloads::transaction::{Draws, Quoting, Statement, Transaction};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use crate::Server;
use crate::error::query;
use crate::workload::sql::execute;
pub(super) use session::TransactionSession;
use values::{Prepared, explain};

/// How PostgreSQL quotes.
const QUOTING: Quoting = Quoting {
    dollars: true,
    nested_comments: true,
    backslashes: false,
    hash_comments: false,
    brackets: false,
};

/// Reads and checks the options.
///
/// # Errors
/// See [`Transaction::parse`].
pub(super) fn parse(load: &LoadRequest) -> Result<Transaction, EngineError> {
    Transaction::parse(&load.options, QUOTING)
}

/// Makes nothing: has each statement done once and rolled back, so that what is wrong with one is known before anything
/// is measured.
///
/// # Errors
/// The server's, with the line of the statement; the database is not the one that may be written to.
pub(crate) fn load(server: &Server, request: &LoadRequest) -> Result<Loaded, EngineError> {
    let transaction = parse(request)?;
    let mut client = connect(server, "threadwise loader", &transaction)?;
    let statements = prepare(&mut client, &transaction)?;
    let values = Draws::new(&transaction, request.seed, 0).draw();
    execute(&mut client, "begin a transaction", begin(&transaction))?;
    for (statement, prepared) in transaction.statements.iter().zip(&statements) {
        prepared.execute(&mut client, &values).map_err(|cause| explain(statement, &cause))?;
    }
    execute(&mut client, "roll back", "ROLLBACK")?;
    Ok(Loaded { notes: transaction.notes(), ..Loaded::default() })
}

/// A connection as the user's clients have it, to the database that may be written to, where one may be.
fn connect(server: &Server, application: &str, transaction: &Transaction) -> Result<Client, EngineError> {
    let mut client = server.connect(application)?;
    execute(&mut client, "prepare a connection", "RESET search_path")?;
    let action = "ask for the name of the database";
    let row =
        client.query_one("SELECT current_database()::text", &[]).map_err(|cause| query(action, &cause))?;
    let database: String = row.try_get(0).map_err(|cause| query(action, &cause))?;
    transaction.expect_database(&database)?;
    Ok(client)
}

fn begin(transaction: &Transaction) -> &'static str {
    if transaction.is_read_only() { "BEGIN READ ONLY" } else { "BEGIN READ WRITE" }
}

fn prepare(client: &mut Client, transaction: &Transaction) -> Result<Vec<Prepared>, EngineError> {
    let prepare = |statement: &Statement| Prepared::new(client, statement, &transaction.parameters);
    transaction.statements.iter().map(prepare).collect()
}
