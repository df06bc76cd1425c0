//! A session of a command: its thread starts the process, waits for its end, and takes the time.
//!
//! If one process serves the whole treatment, the first session starts it and the others do nothing.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, SessionSlice};

use super::error::NAME;
use super::progress::Progress;
use super::spawn::{self, Ended, Start};
use crate::{EngineError, Session, Window, clock};

/// Counter between session and worker: the largest process of a session.
pub(super) const LARGEST: &str = "largest_process_bytes";

/// The process of a session.
#[derive(Debug)]
pub(super) struct Job {
    /// The session's number.
    pub session: u32,
    /// The program and its arguments, filled in.
    pub words: Vec<String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// The engine's folder.
    pub home: PathBuf,
    /// Its output files.
    pub stdout: PathBuf,
    /// Its error output.
    pub stderr: PathBuf,
    /// Logical CPUs that it may use.
    pub cpus: CpuSet,
    /// File `cgroup.procs` of the group that counts it.
    pub group: Option<Arc<File>>,
}

/// A session with its process, or without one.
#[derive(Debug)]
pub(super) struct CommandSession {
    pub job: Option<Job>,
    pub progress: Arc<Progress>,
}

impl Session for CommandSession {
    fn warm(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Some(job) = &self.job else { return Ok(SessionSlice::default()) };
        let started = spawn::start(&Start {
            words: &job.words,
            folder: &job.folder,
            home: &job.home,
            stdout: &job.stdout,
            stderr: &job.stderr,
            cpus: &job.cpus,
            group: job.group.as_deref(),
            at_ns: window.start_ns,
        });
        self.progress.started(started.as_ref().ok().copied());
        let pid = started.map_err(|error| EngineError::Failed {
            engine: NAME.into(),
            action: format!(
                "start '{}' in {}",
                job.words.first().map_or("", String::as_str),
                job.folder.display()
            ),
            why: error.to_string(),
        })?;
        spawn::wait(pid);
        let finished_ns = clock::monotonic_ns().saturating_sub(window.start_ns);
        let ended = self.progress.reap(job.session, pid).ok_or_else(|| EngineError::Failed {
            engine: NAME.into(),
            action: "wait for the command".into(),
            why: "another thread has waited for its process".into(),
        })?;
        Ok(slice(finished_ns, &ended))
    }
}

fn slice(finished_ns: u64, ended: &Ended) -> SessionSlice {
    let used = &ended.used;
    SessionSlice {
        steps: 1,
        rows: 1,
        cpu_ns: used.cpu_ns,
        voluntary_switches: used.voluntary_switches,
        involuntary_switches: used.involuntary_switches,
        counters: Counters::from([
            ("read_bytes".to_owned(), used.read_bytes),
            ("written_bytes".to_owned(), used.written_bytes),
            // Replaced when the whole tree's is known.
            (LARGEST.to_owned(), used.max_rss_bytes),
        ]),
        finished_ns: Some(finished_ns),
        ..SessionSlice::default()
    }
}
