//! The state of a running study.

use crate::RunnerError;
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::event::Event;
use crate::guard::OthersWatch;
use crate::outcome::{Outcome, Reason};
use crate::pace::{LongProgress, Progress, Rule};
use crate::places::{Places, part_study};
use crate::settings::Settings;
use crate::shortfall::Shortfall;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use threadwise_machine::Topology;
use threadwise_store::Store;
use threadwise_study::warmup::Warmup;
use threadwise_study::{Note, Run, Stopping, Study};

/// A running study.
pub(super) struct Driver<'a> {
    pub(super) study: Study,
    pub(super) topology: &'a Topology,
    pub(super) settings: &'a Settings,
    pub(super) store: &'a mut Store,
    pub(super) observer: &'a mut dyn FnMut(Event<'_>),
    pub(super) stop: &'a Arc<AtomicBool>,
    pub(super) places: Places,
    pub(super) clock: Clock,
    pub(super) rule: Rule,
    pub(super) progress: Progress,
    /// The limit of this start of the program, if it has one.
    pub(super) alarm: Option<Alarm>,
    /// Why the limit is too small, if that was found within a block.
    pub(super) short: Cell<Option<Shortfall>>,
    /// For each treatment the blocks of this run in which it had no usable run.
    pub(super) useless: Vec<u32>,
    /// Consecutive blocks in which every run failed.
    pub(super) lost_blocks: u32,
    pub(super) others: OthersWatch,
    /// Notes in the result file.
    pub(super) noted: BTreeSet<String>,
    /// Measured warm-ups by treatment.
    pub(super) warmups: Vec<Option<Warmup>>,
    /// Number of notes of workers since this start of the program.
    pub(super) worker_notes: usize,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        settings: &'a Settings,
        store: &'a mut Store,
        observer: &'a mut dyn FnMut(Event<'_>),
        stop: &'a Arc<AtomicBool>,
        places: Places,
    ) -> Result<Self, RunnerError> {
        store.supersede_incomplete_blocks()?;
        let study = part_study(settings, store);
        let planned = match (&settings.part_study, study.design.stopping) {
            (Some(_), Stopping::Blocks { blocks }) => Some(blocks),
            _ => store.planned_blocks()?,
        };
        let progress = Progress {
            blocks_done: u32::try_from(store.complete_blocks()?.len()).unwrap_or(u32::MAX),
            blocks_here: 0,
            planned,
            elapsed_s: 0.0,
            setup_s: 0.0,
            block_s: 0.0,
            long: LongProgress {
                design: study.design.long_windows,
                done: u32::try_from(store.complete_long_blocks()?.len()).unwrap_or(u32::MAX),
                block_s: study.long_block_floor_s(),
                spent_s: 0.0,
            },
        };
        let limit_s = settings.limit.map(|limit| limit.as_secs_f64());
        let rule = Rule { stopping: study.design.stopping, limit_s, rounds: study.rounds_by_budget() };
        let runs = store.runs()?;
        let clock = Clock::resumed(last_moment_ns(&runs).max(last_moment_ns(&store.long_runs()?)));
        let warmups = warmups(&study, &runs);
        let useless = vec![0; study.treatments.len()];
        Ok(Self {
            study,
            topology,
            settings,
            store,
            observer,
            stop,
            places,
            clock,
            rule,
            progress,
            alarm: limit_s.map(|_| Alarm::new(stop)),
            short: Cell::new(None),
            useless,
            lost_blocks: 0,
            others: OthersWatch::default(),
            noted: BTreeSet::new(),
            warmups,
            worker_notes: 0,
        })
    }

    pub(super) fn note(&mut self, note: impl Into<Note>) -> Result<(), RunnerError> {
        let note = note.into();
        self.store.note(note.clone())?;
        (self.observer)(Event::Note(&note.text));
        Ok(())
    }

    pub(super) fn now_s(&self) -> f64 {
        self.clock.now_ns() as f64 / 1e9
    }

    pub(super) fn outcome(&self, reason: Reason) -> Outcome {
        Outcome { blocks: self.progress.blocks_done, reason }
    }
}

/// Warm-ups that earlier starts of the study measured, including those of interrupted blocks.
fn warmups(study: &Study, runs: &[Run]) -> Vec<Option<Warmup>> {
    let of_treatment = |name: &str| {
        let mut runs = runs.iter().filter(|run| run.treatment == name);
        runs.find_map(|run| Warmup::of(&run.readings))
    };
    study.treatments.iter().map(|treatment| of_treatment(&treatment.name)).collect()
}

/// The end of the last slice, in nanoseconds since the study's start: where its clock continues.
fn last_moment_ns(runs: &[Run]) -> u64 {
    let ends = runs.iter().flat_map(|run| &run.slices);
    ends.map(|slice| slice.start_ns.saturating_add(slice.window_ns)).max().unwrap_or(0)
}
