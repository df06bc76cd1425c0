//! What is measured: engines, their sessions, the worker process and its protocol.
//!
//! An engine loads data, opens sessions and lets them work for a window. `worker` turns any engine into a
//! process that speaks the protocol of docs/WORKER.md; `engines` lists the light engines.

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
pub mod statements;
pub mod worker;
pub mod workloads;

use connections::Limit;
pub use known_by::{Address, KnownBy};
pub use point::{DELAYED_DURABILITY, DURABLE_COMMITS, Point, Trial};
use server_cpus::ServerCpus;
use statements::SourceFacts;
use std::path::PathBuf;
use std::sync::Arc;
use threadwise_machine::CpuSet;
use threadwise_observed::{Snapshot, StatementText};
use threadwise_study::engine::Properties;
use threadwise_study::{Counters, Note, Options, SessionSlice, Workload};
use worker::arrivals::Arrivals;
use workloads::transaction::draft::DraftRequest;

/// Why an engine could not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// An option is unknown or has an impossible value.
    #[error("option '{option}': {why}")]
    Option {
        /// Name of the option.
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
        /// The cause.
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
    /// Others on the user's server wait because of the load.
    #[error("{0}")]
    OthersWaited(String),
    /// A process or thread was not, or no longer, on its logical CPUs.
    #[error("{0}")]
    LostPin(String),
    /// A message as it is, such as that of a worker program.
    #[error("{0}")]
    Message(String),
    /// A command did not do what it should.
    #[error("{what}")]
    Command {
        /// `exit-code`, `timeout`, `output`, `metric`, `left-behind`, `lost-pin`, `stopped`.
        kind: &'static str,
        /// What it did, and the last lines of its output.
        what: String,
    },
}

/// Kind of the failure of a load that others on the user's server felt; it ends the study.
pub const OTHERS_WAITED: &str = "others-waited";

impl EngineError {
    /// The word stored as the failure's kind: `option`, `engine`, `wrong-answer`, `lost-pin`, or that of
    /// a command.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Option { .. } => "option",
            Self::Failed { .. } | Self::Missing(_) | Self::Message(_) => "engine",
            Self::WrongAnswer(_) => "wrong-answer",
            Self::OthersWaited(_) => OTHERS_WAITED,
            Self::Pin { .. } | Self::LostPin(_) => "lost-pin",
            Self::Command { kind, .. } => kind,
        }
    }
}

/// The error for an engine that is not installed here: what was looked for and where, and how to get it.
pub fn missing(engine: &str, why: &str) -> EngineError {
    EngineError::Missing(format!("engine {engine} is not installed here: {why}"))
}

/// Data to be made once per study, before any treatment.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRequest {
    /// What its sessions do.
    pub workload: Workload,
    /// Resolved workload options of one treatment.
    pub options: Options,
    /// Engine options.
    pub engine_options: Options,
    /// Folder for the data; exists, and is private to the study.
    pub data_dir: PathBuf,
    /// Treatment name (data that a treatment changes must not be shared).
    pub treatment: String,
    /// Most sessions that will use this data at once.
    pub sessions: u32,
    /// The study's seed.
    pub seed: u64,
}

/// Result of loading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    /// Bytes of one session's data.
    pub bytes_per_session: u64,
    /// Rows of one session's data.
    pub rows_per_session: u64,
    /// Notes for the report, one line each.
    pub notes: Vec<String>,
}

/// One session to open. Called on the session's own thread, already bound to its CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRequest {
    /// The loaded data.
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
#[derive(Debug, Clone)]
pub struct Window {
    /// Number of the slice in the study (virtual time of the simulated engine).
    pub sequence: u64,
    /// Start of measuring; the session works from now on (re-warm).
    pub start_ns: u64,
    /// End of measuring.
    pub end_ns: u64,
    /// Length, in nanoseconds, of the pieces of the window whose rows are counted separately to measure a warm-up.
    /// Sessions that cannot count them give none ([`SessionSlice::rows_by_piece`]).
    pub piece_ns: Option<u64>,
    /// When requests are due; `None` if each session sends its next one when the last is done.
    pub arrivals: Option<Arc<Arrivals>>,
}

/// Parameters of an engine's start for one treatment, before its sessions are opened.
#[derive(Debug, Clone, PartialEq)]
pub struct StartRequest {
    /// The loaded data.
    pub load: LoadRequest,
    /// Logical CPUs of each session, in session order.
    pub sessions: Vec<CpuSet>,
    /// Logical CPUs of service threads (log writer, checkpointer, …); without a placement of their own, those of
    /// all sessions together.
    pub service: CpuSet,
    /// Seed of the block.
    pub seed: u64,
    /// The journal in which masks of foreign processes are recorded before they are changed; `None` if nothing would
    /// restore them.
    pub journal: Option<PathBuf>,
}

