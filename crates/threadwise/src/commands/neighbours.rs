//! `threadwise neighbours`: how often something else runs on the other threads of our cores, and what that takes.

use super::run::{MeasureArgs, run};
use super::watch::{chosen, one, say_what_is_looked_at, sleep};
use super::{headroom, probe, screen, stop_flag, topology};
use crate::cli::{NeighboursArgs, RunArgs};
use crate::error::AppError;
use crate::output;
use crate::progress::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use threadwise_analysis::machine_words;
use threadwise_analysis::neighbours::{Watched, exposition, line, neighbours_screen, watched};
use threadwise_document::{Document, Prose, prose};
use threadwise_machine::Topology;
use threadwise_machine::text::shell_word;
use threadwise_probe::look::live::Lookers;
use threadwise_probe::neighbour::FREE_ADDS;
use threadwise_report::json;
use threadwise_study::Look;
use threadwise_study::look::follow::{Follower, Share};

/// Default time to look, seconds.
const DURATION_S: f64 = 60.0;
/// Between two looks: of one that ends soon, and of one for hours.
const EVERY: Duration = Duration::from_millis(20);
const EVERY_OF_HOURS: Duration = Duration::from_millis(200);
/// Time of a line of `--watch`.
const WINDOW: Duration = Duration::from_secs(60);
/// Of intervals.
const ALPHA: f64 = 0.05;

/// Looks, and prints what was seen.
pub fn neighbours(args: &NeighboursArgs) -> Result<(), AppError> {
    if let Some(engine) = &args.engine {
        return of_engine(args, engine);
    }
    if FREE_ADDS.is_none() {
        return Err(AppError::Failed(
            "the width of this processor's cores is not known, so neighbours cannot be seen; threadwise watch shows \
             cache lines"
                .to_owned(),
        ));
    }
    let topology = topology::live()?;
    let cpus = chosen(&topology, args.cpus.as_ref())?;
    let stop = stop_flag()?;
    let lookers = Lookers::new(&cpus.iter().copied().collect()).map_err(probe::probe_error)?;
    let mut looking = Looking { lookers, follower: Follower::new(&cpus), cpus, stop: &stop };
    if args.watch || args.prometheus.is_some() {
        return looking.for_hours(args, &topology);
    }
    let time = Duration::from_secs_f64(args.duration.unwrap_or(DURATION_S));
    let progress = Progress::new(args.json);
    progress.step("looking at who runs on the other threads");
    let looks = looking.some(time, EVERY, &mut |share| progress.share(share))?;
    progress.finish();
    let found = watched(&looks, ALPHA);
    match args.json {
        true => output::print(&format!("{}\n", json::neighbours(&now_utc(), &found)))?,
        false => output::print(&screen::shown(&document(&found, &topology), false))?,
    }
    match stop.load(Ordering::Relaxed) {
        true => Err(AppError::Interrupted("stopped: what is shown was seen until then".to_owned())),
        false => Ok(()),
    }
}

/// The default study of an engine has looks around its slices.
fn of_engine(args: &NeighboursArgs, engine: &str) -> Result<(), AppError> {
    let (budget, json, allow_busy) = (args.duration, args.json, args.allow_busy);
    let measure = MeasureArgs { budget, json, allow_busy, ..MeasureArgs::default() };
    let of_run = |text: String| {
        let engine = shell_word(engine);
        format!(
            "{text}; other workloads and options: threadwise run PRESET --engine {engine} (threadwise run --help)"
        )
    };
    run(&RunArgs { engine: Some(engine.to_owned()), measure, ..RunArgs::default() }).map_err(|error| {
        match error {
            AppError::Input(text) => AppError::Input(of_run(text)),
            AppError::Refused(text) => AppError::Refused(of_run(text)),
            error => error,
        }
    })
}

fn document(found: &Watched, topology: &Topology) -> Document {
    let files = prose!("every look: {}", Prose::command("threadwise watch --every 100ms --json"));
    let subject = format!("Neighbours: {}", machine_words(topology, true));
    Document { screen: neighbours_screen(found, subject, files), ..Document::default() }
}

fn now_utc() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// What looks.
struct Looking<'a> {
    lookers: Lookers,
    follower: Follower,
    cpus: Vec<u32>,
    stop: &'a AtomicBool,
}

impl Looking<'_> {
    /// Looks for a time, or until it is stopped.
    fn some(
        &mut self,
        time: Duration,
        every: Duration,
        shown: &mut dyn FnMut(f64),
    ) -> Result<Vec<(Look, Vec<Share>)>, AppError> {
        let (began, mut looks) = (Instant::now(), Vec::new());
        while began.elapsed() < time && !self.stop.load(Ordering::Relaxed) {
            looks.push(one(&self.lookers, &mut self.follower, &self.cpus)?);
            shown(began.elapsed().as_secs_f64() / time.as_secs_f64());
            let due = every.saturating_mul(looks.len() as u32);
            sleep(due.saturating_sub(began.elapsed()), self.stop);
        }
        Ok(looks)
    }

    /// A line, or metrics, for each minute until it is stopped.
    fn for_hours(&mut self, args: &NeighboursArgs, topology: &Topology) -> Result<(), AppError> {
        let page = args.prometheus.map(|address| {
            let page = headroom::serve::Page::default();
            let address = headroom::serve::serve(address, page.clone())?;
            output::print(&format!("http://{address}/metrics\n"))?;
            Ok::<_, AppError>(page)
        });
        let page = page.transpose()?;
        say_what_is_looked_at(topology, &self.cpus, EVERY_OF_HOURS.as_secs_f64());
        while !self.stop.load(Ordering::Relaxed) {
            let looks = self.some(WINDOW, EVERY_OF_HOURS, &mut |_| {})?;
            let found = watched(&looks, ALPHA);
            if found.looks == 0 {
                break;
            }
            let utc = now_utc();
            match &page {
                Some(page) => page.set(exposition(&found)),
                None if args.json => output::print(&format!("{}\n", json::neighbours(&utc, &found)))?,
                None => output::print(&format!("{utc}  {}\n", line(&found)))?,
            }
        }
        Ok(())
    }
}
