//! The server of a treatment: where its processes are, and who ends it.

use std::sync::{Mutex, OnceLock, PoisonError};
use threadwise_engine::servers::{Thread, TreatmentServer};
use threadwise_engine::{EngineError, LoadRequest, Placed, Running, Standing, StartRequest};
use threadwise_engine_sql::tpch::Queries;
use threadwise_engine_sql::{Host, Started, Threads, Treatment};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, Note};

use crate::cluster::Programs;
use crate::connect::Server;
use crate::connection::PostgresConnection;
use crate::numa;
use crate::placing::{POSTMASTER, Placing};
use crate::workload::{PostgresWorkload, Scans, parse_tpch, schema};

/// A server, and where its processes are placed for a treatment.
pub(crate) struct OnServer {
    placing: Placing,
    /// Logical CPUs of each session, of all of them together, and of service processes.
    sessions: Vec<CpuSet>,
    placement: CpuSet,
    service: CpuSet,
    /// Whether parallel workers may work for the sessions.
    is_parallel: bool,
    notes: Vec<Note>,
    /// The server's service processes, once the sessions are open.
    services: OnceLock<Vec<(String, u32)>>,
    /// The server of this treatment alone; `None` if others use it, too.
    server: Mutex<Option<TreatmentServer<Programs>>>,
    /// Whether service processes are shared with treatments that place them elsewhere.
    is_shared: bool,
    /// Whether it is asked where its memory lies.
    counts_nodes: bool,
}

/// Starts a treatment of any workload on a server. `alone` is one for this treatment, `ours` one that threadwise started.
/// Without `alone` a note says that its memory was placed earlier.
///
/// # Errors
/// An error of the server; or its parallel workers would be elsewhere.
pub(crate) fn start(
    server: &Server,
    request: &StartRequest,
    suffix: &str,
    alone: Option<TreatmentServer<Programs>>,
    ours: bool,
) -> Result<Box<dyn Running>, EngineError> {
    match PostgresWorkload::parse(&request.load)? {
        PostgresWorkload::Steps(workload) => {
            let is_fresh = alone.as_ref().is_some_and(|started| started.discard);
            let load: &LoadRequest = &request.load;
            let sessions = Treatment::start(server.clone(), workload, load, suffix, is_fresh)?;
            let host = OnServer::new(server, request, alone, ours, false)?;
            Ok(Box::new(Started { sessions, host }))
        }
        PostgresWorkload::ParallelScan(workload) => {
            let sessions = Scans::start(server, workload, request, suffix)?;
            let host = OnServer::new(server, request, alone, ours, sessions.is_parallel())?;
            Ok(Box::new(Started { sessions, host }))
        }
        PostgresWorkload::Tpch(_) => Ok(Box::new(start_queries(server, request, suffix, alone, ours)?)),
    }
}

/// Starts a treatment of `tpch`.
///
/// # Errors
/// As [`start`].
pub(crate) fn start_queries(
    server: &Server,
    request: &StartRequest,
    suffix: &str,
    alone: Option<TreatmentServer<Programs>>,
    ours: bool,
) -> Result<Started<Queries<Server>, OnServer>, EngineError> {
    let options = parse_tpch(&request.load)?;
    let sessions = Queries::start(server.clone(), options, request, schema(server, suffix))?;
    let host = OnServer::new(server, request, alone, ours, sessions.is_parallel())?;
    Ok(Started { sessions, host })
}

/// All logical CPUs of the sessions.
fn placement(request: &StartRequest) -> CpuSet {
    request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus))
}

