//! One session: its loop inside the server, or in the client.
//!
//! A loop inside the server counts what ended inside the window. What the server's session used is read before
//! and after the whole call, re-warm included, and scaled by rows in the window over rows of the call. The client's
//! CPU time is a counter.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns, thread_cpu_ns};
use threadwise_engine::servers::clock::ServerClock;
use threadwise_engine::worker::{StepResult, closed_loop, fixed_work};
use threadwise_engine::workloads::insert::{Key, RandomKeys, first_key, key_check};
use threadwise_engine::workloads::logical_io::{LogicalIo, Step, Steps, range_sum};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, Session, Window};
use threadwise_study::SessionSlice;
use tiberius::{Row, ToSql};

use super::insert::Draws;
use super::usage::{Call, Usage};
use super::{insert, logical_io};
use crate::client::connect::Connection;
use crate::client::error::query;
use crate::client::statements::{Names, names, whole};
use crate::failed;
use crate::work::{Inserts, Spec, Work};

/// Length of the call in which a session's statements are compiled.
const WARM_NS: u64 = 5_000_000;

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

/// Parameters of a session.
pub(super) struct Opened {
    pub connection: Connection,
    pub near: bool,
    pub clock: ServerClock,
    pub tally: Arc<Tally>,
}

/// An open session.
pub(super) struct SqlserverSession {
    opened: Opened,
    schema: String,
    suffix: String,
    workload: Work,
    number: u32,
    /// Number of the table, if sessions have their own.
    table: u32,
    /// Seeds of the server's generator, one draw a slice.
    random: ChaCha8Rng,
    /// Number of the next row that this session inserts.
    next_row: u64,
    draws: Draws,
    steps: Option<Steps>,
    keys: RandomKeys,
}

