//! One session: a program with the engine inside, and its loop.
//!
//! A loop counts what ended inside the window. CPU time and switches are those of all threads of the
//! program over the whole call, re-warm included, scaled by steps in the window over steps of the call.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::workloads::insert::{Insert, first_key};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::{EngineError, Session, Window};
use threadwise_study::SessionSlice;

use super::call::{Call, Usage};
use super::insert::Draws;
use super::{Work, clock, insert, logical_io};
use crate::error::failed;
use crate::isql::Isql;

/// What a session reports besides its slices.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Rows inserted so far.
    pub inserted: AtomicI64,
    /// Sum of the checks of their keys.
    pub key_sum: AtomicI64,
    /// Whether it failed at something, so that the data is not to be trusted.
    pub failed: AtomicBool,
}

/// An open session.
#[derive(Debug)]
pub(super) struct FirebirdSession {
    isql: Isql,
    workload: Work,
    number: u32,
    tally: Arc<Tally>,
    random: ChaCha8Rng,
    draws: Draws,
    next_row: i64,
}

impl FirebirdSession {
    /// The session of this number, with the block's seed.
    pub(super) fn new(isql: Isql, workload: Work, number: u32, seed: u64, tally: Arc<Tally>) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(number));
        let draws = Draws::new(seed, u64::from(number) + 1);
        Self { isql, workload, number, tally, random, draws, next_row: 0 }
    }

    fn table(&self, spec: &LogicalIo) -> u32 {
        if spec.shared { 0 } else { self.number }
    }

    fn read(&mut self, spec: LogicalIo, window: &Window) -> Result<SessionSlice, EngineError> {
        let (start_ms, end_ms) = clock::window_ms(window, clock::offset_ns());
        let x = self.random.next_u64() % 2_147_483_646 + 1;
        let table = self.table(&spec);
        let sql = format!("select * from read_blocks_{table}({start_ms}, {end_ms}, {x})");
        let before = Usage::of(self.isql.pid());
        let columns = ["STEPS", "CALLS", "WRONG"];
        let ([steps, calls, wrong], pages) = self.isql.counted("run its loop", &sql, columns)?;
        if wrong > 0 {
            return Err(EngineError::WrongAnswer(format!(
                "{wrong} of {calls} steps on table {table} gave another number of rows or another sum"
            )));
        }
        let call = Call { steps: steps as u64, calls: calls as u64, rows_per_step: spec.work_unit, pages };
        Ok(call.slice(before, Usage::of(self.isql.pid())))
    }

    fn insert(&mut self, spec: Insert, window: &Window) -> Result<SessionSlice, EngineError> {
        let wanted = spec.rows_per_session.unwrap_or(0);
        if wanted > 0 {
            sleep_until_ns(window.start_ns);
        }
        let (start_ms, end_ms) = clock::window_ms(window, clock::offset_ns());
        let sql = format!(
            "select * from insert_rows({}, {}, {}, {}, {start_ms}, {end_ms}, {wanted})",
            self.number + 1,
            first_key(self.number) + self.next_row,
            self.draws.x,
            self.draws.y
        );
        let columns = ["STEPS", "CALLS", "KEY_SUM", "LAST_X", "LAST_Y"];
        let before = Usage::of(self.isql.pid());
        let ([steps, calls, key_sum, x, y], pages) = self.isql.counted("run its loop", &sql, columns)?;
        let ended_ns = monotonic_ns();
        let mut call =
            Call { steps: steps as u64, calls: calls as u64, rows_per_step: spec.rows_per_tx, pages };
        self.draws = Draws { x, y };
        self.next_row += call.all_rows() as i64;
        self.tally.inserted.fetch_add(call.all_rows() as i64, Ordering::Relaxed);
        self.tally.key_sum.fetch_add(key_sum, Ordering::Relaxed);
        if wanted == 0 {
            return Ok(call.slice(before, Usage::of(self.isql.pid())));
        }
        if call.all_rows() < wanted || ended_ns > window.end_ns {
            let why = format!("{} of {wanted} rows were inserted when the time was up", call.all_rows());
            return Err(failed("insert its rows", why));
        }
        // All of them: the first may have ended in the millisecond that the window began in.
        call.steps = call.calls;
        let mut slice = call.slice(before, Usage::of(self.isql.pid()));
        slice.finished_ns = Some(ended_ns.saturating_sub(window.start_ns).max(1));
        Ok(slice)
    }
}

impl Session for FirebirdSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        let warm = match self.workload {
            Work::LogicalIo(spec) => {
                let table = self.table(&spec);
                logical_io::warm(&mut self.isql, table, spec.blocks)
            }
            Work::Insert(_) => insert::held(&mut self.isql).map(drop),
        };
        self.tally.failed.fetch_or(warm.is_err(), Ordering::Relaxed);
        warm
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match self.workload {
            Work::LogicalIo(spec) => self.read(spec, window),
            Work::Insert(spec) => self.insert(spec, window),
        };
        self.tally.failed.fetch_or(slice.is_err(), Ordering::Relaxed);
        slice
    }
}
