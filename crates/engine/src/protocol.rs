//! The worker protocol: one JSON object a line. Documented for other languages in docs/WORKER.md.
//!
//! The runner writes [`Request`]s to the worker's stdin; the worker writes [`Reply`]s to the file
//! descriptor named in the environment variable [`REPLY_FD`]; stdout and stderr go to a log.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use threadwise_machine::CpuSet;
use threadwise_machine::text::one_line;
use threadwise_study::engine::Properties;
use threadwise_study::{ItemSpan, OptionValue, Options, QueryExecution, SessionSlice};

mod agreed;
mod error;
mod limits;
mod server;
mod statements;

pub use agreed::{MAX_LINE_BYTES, REPLY_FD, VERSION};
pub use error::ProtocolError;
pub use server::{WireLimit, WirePoint, WireServerCpus};
pub use statements::{WireStatements, WireText};

use crate::{LoadRequest, Placed, latency};

/// Parameters of a treatment's data (mirrors `LoadRequest`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireLoad {
    /// Workload name.
    pub workload: String,
    /// Workload options of the treatment.
    pub options: Options,
    /// Engine options.
    pub engine_options: Options,
    /// Folder for the data.
    pub data_dir: String,
    /// Treatment name.
    pub treatment: String,
    /// Most sessions that use this data at once.
    pub sessions: u32,
    /// The study's seed.
    pub seed: u64,
}

/// One session in `prepare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSession {
    /// CPU list (`3` or `0-3`) that the session's thread binds itself to.
    pub cpus: String,
}

/// Runner to worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Make the data of one treatment. Answered by `loaded`.
    Load {
        /// Protocol version of the runner.
        protocol: u32,
        /// What to make.
        load: WireLoad,
        /// Connections that all treatments hold at once on a server that they share; sent to engines that are
        /// servers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connections: Option<u32>,
    },
    /// Open, bind and warm the sessions. Answered by `ready`.
    Prepare {
        /// Protocol version of the runner.
        protocol: u32,
        /// The data, as loaded.
        load: WireLoad,
        /// One entry per session.
        sessions: Vec<WireSession>,
        /// Seed of the block.
        seed: u64,
        /// CPU list of service threads, where the treatment places them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        /// Journal in which masks of foreign processes are recorded before they are changed; sent to engines that
        /// are servers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<String>,
    },
    /// Work for a slice. Answered by `slice`; may come any number of times.
    Go {
        /// Number of the slice in the study.
        sequence: u64,
        /// Work before the window.
        warmup_ns: u64,
        /// The window.
        window_ns: u64,
        /// The queries that each session executes, one after another; the window is then a time limit. Only for
        /// workloads of queries.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        queries: Vec<Vec<u8>>,
        /// Length of the pieces of the window whose rows are counted separately, to measure a warm-up; only for
        /// workers whose `hello` has `pieces`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        piece_ns: Option<u64>,
    },
    /// Describe the server that these options name, and change nothing there. Answered by `server`; sent to workers
    /// of engines that are clients of servers, and of the same release.
    Server {
        /// Protocol version of the runner.
        protocol: u32,
        /// Engine options, which name the server.
        engine_options: Options,
        /// Whether to test what the login may do, too, which takes longer.
        points: bool,
        /// Whether to read the server's logical CPUs; for engines that bind a server as a whole.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cpus: bool,
    },
    /// Read the server's statistics of statements, and change nothing there; the connection is kept until `stop`. Answered
    /// by `statements`; sent as `server` is.
    Statements {
        /// Protocol version of the runner.
        protocol: u32,
        /// Engine options, which name the server.
        engine_options: Options,
        /// Statements that are to be described; without any, the counters of all.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "limits::statements")]
        keys: Vec<String>,
        /// Whether to read their texts, without literals.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wants_text: bool,
    },
    /// End. Answered by `done`; the worker then exits with 0.
    Stop,
}

