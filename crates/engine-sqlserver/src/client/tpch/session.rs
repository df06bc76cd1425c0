//! A stream of queries on one connection.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use threadwise_engine::workloads::tpch::tables::TABLES;
use threadwise_engine::workloads::tpch::{self, query_text, too_long};
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock};
use threadwise_study::{QueryExecution, SessionSlice};
use threadwise_tpch::options::{Cache, TpchOptions};

use super::{Notes, plan, qualify, times, values};
use crate::ENGINE;
use crate::client::connect::{Connection, Server, Unanswered, heard};
use crate::client::error::{advice, query};
use crate::client::statements::{run, text, whole};
use crate::failed;

/// A query that needs no right and costs nothing.
const ONE: &str = "SELECT 1 AS one";

/// Parameters of a treatment's sessions.
pub(super) struct Open {
    /// The server.
    pub server: Server,
    /// How often the server was bound to other logical CPUs.
    pub times_bound: Arc<AtomicU64>,
    /// Degree of parallelism.
    pub dop: u32,
    /// Receives notes.
    pub notes: Notes,
}

/// A session of `tpch`.
pub(super) struct QuerySession {
    connection: Connection,
    open: Open,
    /// How often the server had been bound when the connection was opened.
    opened_at: u64,
    schema: String,
    texts: BTreeMap<u8, String>,
    number: u32,
    is_cold: bool,
    /// Whether plans are shown.
    shows_plans: bool,
    /// Whether the server reports how it executed a query.
    knows_dop: bool,
}

impl QuerySession {
    /// Opens a connection and finds out what the server reports about queries.
    ///
    /// # Errors
    /// An error of the server, or a missing query.
    pub(super) fn open(
        open: Open,
        request: &SessionRequest,
        options: &TpchOptions,
    ) -> Result<Self, EngineError> {
        let (number, dop) = (request.session, open.dop);
        let opened_at = open.times_bound.load(Ordering::Acquire);
        let connection = connect(&open.server, number)?;
        let schema = open.server.schema().to_owned();
        let one = |&query: &u8| {
            let text = query_text(ENGINE, &request.load.data_dir, number, query)?;
            // The server's statistics of the text are found by this comment.
            let begin = comment(query, number);
            Ok((query, format!("{begin} {} OPTION (MAXDOP {dop})", qualify::qualified(&text, &schema))))
        };
        let texts = options.queries.iter().map(one).collect::<Result<BTreeMap<u8, String>, EngineError>>()?;
        let mut session = Self {
            connection,
            open,
            opened_at,
            schema,
            texts,
            number,
            is_cold: options.cache == Cache::Cold,
            shows_plans: false,
            knows_dop: false,
        };
        session.try_times()?;
        session.shows_plans = session.try_plans();
        session.knows_dop = session.try_dop();
        if session.is_cold {
            session.empty_caches()?;
            session.open.notes.add(
                "before each query the server's buffers and plan cache are emptied (DBCC DROPCLEANBUFFERS, DBCC \
                 FREEPROCCACHE), for all of its users",
            );
        }
        Ok(session)
    }

    /// Tries what the server reports, since notes are read before the first query.
    fn try_times(&mut self) -> Result<(), EngineError> {
        let connection = &mut self.connection;
        let (answered, messages) = heard(|| connection.run(ONE));
        answered.map_err(|cause| query("turn on times of queries", &cause))?;
        if times::read(&messages).cpu_ms.is_none() {
            self.open.notes.add("the server does not report the times of queries (SET STATISTICS TIME)");
        }
        Ok(())
    }

