//! One session: its loop inside the server, or in the client.
//!
//! A loop inside the server counts what ended inside the window. CPU time and switches are read over the whole
//! call, re-warm included, and scaled by rows in the window over rows of the call. They are those of the server's
//! thread; the client's CPU time is a counter.

use mysql::prelude::Queryable;
use mysql::{Conn, Params, Statement, Value};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use threadwise_engine::at_end::AtEnd;
use threadwise_engine::clock::{sleep_until_ns, thread_cpu_ns};
use threadwise_engine::servers::clock::ServerClock;
use threadwise_engine::worker::{StepResult, closed_loop, fixed_work};
use threadwise_engine::workloads::insert::{Insert, Key, RandomKeys, first_key, key_check};
use threadwise_engine::workloads::logical_io::{LogicalIo, Step, Steps, range_sum};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, Session, Window};
use threadwise_study::SessionSlice;

use super::call::Call;
use super::statements::{Names, names};
use super::thread::Backend;
use super::{Spec, Work, insert, logical_io};
use crate::error::{failed, query};

/// What a session reports besides its slices.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Rows of the last call, in the window and outside of it.
    pub call_rows: AtomicU64,
    /// Rows inserted so far.
    pub inserted: AtomicI64,
    /// Sum of `key_check` over their keys.
    pub key_sum: AtomicI64,
    /// Number of the last slice that is over, plus 1.
    pub done: AtomicU64,
}

/// An open session.
pub(super) struct MariadbSession {
    pub connection: Conn,
    /// Cancels its statement in the server.
    _at_end: AtEnd,
    pub schema: String,
    pub suffix: String,
    pub workload: Work,
    pub number: u32,
    /// Number of the table, if sessions have their own.
    pub table: u32,
    pub backend: Option<Backend>,
    pub clock: ServerClock,
    pub tally: Arc<Tally>,
    pub seed: u64,
    /// Seeds of the server's generator, one draw a slice.
    pub random: ChaCha8Rng,
    /// Number of the next row that this session inserts.
    pub next_row: u64,
    pub steps: Option<Steps>,
    pub keys: RandomKeys,
}

/// Parameters of a session.
pub(super) struct Opened {
    pub connection: Conn,
    pub at_end: AtEnd,
    pub backend: Option<Backend>,
    pub clock: ServerClock,
    pub tally: Arc<Tally>,
}

