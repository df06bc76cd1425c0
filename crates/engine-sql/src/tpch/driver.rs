//! What a database does for `tpch` in its own way.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::clock::{monotonic_ns, thread_cpu_ns};
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::tables::{Kind, TABLES, Table};
use threadwise_engine::workloads::tpch::{failed, read};
use threadwise_study::tpch::Test;
use threadwise_study::{Options, QueryExecution};
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::driver::{Driver, Opened};
use crate::template::Names;
use crate::usage::Usage;
use crate::workload::Objects;

/// Reads and checks the workload's options. `refused` are those that the server does not follow, and why; `cold` is what
/// `cache=cold` does before each query.
///
/// # Errors
/// The first option that is unknown, impossible, or not followed.
pub fn parse(given: &Options, refused: &[(&str, &str)], cold: &str) -> Result<TpchOptions, EngineError> {
    let options = read(given, refused)?;
    match (options.cache, options.test) {
        (Cache::Cold, Test::Throughput) => {
            let why = format!(
                "'cold' is for test=power: {cold} before every query, which would stop the other streams' queries; use \
                 cache=warm"
            );
            Err(refuse("cache", why))
        }
        _ => Ok(options),
    }
}

/// A database's SQL for `tpch`, with the places `{schema}`, `{table}` (the full name) and `{name}` (the bare one).
#[derive(Debug)]
pub struct TpchSql {
    /// Orders `lineitem` by `{columns}`, before its key is made.
    pub order: &'static str,
    /// Makes the primary key of `{columns}`; the flag `ordered` is set for a table that has an order.
    pub key: &'static str,
    /// Makes the index with this `{number}` of `{columns}`.
    pub index: &'static str,
    /// Gathers the statistics of a table.
    pub statistics: &'static str,
    /// Bytes of all tables and indexes in the schema.
    pub bytes: &'static str,
    /// Reads a whole table: the number of its rows.
    pub read: &'static str,
    /// The short query: an order by its `{key}`; its first column is that key.
    pub short: &'static str,
    /// A note about the order and the statistics of tables.
    pub note: &'static str,
}

/// Notes of sessions, each once.
#[derive(Debug, Default)]
pub struct Notes(Mutex<BTreeSet<String>>);

impl Notes {
    /// Adds a note.
    pub fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(note.into());
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// What the sessions of a treatment have in common.
#[derive(Debug)]
pub struct Setup {
    /// The options.
    pub options: TpchOptions,
    /// The schema of the tables: that of the driver, or the data's own.
    pub schema: String,
    /// Requested degree of parallelism.
    pub dop: u32,
    /// Sessions, of which the last `short` execute short queries.
    pub sessions: u32,
    /// Their notes.
    pub notes: Notes,
}

impl Setup {
    /// Sessions that are streams.
    pub fn streams(&self) -> u32 {
        self.sessions.saturating_sub(self.options.short)
    }

    /// Whether every query must find nothing in a cache.
    pub fn is_cold(&self) -> bool {
        self.options.cache == Cache::Cold
    }
}

/// Why a query has no answer.
#[derive(Debug)]
pub enum QueryFault {
    /// It failed: the server's message, one line.
    Failed(String),
    /// It was cancelled, which it is at the window's end: the server's message.
    Cancelled(String),
    /// Something before or after it failed.
    Around(EngineError),
}

impl QueryFault {
    /// The error of a query outside of a window.
    pub fn error(self, engine: &str, query: u8) -> EngineError {
        match self {
            Self::Failed(why) | Self::Cancelled(why) => failed(engine, query, why),
            Self::Around(error) => error,
        }
    }
}

impl From<String> for QueryFault {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<EngineError> for QueryFault {
    fn from(error: EngineError) -> Self {
        Self::Around(error)
    }
}

/// The time until CLOCK_MONOTONIC reaches this, at least a millisecond.
pub fn time_left(until_ns: u64) -> Duration {
    Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()).max(1_000_000))
}

/// A type of standard SQL for a kind of column.
pub fn standard_type(kind: Kind) -> String {
    match kind {
        Kind::Identifier => "bigint".into(),
        Kind::Integer => "int".into(),
        Kind::Decimal => "decimal(15,2)".into(),
        Kind::Date => "date".into(),
        Kind::Char(length) => format!("char({length})"),
        Kind::Varchar(length) => format!("varchar({length})"),
    }
}

/// The tables, for the list of what is dropped at the end.
pub(super) fn objects() -> Objects {
    Objects { tables: TABLES.iter().map(|table| table.name.to_owned()).collect(), procedures: Vec::new() }
}

/// A server that executes the queries of TPC-H.
pub trait QueryDriver: Driver {
    /// Its streams of queries.
    type Stream: QueryStream;

    /// Its SQL.
    fn tpch_sql(&self) -> &'static TpchSql;

    /// The full name of a table.
    fn table(&self, schema: &str, name: &str) -> String {
        Names { schema, suffix: "", quotes: self.dialect().quotes }.quoted(name)
    }

    /// The type of a column that [`Self::fill_table`] fills.
    fn type_of(&self, kind: Kind) -> String {
        standard_type(kind)
    }

    /// Refuses settings of the user that the server does not accept, before hours of loading.
    ///
    /// # Errors
    /// The option.
    fn try_settings(&self, setup: &Setup) -> Result<(), EngineError> {
        let _ = setup;
        Ok(())
    }