impl OnServer {
    fn new(
        server: &Server,
        request: &StartRequest,
        alone: Option<TreatmentServer<Programs>>,
        ours: bool,
        is_parallel: bool,
    ) -> Result<Self, EngineError> {
        let (placement, placing) = (placement(request), Placing::of(server, ours, request.journal.as_ref()));
        if is_parallel && !ours {
            placing.expect_workers_in(&placement)?;
        }
        let earlier = match (&alone, ours) {
            (Some(_), _) => None,
            (None, true) => Some("one server for the study (restart=study)"),
            (None, false) => Some("the server was running before"),
        };
        let mut notes: Vec<Note> = earlier.map(Note::memory_placed_earlier).into_iter().collect();
        notes.extend(placing.refusal().map(Note::not_pinned));
        if !server.is_local() {
            notes.push("CPU time of the server's processes is unknown and given as 0".into());
        }
        Ok(Self {
            placing,
            sessions: request.sessions.clone(),
            placement,
            service: request.service.clone(),
            is_parallel,
            notes,
            services: OnceLock::new(),
            is_shared: alone.is_none(),
            counts_nodes: ours && server.version_num() >= numa::FROM && numa::has_nodes(),
            server: Mutex::new(alone),
        })
    }

    fn services(&self) -> &[(String, u32)] {
        self.services.get_or_init(|| self.placing.services())
    }

    /// Binds the service processes and gives their entries. Shared ones are listed without logical CPUs, and not bound:
    /// this treatment places them only for its slices, and workers of other treatments, which begin at the same time,
    /// would move them before the mask is read back.
    fn place_services(&self) -> Result<Vec<Placed>, EngineError> {
        if !self.is_shared {
            return self.bind_services();
        }
        let unbound = |(name, pid): &(String, u32)| Placed {
            name: name.clone(),
            pid: *pid,
            tid: *pid,
            cpus: CpuSet::new(),
        };
        Ok(self.services().iter().map(unbound).collect())
    }

    /// Parallel workers inherit the postmaster's logical CPUs, which are then those of the sessions.
    fn bind_services(&self) -> Result<Vec<Placed>, EngineError> {
        let is_parent = |(name, _): &(String, u32)| name == POSTMASTER && self.is_parallel;
        let (parents, others): (Vec<_>, Vec<_>) = self.services().iter().cloned().partition(is_parent);
        let mut placed = self.placing.bind_services(&others, &self.service)?;
        placed.extend(self.placing.bind_services(&parents, &self.placement)?);
        Ok(placed)
    }
}

impl Host<PostgresConnection> for OnServer {
    fn opened(&self, session: u32, (pid, _): Thread, cpus: &CpuSet) -> Result<(), EngineError> {
        self.placing.bind(&session_name(session), pid, cpus).map(drop)
    }

    fn standing(
        &self,
        _: &mut PostgresConnection,
        threads: Result<Threads, String>,
    ) -> Result<Standing, EngineError> {
        let mut placed = Vec::new();
        // Otherwise its processes may not be on this machine.
        if let (Ok(threads), None) = (threads, self.placing.refusal()) {
            for ((session, (pid, _)), cpus) in threads.sessions.iter().zip(&self.sessions) {
                placed.push(self.placing.bind(&session_name(*session), *pid, cpus)?);
            }
            placed.extend(self.place_services()?);
            if let Some((pid, _)) = threads.control {
                placed.push(self.placing.bind("control", pid, &self.service)?);
            }
        }
        Ok(Standing { placed, notes: self.notes.clone() })
    }

    fn memory(&self, control: &mut PostgresConnection) -> Result<Counters, EngineError> {
        match self.counts_nodes {
            true => numa::memory(&mut control.client),
            false => Ok(Counters::new()),
        }
    }

    fn before(&self, _: &mut PostgresConnection) -> Result<(), EngineError> {
        if self.is_shared {
            self.bind_services()?;
        }
        Ok(())
    }

    fn after(&self) -> Result<(), EngineError> {
        match self.is_parallel {
            true => self.placing.expect_workers_in(&self.placement),
            false => Ok(()),
        }
    }

    fn finish(&self, _: bool) -> Result<(), EngineError> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map_or(Ok(()), TreatmentServer::finish)
    }
}

fn session_name(session: u32) -> String {
    format!("session {session}")
}
