//! A treatment's worker and its run so far.

use crate::neighbours::Neighbours;
use crate::worker_process::{Failure, WorkerProcess};
use threadwise_engine::Placed;
use threadwise_engine::protocol::WireLoad;
use threadwise_machine::{CpuSet, MemoryBinding, Resolved};
use threadwise_study::warmup::Warmup;
use threadwise_study::{Note, Reading, RunStatus, Slice};

/// A treatment in a block: its worker, and its run as far as it was measured.
pub(super) struct TreatmentRun<'a> {
    pub name: &'a str,
    pub placement: &'a Resolved,
    pub memory: &'a MemoryBinding,
    pub load: &'a WireLoad,
    /// Its sessions without those that execute short queries beside streams.
    pub streams: usize,
    pub service: Option<&'a CpuSet>,
    pub worker: Option<WorkerProcess>,
    pub tids: Vec<u32>,
    /// Threads of a server that work for the treatment.
    pub placed: Vec<Placed>,
    /// Its worker and the processes of those threads, each once.
    pub pids: Vec<u32>,
    pub started_ns: u64,
    pub prepare_ns: u64,
    pub status: RunStatus,
    pub slices: Vec<Slice>,
    pub readings: Vec<Reading>,
    pub neighbours: Neighbours,
    pub notes: Vec<Note>,
    /// Whether its worker understands pieces of windows.
    pub counts_pieces: bool,
    /// Its warm-up, if it was measured.
    pub warmup: Option<Warmup>,
}

impl TreatmentRun<'_> {
    pub fn fail(&mut self, failure: Failure) {
        if let Some(worker) = self.worker.as_mut().filter(|_| failure.is_stop()) {
            worker.interrupt();
        }
        self.worker = None;
        // A worker reports `lost-pin` itself if its threads cannot be bound.
        self.status = match failure.kind.as_str() {
            "lost-pin" => RunStatus::Invalid { kind: failure.kind, message: failure.message },
            _ => RunStatus::Failed { kind: failure.kind, message: failure.message },
        };
    }

    pub fn invalidate(&mut self, kind: &str, message: String) {
        self.status = RunStatus::Invalid { kind: kind.to_owned(), message };
    }
}
