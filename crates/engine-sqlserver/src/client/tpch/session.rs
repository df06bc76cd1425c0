//! A stream of queries on one connection.
//!
//! A query is one batch with `OPTION (MAXDOP n)`. SET STATISTICS TIME reports how long it was compiled and executed, and
//! its CPU time on all threads; the elapsed time is the client's, less the compilation. Plan and degree of parallelism are
//! read after the slice.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use threadwise_engine::workloads::tpch;
use threadwise_engine::{EngineError, clock};
use threadwise_engine_sql::tpch::{QueryFault, QueryStream, Setup, Texts, qualified, time_left};
use threadwise_engine_sql::{Opened, fill};
use threadwise_study::QueryExecution;

use super::text::Times;
use super::{plan, values};
use crate::ENGINE;
use crate::client::connect::{Connection, Unanswered, heard};
use crate::client::driver::Database;
use crate::client::error::{advice, query};
use crate::client::statements::{run, text, whole};
use crate::failed;

/// A query that needs no right and costs nothing.
const ONE: &str = "SELECT 1 AS one";

/// A stream's connection.
pub(crate) struct SqlserverStream {
    connection: Connection,
    database: Database,
    setup: Arc<Setup>,
    number: u32,
    /// How often the server had been bound when the connection was opened.
    opened_at: u64,
    /// Whether plans are shown.
    shows_plans: bool,
    /// Whether the server reports how it executed a query.
    knows_dop: bool,
}

impl SqlserverStream {
    /// Opens a connection that reports the times of queries.
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn open(
        database: &Database,
        setup: &Arc<Setup>,
        number: u32,
    ) -> Result<Opened<Self>, EngineError> {
        let opened_at = database.times_bound.load(Ordering::Acquire);
        let opened = connect(database, number)?;
        let (database, setup) = (database.clone(), Arc::clone(setup));
        Ok(opened.map(|connection| Self {
            connection,
            database,
            setup,
            number,
            opened_at,
            shows_plans: false,
            knows_dop: false,
        }))
    }

    /// Tries what the server reports, since notes are read before the first query.
    fn try_times(&mut self) -> Result<(), EngineError> {
        let connection = &mut self.connection;
        let (answered, messages) = heard(|| connection.run(ONE));
        answered.map_err(|cause| query("turn on times of queries", &cause))?;
        if Times::read(&messages).cpu_ms.is_none() {
            self.setup.notes.add("the server does not report the times of queries (SET STATISTICS TIME)");
        }
        Ok(())
    }

    fn try_plans(&mut self, text: Option<&String>) -> bool {
        // Rights are checked where a text names tables; a server that executes it all the same gets none that does.
        let shown = match (self.showplan(ONE), text) {
            (Ok(Some(_)), Some(text)) => self.showplan(text),
            (shown, _) => shown,
        };
        let why = match shown {
            Ok(Some(_)) => return true,
            Ok(None) => "the server answers SET SHOWPLAN_XML with rows".to_owned(),
            Err(why) => why,
        };
        self.setup.notes.add(format!("plans are unknown: {why}"));
        false
    }

    /// The plan of a text, which is not executed; `None` if the server shows none.
    fn showplan(&mut self, sql: &str) -> Result<Option<String>, String> {
        let connection = &mut self.connection;
        connection.run("SET SHOWPLAN_XML ON").map_err(|cause| advice(&cause))?;
        let shown = connection.rows(sql);
        connection.run("SET SHOWPLAN_XML OFF").map_err(|cause| advice(&cause))?;
        let rows = shown.map_err(|cause| advice(&cause))?;
        let xml = rows.first().and_then(|row| text(row, 0));
        Ok(xml.filter(|xml| xml.trim_start().starts_with(plan::BEGINS)))
    }

    fn try_dop(&mut self) -> bool {
        match self.connection.rows(&dop_sql("threadwise tries this")) {
            Ok(_) => true,
            Err(cause) => {
                let why = advice(&cause);
                self.setup.notes.add(format!(
                    "observed degree of parallelism unknown: sys.dm_exec_query_stats cannot be read ({why})"
                ));
                false
            }
        }
    }

    /// Empties the server's caches.
    fn empty_caches(&mut self) -> Result<(), EngineError> {
        let action =
            "empty the server's caches for cache=cold, which needs the role sysadmin and ALTER SERVER STATE";
        for sql in include_str!("../../sql/cold.sql").lines().filter(|line| !line.starts_with("--")) {
            run(&mut self.connection, action, sql)?;
        }
        Ok(())
    }

