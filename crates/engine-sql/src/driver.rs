//! What a database does: a connection, and the driver that opens it.

use std::fmt::Arguments;
use threadwise_engine::EngineError;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::clock::thread_cpu_ns;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::insert::Insert;
use threadwise_engine::workloads::transaction::{BindValue, ColumnValues, Parameter as Declared, Statement};
use threadwise_study::Counters;

use crate::dialect::Dialect;
use crate::template::{Names, fill};
use crate::texts::{Blocks, Rows, insert_loop_sql};
use crate::usage::Usage;
use crate::workload::{Objects, SqlWorkload};

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Of a column of 32 bits.
    Int(i32),
    /// Of a column of 64 bits.
    Big(i64),
    /// Text.
    Text(&'a str),
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// NULL, and values of other types.
    Null,
    /// A whole number of any width.
    Whole(i64),
    /// Text.
    Text(String),
}

impl Value {
    /// The whole number, also one that is written as text.
    pub fn whole(&self) -> Option<i64> {
        match self {
            Self::Whole(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Null => None,
        }
    }

    /// The text, without spaces at its end.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.trim_end()),
            Self::Whole(_) | Self::Null => None,
        }
    }
}

/// A connection, used by one thread at a time. Errors name the action.
pub trait Connection: Send {
    /// A prepared statement; the text where the server prepares at execution.
    type Statement: Send;

    /// Executes statements without reading rows.
    ///
    /// # Errors
    /// An error of the server.
    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError>;

    /// The rows of a statement.
    ///
    /// # Errors
    /// An error of the server.
    fn rows(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, EngineError>;

    /// Prepares a statement, which stays prepared.
    ///
    /// # Errors
    /// An error of the server.
    fn prepare(&mut self, sql: &str) -> Result<Self::Statement, EngineError>;

    /// Executes a prepared statement and gives the whole numbers of its first row: `None` for NULL and for columns that it
    /// does not have. Gives whether there was a row.
    ///
    /// # Errors
    /// An error of the server.
    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &Self::Statement,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError>;

    /// Executes a prepared statement that changes rows; gives their number, if the server counts them.
    ///
    /// # Errors
    /// An error of the server.
    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &Self::Statement,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError>;

    /// Whether [`Self::usage`] takes so little time that loops in the client read it inside of their windows.
    const READS_USAGE_INSIDE: bool = true;

    /// What the server has used for this connection; by default what its thread has.
    ///
    /// # Errors
    /// An error of the server.
    fn usage(&mut self, backend: Option<Thread>) -> Result<Usage, EngineError> {
        Ok(Usage::of_thread(backend))
    }

    /// CPU time of the client for this connection so far, nanoseconds; by default that of the calling thread.
    fn client_cpu_ns(&self) -> u64 {
        thread_cpu_ns()
    }

    /// Called after the warm-up and after each slice: completes what the server counts of this connection.
    ///
    /// # Errors
    /// An error of the server.
    fn rest(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Called when the treatment is over: closes what must be closed before its server or its data goes.
    fn close(&mut self) {}

    /// Prepares a statement of the user with the parameters of its script; refused by databases that execute none.
    ///
    /// # Errors
    /// An error of the server, with the place of the statement; a range that does not fit its place.
    fn prepare_theirs(
        &mut self,
        statement: &Statement,
        parameters: &[Declared],
    ) -> Result<Self::Statement, EngineError> {
        let _ = (statement, parameters);
        Err(EngineError::Message("statements of the user are not executed here".to_owned()))
    }

    /// Executes a statement of the user with the values of its script's parameters, and reads all rows of its answers,
    /// one after another.
    ///
    /// # Errors
    /// An error of the server, with the place of the statement; or its answer is too large, and it was cancelled.
    fn execute_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Self::Statement,
        values: &[BindValue],
    ) -> Result<(), EngineError> {
        let _ = (statement, prepared, values);
        Ok(())
    }

    /// Values of the first column of a prepared query of the user, which has no parameters.
    ///
    /// # Errors
    /// An error of the server, with the place of the query; or there are too many, and it was cancelled.
    fn column_of_theirs(
        &mut self,
        query: &Statement,
        prepared: &Self::Statement,
    ) -> Result<ColumnValues, EngineError> {
        let _ = (query, prepared);
        Ok(ColumnValues::default())
    }
}

/// The whole numbers of a statement's first row.
///
/// # Errors
/// An error of the server.
pub fn numbers<const N: usize>(
    connection: &mut impl Connection,
    action: &str,
    sql: &str,
) -> Result<[Option<i64>; N], EngineError> {
    let rows = connection.rows(action, sql, &[])?;
    let row = rows.first().map_or(&[][..], Vec::as_slice);
    let mut numbers = [None; N];
    numbers.iter_mut().zip(row).for_each(|(number, value)| *number = value.whole());
    Ok(numbers)
}

/// A session's connection, and the server's side of it.
#[derive(Debug)]
pub struct Opened<C> {
    /// The connection.
    pub connection: C,
    /// Its number in the server, by which its waits are found.
    pub id: i64,
    /// The server's thread that serves it, or why that is out of reach.
    pub backend: Result<Thread, String>,
    /// Whether the server is on this machine, so that its clock can be known well.
    pub is_near: bool,
    /// Cancels its statement in the server if this process is asked to end.
    pub at_end: Option<AtEnd>,
}

impl<C> Opened<C> {
    /// The same with what `with` makes of the connection.
    pub fn map<T>(self, with: impl FnOnce(C) -> T) -> Opened<T> {
        let Self { connection, id, backend, is_near, at_end } = self;
        Opened { connection: with(connection), id, backend, is_near, at_end }
    }
}

/// What the server counts, and what its sessions wait for, over the control connection.
pub trait Observer<C>: Send {
    /// Reads counters before a slice.
    ///
    /// # Errors
    /// An error of the server.
    fn begin(&mut self, control: &mut C) -> Result<(), EngineError>;

