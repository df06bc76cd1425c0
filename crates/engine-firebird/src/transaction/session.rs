//! A session of `transaction`: an isql, one transaction a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::worker::{StepResult, step_loop};
use threadwise_engine::workloads::transaction::{Drawn, Draws, ScriptTally};
use threadwise_engine::{EngineError, Session, Window};
use threadwise_engine_sql::{ClientLoop, Metered};
use threadwise_study::SessionSlice;

use super::script::{TextPart, Texts};
use crate::counters::Pages;
use crate::isql::Isql;

/// An isql, and the parameters of its next transactions.
#[derive(Debug)]
pub(super) struct TransactionSession {
    isql: Isql,
    texts: Texts,
    draws: Draws,
    /// Set if it failed at something, so that the data is not to be trusted.
    failed: Arc<AtomicBool>,
}

impl TransactionSession {
    /// A session on a program that is ready.
    pub(super) fn new(isql: Isql, texts: Texts, draws: Draws, failed: Arc<AtomicBool>) -> Self {
        Self { isql, texts, draws, failed }
    }

    fn steps(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { isql, texts, draws, .. } = self;
        let tally = ScriptTally::new(texts.scripts());
        let (slice, _) = Metered::run(isql, None, 1, |metered| {
            let mut calls = 0;
            let step = || {
                let drawn = draws.draw()?;
                let mut isql = metered.connection();
                let pages = execute(*isql, texts, &drawn)?;
                isql.pages = isql.pages + pages;
                calls += 1;
                tally.add(drawn.script);
                Ok(StepResult { rows: 1, think_ns: drawn.think_ns, ..StepResult::default() })
            };
            let counters = || {
                tally.read();
                metered.read()
            };
            let mut slice = step_loop(window, step, counters)?;
            tally.give_to(&mut slice);
            Ok(ClientLoop { slice, calls, round_trips: 0 })
        })?;
        Ok(slice)
    }
}

/// Executes a script, and gives the pages that it accessed.
fn execute(isql: &mut Isql, texts: &Texts, drawn: &Drawn) -> Result<Pages, EngineError> {
    let (mut pages, mut done) = (Pages::default(), 0);
    for part in texts.parts(drawn)? {
        let text = match part {
            TextPart::Text(text) => text,
            TextPart::Pause(length_ns) => {
                sleep_until_ns(monotonic_ns() + length_ns);
                continue;
            }
        };
        let skipped = isql.skip("execute a transaction", &text)?;
        if let Some(words) = skipped.error {
            return Err(texts.explain(drawn.script, done + skipped.done, &words));
        }
        done += skipped.done;
        pages = pages + skipped.pages;
    }
    Ok(pages)
}

impl Session for TransactionSession {
    /// Fills the cache with what each transaction reads once; those that write are not executed.
    fn warm(&mut self) -> Result<(), EngineError> {
        let scripts = if self.texts.is_read_only() { self.texts.scripts().len() } else { 0 };
        let warm = (0..scripts).try_for_each(|script| {
            let drawn = self.draws.draw_script(script)?;
            execute(&mut self.isql, &self.texts, &drawn).map(drop)
        });
        self.failed.fetch_or(warm.is_err(), Ordering::Relaxed);
        warm
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = self.steps(window);
        self.failed.fetch_or(slice.is_err(), Ordering::Relaxed);
        slice
    }
}
