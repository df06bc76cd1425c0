//! One queue of files and N jobs that take from it.

use crate::apart;
use crate::driver::{Driver, Settings};
use crate::error::{ItemError, ReloadError};
use crate::folder::path_of;
use crate::identity::{Identity, parent};
use crate::item::reload;
use crate::list::{Entry, Order, ordered};
use crate::log::Log;
use crate::options::ItemOptions;
use crate::refuse;
use crate::report::{Outcome, Report, Stage};
use crate::runs_as::{self, RunsAs};
use crate::watch::Watchdog;
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use threadwise_process::watchdog::Start;

/// Options for reloading a list.
#[derive(Clone, Default)]
pub struct Options {
    /// Options for each item.
    pub item: ItemOptions,
    /// Items at once; at least one.
    pub jobs: usize,
    /// Order of the items.
    pub order: Order,
    /// Seed of a random order.
    pub seed: u64,
    /// Log of finished files.
    pub log: Option<PathBuf>,
    /// The watchdog; `None` leaves the recovery of a killed run to the next one.
    pub watchdog: Option<Start>,
}

/// An event of an item; `index` is its place in the given list.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A stage began.
    Stage {
        /// The item.
        index: usize,
        /// The stage.
        stage: Stage,
    },
    /// The item ended.
    Ended {
        /// The item.
        index: usize,
        /// The outcome.
        report: Box<Report>,
    },
}

/// Shared by the jobs.
struct Shared<'a> {
    entries: &'a [Entry],
    queue: Vec<usize>,
    next: AtomicUsize,
    driver: &'a dyn Driver,
    options: &'a Options,
    log: Option<Mutex<Log>>,
    watchdog: Option<Watchdog>,
}

/// Reloads a list; reports are in its order. `on_event` is called on the calling thread.
///
/// # Errors
/// The log or the watchdog cannot be used, or no thread can be started; nothing was touched.
pub fn run(
    entries: &[Entry],
    driver: &dyn Driver,
    options: &Options,
    on_event: &mut dyn FnMut(&Event),
) -> Result<Vec<Report>, ReloadError> {
    let page_size = options.item.settings.page_size_bytes;
    let made =
        || format!("{}:{}", driver.name(), page_size.map_or("own".to_owned(), |size| size.to_string()));
    let log = options.log.as_deref().map(|path| Log::open(path, made())).transpose()?.map(Mutex::new);
    let watchdog = options.watchdog.clone().map(Watchdog::start).transpose()?;
    let queue = ordered(entries, options.order, options.seed);
    let shared = Shared { entries, queue, next: AtomicUsize::new(0), driver, options, log, watchdog };
    let mut reports: Vec<Report> =
        entries.iter().map(|entry| sized(Report::of(&entry.path, Outcome::Stopped), entry)).collect();
    let (sender, events) = channel();
    std::thread::scope(|scope| {
        let mut started = 0;
        for job in 0..options.jobs.clamp(1, entries.len().max(1)) {
            let (shared, sender) = (&shared, sender.clone());
            let name = format!("reload {job}");
            match std::thread::Builder::new().name(name).spawn_scoped(scope, move || shared.work(&sender)) {
                Ok(_) => started += 1,
                Err(error) if started == 0 => {
                    return Err(ReloadError::Engine(format!("cannot start a thread: {error}")));
                }
                // Fewer jobs can do the same work.
                Err(_) => break,
            }
        }
        drop(sender);
        for event in events {
            on_event(&event);
            if let Event::Ended { index, report } = event {
                reports[index] = *report;
            }
        }
        Ok(())
    })?;
    Ok(reports)
}

/// A report on a file that was not reached has its size from the list.
fn sized(mut report: Report, entry: &Entry) -> Report {
    if report.bytes_before == 0 {
        report.bytes_before = entry.size_bytes;
    }
    report
}

impl Shared<'_> {
    /// One job: takes files from the queue until it is empty or the user stops.
    fn work(&self, events: &Sender<Event>) {
        while !self.options.item.stop.load(Ordering::Relaxed) {
            let Some(index) = self.queue.get(self.next.fetch_add(1, Ordering::Relaxed)).copied() else {
                return;
            };
            let report = Box::new(sized(self.one(index, events), &self.entries[index]));
            // The receiver lives as long as any job.
            let _ = events.send(Event::Ended { index, report });
        }
    }

    fn one(&self, index: usize, events: &Sender<Event>) -> Report {
        let entry = &self.entries[index];
        if let Err(why) = entry.allowed() {
            return Report::of(&entry.path, Outcome::Skipped(why.to_string()));
        }
        if let Some(report) = self.done_before(entry) {
            return report;
        }
        if let Some(Err(error)) = self.watchdog.as_ref().map(|watchdog| watchdog.begin(&entry.database)) {
            return Report::of(&entry.path, Outcome::Skipped(error.to_string()));
        }
        let on_stage = |stage| drop(events.send(Event::Stage { index, stage }));
        let mut report = reload(&entry.database, self.driver, &self.options.item, &on_stage);
        report.path.clone_from(&entry.path);
        let is_done = report.outcome == Outcome::Done;
        if let Some(database) = entry.behind_link().filter(|_| is_done) {
            report.warnings.push(format!("it is a link: the changed file is {}", database.display()));
        }
        if let Outcome::Skipped(why) | Outcome::Failed(why) = &mut report.outcome {
            why.push_str(descriptors(why));
        }
        if let Some(watchdog) = &self.watchdog
            && !report.left_behind
        {
            watchdog.end(&entry.database);
        }
        if let (Outcome::Done, Some(new), Some(log)) = (&report.outcome, report.new, &self.log)
            && let Err(error) =
                log.lock().unwrap_or_else(PoisonError::into_inner).append(&entry.database, new)
        {
            report.warnings.push(format!("the log could not be written: {error}"));
        }
        report
    }

    fn done_before(&self, entry: &Entry) -> Option<Report> {
        let log = self.log.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Identity::at(&entry.database).ok()?;
        // Leftovers of a killed run must be removed in any case.
        let left = path_of(&entry.database).symlink_metadata().is_ok();
        (log.is_done(&entry.database, now) && !left).then(|| {
            let mut report = Report::of(&entry.path, Outcome::DoneBefore);
            report.bytes_before = now.size_bytes;
            report
        })
    }
}

/// Advice if the reason is a lack of descriptors (EMFILE of `open(2)`).
fn descriptors(why: &str) -> &'static str {
    let wanting = ["os error 24)", "Too many open files", "unable to open database file"];
    let limit = getrlimit(Resource::Nofile).current;
    match wanting[..2].iter().any(|text| why.contains(text))
        || (why.contains(wanting[2]) && limit.is_some_and(|limit| limit < 1024))
    {
        true => "; too many files are open at once: use fewer --jobs, or raise the limit (ulimit -n)",
        false => "",
    }
}

/// Why a file would not be reloaded, as far as can be checked without touching it or reading all of
/// it: only a run checks whether the engine finds damage.
///
/// # Errors
/// [`ItemError::Skip`] with the reason.
pub fn look(database: &Path, driver: &dyn Driver, settings: &Settings) -> Result<(), ItemError> {
    if let RunsAs::Owner(owner) = runs_as::of(database)? {
        return apart::look(&owner, database, driver.name(), settings);
    }
    if path_of(database).symlink_metadata().is_ok() {
        return Err(ItemError::skip(
            "another run works on it, or a killed one left it: `threadwise restore FILE` repairs it",
        ));
    }
    let size = refuse::file(database)?;
    refuse::room(parent(database), size)?;
    refuse::attributes(database)?;
    driver.look(database)
}
