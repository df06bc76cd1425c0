//! `tpch` on SQLite: the serial reference for answers at small scale. One read-only file for all treatments;
//! each session has its own cache that holds all of it.
//!
//! SQLite executes a query on the calling thread (threadsafe.html); helper threads of its sorter are off by
//! default (pragma.html, `threads`).

mod data;
mod session;
mod spec;
mod watch;

use std::sync::Arc;

use super::settings::initialise;
use crate::{EngineError, LoadRequest, Running, Session, SessionRequest, Window};
pub(super) use data::load;
use session::QuerySession;
pub(super) use spec::Spec;
use watch::Watch;

/// The workload, started for one treatment.
pub(super) struct Querying {
    facts: data::Facts,
    watch: Arc<Watch>,
}

impl Querying {
    /// Finds the data.
    ///
    /// # Errors
    /// The data was not loaded.
    pub(super) fn start(load: &LoadRequest, spec: &Spec) -> Result<Self, EngineError> {
        initialise()?;
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
