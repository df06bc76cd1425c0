//! What a result file says beside its study and runs.

use threadwise_machine::Topology;
use threadwise_study::Study;
use threadwise_study::probe::Probe;

/// Which programs measured, and when they began.
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
    /// Everything that was planned is there.
    Complete,
    /// Its user stopped it.
    Stopped,
    /// It gave up.
    Failed,
}

/// A probe of the hardware and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredProbe {
    /// Seconds since the study's start at which it began.
    pub started_s: f64,
    /// What was measured.
    pub probe: Probe,
}

/// What has to be unchanged for a study to go on.
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
    /// The study as asked for now; `None` to go on with whatever the file holds.
    pub study: Option<&'a Study>,
}
