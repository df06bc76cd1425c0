//! What is measured: engines, their sessions, the worker process and its protocol.
//!
//! An engine loads data, opens sessions and lets them work for a window. `worker` turns any engine
//! into a process that speaks the protocol of docs/WORKER.md; `engines` lists the light engines.

pub mod at_end;
pub mod clock;
pub mod connections;
pub mod engines;
mod known_by;
pub mod latency;
mod point;
pub mod protocol;
pub mod server_cpus;
pub mod servers;
pub mod worker;
pub mod workloads;

use connections::Limit;
pub use known_by::{Address, KnownBy};
pub use point::{DELAYED_DURABILITY, DURABLE_COMMITS, Point, Trial};
use server_cpus::ServerCpus;
use std::path::PathBuf;
use threadwise_machine::CpuSet;
use threadwise_study::engine::Properties;
use threadwise_study::{Counters, Options, SessionSlice};

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
    /// The engine, or a program that it needs, is not installed here; nothing was touched.
    #[error("{0}")]
    Missing(String),
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
    /// What ran was not, or no longer, on its logical CPUs.
    #[error("{0}")]
    LostPin(String),
    /// What a worker program of the engine said of a failure, in its own words.
    #[error("{0}")]
    Said(String),
    /// A command did not do what it should.
    #[error("{what}")]
    Command {
        /// `exit-code`, `timeout`, `output`, `metric`, `left-behind`, `lost-pin`, `stopped`.
        kind: &'static str,
        /// What it did, and its last words.
        what: String,
    },
}

impl EngineError {
    /// The word stored as the failure's kind: `option`, `engine`, `wrong-answer`, `lost-pin`, or that of
    /// a command.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Option { .. } => "option",
            Self::Failed { .. } | Self::Missing(_) | Self::Said(_) => "engine",
            Self::WrongAnswer(_) => "wrong-answer",
            Self::Pin { .. } | Self::LostPin(_) => "lost-pin",
            Self::Command { kind, .. } => kind,
        }
    }
}

/// That an engine is not installed here: what was looked for and where, and how to get it.
pub fn missing(engine: &str, why: &str) -> EngineError {
    EngineError::Missing(format!("engine {engine} is not installed here: {why}"))
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
    /// Length of the pieces of the window whose rows are to be counted apart, nanoseconds: a warm-up is being measured.
    /// Sessions that cannot tell give none ([`SessionSlice::rows_by_piece`]).
    pub piece_ns: Option<u64>,
}

/// What an engine is started with for one treatment, before its sessions are opened.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRequest {
    /// What was loaded.
    pub load: LoadRequest,
    /// Logical CPUs of each session, in session order.
    pub sessions: Vec<CpuSet>,
    /// Logical CPUs of service threads (log writer, checkpointer, …); where none are asked for, all
    /// that the sessions have together.
    pub service: CpuSet,
    /// Seed of the block.
    pub seed: u64,
    /// Where masks are written down before they are changed, for processes that are not ours; `None`
    /// where nobody would put them back.
    pub journal: Option<PathBuf>,
}

/// A thread that is no session's own, or lies outside of the worker, and works for its treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// What it does: `session 0`, `walwriter`, `checkpointer`.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// The thread, which is the process itself where it has one thread.
    pub tid: u32,
    /// The logical CPUs that it was bound to; empty where it was left as it was, or where it is bound
    /// anew before each slice, since other treatments place it too.
    pub cpus: CpuSet,
}

/// What a reader of the report must know of a started engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Every thread outside of the worker that works for the treatment: sessions first, then service
    /// threads. Their masks are read back by the runner, their CPU time counts as ours.
    pub placed: Vec<Placed>,
    /// One line each, such as `server not pinned: it runs on another machine`.
    pub notes: Vec<String>,
}

/// An engine: loads data and starts for a treatment.
pub trait Engine: Send + Sync {
    /// Name, as in `--engine NAME`.
    fn name(&self) -> &'static str;

    /// Version of the engine's own code: of the library, or of the server that these options name.
    ///
    /// # Errors
    /// There is no such server, or it cannot be asked.
    fn version(&self, engine_options: &Options) -> Result<String, EngineError>;

    /// One line for `threadwise list`.
    fn about(&self) -> &'static str;

