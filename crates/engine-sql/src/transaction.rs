//! `transaction`: the user's prepared statements on the user's server, in separate transactions.
//!
//! A session has the settings of the user's own clients. Nothing is made in the server, so nothing has to be dropped.

use threadwise_engine::worker::{StepResult, step_loop};
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{
    Drawn, Draws, Lists, Script, ScriptTally, SharedLists, Step, Transaction, pause,
};
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest, Window};
use threadwise_study::SessionSlice;
use threadwise_study::transaction::SQL;

use crate::dialect::Dialect;
use crate::driver::{Connection, Driver};
use crate::session::{ClientLoop, Common};
use crate::workload::SqlWorkload;

/// The user's statements, prepared on one connection.
struct Prepared<S> {
    transaction: Transaction,
    /// Of each script.
    statements: Vec<Vec<S>>,
    begin: &'static str,
    end: String,
    draws: Draws,
}

impl<S> Prepared<S> {
    fn new<C: Connection<Statement = S>>(
        connection: &mut C,
        dialect: &Dialect,
        transaction: &Transaction,
        lists: &Lists,
        request: DrawsOf,
    ) -> Result<Self, EngineError> {
        let prepare = |script: &Script| {
            let one = |statement| connection.prepare_theirs(statement, &script.parameters);
            script.statements.iter().map(one).collect()
        };
        let [read_only, read_write] = dialect.begin;
        Ok(Self {
            statements: transaction.scripts.iter().map(prepare).collect::<Result<_, _>>()?,
            begin: if transaction.is_read_only() { read_only } else { read_write },
            end: format!("{}{}", transaction.ending(), dialect.end),
            draws: Draws::new(transaction, lists, request.seed, request.session),
            transaction: transaction.clone(),
        })
    }

    /// Executes one script, whose transactions end so.
    fn execute<C: Connection<Statement = S>>(
        &self,
        connection: &mut C,
        drawn: &Drawn,
        end: &str,
    ) -> Result<(), EngineError> {
        let (script, prepared) = (&self.transaction.scripts[drawn.script], &self.statements[drawn.script]);
        for step in &script.steps {
            match step {
                Step::Begin => connection.run("begin a transaction", self.begin)?,
                Step::Statement(at) => {
                    let (statement, prepared) = (&script.statements[*at], &prepared[*at]);
                    match self.transaction.answer {
                        None => connection.execute_theirs(statement, prepared, &drawn.values)?,
                        Some(_) => unit(connection, &self.transaction, prepared)?,
                    }
                }
                Step::End => connection.run("end a transaction", end)?,
                Step::Sleep(sleep) => pause(sleep, &drawn.values)?,
            }
        }
        Ok(())
    }

    /// Executes each script once, and ends its transactions so.
    fn execute_each<C: Connection<Statement = S>>(
        &mut self,
        connection: &mut C,
        end: &str,
    ) -> Result<(), EngineError> {
        for at in 0..self.transaction.scripts.len() {
            let drawn = self.draws.draw_script(at)?;
            self.execute(connection, &drawn, end)?;
        }
        Ok(())
    }
}

/// Executes the one statement of a transaction whose answer is known, and checks it.
///
/// # Errors
/// An error of the server, or a wrong answer.
pub(crate) fn unit<C: Connection>(
    connection: &mut C,
    transaction: &Transaction,
    prepared: &C::Statement,
) -> Result<(), EngineError> {
    let found = connection.column_of_theirs(&transaction.scripts[0].statements[0], prepared)?.only_number();
    transaction.answer.map_or(Ok(()), |answer| check(found, answer))
}

/// Compares an answer with the known one.
///
/// # Errors
/// [`EngineError::WrongAnswer`].
fn check(found: Option<i64>, expected: i64) -> Result<(), EngineError> {
    match found {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(EngineError::WrongAnswer(format!("a unit gave {found} instead of {expected}"))),
        None => Err(EngineError::WrongAnswer(format!("a unit gave no number instead of {expected}"))),
    }
}

