//! A session of `log-buffer`: it only appends records to the log.

use std::cell::RefCell;
use std::sync::Arc;
use threadwise_study::SessionSlice;

use super::error::failed;
use super::log::{Log, Tally};
use super::options::LogBufferSpec;
use super::record::{Draft, Head, Kind};
use super::shared::{Shared, counters};
use super::table::{Content, Walked};
use crate::worker::{StepResult, step_loop};
use crate::{EngineError, Session, SessionRequest, Window};

/// Distance between the numbers of the first records of two sessions.
const SESSION_STRIDE: i64 = 1 << 44;

/// A session.
pub struct LogBufferSession {
    shared: Arc<Shared>,
    log: Arc<Log>,
    spec: LogBufferSpec,
    state: LogBufferState,
}

/// State that changes from step to step.
struct LogBufferState {
    session: usize,
    /// Number of the next record, which is its first 8 bytes.
    number: i64,
    text: Vec<u8>,
    draft: Draft,
    tally: Tally,
    content: Content,
}

impl LogBufferSession {
    /// Opens a session on the calling thread.
    pub fn open(request: &SessionRequest, spec: &LogBufferSpec, shared: Arc<Shared>, log: Arc<Log>) -> Self {
        let session = request.session as usize;
        log.attach(session);
        let state = LogBufferState {
            session,
            number: i64::from(request.session) * SESSION_STRIDE,
            text: (0..spec.record_bytes - 8).map(|at| b'a' + (at % 26) as u8).collect(),
            draft: Draft::new(),
            tally: Tally::default(),
            content: Content::default(),
        };
        Self { shared, log, spec: *spec, state }
    }
}

impl Session for LogBufferSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let records = self.spec.records_per_step;
        let state = RefCell::new(&mut self.state);
        let log = &*self.log;
        let slice = step_loop(
            window,
            || {
                let mut state = state.borrow_mut();
                for _ in 0..records {
                    state.append(log)?;
                }
                Ok(StepResult { rows: records, checked: 0, wrong: 0, think_ns: 0 })
            },
            || Ok(counters(&state.borrow().tally, &Walked::default())),
        )?;
        let appended = std::mem::take(&mut self.state.content);
        self.shared.report(self.state.session, appended);
        Ok(slice)
    }
}

impl LogBufferState {
    #[inline]
    fn append(&mut self, log: &Log) -> Result<(), EngineError> {
        self.draft.clear();
        let content = self.draft.content();
        content.extend_from_slice(&self.number.to_le_bytes());
        content.extend_from_slice(&self.text);
        let head = Head {
            kind: Kind::Plain,
            commits: true,
            session: self.session as u16,
            transaction: self.number as u64,
            place: 0,
            count: (self.text.len() + 8) as u32,
        };
        let record = self.draft.finish(&head);
        log.append(self.session, record, &mut self.tally).map_err(|error| failed("write its log", error))?;
        self.content.add(self.number);
        self.number += 1;
        Ok(())
    }
}