    /// Names of the workloads that it can do.
    fn workloads(&self) -> &'static [&'static str];

    /// What it is like, for those who plan, measure and report studies of it.
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// How it is known outside: other names, addresses, processes of its servers.
    fn known_by(&self) -> KnownBy {
        KnownBy::default()
    }

    /// How the names of environment variables begin that it reads, such as `PG`; a worker gets no
    /// others that may hold a password. An engine with any is a client of a server.
    fn environment(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks options without touching anything.
    ///
    /// # Errors
    /// The first unknown or impossible option.
    fn check(&self, request: &LoadRequest) -> Result<(), EngineError>;

    /// How many connections the user's server allows, and how many are in use, for each limit that it
    /// sets; nothing where these options name no server of the user's. Changes nothing there.
    ///
    /// # Errors
    /// The server cannot be asked.
    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        let _ = engine_options;
        Ok(Vec::new())
    }

    /// What the user's server lets its login do, point by point, for `threadwise check`; nothing where these options
    /// name no server of the user's. Changes nothing there.
    ///
    /// # Errors
    /// The server cannot be asked at all.
    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        let _ = engine_options;
        Ok(Vec::new())
    }

    /// Whether the user's server is bound as a whole, by a setting of its own, since its threads serve any session. Such an
    /// engine has the option [`server_cpus::AFFINITY`].
    fn binds_whole(&self) -> bool {
        false
    }

    /// The logical CPUs of the user's server, where it is bound as a whole; `None` for other engines. Changes nothing
    /// there.
    ///
    /// # Errors
    /// The server cannot be asked at all.
    fn server_cpus(&self, engine_options: &Options) -> Result<Option<ServerCpus>, EngineError> {
        let _ = engine_options;
        Ok(None)
    }

    /// Small studies that `threadwise check` tries beside those of every engine, since they take another way through
    /// this one.
    fn trials(&self) -> &'static [Trial] {
        &[]
    }

    /// What has to live as long as the study, if anything: a server that all treatments share, or
    /// objects in the user's server that are dropped at the end. Asked once, before the first `load`,
    /// in a worker that then stays until the study ends. `connections` is how many all treatments hold at
    /// once on a server that they share; 0 where nobody said.
    ///
    /// # Errors
    /// Whatever keeps it from being there.
    fn keep(&self, request: &LoadRequest, connections: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        let _ = (request, connections);
        Ok(None)
    }

    /// Makes the data of one treatment, or finds that it is already there.
    ///
    /// # Errors
    /// Whatever keeps the data from being made whole.
    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError>;

    /// Starts for one treatment, on the worker's main thread; sessions are opened afterwards.
    ///
    /// # Errors
    /// Whatever keeps it from working.
    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError>;
}

impl std::fmt::Debug for dyn Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What lives as long as the study.
pub trait Keeper {
    /// Ends it in order. When it is dropped instead, it ends as well as it can.
    ///
    /// # Errors
    /// Something of ours is left, and what.
    fn end(self: Box<Self>) -> Result<(), EngineError>;
}

/// An engine at work for one treatment. Called on the worker's main thread, but for `open`.
pub trait Running: Send + Sync {
    /// Opens a session on the calling thread, which is bound already.
    ///
    /// # Errors
    /// Whatever keeps the session from working.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError>;

    /// Asked once, when all sessions are open and warm.
    ///
    /// # Errors
    /// A thread outside of the worker could not be bound.
    fn standing(&self) -> Result<Standing, EngineError> {
        Ok(Standing::default())
    }

    /// Just before each slice, while all sessions are parked: places service threads that other
    /// treatments share, reads counters.
    ///
    /// # Errors
    /// The engine's.
    fn before(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// While the sessions work: samples what they wait for. Returns before the window's end, or at
    /// once where there is nothing to sample.
    ///
    /// # Errors
    /// The engine's.
    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let _ = window;
        Ok(())
    }

    /// Just after each slice, while all sessions are parked: completes what the sessions reported, and
    /// gives the counters that belong to no session. `waits/NAME` are samples of what sessions
    /// waited for, `waits_sampled` their number.
    ///
    /// # Errors
    /// The engine's.
    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let _ = sessions;
        Ok(Counters::new())
    }

    /// After the last slice, when all sessions are closed: checks the data, puts it back as it was
    /// loaded, and stops what was started.
    ///
    /// # Errors
    /// [`EngineError::WrongAnswer`] where the data is not what the sessions said, which fails the run;
    /// anything else that keeps the data from being put back fails it too.
    fn finish(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// One connection doing work on its own thread.
pub trait Session {
    /// Brings the data into the cache, once, before the first slice.
    ///
    /// # Errors
    /// Whatever keeps it from being cached.
    fn warm(&mut self) -> Result<(), EngineError>;

    /// Works until the window's end and says what was done inside the window. Stepping engines
    /// call [`worker::closed_loop`]. A workload with a fixed amount of work starts at
    /// `window.start_ns`, sets [`SessionSlice::finished_ns`], and fails where the window's end comes
    /// first.
    ///
    /// # Errors
    /// An engine error or a wrong answer; the run has then failed.
    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError>;

    /// Executes queries one after another from `window.start_ns` on, and says how each went, its answer
    /// included ([`SessionSlice::queries`]); sets [`SessionSlice::finished_ns`]. Sessions of workloads
    /// of queries are asked for this and never for a `slice`.
    ///
    /// # Errors
    /// A query failed, or was not done at the window's end.
    fn queries(&mut self, window: &Window, queries: &[u8]) -> Result<SessionSlice, EngineError> {
        let _ = (window, queries);
        Err(EngineError::Failed {
            engine: "worker".into(),
            action: "execute queries".into(),
            why: "this workload has none".into(),
        })
    }
}