    /// Makes an empty schema for a data set of its own, in a server that threadwise started.
    ///
    /// # Errors
    /// An error of the server.
    fn make_schema(&self, control: &mut Self::Connection, schema: &str) -> Result<(), EngineError> {
        let _ = (control, schema);
        Ok(())
    }

    /// Makes a table of this full name by `create`, and fills it with the generator's text: CSV, whose first line has the
    /// columns' names. Gives the number of rows sent.
    ///
    /// # Errors
    /// An error of the server; or the text has another form.
    fn fill_table(
        &self,
        control: &mut Self::Connection,
        table: &Table,
        name: &str,
        create: &str,
        text: &mut dyn BufRead,
    ) -> Result<u64, EngineError>;

    /// Whether the server keeps statistics of its own where it refuses to gather them.
    fn keeps_statistics(&self) -> bool {
        false
    }

    /// Starts to observe; with notes for the report. Counters `read_bytes`, `buffer_hits` and `spill_bytes` of the
    /// observer are given to a query that was alone in its slice.
    ///
    /// # Errors
    /// An error of the server.
    fn observe_queries(
        &self,
        control: &mut Self::Connection,
        setup: &Setup,
    ) -> Result<(Self::Observer, Vec<String>), EngineError>;

    /// Opens a stream.
    ///
    /// # Errors
    /// An error of the server, or it has no room for the degree of parallelism.
    fn open_stream(&self, setup: &Arc<Setup>, number: u32) -> Result<Opened<Self::Stream>, EngineError>;

    /// Opens a session of short queries.
    ///
    /// # Errors
    /// An error of the server.
    fn open_short(&self, setup: &Setup, number: u32) -> Result<Opened<Self::Connection>, EngineError>;

    /// Prepares what treatments share before each slice.
    ///
    /// # Errors
    /// An error of the server.
    fn before_slice(&self, control: &mut Self::Connection, setup: &Setup) -> Result<(), EngineError> {
        let _ = (control, setup);
        Ok(())
    }

    /// CPU time so far of these threads and of all that work for them, nanoseconds; `None` where streams report their
    /// own.
    fn cpu_ns(&self, threads: &[Thread], setup: &Setup) -> Option<u64> {
        let _ = (threads, setup);
        None
    }
}

/// Texts of queries by their numbers.
pub type Texts = BTreeMap<u8, String>;

/// A stream's connection.
pub trait QueryStream: Send {
    /// A query's text as it is sent; `sql` names tables without their schema.
    ///
    /// # Errors
    /// It cannot be changed to that.
    fn text(&self, query: u8, sql: String) -> Result<String, EngineError> {
        let _ = query;
        Ok(sql)
    }

    /// Finds out what the server reports about queries, with notes, and brings what the stream needs into memory. `reads`
    /// are statements that read every table once, for the first stream alone, and none with `cache=cold`.
    ///
    /// # Errors
    /// An error of the server.
    fn warm(&mut self, reads: &[String], texts: &Texts) -> Result<(), EngineError>;

    /// Called before the start of each slice. Gives its number in the server, if it has connected again.
    ///
    /// # Errors
    /// An error of the server.
    fn begin(&mut self) -> Result<Option<i64>, EngineError> {
        Ok(None)
    }

    /// What the server has used for the stream; where that is nothing, a slice has the sum of its queries.
    fn used(&mut self) -> Usage {
        Usage::default()
    }

    /// CPU time of the client for this stream so far, nanoseconds; by default that of the calling thread.
    fn client_cpu_ns(&self) -> u64 {
        thread_cpu_ns()
    }

    /// Executes a query within the time until CLOCK_MONOTONIC reaches `until_ns`. Gives its times, its answer, and what
    /// else is known; not its number, its start and its rows.
    ///
    /// # Errors
    /// It has no answer.
    fn execute(&mut self, text: &str, until_ns: u64) -> Result<QueryExecution, QueryFault>;

    /// Called after each slice, outside of all times: completes what the server reports later, and its counters.
    ///
    /// # Errors
    /// An error of the server.
    fn end(&mut self, executions: &mut [QueryExecution], texts: &Texts) -> Result<(), EngineError> {
        let _ = (executions, texts);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    #[test]
    fn what_a_server_does_not_follow_is_refused_by_name() {
        let refused = [("storage", "it has its own files"), ("settings.", "they are yours")];
        let parse = |given| super::parse(&given, &refused, "the server is restarted");
        let word = |text: &str| OptionValue::Text(text.to_owned());
        for (given, wanted) in [
            (vec![("storage", word("memory"))], "option 'storage': it has its own files"),
            (vec![("settings.x", word("y"))], "option 'settings.x': they are yours"),
            (
                vec![("cache", word("cold")), ("test", word("throughput"))],
                "option 'cache': 'cold' is for test=power: the server is restarted before every query",
            ),
            (vec![("scale", OptionValue::Integer(0))], "option 'scale'"),
        ] {
            let given = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let message = parse(given).unwrap_err().to_string();
            assert!(message.starts_with(wanted), "{message}");
        }
        assert_eq!(parse(Options::new()).unwrap().cache, Cache::Warm);
    }
}
