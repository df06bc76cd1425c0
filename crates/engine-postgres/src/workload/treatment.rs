//! A treatment: its control connection, its sessions, and what is read around each slice.

use postgres::Client;
use std::sync::{Arc, Mutex};
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest, Window};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, SessionSlice};

use super::clock::ServerClock;
use super::parallel_scan::{self, Looks};
use super::shared::{FORCED_FLUSH, Shared, backend_pid, lock};
use super::stats::Stats;
use super::tpch::{self, QuerySession, Reads, ServerCpu};
use super::transaction::TransactionSession;
use super::waits::Sampler;
use super::{Work, insert, logical_io};
use crate::Server;
use crate::connect::Locality;
use crate::error::failed;

/// The server process of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backend {
    /// Session number, from 0.
    pub session: u32,
    /// Its process, which has one thread.
    pub pid: u32,
}

/// A treatment between start and finish. Sessions have their own copies of what they need.
pub struct Treatment {
    server: Server,
    load: LoadRequest,
    workload: Work,
    suffix: String,
    /// Whether the data is discarded afterwards.
    fresh: bool,
    control_pid: u32,
    /// Requested degree of parallelism; 1 for workloads without parallel queries.
    dop: u32,
    control: Mutex<Control>,
    shared: Arc<Shared>,
}

/// State of the control connection between and during slices.
struct Control {
    client: Client,
    stats: Stats,
    sampler: Sampler,
    /// Looks at the processes of `parallel-scan`, instead of samples of waits.
    looks: Option<Looks>,
    /// Counters of the slice so far: wait samples.
    counters: Counters,
    /// CPU time of all processes that work for the sessions before the slice, if it is read for them together.
    cpu_ns: Option<u64>,
    /// Blocks of the tables of `tpch` before the slice.
    reads: Reads,
}

/// Bytes of a PostgreSQL block (`BLCKSZ`, which packages do not change).
const BLOCK_BYTES: u64 = 8192;

impl Treatment {
    /// Opens the control connection. `fresh` means that the data is a copy that is discarded afterwards; otherwise rows
    /// that an interrupted run left are removed first.
    ///
    /// # Errors
    /// An error of the server, or data that is not as loaded.
    pub fn start(
        server: &Server,
        load: &LoadRequest,
        suffix: &str,
        fresh: bool,
    ) -> Result<Self, EngineError> {
        let workload = Work::parse(load)?;
        let mut client = server.connect("threadwise control")?;
        let control_pid = backend_pid(&mut client)?;
        // Windows of queries are only limits: only samples of waits need the server's clock.
        let needs_clock = server.is_local() && !matches!(workload, Work::Tpch(_));
        let clock = ServerClock::measure(&mut client, needs_clock)?;
        if let Work::Tpch(workload) = &workload {
            tpch::must_be_whole(&mut client, tpch::schema(server, suffix), workload)?;
        }
        if let Work::ParallelScan(workload) = &workload {
            parallel_scan::must_be_whole(&mut client, server, workload, suffix)?;
        }
        if let (Work::Insert(workload), false) = (&workload, fresh) {
            insert::make_ready(&mut client, server, load, workload, suffix)?;
        }
        let control = Control {
            stats: Stats::prepare(&mut client, server.version_num())?,
            sampler: Sampler::prepare(&mut client, load.seed)?,
            looks: looks(server, &workload)?,
            client,
            counters: Counters::new(),
            cpu_ns: None,
            reads: Reads::default(),
        };
        let shared = Arc::new(Shared::new(clock));
        if !server.is_local() {
            shared.note(format!(
                "the server's clock is uncertain by {} ms; CPU time of its processes is unknown and given as 0",
                clock.uncertain_ns().div_ceil(1_000_000)
            ));
        }
        Ok(Self {
            server: server.clone(),
            load: load.clone(),
            workload,
            suffix: suffix.to_owned(),
            fresh,
            control_pid,
            dop: 1,
            control: Mutex::new(control),
            shared,
        })
    }

    /// Sets the logical CPUs of all sessions together: their number is the default degree of parallelism of a query.
    #[must_use]
    pub fn placed_on(mut self, placement: &CpuSet) -> Self {
        match &self.workload {
            Work::Tpch(workload) => {
                self.dop = threadwise_engine::workloads::tpch::dop(&workload.options, placement);
            }
            Work::ParallelScan(workload) => self.dop = workload.scan.dop_on(placement),
            Work::LogicalIo(_) | Work::Insert(_) | Work::Transaction(_) => {}
        }
        self
    }

    /// The requested degree of parallelism of a session.
    pub fn dop(&self) -> u32 {
        self.dop
    }

    /// Whether parallel workers may work for its sessions.
    pub fn is_parallel(&self) -> bool {
        self.dop > 1
    }

