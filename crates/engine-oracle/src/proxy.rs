//! The proxy: a process of Python with one connection, spoken to in lines of JSON (`workers/oracle_proxy.py`).
//!
//! It is started by the thread that works with the connection, whose logical CPUs it inherits, and ends with that
//! thread. The password goes to it through its standard input.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use threadwise_engine_sql::{Parameter, Usage, Value};
use threadwise_process::{proc, stopping};

use crate::error::Fault;
use crate::options::VARIABLE;

/// How long a connection may take to close.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The program that is the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The Python of the driver's environment.
    pub python: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What the proxy is asked for.
#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request<'a> {
    /// The parameters of `oracledb.connect`, and of the connection.
    Connect {
        user: &'a str,
        password: &'a str,
        host: &'a str,
        port: u16,
        service_name: &'a str,
        protocol: &'a str,
        /// Time limit for the listener, seconds.
        tcp_connect_timeout: u32,
        /// Minutes between signs of life of a parked connection, so that no firewall drops it.
        expire_time: u32,
        program: &'a str,
        stmtcachesize: u32,
        autocommit: bool,
        /// 0 for no limit.
        call_timeout_ms: u32,
    },
    /// A statement that stays prepared; the server parses it now, or when it is first executed.
    Prepare { sql: &'a str, parse: bool },
    /// A statement, its values, and how many numbers it gives in parameters.
    Execute { sql: Option<&'a str>, statement: Option<usize>, values: Vec<Sent<'a>>, outs: usize },
    /// A statement once for each row of values.
    Many { sql: &'a str, rows: Vec<Vec<Sent<'a>>> },
    /// A time limit of every further call; 0 for none.
    Limit { call_timeout_ms: u32 },
    /// A statement whose rows are read and dropped.
    Drain { statement: usize, values: Vec<Sent<'a>>, most_bytes: u64 },
    /// The first column of a statement's rows, up to a little more than these bounds.
    Column { statement: usize, most: usize, most_bytes: u64 },
}

/// A value that is sent.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Sent<'a> {
    Whole(i64),
    Real(f64),
    Text(&'a str),
}

impl<'a> From<&Parameter<'a>> for Sent<'a> {
    fn from(parameter: &Parameter<'a>) -> Self {
        match parameter {
            Parameter::Int(number) => Self::Whole(i64::from(*number)),
            Parameter::Big(number) => Self::Whole(*number),
            Parameter::Text(text) => Self::Text(text),
        }
    }
}

/// A value that came.
#[derive(Deserialize)]
#[serde(untagged)]
enum Came {
    Null,
    Whole(i64),
    Text(String),
}

impl From<Came> for Value {
    fn from(came: Came) -> Self {
        match came {
            Came::Null => Self::Null,
            Came::Whole(number) => Self::Whole(number),
            Came::Text(text) => Self::Text(text),
        }
    }
}

/// An error that came.
#[derive(Deserialize)]
struct CameFault {
    code: String,
    text: String,
}

/// What the proxy answers.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply {
    rows: Vec<Vec<Came>>,
    changed: Option<u64>,
    statement: usize,
    sql_id: String,
    version: String,
    bytes: u64,
    error: Option<CameFault>,
}

/// An answer without an error.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Rows of a query; the numbers that a block gave are one row.
    pub rows: Vec<Vec<Value>>,
    /// Changed rows.
    pub changed: Option<u64>,
    /// Number of a prepared statement.
    pub statement: usize,
    /// Its SQL_ID.
    pub sql_id: String,
    /// The server's version.
    pub version: String,
    /// Bytes of rows that were dropped.
    pub bytes: u64,
}

/// A running proxy.
pub(crate) struct Proxy {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.child.id())
    }
}

impl Proxy {
    /// Starts one, which ends with the calling thread.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(program: &Program) -> io::Result<Self> {
        let mut child = Command::new(&program.python)
            .args(&program.args)
            .arg(std::process::id().to_string())
            // Other users' processes may not see it, but dumps of the environment would have it.
            .env_remove(VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What kills the worker's whole group leaves it the time to cancel its statement.
            .process_group(0)
            .spawn()?;
        let (requests, Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, requests, replies: BufReader::new(replies), line: Vec::new() })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The driver's error, or the proxy ended.
    pub(crate) fn ask(&mut self, request: &Request<'_>) -> Result<Answer, Fault> {
        let reply = self.exchange(request).map_err(|cause| Fault::of_proxy(&cause))?;
        let Reply { rows, changed, statement, sql_id, version, bytes, error } = reply;
        let rows = rows.into_iter().map(|row| row.into_iter().map(Value::from).collect()).collect();
        error
            .map(|CameFault { code, text }| Fault { code, text })
            .map_or(Ok(Answer { rows, changed, statement, sql_id, version, bytes }), Err)
    }

    fn exchange(&mut self, request: &Request<'_>) -> io::Result<Reply> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, request)?;
        self.line.push(b'\n');
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        requests.write_all(&self.line)?;
        self.line.clear();
        self.replies.read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_slice(&self.line)?)
    }

    /// CPU time of the process so far, nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        let pid = self.child.id();
        Usage::of_threads(pid, proc::thread_numbers(pid)).cpu_ns
    }

    /// Closes the connection, if it is open.
    pub(crate) fn close(&mut self) {
        if self.requests.take().is_some()
            && !matches!(stopping::wait(&mut self.child, END_LIMIT), Ok(Some(_)))
        {
            // Both fail only for a process that has ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}
