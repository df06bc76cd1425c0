//! `threadwise observe`: statements in production, interval by interval, into a file.

pub mod args;
mod host;
mod looker;
mod neighbours;
mod sink;
mod view;

use crate::commands::headroom::meter::Window;
use crate::commands::headroom::yields::{Chosen, choose};
use crate::commands::stop_flag_without_thread;
use crate::error::AppError;
use args::ObserveArgs;
use host::LocalHost;
use looker::Looker;
use neighbours::NeighbourWatch;
use sink::{LocalWindow, Shown, Sink};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use threadwise_document::numbers;
use threadwise_observed::{Interval, Look, StatementText, difference};
use threadwise_store::{About, ObservedStore};

/// Polling interval of the stop flag and keys: a process that waits should rarely wake up.
const PATIENCE: Duration = Duration::from_millis(500);

/// Texts of new statements are asked for at most once in so many intervals: the server reads all texts for that.
const TEXTS_EVERY: u32 = 10;

/// Looks until it is stopped. Everything is checked before the file is made.
pub fn observe(args: &ObserveArgs) -> Result<(), AppError> {
    let chosen = choose(&args.yields)?;
    let stop = stop_flag_without_thread()?;
    let mut looker = Looker::open(args)?;
    let host = match looker.facts().is_local {
        true => Some(LocalHost::start(&chosen)?),
        false => None,
    };
    let topology = host.as_ref().map(LocalHost::topology);
    let neighbours = args.neighbours.then(|| NeighbourWatch::open(topology, args.interval)).transpose()?;
    let (first, unknown) = looker.look(host.as_ref()).map_err(|error| AppError::engine(&error))?;
    let mut notes = notes(args, &looker, host.as_ref());
    notes.push(neighbours.as_ref().map_or_else(
        || "neighbours are not looked for: --neighbours does that".to_owned(),
        NeighbourWatch::note,
    ));
    notes.extend(chosen.remarks.iter().filter(|_| host.is_some()).cloned());
    notes.extend(unknown);
    let mut sink = Sink::open(&args.destination, &notes)?;
    let about = about(args, &looker);
    let (store, before) = ObservedStore::create_or_continue(&args.output, &about).map_err(AppError::input)?;
    sink.destination.remark(&where_to(args, before));
    let names = store.statements().map_err(AppError::failed)?;
    let is_unknown = |text: &&StatementText| text.database.is_none() && text.text.is_none();
    let unknown = names.iter().filter(is_unknown).map(|text| text.key.clone()).collect();
    let names = names.into_iter().map(|text| (text.key.clone(), text)).collect();
    let mut observer = Observer {
        args,
        looker,
        host,
        neighbours,
        chosen,
        store,
        sink,
        names,
        unknown,
        wait: 0,
        before: first,
        trouble: None,
    };
    observer.run(&stop)
}

/// What the file is of.
fn about(args: &ObserveArgs, looker: &Looker) -> About {
    let facts = looker.facts();
    About {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        engine: looker.engine().to_owned(),
        engine_version: facts.version.clone(),
        server: facts.place.clone(),
        host: if facts.is_local { "the server's" } else { "another than the server's" }.to_owned(),
        most: args.top,
        has_texts: !args.no_text,
        interval_ns: (args.interval * 1e9).round() as u64,
        created_utc: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    }
}

/// What is shown once.
fn notes(args: &ObserveArgs, looker: &Looker, host: Option<&LocalHost>) -> Vec<String> {
    let facts = looker.facts();
    let mut notes = vec![format!(
        "{} {} at {}, every {}; Ctrl-C ends it",
        looker.engine(),
        facts.version,
        facts.place,
        numbers::seconds(args.interval)
    )];
    notes.extend(facts.remarks.iter().cloned());
    match host {
        None => notes.push(match (&args.state, &args.state_file) {
            (None, None) => {
                "the server is not on this machine: its headroom, SMT and clock are unknown; --state NAME names its state"
                    .to_owned()
            }
            _ => "the server is not on this machine: its headroom, SMT and clock are unknown".to_owned(),
        }),
        Some(host) => {
            notes.extend(host.no_clock().map(|why| format!("the clock is not counted ({why})")));
        }
    }
    notes
}

/// The file, and what it has.
fn where_to(args: &ObserveArgs, before: u64) -> String {
    let file = args.output.display();
    match before {
        0 => format!("intervals go into {file}, which its owner alone may read"),
        count => format!("{file} is continued: it has {}", numbers::counted(count as usize, "interval")),
    }
}

/// Everything that is open.
struct Observer<'a> {
    args: &'a ObserveArgs,
    looker: Looker,
    host: Option<LocalHost>,
    neighbours: Option<NeighbourWatch>,
    chosen: Chosen,
    store: ObservedStore,
    sink: Sink,
    names: HashMap<String, StatementText>,
    /// Statements whose texts have not been asked for.
    unknown: BTreeSet<String>,
    /// Intervals until that may be done again.
    wait: u32,
    /// The last look that was answered.
    before: Look,
    /// Why the last one was not, if so.
    trouble: Option<String>,
}

