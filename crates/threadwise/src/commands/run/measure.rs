//! The measurement: the result file, the runner's settings, progress and looks.

use super::boots::{self, NOT_PROBED};
use super::fault::runner_error;
use super::prepare::{Job, time};
use super::{arms, command, worklist};
use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
use crate::opened::alpha_share;
use crate::output;
use crate::progress::Progress;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use threadwise_analysis::{analyse, reached};
use threadwise_document::numbers;
use threadwise_machine::Topology;
use threadwise_process::watchdog::Start;
use threadwise_runner::{Decision, Event, Looks, Outcome, Reason, Settings};
use threadwise_store::Store;
use threadwise_study::{Note, NoteCode, Run, Stopping, Study};

/// Runs the job to its end.
pub fn measure(
    job: &mut Job,
    topology: &Topology,
    args: &RunArgs,
    began: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<Outcome, AppError> {
    let resumed = job.store.take();
    let fresh = resumed.is_none();
    let mut store = match resumed {
        Some(store) => store,
        None => {
            let mut store =
                Store::create(&job.output, &job.whole, topology, &job.versions).map_err(AppError::failed)?;
            let not_probed = job.no_probe.then(|| Note::new(NoteCode::NotProbed, NOT_PROBED));
            for note in not_probed.into_iter().chain(job.notes.iter().map(|note| note.as_str().into())) {
                store.note(note).map_err(AppError::failed)?;
            }
            store
        }
    };
    store.set_asked(&job.asked).map_err(AppError::failed)?;
    enter(&mut store, job)?;
    let probe = !job.no_probe && (fresh || probed_before(&store)?);
    // Looks of several boots would be judged as one machine's.
    let looks = if probe && job.part.is_none() { Looks::All } else { Looks::None };
    let switching = arms::switching(&job.study)?;
    let settings = Settings { probe, looks, began, limit: job.limit, switching, ..settings(job, args) };
    let progress = Progress::new(args.measure.json);
    let mut shown = Shown::new(job, began, &progress);
    let outcome = threadwise_runner::run(
        topology,
        &settings,
        &mut store,
        &mut |event| shown.event(&event),
        &mut |runs, _| decide(&job.study, runs),
        stop,
    );
    progress.finish();
    shown.left_behind.iter().for_each(|text| output::tell(&format!("threadwise: {text}")));
    let is_in_vain = match &outcome {
        Ok(outcome) => matches!(outcome.reason, Reason::Short(_)) && outcome.blocks == 0,
        Err(_) => store.runs().is_ok_and(|runs| runs.is_empty()),
    };
    if is_in_vain && fresh {
        // New and empty: a file without a measurement would only be in the way. The first error is the one to
        // report.
        drop(store);
        let _ = std::fs::remove_file(&job.output);
    }
    outcome.map_err(|error| runner_error(&error))
}

/// Records in the result file the boot and arm that is measured now, and what the arm lacks.
fn enter(store: &mut Store, job: &Job) -> Result<(), AppError> {
    let arm = job.part.as_ref().map(|(part, _)| part.arm.as_str());
    let known = store.boots().map_err(AppError::failed)?.len();
    let number = store.enter_boot(&job.boot, arm, &job.versions.engine_version, &boots::now_utc());
    let number = number.map_err(AppError::failed)?;
    let Some((part, left_out)) = job.part.as_ref().filter(|_| number as usize > known) else { return Ok(()) };
    for line in left_out {
        store.note(format!("boot {number}, arm {}: left out: {line}", part.arm)).map_err(AppError::failed)?;
    }
    Ok(())
}

fn settings(job: &Job, args: &RunArgs) -> Settings {
    let mut settings = Settings::new(job.program.worker.clone());
    settings.other_workers.clone_from(&job.program.others);
    settings.queries.clone_from(&job.program.queries);
    settings.users_server = engines::find(&job.study.engine).filter(|_| job.study.is_users_server());
    settings.started_programs = engines::started_programs();
    // Without a watchdog the next start cleans up after this one.
    settings.watchdog =
        std::env::current_exe().ok().map(|program| Start::new(program, ["watchdog", "folder"]));
    if let Some(folder) = &args.measure.data_dir {
        settings.data_root.clone_from(folder);
    }
    if let Some(scale) = job.scale() {
        // Loading a gigabyte takes a server some minutes, and an engine in memory some seconds.
        settings.deadlines.load = settings.deadlines.load.mul_f64(scale.max(1.0));
        settings.deadlines.prepare = settings.deadlines.prepare.mul_f64(scale.max(1.0));
    }
    command::deadlines(&job.study, &mut settings.deadlines);
    worklist::deadlines(&job.study, &mut settings.deadlines);
    settings.allow_busy = args.measure.allow_busy || job.is_simulated();
    settings.part_study = job.part.is_some().then(|| job.study.clone());
    settings
}

/// Whether a continued study looks at the hardware around its blocks: as its first part did, since blocks with and
/// without looks are not comparable. If no run was stored, the study's own settings decide.
fn probed_before(store: &Store) -> Result<bool, AppError> {
    let notes = store.notes().map_err(AppError::failed)?;
    if notes.iter().any(|note| note.code == NoteCode::NotProbed) {
        return Ok(false);
    }
    let runs = store.runs().map_err(AppError::failed)?;
    Ok(runs.is_empty() || !store.probes().map_err(AppError::failed)?.is_empty())
}

/// A look of `--until`: stops when every throughput ratio is narrow enough.
fn decide(study: &Study, runs: &[Run]) -> Decision {
    let Stopping::Until { half_width, .. } = study.design.stopping else { return Decision::Continue };
    match reached(&analyse(study, runs, alpha_share(study)), half_width) {
        true => Decision::Stop,
        false => Decision::Continue,
    }
}

/// Turns events into progress.
struct Shown<'a> {
    progress: &'a Progress,
    /// End of the time, as far as known before the number of blocks is fixed.
    until: Instant,
    is_limited: bool,
    /// Slices already done at this program's first one, and when that was.
    first: Option<(u64, Instant)>,
    planned: bool,
    /// What could not be removed or restored: reported at the end, after the progress bar.
    left_behind: Vec<String>,
}

