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
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::workloads::tpch::{self, query_text, too_long};
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock};
use threadwise_study::{Answer, QueryExecution, SessionSlice};

use super::super::shared::{Resting, Shared, backend_pid, flush_statistics, give, lock, usage};
use super::settings::{self, Workers};
use super::{ServerCpu, Work, plan, schema};
use crate::Server;
use crate::error::{ENGINE, failed, query, server_message};

/// Name of the prepared statement.
const STATEMENT: &str = "threadwise_query";

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

/// A session of `tpch`.
pub(crate) struct QuerySession {
    client: Client,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    server: Server,
    schema: String,
    notices: Notices,
    /// Whether executed plans are reported.
    observes: bool,
    texts: BTreeMap<u8, String>,
    number: u32,
    /// Process of the leader, if it is within reach.
    leader: Option<u32>,
    /// For the only session on its server; with several, workers cannot be assigned to their leaders.
    cpu: Option<ServerCpu>,
    shared: Arc<Shared>,
}

/// Parameters of a stream.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Stream<'a> {
    pub(in super::super) workload: &'a Work,
    pub(in super::super) suffix: &'a str,
    /// Requested degree of parallelism.
    pub(in super::super) dop: u32,
    /// Where CPU time can be read.
    pub(in super::super) cpu: Option<ServerCpu>,
}

impl QuerySession {
    /// Opens a connection and sets it up.
    ///
    /// # Errors
    /// An error of the server, a missing query, or a degree for which the server has too few processes.
    pub(in super::super) fn open(
        server: &Server,
        request: &SessionRequest,
        stream_of: &Stream<'_>,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let Stream { workload, suffix, dop, cpu } = *stream_of;
        let (options, number) = (&workload.options, request.session);
        let stream = |&query: &u8| Ok((query, query_text(ENGINE, &request.load.data_dir, number, query)?));
        let texts =
            options.queries.iter().map(stream).collect::<Result<BTreeMap<u8, String>, EngineError>>()?;
        let notices = Notices::default();
        let heard = Arc::clone(&notices);
        let hear = Arc::new(move |text: &str| lock(&heard).push(text.to_owned()));
        let mut client = server.connect_hearing(&format!("threadwise session {number}"), hear)?;
        let (ours, schema) = (!suffix.is_empty(), schema(server, suffix).to_owned());
        let workers = Workers::of(dop, workload.streams(request.sessions), options.hold_plan == Some(true));
        settings::expect_room(&mut client, workers)?;
        settings::settle(&mut client, &settings::session_settings(options, &schema, workers, ours), options)?;
        let jit = settings::settle_jit(&mut client, options.jit, ours)?;
        let observes = observe(&mut client, server, &shared)?;
        let pid = backend_pid(&mut client)?;
        shared.add_backend(number, pid);
        tell(&mut client, &shared, jit, workers, options.hold_plan == Some(true))?;
        let leader = server.is_local().then_some(pid);
        Ok(Self {
            _at_end: server.cancel_at_end(&client)?,
            client,
            server: server.clone(),
            schema,
            notices,
            observes,
            texts,
            number,
            leader,
            cpu: cpu.filter(|_| request.sessions == 1),
            shared,
        })
    }

    /// Reads every table and index once: into PostgreSQL's cache if all fits, else into the kernel's.
    fn read_all(&mut self) -> Result<(), EngineError> {
        let fail = |cause: postgres::Error| query("read the tables once", &cause);
        let sql = "SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
                   WHERE e.extname = 'pg_prewarm'";
        let found = self.client.query_opt(sql, &[]).map_err(fail)?;
        let Some(found) = found else {
            self.shared.note(
                "pg_prewarm is missing: tables are read once before the queries, indexes by the first queries".into(),
            );
            for table in &threadwise_engine::workloads::tpch::tables::TABLES {
                let sql = format!("SELECT count(*) FROM {}.{}", self.schema, table.name);
                self.client.batch_execute(&sql).map_err(fail)?;
            }
            return Ok(());
        };
        let prewarm: String = found.try_get(0).map_err(fail)?;
        let sql = format!(
            "WITH sized AS (SELECT oid, pg_relation_size(oid) AS bytes FROM pg_class \
               WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'i')), \
             whole AS (SELECT sum(bytes) <= pg_size_bytes(current_setting('shared_buffers')) AS fits FROM sized) \
             SELECT bool_and(fits), sum({prewarm}.pg_prewarm(oid, CASE WHEN fits THEN 'buffer' ELSE 'read' END)) \
             FROM sized, whole WHERE bytes > 0"
        );
        let row = self.client.query_one(&sql, &[&self.schema]).map_err(fail)?;
        let fits: Option<bool> = row.try_get(0).map_err(fail)?;
        if fits == Some(false) {
            self.shared.note(
                "the data does not fit into shared_buffers: it was read into the kernel's cache, from which \
                 PostgreSQL reads it again"
                    .into(),
            );
        }
        Ok(())
    }

    /// Executes a statement without reading rows.
    fn simply(&mut self, query: u8, sql: &str, window: &Window) -> Result<(), EngineError> {
        self.client.batch_execute(sql).map_err(|cause| explain(query, &cause, window))
    }

