//! A session of `insert`: transactions in a loop in the server, or one statement a transaction from the client.
//!
//! The client's step is one prepared INSERT outside of any explicit transaction: one transaction in one
//! round trip. Explicit BEGIN and COMMIT would add two round trips, or planning at each step.

use postgres::types::ToSql;
use postgres::{Client, Statement};
use std::sync::Arc;
use std::time::SystemTime;
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::worker::{StepResult, closed_loop};
use threadwise_engine::workloads::insert::{Key, RandomKeys, first_key, key_check};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, Session, SessionRequest, Window, clock, latency};
use threadwise_study::{Counters, SessionSlice};

use super::statements::step_sql;
use super::{Work, check_durability, table};
use crate::Server;
use crate::error::{failed, query};
use crate::workload::backend::{Part, Usage};
use crate::workload::shared::{Shared, Tally, backend_pid, flush_statistics, session_seed, settle};
use crate::workload::sql::prepare;
use crate::workload::tables::procedure;

/// A connection with its workload.
pub(in crate::workload) struct InsertSession {
    workload: Work,
    /// Name of the table with its schema.
    table: String,
    /// Marks rows as this session's.
    mark: i32,
    /// Seed of the server's random keys.
    seed: i64,
    /// The next ascending key, or the number of the next random one.
    next_key: i64,
    keys: RandomKeys,
    /// Rows that the client's loop inserted and has not reported yet.
    inserted: Tally,
    version_num: u32,
    /// The backend, if it is within reach.
    pid: Option<u32>,
    session: u32,
    shared: Arc<Shared>,
    client: Client,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    call: Statement,
    step: Statement,
}

impl InsertSession {
    /// Connects and prepares.
    ///
    /// # Errors
    /// An error of the server, or a durability that it does not provide.
    pub(in crate::workload) fn open(
        server: &Server,
        request: &SessionRequest,
        workload: &Work,
        suffix: &str,
        shared: Arc<Shared>,
    ) -> Result<Self, EngineError> {
        let mut client = server.connect(&format!("threadwise session {}", request.session))?;
        settle(&mut client, server.version_num(), workload.synchronous_commit())?;
        check_durability(&mut client, &workload.insert)?;
        let pid = backend_pid(&mut client)?;
        let name = table(suffix);
        let full_name = format!("{}.{name}", server.schema());
        let mark = request.session as i32 + 1;
        let call_sql = format!("CALL {}($1, $2, $3, $4, $5, $6, 0, 0, 0, NULL, 0, 0)", procedure(&full_name));
        let call = prepare(&mut client, &call_sql)?;
        let step = prepare(&mut client, &step_sql(server.schema(), &name, &workload.insert, mark))?;
        shared.add_backend(request.session, pid);
        if workload.place == Loop::Client {
            shared.note("a step is one prepared INSERT, its own transaction, in one round trip".into());
        }
        Ok(Self {
            _at_end: server.cancel_at_end(&client)?,
            table: full_name,
            mark,
            seed: session_seed(request.seed, request.session),
            next_key: match workload.insert.key {
                Key::Sequential => first_key(request.session),
                Key::Random => 0,
            },
            keys: RandomKeys::new(request.seed, u64::from(request.session) + 1),
            inserted: Tally::default(),
            version_num: server.version_num(),
            pid: server.is_local().then_some(pid),
            session: request.session,
            shared,
            workload: workload.clone(),
            client,
            call,
            step,
        })
    }

