//! A whole study: data, blocks, looks, storing, and the results from before a resume.

mod driver;
mod limit;

use crate::RunnerError;
use crate::block::{self, Input, Means, Output};
use crate::event::Event;
use crate::guard;
use crate::hardware;
use crate::housekeeping::{self, Kept};
use crate::load::{self, Data};
use crate::outcome::{Decision, Outcome, Reason};
use crate::pace::{self, Next};
use crate::places::{Places, left_behind, open_devices, open_workdir, part_study};
use crate::queries;
use crate::settings::Settings;
use crate::switch::Switch;
use crate::watch::Watch;
use crate::workdir::Workdir;
use driver::Driver;
use limit::Starts;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_engine::OTHERS_WAITED;
use threadwise_machine::Topology;
use threadwise_probe::bench::ProbeError;
use threadwise_smt::Live;
use threadwise_store::{EndState, Problem, Store, StoreError};
use threadwise_study::{BlockPlan, Note, Role, Run, RunStatus, Slice, Workload, plan_block, plan_long_block};

/// Called for every slice of a block: the study's observer, the slice's number in the block, its treatment, the
/// slice.
type OnSlice<'a> = dyn FnMut(&mut dyn FnMut(Event<'_>), u64, &str, Option<&Slice>) + 'a;

/// Blocks in which A or A′ may fail at the start before the study gives up.
const BASELINE_TRIES: u32 = 2;

/// Consecutive blocks in which every run may fail before the engine counts as lost.
const LOST_BLOCKS: u32 = 2;

/// Workers that prepare at once for each logical CPU. Each is bound to its own logical CPUs, so with fewer some would
/// wait for the same one while another is idle.
const PREPARING_PER_CPU: usize = 2;

/// Most notes of workers that are kept: each is written durably, and must be read by a person.
const WORKER_NOTES: usize = 250;

