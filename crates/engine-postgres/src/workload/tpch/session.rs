//! A stream of queries on one connection.
//!
//! A query is prepared (parsed and analysed), planned by `EXPLAIN EXECUTE`, which does not execute it and leaves the
//! plan with the prepared statement, and executed from that plan: a statement without parameters has one generic plan
//! (`choose_custom_plan` in PostgreSQL's `utils/cache/plancache.c`). So planning is timed separately and nothing is
//! done twice. Answers come by the simple protocol, as text.
//!
//! The executed plan, with the workers launched, comes as a notice of `auto_explain` (`log_analyze` without
//! `log_timing`). The queries took 1.01 times as long with it (geometric means of 1.011 at scale factor 0.1 and 1.005
//! at 1, on 2 busy logical CPUs), in every treatment alike.

use postgres::error::SqlState;
use postgres::{Client, SimpleQueryMessage};
use std::sync::{Arc, Mutex};
use threadwise_engine::{EngineError, clock};
use threadwise_engine_sql::tpch::{Notes, QueryFault, QueryStream, Setup, Texts, time_left};
use threadwise_engine_sql::{Opened, Usage};
use threadwise_study::{Answer, QueryExecution};

use super::plan;
use super::settings::{self, Workers};
use crate::Server;
use crate::backend::{flush_statistics, lock, opened};
use crate::error::{ENGINE, query, server_message};
use crate::workload::cpu::ServerCpu;

/// Name of the prepared statement.
const STATEMENT: &str = "threadwise_query";
const DEALLOCATE: &str = "DEALLOCATE threadwise_query";

/// First version in which hash tables that workers share are in `min_dynamic_shared_memory`.
const SHARED_IN_MEMORY: u32 = 140_000;

/// First version in which `auto_explain` can send its plans to the client alone (`log_level`).
const AUTO_EXPLAIN: u32 = 120_000;

/// Settings of `auto_explain`; others are off by default.
const OBSERVE: &str = "LOAD 'auto_explain'; SET auto_explain.log_level = notice; \
    SET auto_explain.log_format = text; SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off; \
    SET auto_explain.log_buffers = off; SET auto_explain.log_verbose = off; \
    SET auto_explain.log_nested_statements = off; SET auto_explain.sample_rate = 1; \
    SET auto_explain.log_min_duration = 0; SET client_min_messages = notice";

/// Notices of the server since they were last cleared.
type Notices = Arc<Mutex<Vec<String>>>;

/// A stream's connection.
pub struct PostgresStream {
    client: Client,
    server: Server,
    setup: Arc<Setup>,
    notices: Notices,
    /// Whether executed plans are reported.
    observes: bool,
    /// Process of the leader, if it is within reach.
    leader: Option<u32>,
    /// For the only session on its server; with several, workers cannot be assigned to their leaders.
    cpu: Option<ServerCpu>,
}

impl PostgresStream {
    /// Opens a connection and sets it up.
    ///
    /// # Errors
    /// An error of the server, or a degree for which the server has too few processes.
    pub(super) fn open(
        server: &Server,
        setup: &Arc<Setup>,
        number: u32,
    ) -> Result<Opened<Self>, EngineError> {
        let notices = Notices::default();
        let heard = Arc::clone(&notices);
        let hear = Arc::new(move |text: &str| lock(&heard).push(text.to_owned()));
        let mut client = server.connect_hearing(&format!("threadwise session {number}"), hear)?;
        let workers = Workers::of(setup.dop, setup.streams(), setup.options.hold_plan == Some(true));
        setup.notes.add(settings::settle(&mut client, server, setup, workers)?);
        let observes = observe(&mut client, server, &setup.notes)?;
        if setup.options.hold_plan == Some(true) {
            setup.notes.add(format!(
                "plans held: parallel_setup_cost 100, parallel_tuple_cost and least sizes 0; workers planned for a \
                 scan: {}, of which {} may run",
                workers.planned, workers.most
            ));
        }
        if settings::is_ours(server, setup) && server.version_num() < SHARED_IN_MEMORY {
            setup.notes.add(
                "PostgreSQL before 14: hash tables that workers share lie in files of the data directory, which the \
                 kernel may write out",
            );
        }
        let session = opened(server, client)?;
        let leader = session.backend.as_ref().ok().map(|(pid, _)| *pid);
        let cpu = ServerCpu::of_server(server, setup.dop > 1).filter(|_| setup.sessions == 1);
        let (server, setup) = (server.clone(), Arc::clone(setup));
        Ok(session.map(|client| Self { client, server, setup, notices, observes, leader, cpu }))
    }

    /// Reads every table and index once: into PostgreSQL's cache if all fits, else into the kernel's.
    fn read_all(&mut self, reads: &[String]) -> Result<(), EngineError> {
        let fail = |cause: postgres::Error| query("read the tables once", &cause);
        let sql = "SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
                   WHERE e.extname = 'pg_prewarm'";
        let found = self.client.query_opt(sql, &[]).map_err(fail)?;
        let Some(found) = found else {
            self.setup.notes.add(
                "pg_prewarm is missing: tables are read once before the queries, indexes by the first queries",
            );
            return reads.iter().try_for_each(|sql| self.client.batch_execute(sql).map_err(fail));
        };
        let prewarm: String = found.try_get(0).map_err(fail)?;
        let sql = format!(
            "WITH sized AS (SELECT oid, pg_relation_size(oid) AS bytes FROM pg_class \
               WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'i')), \
             whole AS (SELECT sum(bytes) <= pg_size_bytes(current_setting('shared_buffers')) AS fits FROM sized) \
             SELECT bool_and(fits), sum({prewarm}.pg_prewarm(oid, CASE WHEN fits THEN 'buffer' ELSE 'read' END)) \
             FROM sized, whole WHERE bytes > 0"
        );
        let row = self.client.query_one(&sql, &[&self.setup.schema]).map_err(fail)?;
        let fits: Option<bool> = row.try_get(0).map_err(fail)?;
        if fits == Some(false) {
            self.setup.notes.add(
                "the data does not fit into shared_buffers: it was read into the kernel's cache, from which \
                 PostgreSQL reads it again",
            );
        }
        Ok(())
    }

