//! Contents of a result file beside its study and runs.

use threadwise_machine::Topology;
use threadwise_study::Study;
use threadwise_study::probe::Probe;

/// The programs that measured, and when they began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Version of threadwise.
    pub program: String,
    /// Engine name.
    pub engine: String,
    /// Version of the engine.
    pub engine_version: String,
    /// Date and time of the start in UTC, ISO 8601.
    pub created_utc: String,
}

/// How a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndState {
    /// It has not: it is running, or it was killed.
    Running,
    /// All planned blocks are complete.
    Complete,
    /// The user stopped it.
    Stopped,
    /// It gave up.
    Failed,
}

/// A probe of the hardware and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProbe {
    /// Seconds since the study's start at which it began.
    pub started_s: f64,
    /// The results.
    pub probe: Probe,
}

/// What must be unchanged for resuming a study.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The machine as it is now. Memory sizes and the kernel's release may differ.
    pub topology: &'a Topology,
    /// Version of threadwise.
    pub program: &'a str,
    /// Engine name.
    pub engine: &'a str,
    /// Version of the engine.
    pub engine_version: &'a str,
    /// The study as requested now; `None` to continue the file's.
    pub study: Option<&'a Study>,
}