    /// Queries after an execution: its plan, and its number of threads. Outside of all times.
    fn complete(&mut self, execution: &mut QueryExecution, texts: &Texts) -> Result<(), EngineError> {
        let number = execution.query;
        if self.knows_dop {
            let sql = dop_sql(&comment(number, self.number));
            let rows = self.connection.rows(&sql);
            let rows = rows.map_err(|cause| query("read how a query was executed", &cause))?;
            execution.dop =
                rows.first().and_then(|row| whole(row, 0)).and_then(|dop| u32::try_from(dop).ok());
        }
        let Some(text) = texts.get(&number).filter(|_| self.shows_plans) else { return Ok(()) };
        let shown = self.showplan(text).map_err(|why| failed("show a plan", why))?;
        let plan = shown.map(|xml| plan::read(&xml)).transpose();
        execution.plan = plan.map_err(|why| tpch::failed(ENGINE, number, why))?;
        Ok(())
    }
}

/// A connection that reports the times of queries.
fn connect(database: &Database, number: u32) -> Result<Opened<Connection>, EngineError> {
    let mut opened = database.open_session(number)?;
    run(&mut opened.connection, "turn on times of queries", "SET STATISTICS TIME ON")?;
    Ok(opened)
}

/// Beginning of a query's text, by which the server's statistics of it are found.
fn comment(query: u8, session: u32) -> String {
    format!("/* threadwise {} of stream {session} */", tpch::name(query))
}

/// The degree of parallelism of the last execution of a text with this beginning.
fn dop_sql(begins: &str) -> String {
    fill(include_str!("../../sql/last_dop.sql"), &[("begins", begins)])
}

impl QueryStream for SqlserverStream {
    fn text(&self, query: u8, sql: String) -> Result<String, EngineError> {
        let (begin, sql) =
            (comment(query, self.number), qualified(&sql, &format!("[{}].", self.setup.schema)));
        Ok(format!("{begin} {sql} OPTION (MAXDOP {})", self.setup.dop))
    }

    /// Tables are then in the server's cache if that is large enough.
    fn warm(&mut self, reads: &[String], texts: &Texts) -> Result<(), EngineError> {
        self.try_times()?;
        self.shows_plans = self.try_plans(texts.values().next());
        self.knows_dop = self.try_dop();
        if self.setup.is_cold() {
            self.empty_caches()?;
            self.setup.notes.add(
                "before each query the server's buffers and plan cache are emptied (DBCC DROPCLEANBUFFERS, DBCC \
                 FREEPROCCACHE), for all of its users",
            );
        }
        reads.iter().try_for_each(|sql| run(&mut self.connection, "read the tables once", sql))
    }

    /// Opens the connection again if the server was bound since then: a connection belongs to the node that it was
    /// opened on.
    fn begin(&mut self) -> Result<Option<i64>, EngineError> {
        let now = self.database.times_bound.load(Ordering::Acquire);
        if now == self.opened_at {
            return Ok(None);
        }
        let opened = connect(&self.database, self.number)?;
        (self.connection, self.opened_at) = (opened.connection, now);
        Ok(Some(opened.id))
    }

    fn execute(&mut self, text: &str, until_ns: u64) -> Result<QueryExecution, QueryFault> {
        if self.setup.is_cold() {
            self.empty_caches()?;
        }
        let (connection, limit) = (&mut self.connection, time_left(until_ns));
        let began_ns = clock::monotonic_ns();
        let (answered, messages) = heard(|| connection.results_within(text, limit));
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        let sets = answered.map_err(|cause| match cause {
            Unanswered::TooLong => QueryFault::Cancelled("its time was over".to_owned()),
            Unanswered::Fault(cause) => QueryFault::Failed(advice(&cause)),
        })?;
        let times = Times::read(&messages);
        let planning_ns = times.compile_ms.map(|ms| (ms * 1_000_000).min(elapsed_ns.saturating_sub(1)));
        Ok(QueryExecution {
            elapsed_ns: elapsed_ns - planning_ns.unwrap_or(0),
            planning_ns,
            cpu_ns: times.cpu_ms.map(|ms| ms * 1_000_000),
            answer: Some(values::answer(&sets.into_iter().next().unwrap_or_default())),
            ..QueryExecution::default()
        })
    }

    fn end(&mut self, executions: &mut [QueryExecution], texts: &Texts) -> Result<(), EngineError> {
        executions.iter_mut().try_for_each(|execution| self.complete(execution, texts))
    }
}
