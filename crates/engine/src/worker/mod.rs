//! The worker process: an engine behind the protocol of docs/WORKER.md.
//!
//! The main thread reads requests and writes replies; it sleeps while sessions work. What sessions
//! do is in `crew`, how a window is counted in `measure`.

pub mod arrivals;
mod crew;
pub(crate) mod fixed;
pub(crate) mod measure;
pub(crate) mod open_loop;
mod statistics;
mod step_loop;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use threadwise_machine::CpuSet;
use threadwise_study::arrivals::RATE;
use threadwise_study::{Counters, Note, Options, SessionSlice, main_sessions};

use crate::protocol::{
    self, ProtocolError, REPLY_FD, Reply, Request, VERSION, WireLimit, WireLoad, WirePlaced, WirePoint,
    WireServerCpus, WireSession, WireSessionSlice,
};
use crate::workloads::rate;
use crate::{Engine, EngineError, Keeper, LoadRequest, Running, StartRequest, Window, clock, engines};
use arrivals::{Arrivals, Rate};
use crew::Crew;
pub use fixed::fixed_work;
pub(crate) use measure::MAX_PIECES;
pub use measure::StepResult;
use statistics::Statistics;
pub use step_loop::step_loop;

/// Time for the sessions' threads to wake up before the warm-up begins.
const LEAD_NS: u64 = 200_000;

/// Longest accepted window or warm-up, an hour: a longer one is a mistake in units.
const MAX_WINDOW_NS: u64 = 3_600_000_000_000;

/// Why a worker ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The engine or a session failed; the error was sent to the runner.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The runner sent an invalid request, or one in the wrong order.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The runner sent a request that cannot be executed now.
    #[error("request '{request}' cannot be executed: {why}")]
    Order {
        /// The request's name.
        request: &'static str,
        /// What is wrong.
        why: String,
    },
    /// There is no descriptor for replies.
    #[error(
        "{REPLY_FD} does not name a file descriptor to write to ({why}); a worker is started by threadwise, see docs/WORKER.md"
    )]
    ReplyFd {
        /// The cause.
        why: String,
    },
}

impl WorkerError {
    /// The kind in the reply `failed`: that of the engine's error, else `protocol`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Protocol(_) | Self::Order { .. } | Self::ReplyFd { .. } => "protocol",
        }
    }
}

/// Opens the reply file descriptor that the environment names, by its path below /proc, which needs no
/// unsafe code. It must be a pipe or a file; a socket cannot be opened this way.
///
/// # Errors
/// The variable is missing or does not name a writable descriptor.
pub fn reply_from_environment() -> Result<File, WorkerError> {
    let number = std::env::var(REPLY_FD).map_err(|cause| WorkerError::ReplyFd { why: cause.to_string() })?;
    reply_file(&number)
}

fn reply_file(number: &str) -> Result<File, WorkerError> {
    let fail = |why: String| WorkerError::ReplyFd { why };
    let number: u32 = number.parse().map_err(|_| fail(format!("'{number}' is not a number")))?;
    OpenOptions::new()
        .append(true)
        .open(format!("/proc/self/fd/{number}"))
        .map_err(|cause| fail(format!("descriptor {number}: {cause}")))
}