/// Worker to runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// First line of every worker.
    Hello {
        /// Protocol version.
        protocol: u32,
        /// Engine name.
        engine: String,
        /// Engine version.
        version: String,
        /// Properties of the engine; workers older than this field leave it out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        properties: Option<Properties>,
        /// Whether it understands `piece_ns` in `go`.
        #[serde(default)]
        pieces: bool,
    },
    /// Data is made.
    Loaded {
        /// Bytes of one session's data.
        bytes_per_session: u64,
        /// Rows of one session's data.
        rows_per_session: u64,
        /// Notes for the report.
        #[serde(default, deserialize_with = "limits::notes")]
        notes: Vec<String>,
        /// Whether this worker must stay until the study's end: it holds a server that all treatments share, or
        /// objects that are dropped at the end.
        #[serde(default)]
        keep: bool,
    },
    /// Sessions are open, bound, warm and parked.
    Ready {
        /// OS thread id of each session's thread.
        #[serde(deserialize_with = "limits::sessions")]
        tids: Vec<u32>,
        /// Threads outside of the worker that work for it, sessions first.
        #[serde(default, deserialize_with = "limits::threads")]
        placed: Vec<WirePlaced>,
        /// Notes for the report.
        #[serde(default, deserialize_with = "limits::notes")]
        notes: Vec<String>,
        /// What each of them means to a report ([`threadwise_study::NoteCode`]); empty if none means anything.
        #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "limits::notes")]
        note_codes: Vec<String>,
        /// The server's memory by NUMA node (`shared_node_0_bytes`), where it says so.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "limits::counters")]
        memory: BTreeMap<String, u64>,
    },
    /// A slice is over; all sessions are parked again.
    Slice {
        /// As in `go`.
        sequence: u64,
        /// CLOCK_MONOTONIC at the window's start, nanoseconds.
        start_ns: u64,
        /// The window's length; for a fixed amount of work until the last session was done.
        window_ns: u64,
        /// One entry per session.
        #[serde(deserialize_with = "limits::sessions")]
        sessions: Vec<WireSessionSlice>,
        /// Counters that belong to no session.
        #[serde(default, deserialize_with = "limits::counters")]
        counters: BTreeMap<String, u64>,
    },
    /// Description of the server.
    Server {
        /// Its version.
        version: String,
        /// Its connection limits.
        #[serde(default, deserialize_with = "limits::points")]
        limits: Vec<WireLimit>,
        /// What the login may do, if requested.
        #[serde(default, deserialize_with = "limits::points")]
        points: Vec<WirePoint>,
        /// Its logical CPUs, if requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<WireServerCpus>,
    },
    /// Statistics of statements.
    Statements {
        /// What they say.
        statements: Box<WireStatements>,
    },
    /// The worker ends.
    Done {
        /// As in `ready`, after the last slice.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "limits::counters")]
        memory: BTreeMap<String, u64>,
    },
    /// Something failed; the worker ends after this.
    Failed {
        /// `option`, `engine`, `wrong-answer`, `lost-pin`, `protocol`; of commands see
        /// docs/WORKER.md.
        kind: String,
        /// One line.
        message: String,
    },
}

/// A thread outside of the worker (mirrors `Placed`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirePlaced {
    /// What it does.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// CPU list that it was bound to; empty if it was not bound.
    #[serde(default)]
    pub cpus: String,
}

/// What one session did in one window (mirrors `SessionSlice`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WireSessionSlice {
    /// Steps that ended inside the window.
    pub steps: u64,
    /// Rows of those steps.
    pub rows: u64,
    /// Answers checked.
    pub answers_checked: u64,
    /// Answers that were wrong.
    pub answers_wrong: u64,
    /// CPU time of the session's thread, nanoseconds.
    pub cpu_ns: u64,
    /// Voluntary context switches.
    #[serde(default)]
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    #[serde(default)]
    pub involuntary_switches: u64,
    /// Run-queue wait, where known.
    #[serde(default)]
    pub run_queue_wait_ns: Option<u64>,
    /// Engine counters.
    #[serde(default, deserialize_with = "limits::counters")]
    pub counters: BTreeMap<String, u64>,
    /// HdrHistogram V2, base64; empty where there are no steps.
    #[serde(default)]
    pub latency: String,
    /// For a fixed amount of work: nanoseconds from the window's start to the session's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_ns: Option<u64>,
    /// Queries that were executed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "limits::queries")]
    pub queries: Vec<QueryExecution>,
    /// A command's metrics, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "limits::counters")]
    pub metrics: BTreeMap<String, f64>,
    /// Items of a work list.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "limits::items")]
    pub items: Vec<ItemSpan>,
    /// Rows of each piece of the window, if requested and counted by the engine.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "limits::pieces")]
    pub rows_by_piece: Vec<u64>,
}