/// A thread that works for a treatment and is not a session's thread in the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// What it does: `session 0`, `walwriter`, `checkpointer`.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// The thread id; equal to the process id of a process with one thread.
    pub tid: u32,
    /// The logical CPUs that it was bound to; empty if it was not bound, or is bound before each slice because
    /// several treatments use it.
    pub cpus: CpuSet,
}

/// Facts about a started engine for the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Every thread outside of the worker that works for the treatment: sessions first, then service
    /// threads. The runner reads their masks back and counts their CPU time for the treatment.
    pub placed: Vec<Placed>,
    /// Such as `server not pinned: it runs on another machine`.
    pub notes: Vec<Note>,
}

/// An engine: loads data and starts for a treatment.
pub trait Engine: Send + Sync {
    /// Name, as in `--engine NAME`.
    fn name(&self) -> &'static str;

    /// Version of the engine: of the library, or of the server that these options name.
    ///
    /// # Errors
    /// There is no such server, or it does not answer.
    fn version(&self, engine_options: &Options) -> Result<String, EngineError>;

    /// One line for `threadwise list`.
    fn about(&self) -> &'static str;

    /// Names of its workloads.
    fn workloads(&self) -> &'static [Workload];

    /// Its properties, for planning, measuring and reporting.
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// Its other names, addresses, and the processes of its servers.
    fn known_by(&self) -> KnownBy {
        KnownBy::default()
    }

    /// Prefixes of the environment variables that it reads, such as `PG`; a worker gets no other variable that may
    /// hold a password. An engine with prefixes is a client of a server.
    fn environment(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks options without touching anything.
    ///
    /// # Errors
    /// The first unknown or impossible option.
    fn check(&self, request: &LoadRequest) -> Result<(), EngineError>;

    /// Connection limits of the user's server, with the connections in use; empty if these options do not name a
    /// server of the user. Changes nothing there.
    ///
    /// # Errors
    /// The server does not answer.
    fn limits(&self, engine_options: &Options) -> Result<Vec<Limit>, EngineError> {
        let _ = engine_options;
        Ok(Vec::new())
    }

    /// The vCPUs of the user's server as it says itself, by default those of [`Self::server_cpus`]; `None` if it does not
    /// say, or if these options do not name a server of the user. Changes nothing there.
    ///
    /// # Errors
    /// The server does not answer.
    fn vcpus(&self, engine_options: &Options) -> Result<Option<u32>, EngineError> {
        let cpus = self.server_cpus(engine_options)?;
        Ok(cpus.and_then(|server| u32::try_from(server.online.len()).ok()).filter(|count| *count > 0))
    }

    /// What the user's server allows the login to do, point by point, for `threadwise check`; empty if these options
    /// do not name a server of the user. Changes nothing there.
    ///
    /// # Errors
    /// The server does not answer at all.
    fn points(&self, engine_options: &Options) -> Result<Vec<Point>, EngineError> {
        let _ = engine_options;
        Ok(Vec::new())
    }

    /// Names of statistics that the user's servers keep of their statements, from which the engine drafts transactions.
    fn statement_sources(&self) -> &'static [&'static str] {
        &[]
    }

    /// A draft of transactions from the statistics of the user's server. Executes none of them and changes nothing
    /// there.
    ///
    /// # Errors
    /// There are no such statistics, or they cannot be read.
    fn draft(&self, engine_options: &Options, request: &DraftRequest<'_>) -> Result<String, EngineError> {
        let _ = engine_options;
        let why = format!("{} drafts no transactions from '{}'", self.name(), request.source);
        Err(EngineError::Option { option: "transactions-from".into(), why })
    }

    /// Whether the user's server is bound as a whole, by a setting of its own, since any of its threads may serve any
    /// session. Such an engine has the option [`server_cpus::AFFINITY`].
    fn binds_whole(&self) -> bool {
        false
    }

    /// The logical CPUs of the user's server, if it is bound as a whole; `None` for other engines. Changes nothing
    /// there.
    ///
    /// # Errors
    /// The server does not answer at all.
    fn server_cpus(&self, engine_options: &Options) -> Result<Option<ServerCpus>, EngineError> {
        let _ = engine_options;
        Ok(None)
    }

    /// A connection to the user's server that reads its statistics of statements; `None` if this engine has none.
    /// Changes nothing there.
    ///
    /// # Errors
    /// The server does not answer, keeps no such statistics, or does not show them to this login: the message says what
    /// brings them.
    fn statements(&self, engine_options: &Options) -> Result<Option<Box<dyn StatementSource>>, EngineError> {
        let _ = engine_options;
        Ok(None)
    }