impl<'a> Shown<'a> {
    fn new(job: &Job, began: Instant, progress: &'a Progress) -> Self {
        let budget_s = match job.study.design.stopping {
            Stopping::Budget { budget_s } | Stopping::Until { budget_s, .. } => budget_s,
            Stopping::Blocks { blocks } => f64::from(blocks) * job.study.block_floor_s(),
        };
        let until = began + job.limit.unwrap_or(Duration::from_secs_f64(budget_s));
        Self {
            progress,
            until,
            is_limited: job.limit.is_some(),
            first: None,
            planned: false,
            left_behind: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(text) => self.progress.step(text),
            Event::LeftBehind(text) => self.left_behind.push((*text).to_owned()),
            Event::Probing { what, share } => {
                self.progress.share(*share);
                self.progress.pass(&format!("measuring {what}"));
            }
            Event::Making { what, share } => {
                self.progress.share(*share);
                self.progress.pass(what);
            }
            Event::Loading { what, number, count } => {
                self.progress.pass(&format!("data {} of {count}: {what}", number + 1));
            }
            Event::Planned { blocks, eta_s } => {
                self.planned = true;
                let left = eta_s.map(|eta_s| format!(", about {} left", time(eta_s)));
                let blocks = numbers::counted(*blocks as usize, "block");
                self.progress.step(&format!("{blocks}{}", left.unwrap_or_default()));
            }
            Event::BlockStarted { block, blocks } => {
                let total = blocks.map_or(String::new(), |blocks| format!(" of {blocks}"));
                self.progress.pass(&format!("block {}{total}", block + 1));
            }
            Event::LongBlockStarted { number, count } => {
                self.progress.pass(&format!("long windows {} of {count}", number + 1));
            }
            Event::LongWindowFinished { treatment } => {
                self.progress.pass(&format!("long window of {treatment}"));
            }
            Event::SliceFinished { done, total, .. } => {
                let left = self.left(*done, *total);
                self.progress.slices(*done, *total, left);
            }
            Event::RunStored(_) | Event::BlockFinished { .. } | Event::Finished { .. } => {}
        }
    }

    /// Time left: from the pace so far once the number of blocks is fixed, from the budget before, and within the
    /// limit.
    fn left(&mut self, done: u64, total: u64) -> Duration {
        let (first, since) = *self.first.get_or_insert((done, Instant::now()));
        let measured = done.saturating_sub(first);
        let until = self.until.saturating_duration_since(Instant::now());
        if !self.planned || measured == 0 {
            return until;
        }
        let left = since.elapsed().mul_f64(total.saturating_sub(done) as f64 / measured as f64);
        if self.is_limited { left.min(until) } else { left }
    }
}