    /// Where the CPU time of its sessions and their workers can be read.
    fn cpu(&self) -> Option<ServerCpu> {
        match (self.server.locality(), &self.workload) {
            (Locality::Here { postmaster }, Work::Tpch(_) | Work::ParallelScan(_)) => {
                Some(ServerCpu::of(self.is_parallel().then_some(*postmaster)))
            }
            _ => None,
        }
    }

    fn all_cpu_ns(&self) -> Option<u64> {
        let leaders: Vec<u32> = self.backends().iter().map(|backend| backend.pid).collect();
        self.cpu()?.read_ns(&leaders)
    }

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// An error of the server, or another plan than required.
    pub fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let shared = Arc::clone(&self.shared);
        Ok(match &self.workload {
            Work::LogicalIo(workload) => {
                Box::new(logical_io::IoSession::open(&self.server, request, workload, &self.suffix, shared)?)
            }
            Work::Insert(workload) => {
                Box::new(insert::InsertSession::open(&self.server, request, workload, &self.suffix, shared)?)
            }
            Work::ParallelScan(workload) => {
                let (schema, dop, cpu) = (self.suffix.as_str(), self.dop, self.cpu());
                let opening = parallel_scan::Opening { workload, schema, dop, cpu };
                Box::new(parallel_scan::ScanSession::open(&self.server, request, &opening, shared)?)
            }
            Work::Tpch(workload) if request.session >= workload.streams(request.sessions) => {
                let stream = self.stream_of(workload);
                Box::new(tpch::ShortSession::open(&self.server, request, &stream, shared)?)
            }
            Work::Tpch(workload) => Box::new(self.stream(workload, request)?),
            Work::Transaction(transaction) => {
                Box::new(TransactionSession::open(&self.server, request, transaction, shared)?)
            }
        })
    }

    /// Opens a session of queries.
    ///
    /// # Errors
    /// An error of the server, or the workload has no queries.
    pub(crate) fn open_stream(&self, request: &SessionRequest) -> Result<QuerySession, EngineError> {
        match &self.workload {
            Work::Tpch(workload) => self.stream(workload, request),
            _ => Err(failed("open a stream", format!("{} has no queries", self.load.workload))),
        }
    }

    fn stream(&self, workload: &tpch::Work, request: &SessionRequest) -> Result<QuerySession, EngineError> {
        QuerySession::open(&self.server, request, &self.stream_of(workload), Arc::clone(&self.shared))
    }

    fn stream_of<'a>(&'a self, workload: &'a tpch::Work) -> tpch::Stream<'a> {
        tpch::Stream { workload, suffix: &self.suffix, dop: self.dop, cpu: self.cpu() }
    }

    /// The server processes of the open sessions, in session order.
    pub fn backends(&self) -> Vec<Backend> {
        self.shared.backends().into_iter().map(|(session, pid)| Backend { session, pid }).collect()
    }

    /// The server process of the control connection.
    pub fn control_pid(&self) -> u32 {
        self.control_pid
    }

    /// Notes for the report; complete when all sessions are open.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.shared.notes();
        notes.extend(lock(&self.control).stats.lacks());
        notes
    }

    /// Before a slice: measures the clock if needed, and reads statistics.
    ///
    /// # Errors
    /// An error of the server.
    pub fn before(&self) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, stats, counters, cpu_ns, reads, looks, .. } = &mut *control;
        if let Work::Tpch(workload) = &self.workload {
            let schema = tpch::schema(&self.server, &self.suffix);
            let streams = workload.streams(self.backends().len() as u32);
            tpch::hold_tables(client, schema, &workload.options, self.dop, streams)?;
            *reads = Reads::so_far(client, schema)?;
            *cpu_ns = self.all_cpu_ns();
        } else if self.shared.clock().is_old() {
            self.shared.set_clock(ServerClock::measure(client, self.server.is_local())?);
        }
        counters.clear();
        self.shared.all_work();
        if let Some(looks) = looks {
            looks.begin();
        }
        stats.begin(client)
    }

    /// During a slice: samples the sessions' waits, or looks at the processes of a scan.
    ///
    /// # Errors
    /// An error of the server.
    pub fn during(&self, window: &Window) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, sampler, counters, looks, .. } = &mut *control;
        if let Some(looks) = looks {
            looks.watch(window, &self.shared);
            return Ok(());
        }
        sampler.watch(client, window, &self.shared.clock(), &self.shared, counters)
    }

    /// After a slice: its counters.
    ///
    /// # Errors
    /// An error of the server.
    pub fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let mut control = lock(&self.control);
        let Control { client, stats, counters, cpu_ns, reads, looks, .. } = &mut *control;
        let mut came = stats.end(client)?;
        if let Some(looks) = looks {
            came.append(&mut looks.add_up(&self.shared.take_scans()).counters());
        }
        // Sessions of other workloads read their own backends.
        if let Work::Tpch(_) = &self.workload {
            share_cpu(sessions, self.all_cpu_ns().zip(*cpu_ns));
            if self.server.version_num() >= FORCED_FLUSH {
                let schema = tpch::schema(&self.server, &self.suffix);
                tell_reads(sessions, Reads::so_far(client, schema)?.since(*reads), &came);
            }
        }
        counters.append(&mut came);
        Ok(std::mem::take(counters))
    }

    /// After the last slice, when the sessions are closed: checks the data and resets it.
    ///
    /// # Errors
    /// [`EngineError::WrongAnswer`] if the data is not what the sessions reported; or an error of the server.
    pub fn finish(&self) -> Result<(), EngineError> {
        let Work::Insert(workload) = &self.workload else { return Ok(()) };
        let mut control = lock(&self.control);
        let client = &mut control.client;
        insert::check(client, &self.server, &self.load, workload, &self.suffix, self.shared.tally())?;
        match self.fresh {
            true => Ok(()),
            false => insert::put_back(client, &self.server, &self.load, workload, &self.suffix),
        }
    }
}