    fn try_plans(&mut self) -> bool {
        let one = self.texts.values().next().cloned();
        // Rights are checked where a text names tables; a server that executes it all the same gets none that does.
        let shown = match (self.showplan(ONE), one) {
            (Ok(Some(_)), Some(text)) => self.showplan(&text),
            (shown, _) => shown,
        };
        let why = match shown {
            Ok(Some(_)) => return true,
            Ok(None) => "the server answers SET SHOWPLAN_XML with rows".to_owned(),
            Err(why) => why,
        };
        self.open.notes.add(format!("plans are unknown: {why}"));
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
                self.open.notes.add(format!(
                    "observed degree of parallelism unknown: sys.dm_exec_query_stats cannot be read ({why})"
                ));
                false
            }
        }
    }

    /// Opens the connection again if the server was bound since then: a connection belongs to the node that it was
    /// opened on.
    fn follow(&mut self) -> Result<(), EngineError> {
        let now = self.open.times_bound.load(Ordering::Acquire);
        if now != self.opened_at {
            self.connection = connect(&self.open.server, self.number)?;
            self.opened_at = now;
        }
        Ok(())
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

    /// Executes a query.
    fn execute(
        &mut self,
        number: u8,
        started_ns: u64,
        window: &Window,
    ) -> Result<QueryExecution, EngineError> {
        let text = self.texts.get(&number).cloned().ok_or_else(|| {
            tpch::failed(ENGINE, number, "it is not one of the requested queries (queries)")
        })?;
        if self.is_cold {
            self.empty_caches()?;
        }
        let left_ns = window.end_ns.saturating_sub(clock::monotonic_ns()).max(1_000_000);
        let connection = &mut self.connection;
        let began_ns = clock::monotonic_ns();
        let (answered, messages) = heard(|| connection.results_within(&text, Duration::from_nanos(left_ns)));
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        let sets = answered.map_err(|cause| match cause {
            Unanswered::TooLong => too_long(ENGINE, number, window),
            Unanswered::Fault(cause) => tpch::failed(ENGINE, number, advice(&cause)),
        })?;
        let rows = sets.into_iter().next().unwrap_or_default();
        let times = times::read(&messages);
        let planning_ns = times.compile_ms.map(|ms| (ms * 1_000_000).min(elapsed_ns.saturating_sub(1)));
        Ok(QueryExecution {
            query: number,
            started_ns,
            elapsed_ns: elapsed_ns - planning_ns.unwrap_or(0),
            planning_ns,
            cpu_ns: times.cpu_ms.map(|ms| ms * 1_000_000),
            rows: rows.len() as u64,
            answer: Some(values::answer(&rows)),
            ..QueryExecution::default()
        })
    }

    /// Queries after an execution: its plan, and its number of threads. Outside of all times.
    fn complete(&mut self, execution: &mut QueryExecution) -> Result<(), EngineError> {
        let number = execution.query;
        if self.knows_dop {
            let sql = dop_sql(&comment(number, self.number));
            let rows = self.connection.rows(&sql);
            let rows = rows.map_err(|cause| query("read how a query was executed", &cause))?;
            execution.dop =
                rows.first().and_then(|row| whole(row, 0)).and_then(|dop| u32::try_from(dop).ok());
        }
        let Some(text) = self.texts.get(&number).filter(|_| self.shows_plans).cloned() else { return Ok(()) };
        let shown = self.showplan(&text).map_err(|why| failed("show a plan", why))?;
        let plan = shown.map(|xml| plan::read(&xml)).transpose();
        execution.plan = plan.map_err(|why| tpch::failed(ENGINE, number, why))?;
        Ok(())
    }
}

/// A connection that reports the times of queries.
fn connect(server: &Server, number: u32) -> Result<Connection, EngineError> {
    let mut connection = server.connect(&format!("threadwise session {number}"))?;
    run(&mut connection, "turn on times of queries", "SET STATISTICS TIME ON")?;
    Ok(connection)
}

/// Beginning of a query's text.
fn comment(query: u8, session: u32) -> String {
    format!("/* threadwise {} of stream {session} */", tpch::name(query))
}

/// The degree of parallelism of the last execution of a text with this beginning.
fn dop_sql(begins: &str) -> String {
    crate::client::statements::fill(include_str!("../../sql/last_dop.sql"), &[("begins", begins)])
}

impl Session for QuerySession {
    /// Reads every table once, so that it is in the server's cache if that is large enough.
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.number == 0 && !self.is_cold {
            for table in &TABLES {
                let sql =
                    format!("SELECT COUNT_BIG(*) FROM [{}].[{}] WITH (INDEX(0))", self.schema, table.name);
                run(&mut self.connection, "read the tables once", &sql)?;
            }
        }
        Ok(())
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Err(failed("work for a window", "a session of tpch only executes queries"))
    }

    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        self.follow()?;
        let client_cpu_ns = clock::thread_cpu_ns();
        let mut slice =
            tpch::run(ENGINE, window, queries, |query, started_ns| self.execute(query, started_ns, window))?;
        let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(client_cpu_ns);
        slice.counters.insert("client_cpu_ns".to_owned(), client_cpu_ns);
        slice.cpu_ns = slice.queries.iter().filter_map(|one| one.cpu_ns).sum();
        for execution in &mut slice.queries {
            self.complete(execution)?;
        }
        Ok(slice)
    }
}
