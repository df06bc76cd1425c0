//! The sessions of a treatment: their programs and logical CPUs.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::Placed;
use threadwise_machine::CpuSet;
use threadwise_process::proc::thread_numbers;

use super::session::Tally;

/// A note for every treatment.
pub(super) const EACH_A_PROGRAM: &str =
    "each session is a separate program with its own engine and page cache (ServerMode = Classic)";

/// A session, as its treatment sees it.
#[derive(Debug)]
pub(super) struct OpenSession {
    /// Its number.
    pub number: u32,
    /// Its program.
    pub pid: u32,
    /// The logical CPUs that it may use.
    pub cpus: CpuSet,
    /// The plan of a step.
    pub plan: Option<String>,
    /// What it reports besides its slices.
    pub tally: Arc<Tally>,
}

/// The sessions that were opened, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Opened(Mutex<Vec<OpenSession>>);

impl Opened {
    pub(super) fn all(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        // A panic elsewhere has failed the run already.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, session: OpenSession) {
        let mut all = self.all();
        all.push(session);
        all.sort_by_key(|session| session.number);
    }

    /// Whether a session has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.all().iter().any(|session| session.tally.failed.load(Ordering::Relaxed))
    }

    /// The threads of all programs: the main threads first.
    pub(super) fn placed(&self) -> Vec<Placed> {
        let all = self.all();
        let threads = all
            .iter()
            .flat_map(|session| placed(&format!("session {}", session.number), session.pid, &session.cpus));
        let (main, further): (Vec<_>, Vec<_>) = threads.partition(|thread| thread.pid == thread.tid);
        main.into_iter().chain(further).collect()
    }
}

/// All threads of a program; its main thread first, under the program's name.
pub(super) fn placed(name: &str, pid: u32, cpus: &CpuSet) -> Vec<Placed> {
    let entry = |tid: u32| {
        let name = if tid == pid { name.to_owned() } else { format!("thread of {name}") };
        Placed { name, pid, tid, cpus: cpus.clone() }
    };
    thread_numbers(pid).into_iter().map(entry).collect()
}