impl Observer<'_> {
    fn run(&mut self, stop: &AtomicBool) -> Result<(), AppError> {
        let every = Duration::from_secs_f64(self.args.interval);
        let mut due = Instant::now() + every;
        let mut intervals: u64 = 0;
        while self.args.count.is_none_or(|count| intervals < count) {
            self.neighbours.iter_mut().for_each(|watch| watch.begin(Instant::now()));
            if self.is_stopped(due, stop)? {
                break;
            }
            // After a suspend, missed looks are skipped, not made up by short intervals.
            due = (due + every).max(Instant::now() + every / 2);
            let window = self.host.as_mut().map(LocalHost::window).transpose()?;
            if let Some(interval) = self.interval(window.as_ref())? {
                self.show(&interval, window.as_ref())?;
                intervals += 1;
            }
        }
        self.finish()
    }

    /// Looks and stores what lies between this look and the last one; `None` if the server did not answer.
    fn interval(&mut self, window: Option<&Window>) -> Result<Option<Interval>, AppError> {
        let looked = self.looker.look(self.host.as_ref());
        let (after, unknown) = match looked {
            Ok(looked) => looked,
            Err(error) => return self.miss(error.to_string()),
        };
        let mut interval = difference(&self.before, &after, self.args.top as usize);
        interval.host = window.and_then(host::host);
        let online = after.states.cpus;
        interval.neighbours = self.neighbours.as_mut().map(|watch| watch.take(online));
        let keys = interval.counts.iter().map(|count| &count.statement);
        let new: Vec<String> = keys.filter(|key| !self.store.knows(key)).cloned().collect();
        self.unknown.extend(new);
        let texts = self.texts();
        self.store.append(&interval, &texts).map_err(AppError::failed)?;
        self.names.extend(texts.into_iter().map(|text| (text.key.clone(), text)));
        self.before = after;
        if self.trouble.take().is_some() {
            self.sink.destination.remark("the server answers again");
        }
        if let Some(why) = unknown {
            self.sink.destination.remark(&format!("the state is unknown: {why}"));
        }
        Ok(Some(interval))
    }

    /// What new statements are, if it is time to ask. One that the server has dropped is not asked for again.
    fn texts(&mut self) -> Vec<StatementText> {
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 || self.unknown.is_empty() {
            return Vec::new();
        }
        self.wait = TEXTS_EVERY;
        self.ask()
    }

    fn ask(&mut self) -> Vec<StatementText> {
        let keys: Vec<String> = self.unknown.iter().cloned().collect();
        match self.looker.texts(&keys, !self.args.no_text) {
            Ok(texts) => {
                self.unknown.clear();
                texts
            }
            // The next look finds out whether the server answers.
            Err(error) => {
                self.sink.destination.remark(&format!("texts of new statements are not known yet: {error}"));
                Vec::new()
            }
        }
    }

    /// Asks at the end for what has not been asked.
    fn finish(&mut self) -> Result<(), AppError> {
        let texts = if self.unknown.is_empty() { Vec::new() } else { self.ask() };
        self.store.describe(&texts).map_err(AppError::failed)
    }

    /// Says once why the server does not answer.
    fn miss(&mut self, why: String) -> Result<Option<Interval>, AppError> {
        let every = numbers::seconds(self.args.interval);
        let line = format!("{why}; trying again every {every}");
        let is_new = self.trouble.replace(why.clone()) != Some(why);
        self.sink.miss(is_new.then_some(line.as_str()), &self.names)?;
        Ok(None)
    }

    fn show(&mut self, interval: &Interval, window: Option<&Window>) -> Result<(), AppError> {
        let utc = utc(interval.end_unix_ms);
        let smt_yield = self.chosen.smt_yield;
        let local = window.map(|window| LocalWindow { window, smt_yield });
        self.sink.interval(&Shown { interval, utc: &utc, names: &self.names, local })
    }

    /// Waits until a moment, and looks for neighbours meanwhile; returns whether to end before it.
    fn is_stopped(&mut self, until: Instant, stop: &AtomicBool) -> Result<bool, AppError> {
        loop {
            let now = Instant::now();
            if stop.load(Ordering::Relaxed) {
                return Ok(true);
            }
            if now >= until {
                return Ok(false);
            }
            self.neighbours.iter_mut().try_for_each(|watch| watch.look(now))?;
            let next =
                self.neighbours.as_ref().and_then(NeighbourWatch::due).map_or(until, |due| due.min(until));
            if self.sink.destination.wait(next.saturating_duration_since(Instant::now()).min(PATIENCE)) {
                return Ok(true);
            }
        }
    }
}

fn utc(unix_ms: i64) -> String {
    let since = Duration::from_millis(unix_ms.unsigned_abs());
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}
