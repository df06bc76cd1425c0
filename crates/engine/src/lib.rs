//! What is measured: engines, their sessions, the worker process and its protocol.
//!
//! An engine loads data, opens sessions and lets them work for a window. `worker` turns any engine
//! into a process that speaks the protocol of docs/WORKER.md; `engines` lists the light engines.

pub mod clock;
pub mod engines;
pub mod latency;
pub mod protocol;
pub mod worker;
pub mod workloads;

use std::path::PathBuf;
use threadwise_machine::CpuSet;
use threadwise_study::{Options, SessionSlice};

/// Why an engine could not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// An option is unknown or has an impossible value.
    #[error("option '{option}': {why}")]
    Option {
        /// Its name.
        option: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
    /// The engine reported an error.
    #[error("{engine} could not {action}: {why}")]
    Failed {
        /// Engine name.
        engine: String,
        /// What it was doing.
        action: String,
        /// Its message.
        why: String,
    },
    /// An answer was not the expected one.
    #[error("wrong answer: {0}")]
    WrongAnswer(String),
    /// A session could not be bound to its logical CPUs.
    #[error("session {session} could not be bound to logical CPUs {cpus}: {why}")]
    Pin {
        /// Session number.
        session: u32,
        /// Wanted set.
        cpus: String,
        /// Cause.
        why: String,
    },
}

impl EngineError {
    /// The word stored as the failure's kind: `option`, `engine`, `wrong-answer`, `lost-pin`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Option { .. } => "option",
            Self::Failed { .. } => "engine",
            Self::WrongAnswer(_) => "wrong-answer",
            Self::Pin { .. } => "lost-pin",
        }
    }
}

/// Data to be made once per study, before any treatment.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRequest {
    /// Workload name.
    pub workload: String,
    /// Resolved workload options of one treatment.
    pub options: Options,
    /// Engine options.
    pub engine_options: Options,
    /// Folder of ours for the data; exists and is private.
    pub data_dir: PathBuf,
    /// Treatment name (data that a treatment changes must not be shared).
    pub treatment: String,
    /// Most sessions that will use this data at once.
    pub sessions: u32,
    /// The study's seed.
    pub seed: u64,
}

/// What loading did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// Bytes of one session's data.
    pub bytes_per_session: u64,
    /// Rows of one session's data.
    pub rows_per_session: u64,
    /// Anything the reader of a report should know, one line each.
    pub notes: Vec<String>,
}

/// One session to open. Called on the session's own thread, already bound to its CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRequest {
    /// What was loaded.
    pub load: LoadRequest,
    /// Session number, from 0.
    pub session: u32,
    /// How many sessions the treatment has.
    pub sessions: u32,
    /// Logical CPUs that the session may use.
    pub cpus: CpuSet,
    /// Seed of the block.
    pub seed: u64,
}

/// The window of a slice, on CLOCK_MONOTONIC, common to all sessions of the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Number of the slice in the study (virtual time of the simulated engine).
    pub sequence: u64,
    /// Start of measuring; the session works from now on (re-warm).
    pub start_ns: u64,
    /// End of measuring.
    pub end_ns: u64,
}

/// An engine: loads data and opens sessions.
pub trait Engine: Send + Sync {
    /// Name, as in `--engine NAME`.
    fn name(&self) -> &'static str;

    /// Version of the engine's own code.
    fn version(&self) -> String;

    /// One line for `threadwise list`.
    fn about(&self) -> &'static str;

    /// Checks options without touching anything.
    ///
    /// # Errors
    /// The first unknown or impossible option.
    fn check(&self, request: &LoadRequest) -> Result<(), EngineError>;

    /// Makes the data of one treatment, or finds that it is already there.
    ///
    /// # Errors
    /// Whatever keeps the data from being made whole.
    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError>;

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// Whatever keeps the session from working.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError>;
}

/// One connection doing work on its own thread.
pub trait Session {
    /// Brings the data into the cache, once, before the first slice.
    ///
    /// # Errors
    /// Whatever keeps it from being cached.
    fn warm(&mut self) -> Result<(), EngineError>;

    /// Works until the window's end and says what was done inside the window. Stepping engines
    /// call [`worker::closed_loop`].
    ///
    /// # Errors
    /// An engine error or a wrong answer; the run has then failed.
    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError>;
}
