//! The number of blocks of a study and its end: known durations at each moment, and the consequences of a time limit
//! that cannot hold it.
//!
//! The decisions are in `pace` and pure; here durations are taken and the alarm is set.

use super::driver::Driver;
use crate::RunnerError;
use crate::alarm::Alarm;
use crate::block;
use crate::event::Event;
use crate::outcome::{Decision, Reason};
use crate::pace::{self, BlockTime, Next, Progress, Rule};
use crate::shortfall::Shortfall;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;
use threadwise_study::warmup::Warmup;
use threadwise_study::{Run, Study};

/// Shortest possible time of a block, with the known warm-ups.
fn floor_s(study: &Study, warmups: &[Option<Warmup>]) -> f64 {
    study.block_floor_warmed_s(|at| warmups.get(at)?.as_ref().map(|warmup| warmup.ns))
}

/// Estimates from the starts of the first block's workers.
pub(super) struct Starts<'a> {
    alarm: Option<&'a Alarm>,
    /// Takes a shortfall.
    short: &'a Cell<Option<Shortfall>>,
    rule: Rule,
    progress: Progress,
    study: &'a Study,
    /// Number of starts that follow each other in a block.
    in_turn: f64,
    floor_s: f64,
    /// Number of seen starts, and their total seconds.
    seen: Cell<(u32, f64)>,
}

impl<'a> Starts<'a> {
    pub fn new(
        alarm: Option<&'a Alarm>,
        short: &'a Cell<Option<Shortfall>>,
        rule: Rule,
        progress: Progress,
        (study, warmups): (&'a Study, &[Option<Warmup>]),
        concurrent: usize,
    ) -> Self {
        let at_once = if study.takes_turns() { 1 } else { concurrent.max(1) };
        let in_turn = study.treatments.len().div_ceil(at_once) as f64;
        let floor_s = floor_s(study, warmups);
        Self { alarm, short, rule, progress, study, in_turn, floor_s, seen: Cell::default() }
    }

    /// Adds the seconds of another one. Ends the first block if the limit is far too small for such starts.
    pub fn took(&self, start_s: f64) {
        let Some(alarm) = self.alarm.filter(|alarm| self.progress.blocks_here == 0 && !alarm.has_rung())
        else {
            return;
        };
        let (count, sum_s) = (self.seen.get().0 + 1, self.seen.get().1 + start_s);
        self.seen.set((count, sum_s));
        self.judge(alarm, BlockTime::Starts(self.in_turn * sum_s / f64::from(count) + self.floor_s));
    }

    /// Takes the measured warm-ups. Ends the first block if the limit cannot hold slices with them.
    pub fn warmed(&self, warmups: &[Option<Warmup>]) {
        if let Some(alarm) = self.alarm.filter(|alarm| self.progress.blocks_here == 0 && !alarm.has_rung()) {
            self.judge(alarm, BlockTime::AtLeast(floor_s(self.study, warmups)));
        }
    }

    fn judge(&self, alarm: &Alarm, block: BlockTime) {
        if let Some(short) = pace::shortfall(self.rule, &self.progress, block) {
            self.short.set(Some(short));
            alarm.ring();
        }
    }
}

impl Driver<'_> {
    /// Shortest possible time of a block, with the measured warm-ups.
    pub(super) fn floor_s(&self) -> f64 {
        floor_s(&self.study, &self.warmups)
    }

    fn elapsed_s(&self) -> f64 {
        self.settings.began.elapsed().as_secs_f64()
    }

    /// Whether the limit stopped the study.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.alarm.as_ref().is_some_and(Alarm::has_rung)
    }

    /// Limits setting up to what the blocks leave at best.
    pub(super) fn limit_setup(&self) {
        self.ring_at(self.rule.setup_until_s(&self.progress, self.floor_s()));
    }

    fn ring_at(&self, until_s: Option<f64>) {
        if let (Some(alarm), Some(until_s)) = (&self.alarm, until_s) {
            alarm.set(self.settings.began + Duration::from_secs_f64(until_s.max(0.0)));
        }
    }

    /// The shortfall of a limit that ended setting up.
    pub(super) fn not_set_up(&self) -> Shortfall {
        let progress = Progress { setup_s: self.elapsed_s(), ..self.progress };
        let floor = BlockTime::AtLeast(self.floor_s());
        Shortfall { is_set_up: false, ..pace::lacking(self.rule, &progress, floor) }
    }

    /// Takes the time of setting up, before the first block. Returns why the limit is too small.
    pub(super) fn set_up(&mut self) -> Option<Shortfall> {
        self.progress.setup_s = self.elapsed_s();
        self.progress.elapsed_s = self.progress.setup_s;
        self.ring_at(self.rule.limit_s.and(self.rule.usable_s()));
        pace::shortfall(self.rule, &self.progress, BlockTime::AtLeast(self.floor_s()))
    }

    /// Estimates the time of a block from one that was interrupted after so many slices, if none is complete.
    pub(super) fn broken_off(&mut self, slices: u64) {
        if self.progress.blocks_here > 0 || !self.is_out_of_time() || self.short.get().is_some() {
            return;
        }
        let seen_s = self.elapsed_s() - self.progress.setup_s - self.progress.long.spent_s;
        let all = block::first_sequence(&self.study, 1);
        let block = match slices {
            0 => BlockTime::AtLeast(seen_s.max(self.floor_s())),
            _ => BlockTime::Starts(seen_s * all as f64 / slices as f64),
        };
        self.short.set(Some(pace::lacking(self.rule, &self.progress, block)));
    }

    /// The consequence of a time that ended within a block.
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
    /// The result file.
    pub(super) fn end_with_fewer(&mut self) -> Result<Reason, RunnerError> {
        let done = self.progress.blocks_done;
        if let Some(planned) = self.progress.planned.replace(done) {
            self.note(format!("the budget held {done} of the {planned} planned blocks"))?;
        }
        self.store.set_planned_blocks(done)?;
        Ok(Reason::PlanDone)
    }

    /// Looks if a look is due. A reason ends the study.
    pub(super) fn follow(
        &mut self,
        next: Next,
        decide: &mut dyn FnMut(&[Run], u32) -> Decision,
    ) -> Result<Option<Reason>, RunnerError> {
        Ok(match next {
            // Stopped after the block's last slice: the block is complete.
            Next::Block | Next::LongBlock => self.stop.load(Ordering::Relaxed).then_some(Reason::Interrupted),
            Next::End => Some(Reason::PlanDone),
            Next::Over => Some(self.end_with_fewer()?),
            Next::Short(short) => Some(Reason::Short(short)),
            Next::Look | Next::LastLook => match decide(&self.store.runs()?, self.progress.blocks_done) {
                Decision::Stop => Some(Reason::TargetReached),
                Decision::Continue => (next == Next::LastLook).then_some(Reason::BudgetOver),
            },
        })
    }

    /// Fixes the number of blocks as soon as possible.
    pub(super) fn plan(&mut self) -> Result<(), RunnerError> {
        if self.progress.planned.is_none() {
            self.progress.planned = pace::planned_blocks(self.rule, &self.progress);
            if let Some(blocks) = self.progress.planned {
                self.store.set_planned_blocks(blocks)?;
                let eta_s = pace::eta_s(self.rule, &self.progress);
                (self.observer)(Event::Planned { blocks, eta_s });
            }
        }
        Ok(())
    }
}
