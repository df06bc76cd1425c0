//! The engine `native`: an in-memory table and a log inside the worker, made for threadwise, so that it is known
//! what is measured: a hash index with or without locks (`table`), a log buffer with three
//! ways to reserve room (`log`), a log writer that writes a file (`writer`), and the reading of that
//! file (`recovery`). Separate from these is an index under each kind of lock (`index`) and loops that need one resource each (`kernels`).
//!
//! Everything is made for each run. Placement of memory, unless the treatment has a memory policy:
//! rows lie on the node of the session that inserted them, the seeded ones too, since each session
//! inserts its share of them; the index's heads and the log buffer on the node of the first session,
//! where a thread bound to its logical CPUs makes them. So two runs of a treatment place them alike.
//!
//! After every slice, with all sessions parked, three things must agree: the added rows that the index finds,
//! the content of the log file, and what the sessions report. Then the added rows are removed and the file is
//! emptied, so that every slice begins with the same table, and a long study needs no more memory and disk
//! than its longest slice. The log is not kept for recovery: the file is removed at the end.

mod error;
mod index;
mod insert_reports;
mod kernels;
mod locks;
mod log;
mod log_buffer;
mod options;
mod pad;
mod place;
mod record;
mod recovery;
mod row;
mod session;
mod shared;
mod table;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use threadwise_machine::CpuSet;
use threadwise_study::engine::Properties;
use threadwise_study::{Counters, Options, SessionSlice, Workload};

use self::error::{agree, failed};
use self::index::{IndexSpec, RunningIndex};
use self::kernels::{KernelSpec, RunningKernels};
use self::log::Log;
use self::log_buffer::LogBufferSession;
use self::options::{InsertSpec, LogOptions, Spec, WORKLOADS, parse};
use self::place::on;
use self::session::InsertSession;
use self::shared::Shared;
use self::table::{Content, Index, Table};
use self::writer::{LogWriter, Written};
use crate::workloads::insert::{Durability, RandomKeys};
use crate::{
    Engine, EngineError, LoadRequest, Loaded, Placed, Running, Session, SessionRequest, Standing,
    StartRequest,
};

/// Bytes of a row in memory and, about, in the log: 152 bytes, a flag, and its place in a vector.
const ROW_BYTES_IN_MEMORY: u64 = 160;

/// Number of log files that this process has made.
static FILES: AtomicU64 = AtomicU64::new(0);

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Native;

impl Engine for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok(env!("CARGO_PKG_VERSION").into())
    }

    fn about(&self) -> &'static str {
        "a table, an index and a log writer inside the worker: with and without locks, spins counted"
    }

    fn workloads(&self) -> &'static [Workload] {
        &WORKLOADS
    }

    /// Rows lie in memory.
    fn properties(&self) -> Properties {
        Properties { row_bytes: 0, row_memory_bytes: ROW_BYTES_IN_MEMORY, ..Properties::default() }
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        match request.workload {
            Workload::Index => IndexSpec::parse(request).map(drop),
            Workload::Kernels => KernelSpec::parse(request).map(drop),
            _ => parse(request).map(drop),
        }
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let sessions = u64::from(request.sessions);
        Ok(match request.workload {
            Workload::Index => index::size(&IndexSpec::parse(request)?, sessions),
            Workload::Kernels => kernels::size(&KernelSpec::parse(request)?),
            _ => size(&parse(request)?, sessions),
        })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        Ok(match request.load.workload {
            Workload::Index => Box::new(RunningIndex::begin(request)?),
            Workload::Kernels => Box::new(RunningKernels::begin(request)?),
            _ => Box::new(RunningNative::begin(request)?),
        })
    }
}

/// Memory of one session, without the rows that it adds in a fixed time
/// ([`threadwise_study::insert::added_bytes`] has those), and notes.
fn size(spec: &Spec, sessions: u64) -> Loaded {
    match spec {
        Spec::Insert(InsertSpec { insert, buckets, log, .. }) => {
            let rows = insert.rows_per_session.unwrap_or(0) + insert.seed_rows / sessions;
            let ring = log.map_or(0, |log| log.ring_bytes as u64);
            let bytes_per_session = rows * ROW_BYTES_IN_MEMORY + (*buckets as u64 * 8 + ring) / sessions;
            let note = match (log, insert.durability) {
                (None, _) => "native: no log (table=unlogged)",
                (Some(_), Durability::Full) => "native: commits wait for fdatasync of the log",
                (Some(_), Durability::Relaxed) => {
                    "native: the log is written every 10 ms or at half a buffer, and never synced"
                }
            };
            Loaded { bytes_per_session, rows_per_session: rows, notes: vec![note.into()] }
        }
        Spec::LogBuffer(spec) => {
            let note = match spec.writer {
                true => "native: the log is written every 10 ms or at half a buffer, and never synced",
                false => "native: no log writer; records overwrite each other and are not checked",
            };
            let bytes = spec.log.ring_bytes as u64 / sessions;
            Loaded { bytes_per_session: bytes, rows_per_session: 0, notes: vec![note.into()] }
        }
    }
}

