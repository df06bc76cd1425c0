//! Executes a plan: N jobs, one queue or parts of the list, a recipe of commands for each item.
//!
//! A job is a thread that starts one process after another, which do all the work. They are started by
//! `posix_spawn(3)`, which does not copy this process's page tables as `fork(2)` does: no `pre_exec`, no other user,
//! programs by their path. Spans stay in memory until the last item is done, so that writing them is not part of the
//! measurement.

mod error;
mod feed;
mod item;
mod process;
mod refuse;
mod summary;
#[cfg(test)]
mod tests;

use crate::plan::{self, Plan, Span, Summary};
pub use error::WorkError;
use error::at;
use feed::Feed;
use item::{Job, create};
use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
pub use summary::{failures, summary};

/// Pause between two checks whether the work must stop.
const LOOK: Duration = Duration::from_millis(20);

/// Result of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The figures of the whole list.
    pub summary: Summary,
    /// Result of each item, in the order of their ends.
    pub spans: Vec<Span>,
}

/// Reads a plan from its file.
///
/// # Errors
/// It cannot be read, or is not a plan.
pub fn read(path: &Path) -> Result<Plan, WorkError> {
    plan::read(path).map_err(|error| at("read the plan", path, error))
}

/// Executes a plan. `stop` ends it early: its processes are killed, and unfinished results are removed.
///
/// # Errors
/// [`WorkError`]: nothing was started, or it was stopped, or the spans cannot be written.
pub fn run(plan: &Plan, stop: &AtomicBool) -> Result<Done, WorkError> {
    let steps = refuse::ready(plan)?;
    let feed = Feed::of(plan);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&plan.work)
        .map_err(|error| at("make the folder", &plan.work, error))?;
    // A job without an item would wait for nothing.
    let started = plan.jobs.min(plan.items.len() as u32);
    let jobs = (0..started)
        .map(|number| Job::new(plan, &steps, number, stop))
        .collect::<Result<Vec<_>, WorkError>>()?;
    let mut file = create(&plan.spans)?;
    let mut spans = all(&jobs, &feed, stop)
        .map_err(|error| WorkError::Threads { jobs: plan.jobs, error })
        .inspect_err(|_| drop(std::fs::remove_file(&plan.spans)))?;
    spans.sort_by_key(|span| span.end_ns);
    write(&mut file, &spans).map_err(|error| at("write", &plan.spans, error))?;
    match summary(&spans, plan.jobs) {
        Some(summary) if spans.len() == plan.items.len() => Ok(Done { summary, spans }),
        _ => Err(WorkError::Stopped { done: spans.len(), items: plan.items.len() }),
    }
}

/// Runs all jobs at once, with a common start.
fn all(jobs: &[Job<'_>], feed: &Feed<'_>, stop: &AtomicBool) -> io::Result<Vec<Span>> {
    let gate = RwLock::new(false);
    let (sender, ends) = channel();
    std::thread::scope(|scope| {
        let mut closed = gate.write().unwrap_or_else(PoisonError::into_inner);
        for job in jobs {
            let (gate, sender) = (&gate, sender.clone());
            let run_items = move || {
                if *gate.read().unwrap_or_else(PoisonError::into_inner) {
                    // The receiver lives as long as any job.
                    let _ = sender.send(job.work(feed));
                }
            };
            std::thread::Builder::new().name(format!("job {}", job.number)).spawn_scoped(scope, run_items)?;
        }
        *closed = true;
        drop((closed, sender));
        let mut spans = Vec::new();
        loop {
            match ends.recv_timeout(LOOK) {
                Ok(of_job) => spans.extend::<Vec<Span>>(of_job),
                Err(RecvTimeoutError::Disconnected) => return Ok(spans),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stop.load(Ordering::Relaxed) {
                jobs.iter().for_each(Job::kill);
            }
        }
    })
}

fn write(file: &mut File, spans: &[Span]) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    for span in spans {
        writeln!(out, "{}", plan::line(span)?)?;
    }
    out.flush()
}
