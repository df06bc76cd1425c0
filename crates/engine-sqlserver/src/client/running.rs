//! A treatment at workload, and where its server runs.

use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, Window};
use threadwise_study::{Counters, SessionSlice};

use crate::client::connect::Server;
use crate::client::workload::Treatment;

/// An engine at workload.
pub(crate) struct SqlserverRunning {
    treatment: Treatment,
    server: Server,
}

impl SqlserverRunning {
    /// Puts it together.
    pub(crate) fn new(treatment: Treatment, server: Server) -> Self {
        Self { treatment, server }
    }
}

impl Running for SqlserverRunning {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        self.treatment.open(request)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut notes = server_notes(&self.server);
        notes.extend(self.treatment.standing());
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
        Ok(self.treatment.watch().after(sessions))
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.treatment.finish()
    }
}

/// What the reader must know of every server.
pub(super) fn server_notes(server: &Server) -> Vec<String> {
    vec![
        "memory placed earlier: the server is yours and ran before the study".to_owned(),
        "server not pinned: its sessions run on whichever of its threads is free".to_owned(),
        server.target().tls_line().to_owned(),
    ]
}