    /// Executes a statement without reading rows.
    fn simply(&mut self, sql: &str) -> Result<(), QueryFault> {
        self.client.batch_execute(sql).map_err(|cause| fault(&cause))
    }

    /// Parses, analyses and plans a query. Gives the plan; its planning time includes all three.
    fn plan(&mut self, text: &str) -> Result<plan::Plan, QueryFault> {
        let sql = format!("PREPARE {STATEMENT} AS {text}");
        let began_ns = clock::monotonic_ns();
        self.simply(&sql)?;
        let prepared_ns = clock::monotonic_ns() - began_ns;
        let sql = format!("EXPLAIN (FORMAT JSON, SUMMARY ON) EXECUTE {STATEMENT}");
        let messages = self.client.simple_query(&sql).map_err(|cause| fault(&cause))?;
        let json: Vec<String> = rows(messages).into_iter().flatten().flatten().collect();
        let mut plan = plan::read(&json.join("\n"))?;
        plan.planning_ns += prepared_ns;
        Ok(plan)
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.cpu?.read_ns(&[self.leader?])
    }
}

impl QueryStream for PostgresStream {
    /// Brings tables and indexes into memory, and the catalogue entries for planning into the backend.
    fn warm(&mut self, reads: &[String], texts: &Texts) -> Result<(), EngineError> {
        if !reads.is_empty() {
            self.read_all(reads)?;
        }
        for (query, text) in texts {
            let planned = self.plan(text).and_then(|_| self.simply(DEALLOCATE));
            planned.map_err(|fault| fault.error(ENGINE, *query))?;
        }
        // Reads of the warm-up belong to no query.
        flush_statistics(&mut self.client, self.server.version_num())
    }

    fn used(&mut self) -> Usage {
        let used = Usage::of_thread(self.leader.map(|pid| (pid, pid)));
        Usage { cpu_ns: self.cpu_ns().unwrap_or(used.cpu_ns), ..used }
    }

    fn execute(&mut self, text: &str, until_ns: u64) -> Result<QueryExecution, QueryFault> {
        let left_ms = time_left(until_ns).as_millis().min(i32::MAX as u128);
        self.simply(&format!("SET statement_timeout = {left_ms}"))?;
        let plan = self.plan(text)?;
        lock(&self.notices).clear();
        let cpu_before_ns = self.cpu_ns();
        let began_ns = clock::monotonic_ns();
        let messages = self.client.simple_query(&format!("EXECUTE {STATEMENT}"));
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        let messages = messages.map_err(|cause| fault(&cause))?;
        let cpu_ns = self.cpu_ns().zip(cpu_before_ns).map(|(now_ns, then_ns)| now_ns.saturating_sub(then_ns));
        let launched = lock(&self.notices).iter().map(|text| plan::workers_launched(text)).max();
        let dop = match plan.workers_planned {
            0 => Some(1),
            _ => launched.filter(|_| self.observes).map(|workers| workers + 1),
        };
        self.simply(DEALLOCATE)?;
        Ok(QueryExecution {
            elapsed_ns,
            planning_ns: Some(plan.planning_ns),
            cpu_ns,
            dop,
            plan: Some(plan.text),
            answer: Some(rows(messages)),
            ..QueryExecution::default()
        })
    }

    /// Blocks that the queries read and spilt are then counted in their slice.
    fn end(&mut self, _: &mut [QueryExecution], _: &Texts) -> Result<(), EngineError> {
        flush_statistics(&mut self.client, self.server.version_num())
    }
}

/// Turns on reports of executed plans; a note if the server cannot.
fn observe(client: &mut Client, server: &Server, notes: &Notes) -> Result<bool, EngineError> {
    let unknown = |why: &str| notes.add(format!("observed degree of parallelism unknown: {why}"));
    if server.version_num() < AUTO_EXPLAIN {
        unknown("before PostgreSQL 12 auto_explain writes to the server's log alone");
        return Ok(false);
    }
    match client.batch_execute(OBSERVE) {
        Ok(()) => Ok(true),
        Err(cause) if cause.code().is_some() => {
            unknown(&format!("auto_explain cannot be loaded: {}", server_message(&cause)));
            Ok(false)
        }
        Err(cause) => Err(query("load auto_explain", &cause)),
    }
}

/// Rows as text.
fn rows(messages: Vec<SimpleQueryMessage>) -> Answer {
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// Why a query has no answer; at the time limit the server cancels it.
fn fault(cause: &postgres::Error) -> QueryFault {
    let why = server_message(cause);
    match cause.code() == Some(&SqlState::QUERY_CANCELED) {
        true => QueryFault::Cancelled(why),
        false => QueryFault::Failed(why),
    }
}