impl SqlserverSession {
    pub(super) fn new(
        opened: Opened,
        names: &Names<'_>,
        workload: Work,
        (number, table): (u32, u32),
        seed: u64,
    ) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(number));
        let steps = match workload.spec {
            Spec::LogicalIo(spec) => Some(Steps::new(spec, seed, number)),
            Spec::Insert(_) => None,
        };
        Self {
            opened,
            schema: names.schema.to_owned(),
            suffix: names.suffix.to_owned(),
            workload,
            number,
            table,
            random,
            next_row: 0,
            draws: Draws::new(seed, number),
            steps,
            keys: RandomKeys::new(seed, u64::from(number) + 1),
        }
    }

    /// Calls a loop, and gives its row, what its session used before and after, and the client's CPU time.
    fn call(&mut self, sql: &str, parameters: &[&dyn ToSql]) -> Result<(Row, [Usage; 2], u64), EngineError> {
        let connection = &mut self.opened.connection;
        let before = Usage::read(connection)?;
        let client = thread_cpu_ns();
        let rows = connection.query(sql, parameters).map_err(|cause| query("run its loop", &cause))?;
        let client = thread_cpu_ns() - client;
        let after = Usage::read(connection)?;
        let row = rows.into_iter().next().ok_or_else(|| failed("run its loop", "it returned no result"))?;
        Ok((row, [before, after], client))
    }

    /// A loop over blocks inside the server, read-only or updating.
    fn server_blocks(&mut self, spec: LogicalIo, window: &Window) -> Result<SessionSlice, EngineError> {
        let (start_us, end_us) = self.server_window(window)?;
        let seed = i64::from(self.random.next_u32() >> 1) % 2_147_483_646 + 1;
        let (read_blocks, blocks) = {
            let names = names(&self.schema, &self.suffix);
            (names.read_blocks(self.table), names.blocks(self.table))
        };
        let sql = format!("EXEC {read_blocks} @P1, @P2, @P3");
        let (row, [before, after], client) = self.call(&sql, &[&start_us, &end_us, &seed])?;
        let [steps, calls, wrong] = counts(&row)?;
        if wrong > 0 {
            return Err(EngineError::WrongAnswer(format!(
                "{wrong} of {calls} steps on {blocks} gave another number of rows or another sum"
            )));
        }
        let call = Call { steps, calls, rows_per_step: spec.work_unit };
        self.opened.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        Ok(call.slice(before, after, client))
    }

    /// A loop of inserts inside the server.
    fn server_rows(&mut self, workload: Inserts, window: &Window) -> Result<SessionSlice, EngineError> {
        let (start_us, end_us) = self.server_window(window)?;
        let wanted = workload.spec.rows_per_session.unwrap_or(0);
        if wanted > 0 {
            sleep_until_ns(window.start_ns);
        }
        let names = names(&self.schema, &self.suffix);
        let sql = format!("EXEC {} @P1, @P2, @P3, @P4, @P5, @P6, @P7", names.insert_rows());
        let next = match workload.spec.key {
            Key::Sequential => first_key(self.number) + self.next_row as i64,
            Key::Random => self.next_row as i64,
        };
        let owner = i32::try_from(self.number + 1).unwrap_or(i32::MAX);
        let (Draws { x, y }, rows) = (self.draws, i64::try_from(wanted).unwrap_or(i64::MAX));
        let (row, [before, after], client) =
            self.call(&sql, &[&owner, &next, &x, &y, &start_us, &end_us, &rows])?;
        let [steps, calls, _] = counts(&row)?;
        let number = |at| whole(&row, at).ok_or_else(|| failed("run its loop", "it returned no number"));
        self.draws = Draws { x: number(3)?, y: number(4)? };
        let call = Call { steps, calls, rows_per_step: workload.rows_per_step() };
        self.next_row += call.all_rows();
        self.tell(&call, number(2)?);
        let mut slice = call.slice(before, after, client);
        if wanted > 0 {
            let ended_us = number(5)?;
            if call.all_rows() < wanted || ended_us > end_us {
                let why = format!("{} of {wanted} rows were inserted when the time was up", call.all_rows());
                return Err(failed("insert its rows", why));
            }
            slice.finished_ns = Some(u64::try_from((ended_us - start_us) * 1000).unwrap_or(0).max(1));
        }
        Ok(slice)
    }

    fn tell(&self, call: &Call, key_sum: i64) {
        let tally = &self.opened.tally;
        tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        tally.inserted.fetch_add(call.all_rows() as i64, Ordering::Relaxed);
        tally.key_sum.fetch_add(key_sum, Ordering::Relaxed);
    }

    fn server_window(&mut self, window: &Window) -> Result<(i64, i64), EngineError> {
        let Opened { connection, clock, near, .. } = &mut self.opened;
        clock.refresh(*near, &mut || now(connection))?;
        Ok((clock.to_server_us(window.start_ns), clock.to_server_us(window.end_ns)))
    }

    /// The client's loop: one statement a step.
    fn client(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let before = Usage::read(&mut self.opened.connection)?;
        let client = thread_cpu_ns();
        let (mut slice, call) = match self.workload.spec {
            Spec::LogicalIo(spec) => self.client_blocks(spec, window)?,
            Spec::Insert(inserts) => self.client_rows(inserts, window)?,
        };
        let client = thread_cpu_ns() - client;
        call.give_to(&mut slice, before, Usage::read(&mut self.opened.connection)?, client);
        Ok(slice)
    }

    fn client_blocks(
        &mut self,
        spec: LogicalIo,
        window: &Window,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let names = names(&self.schema, &self.suffix);
        let (read, update) =
            (logical_io::read_sql(&names, self.table), logical_io::update_sql(&names, self.table));
        let connection = &mut self.opened.connection;
        let Some(steps) = self.steps.as_mut() else {
            return Err(failed("step", "this session has no steps"));
        };
        let mut calls = 0;
        let step = || {
            calls += 1;
            let step = steps.draw();
            match step.update {
                true => change(connection, &update, step, spec.work_unit)?,
                false => visit(connection, &read, step, spec.work_unit)?,
            }
            Ok(StepResult { rows: spec.work_unit, checked: 1, wrong: 0, think_ns: spec.think_time_ns() })
        };
        let slice = closed_loop(window, step, || Ok([]))?;
        let call = Call { steps: slice.steps, calls, rows_per_step: spec.work_unit };
        self.opened.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        Ok((slice, call))
    }

    fn client_rows(
        &mut self,
        workload: Inserts,
        window: &Window,
    ) -> Result<(SessionSlice, Call), EngineError> {
        let sql = insert::client_sql(&names(&self.schema, &self.suffix), &workload);
        let connection = &mut self.opened.connection;
        let owner = i32::try_from(self.number + 1).unwrap_or(i32::MAX);
        let first = first_key(self.number);
        let (next_row, keys) = (&mut self.next_row, &mut self.keys);
        let (mut calls, mut key_sum) = (0, 0);
        let step = || {
            let mut drawn = Vec::with_capacity(workload.rows_per_step() as usize);
            for _ in 0..workload.rows_per_step() {
                let key = match workload.spec.key {
                    Key::Sequential => first + *next_row as i64,
                    Key::Random => keys.next().unwrap_or_default(),
                };
                *next_row += 1;
                key_sum += key_check(key);
                drawn.push(key);
            }
            let mut parameters: Vec<&dyn ToSql> = vec![&owner];
            parameters.extend(drawn.iter().map(|key| key as &dyn ToSql));
            connection.change(&sql, &parameters).map_err(|cause| query("insert rows", &cause))?;
            calls += 1;
            Ok(StepResult { rows: workload.rows_per_step(), checked: 0, wrong: 0, think_ns: 0 })
        };
        let slice = match workload.spec.rows_per_session {
            Some(rows) => fixed_work(window, rows, step, || Ok([]))?,
            None => closed_loop(window, step, || Ok([]))?,
        };
        let call = Call { steps: slice.steps, calls, rows_per_step: workload.rows_per_step() };
        self.tell(&call, key_sum);
        Ok((slice, call))
    }
}

