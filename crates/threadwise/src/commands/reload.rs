//! `threadwise reload`: backup, restore, check and swap of many database files, and its helper processes.

mod args;
mod fault;
mod repair;
mod shown;

use crate::commands::{stop_flag, stop_flag_without_thread};
use crate::error::AppError;
use crate::output;
use crate::progress::Progress;
pub use args::{DatabasesArgs, ReloadArgs};
use args::{ReloadOrder, ReloadOriginals};
use fault::app_error;
pub use repair::Way;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use threadwise_machine::words::bytes;
use threadwise_process::watchdog::Start;
use threadwise_reload::apart;
use threadwise_reload::driver::{Driver, Settings};
use threadwise_reload::item::{ItemOptions, Outcome, Report, Stage};
use threadwise_reload::list::{self, Entry, Order};
use threadwise_reload::run::{self, Event, Options};
use threadwise_reload::watch;
use threadwise_reload::{Originals, driver};

/// A write beyond the limit of a file's size (`ulimit -f`) becomes an error, as on a full disk, instead of ending the
/// program (`signal(7)`, SIGXFSZ). Started programs have the default again.
fn catch_size_limit() -> Result<(), AppError> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|error| AppError::Failed(format!("cannot catch signals: {error}")))
}

/// Waits for the end of stdin, then recovers what a killed `reload` left.
pub fn watch(args: &DatabasesArgs, stdin: &mut dyn Read) -> Result<(), AppError> {
    catch_size_limit()?;
    let settings = settings(args.wait, &args.engine_option, None);
    let results = watch::watch(stdin, &settings);
    match results.into_iter().find_map(|(_, result)| result.err()) {
        Some(error) => Err(AppError::failed(error)),
        None => Ok(()),
    }
}

/// Recovers databases that a killed `reload` left, or only says of which something is left.
///
/// # Errors
/// A path does not exist, and nothing is touched; or something could not be recovered.
pub fn recover(paths: &[PathBuf], args: &DatabasesArgs, way: &Way) -> Result<(), AppError> {
    catch_size_limit()?;
    repair::recover(paths, &settings(args.wait, &args.engine_option, None), way)
}

/// Processes one item for a `reload` by root, as the item's owner.
pub fn as_owner() -> Result<(), AppError> {
    catch_size_limit()?;
    let stop = stop_flag_without_thread()?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    socket.and_then(|socket| apart::serve(socket, stop)).map_err(AppError::failed)
}

/// The subcommand.
pub fn reload(args: &ReloadArgs) -> Result<(), AppError> {
    catch_size_limit()?;
    let settings = settings(args.wait, &args.engine_option, args.page_size);
    let engine = args.engine.name();
    let driver = driver(engine, &settings)
        .ok_or_else(|| AppError::Input(format!("engine {engine} cannot reload files")))?;
    let tools = driver.prepare().map_err(app_error)?;
    if args.unseal {
        return repair::unseal(args, &settings, driver.as_ref());
    }
    let entries = list::read(&args.files).map_err(app_error)?;
    if args.dry_run {
        return dry_run(args, &entries, driver.as_ref(), &settings, &tools);
    }
    let stop = stop_flag()?;
    let options = Options {
        item: ItemOptions { settings, originals: originals(args), stop, ..ItemOptions::default() },
        jobs: usize::from(args.jobs),
        order: match args.order {
            ReloadOrder::Given => Order::Given,
            ReloadOrder::Largest => Order::Largest,
            ReloadOrder::Shuffled => Order::Shuffled,
        },
        seed: args.seed.map_or_else(super::drawn_seed, Ok)?,
        log: args.log.clone(),
        watchdog: Some(start(args)?),
    };
    let begun = Instant::now();
    let mut view = View::new(&entries, &tools);
    let reports = run::run(&entries, driver.as_ref(), &options, &mut |event| view.show(event));
    view.progress.finish();
    let reports = reports.map_err(app_error)?;
    let seconds = begun.elapsed().as_secs_f64();
    output::print(&match args.json {
        true => shown::json(engine, &reports, seconds),
        false => shown::text(&reports, seconds, engine),
    })?;
    verdict(&reports)
}

fn settings(wait_s: f64, engine: &[(String, String)], page_size_bytes: Option<u32>) -> Settings {
    Settings {
        page_size_bytes,
        wait: Duration::try_from_secs_f64(wait_s).unwrap_or(Duration::MAX / 4),
        engine: engine.iter().cloned().collect(),
        // Use the open program file, so that neither its path nor a new version matters.
        as_owner: Some(Start::new("/proc/self/exe", ["reload-as-owner"])),
    }
}