/// Looks at the processes of parallel scans, for a workload that has them on a server here.
fn looks(server: &Server, workload: &Work) -> Result<Option<Looks>, EngineError> {
    match (server.locality(), workload) {
        (Locality::Here { postmaster }, Work::ParallelScan(_)) => Looks::of(*postmaster).map(Some),
        _ => Ok(None),
    }
}

/// Adds the CPU time of several streams as a sum, since workers cannot be assigned to streams. Sessions of short
/// queries have no workers and read their own.
fn share_cpu(sessions: &mut [SessionSlice], now_and_before_ns: Option<(u64, u64)>) {
    let (Some((now_ns, before_ns)), true) = (now_and_before_ns, sessions.len() > 1) else { return };
    let (streams, short): (Vec<&mut SessionSlice>, Vec<_>) =
        sessions.iter_mut().partition(|slice| !slice.queries.is_empty());
    let of_short_ns: u64 = short.iter().map(|slice| slice.cpu_ns).sum();
    let all_ns = now_ns.saturating_sub(before_ns).saturating_sub(of_short_ns);
    let each_ns = all_ns / (streams.len() as u64).max(1);
    streams.into_iter().for_each(|slice| slice.cpu_ns = each_ns);
}

/// Gives the server's counters to the query of a slice that has only one.
fn tell_reads(sessions: &mut [SessionSlice], reads: Reads, came: &Counters) {
    let [SessionSlice { queries, .. }] = sessions else { return };
    let [execution] = queries.as_mut_slice() else { return };
    let counts = [
        ("read_bytes", Some(reads.read.saturating_mul(BLOCK_BYTES))),
        ("buffer_hits", Some(reads.hit)),
        ("spill_bytes", came.get("temp_bytes").copied()),
    ];
    let known = counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?)));
    execution.counters.extend(known);
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::QueryExecution;

    #[test]
    fn streams_share_what_is_known_of_all_and_one_alone_keeps_its_own() {
        let stream = || SessionSlice { queries: vec![QueryExecution::default()], ..SessionSlice::default() };
        let mut sessions = vec![stream(), stream()];
        share_cpu(&mut sessions, Some((900, 300)));
        assert_eq!(sessions.iter().map(|slice| slice.cpu_ns).collect::<Vec<_>>(), [300, 300]);
        sessions.push(SessionSlice { cpu_ns: 100, ..SessionSlice::default() });
        share_cpu(&mut sessions, Some((900, 300)));
        assert_eq!(sessions.iter().map(|slice| slice.cpu_ns).collect::<Vec<_>>(), [250, 250, 100]);
        share_cpu(&mut sessions[..1], Some((900, 0)));
        assert_eq!(sessions[0].cpu_ns, 250);
    }

    #[test]
    fn reads_are_those_of_a_query_that_was_alone() {
        let (reads, came) = (Reads { read: 2, hit: 5 }, Counters::from([("temp_bytes".to_owned(), 7)]));
        let one = || SessionSlice { queries: vec![QueryExecution::default()], ..SessionSlice::default() };
        let mut sessions = vec![one()];
        tell_reads(&mut sessions, reads, &came);
        let known = [("read_bytes", 16_384), ("buffer_hits", 5), ("spill_bytes", 7)]
            .map(|(name, count)| (name.to_owned(), count));
        assert_eq!(sessions[0].queries[0].counters, Counters::from(known));
        let mut two = vec![one(), one()];
        tell_reads(&mut two, reads, &came);
        assert!(two.iter().all(|slice| slice.queries[0].counters.is_empty()));
    }
}