/// Runs a study into its file: all of it, or what a resumed file lacks. Looks at the results only
/// when `--until` is due to look: `decide` gets all runs and the number of complete blocks.
///
/// Whether the machine is fit for measuring is asked before the file is made: [`guard::check_start`].
///
/// Workers die with the calling thread. `stop` ends the study after the present slice; complete blocks
/// stay.
///
/// # Errors
/// See [`RunnerError`]; what was stored stays.
pub fn run(
    topology: &Topology,
    settings: &Settings,
    store: &mut Store,
    observer: &mut dyn FnMut(Event<'_>),
    decide: &mut dyn FnMut(&[Run], u32) -> Decision,
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, RunnerError> {
    let result = in_workdir(topology, settings, store, observer, decide, stop);
    let done = result.as_ref().map_or(0, |outcome| outcome.blocks);
    let has_more_parts = store.study().external.as_ref().is_some_and(|arms| done < arms.all_blocks());
    let state = match result.as_ref().map(|outcome| &outcome.reason) {
        Ok(Reason::PlanDone) if has_more_parts => EndState::Stopped,
        Ok(Reason::PlanDone | Reason::TargetReached | Reason::BudgetOver) => EndState::Complete,
        Ok(Reason::Interrupted | Reason::Short(_)) | Err(RunnerError::Stopped) => EndState::Stopped,
        Ok(Reason::OthersWaited(_)) | Err(_) => EndState::Failed,
    };
    let stored = store.finish(state);
    let outcome = result?;
    stored?;
    observer(Event::Finished { blocks: outcome.blocks });
    Ok(outcome)
}

/// The study in its private folder, which is removed afterwards in any case.
fn in_workdir(
    topology: &Topology,
    settings: &Settings,
    store: &mut Store,
    observer: &mut dyn FnMut(Event<'_>),
    decide: &mut dyn FnMut(&[Run], u32) -> Decision,
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, RunnerError> {
    let mut workdir = open_workdir(settings, store, observer)?;
    let study = part_study(settings, store);
    let devices = open_devices(&study, settings)?;
    let outcome = Places::make(&mut workdir, &devices, &study, settings.worker.is_client())
        .and_then(|places| Driver::new(topology, settings, store, observer, stop, places)?.drive(decide));
    let closed: Vec<_> = devices.into_values().chain([workdir]).map(Workdir::close).collect();
    let noted = closed
        .into_iter()
        .try_for_each(|closed| closed.or_else(|error| left_behind(store, observer, &error.to_string())));
    let outcome = outcome?;
    noted.map(|()| outcome)
}

impl Driver<'_> {
    fn drive(mut self, decide: &mut dyn FnMut(&[Run], u32) -> Decision) -> Result<Outcome, RunnerError> {
        self.plan()?;
        // A complete study has nothing left to load.
        if pace::next(self.rule, &self.progress) == Next::End {
            return Ok(self.outcome(Reason::PlanDone));
        }
        self.limit_setup();
        match self.measure(decide) {
            Err(RunnerError::Stopped) if self.is_out_of_time() => {
                self.short.set(Some(self.not_set_up()));
                let reason = self.follow(self.next_without_time(), decide)?;
                Ok(self.outcome(reason.unwrap_or(Reason::Interrupted)))
            }
            ended => ended,
        }
    }

    /// Everything from the probe to the end of the workers that stayed.
    fn measure(&mut self, decide: &mut dyn FnMut(&[Run], u32) -> Decision) -> Result<Outcome, RunnerError> {
        self.probe()?;
        let (mut watch, notes) = Watch::new(self.topology);
        let data = self.load()?;
        // A failed reading need not be shown during the wait; the report has it.
        notes.into_iter().try_for_each(|note| self.store.note(note))?;
        self.noted = self.store.notes()?.into_iter().map(|note| note.text).collect();
        data.notes().try_for_each(|note| self.note_of_worker(note.as_str().into()))?;
        let kernel = Live::new();
        let reason = self.switched(&kernel, &data, &mut watch, decide);
        // Whatever the outcome of the blocks, the workers that stayed end with the study.
        let left = data.end(self.stop);
        let outcome = self.outcome(reason?);
        if let Some(why) = left {
            self.note(format!("at the study's end: {why}"))?;
        }
        Ok(outcome)
    }

    /// All blocks, and the machine restored after them, whatever their outcome.
    fn switched(
        &mut self,
        kernel: &Live,
        data: &Data,
        watch: &mut Watch,
        decide: &mut dyn FnMut(&[Run], u32) -> Decision,
    ) -> Result<Reason, RunnerError> {
        let mut switch = Switch::begin(&self.study, self.settings, kernel)?;
        let reason = self.blocks(data, watch, &mut switch, decide);
        let restored = switch.map_or(Ok(()), Switch::restore);
        if let Err(error) = &restored {
            let text = error.to_string();
            self.store.note(text.as_str())?;
            (self.observer)(Event::LeftBehind(&text));
        }
        let reason = reason?;
        restored.map(|()| reason)
    }

    /// Block after block until something ends the study.
    fn blocks(
        &mut self,
        data: &Data,
        watch: &mut Watch,
        switch: &mut Option<Switch<'_>>,
        decide: &mut dyn FnMut(&[Run], u32) -> Decision,
    ) -> Result<Reason, RunnerError> {
        let _kept = self.keep_house()?;
        if let Some(short) = self.set_up() {
            return Ok(Reason::Short(short));
        }
        let mut is_long = pace::starts_long(self.rule, &self.progress);
        loop {
            let means = Means { watch: &mut *watch, switch: switch.as_mut() };
            let ended = if is_long { self.long_block(data, means)? } else { self.block(data, means)? };
            let next = match ended {
                Some(Reason::Interrupted) if self.is_out_of_time() => self.next_without_time(),
                Some(reason) => return Ok(reason),
                None => pace::next(self.rule, &self.progress),
            };
            is_long = next == Next::LongBlock;
            if let Some(reason) = self.follow(next, decide)? {
                return Ok(reason);
            }
        }
    }

    /// Probes the hardware and stores the result. A machine that cannot be probed can still be measured:
    /// the notes say why.
    fn probe(&mut self) -> Result<(), RunnerError> {
        if !self.settings.probe || self.study.is_simulated() {
            return Ok(());
        }
        let started_s = self.now_s();
        let observer = &mut *self.observer;
        let found = hardware::probe(self.topology, self.study.seed, self.stop, &mut |phase, share| {
            observer(Event::Probing { what: phase.words(), share });
        });
        match found {
            Err(ProbeError::Stopped) => Err(RunnerError::Stopped),
            Ok(probe) if probe.interrupted => Err(RunnerError::Stopped),
            Ok(probe) => match self.store.add_probe(started_s, &probe) {
                Err(error @ StoreError { problem: Problem::Unstorable(_), .. }) => {
                    self.note(format!("what the probe found cannot be stored: {error}"))
                }
                stored => Ok(stored?),
            },
            Err(error) => self.note(format!("the hardware was not probed: {error}")),
        }
    }

    /// Binds this thread, and with it the telemetry, to one logical CPU until the study's end.
    fn keep_house(&mut self) -> Result<Option<Kept>, RunnerError> {
        let Some(chosen) = housekeeping::choose_cpu(&self.study, self.topology)? else { return Ok(None) };
        let (kept, note) = match Kept::on(chosen.cpu) {
            Ok(kept) => (Some(kept), chosen.to_string()),
            Err(error) => (None, format!("telemetry has no logical CPU of its own: {error}")),
        };
        // A resumed study has reported it before.
        if !self.store.notes()?.iter().any(|earlier| earlier.text == note) {
            self.note(note)?;
        }
        Ok(kept)
    }

    fn load(&mut self) -> Result<Data, RunnerError> {
        let limit = guard::memory_limit_bytes(Path::new("/"), self.topology.limits.memory_bytes);
        let folders = self.places.folders();
        let allowed = self.topology.allowed();
        let queries = match &self.settings.queries {
            Some(settings) if self.study.workload == Workload::Tpch => {
                Some(queries::prepare(&self.study, settings, &allowed, folders, self.stop, self.observer)?)
            }
            _ => None,
        };
        let loaded =
            load::load_all(&self.study, self.settings, &allowed, folders, limit, self.stop, self.observer);
        if loaded.as_ref().is_err_and(load::was_cut_short) {
            load::drop_left(&self.study, self.settings.users_server, folders.data);
        }
        loaded.map(|data| Data { queries, ..data })
    }

    /// Runs and stores one block of slices. A reason ends the study.
    fn block(&mut self, data: &Data, means: Means<'_, '_>) -> Result<Option<Reason>, RunnerError> {
        if let Some(reason) = self.await_connections()? {
            return Ok(Some(reason));
        }
        let block = self.progress.blocks_done;
        let plan = plan_block(&self.study, self.topology, block)?;
        let planned = self.progress.planned;
        (self.observer)(Event::BlockStarted { block, blocks: planned });
        let first = block::first_sequence(&self.study, block);
        let total = block::first_sequence(&self.study, planned.unwrap_or(block + 1));
        let mut slices = 0;
        let output = self.planned(&plan, data, means, &mut |observer, number, treatment, slice| {
            slices = number + 1;
            observer(Event::SliceFinished { done: first + number + 1, total, treatment, slice });
        })?;
        if output.interrupted {
            self.broken_off(slices);
            self.store.supersede_incomplete_blocks()?;
            return Ok(Some(Reason::Interrupted));
        }
        self.after_block(&output)
    }

    /// Runs and stores one block of long windows. A reason ends the study.
    fn long_block(&mut self, data: &Data, means: Means<'_, '_>) -> Result<Option<Reason>, RunnerError> {
        if let Some(reason) = self.await_connections()? {
            return Ok(Some(reason));
        }
        let (number, count) =
            (self.progress.long.done, self.progress.long.design.map_or(0, |long| long.blocks));
        let Some(plan) = plan_long_block(&self.study, self.topology, number)? else { return Ok(None) };
        let began_s = self.settings.began.elapsed().as_secs_f64();
        (self.observer)(Event::LongBlockStarted { number, count });
        let output = self.planned(&plan, data, means, &mut |observer, _, treatment, _| {
            observer(Event::LongWindowFinished { treatment });
        })?;
        if output.interrupted {
            self.store.supersede_incomplete_blocks()?;
            return Ok(Some(Reason::Interrupted));
        }
        let progress = &mut self.progress;
        progress.elapsed_s = self.settings.began.elapsed().as_secs_f64();
        progress.long.block_s = progress.elapsed_s - began_s;
        progress.long.spent_s += progress.long.block_s;
        progress.long.done += 1;
        self.others_waited(&output)
    }

    /// Waits for the connections of a user's server. A reason ends the study.
    fn await_connections(&mut self) -> Result<Option<Reason>, RunnerError> {
        let Err(why) = load::await_connections(&self.study, self.settings.users_server, self.stop) else {
            return Ok(None);
        };
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Some(Reason::Interrupted));
        }
        self.note(why.as_str())?;
        Ok(Some(Reason::OthersWaited(why)))
    }

    /// Runs a block and stores its runs. The block is complete if it was not interrupted.
    fn planned(
        &mut self,
        plan: &BlockPlan,
        data: &Data,
        means: Means<'_, '_>,
        on_slice: &mut OnSlice<'_>,
    ) -> Result<Output, RunnerError> {
        let attempt = self.store.next_attempt(plan.block)?;
        self.store.block_started(plan.block, attempt, self.now_s())?;
        let allowed = self.topology.allowed();
        let concurrent = PREPARING_PER_CPU * allowed.len();
        let starts = Starts::new(
            self.alarm.as_ref(),
            &self.short,
            self.rule,
            self.progress,
            (&self.study, &self.warmups),
            concurrent,
        );
        let input = Input {
            study: &self.study,
            topology: self.topology,
            plan,
            attempt,
            loads: &data.loads,
            allowed: &allowed,
            settings: self.settings,
            folders: self.places.folders(),
            clock: self.clock,
            concurrent,
            queries: data.queries.as_ref(),
            on_ready: &|start_s| starts.took(start_s),
            warmups: &self.warmups,
            on_warm: &|warmups| starts.warmed(warmups),
            stop: self.stop,
        };
        let observer = &mut *self.observer;
        let output = block::run_block(&input, means, &mut |number, treatment, slice| {
            on_slice(observer, number, treatment, slice);
        });
        self.warmups.clone_from(&output.warmups);
        for note in &output.notes {
            self.note_of_worker(note.clone())?;
        }
        match output.interrupted {
            true => output.runs.iter().try_for_each(|run| self.append(run))?,
            false => self.complete(&output.runs, plan.block, attempt)?,
        }
        Ok(output)
    }

    /// Stores a complete block.
    fn complete(&mut self, runs: &[Run], block: u32, attempt: u32) -> Result<(), RunnerError> {
        match self.store.append_block(runs, block, attempt, self.now_s()) {
            // One bad run must not affect the others.
            Err(StoreError { problem: Problem::Unstorable(_), .. }) => {
                runs.iter().try_for_each(|run| self.append(run))?;
                Ok(self.store.block_complete(block, attempt, self.now_s())?)
            }
            stored => {
                stored?;
                runs.iter().for_each(|run| (self.observer)(Event::RunStored(run)));
                Ok(())
            }
        }
    }

    /// Stores a run. One that the file cannot hold is stored as failed.
    fn append(&mut self, run: &Run) -> Result<(), RunnerError> {
        match self.store.append_run(run) {
            Err(error @ StoreError { problem: Problem::Unstorable(_), .. }) => {
                let status = RunStatus::Failed { kind: "protocol".to_owned(), message: error.to_string() };
                let bare = Run { status, slices: Vec::new(), readings: Vec::new(), ..run.clone() };
                self.store.append_run(&bare)?;
                (self.observer)(Event::RunStored(&bare));
            }
            stored => {
                stored?;
                (self.observer)(Event::RunStored(run));
            }
        }
        Ok(())
    }

    /// Counts a complete block, and returns a reason against another one.
    fn after_block(&mut self, output: &Output) -> Result<Option<Reason>, RunnerError> {
        let block = self.progress.blocks_done;
        let floor_s = self.floor_s();
        let progress = &mut self.progress;
        progress.blocks_here += 1;
        progress.blocks_done += 1;
        // What is measured once a study is not part of the remaining blocks.
        progress.setup_s += output.warmup_s;
        progress.elapsed_s = self.settings.began.elapsed().as_secs_f64();
        let blocks_s = progress.elapsed_s - progress.setup_s - progress.long.spent_s;
        progress.block_s = blocks_s / f64::from(progress.blocks_here);
        if progress.long.spent_s == 0.0 {
            // The overhead of windows is that of other blocks, until one is seen.
            let around_s = (progress.block_s - floor_s).max(0.0);
            progress.long.block_s = self.study.long_block_floor_s() + around_s;
        }
        self.plan()?;
        let eta_s = pace::eta_s(self.rule, &self.progress);
        (self.observer)(Event::BlockFinished { block, eta_s });
        self.check_baselines(&output.runs)?;
        self.others_waited(output)
    }

    /// Whether others needed what the block used, which ends the study.
    fn others_waited(&mut self, output: &Output) -> Result<Option<Reason>, RunnerError> {
        // On the user's server: whatever this machine's load may be.
        let felt = output.runs.iter().find_map(|run| match &run.status {
            RunStatus::Failed { kind, message } if kind == OTHERS_WAITED => Some(message.clone()),
            _ => None,
        });
        if let Some(why) = felt {
            self.note(why.as_str())?;
            return Ok(Some(Reason::OthersWaited(why)));
        }
        if self.settings.allow_busy {
            return Ok(None);
        }
        let why = self.others.block(output.used.as_ref(), &self.topology.allowed());
        if let Some(why) = &why {
            self.note(why.as_str())?;
        }
        Ok(why.map(Reason::OthersWaited))
    }

    fn check_baselines(&mut self, runs: &[Run]) -> Result<(), RunnerError> {
        for (useless, run) in self.useless.iter_mut().zip(runs) {
            *useless += u32::from(!run.status.is_valid());
        }
        let all_failed = runs.iter().all(|run| matches!(run.status, RunStatus::Failed { .. }));
        self.lost_blocks = if all_failed { self.lost_blocks + 1 } else { 0 };
        if let (true, Some(run)) =
            (self.lost_blocks >= LOST_BLOCKS && self.progress.blocks_here > LOST_BLOCKS, runs.last())
        {
            return Err(RunnerError::Lost { why: status_text(&run.status) });
        }
        if self.progress.blocks_here != BASELINE_TRIES {
            return Ok(());
        }
        let failing =
            self.study.treatments.iter().zip(&self.useless).zip(runs).find(|((treatment, useless), _)| {
                treatment.role != Role::Compared && **useless == BASELINE_TRIES
            });
        match failing {
            Some(((treatment, _), run)) => Err(RunnerError::Baseline {
                treatment: treatment.name.clone(),
                why: status_text(&run.status),
            }),
            None => Ok(()),
        }
    }

    /// Notes of every block are kept once, and their number is limited.
    fn note_of_worker(&mut self, note: Note) -> Result<(), RunnerError> {
        if self.worker_notes > WORKER_NOTES || !self.noted.insert(note.text.clone()) {
            return Ok(());
        }
        self.worker_notes += 1;
        match self.worker_notes > WORKER_NOTES {
            true => self.note(format!("notes of workers after the first {WORKER_NOTES} were left out")),
            false => self.note(note),
        }
    }
}

fn status_text(status: &RunStatus) -> String {
    match status {
        RunStatus::Failed { kind, message } | RunStatus::Invalid { kind, message } => {
            format!("{message} ({kind})")
        }
        RunStatus::Valid | RunStatus::Superseded => String::new(),
    }
}