fn originals(args: &ReloadArgs) -> Originals {
    match args.originals {
        ReloadOriginals::Keep => Originals::Keep,
        ReloadOriginals::Remove => Originals::Remove,
    }
}

/// This program as the watchdog of its own run.
fn start(args: &ReloadArgs) -> Result<Start, AppError> {
    let program = std::env::current_exe().map_err(|error| {
        AppError::Failed(format!("cannot find the threadwise program for the watchdog: {error}"))
    })?;
    let wait = format!("{}ms", (args.wait * 1e3).ceil());
    let mut words = ["watchdog", "databases", "--wait", &wait].map(OsString::from).to_vec();
    for (key, value) in &args.engine_option {
        words.extend(["--engine-option".into(), format!("{key}={value}").into()]);
    }
    // Its tools are found as this run's are.
    Ok(Start { variables: std::env::vars_os().map(|(name, _)| name).collect(), ..Start::new(program, words) })
}

/// The exit code for the reports.
fn verdict(reports: &[Report]) -> Result<(), AppError> {
    let count = |wanted: &dyn Fn(&Outcome) -> bool| reports.iter().filter(|r| wanted(&r.outcome)).count();
    let stopped = count(&|outcome| *outcome == Outcome::Stopped);
    let skipped = count(&|outcome| matches!(outcome, Outcome::Skipped(_)));
    let failed = count(&|outcome| matches!(outcome, Outcome::Failed(_)));
    if stopped > 0 {
        return Err(AppError::Interrupted(format!(
            "stopped: {stopped} of {} left unchanged",
            shown::count(reports.len(), "file")
        )));
    }
    match skipped + failed {
        0 => Ok(()),
        _ => {
            let all = shown::count(reports.len(), "file");
            Err(AppError::Failed(format!("{skipped} skipped and {failed} failed of {all}")))
        }
    }
}

/// Progress: each file's stage and end, bytes done of all, and the estimated time left.
struct View<'a> {
    entries: &'a [Entry],
    progress: Progress,
    begun: Instant,
    files: usize,
    bytes: u64,
    all_bytes: u64,
}

impl<'a> View<'a> {
    fn new(entries: &'a [Entry], tools: &str) -> Self {
        let all_bytes = entries.iter().map(|entry| entry.size_bytes).sum();
        let progress = Progress::new(false);
        let files = shown::count(entries.len(), "file");
        progress.step(&format!("{files}, {} with {tools}", bytes(all_bytes)));
        Self { entries, progress, begun: Instant::now(), files: 0, bytes: 0, all_bytes }
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::Stage { index, stage } => self.stage(*index, *stage),
            Event::Ended { index, report } => {
                self.files += 1;
                self.bytes += self.entries[*index].size_bytes;
                let brief = shown::brief(report);
                self.progress.step(&format!("{}/{} {brief}", self.files, self.entries.len()));
                let share = self.bytes as f64 / self.all_bytes.max(1) as f64;
                let left = self.begun.elapsed().mul_f64((1.0 / share.max(1e-6) - 1.0).clamp(0.0, 1e6));
                self.progress.slices(self.bytes, self.all_bytes, left);
            }
        }
    }

    fn stage(&self, index: usize, stage: Stage) {
        let name = shown::path(&self.entries[index].path);
        self.progress.pass(&format!("{}/{} {name}: {}", self.files, self.entries.len(), stage.word()));
    }
}

fn dry_run(
    args: &ReloadArgs,
    entries: &[Entry],
    driver: &dyn Driver,
    settings: &Settings,
    tools: &str,
) -> Result<(), AppError> {
    let looked: Vec<(PathBuf, Option<String>)> = entries
        .iter()
        .map(|entry| {
            (
                entry.path.clone(),
                entry
                    .allowed()
                    .and_then(|()| run::look(&entry.database, driver, settings))
                    .err()
                    .map(|why| why.to_string()),
            )
        })
        .collect();
    let in_the_way = looked.iter().filter(|(_, why)| why.is_some()).count();
    output::print(&match args.json {
        true => shown::results_json("dry_run", &looked, "would be reloaded"),
        false => {
            let all: u64 = entries.iter().map(|entry| entry.size_bytes).sum();
            let files = shown::count(entries.len(), "file");
            let head = format!(
                "{files}, {} with {tools}; only the run checks whether a file is damaged\n",
                bytes(all)
            );
            head + &shown::results(&looked, "would be reloaded")
        }
    })?;
    match in_the_way {
        0 => Ok(()),
        number => {
            let all = shown::count(entries.len(), "file");
            Err(AppError::Failed(format!("{number} of {all} would be skipped")))
        }
    }
}
