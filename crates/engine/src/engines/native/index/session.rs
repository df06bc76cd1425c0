//! A session of `index`: it only looks up keys, or only inserts them.

use std::cell::RefCell;
use std::sync::Arc;
use threadwise_study::SessionSlice;

use super::super::table::{Content, RowOrigin};
use super::keys::{Keys, value_of};
use super::shared::{Shared, counted, counters};
use super::spec::{IndexSpec, Operation};
use super::structure::{Costs, Open, wrong_value};
use crate::worker::{StepResult, step_loop};
use crate::{EngineError, Session, SessionRequest, Window};

/// Memory for this many added rows is touched before the first slice.
const TOUCHED_ROWS: u64 = 1 << 14;

/// A session.
pub struct IndexSession {
    shared: Arc<Shared>,
    spec: IndexSpec,
    state: IndexState,
}

/// State that changes from step to step.
struct IndexState {
    session: usize,
    keys: Keys,
    costs: Costs,
}

impl IndexSession {
    /// Opens a session on the calling thread.
    pub fn open(request: &SessionRequest, spec: &IndexSpec, shared: Arc<Shared>) -> Self {
        let place = (request.session, request.sessions);
        let keys = Keys::new(spec.key, spec.rows, spec.absent_pct, place, request.seed);
        let state = IndexState { session: request.session as usize, keys, costs: Costs::default() };
        Self { shared, spec: *spec, state }
    }
}

impl Session for IndexSession {
    /// The index was touched when it was made; this touches memory for rows that will be added.
    fn warm(&mut self) -> Result<(), EngineError> {
        if self.spec.operation == Operation::Search {
            return Ok(());
        }
        let open = self.shared.structure.open();
        open.touch(self.state.session, TOUCHED_ROWS);
        let before = self.state.keys.clone();
        if !matches!(open, Open::Hash(..)) {
            let _turn = self.shared.turn();
            self.state.insert(&open, TOUCHED_ROWS)?;
            self.state.take_back(&open, before)?;
        }
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let (rows, operation) = (self.spec.rows_per_step, self.spec.operation);
        let open = self.shared.structure.open();
        let before = self.state.keys.clone();
        let state = RefCell::new(&mut self.state);
        let step = || {
            let mut state = state.borrow_mut();
            match operation {
                Operation::Search => state.search(&open, rows)?,
                Operation::Insert => state.insert(&open, rows)?,
            }
            Ok(StepResult { rows, checked: rows, wrong: 0, think_ns: 0 })
        };
        let mut slice = step_loop(window, step, || Ok(counters(&state.borrow().costs)))?;
        slice.counters.retain(|name, _| counted(name, &self.shared.structure));
        if operation == Operation::Insert {
            let turn = self.shared.turn();
            let inserted = self.state.take_back(&open, before)?;
            drop(turn);
            self.shared.reports.add(self.state.session, inserted);
        }
        Ok(slice)
    }
}

impl IndexState {
    #[inline]
    fn search(&mut self, open: &Open<'_>, rows: u64) -> Result<(), EngineError> {
        for _ in 0..rows {
            let (key, is_there) = self.keys.lookup();
            let found = open.find(self.session, (key, &value_of(key)), &mut self.costs)?;
            match found {
                Some(true) if is_there => {}
                None if !is_there => {}
                Some(false) => return Err(wrong_value(key)),
                Some(true) => {
                    return Err(EngineError::WrongAnswer(format!(
                        "found the key {key}, which was never stored"
                    )));
                }
                None => {
                    return Err(EngineError::WrongAnswer(format!(
                        "did not find the key {key}, which is stored"
                    )));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn insert(&mut self, open: &Open<'_>, rows: u64) -> Result<(), EngineError> {
        for _ in 0..rows {
            let key = self.keys.insert();
            if !open.insert(RowOrigin::Added, self.session, (key, &value_of(key)), &mut self.costs)? {
                return Err(EngineError::WrongAnswer(format!(
                    "the key {key} is in the index already, although all keys are different"
                )));
            }
        }
        Ok(())
    }

    /// Removes from a tree the keys inserted since `keys`, by drawing them once more, and gives the content that the
    /// session inserted. A hash index is reset when all sessions are parked.
    fn take_back(&mut self, open: &Open<'_>, mut before: Keys) -> Result<Content, EngineError> {
        let mut content = Content::default();
        for _ in 0..self.keys.inserted() {
            let key = before.insert();
            content.add(key);
            if matches!(open, Open::Hash(..)) {
                continue;
            }
            if !open.remove(self.session, (key, &value_of(key)), &mut self.costs)? {
                return Err(EngineError::WrongAnswer(format!(
                    "the key {key} was inserted and is missing, or has another key's value"
                )));
            }
        }
        self.keys.restart();
        Ok(content)
    }
}
