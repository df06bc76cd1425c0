//! One stream of queries on SQLite: a connection with a cache that holds all of the data.
//!
//! Planning is `sqlite3_prepare` (which compiles the query), execution every `sqlite3_step` up to the last row.
//! A query that reaches its time limit is interrupted
//! (c3ref/interrupt.html).

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Statement};
use std::collections::BTreeMap;
use std::sync::Arc;
use threadwise_study::{Answer, Counters, QueryExecution, SessionSlice};

use super::super::error::{NAME, failed};
use super::super::ffi::take_cache_counters;
use super::super::files::PAGE_BYTES;
use super::super::settings::{expect, refuse_shared_cache_group, set};
use super::data::{self, Facts};
use super::spec::Spec;
use super::watch::Watch;
use crate::workloads::tpch::tables::TABLES;
use crate::workloads::tpch::{self, query_text, too_long};
use crate::{EngineError, Session, SessionRequest, Window, clock};

/// Pages of the cache beyond those of the file: what sorting takes.
const MORE_PAGES: u64 = 1 << 16;

/// A connection with its stream's queries.
pub(super) struct QuerySession {
    connection: Connection,
    texts: BTreeMap<u8, String>,
    watch: Arc<Watch>,
}

/// Marks a session as done with a slice when it is dropped.
struct Resting<'a>(&'a Watch);

impl Drop for Resting<'_> {
    fn drop(&mut self) {
        self.0.rests();
    }
}

impl QuerySession {
    /// Opens the file with a cache for all of it.
    ///
    /// # Errors
    /// An error of SQLite, or a missing query.
    pub(super) fn open(
        request: &SessionRequest,
        spec: &Spec,
        facts: &Facts,
        watch: Arc<Watch>,
    ) -> Result<Self, EngineError> {
        let (folder, stream) = (&request.load.data_dir, request.session);
        let text = |&query: &u8| Ok((query, query_text(NAME, folder, stream, query)?));
        let texts = spec.options.queries.iter().map(text).collect::<Result<_, EngineError>>()?;
        let connection = data::open(&facts.file)?;
        refuse_shared_cache_group(&connection)?;
        expect(&connection, "page_size", PAGE_BYTES as i64)?;
        expect(&connection, "threads", 0_i64)?;
        set(&connection, "mmap_size", "0", 0_i64)?;
        set(&connection, "temp_store", "MEMORY", 2_i64)?;
        let pages = i64::from(i32::try_from(facts.bytes / PAGE_BYTES + MORE_PAGES).unwrap_or(i32::MAX));
        set(&connection, "cache_size", &pages.to_string(), pages)?;
        watch.add(stream, connection.get_interrupt_handle());
        Ok(Self { connection, texts, watch })
    }

    fn execute(&self, query: u8, started_ns: u64, window: &Window) -> Result<QueryExecution, EngineError> {
        let fail = |cause: rusqlite::Error| explain(query, &cause, window);
        let text = self
            .texts
            .get(&query)
            .ok_or_else(|| tpch::failed(NAME, query, "it is not one of the requested queries (queries)"))?;
        // Counts from before belong to no query.
        self.misses()?;
        let began_ns = clock::monotonic_ns();
        let mut statement = self.connection.prepare(text).map_err(fail)?;
        let (planned_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
        let answer = rows(&mut statement).map_err(fail)?;
        let (ended_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns().saturating_sub(cpu_ns));
        drop(statement);
        let counters = Counters::from([("read_bytes".to_owned(), self.misses()? * PAGE_BYTES)]);
        Ok(QueryExecution {
            query,
            started_ns,
            elapsed_ns: ended_ns - planned_ns,
            planning_ns: Some(planned_ns - began_ns),
            cpu_ns: Some(cpu_ns),
            dop: Some(1),
            rows: answer.len() as u64,
            plan: Some(self.plan(text).map_err(fail)?),
            counters,
            answer: Some(answer),
        })
    }

    fn misses(&self) -> Result<u64, EngineError> {
        take_cache_counters(&self.connection)
            .map(|counters| counters.misses)
            .map_err(|code| failed("read its cache counters", format!("result code {code}")))
    }

    /// The output of EXPLAIN QUERY PLAN, two spaces a level (eqp.html).
    fn plan(&self, text: &str) -> Result<String, rusqlite::Error> {
        let mut statement = self.connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
        let mut rows = statement.query([])?;
        let (mut depths, mut plan) = (BTreeMap::new(), String::new());
        while let Some(row) = rows.next()? {
            let (id, parent, detail): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get("detail")?);
            let depth = depths.get(&parent).map_or(0, |above: &usize| above + 1);
            depths.insert(id, depth);
            let line: String = format!("{}{detail}", "  ".repeat(depth)).chars().take(200).collect();
            plan.push_str(&line);
            plan.push('\n');
        }
        Ok(plan)
    }