    /// Increments since [`Self::begin`]. `logical_reads` and `physical_reads` are divided among the sessions by rows.
    ///
    /// # Errors
    /// An error of the server.
    fn end(&mut self, control: &mut C) -> Result<Counters, EngineError>;

    /// What sessions with these numbers wait for now: a name for each that is at work, `running` if it does not wait;
    /// `None` if waits are not sampled.
    ///
    /// # Errors
    /// An error of the server.
    fn waits(&mut self, control: &mut C, sessions: &[i64]) -> Result<Option<Vec<String>>, EngineError>;
}

/// Increments of counters that both readings have; one that ran backwards was reset, and is left out.
pub fn increments(before: &Counters, now: &Counters) -> Counters {
    let since = |(name, now): (&String, &u64)| Some((name.clone(), now.checked_sub(*before.get(name)?)?));
    now.iter().filter_map(since).collect()
}

/// Keys of rows to load.
pub type Keys<'a> = dyn Iterator<Item = i64> + Send + 'a;

/// A server that answers, with what a database does in its own way.
pub trait Driver: Send + Sync + 'static {
    /// Its connections.
    type Connection: Connection;
    /// What reads its counters and waits.
    type Observer: Observer<Self::Connection>;

    /// Its SQL and facts.
    fn dialect(&self) -> &'static Dialect;

    /// Threadwise's schema or database in it.
    fn schema(&self) -> &str;

    /// The account used.
    fn user(&self) -> &str;

    /// Where its schema lies, for messages: ` in database 'shop'`; empty if that is clear.
    fn place(&self) -> String {
        String::new()
    }

    /// A connection for control.
    ///
    /// # Errors
    /// The server is gone or refuses the login.
    fn connect(&self, purpose: &str) -> Result<Self::Connection, EngineError>;

    /// A session's connection, set up for the workload.
    ///
    /// # Errors
    /// The server is gone or refuses the login, or cannot do what the workload asks for.
    fn open(&self, workload: &SqlWorkload, session: u32) -> Result<Opened<Self::Connection>, EngineError>;

    /// Starts to observe; with notes for the report.
    ///
    /// # Errors
    /// An error of the server.
    fn observe(
        &self,
        control: &mut Self::Connection,
        workload: &SqlWorkload,
    ) -> Result<(Self::Observer, Vec<String>), EngineError>;

