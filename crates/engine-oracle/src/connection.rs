//! A connection to a server, over a proxy of its own.
//!
//! Parameters are `:p1`, `:p2`, …. Those of a block that no value is given for are numbers that it gives: they are a row.

use std::fmt::Arguments;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_engine::clock::thread_cpu_ns;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::transaction::{
    AnswerSize, BindValue, ColumnValues, Parameter as Declared, Statement,
};
use threadwise_engine_sql::{Connection, Parameter, Usage, Value, fill};
use threadwise_python::Engines;
use threadwise_python::folder::data_home;
use threadwise_study::Options;

use crate::error::{ENGINE, Fault, failed, query};
use crate::meter::{Meter, SESSION_TIME};
use crate::options::{self, Secret, Target};
use crate::proxy::{Answer, Program, Proxy, Request, Sent};

/// Time limit for the listener, seconds, and time between signs of life of a parked connection, minutes.
const CONNECT_S: u32 = 10;
const EXPIRE_MINUTES: u32 = 2;

/// Statements whose cursors the driver keeps.
const CACHED_STATEMENTS: u32 = 40;

/// Texts of fewer bytes than this are not replaced in messages, which would be unreadable.
const SHORTEST_SECRET: usize = 4;

/// Beginning of a statement that creates a procedure, which is created whether it compiles or not.
const PROCEDURE: &str = "CREATE OR REPLACE PROCEDURE ";

/// A server that answers, and how to connect to it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub target: Target,
    password: Secret,
    program: Program,
}

/// How a connection differs from others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'a> {
    /// Its name in the server.
    pub name: &'a str,
    /// Whether each statement that changes something is committed.
    pub autocommit: bool,
    /// Most seconds of a call; 0 for no limit.
    pub limit_s: u32,
}

impl<'a> Purpose<'a> {
    /// For threadwise's own statements.
    pub(crate) fn own(name: &'a str) -> Self {
        Self { name, autocommit: true, limit_s: 0 }
    }
}

impl Server {
    /// Reads the options, the password, and where the driver is. Does not connect.
    ///
    /// # Errors
    /// An option, no password, or the driver is not installed.
    pub(crate) fn find(engine_options: &Options) -> Result<Self, EngineError> {
        let target = options::parse(engine_options)?;
        let program = program(target.python.as_deref())?;
        let password = target.password()?;
        Ok(Self { target, password, program })
    }

    /// A connection, with the answer to its login.
    ///
    /// # Errors
    /// No answer, or a refused login.
    pub(crate) fn connect(&self, purpose: Purpose<'_>) -> Result<OracleConnection, EngineError> {
        let Target { user, host, port, service, tls, .. } = &self.target;
        let action = format!("log in to {} as '{user}'", self.target.place());
        let proxy = Proxy::start(&self.program).map_err(|cause| {
            failed(&action, format!("{} cannot be started: {cause}", self.program.python.display()))
        })?;
        let mut connection =
            OracleConnection { proxy, server: self.clone(), version: String::new(), meter: Meter::default() };
        let answer = connection.ask(&Request::Connect {
            user,
            password: &self.password.0,
            host,
            port: *port,
            service_name: service,
            protocol: if *tls { "tcps" } else { "tcp" },
            tcp_connect_timeout: CONNECT_S,
            expire_time: EXPIRE_MINUTES,
            program: &format!("threadwise-{}", purpose.name),
            stmtcachesize: CACHED_STATEMENTS,
            autocommit: purpose.autocommit,
            call_timeout_ms: purpose.limit_s * 1000,
        });
        connection.version = answer.map_err(|cause| query(&action, &cause))?.version;
        Ok(connection)
    }
}

/// The driver's Python with the program that is the proxy: of this user's data folder, or the user's own.
///
/// # Errors
/// It is not installed.
pub(crate) fn program(python: Option<&Path>) -> Result<Program, EngineError> {
    let found = || {
        let home = data_home(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))?;
        Engines::open(&home)?.find_alone(ENGINE, python)
    };
    let found = found().map_err(|cause| EngineError::Missing(cause.to_string()))?;
    Ok(Program { args: found.args(), python: found.python })
}

/// A connection.
#[derive(Debug)]
pub(crate) struct OracleConnection {
    proxy: Proxy,
    pub server: Server,
    /// The server's version.
    pub version: String,
    /// How its usage is read.
    pub meter: Meter,
}

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    number: usize,
    /// Its parameters, those with numbers that it gives included.
    marks: usize,
    /// Whether it is a block, whose rows are not counted.
    is_block: bool,
    /// Parameters of the user's statement, as indexes in the file's head.
    places: Vec<usize>,
}

