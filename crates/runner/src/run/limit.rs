//! A study with a limit of time: what is known of its durations at each moment, and how it ends when the
//! limit cannot hold it.
//!
//! What decides is in `pace` and pure; here durations are taken and the alarm is set.

use super::{Driver, Reason};
use crate::RunnerError;
use crate::alarm::Alarm;
use crate::block;
use crate::pace::{self, BlockTime, Next, Progress, Rule};
use crate::shortfall::Shortfall;
use std::cell::Cell;
use std::time::Duration;
use threadwise_study::Study;

/// What is reckoned from the start of a block's first worker.
pub(super) struct FirstStart<'a> {
    pub alarm: Option<&'a Alarm>,
    /// Takes what was found.
    pub short: &'a Cell<Option<Shortfall>>,
    pub rule: Rule,
    pub progress: Progress,
    /// How many starts follow each other in a block.
    pub in_turn: f64,
    pub floor_s: f64,
}

impl FirstStart<'_> {
    /// Ends the first block where the limit is far too small for starts of so many seconds.
    pub fn took(&self, start_s: f64) {
        let Some(alarm) = self.alarm.filter(|alarm| self.progress.blocks_here == 0 && !alarm.has_rung()) else {
            return;
        };
        let block = BlockTime::FirstStart(self.in_turn * start_s + self.floor_s);
        if let Some(short) = pace::shortfall(self.rule, &self.progress, block) {
            self.short.set(Some(short));
            alarm.ring();
        }
    }
}

/// How many starts of workers follow each other in a block.
pub(super) fn starts_in_turn(study: &Study, concurrent: usize) -> f64 {
    let at_once = if study.runs_whole() { 1 } else { concurrent.max(1) };
    study.treatments.len().div_ceil(at_once) as f64
}

impl Driver<'_> {
    fn elapsed_s(&self) -> f64 {
        self.settings.began.elapsed().as_secs_f64()
    }

    /// Whether it was the limit that stopped the study.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.alarm.as_ref().is_some_and(Alarm::has_rung)
    }

    /// Lets setting up take what the blocks leave at the best.
    pub(super) fn limit_setup(&self) {
        self.ring_at(self.rule.setup_until_s(&self.progress, self.study.block_floor_s()));
    }

    fn ring_at(&self, until_s: Option<f64>) {
        if let (Some(alarm), Some(until_s)) = (&self.alarm, until_s) {
            alarm.set(self.settings.began + Duration::from_secs_f64(until_s.max(0.0)));
        }
    }

    /// What the limit lacks where it ended before everything was set up.
    pub(super) fn not_set_up(&self) -> Shortfall {
        let progress = Progress { setup_s: self.elapsed_s(), ..self.progress };
        let floor = BlockTime::AtLeast(self.study.block_floor_s());
        Shortfall { is_set_up: false, ..pace::lacking(self.rule, &progress, floor) }
    }

    /// Takes the time of setting up, before the first block. Gives why the limit is too small.
    pub(super) fn set_up(&mut self) -> Option<Shortfall> {
        self.progress.setup_s = self.elapsed_s();
        self.progress.elapsed_s = self.progress.setup_s;
        self.ring_at(self.rule.limit_s.and(self.rule.usable_s()));
        pace::shortfall(self.rule, &self.progress, BlockTime::AtLeast(self.study.block_floor_s()))
    }

    /// Reckons what a block takes from one that was broken off after so many slices, where none is whole.
    pub(super) fn broken_off(&mut self, slices: u64) {
        if self.progress.blocks_here > 0 || !self.is_out_of_time() || self.short.get().is_some() {
            return;
        }
        let seen_s = self.elapsed_s() - self.progress.setup_s;
        let all = block::first_sequence(&self.study, 1);
        let block = match slices {
            0 => BlockTime::AtLeast(seen_s.max(self.study.block_floor_s())),
            _ => BlockTime::FirstStart(seen_s * all as f64 / slices as f64),
        };
        self.short.set(Some(pace::lacking(self.rule, &self.progress, block)));
    }

    /// What follows when the time ended in the midst of a block.
    pub(super) fn next_without_time(&self) -> Next {
        let no_time_left = Progress { elapsed_s: f64::INFINITY, ..self.progress };
        match pace::next(self.rule, &no_time_left) {
            Next::Short(short) => Next::Short(self.short.get().unwrap_or(short)),
            enough => enough,
        }
    }

    /// Ends a study with the blocks that it has, which are enough, though more were planned.
    ///
    /// # Errors
    /// The study file.
    pub(super) fn end_with_fewer(&mut self) -> Result<Reason, RunnerError> {
        let done = self.progress.blocks_done;
        if let Some(planned) = self.progress.planned.replace(done) {
            self.note(&format!(
                "the budget held {done} of the {planned} blocks that were planned: blocks took longer than the first"
            ))?;
        }
        self.store.set_planned_blocks(done)?;
        Ok(Reason::PlanDone)
    }
}