/// The first characters of a line, for a one-line message.
fn start_of(line: &[u8]) -> String {
    let shown = line.len().min(60);
    let dots = if line.len() > shown { "…" } else { "" };
    format!("{}{dots}", String::from_utf8_lossy(&line[..shown]).escape_debug())
}

/// Reads one line without its end; `None` at the end of the stream.
///
/// # Errors
/// A line above [`MAX_LINE_BYTES`], a line cut off by the end of the stream, text that is not
/// UTF-8, or a failed read. The stream is unusable after any of them.
pub fn read_line(input: &mut impl BufRead) -> Result<Option<String>, ProtocolError> {
    read_line_within(input, MAX_LINE_BYTES)
}

fn read_line_within(input: &mut impl BufRead, limit: usize) -> Result<Option<String>, ProtocolError> {
    let mut line = Vec::new();
    let length = input
        .take(limit as u64 + 1)
        .read_until(b'\n', &mut line)
        .map_err(|cause| ProtocolError::Stream { action: "read from", why: cause.to_string() })?;
    if length == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() {
        return Err(match length > limit {
            true => ProtocolError::TooLong { limit },
            false => ProtocolError::CutOff { start: start_of(&line) },
        });
    }
    match String::from_utf8(line) {
        Ok(line) => Ok(Some(line)),
        Err(cause) => {
            Err(ProtocolError::NotMessage { start: start_of(cause.as_bytes()), why: "not UTF-8 text".into() })
        }
    }
}

/// A message as one line, line end included.
///
/// # Errors
/// A line above [`MAX_LINE_BYTES`], which the other side would refuse.
pub fn encode(message: &impl Serialize) -> Result<String, ProtocolError> {
    let mut line = serde_json::to_string(message)
        .map_err(|cause| ProtocolError::Value { what: "message".into(), why: cause.to_string() })?;
    if line.len() > MAX_LINE_BYTES {
        return Err(ProtocolError::TooLong { limit: MAX_LINE_BYTES });
    }
    line.push('\n');
    Ok(line)
}

/// The message on a line: a [`Request`] in a worker, a [`Reply`] in the runner.
///
/// # Errors
/// A line that is not such a message, with its beginning and the place and kind of the fault; or a message with too
/// many parts.
pub fn decode<M: DeserializeOwned>(line: &str) -> Result<M, ProtocolError> {
    limits::check_parts(line)?;
    serde_json::from_str(line).map_err(|cause| ProtocolError::NotMessage {
        start: start_of(line.as_bytes()),
        why: cause.to_string(),
    })
}

/// Checks the protocol version of the other side.
///
/// # Errors
/// Any version but [`VERSION`].
pub fn check_version(theirs: u32) -> Result<(), ProtocolError> {
    if theirs == VERSION { Ok(()) } else { Err(ProtocolError::Version { theirs }) }
}

/// Options for the wire. JSON has no infinity and no NaN, so those are refused here.
fn wire_options(options: &Options) -> Result<Options, ProtocolError> {
    let lacks = |value: &OptionValue| matches!(value, OptionValue::Number(number) if !number.is_finite());
    match options.iter().find(|(_, value)| lacks(value)) {
        None => Ok(options.clone()),
        Some((name, value)) => Err(ProtocolError::Value {
            what: format!("option '{name}'"),
            why: format!("{value} is not a number that JSON can carry"),
        }),
    }
}

impl TryFrom<&LoadRequest> for WireLoad {
    type Error = ProtocolError;

