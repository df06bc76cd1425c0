//! A session of `logical-io`: one connection, its table, and the loop in the server or in the client.
//!
//! This backend counts its blocks itself, in counts that it has not yet flushed to the statistics
//! (`pg_stat_get_xact_blocks_fetched`): exact for a table that others read too, and available at once. A
//! backend flushes only when it is idle outside of a transaction (`pgstat_report_stat` in
//! `PostgresMain`), so that the counts only grow inside one call, and inside one transaction of a client.

use postgres::{Client, Statement};
use std::cell::RefCell;
use std::sync::Arc;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::worker::{StepResult, closed_loop};
use threadwise_engine::workloads::logical_io::{self, LogicalIo, Step, Steps, smaller_data};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock};
use threadwise_study::{Counters, SessionSlice};

use super::Work;
use crate::Server;
use crate::error::{failed, query};
use crate::workload::backend::{Part, Usage};
use crate::workload::shared::{Shared, backend_pid, flush_statistics, session_seed, settle};
use crate::workload::sql::{execute, fill, prepare};
use crate::workload::tables::procedure;

/// Pending block counts of a table and its index.
const PENDING: &str = "SELECT pg_stat_get_xact_blocks_fetched($1) + pg_stat_get_xact_blocks_fetched($2), \
                       pg_stat_get_xact_blocks_hit($1) + pg_stat_get_xact_blocks_hit($2)";

/// A connection with its workload.
pub(in crate::workload) struct IoSession {
    io: LogicalIo,
    place: Loop,
    steps: Steps,
    /// Name of the table with its schema.
    table: String,
    version_num: u32,
    /// The backend, if it is within reach.
    pid: Option<u32>,
    session: u32,
    /// Of the treatment.
    tables: u64,
    shared: Arc<Shared>,
    connection: Connection,
}

/// The connection and its prepared statements.
struct Connection {
    client: Client,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    call: Statement,
    read: Statement,
    update: Statement,
    pending: Statement,
    /// The table and its index.
    oids: [u32; 2],
}

/// Blocks accessed, and those of them that were in the cache.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    fetched: i64,
    hit: i64,
}

impl IoSession {
    /// Connects, sets the parameters of planning, and checks the plans.
    ///
    /// # Errors
    /// An error of the server, or a plan that does not read each row by the index.
    pub(in crate::workload) fn open(
        server: &Server,
        request: &SessionRequest,
        workload: &Work,
        suffix: &str,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let mut client = server.connect(&format!("threadwise session {}", request.session))?;
        // Nothing here needs durability; a commit does not wait for a disk.
        settle(&mut client, server.version_num(), "off")?;
        let pid = backend_pid(&mut client)?;
        let name = workload.table(request.session, suffix);
        let table = format!("{}.{name}", server.schema());
        let values = [("schema", server.schema()), ("table", name.as_str())];
        let read_sql = fill(include_str!("read.sql"), &values);
        let update_sql = fill(include_str!("update.sql"), &values);
        let plan = check_plan(&mut client, &read_sql, &name)?;
        if workload.io.updates() {
            check_plan(&mut client, &update_sql, &name)?;
        }
        if workload.io.think_time_us > 0 && workload.place == Loop::Server {
            shared.note("pauses of the server's loop are rounded up to whole milliseconds (pg_sleep)".into());
        }
        shared.note(format!("plan of a step: {}", plan.replace(&name, "blocks")));
        let seed = session_seed(request.seed, request.session) as f64 / (1_i64 << 61) as f64 - 1.0;
        client
            .query_one("SELECT setseed($1)", &[&seed])
            .map_err(|cause| query("seed the server's generator", &cause))?;
        let connection = Connection {
            call: prepare(&mut client, &call_sql(&table))?,
            read: prepare(&mut client, &read_sql)?,
            update: prepare(&mut client, &update_sql)?,
            pending: prepare(&mut client, PENDING)?,
            oids: oids(&mut client, &table)?,
            _at_end: server.cancel_at_end(&client)?,
            client,
        };
        shared.add_backend(request.session, pid);
        Ok(Self {
            io: workload.io,
            place: workload.place,
            steps: Steps::new(workload.io, request.seed, request.session),
            table,
            version_num: server.version_num(),
            pid: server.is_local().then_some(pid),
            session: request.session,
            tables: if workload.io.shared { 1 } else { u64::from(request.sessions) },
            shared,
            connection,
        })
    }