impl MariadbSession {
    pub(super) fn new(
        opened: Opened,
        names: &Names<'_>,
        workload: Work,
        (number, table): (u32, u32),
        seed: u64,
    ) -> Self {
        let Opened { connection, at_end, backend, clock, tally } = opened;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(number));
        let steps = match workload.spec {
            Spec::LogicalIo(spec) => Some(Steps::new(spec, seed, number)),
            Spec::Insert(_) => None,
        };
        Self {
            connection,
            _at_end: at_end,
            schema: names.schema.to_owned(),
            suffix: names.suffix.to_owned(),
            workload,
            number,
            table,
            backend,
            clock,
            tally,
            seed,
            random,
            next_row: 0,
            steps,
            keys: RandomKeys::new(seed, u64::from(number) + 1),
        }
    }

    /// A loop over blocks inside the server, read-only or updating.
    fn server_blocks(&mut self, spec: LogicalIo, window: &Window) -> Result<SessionSlice, EngineError> {
        let (start_us, end_us) = self.server_window(window)?;
        // Below the generator's modulus (mysys/my_rnd.c).
        let mut seed = || i64::from(self.random.next_u32() >> 3);
        let seeds = (seed(), seed());
        let names = names(&self.schema, &self.suffix);
        let sql = format!("CALL {}(?, ?, ?, ?)", names.read_blocks(self.table));
        let (before, client) = (Backend::usage_of(self.backend), thread_cpu_ns());
        let row: Option<(u64, u64, u64, i64)> = self
            .connection
            .exec_first(sql, (start_us, end_us, seeds.0, seeds.1))
            .map_err(|cause| query("run its loop", &cause))?;
        let client = thread_cpu_ns() - client;
        let (steps, calls, wrong, _) = row.ok_or_else(|| failed("run its loop", "it returned no result"))?;
        if wrong > 0 {
            return Err(EngineError::WrongAnswer(format!(
                "{wrong} of {calls} steps on {} gave another number of rows or another sum",
                names.blocks(self.table)
            )));
        }
        let call = Call { steps, calls, rows_per_step: spec.work_unit };
        self.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        Ok(call.slice(before, Backend::usage_of(self.backend), client))
    }

    /// A loop of inserts inside the server.
    fn server_rows(&mut self, spec: Insert, window: &Window) -> Result<SessionSlice, EngineError> {
        let (start_us, end_us) = self.server_window(window)?;
        let wanted = spec.rows_per_session.unwrap_or(0);
        if wanted > 0 {
            sleep_until_ns(window.start_ns);
        }
        let names = names(&self.schema, &self.suffix);
        let sql = format!("CALL {}(?, ?, ?, ?, ?, ?)", names.insert_rows());
        let next = match spec.key {
            Key::Sequential => first_key(self.number) + self.next_row as i64,
            Key::Random => self.next_row as i64,
        };
        let stream = format!("{:x}/{}/", self.seed, self.number);
        let (before, client) = (Backend::usage_of(self.backend), thread_cpu_ns());
        let row: Option<(u64, u64, i64, i64)> = self
            .connection
            .exec_first(sql, (self.number + 1, next, start_us, end_us, wanted, stream))
            .map_err(|cause| query("run its loop", &cause))?;
        let client = thread_cpu_ns() - client;
        let (steps, calls, key_sum, ended_us) =
            row.ok_or_else(|| failed("run its loop", "it returned no result"))?;
        let call = Call { steps, calls, rows_per_step: spec.rows_per_tx };
        self.next_row += call.all_rows();
        self.tell(&call, key_sum);
        let mut slice = call.slice(before, Backend::usage_of(self.backend), client);
        if wanted > 0 {
            if call.all_rows() < wanted || ended_us > end_us {
                let why = format!("{} of {wanted} rows were inserted when the time was up", call.all_rows());
                return Err(failed("insert its rows", why));
            }
            let ended_ns = self.clock.monotonic_ns_of(ended_us);
            slice.finished_ns = Some(ended_ns.saturating_sub(window.start_ns).max(1));
        }
        Ok(slice)
    }

    fn tell(&self, call: &Call, key_sum: i64) {
        self.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        self.tally.inserted.fetch_add(call.all_rows() as i64, Ordering::Relaxed);
        self.tally.key_sum.fetch_add(key_sum, Ordering::Relaxed);
    }

    fn server_window(&mut self, window: &Window) -> Result<(i64, i64), EngineError> {
        let connection = &mut self.connection;
        self.clock.refresh(self.backend.is_some(), &mut || now(connection))?;
        Ok((self.clock.to_server_us(window.start_ns), self.clock.to_server_us(window.end_ns)))
    }

    /// The client's loop: one statement a step.
    fn client(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let (before, client) = (Backend::usage_of(self.backend), thread_cpu_ns());
        let (mut slice, call) = match self.workload.spec {
            Spec::LogicalIo(spec) => self.client_blocks(spec, window)?,
            Spec::Insert(spec) => self.client_rows(spec, window)?,
        };
        let client = thread_cpu_ns() - client;
        call.give_to(&mut slice, before, Backend::usage_of(self.backend), client);
        Ok(slice)
    }

    fn client_blocks(
        &mut self,
        spec: LogicalIo,
        window: &Window,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let names = names(&self.schema, &self.suffix);
        let connection = &mut self.connection;
        let read = prepare(connection, &logical_io::read_sql(&names, self.table))?;
        let update = match spec.updates() {
            true => Some(prepare(connection, &logical_io::update_sql(&names, self.table))?),
            false => None,
        };
        let Some(steps) = self.steps.as_mut() else {
            return Err(failed("step", "this session has no steps"));
        };
        let mut calls = 0;
        let slice = closed_loop(
            window,
            || {
                calls += 1;
                let step = steps.draw();
                match &update {
                    Some(update) if step.update => change(connection, update, step, spec.work_unit)?,
                    _ => visit(connection, &read, step, spec.work_unit)?,
                }
                let think_ns = spec.think_time_ns();
                Ok(StepResult { rows: spec.work_unit, checked: 1, wrong: 0, think_ns })
            },
            || Ok([]),
        )?;
        let call = Call { steps: slice.steps, calls, rows_per_step: spec.work_unit };
        self.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        Ok((slice, call))
    }

    fn client_rows(&mut self, spec: Insert, window: &Window) -> Result<(SessionSlice, Call), EngineError> {
        let names = names(&self.schema, &self.suffix);
        let connection = &mut self.connection;
        let statement = prepare(connection, &insert::insert_sql(&names, &spec))?;
        let (owner, first) = (i64::from(self.number) + 1, first_key(self.number));
        let (next_row, keys) = (&mut self.next_row, &mut self.keys);
        let (mut calls, mut key_sum) = (0, 0);
        let step = || {
            let mut values = Vec::with_capacity(3 * spec.rows_per_tx as usize);
            for _ in 0..spec.rows_per_tx {
                let key = match spec.key {
                    Key::Sequential => first + *next_row as i64,
                    Key::Random => keys.next().unwrap_or_default(),
                };
                *next_row += 1;
                key_sum += key_check(key);
                values.extend([Value::from(key), Value::from(owner), Value::from(key)]);
            }
            connection
                .exec_drop(&statement, Params::Positional(values))
                .map_err(|cause| query("insert rows", &cause))?;
            calls += 1;
            Ok(StepResult { rows: spec.rows_per_tx, checked: 0, wrong: 0, think_ns: 0 })
        };
        let slice = match spec.rows_per_session {
            Some(rows) => fixed_work(window, rows, step, || Ok([]))?,
            None => closed_loop(window, step, || Ok([]))?,
        };
        let call = Call { steps: slice.steps, calls, rows_per_step: spec.rows_per_tx };
        self.tell(&call, key_sum);
        Ok((slice, call))
    }
}