    /// Small studies that `threadwise check` tries besides those of every engine, because they use other code of
    /// this one.
    fn trials(&self) -> &'static [Trial] {
        &[]
    }

    /// What has to live as long as the study, if anything: a server that all treatments share, or
    /// objects in the user's server that are dropped at the end. Called once, before the first `load`,
    /// in a worker that then stays until the study ends. `connections` is how many all treatments hold at
    /// once on a server that they share; 0 if unknown.
    ///
    /// # Errors
    /// Whatever prevents it.
    fn keep(&self, request: &LoadRequest, connections: u32) -> Result<Option<Box<dyn Keeper>>, EngineError> {
        let _ = (request, connections);
        Ok(None)
    }

    /// Makes the data of one treatment, or finds it.
    ///
    /// # Errors
    /// Whatever prevents loading the complete data.
    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError>;

    /// Starts for one treatment, on the worker's main thread; sessions are opened afterwards.
    ///
    /// # Errors
    /// Whatever prevents the start.
    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError>;
}

impl std::fmt::Debug for dyn Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// An open connection to a server that keeps statistics of statements.
pub trait StatementSource {
    /// What is known of the server.
    fn facts(&self) -> &SourceFacts;

    /// The counters now, by one query.
    ///
    /// # Errors
    /// The server does not answer, or no longer permits it.
    fn snapshot(&mut self) -> Result<Snapshot, EngineError>;

    /// What statements are, without literals; without texts if they are not wanted. Statements that the server has
    /// dropped are left out.
    ///
    /// # Errors
    /// As [`StatementSource::snapshot`].
    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError>;
}

/// A resource that lives as long as the study.
pub trait Keeper {
    /// Ends it in order. If it is dropped instead, it ends as well as it can.
    ///
    /// # Errors
    /// What is left behind.
    fn end(self: Box<Self>) -> Result<(), EngineError>;
}

/// An engine, started for one treatment. Called on the worker's main thread, except `open`.
pub trait Running: Send + Sync {
    /// Opens a session on the calling thread, which is bound already.
    ///
    /// # Errors
    /// Whatever prevents the session from working.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError>;

    /// Called once, when all sessions are open and warm.
    ///
    /// # Errors
    /// A thread outside of the worker could not be bound.
    fn standing(&self) -> Result<Standing, EngineError> {
        Ok(Standing::default())
    }

    /// Called once before the first slice and once after the last, while all sessions are open: bytes of the server's
    /// memory by NUMA node, as `KIND_node_N_bytes` by the system's number of the node; empty if the server does not say.
    ///
    /// # Errors
    /// An error of the engine.
    fn memory(&self) -> Result<Counters, EngineError> {
        Ok(Counters::new())
    }

    /// Called before each slice, while all sessions are parked: places service threads that treatments share, and
    /// reads counters.
    ///
    /// # Errors
    /// An error of the engine.
    fn before(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Called while the sessions work: samples their waits. Returns before the window's end, or at once if there is
    /// nothing to sample.
    ///
    /// # Errors
    /// An error of the engine.
    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let _ = window;
        Ok(())
    }

    /// Called after each slice, while all sessions are parked: completes what the sessions reported, and
    /// gives the counters that belong to no session. `waits/NAME` are samples of what sessions
    /// waited for, `waits_sampled` their number.
    /// # Errors
    /// An error of the engine.
    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let _ = sessions;
        Ok(Counters::new())
    }

    /// Called after the last slice, when all sessions are closed: checks the data, resets it to its loaded state, and
    /// stops what was started.
    ///
    /// # Errors
    /// [`EngineError::WrongAnswer`] if the data is not what the sessions reported, which fails the run; any other
    /// error that prevents the reset fails it too.
    fn finish(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// One connection doing work on its own thread.
pub trait Session {
    /// Brings the data into the cache, once, before the first slice.
    ///
    /// # Errors
    /// Whatever prevents it.
    fn warm(&mut self) -> Result<(), EngineError>;

    /// Works until the window's end and reports what was done inside the window. Stepping engines
    /// call [`worker::step_loop`]. A workload with a fixed amount of work starts at
    /// `window.start_ns`, sets [`SessionSlice::finished_ns`], and fails if the window ends first.
    ///
    /// # Errors
    /// An engine error or a wrong answer; the run has then failed.
    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError>;

    /// Executes queries one after another from `window.start_ns` on, and reports each with its answer
    /// ([`SessionSlice::queries`]); sets [`SessionSlice::finished_ns`]. Sessions of query workloads are asked for
    /// this and never for a `slice`.
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