impl Session for SqlserverSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        let names = names(&self.schema, &self.suffix);
        let connection = &mut self.opened.connection;
        match self.workload.spec {
            Spec::LogicalIo(spec) => logical_io::warm(connection, &names, self.table, spec.blocks)?,
            Spec::Insert(inserts) => {
                insert::held(connection, &names)?;
                if inserts.spec.rows_per_session.is_some() {
                    return Ok(());
                }
            }
        }
        // Statements are compiled when they are first executed, which may take longer than a slice.
        let start_ns = monotonic_ns();
        let window = Window { sequence: 0, start_ns, end_ns: start_ns + WARM_NS, piece_ns: Some(WARM_NS) };
        self.slice(&window).map(drop)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match (self.workload.place, self.workload.spec) {
            (Loop::Client, _) => self.client(window),
            (Loop::Server, Spec::LogicalIo(spec)) => self.server_blocks(spec, window),
            (Loop::Server, Spec::Insert(inserts)) => self.server_rows(inserts, window),
        };
        // Windows that measure a warm-up have the number of a later slice.
        if window.piece_ns.is_none() {
            self.opened.tally.done.store(window.sequence + 1, Ordering::Relaxed);
        }
        slice
    }
}

/// The clock that the loops read, microseconds since 2020.
///
/// # Errors
/// An error of the server.
pub(super) fn now(connection: &mut Connection) -> Result<Option<i64>, EngineError> {
    let rows = connection.rows(include_str!("../../sql/now.sql"));
    let rows = rows.map_err(|cause| query("measure the server's clock", &cause))?;
    Ok(rows.first().and_then(|row| whole(row, 0)))
}

/// The first three numbers of a loop's result, which are counts.
fn counts(row: &Row) -> Result<[u64; 3], EngineError> {
    let count = |at| whole(row, at).and_then(|number| u64::try_from(number).ok());
    match (count(0), count(1), count(2)) {
        (Some(first), Some(second), Some(third)) => Ok([first, second, third]),
        _ => Err(failed("run its loop", "it returned no numbers")),
    }
}

fn bounds(step: Step, count: u64) -> Result<(i32, i32), EngineError> {
    let key = |key| i32::try_from(key).map_err(|_| failed("step", "a key is beyond the column's range"));
    Ok((key(step.first)?, key(step.first + count - 1)?))
}

fn visit(connection: &mut Connection, read: &str, step: Step, count: u64) -> Result<(), EngineError> {
    let (first, last) = bounds(step, count)?;
    let rows = connection
        .query(read, &[&first, &last])
        .map_err(|cause| query(format!("read keys {first} to {last}"), &cause))?;
    let answer = rows.first().map(|row| (whole(row, 0), whole(row, 1)));
    let expected = Some((i64::try_from(count).ok(), Some(range_sum(step.first, count))));
    match answer == expected {
        true => Ok(()),
        false => {
            let why = format!("keys {first} to {last} gave {answer:?} instead of {expected:?}");
            Err(EngineError::WrongAnswer(why))
        }
    }
}

fn change(connection: &mut Connection, update: &str, step: Step, count: u64) -> Result<(), EngineError> {
    let (first, last) = bounds(step, count)?;
    // The count comes as a row, since NOCOUNT suppresses it otherwise.
    let sql = format!("{update}; SELECT @@ROWCOUNT");
    let rows = connection
        .query(&sql, &[&first, &last])
        .map_err(|cause| query(format!("update keys {first} to {last}"), &cause))?;
    let changed = rows.first().and_then(|row| whole(row, 0)).unwrap_or(0);
    match u64::try_from(changed).is_ok_and(|changed| changed == count) {
        true => Ok(()),
        false => {
            let why =
                format!("the update of keys {first} to {last} changed {changed} rows instead of {count}");
            Err(EngineError::WrongAnswer(why))
        }
    }
}
