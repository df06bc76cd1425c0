//! A treatment, and the binding of its server.

use std::sync::{Mutex, MutexGuard, PoisonError};
use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, Window};
use threadwise_study::{Counters, Note, SessionSlice};

use crate::client::affinity::Bound;
use crate::client::connect::Server;
use crate::client::workload::Treatment;

/// The engine, started for one treatment.
pub(crate) struct SqlserverRunning {
    treatment: Treatment,
    server: Server,
    bound: Option<Mutex<Bound>>,
}

impl SqlserverRunning {
    /// Combines the parts.
    pub(crate) fn new(treatment: Treatment, server: Server, bound: Option<Bound>) -> Self {
        Self { treatment, server, bound: bound.map(Mutex::new) }
    }

    fn bound(&self) -> Option<MutexGuard<'_, Bound>> {
        // A panic elsewhere has failed the run already.
        self.bound.as_ref().map(|bound| bound.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Running for SqlserverRunning {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        self.treatment.open(request)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut notes = server_notes(&self.server);
        notes.extend(bound_notes(self.bound().as_deref()));
        notes.extend(self.treatment.standing().into_iter().map(Note::from));
        Ok(Standing { placed: Vec::new(), notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        self.treatment.watch().before();
        Ok(())
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.treatment.watch().during(window)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let counters = self.treatment.watch().after(sessions);
        if let Some(mut bound) = self.bound() {
            bound.check()?;
        }
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.treatment.finish()
    }
}

/// A note on where the server runs.
pub(super) fn bound_notes(bound: Option<&Bound>) -> Vec<Note> {
    let free = || vec![Note::not_pinned("its sessions run on whichever of its threads is free")];
    bound.map_or_else(free, |bound| bound.notes().into_iter().map(Note::from).collect())
}

/// Notes on every server.
pub(super) fn server_notes(server: &Server) -> Vec<Note> {
    vec![
        Note::memory_placed_earlier("the server is yours and ran before the study"),
        server.target().tls_line().into(),
    ]
}
