//! `tpch` on SQLite: the serial reference for answers at small scale. One file for all treatments, read
//! only; each session has a cache of its own that holds all of it.
//!
//! SQLite executes a query on the thread that asks (threadsafe.html); helper threads of its sorter are
//! off by default (pragma.html, `threads`).

mod data;
mod session;

use rusqlite::InterruptHandle;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadwise_study::Options;
use threadwise_tpch::dataset::Cluster;
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::workloads::options::refuse;
use crate::workloads::tpch::{read, refuse_given};
use crate::{EngineError, LoadRequest, Running, Session, SessionRequest, Window, clock};
pub(super) use data::load;
use session::QuerySession;

/// Largest scale factor: each session keeps the whole file in its own cache.
const MAX_SCALE: f64 = 1.0;

/// Pause between two interrupts of a session that goes on after the time limit.
const AGAIN: Duration = Duration::from_millis(10);

/// Options that SQLite cannot follow, and why.
const UNFOLLOWED: [(&str, &str); 7] = [
    ("storage", "SQLite keeps tables in its own file; leave it out"),
    ("batch_rows", "SQLite works row by row; leave it out"),
    ("memory_limit_mb", "SQLite's cache holds all of the data; leave it out"),
    ("spill_dir", "SQLite sorts in memory here; leave it out"),
    ("spill_limit_mb", "SQLite sorts in memory here; leave it out"),
    ("jit", "SQLite has no compiler; leave it out"),
    ("hold_plan", "SQLite has no parallel plans; leave it out"),
];

/// The workload with its options.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spec {
    options: TpchOptions,
}

impl Spec {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first that is unknown, impossible, or nothing that SQLite can follow.
    pub(super) fn of(given: &Options) -> Result<Self, EngineError> {
        let options = read(given)?;
        refuse_given(given, &UNFOLLOWED)?;
        if let Some(name) = options.settings.keys().next() {
            return Err(refuse(
                &format!("settings.{name}"),
                "SQLite takes no settings here; leave it out".into(),
            ));
        }
        if options.dop.is_some_and(|dop| dop > 1) {
            return Err(refuse("dop", "SQLite executes a query on one thread: give --dop 1".into()));
        }
        if options.scale > MAX_SCALE {
            let why = format!(
                "'{}': SQLite is the serial reference here, and each session keeps all data in its own cache; at most \
                 {MAX_SCALE} is allowed",
                options.scale
            );
            return Err(refuse("scale", why));
        }
        if options.cluster != Cluster::OrderKey {
            return Err(refuse(
                "cluster",
                "SQLite's table lies in the order of loading; orderkey is allowed".into(),
            ));
        }
        if options.cache == Cache::Cold {
            return Err(refuse("cache", "SQLite's own cache holds the data; warm is allowed".into()));
        }
        Ok(Self { options })
    }
}

/// Which sessions are at work, and how to stop them.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    rested: Condvar,
}

#[derive(Default)]
struct State {
    handles: BTreeMap<u32, InterruptHandle>,
    working: usize,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, session: u32, handle: InterruptHandle) {
        self.state().handles.insert(session, handle);
    }

    fn all_work(&self) {
        let mut state = self.state();
        state.working = state.handles.len();
    }

    fn rests(&self) {
        let mut state = self.state();
        state.working = state.working.saturating_sub(1);
        self.rested.notify_all();
    }

    /// Sleeps until all rest; from a time on interrupts those that do not.
    fn interrupt_at(&self, deadline_ns: u64) {
        let mut state = self.state();
        while state.working > 0 {
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            let pause = match left_ns {
                0 => {
                    // Only a statement that runs is interrupted: one that begins just now needs another.
                    state.handles.values().for_each(InterruptHandle::interrupt);
                    AGAIN
                }
                _ => Duration::from_nanos(left_ns),
            };
            state = self.rested.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A treatment at work.
pub(super) struct Querying {
    facts: data::Facts,
    watch: Arc<Watch>,
}

impl Querying {
    /// Finds the data.
    ///
    /// # Errors
    /// It was not loaded.
    pub(super) fn start(load: &LoadRequest, spec: &Spec) -> Result<Self, EngineError> {
        super::initialise()?;
        Ok(Self { facts: data::find(load, spec)?, watch: Arc::default() })
    }
}

impl Running for Querying {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let spec = Spec::of(&request.load.options)?;
        Ok(Box::new(QuerySession::open(request, &spec, &self.facts, Arc::clone(&self.watch))?))
    }

    fn before(&self) -> Result<(), EngineError> {
        self.watch.all_work();
        Ok(())
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.watch.interrupt_at(window.end_ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
