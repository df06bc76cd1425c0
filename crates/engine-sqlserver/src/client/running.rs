//! Where the server of a treatment runs, and the notes about it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::{EngineError, Standing};
use threadwise_engine_sql::{Host, Threads};
use threadwise_study::Note;

use crate::client::affinity::Bound;
use crate::client::connect::{Connection, Server};

/// The server of a treatment, and its binding as a whole.
pub(crate) struct Whole {
    server: Server,
    bound: Option<Mutex<Bound>>,
    /// How often it was bound, if treatments take turns query by query, each of which binds it before a slice.
    times_bound: Option<Arc<AtomicU64>>,
}

impl Whole {
    /// Combines both.
    pub(crate) fn new(server: Server, bound: Option<Bound>, times_bound: Option<Arc<AtomicU64>>) -> Self {
        Self { server, bound: bound.map(Mutex::new), times_bound }
    }

    fn bound(&self) -> Option<MutexGuard<'_, Bound>> {
        // A panic elsewhere has failed the run already.
        self.bound.as_ref().map(|bound| bound.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Host<Connection> for Whole {
    fn standing(&self, _: &mut Connection, _: Result<Threads, String>) -> Result<Standing, EngineError> {
        let mut notes = server_notes(&self.server);
        notes.extend(bound_notes(self.bound().as_deref()));
        Ok(Standing { placed: Vec::new(), notes })
    }

    fn before(&self, _: &mut Connection) -> Result<(), EngineError> {
        if let (Some(mut bound), Some(times_bound)) = (self.bound(), &self.times_bound)
            && bound.bind()?
        {
            times_bound.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    fn after(&self) -> Result<(), EngineError> {
        self.bound().map_or(Ok(()), |mut bound| bound.check())
    }
}

/// A note on where the server runs.
fn bound_notes(bound: Option<&Bound>) -> Vec<Note> {
    let free = || vec![Note::not_pinned("its sessions run on whichever of its threads is free")];
    bound.map_or_else(free, |bound| bound.notes().into_iter().map(Note::from).collect())
}

/// Notes on every server.
fn server_notes(server: &Server) -> Vec<Note> {
    vec![
        Note::memory_placed_earlier("the server is yours and ran before the study"),
        server.target().tls_line().into(),
    ]
}