    /// Reads everything by the step's own statement; gives the number of blocks that were not in the cache.
    fn read_all(&mut self) -> Result<i64, EngineError> {
        let connection = &mut self.connection;
        connection.begin()?;
        let first = connection.blocks()?;
        let whole = Step { first: 0, update: false };
        connection.read(whole, self.io.blocks).map_err(|error| match error {
            EngineError::WrongAnswer(why) => EngineError::WrongAnswer(format!("{}: {why}", self.table)),
            other => other,
        })?;
        let last = connection.blocks()?;
        connection.end()?;
        Ok((last.fetched - last.hit) - (first.fetched - first.hit))
    }

    fn server_slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let io = &self.io;
        let server_clock = self.shared.clock();
        let range = |blocks: u64| blocks.saturating_sub(io.work_unit).saturating_add(1) as i32;
        let (first_used, first_ns) = (Usage::read(self.pid), clock::thread_cpu_ns());
        let row = self
            .connection
            .client
            .query_one(
                &self.connection.call,
                &[
                    &server_clock.server_time(window.start_ns),
                    &server_clock.server_time(window.end_ns),
                    &(io.work_unit as i32),
                    &range(io.blocks),
                    &io.hot_pct,
                    &range(io.hot_blocks),
                    &io.update_pct,
                    &(io.think_time_us as f64 / 1e6),
                ],
            )
            .map_err(|cause| query(format!("work on {}", self.table), &cause))?;
        let used = Usage::read(self.pid).since(first_used);
        let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(first_ns);
        let read = |column: usize| whole_number(&row, column);
        let (steps, wrong, calls, fetched, hit) = (read(0)?, read(1)?, read(2)?, read(3)?, read(4)?);
        if wrong > 0 {
            let why = format!(
                "{wrong} of {calls} steps on {} gave another number of rows or another sum",
                self.table
            );
            return Err(EngineError::WrongAnswer(why));
        }
        let part = Part { inside: steps, whole: calls };
        let mut slice = SessionSlice {
            steps,
            rows: steps * io.work_unit,
            answers_checked: steps,
            counters: Counters::from([
                ("logical_reads".to_owned(), part.of(fetched)),
                ("physical_reads".to_owned(), part.of(fetched.saturating_sub(hit))),
                ("client_cpu_ns".to_owned(), part.of(client_cpu_ns)),
            ]),
            ..SessionSlice::default()
        };
        used.tell(&mut slice, part);
        Ok(slice)
    }

    fn client_slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { io, steps, connection, pid, .. } = self;
        let (count, think_ns) = (io.work_unit, io.think_time_ns());
        // In a transaction the backend keeps its counts (see the module's description).
        connection.begin()?;
        let shared_connection = RefCell::new(&mut *connection);
        let mut slice = closed_loop(
            window,
            || {
                let (step, mut connection) = (steps.draw(), shared_connection.borrow_mut());
                match step.update {
                    true => connection.update(step, count)?,
                    false => connection.read(step, count)?,
                }
                Ok(StepResult { rows: count, checked: 1, wrong: 0, think_ns })
            },
            || {
                let blocks = shared_connection.borrow_mut().blocks()?;
                let [cpu, wait, voluntary, involuntary] = Usage::read(*pid).as_counters();
                let physical = (blocks.fetched - blocks.hit).max(0) as u64;
                let logical = ("logical_reads", blocks.fetched.max(0) as u64);
                Ok([logical, ("physical_reads", physical), cpu, wait, voluntary, involuntary])
            },
        )?;
        connection.end()?;
        Usage::swap_sides(&mut slice, Usage::read(*pid).wait_ns.is_some());
        Ok(slice)
    }
}

impl Session for IoSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        self.read_all()?;
        let not_cached = self.read_all()?;
        if not_cached == 0 {
            // Otherwise the first slice's statistics would include the warm-up's reads.
            return flush_statistics(&mut self.connection.client, self.version_num);
        }
        let row = self
            .connection
            .client
            .query_one(
                "SELECT current_setting('shared_buffers'), pg_size_bytes(current_setting('shared_buffers'))",
                &[],
            )
            .map_err(|cause| query("read shared_buffers", &cause))?;
        let buffers = row.try_get::<_, i64>(1).map_or(0, i64::unsigned_abs);
        let why = format!(
            "not cached: the second pass over {} read {not_cached} of {} blocks; shared_buffers is {}: make it \
             larger, or {}",
            self.table,
            self.io.blocks,
            row.try_get::<_, String>(0).unwrap_or_default(),
            smaller_data(buffers, self.tables)
        );
        Err(failed("keep its data in the cache", why))
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match self.place {
            Loop::Server => self.server_slice(window),
            Loop::Client => self.client_slice(window),
        };
        self.shared.rests(self.session);
        let slice = slice?;
        flush_statistics(&mut self.connection.client, self.version_num)?;
        Ok(slice)
    }
}