/// Whether there is a log writer, and what commits wait for.
fn writes(spec: &Spec) -> Option<Durability> {
    match spec {
        Spec::Insert(spec) => spec.log.map(|_| spec.insert.durability),
        Spec::LogBuffer(spec) => spec.writer.then_some(Durability::Relaxed),
    }
}

/// The table and the log, empty.
fn make(spec: &Spec, sessions: usize) -> (Table, Option<Log>) {
    let has_writer = writes(spec).is_some();
    let log = |options: LogOptions| Log::new(options.reserve, options.ring_bytes, sessions, has_writer);
    match spec {
        Spec::Insert(spec) => (Table::new(spec.index, spec.buckets, sessions), spec.log.map(log)),
        Spec::LogBuffer(spec) => (Table::new(Index::LockFree, 1, sessions), Some(log(spec.log))),
    }
}

/// An unused file name in the study's folder.
fn log_path(load: &LoadRequest) -> PathBuf {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    load.data_dir.join(format!("native-{}-{number}.log", std::process::id()))
}

/// The engine, started for one treatment.
struct RunningNative {
    spec: Spec,
    seed: u64,
    service: CpuSet,
    shared: Arc<Shared>,
    writer: Mutex<Option<LogWriter>>,
    /// The writer's counts at the end of the last slice.
    reported: Mutex<Written>,
}

impl RunningNative {
    fn begin(request: &StartRequest) -> Result<Self, EngineError> {
        let spec = parse(&request.load)?;
        let sessions = request.sessions.len();
        let first = request.sessions.first().ok_or_else(|| failed("start", "it has no session"))?;
        let (table, log) = on(first, || make(&spec, sessions))?;
        let log = log.map(Arc::new);
        let writer = match (&log, writes(&spec)) {
            (Some(log), Some(durability)) => {
                let path = log_path(&request.load);
                Some(LogWriter::start(Arc::clone(log), path, &request.service, durability)?)
            }
            _ => None,
        };
        Ok(Self {
            spec,
            seed: request.load.seed,
            service: request.service.clone(),
            shared: Arc::new(Shared::new(table, log, sessions)),
            writer: Mutex::new(writer),
            reported: Mutex::new(Written::default()),
        })
    }

    fn with_writer<T>(
        &self,
        task: impl FnOnce(&LogWriter) -> Result<T, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(task).transpose()
    }

    /// Content of the seeded table, computed from the seed.
    fn seeded(&self) -> Content {
        let Spec::Insert(spec) = &self.spec else { return Content::default() };
        let mut content = Content::default();
        let keys = RandomKeys::new(self.seed, 0).take(spec.insert.seed_rows as usize);
        keys.for_each(|key| content.add(key));
        content
    }

    /// Compares table, log and sessions, removes the added rows, and empties the log.
    fn check_and_put_back(&self) -> Result<(), EngineError> {
        let reported = self.shared.take_reported();
        if let Spec::Insert(_) = self.spec {
            agree("the table's added rows", self.shared.put_table_back(), reported)?;
        }
        self.with_writer(|writer| {
            writer.settle()?;
            let log = writer.read_back(|_, _| {})?;
            agree("the log", log.content, reported)?;
            if log.torn_bytes + log.unfinished > 0 {
                return Err(EngineError::WrongAnswer(format!(
                    "the log ends in {} bytes that are not a record and {} transactions without an end",
                    log.torn_bytes, log.unfinished
                )));
            }
            writer.empty()
        })?;
        Ok(())
    }
}

impl Running for RunningNative {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let shared = Arc::clone(&self.shared);
        match (&self.spec, &self.shared.log) {
            (Spec::Insert(spec), _) => Ok(Box::new(InsertSession::open(request, spec, shared))),
            (Spec::LogBuffer(spec), Some(log)) => {
                Ok(Box::new(LogBufferSession::open(request, spec, shared, Arc::clone(log))))
            }
            (Spec::LogBuffer(_), None) => Err(failed("open a session", "there is no log")),
        }
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        // Memory that sessions touched while warming up is used for the first rows.
        self.shared.put_table_back();
        agree("the seeded table", self.shared.table().content(), self.seeded())?;
        let placed = self.with_writer(|writer| {
            Ok(Placed {
                name: "log writer".into(),
                pid: std::process::id(),
                tid: writer.tid(),
                cpus: self.service.clone(),
            })
        })?;
        Ok(Standing { placed: placed.into_iter().collect(), notes: Vec::new() })
    }

    fn after(&self, _: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        self.check_and_put_back()?;
        let now = self.with_writer(|writer| Ok(writer.written()))?;
        let Some(now) = now else { return Ok(Counters::new()) };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let then = std::mem::replace(&mut *reported, now);
        let since = [
            ("log_writes", now.writes - then.writes),
            ("log_syncs", now.syncs - then.syncs),
            ("log_written_bytes", now.bytes - then.bytes),
            ("log_writer_cpu_ns", now.cpu_ns - then.cpu_ns),
        ];
        Ok(since.map(|(name, value)| (name.to_owned(), value)).into())
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.check_and_put_back();
        let seeded = agree("the table at the end", self.shared.table().content(), self.seeded());
        // Ends the thread and removes the file.
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
        checked.and(seeded)
    }
}

#[cfg(test)]
mod tests;