/// Serves requests until `stop` or the end of `input`.
///
/// # Errors
/// The error that ended the worker early. The runner got it as `failed`, if it still reads.
pub fn run(
    engines: &[&'static dyn Engine],
    engine_name: &str,
    mut input: impl BufRead,
    mut output: impl Write,
) -> Result<(), WorkerError> {
    let result = serve(engines, engine_name, &mut input, &mut output);
    if let Err(error) = &result {
        let failed = Reply::Failed { kind: error.kind().into(), message: one_line(&error.to_string()) };
        // Report the error itself, not that the runner no longer reads.
        let _ = send(&mut output, &failed);
    }
    result
}

fn serve(
    engines: &[&'static dyn Engine],
    engine_name: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<(), WorkerError> {
    let engine = engines::find_in(engines, engine_name)?;
    // The server is not known yet; other engines have a version.
    let version = engine.version(&Options::new()).unwrap_or_else(|_| "unknown".to_owned());
    let properties = Some(engine.properties());
    let name = engine.name().to_owned();
    let hello = Reply::Hello { protocol: VERSION, engine: name, version, properties, pieces: true };
    send(output, &hello)?;
    let (mut held, mut statistics) = (Held::default(), Statistics::default());
    while let Some(line) = protocol::read_line(input)? {
        let reply = match protocol::decode::<Request>(&line)? {
            Request::Load { protocol, load, connections } => {
                protocol::check_version(protocol)?;
                held.load(engine, &LoadRequest::from(load), connections.unwrap_or(0))?
            }
            Request::Prepare { protocol, load, sessions, seed, service, journal } => {
                if held.started.is_some() {
                    return Err(order("prepare", "sessions are open already"));
                }
                protocol::check_version(protocol)?;
                let start = start_request(load, &sessions, seed, service, journal)?;
                engine.check(&start.load)?;
                held.prepare(engine, &start)?
            }
            Request::Go { sequence, warmup_ns, window_ns, queries, piece_ns } => {
                let started = held.started.as_ref();
                started.ok_or_else(|| order("go", "no session is open; prepare first"))?.go(
                    sequence,
                    warmup_ns,
                    (window_ns, piece_ns),
                    queries,
                )?
            }
            Request::Server { protocol, engine_options, points, cpus } => {
                protocol::check_version(protocol)?;
                server(engine, &engine_options, points, cpus)?
            }
            Request::Statements { protocol, engine_options, keys, wants_text } => {
                protocol::check_version(protocol)?;
                let found = statistics.read(engine, &engine_options, &keys, wants_text)?;
                Reply::Statements { statements: Box::new(found) }
            }
            Request::Stop => break,
        };
        send(output, &reply)?;
    }
    let memory = held.end()?;
    Ok(send(output, &Reply::Done { memory })?)
}

/// Describes the server that these options name.
fn server(engine: &dyn Engine, options: &Options, points: bool, cpus: bool) -> Result<Reply, EngineError> {
    let version = engine.version(options)?;
    let limits = engine.limits(options)?;
    let points = if points { engine.points(options)? } else { Vec::new() };
    let cpus = if cpus { engine.server_cpus(options)? } else { None };
    Ok(Reply::Server {
        version,
        limits: limits.into_iter().map(WireLimit::from).collect(),
        points: points.into_iter().map(WirePoint::from).collect(),
        cpus: cpus.map(WireServerCpus::from),
    })
}

/// State of a worker between requests.
#[derive(Default)]
struct Held {
    /// Whether the engine was asked for a resource to keep.
    asked: bool,
    keeper: Option<Box<dyn Keeper>>,
    started: Option<StartedEngine>,
}

/// A started engine and its sessions.
struct StartedEngine {
    running: Arc<dyn Running>,
    crew: Crew,
    /// At which requests arrive, and the seed of their moments.
    arrivals: Option<(Rate, u64)>,
}

impl Held {
    fn load(
        &mut self,
        engine: &dyn Engine,
        load: &LoadRequest,
        connections: u32,
    ) -> Result<Reply, WorkerError> {
        engine.check(load)?;
        if !self.asked {
            self.keeper = engine.keep(load, connections)?;
            self.asked = true;
        }
        let loaded = engine.load(load)?;
        Ok(Reply::Loaded {
            bytes_per_session: loaded.bytes_per_session,
            rows_per_session: loaded.rows_per_session,
            notes: loaded.notes,
            keep: self.keeper.is_some(),
        })
    }

    fn prepare(&mut self, engine: &dyn Engine, start: &StartRequest) -> Result<Reply, WorkerError> {
        let arrivals = rate::of(&start.load.options)?.map(|rate| (rate, start.seed));
        let running: Arc<dyn Running> = Arc::from(engine.start(start)?);
        let (crew, tids) = Crew::assemble(&running, &start.load, &start.sessions, start.seed)?;
        let standing = running.standing()?;
        let memory = running.memory()?;
        self.started = Some(StartedEngine { running, crew, arrivals });
        let (notes, note_codes) = Note::apart(standing.notes);
        Ok(Reply::Ready {
            tids,
            placed: standing.placed.into_iter().map(WirePlaced::from).collect(),
            notes,
            note_codes,
            memory,
        })
    }

    /// Closes the sessions, lets the engine check and reset its data, and ends the kept resource. Where the memory of its
    /// server lay at last.
    fn end(self) -> Result<Counters, WorkerError> {
        let finished = match self.started {
            Some(started) => {
                let memory = started.running.memory();
                started.crew.dismiss();
                started.running.finish().and(memory)
            }
            None => Ok(Counters::new()),
        };
        let ended = self.keeper.map_or(Ok(()), |keeper| keeper.end());
        Ok(finished.and_then(|memory| ended.map(|()| memory))?)
    }
}

fn start_request(
    load: WireLoad,
    sessions: &[WireSession],
    seed: u64,
    service: Option<String>,
    journal: Option<String>,
) -> Result<StartRequest, WorkerError> {
    if sessions.is_empty() {
        return Err(order("prepare", "it names no session"));
    }
    if sessions.len() > load.sessions as usize {
        let why = format!("{} sessions, but data is loaded for {}", sessions.len(), load.sessions);
        return Err(order("prepare", &why));
    }
    let read = |list: &str| CpuSet::parse_list(list).map_err(|cause| order("prepare", &cause.to_string()));
    let sessions: Vec<CpuSet> =
        sessions.iter().map(|session| read(&session.cpus)).collect::<Result<_, _>>()?;
    let everywhere = || sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
    let service = service.map_or_else(|| Ok(everywhere()), |list| read(&list))?;
    let journal = journal.map(PathBuf::from);
    Ok(StartRequest { load: LoadRequest::from(load), sessions, service, seed, journal })
}

impl StartedEngine {
    fn go(
        &self,
        sequence: u64,
        warmup_ns: u64,
        (window_ns, piece_ns): (u64, Option<u64>),
        queries: Vec<Vec<u8>>,
    ) -> Result<Reply, WorkerError> {
        if window_ns == 0 || window_ns > MAX_WINDOW_NS || warmup_ns > MAX_WINDOW_NS {
            return Err(order("go", "window_ns must be 1 to 3600000000000, warmup_ns at most that"));
        }
        if piece_ns.is_some_and(|piece_ns| piece_ns == 0 || window_ns.div_ceil(piece_ns) > MAX_PIECES as u64)
        {
            return Err(order("go", "piece_ns must give at most 1000 pieces"));
        }
        self.running.before()?;
        let from_ns = clock::monotonic_ns() + LEAD_NS;
        let start_ns = from_ns + warmup_ns;
        let end_ns = start_ns + window_ns;
        let of_slice = |(rate, seed): &(Rate, u64)| {
            Arc::new(Arrivals::new(*rate, seed.wrapping_add(sequence), from_ns, [start_ns, end_ns]))
        };
        let arrivals = self.arrivals.as_ref().map(of_slice);
        let window = Window { sequence, start_ns, end_ns, piece_ns, arrivals };
        let mut slices = self.crew.work(&window, queries, || self.running.during(&window))?;
        let mut counters = self.running.after(&mut slices)?;
        if let Some(arrivals) = &window.arrivals {
            counters.extend(arrivals.counters().ok_or_else(no_arrivals)?);
        }
        let window_ns = finished_ns(&slices).unwrap_or(window_ns).max(1);
        let sessions = slices.into_iter().map(WireSessionSlice::from).collect();
        Ok(Reply::Slice { sequence, start_ns, window_ns, sessions, counters })
    }
}

/// The window of a fixed amount of work ends with the last session, that of streams with the last stream; that of a
/// single query is its execution without planning. `None` if the window is the requested one.
fn finished_ns(slices: &[SessionSlice]) -> Option<u64> {
    if let [SessionSlice { queries, .. }] = slices
        && queries.len() == 1
    {
        return Some(queries[0].elapsed_ns);
    }
    main_sessions(slices).map(|slice| slice.finished_ns).max().flatten()
}

/// A loop that does not take requests from the schedule would be reported as one that does.
fn no_arrivals() -> EngineError {
    let why = "its sessions do not wait for requests to arrive on this engine: leave --rate out";
    EngineError::Option { option: RATE.to_owned(), why: why.to_owned() }
}

fn order(request: &'static str, why: &str) -> WorkerError {
    WorkerError::Order { request, why: why.to_owned() }
}

fn send(output: &mut impl Write, reply: &Reply) -> Result<(), ProtocolError> {
    let line = protocol::encode(reply)?;
    let written = output.write_all(line.as_bytes()).and_then(|()| output.flush());
    written.map_err(|cause| ProtocolError::Stream { action: "write to", why: cause.to_string() })
}

/// On one line, for the runner's log and table: messages of engines may have several.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::QueryExecution;

    #[test]
    fn the_reply_descriptor_is_opened_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replies");
        let file = File::create(&path).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&file).to_string();
        let mut reply = reply_file(&number).unwrap();
        send(&mut reply, &Reply::Done { memory: Counters::new() }).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"type\":\"done\"}\n");
        for bad in ["", "x", "-1", "999999"] {
            assert!(matches!(reply_file(bad), Err(WorkerError::ReplyFd { .. })), "{bad}");
        }
    }

    #[test]
    fn a_window_ends_with_the_last_stream_whatever_ran_beside_it() {
        let slice = |queries: usize, finished_ns| SessionSlice {
            queries: vec![QueryExecution { elapsed_ns: 7, ..QueryExecution::default() }; queries],
            finished_ns,
            ..SessionSlice::default()
        };
        assert_eq!(finished_ns(&[slice(1, Some(9))]), Some(7));
        assert_eq!(finished_ns(&[slice(1, Some(9)), slice(0, Some(11))]), Some(9));
        assert_eq!(finished_ns(&[slice(2, Some(9)), slice(2, Some(10)), slice(0, Some(11))]), Some(10));
        assert_eq!(finished_ns(&[slice(0, Some(9)), slice(0, Some(11))]), Some(11));
        assert_eq!(finished_ns(&[slice(0, None), slice(0, None)]), None);
    }

    #[test]
    fn messages_fit_on_one_line() {
        assert_eq!(one_line("a\n  b\r\nc"), "a b c");
    }
}