impl Session for MariadbSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        let names = names(&self.schema, &self.suffix);
        match self.workload.spec {
            Spec::LogicalIo(spec) => logical_io::warm(&mut self.connection, &names, self.table, spec.blocks),
            Spec::Insert(_) => insert::held(&mut self.connection, &names).map(drop),
        }
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match (self.workload.place, self.workload.spec) {
            (Loop::Client, _) => self.client(window),
            (Loop::Server, Spec::LogicalIo(spec)) => self.server_blocks(spec, window),
            (Loop::Server, Spec::Insert(spec)) => self.server_rows(spec, window),
        };
        // Windows that measure a warm-up have the number of a later slice.
        if window.piece_ns.is_none() {
            self.tally.done.store(window.sequence + 1, Ordering::Relaxed);
        }
        slice
    }
}

/// The clock that the loops read, CLOCK_REALTIME in microseconds.
///
/// # Errors
/// An error of the server.
pub(super) fn now(connection: &mut Conn) -> Result<Option<i64>, EngineError> {
    const NOW: &str = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))";
    connection.query_first(NOW).map_err(|cause| query("measure the server's clock", &cause))
}

fn prepare(connection: &mut Conn, sql: &str) -> Result<Statement, EngineError> {
    // The library caches it: from the second slice on this costs nothing.
    connection.prep(sql).map_err(|cause| query("prepare a step", &cause))
}

fn visit(connection: &mut Conn, read: &Statement, step: Step, count: u64) -> Result<(), EngineError> {
    let last = step.first + count - 1;
    let answer: Option<(u64, Option<i64>)> = connection
        .exec_first(read, (step.first, last))
        .map_err(|cause| query(format!("read keys {} to {last}", step.first), &cause))?;
    let expected = Some((count, Some(range_sum(step.first, count))));
    if answer == expected {
        return Ok(());
    }
    let why = format!("keys {} to {last} gave {answer:?} instead of {expected:?}", step.first);
    Err(EngineError::WrongAnswer(why))
}

fn change(connection: &mut Conn, update: &Statement, step: Step, count: u64) -> Result<(), EngineError> {
    let last = step.first + count - 1;
    connection
        .exec_drop(update, (step.first, last))
        .map_err(|cause| query(format!("update keys {} to {last}", step.first), &cause))?;
    let changed = connection.affected_rows();
    if changed == count {
        return Ok(());
    }
    let why =
        format!("the update of keys {} to {last} changed {changed} rows instead of {count}", step.first);
    Err(EngineError::WrongAnswer(why))
}