    fn try_from(load: &LoadRequest) -> Result<Self, ProtocolError> {
        let data_dir = load.data_dir.to_str().ok_or_else(|| ProtocolError::Value {
            what: format!("data folder {}", load.data_dir.display()),
            why: "its name is not UTF-8; choose another folder".into(),
        })?;
        Ok(Self {
            workload: load.workload.to_string(),
            options: wire_options(&load.options)?,
            engine_options: wire_options(&load.engine_options)?,
            data_dir: data_dir.to_owned(),
            treatment: load.treatment.clone(),
            sessions: load.sessions,
            seed: load.seed,
        })
    }
}

impl From<WireLoad> for LoadRequest {
    fn from(wire: WireLoad) -> Self {
        Self {
            workload: wire.workload.into(),
            options: wire.options,
            engine_options: wire.engine_options,
            data_dir: PathBuf::from(wire.data_dir),
            treatment: wire.treatment,
            sessions: wire.sessions,
            seed: wire.seed,
        }
    }
}

impl From<Placed> for WirePlaced {
    fn from(placed: Placed) -> Self {
        Self { name: placed.name, pid: placed.pid, tid: placed.tid, cpus: placed.cpus.to_string() }
    }
}

/// Checks a worker's report of a thread outside of it.
impl TryFrom<WirePlaced> for Placed {
    type Error = ProtocolError;

    fn try_from(wire: WirePlaced) -> Result<Self, ProtocolError> {
        let cpus = match wire.cpus.as_str() {
            "" => CpuSet::new(),
            list => CpuSet::parse_list(list).map_err(|cause| ProtocolError::Value {
                what: format!("logical CPUs of '{}'", wire.name),
                why: cause.to_string(),
            })?,
        };
        Ok(Self { name: one_line(&wire.name, 100), pid: wire.pid, tid: wire.tid, cpus })
    }
}

impl From<SessionSlice> for WireSessionSlice {
    fn from(slice: SessionSlice) -> Self {
        Self {
            steps: slice.steps,
            rows: slice.rows,
            answers_checked: slice.answers_checked,
            answers_wrong: slice.answers_wrong,
            cpu_ns: slice.cpu_ns,
            voluntary_switches: slice.voluntary_switches,
            involuntary_switches: slice.involuntary_switches,
            run_queue_wait_ns: slice.run_queue_wait_ns,
            counters: slice.counters,
            latency: STANDARD.encode(slice.latency),
            finished_ns: slice.finished_ns,
            queries: slice.queries,
            metrics: slice.metrics,
            items: slice.items,
            rows_by_piece: slice.rows_by_piece,
        }
    }
}

/// Checks a worker's report of a session: the histogram must be whole, and hold one latency per step if it is
/// not empty; no query has more counters than a session may have.
impl TryFrom<WireSessionSlice> for SessionSlice {
    type Error = ProtocolError;

    fn try_from(wire: WireSessionSlice) -> Result<Self, ProtocolError> {
        let refuse = |why: String| ProtocolError::Value { what: "latency of a session".into(), why };
        let latency =
            STANDARD.decode(&wire.latency).map_err(|cause| refuse(format!("not base64: {cause}")))?;
        let held = latency::steps(&latency).map_err(|cause| refuse(cause.to_string()))?;
        if !latency.is_empty() && held != wire.steps {
            return Err(refuse(format!("{held} latencies for {} steps", wire.steps)));
        }
        limits::check_counters(&wire.queries)?;
        Ok(Self {
            steps: wire.steps,
            rows: wire.rows,
            answers_checked: wire.answers_checked,
            answers_wrong: wire.answers_wrong,
            cpu_ns: wire.cpu_ns,
            voluntary_switches: wire.voluntary_switches,
            involuntary_switches: wire.involuntary_switches,
            run_queue_wait_ns: wire.run_queue_wait_ns,
            counters: wire.counters,
            latency,
            finished_ns: wire.finished_ns,
            queries: wire.queries,
            metrics: wire.metrics,
            items: wire.items,
            rows_by_piece: wire.rows_by_piece,
        })
    }
}

#[cfg(test)]
mod tests;
