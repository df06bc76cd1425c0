//! `transaction`: the user's prepared statements on the user's server, in separate transactions.
//!
//! A session has the settings of the user's own clients. Nothing is made in the server, so nothing has to be dropped.

use threadwise_engine::worker::{StepResult, step_loop};
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{Draws, Transaction};
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest, Window};
use threadwise_study::SessionSlice;
use threadwise_study::transaction::SQL;

use crate::dialect::Dialect;
use crate::driver::{Connection, Driver};
use crate::session::{ClientLoop, Common};
use crate::workload::Work;

/// The user's statements, prepared on one connection.
struct Prepared<S> {
    transaction: Transaction,
    statements: Vec<S>,
    begin: &'static str,
    end: String,
    draws: Draws,
}

impl<S> Prepared<S> {
    fn new<C: Connection<Statement = S>>(
        connection: &mut C,
        dialect: &Dialect,
        transaction: &Transaction,
        draws: Draws,
    ) -> Result<Self, EngineError> {
        let prepare = |statement| connection.prepare_theirs(statement, &transaction.parameters);
        let [read_only, read_write] = dialect.begin;
        Ok(Self {
            statements: transaction.statements.iter().map(prepare).collect::<Result<_, _>>()?,
            begin: if transaction.is_read_only() { read_only } else { read_write },
            end: format!("{}{}", transaction.ending(), dialect.end),
            transaction: transaction.clone(),
            draws,
        })
    }

    /// Executes one transaction, and ends it so.
    fn execute<C: Connection<Statement = S>>(
        &mut self,
        connection: &mut C,
        end: Option<&str>,
    ) -> Result<(), EngineError> {
        let values = self.draws.draw();
        connection.run("begin a transaction", self.begin)?;
        for (statement, prepared) in self.transaction.statements.iter().zip(&self.statements) {
            connection.execute_theirs(statement, prepared, &values)?;
        }
        connection.run("end a transaction", end.unwrap_or(&self.end))
    }
}

/// Executes each statement once and rolls it back, so that a faulty one is reported before anything is measured.
///
/// # Errors
/// An error of the server, with the line of the statement; the database is not the one that may be written to.
pub(crate) fn try_out<D: Driver>(
    driver: &D,
    workload: &Work,
    transaction: &Transaction,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let mut opened = driver.open(workload, 0)?;
    let connection = &mut opened.connection;
    refuse_other_databases(connection, driver.dialect(), transaction)?;
    let draws = Draws::new(transaction, request.seed, 0);
    let mut prepared = Prepared::new(connection, driver.dialect(), transaction, draws)?;
    prepared.execute(connection, Some(&format!("ROLLBACK{}", driver.dialect().end)))?;
    Ok(Loaded { notes: transaction.notes(), ..Loaded::default() })
}

/// Refuses statements that may write and that name another database of this server: only the named database may be
/// written to, and a full name reaches everything that the account may write to.
///
/// Servers do not tell which table a statement writes to before it is executed. So a name of another database before a
/// dot is refused in any place; in a string or a comment the user can avoid it.
fn refuse_other_databases(
    connection: &mut impl Connection,
    dialect: &Dialect,
    transaction: &Transaction,
) -> Result<(), EngineError> {
    let (Some(named), false) = (&transaction.may_write, dialect.databases.is_empty()) else { return Ok(()) };
    let rows = connection.rows("list the databases", dialect.databases, &[])?;
    let names = rows.iter().filter_map(|row| row.first()?.text());
    let others: Vec<String> = names.filter(|name| name != named).map(str::to_lowercase).collect();
    let first = transaction.statements.iter().find_map(|statement| {
        let text = statement.text(|_| "?".to_owned()).to_lowercase();
        Some((statement.line, others.iter().find(|name| is_named(&text, name))?))
    });
    match first {
        None => Ok(()),
        Some((line, other)) => Err(refuse(
            SQL,
            format!(
                "line {line} names the database '{other}', and only '{named}' may be written to; rename an alias of \
                 that name"
            ),
        )),
    }
}

/// Whether a text contains this name before a dot, with or without quotes; both in lower case.
fn is_named(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].trim_end_matches(['`', '[', '"']), &text[at + name.len()..]);
        let begins = before.len() < at || !before.ends_with(is_part);
        begins && after.trim_start_matches(['`', ']', '"']).trim_start().starts_with('.')
    })
}

/// An open session.
pub(crate) struct TransactionSession<D: Driver> {
    common: Common<D>,
    prepared: Prepared<<D::Connection as Connection>::Statement>,
}

impl<D: Driver> TransactionSession<D> {
    /// Prepares the statements.
    ///
    /// # Errors
    /// An error of the server, with the line of the statement.
    pub(crate) fn new(
        mut common: Common<D>,
        transaction: &Transaction,
        request: &SessionRequest,
    ) -> Result<Self, EngineError> {
        let draws = Draws::new(transaction, request.seed, request.session);
        let prepared = Prepared::new(&mut common.connection, common.dialect, transaction, draws)?;
        Ok(Self { common, prepared })
    }
}

impl<D: Driver> Session for TransactionSession<D> {
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.prepared.transaction.is_read_only() {
            self.prepared.execute(&mut self.common.connection, None)?;
        }
        self.common.connection.rest()
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { common, prepared } = self;
        let slice = common.client_loop(1, |connection| {
            let mut calls = 0;
            let step = || {
                prepared.execute(connection, None)?;
                calls += 1;
                Ok(StepResult { rows: 1, ..StepResult::default() })
            };
            let slice = step_loop(window, step, || Ok([]))?;
            // Each statement, and those that begin and end the transaction.
            let round_trips = calls * (prepared.statements.len() as u64 + 2);
            Ok(ClientLoop { slice, calls, round_trips })
        });
        self.common.is_done_with(window, slice.map(|(slice, _)| slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_before_a_dot() {
        for text in [
            "update other.t set",
            "insert into `other`.`t`",
            "update [other]..t",
            "delete \"other\".dbo.t",
            "select * from other . t",
            "(other.t)",
        ] {
            assert!(is_named(text, "other"), "{text}");
        }
        for text in
            ["update another.t", "update other_.t", "select other from t", "select t.other, 1", "other"]
        {
            assert!(!is_named(text, "other"), "{text}");
        }
        assert!(is_named("x.a, other.b", "other") && is_named("my-shop.t", "my-shop"));
    }
}
