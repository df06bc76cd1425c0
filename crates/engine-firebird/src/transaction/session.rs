//! A session of `transaction`: an isql, one transaction a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_engine::clock::thread_cpu_ns;
use threadwise_engine::worker::{StepResult, step_loop};
use threadwise_engine::workloads::transaction::Draws;
use threadwise_engine::{EngineError, Session, Window};
use threadwise_engine_sql::Call;
use threadwise_study::SessionSlice;

use super::script::Script;
use crate::counters::Pages;
use crate::isql::Isql;

/// An isql, and the parameters of its next transactions.
#[derive(Debug)]
pub(super) struct TransactionSession {
    isql: Isql,
    script: Script,
    draws: Draws,
    /// Set if it failed at something, so that the data is not to be trusted.
    failed: Arc<AtomicBool>,
}

impl TransactionSession {
    /// A session on a program that is ready.
    pub(super) fn new(isql: Isql, script: Script, draws: Draws, failed: Arc<AtomicBool>) -> Self {
        Self { isql, script, draws, failed }
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
        let (before, client_ns) = (self.isql.used(), thread_cpu_ns());
        let mut calls = 0;
        let step = || {
            let pages = self.step()?;
            self.isql.pages = self.isql.pages + pages;
            calls += 1;
            Ok(StepResult { rows: 1, ..StepResult::default() })
        };
        let mut slice = step_loop(window, step, || Ok([]))?;
        let client_cpu_ns = thread_cpu_ns() - client_ns;
        let used = [before, self.isql.used()];
        Call { client_cpu_ns, ..Call::new(slice.steps, calls, 1, used) }.give_to(&mut slice);
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
        self.failed.fetch_or(warm.is_err(), Ordering::Relaxed);
        warm
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = self.steps(window);
        self.failed.fetch_or(slice.is_err(), Ordering::Relaxed);
        slice
    }
}
