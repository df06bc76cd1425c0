//! `tpch`: the 22 queries on tables in threadwise's schema, which all treatments share.
//!
//! A query is one batch with `OPTION (MAXDOP n)`. SET STATISTICS TIME reports how long it was compiled and executed,
//! and its CPU time on all threads; the elapsed time is the client's, less the compilation.

mod load;
mod plan;
mod qualify;
mod session;
mod times;
mod values;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::{
    EngineError, LoadRequest, Loaded, Running, Session, SessionRequest, Standing, StartRequest,
};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, Note, SessionSlice};
use threadwise_tpch::options::TpchOptions;

use crate::client::affinity::Bound;
use crate::client::connect::Server;
use crate::options::Affinity;
use crate::tpch_options;
use session::{Open, QuerySession};

/// Notes of the sessions, each once.
#[derive(Debug, Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: impl Into<String>) {
        let note = note.into();
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A started treatment.
struct AtWork {
    server: Server,
    options: TpchOptions,
    /// All logical CPUs of the sessions.
    placement: CpuSet,
    /// Binds the server before each query, since treatments take turns query by query.
    bound: Option<Mutex<Bound>>,
    /// How often the server was bound: older connections are opened again.
    times_bound: Arc<AtomicU64>,
    notes: Notes,
}

impl AtWork {
    fn bound(&self) -> Option<MutexGuard<'_, Bound>> {
        // A panic elsewhere has failed the run already.
        self.bound.as_ref().map(|bound| bound.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Makes the data, or finds it.
///
/// # Errors
/// See `load`.
pub(super) fn load(server: &Server, request: &LoadRequest) -> Result<Loaded, EngineError> {
    load::load(server, request, &tpch_options::parse(request)?)
}

/// Starts a treatment.
///
/// # Errors
/// The data does not exist.
pub(super) fn start(server: Server, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
    let options = tpch_options::parse(&request.load)?;
    load::must_be_whole(&server, &options)?;
    let placement = request.sessions.iter().fold(CpuSet::new(), |all, cpus| all.union(cpus));
    let bound = match server.affinity() {
        Affinity::Set => Some(Mutex::new(Bound::to(&server, &placement)?)),
        Affinity::Keep => None,
    };
    let (times_bound, notes) = Default::default();
    Ok(Box::new(AtWork { server, options, placement, bound, times_bound, notes }))
}

impl Running for AtWork {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let dop = threadwise_engine::workloads::tpch::dop(&self.options, &self.placement);
        let open = Open {
            server: self.server.clone(),
            times_bound: Arc::clone(&self.times_bound),
            dop,
            notes: self.notes.clone(),
        };
        Ok(Box::new(QuerySession::open(open, request, &self.options)?))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut notes = super::running::server_notes(&self.server);
        notes.extend(super::running::bound_notes(self.bound().as_deref()));
        notes.extend(self.notes.all().into_iter().map(Note::from));
        Ok(Standing { placed: Vec::new(), notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        if let Some(mut bound) = self.bound()
            && bound.bind()?
        {
            self.times_bound.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    fn after(&self, _: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        if let Some(mut bound) = self.bound() {
            bound.check()?;
        }
        Ok(Counters::new())
    }
}