impl Connection {
    fn begin(&mut self) -> Result<(), EngineError> {
        execute(&mut self.client, "begin a transaction", "BEGIN")
    }

    fn end(&mut self) -> Result<(), EngineError> {
        execute(&mut self.client, "commit", "COMMIT")
    }

    fn blocks(&mut self) -> Result<Blocks, EngineError> {
        let action = "read its block counts";
        let row = self
            .client
            .query_one(&self.pending, &[&self.oids[0], &self.oids[1]])
            .map_err(|cause| query(action, &cause))?;
        let read = |column: usize| row.try_get(column).map_err(|cause| query(action, &cause));
        Ok(Blocks { fetched: read(0)?, hit: read(1)? })
    }

    fn read(&mut self, step: Step, count: u64) -> Result<(), EngineError> {
        let (first, last) = ends(step, count);
        let action = || format!("read keys {first} to {last}");
        let row =
            self.client.query_one(&self.read, &[&first, &last]).map_err(|cause| query(action(), &cause))?;
        let rows: i64 = row.try_get(0).map_err(|cause| query(action(), &cause))?;
        let sum: Option<i64> = row.try_get(1).map_err(|cause| query(action(), &cause))?;
        let wanted = logical_io::range_sum(step.first, count);
        if (rows, sum) == (count as i64, Some(wanted)) {
            return Ok(());
        }
        let sum = sum.map_or("no sum".into(), |sum| format!("sum {sum}"));
        Err(EngineError::WrongAnswer(format!(
            "keys {first} to {last} gave {rows} rows and {sum} instead of {count} rows and sum {wanted}"
        )))
    }

    /// An update and its commit, in two round trips; the next transaction begins in the second.
    fn update(&mut self, step: Step, count: u64) -> Result<(), EngineError> {
        let (first, last) = ends(step, count);
        let changed = self
            .client
            .execute(&self.update, &[&first, &last])
            .map_err(|cause| query(format!("update keys {first} to {last}"), &cause))?;
        if changed != count {
            let why =
                format!("the update of keys {first} to {last} changed {changed} rows instead of {count}");
            return Err(EngineError::WrongAnswer(why));
        }
        execute(&mut self.client, "commit an update", "COMMIT; BEGIN")
    }
}

/// First and last key; the workload's tables have at most 2^28 rows.
fn ends(step: Step, count: u64) -> (i32, i32) {
    (step.first as i32, (step.first + count - 1) as i32)
}

fn call_sql(table: &str) -> String {
    format!("CALL {}($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, 0, 0)", procedure(table))
}

fn whole_number(row: &postgres::Row, column: usize) -> Result<u64, EngineError> {
    let number: i64 = row.try_get(column).map_err(|cause| query("read the result of a call", &cause))?;
    u64::try_from(number).map_err(|cause| failed("read the result of a call", cause))
}

fn oids(client: &mut Client, table: &str) -> Result<[u32; 2], EngineError> {
    let action = "find its table and index";
    let sql = format!("SELECT '{table}'::regclass::oid, '{table}_by_k'::regclass::oid");
    let row = client.query_one(&sql, &[]).map_err(|cause| query(action, &cause))?;
    let read = |column: usize| row.try_get(column).map_err(|cause| query(action, &cause));
    Ok([read(0)?, read(1)?])
}

/// Refuses a plan that would answer from the index alone, sort blocks first, or read the whole table;
/// gives the plan in one line.
fn check_plan(client: &mut Client, sql: &str, table: &str) -> Result<String, EngineError> {
    let action = "plan a step";
    let last = sql.trim_end();
    let explain = format!(
        "PREPARE threadwise_step(integer, integer) AS {last};\n\
         EXPLAIN (COSTS OFF) EXECUTE threadwise_step(0, 0);\n\
         DEALLOCATE threadwise_step"
    );
    let messages = client.simple_query(&explain).map_err(|cause| query(action, &cause))?;
    let lines: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => row.get(0).map(|line| line.trim().to_owned()),
            _ => None,
        })
        .collect();
    let scan = format!("->  Index Scan using {table}_by_k on {table}");
    match lines.as_slice() {
        [_, second, third] if *second == scan && third.starts_with("Index Cond: ((k >= ") => {
            Ok(lines.join(" "))
        }
        _ => Err(failed(action, format!("the plan is '{}' instead of '{scan}'", lines.join("; ")))),
    }
}