/// Whose values are drawn.
struct DrawsOf {
    seed: u64,
    session: u32,
}

/// The lists that parameters are drawn from. Queries are executed in transactions that are rolled back.
///
/// # Errors
/// A file, or an error of the server, with the place.
pub(crate) fn read_lists(
    connection: &mut impl Connection,
    dialect: &Dialect,
    transaction: &Transaction,
) -> Result<Lists, EngineError> {
    let [read_only, _] = dialect.begin;
    transaction.read_lists(|query| {
        let prepared = connection.prepare_theirs(query, &[])?;
        connection.run("begin a transaction", read_only)?;
        let values = connection.column_of_theirs(query, &prepared)?;
        connection.run("end a transaction", &format!("ROLLBACK{}", dialect.end))?;
        Ok(values)
    })
}

/// Executes each statement once and rolls it back, so that a faulty one is reported before anything is measured.
///
/// # Errors
/// An error of the server, with the place of the statement; the database is not the one that may be written to.
pub(crate) fn try_out<D: Driver>(
    driver: &D,
    workload: &SqlWorkload,
    transaction: &Transaction,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let mut opened = driver.open(workload, 0)?;
    let (connection, dialect) = (&mut opened.connection, driver.dialect());
    refuse_other_databases(connection, dialect, transaction)?;
    let lists = read_lists(connection, dialect, transaction)?;
    let draws = DrawsOf { seed: request.seed, session: 0 };
    let mut prepared = Prepared::new(connection, dialect, transaction, &lists, draws)?;
    prepared.execute_each(connection, &format!("ROLLBACK{}", dialect.end))?;
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
    let first = transaction.statements().chain(transaction.queries()).find_map(|statement| {
        let text = statement.text(|_| "?".to_owned()).to_lowercase();
        Some((&statement.place, others.iter().find(|name| is_named(&text, name))?))
    });
    match first {
        None => Ok(()),
        Some((place, other)) => Err(refuse(
            SQL,
            format!(
                "{place} names the database '{other}', and only '{named}' may be written to; rename an alias of \
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
    /// Prepares the statements. The first session of a treatment reads the lists that parameters are drawn from.
    ///
    /// # Errors
    /// An error of the server, with the place of the statement.
    pub(crate) fn new(
        mut common: Common<D>,
        transaction: &Transaction,
        lists: &SharedLists,
        request: &SessionRequest,
    ) -> Result<Self, EngineError> {
        let read = || read_lists(&mut common.connection, common.dialect, transaction);
        let lists = lists.get_or_read(read)?;
        let draws = DrawsOf { seed: request.seed, session: request.session };
        let prepared = Prepared::new(&mut common.connection, common.dialect, transaction, &lists, draws)?;
        Ok(Self { common, prepared })
    }
}

impl<D: Driver> Session for TransactionSession<D> {
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.prepared.transaction.is_read_only() {
            let end = self.prepared.end.clone();
            self.prepared.execute_each(&mut self.common.connection, &end)?;
        }
        self.common.connection.rest()
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { common, prepared } = self;
        let tally = ScriptTally::new(&prepared.transaction.scripts);
        let slice = common.client_loop(1, |metered| {
            let (mut calls, mut round_trips) = (0, 0);
            let step = || {
                let drawn = prepared.draws.draw()?;
                prepared.execute(*metered.connection(), &drawn, &prepared.end)?;
                calls += 1;
                round_trips += prepared.transaction.scripts[drawn.script].round_trips();
                tally.add(drawn.script);
                let checked = u64::from(prepared.transaction.answer.is_some());
                Ok(StepResult { rows: 1, checked, think_ns: drawn.think_ns, ..StepResult::default() })
            };
            let counters = || {
                tally.read();
                metered.read()
            };
            let mut slice = step_loop(window, step, counters)?;
            tally.give_to(&mut slice);
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