    fn read_all(&self) -> Result<(), rusqlite::Error> {
        for table in &TABLES {
            // The last column: every row is read to its end.
            let Some((column, _)) = table.columns.last() else { continue };
            let sql = format!("SELECT sum(length({column})) FROM {} NOT INDEXED", table.name);
            self.connection.query_row(&sql, [], |_| Ok(()))?;
        }
        let mut statement =
            self.connection.prepare("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index'")?;
        let indexes = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for index in indexes.collect::<Result<Vec<(String, String)>, _>>()? {
            let sql = format!("SELECT count(*) FROM {} INDEXED BY {}", index.1, index.0);
            self.connection.query_row(&sql, [], |_| Ok(()))?;
        }
        Ok(())
    }
}

impl Session for QuerySession {
    fn warm(&mut self) -> Result<(), EngineError> {
        self.read_all().map_err(|cause| failed("read the tables once", cause))?;
        for (query, text) in &self.texts {
            self.connection.prepare(text).map_err(|cause| tpch::failed(NAME, *query, cause.to_string()))?;
        }
        Ok(())
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Err(failed("work for a window", "a session of tpch only executes queries"))
    }

    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        let _resting = Resting(&self.watch);
        let run_queue = clock::RunQueueWait::of_this_thread();
        let (cpu_ns, switches, wait_ns) =
            (clock::thread_cpu_ns(), clock::thread_switches(), run_queue.read_ns());
        let mut slice =
            tpch::run(NAME, window, queries, |query, started_ns| self.execute(query, started_ns, window))?;
        slice.cpu_ns = clock::thread_cpu_ns().saturating_sub(cpu_ns);
        let now = clock::thread_switches();
        slice.voluntary_switches = now.voluntary.saturating_sub(switches.voluntary);
        slice.involuntary_switches = now.involuntary.saturating_sub(switches.involuntary);
        slice.run_queue_wait_ns =
            run_queue.read_ns().zip(wait_ns).map(|(now_ns, then_ns)| now_ns.saturating_sub(then_ns));
        Ok(slice)
    }
}

fn rows(statement: &mut Statement<'_>) -> Result<Answer, rusqlite::Error> {
    let columns = statement.column_count();
    let (mut rows, mut answer) = (statement.query([])?, Answer::new());
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|at| Ok(text_of(row.get_ref(at)?)));
        answer.push(values.collect::<Result<_, rusqlite::Error>>()?);
    }
    Ok(answer)
}

/// A value as text: a number with all its digits and without exponent.
fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// The error of a query, or that it was interrupted at the time limit.
fn explain(query: u8, cause: &rusqlite::Error, window: &Window) -> EngineError {
    match cause.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => too_long(NAME, query, window),
        Some(ErrorCode::OutOfMemory) => tpch::failed(NAME, query, "out of memory: choose a smaller scale"),
        _ => tpch::failed(NAME, query, cause.to_string()),
    }
}