    /// The server's thread of the control connection, or why it is out of reach.
    ///
    /// # Errors
    /// An error of the server.
    fn control_thread(&self, control: &mut Self::Connection) -> Result<Result<Thread, String>, EngineError>;

    /// Fills the first table of blocks, in the order of these keys.
    ///
    /// # Errors
    /// An error of the server.
    fn fill_blocks(
        &self,
        control: &mut Self::Connection,
        blocks: &Blocks<'_>,
        seed: u64,
    ) -> Result<(), EngineError>;

    /// Checks for one visited row a page; gives the note about the data.
    ///
    /// # Errors
    /// Rows lie otherwise; or an error of the server.
    fn prove_blocks(
        &self,
        control: &mut Self::Connection,
        blocks: &Blocks<'_>,
    ) -> Result<String, EngineError>;

    /// Refuses a plan of a step that does not visit rows by the index; gives the plan, if the server shows it.
    ///
    /// # Errors
    /// Another plan; or an error of the server.
    fn plan(
        &self,
        connection: &mut Self::Connection,
        blocks: &Blocks<'_>,
    ) -> Result<Option<String>, EngineError> {
        let _ = (connection, blocks);
        Ok(None)
    }

    /// Brings a table and its index into the cache, and checks their contents.
    ///
    /// # Errors
    /// Other contents; it does not stay in the cache; or an error of the server.
    fn warm_blocks(&self, connection: &mut Self::Connection, blocks: &Blocks<'_>) -> Result<(), EngineError>;

    /// Makes the table of `insert` with these keys, in their order.
    ///
    /// # Errors
    /// An error of the server.
    fn make_rows(
        &self,
        control: &mut Self::Connection,
        rows: &Rows<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), EngineError>;

    /// The procedures of `insert`, called ones first.
    fn insert_procedures(&self, rows: &Rows<'_>) -> Vec<String> {
        vec![insert_loop_sql(self.dialect(), rows)]
    }

    /// A note about the data of `insert`.
    fn insert_note(&self, spec: &Insert) -> Option<String> {
        let _ = spec;
        None
    }

    /// Whether the table of `insert` is empty after a restart of the server, so that it is filled again.
    fn is_volatile(&self, spec: &Insert) -> bool {
        let _ = spec;
        false
    }

    /// Removes inserted rows.
    ///
    /// # Errors
    /// An error of the server.
    fn put_back(&self, control: &mut Self::Connection, rows: &Rows<'_>) -> Result<(), EngineError> {
        let sql = fill(self.dialect().rows_put_back, &[("table", &rows.table())]);
        control.run("remove the inserted rows", &sql)
    }

    /// Its own tables and procedures of `insert`, without suffix.
    fn insert_objects(&self) -> Objects {
        Objects::default()
    }

    /// Notes once all sessions are open and warm, after checks that need all of them.
    ///
    /// # Errors
    /// The data is not as the workload requires.
    fn standing(
        &self,
        control: &mut Self::Connection,
        workload: &SqlWorkload,
        names: &Names<'_>,
        sessions: u32,
    ) -> Result<Vec<String>, EngineError>;

    /// Refuses a server that does not do what the workload asks for, before anything is made.
    ///
    /// # Errors
    /// The setting, and what to do.
    fn check(&self, control: &mut Self::Connection, workload: &SqlWorkload) -> Result<(), EngineError> {
        let _ = (control, workload);
        Ok(())
    }

    /// An error of this engine.
    fn failed(&self, action: &str, why: impl ToString) -> EngineError
    where
        Self: Sized,
    {
        failed(self.dialect(), action, why)
    }
}

/// An error of an engine.
pub(crate) fn failed(dialect: &Dialect, action: &str, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: dialect.engine.into(), action: action.into(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_are_of_what_both_readings_have() {
        let reading = |pairs: &[(&str, u64)]| -> Counters {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let before = reading(&[("log_writes", 5), ("data_fsyncs", 9)]);
        let now = reading(&[("log_writes", 8), ("data_fsyncs", 3), ("pages_read", 1)]);
        assert_eq!(increments(&before, &now), reading(&[("log_writes", 3)]));
    }
}
