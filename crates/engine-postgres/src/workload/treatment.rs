//! A treatment of queries: its control connection, its sessions, and what is read around each slice.

use postgres::Client;
use std::sync::{Arc, Mutex};
use threadwise_engine::{EngineError, LoadRequest, Session, SessionRequest, Window};
use threadwise_engine_sql::clock::{ServerClock, uncertainty_note};
use threadwise_engine_sql::{Sampler, Sessions, Threads};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, SessionSlice};

use super::Work;
use super::parallel_scan::{self, Looks};
use super::shared::{FORCED_FLUSH, Shared, backend_pid, lock, with_clock};
use super::stats::Stats;
use super::tpch::{self, QuerySession, Reads, ServerCpu};
use super::waits::Waits;
use crate::Server;
use crate::connect::Locality;
use crate::dialect::BLOCK_BYTES;
use crate::error::{ENGINE, failed};

/// A treatment between start and finish. Sessions have their own copies of what they need.
pub struct Queries {
    server: Server,
    load: LoadRequest,
    workload: Work,
    suffix: String,
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
    waits: Waits,
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

impl Queries {
    /// Opens the control connection.
    ///
    /// # Errors
    /// An error of the server, or data that is not as loaded.
    pub(crate) fn start(
        server: &Server,
        load: &LoadRequest,
        workload: Work,
        suffix: &str,
    ) -> Result<Self, EngineError> {
        let mut client = server.connect("threadwise control")?;
        let control_pid = backend_pid(&mut client)?;
        // Windows of queries are only limits: only the times of parallel scans need the server's clock.
        let needs_clock = server.is_local() && !matches!(workload, Work::Tpch(_));
        let clock = with_clock(&mut client, |ask| ServerClock::measure(ENGINE, needs_clock, ask))?;
        if let Work::Tpch(workload) = &workload {
            tpch::must_be_whole(&mut client, tpch::schema(server, suffix), workload)?;
        }
        if let Work::ParallelScan(workload) = &workload {
            parallel_scan::must_be_whole(&mut client, server, workload, suffix)?;
        }
        let control = Control {
            stats: Stats::prepare(&mut client, server.version_num())?,
            waits: Waits::prepare(&mut client)?,
            sampler: Sampler::new(load.seed),
            looks: looks(server, &workload)?,
            client,
            counters: Counters::new(),
            cpu_ns: None,
            reads: Reads::default(),
        };
        let shared = Arc::new(Shared::new(clock));
        uncertainty_note(clock.uncertainty_ns()).into_iter().for_each(|note| shared.note(note));
        Ok(Self {
            server: server.clone(),
            load: load.clone(),
            workload,
            suffix: suffix.to_owned(),
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
            Work::Steps(_) => {}
        }
        self
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
        let leaders: Vec<u32> = self.backends().into_iter().map(|(_, pid)| pid).collect();
        self.cpu()?.read_ns(&leaders)
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

    /// The server processes of the open sessions, with their numbers.
    fn backends(&self) -> Vec<(u32, u32)> {
        self.shared.backends().into_iter().collect()
    }
}

impl Sessions for Queries {
    type Control = Client;

    fn with_control<T>(&self, ask: impl FnOnce(&mut Client) -> T) -> T {
        ask(&mut lock(&self.control).client)
    }

    fn threads(&self) -> Result<Threads, String> {
        match self.server.locality() {
            Locality::Elsewhere { why } => Err(why.clone()),
            Locality::Here { .. } => Ok(Threads {
                sessions: self.backends().into_iter().map(|(session, pid)| (session, (pid, pid))).collect(),
                control: Some((self.control_pid, self.control_pid)),
            }),
        }
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let shared = Arc::clone(&self.shared);
        Ok(match &self.workload {
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
            Work::Steps(_) => return Err(failed("open a session", "it has no queries")),
        })
    }

    fn notes(&self) -> Result<Vec<String>, EngineError> {
        let mut notes = self.shared.notes();
        notes.extend(lock(&self.control).stats.lacks());
        Ok(notes)
    }

    fn before(&self) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, stats, counters, cpu_ns, reads, looks, .. } = &mut *control;
        if let Work::Tpch(workload) = &self.workload {
            let schema = tpch::schema(&self.server, &self.suffix);
            let streams = workload.streams(self.backends().len() as u32);
            tpch::hold_tables(client, schema, &workload.options, self.dop, streams)?;
            *reads = Reads::so_far(client, schema)?;
            *cpu_ns = self.all_cpu_ns();
        } else {
            let mut clock = self.shared.clock();
            with_clock(client, |ask| clock.refresh(self.server.is_local(), ask))?;
            self.shared.set_clock(clock);
        }
        counters.clear();
        self.shared.all_work();
        if let Some(looks) = looks {
            looks.begin();
        }
        stats.begin(client)
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let mut control = lock(&self.control);
        let Control { client, waits, sampler, counters, looks, .. } = &mut *control;
        if let Some(looks) = looks {
            looks.watch(window, &self.shared);
            return Ok(());
        }
        let shared = &self.shared;
        let at_work = || shared.at_work().into_iter().map(i64::from).collect();
        let look = |pids: &[i64]| waits.look(client, pids).map(Some);
        sampler.watch(window, |at_ns| shared.sleep_until_ns(at_ns), at_work, look, counters)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
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
