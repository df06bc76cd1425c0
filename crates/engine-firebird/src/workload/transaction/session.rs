//! A session of `transaction`: an isql, one transaction a step.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use threadwise_engine::worker::{StepResult, closed_loop};
use threadwise_engine::workloads::transaction::Draws;
use threadwise_engine::{EngineError, Session, Window};
use threadwise_study::SessionSlice;

use super::script::Script;
use crate::isql::Isql;
use crate::workload::call::{Call, Usage};
use crate::workload::counters::Pages;
use crate::workload::session::Tally;

/// An isql, and the parameters of its next transactions.
#[derive(Debug)]
pub(super) struct TransactionSession {
    isql: Isql,
    script: Script,
    draws: Draws,
    tally: Arc<Tally>,
}

impl TransactionSession {
    /// A session on a program that is ready.
    pub(super) fn new(isql: Isql, script: Script, draws: Draws, tally: Arc<Tally>) -> Self {
        Self { isql, script, draws, tally }
    }

    /// Executes one transaction, and gives the pages that it accessed.
    fn step(&mut self) -> Result<Pages, EngineError> {
        let (mut pages, mut done) = (Pages::default(), 0);
        for part in self.script.parts(&self.draws.draw()) {
            let skipped = self.isql.skip("execute a transaction", &part)?;
            if let Some(words) = skipped.error {
                return Err(self.script.explain(done + skipped.done, &words));
            }
            done += skipped.done;
            pages = pages + skipped.pages;
        }
        Ok(pages)
    }

    fn steps(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let (pid, before) = (self.isql.pid(), Usage::of(self.isql.pid()));
        let (mut pages, mut calls) = (Pages::default(), 0);
        let step = || {
            pages = pages + self.step()?;
            calls += 1;
            Ok(StepResult { rows: 1, ..StepResult::default() })
        };
        let mut slice = closed_loop(window, step, || Ok([]))?;
        let call = Call { steps: slice.steps, calls, rows_per_step: 1, pages };
        call.give_to(&mut slice, before, Usage::of(pid));
        Ok(slice)
    }
}

impl Session for TransactionSession {
    /// Fills the cache with what one transaction reads; a transaction that writes is not executed.
    fn warm(&mut self) -> Result<(), EngineError> {
        let warm = match self.script.is_read_only() {
            true => self.step().map(drop),
            false => Ok(()),
        };
        self.tally.failed.fetch_or(warm.is_err(), Ordering::Relaxed);
        warm
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = self.steps(window);
        self.tally.failed.fetch_or(slice.is_err(), Ordering::Relaxed);
        slice
    }
}