/// The highest number of a parameter in a text.
fn marks(sql: &str) -> usize {
    let digits = |rest: &str| rest.len() - rest.trim_start_matches(|next: char| next.is_ascii_digit()).len();
    sql.split(":p").skip(1).filter_map(|rest| rest[..digits(rest)].parse().ok()).max().unwrap_or(0)
}

fn is_block(sql: &str) -> bool {
    ["BEGIN", "DECLARE"].iter().any(|word| sql.starts_with(word))
}

impl OracleConnection {
    fn ask(&mut self, request: &Request<'_>) -> Result<Answer, Fault> {
        self.proxy.ask(request).map_err(|mut fault| {
            let password = &self.server.password.0;
            if password.len() >= SHORTEST_SECRET {
                fault.text = fault.text.replace(password, "********");
            }
            fault
        })
    }

    /// Rows of a statement, or the error as the driver has it.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn attempt(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, Fault> {
        let (sql, values) = (fill(sql, &[]), parameters.iter().map(Sent::from).collect());
        let outs = if is_block(&sql) { marks(&sql).saturating_sub(parameters.len()) } else { 0 };
        self.ask(&Request::Execute { sql: Some(&sql), statement: None, values, outs })
            .map(|answer| answer.rows)
    }

    /// Rows of a statement that the account may not be allowed to execute; `None` then.
    ///
    /// # Errors
    /// Another error.
    pub(crate) fn maybe(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<Vec<Value>>>, EngineError> {
        match self.attempt(sql, parameters) {
            Err(cause) if cause.is_missing() => Ok(None),
            found => found.map(Some).map_err(|cause| query(action, &cause)),
        }
    }

    /// Executes a statement once for each row of values, in one call.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn insert(
        &mut self,
        action: &str,
        sql: &str,
        rows: Vec<Vec<Sent<'_>>>,
    ) -> Result<(), EngineError> {
        let many = self.ask(&Request::Many { sql, rows });
        many.map(drop).map_err(|cause| query(action, &cause))
    }

    /// Prepares a statement that the server plans now; gives its SQL_ID, too.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn parse(&mut self, sql: &str) -> Result<(Prepared, String), Fault> {
        let Answer { statement, sql_id, .. } = self.ask(&Request::Prepare { sql, parse: true })?;
        Ok((Prepared { number: statement, marks: 0, is_block: false, places: Vec::new() }, sql_id))
    }

    /// Time limit of every further call; 0 for none.
    ///
    /// # Errors
    /// The proxy ended.
    pub(crate) fn limit(&mut self, call_timeout_ms: u32) -> Result<(), EngineError> {
        let done = self.ask(&Request::Limit { call_timeout_ms });
        done.map(drop).map_err(|cause| query("limit the time of a call", &cause))
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn execute(
        &mut self,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
    ) -> Result<Answer, Fault> {
        let outs = statement.marks.saturating_sub(parameters.len());
        let values = parameters.iter().map(Sent::from).collect();
        self.ask(&Request::Execute { sql: None, statement: Some(statement.number), values, outs })
    }

    /// Refuses a procedure that was created and does not compile.
    fn compiled(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        let Some(rest) = sql.strip_prefix(PROCEDURE) else { return Ok(()) };
        let name = rest.split([' ', '(']).next().unwrap_or_default().to_uppercase();
        let errors = self.rows(action, include_str!("sql/compile_errors.sql"), &[Parameter::Text(&name)])?;
        match errors.first().map(Vec::as_slice) {
            Some([line, why, ..]) => {
                let (line, why) = (line.whole().unwrap_or(0), why.text().unwrap_or_default());
                Err(failed(action, format!("{name}, line {line}: {why}")))
            }
            _ => Ok(()),
        }
    }
}

impl Connection for OracleConnection {
    type Statement = Prepared;

    fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.attempt(sql, &[]).map_err(|cause| query(action, &cause))?;
        self.compiled(action, sql)
    }

    fn rows(
        &mut self,
        action: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Vec<Value>>, EngineError> {
        self.attempt(sql, parameters).map_err(|cause| query(action, &cause))
    }

    fn prepare(&mut self, sql: &str) -> Result<Prepared, EngineError> {
        let sql = fill(sql, &[]);
        let answer = self.ask(&Request::Prepare { sql: &sql, parse: false });
        let number = answer.map_err(|cause| query("prepare a step", &cause))?.statement;
        Ok(Prepared { number, marks: marks(&sql), is_block: is_block(&sql), places: Vec::new() })
    }

    fn first(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
        answer: &mut [Option<i64>],
    ) -> Result<bool, EngineError> {
        let found = self.execute(statement, parameters).map_err(|cause| query(action.to_string(), &cause))?;
        let Some(row) = found.rows.first() else { return Ok(false) };
        answer.iter_mut().zip(row).for_each(|(number, value)| *number = value.whole());
        Ok(true)
    }

    fn change(
        &mut self,
        action: Arguments<'_>,
        statement: &Prepared,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<u64>, EngineError> {
        let done = self.execute(statement, parameters).map_err(|cause| query(action.to_string(), &cause))?;
        Ok(done.changed.filter(|_| !statement.is_block))
    }

    /// Two statements, each of which is parsed again.
    const READS_USAGE_INSIDE: bool = false;

    fn usage(&mut self, backend: Option<Thread>) -> Result<Usage, EngineError> {
        let action = "read what its session used";
        let statistics = match self.meter.counts() {
            true => self.rows(action, &self.meter.sql(), &[])?,
            false => Vec::new(),
        };
        let times = if self.meter.has_time { self.rows(action, SESSION_TIME, &[])? } else { Vec::new() };
        Ok(self.meter.usage(&statistics, &times, backend))
    }

    /// The proxy is the client, too.
    fn client_cpu_ns(&self) -> u64 {
        thread_cpu_ns() + self.proxy.cpu_ns()
    }

    fn close(&mut self) {
        self.proxy.close();
    }

    fn prepare_theirs(&mut self, statement: &Statement, _: &[Declared]) -> Result<Prepared, EngineError> {
        let mut marks = 0;
        let sql = statement.text(|_| {
            marks += 1;
            format!(":p{marks}")
        });
        let answer = self.ask(&Request::Prepare { sql: &sql, parse: true });
        let number = answer.map_err(|cause| explain(statement, &cause.advice()))?.statement;
        Ok(Prepared { number, marks, is_block: false, places: statement.parameters() })
    }

    fn execute_theirs(
        &mut self,
        statement: &Statement,
        prepared: &Prepared,
        values: &[BindValue],
    ) -> Result<(), EngineError> {
        let value = |at: &usize| match values.get(*at) {
            Some(BindValue::Text(text)) => Sent::Text(text),
            Some(BindValue::Real(number)) => Sent::Real(*number),
            Some(BindValue::Whole(number)) => Sent::Whole(*number),
            None => Sent::Whole(0),
        };
        let values = prepared.places.iter().map(value).collect();
        let most_bytes = AnswerSize::MOST_BYTES;
        let answer = self.ask(&Request::Drain { statement: prepared.number, values, most_bytes });
        let bytes = answer.map_err(|cause| explain(statement, &cause.advice()))?.bytes;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        AnswerSize::default().add_row(bytes).map_err(|why| explain(statement, &why))
    }

    fn column_of_theirs(
        &mut self,
        query: &Statement,
        prepared: &Prepared,
    ) -> Result<ColumnValues, EngineError> {
        let (most, most_bytes) = (ColumnValues::MOST_VALUES, ColumnValues::MOST_BYTES);
        let answer = self.ask(&Request::Column { statement: prepared.number, most, most_bytes });
        let rows = answer.map_err(|cause| explain(query, &cause.advice()))?.rows;
        let mut values = ColumnValues::default();
        for row in rows {
            let value = match row.into_iter().next() {
                Some(Value::Whole(number)) => Some(BindValue::Whole(number)),
                Some(Value::Text(text)) => Some(BindValue::Text(text.into())),
                Some(Value::Null) | None => None,
            };
            values.add(value).map_err(|why| explain(query, &why))?;
        }
        Ok(values)
    }
}

fn explain(statement: &Statement, why: &str) -> EngineError {
    failed(format!("execute {}", statement.place), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_by_their_numbers() {
        assert_eq!(marks("BEGIN p(:p1, :p2, :p11); END;"), 11);
        assert_eq!((marks("SELECT ':p' FROM dual"), marks("BEGIN :p1 := ':pass'; END;")), (0, 1));
        assert!(is_block("DECLARE\nx NUMBER;") && !is_block("SELECT 1 FROM dual"));
    }
}