    /// Parses, analyses and plans a query. Gives the plan; its planning time includes all three.
    fn plan(&mut self, query: u8, window: &Window) -> Result<plan::Plan, EngineError> {
        let text = self
            .texts
            .get(&query)
            .ok_or_else(|| tpch::failed(ENGINE, query, "it is not one of the requested queries (queries)"))?;
        let sql = format!("PREPARE {STATEMENT} AS {text}");
        let began_ns = clock::monotonic_ns();
        self.simply(query, &sql, window)?;
        let prepared_ns = clock::monotonic_ns() - began_ns;
        let sql = format!("EXPLAIN (FORMAT JSON, SUMMARY ON) EXECUTE {STATEMENT}");
        let messages = self.client.simple_query(&sql).map_err(|cause| explain(query, &cause, window))?;
        let json: Vec<String> = rows(messages).into_iter().flatten().flatten().collect();
        let mut plan = plan::read(&json.join("\n")).map_err(|why| tpch::failed(ENGINE, query, why))?;
        plan.planning_ns += prepared_ns;
        Ok(plan)
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.cpu?.read_ns(&[self.leader?])
    }

    /// Executes a query and deallocates it.
    fn execute(
        &mut self,
        number: u8,
        started_ns: u64,
        window: &Window,
    ) -> Result<(QueryExecution, Answer), EngineError> {
        let left_ms =
            (window.end_ns.saturating_sub(clock::monotonic_ns()) / 1_000_000).clamp(1, i32::MAX as u64);
        self.simply(number, &format!("SET statement_timeout = {left_ms}"), window)?;
        let plan = self.plan(number, window)?;
        lock(&self.notices).clear();
        let cpu_before_ns = self.cpu_ns();
        let began_ns = clock::monotonic_ns();
        let messages = self.client.simple_query(&format!("EXECUTE {STATEMENT}"));
        let elapsed_ns = clock::monotonic_ns() - began_ns;
        let messages = messages.map_err(|cause| explain(number, &cause, window))?;
        let cpu_ns = self.cpu_ns().zip(cpu_before_ns).map(|(now_ns, then_ns)| now_ns.saturating_sub(then_ns));
        let launched = lock(&self.notices).iter().map(|text| plan::workers_launched(text)).max();
        let dop = match plan.workers_planned {
            0 => Some(1),
            _ => launched.filter(|_| self.observes).map(|workers| workers + 1),
        };
        self.simply(number, &format!("DEALLOCATE {STATEMENT}"), window)?;
        let answer = rows(messages);
        let execution = QueryExecution {
            query: number,
            started_ns,
            elapsed_ns,
            planning_ns: Some(plan.planning_ns),
            cpu_ns,
            dop,
            rows: answer.len() as u64,
            plan: Some(plan.text),
            ..QueryExecution::default()
        };
        Ok((execution, answer))
    }
}

impl Session for QuerySession {
    /// Brings tables and indexes into memory, and the catalogue entries for planning into the backend.
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.number == 0 {
            self.read_all()?;
        }
        let window = Window { sequence: 0, start_ns: 0, end_ns: u64::MAX, piece_ns: None };
        for query in self.texts.keys().copied().collect::<Vec<u8>>() {
            self.plan(query, &window)?;
            self.simply(query, &format!("DEALLOCATE {STATEMENT}"), &window)?;
        }
        // Reads of the warm-up belong to no query.
        flush_statistics(&mut self.client, self.server.version_num())
    }

    fn slice(&mut self, _: &Window) -> Result<SessionSlice, EngineError> {
        Err(failed("work for a window", "a session of tpch only executes queries"))
    }

    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        let shared = Arc::clone(&self.shared);
        let _resting = Resting(&shared, self.number);
        let (client_cpu_ns, cpu_before_ns) = (clock::thread_cpu_ns(), self.cpu_ns());
        let before = usage(self.leader);
        let mut slice = tpch::run(ENGINE, window, queries, |query, started_ns| {
            let (mut execution, answer) = self.execute(query, started_ns, window)?;
            execution.answer = Some(answer);
            Ok(execution)
        })?;
        give(&mut slice, client_cpu_ns, [before, usage(self.leader)]);
        if let Some((now_ns, then_ns)) = self.cpu_ns().zip(cpu_before_ns) {
            slice.cpu_ns = now_ns.saturating_sub(then_ns);
        }
        // Blocks that the queries read and spilt are then counted in their slice.
        flush_statistics(&mut self.client, self.server.version_num())?;
        Ok(slice)
    }
}

/// Turns on reports of executed plans; a note if the server cannot.
fn observe(client: &mut Client, server: &Server, shared: &Shared) -> Result<bool, EngineError> {
    let unknown = |why: &str| shared.note(format!("observed degree of parallelism unknown: {why}"));
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

/// Adds notes about this session's settings.
fn tell(
    client: &mut Client,
    shared: &Shared,
    jit: bool,
    workers: Workers,
    holds: bool,
) -> Result<(), EngineError> {
    let sql = "SELECT current_setting('shared_buffers'), current_setting('effective_cache_size'), \
               current_setting('work_mem')";
    let row = client.query_one(sql, &[]);
    let (buffers, cache, work_mem): (String, String, String) = row
        .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
        .map_err(|cause| query("read its settings", &cause))?;
    shared.note(format!(
        "shared_buffers {buffers}, effective_cache_size {cache}, work_mem {work_mem} for each sort and hash table of \
         each process; jit {}",
        if jit { "on" } else { "off" }
    ));
    if holds {
        shared.note(format!(
            "plans held: parallel_setup_cost 100, parallel_tuple_cost and least sizes 0; workers planned for a scan: \
             {}, of which {} may run",
            workers.planned, workers.most
        ));
    }
    Ok(())
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

/// The error of a query; at the time limit the server has cancelled it.
fn explain(query: u8, cause: &postgres::Error, window: &Window) -> EngineError {
    let is_over = clock::monotonic_ns().saturating_add(1_000_000) >= window.end_ns;
    match cause.code() {
        Some(code) if *code == SqlState::QUERY_CANCELED && is_over => too_long(ENGINE, query, window),
        _ => tpch::failed(ENGINE, query, server_message(cause)),
    }
}