    fn server_slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let rows_wanted = self.workload.insert.rows_per_session;
        if rows_wanted.is_some() {
            clock::sleep_until_ns(window.start_ns);
        }
        let server_clock = self.shared.clock();
        let (first_used, first_ns) = (Usage::read(self.pid), clock::thread_cpu_ns());
        let row = self
            .client
            .query_one(
                &self.call,
                &[
                    &server_clock.server_time(window.start_ns),
                    &server_clock.server_time(window.end_ns),
                    &rows_wanted.map_or(i64::MAX, |rows| rows as i64),
                    &self.mark,
                    &self.seed,
                    &self.next_key,
                ],
            )
            .map_err(|cause| query(format!("insert into {}", self.table), &cause))?;
        let used = Usage::read(self.pid).since(first_used);
        let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(first_ns);
        let call = Call::read(&row).map_err(|cause| query("read the result of a call", &cause))?;
        self.next_key = call.next_key;
        self.shared.add_rows(call.inserted);
        let mut slice = call.slice(self.workload.insert.rows_per_tx, used, client_cpu_ns);
        if let Some(wanted) = rows_wanted {
            let finished_ns = server_clock.monotonic_ns(call.finished_at);
            finish(&mut slice, wanted, call.inserted.rows as u64, finished_ns, window, &self.table)?;
        }
        Ok(slice)
    }

    fn client_slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        match self.workload.insert.rows_per_session {
            Some(rows) => self.client_fixed_work(window, rows),
            None => {
                let (pid, rows) = (self.pid, self.workload.insert.rows_per_tx);
                let mut slice = closed_loop(
                    window,
                    || {
                        self.transaction()?;
                        Ok(StepResult { rows, checked: 1, wrong: 0, think_ns: 0 })
                    },
                    || Ok(Usage::read(pid).as_counters()),
                )?;
                Usage::swap_sides(&mut slice, Usage::read(pid).wait_ns.is_some());
                Ok(slice)
            }
        }
    }

    /// Inserts a number of rows from the window's start on, however long that takes.
    fn client_fixed_work(&mut self, window: &Window, rows: u64) -> Result<SessionSlice, EngineError> {
        let latencies = |cause: latency::LatencyError| failed("record latencies", cause);
        let mut histogram = latency::histogram().map_err(latencies)?;
        clock::sleep_until_ns(window.start_ns);
        let (first_used, first_ns) = (Usage::read(self.pid), clock::thread_cpu_ns());
        let per_tx = self.workload.insert.rows_per_tx;
        let (mut slice, mut began_ns) = (SessionSlice::default(), clock::monotonic_ns());
        while slice.rows < rows && began_ns <= window.end_ns {
            self.transaction()?;
            let ended_ns = clock::monotonic_ns();
            histogram.saturating_record(ended_ns - began_ns);
            began_ns = ended_ns;
            slice.steps += 1;
            slice.rows += per_tx;
        }
        slice.answers_checked = slice.steps;
        let client_cpu_ns = clock::thread_cpu_ns().saturating_sub(first_ns);
        slice.counters.insert("client_cpu_ns".to_owned(), client_cpu_ns);
        Usage::read(self.pid).since(first_used).tell(&mut slice, Part::ALL);
        slice.latency = latency::to_bytes(&histogram).map_err(latencies)?;
        let done = slice.rows;
        finish(&mut slice, rows, done, began_ns, window, &self.table)?;
        Ok(slice)
    }

    /// One transaction from the client.
    fn transaction(&mut self) -> Result<(), EngineError> {
        let per_tx = self.workload.insert.rows_per_tx;
        let keys: Vec<i64> = match self.workload.insert.key {
            Key::Sequential => (self.next_key..).take(per_tx as usize).collect(),
            Key::Random => self.keys.by_ref().take(per_tx as usize).collect(),
        };
        self.next_key += per_tx as i64;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            keys.iter().map(|key| -> &(dyn ToSql + Sync) { key }).collect();
        let inserted = self
            .client
            .execute(&self.step, &parameters)
            .map_err(|cause| query(format!("insert into {}", self.table), &cause))?;
        if inserted != per_tx {
            return Err(EngineError::WrongAnswer(format!(
                "an INSERT of {per_tx} rows into {} inserted {inserted}",
                self.table
            )));
        }
        let key_sum = keys.into_iter().map(key_check).sum();
        self.inserted = self.inserted.plus(Tally { rows: per_tx as i64, key_sum });
        Ok(())
    }
}

impl Session for InsertSession {
    /// Reads the table by its index, which brings both into the cache.
    fn warm(&mut self) -> Result<(), EngineError> {
        let sql = format!("SELECT count(c3) FROM {}", self.table);
        self.client.query_one(&sql, &[]).map_err(|cause| query("read its table", &cause))?;
        // Otherwise the first slice's statistics would include the warm-up's reads.
        flush_statistics(&mut self.client, self.version_num)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match self.workload.place {
            Loop::Server => self.server_slice(window),
            Loop::Client => self.client_slice(window),
        };
        self.shared.rests(self.session);
        let slice = slice?;
        self.shared.add_rows(std::mem::take(&mut self.inserted));
        flush_statistics(&mut self.client, self.version_num)?;
        Ok(slice)
    }
}

/// Result of a call of the procedure.
struct Call {
    next_key: i64,
    steps: i64,
    inserted: Tally,
    finished_at: SystemTime,
    fetched: i64,
    hit: i64,
}

impl Call {
    fn read(row: &postgres::Row) -> Result<Self, postgres::Error> {
        Ok(Self {
            next_key: row.try_get(0)?,
            steps: row.try_get(1)?,
            inserted: Tally { rows: row.try_get(2)?, key_sum: row.try_get(3)? },
            finished_at: row.try_get(4)?,
            fetched: row.try_get(5)?,
            hit: row.try_get(6)?,
        })
    }

    fn slice(&self, rows_per_tx: u64, used: Usage, client_cpu_ns: u64) -> SessionSlice {
        let steps = self.steps.max(0) as u64;
        let rows = steps * rows_per_tx;
        let part = Part { inside: rows, whole: self.inserted.rows.max(0) as u64 };
        let count = |blocks: i64| part.of(blocks.max(0) as u64);
        let mut slice = SessionSlice {
            steps,
            rows,
            answers_checked: steps,
            counters: Counters::from([
                ("logical_reads".to_owned(), count(self.fetched)),
                // Up to version 15 a new block counts as one that was not in the cache.
                ("blocks_not_hit_or_new".to_owned(), count(self.fetched - self.hit)),
                ("client_cpu_ns".to_owned(), part.of(client_cpu_ns)),
            ]),
            ..SessionSlice::default()
        };
        used.tell(&mut slice, part);
        slice
    }
}

/// Completes a slice of a fixed amount of work.
fn finish(
    slice: &mut SessionSlice,
    wanted: u64,
    done: u64,
    finished_ns: u64,
    window: &Window,
    table: &str,
) -> Result<(), EngineError> {
    if done < wanted {
        let seconds = window.end_ns.saturating_sub(window.start_ns) as f64 / 1e9;
        let why = format!(
            "only {done} were inserted after {seconds:.2} s; lower rows_per_session, or allow more time (slice_ms)"
        );
        return Err(failed(format!("insert {wanted} rows into {table}"), why));
    }
    slice.finished_ns = Some(finished_ns.saturating_sub(window.start_ns).max(1));
    Ok(())
}
