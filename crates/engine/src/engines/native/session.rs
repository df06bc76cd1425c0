//! A session of `insert`: transactions of a few rows, inserted into the table and then appended to the log.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_study::SessionSlice;

use super::error::failed;
use super::log::Tally;
use super::options::InsertSpec;
use super::record::{Draft, Head, Kind};
use super::row::Row;
use super::shared::{Shared, counters};
use super::table::{Content, RowOrigin, Table, Walked};
use crate::worker::fixed::fixed_work;
use crate::worker::{StepResult, step_loop};
use crate::workloads::insert::{Durability, Insert, Key, RandomKeys, first_key};
use crate::{EngineError, Session, SessionRequest, Window, clock};

/// Most rows of one log record; longer transactions have several.
const RECORD_ROWS: u32 = 100;

/// Memory for this many added rows is touched before the first slice of a fixed time; otherwise the first
/// slices alone would have the page faults.
const TOUCHED_ROWS: u64 = 1 << 16;

/// Where a session's keys come from.
enum Keys {
    Sequential(i64),
    Random(Box<RandomKeys>),
}

/// A session.
pub struct InsertSession {
    shared: Arc<Shared>,
    load_seed: u64,
    sessions: usize,
    state: InsertState,
}

/// State that changes from step to step, apart from what is shared.
struct InsertState {
    insert: Insert,
    session: usize,
    keys: Keys,
    draft: Draft,
    tally: Tally,
    walked: Walked,
    /// Inserted since the last report.
    content: Content,
    /// Inserted in the session's life.
    rows: i64,
    transactions: u64,
}

impl InsertSession {
    /// Opens a session on the calling thread.
    pub fn open(request: &SessionRequest, spec: &InsertSpec, shared: Arc<Shared>) -> Self {
        let session = request.session as usize;
        if let Some(log) = &shared.log {
            log.attach(session);
        }
        let keys = match spec.insert.key {
            Key::Sequential => Keys::Sequential(first_key(request.session)),
            Key::Random => {
                let stream = u64::from(request.session) + 1;
                Keys::Random(Box::new(RandomKeys::new(request.seed, stream)))
            }
        };
        let state = InsertState {
            insert: spec.insert,
            session,
            keys,
            draft: Draft::new(),
            tally: Tally::default(),
            walked: Walked::default(),
            content: Content::default(),
            rows: 0,
            transactions: 0,
        };
        Self { shared, load_seed: request.load.seed, sessions: request.sessions as usize, state }
    }

    /// The session's part of the seeded rows: every n-th one.
    fn seed(&mut self, table: &Table) -> Result<(), EngineError> {
        let session = self.state.session;
        let keys = RandomKeys::new(self.load_seed, 0).take(self.state.insert.seed_rows as usize);
        for key in keys.skip(session).step_by(self.sessions) {
            let row = Row::new(key, 0, -1, 0, 0);
            if !table.insert(RowOrigin::Seed, session, row, &mut Walked::default()) {
                return Err(there_already(key));
            }
        }
        Ok(())
    }
}

impl Session for InsertSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        let shared = Arc::clone(&self.shared);
        let table = shared.table();
        self.seed(&table)?;
        let waits_for_disk = shared.log.is_some() && self.state.insert.durability == Durability::Full;
        if self.state.insert.rows_per_session.is_none() && !waits_for_disk {
            table.touch(self.state.session, TOUCHED_ROWS, || Row::new(0, 0, 0, 0, 0));
        }
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let shared = Arc::clone(&self.shared);
        let table = shared.table();
        let insert = self.state.insert;
        // The loop calls one closure to work and another to read its counters.
        let state = RefCell::new(&mut self.state);
        let step = || state.borrow_mut().transaction(&shared, &table, window.end_ns);
        let read = || {
            let state = state.borrow();
            Ok(counters(&state.tally, &state.walked))
        };
        let slice = match insert.rows_per_session {
            Some(rows) => fixed_work(window, rows, step, read),
            None => step_loop(window, step, read),
        }?;
        let inserted = std::mem::take(&mut self.state.content);
        shared.report(self.state.session, inserted);
        Ok(slice)
    }
}

impl InsertState {
    /// One transaction: its rows, its log records, and what its commit waits for.
    fn transaction(
        &mut self,
        shared: &Shared,
        table: &Table,
        end_ns: u64,
    ) -> Result<StepResult, EngineError> {
        let rows = match (self.insert.rows_per_tx, self.insert.rows_per_session) {
            (0, all) => all.unwrap_or(0),
            (some, _) => some,
        };
        let time_ns = now_ns();
        let (mut left, mut place) = (rows, 0);
        loop {
            let count = left.min(u64::from(RECORD_ROWS)) as u32;
            left -= u64::from(count);
            self.draft.clear();
            for nth in 0..count {
                let key = self.next_key();
                let place_in_tx = (place * RECORD_ROWS + nth) as i32;
                self.insert_row(
                    shared,
                    table,
                    Row::new(key, time_ns, self.session as i32, place_in_tx, self.rows),
                )?;
            }
            let end = self.log(shared, place, count, left == 0)?;
            place += 1;
            if left == 0 {
                self.transactions += 1;
                if let (Some(log), Durability::Full) = (&shared.log, self.insert.durability) {
                    log.await_durable(self.session, end).map_err(|error| failed("write its log", error))?;
                }
                return Ok(StepResult { rows, checked: 1, wrong: 0, think_ns: 0 });
            }
            if clock::monotonic_ns() > end_ns {
                let done = rows - left;
                let why =
                    format!("{done} of {rows} rows were done when the time was up; lower rows_per_session");
                return Err(failed("finish its transaction", why));
            }
        }
    }

    #[inline]
    fn insert_row(&mut self, shared: &Shared, table: &Table, row: Row) -> Result<(), EngineError> {
        let key = row.c1;
        if shared.log.is_some() {
            row.encode(self.draft.content());
        }
        if !table.insert(RowOrigin::Added, self.session, row, &mut self.walked) {
            return Err(there_already(key));
        }
        self.content.add(key);
        self.rows += 1;
        Ok(())
    }

    #[inline]
    fn log(&mut self, shared: &Shared, place: u32, count: u32, commits: bool) -> Result<u64, EngineError> {
        let Some(log) = &shared.log else { return Ok(0) };
        let head = Head {
            kind: Kind::Rows,
            commits,
            session: self.session as u16,
            transaction: self.transactions,
            place,
            count,
        };
        let record = self.draft.finish(&head);
        log.append(self.session, record, &mut self.tally).map_err(|error| failed("write its log", error))
    }

    #[inline]
    fn next_key(&mut self) -> i64 {
        match &mut self.keys {
            Keys::Sequential(next) => {
                let key = *next;
                *next += 1;
                key
            }
            // The stream is endless.
            Keys::Random(keys) => keys.next().unwrap_or_default(),
        }
    }
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

fn there_already(key: i64) -> EngineError {
    EngineError::WrongAnswer(format!(
        "the key {key} is in the table already, although all keys are different"
    ))
}
