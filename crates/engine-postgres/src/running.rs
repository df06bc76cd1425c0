//! A server, started for one treatment: `workload::Treatment` does the workload's part, this module starts, places,
//! and stops.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use threadwise_engine::servers::TreatmentServer;
use threadwise_engine::{
    EngineError, Placed, Running, Session, SessionRequest, Standing, StartRequest, Window,
};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, Note, SessionSlice};

use crate::cluster::Programs;
use crate::connect::Server;
use crate::error::failed;
use crate::placing::{POSTMASTER, Placing};
use crate::workload::{QuerySession, Treatment};

/// A started treatment.
pub struct AtWork {
    // Before the server, so that its connections are closed first.
    treatment: Treatment,
    placing: Placing,
    service: CpuSet,
    sessions: Vec<CpuSet>,
    /// The logical CPUs of all sessions together.
    placement: CpuSet,
    notes: Vec<Note>,
    /// The server's service processes, once the sessions are open.
    services: OnceLock<Vec<(String, u32)>>,
    treatment_server: Mutex<Option<TreatmentServer<Programs>>>,
}

impl AtWork {
    /// Opens the workload on a server. `treatment_server` is one for this treatment alone, `ours` one that threadwise
    /// started. Without `treatment_server` a note says that its memory was placed earlier.
    ///
    /// # Errors
    /// An error of the server.
    pub fn start(
        server: &Server,
        request: &StartRequest,
        suffix: &str,
        treatment_server: Option<TreatmentServer<Programs>>,
        ours: bool,
    ) -> Result<Self, EngineError> {
        let fresh = treatment_server.as_ref().is_some_and(|started| started.discard);
        let placement = request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
        let treatment = Treatment::start(server, &request.load, suffix, fresh)?.placed_on(&placement);
        let placing = Placing::of(server, ours, request.journal.as_ref());
        if treatment.is_parallel() && !ours {
            placing.expect_workers_in(&placement)?;
        }
        let mut notes = Vec::new();
        let earlier = match (&treatment_server, ours) {
            (Some(_), _) => None,
            (None, true) => Some("one server for the study (restart=study)"),
            (None, false) => Some("the server was running before"),
        };
        notes.extend(earlier.map(Note::memory_placed_earlier));
        if let Some(why) = placing.refusal() {
            notes.push(Note::not_pinned(why));
        }
        let sessions = request.sessions.clone();
        let (service, services, treatment_server) =
            (request.service.clone(), OnceLock::new(), Mutex::new(treatment_server));
        Ok(Self { treatment, placing, service, sessions, placement, notes, services, treatment_server })
    }

    /// Opens a session of queries for the calling thread.
    ///
    /// # Errors
    /// An error of the server, or its process cannot be bound.
    pub(crate) fn open_stream(&self, request: &SessionRequest) -> Result<QuerySession, EngineError> {
        let stream = self.treatment.open_stream(request)?;
        self.bind_session(request)?;
        Ok(stream)
    }

    /// Binds the server's process of a session.
    fn bind_session(&self, request: &SessionRequest) -> Result<(), EngineError> {
        if let Some(backend) = self.treatment.backends().iter().find(|one| one.session == request.session) {
            self.placing.bind(&session_name(backend.session), backend.pid, &request.cpus)?;
        }
        Ok(())
    }

    fn treatment_server(&self) -> MutexGuard<'_, Option<TreatmentServer<Programs>>> {
        self.treatment_server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn services(&self) -> &[(String, u32)] {
        self.services.get_or_init(|| self.placing.services())
    }

    /// Binds the service processes and gives their entries. Shared ones are listed without logical CPUs, and not bound:
    /// this treatment places them only for its slices, and workers of other treatments, which begin at the same time,
    /// would move them before the mask is read back.
    fn place_services(&self) -> Result<Vec<Placed>, EngineError> {
        if !self.shares_services() {
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
        let (parents, others): (Vec<_>, Vec<_>) = self
            .services()
            .iter()
            .cloned()
            .partition(|(name, _)| name == POSTMASTER && self.treatment.is_parallel());
        let mut placed = self.placing.bind_services(&others, &self.service)?;
        placed.extend(self.placing.bind_services(&parents, &self.placement)?);
        Ok(placed)
    }

    /// Whether service processes are shared with treatments that place them elsewhere.
    fn shares_services(&self) -> bool {
        self.treatment_server().is_none()
    }
}

impl Running for AtWork {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let session = self.treatment.open(request)?;
        // Before it warms up, since memory is placed where it is first touched.
        self.bind_session(request)?;
        Ok(session)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut placed = Vec::new();
        let backends = self.treatment.backends();
        for (backend, cpus) in backends.iter().zip(&self.sessions) {
            placed.push(self.placing.bind(&session_name(backend.session), backend.pid, cpus)?);
        }
        if backends.len() != self.sessions.len() {
            let why = format!("{} sessions have {} server processes", self.sessions.len(), backends.len());
            return Err(failed("place the sessions", why));
        }
        if self.placing.refusal().is_none() {
            placed.extend(self.place_services()?);
            placed.push(self.placing.bind("control", self.treatment.control_pid(), &self.service)?);
        } else {
            // Its processes may not be on this machine.
            placed.clear();
        }
        let notes =
            self.notes.iter().cloned().chain(self.treatment.notes().into_iter().map(Note::from)).collect();
        Ok(Standing { placed, notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        if self.shares_services() {
            self.bind_services()?;
        }
        self.treatment.before()
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.treatment.during(window)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let counters = self.treatment.after(sessions)?;
        if self.treatment.is_parallel() {
            self.placing.expect_workers_in(&self.placement)?;
        }
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.treatment.finish();
        let server = self.treatment_server().take();
        let stopped = server.map_or(Ok(()), TreatmentServer::finish);
        checked.and(stopped)
    }
}

fn session_name(session: u32) -> String {
    format!("session {session}")
}
