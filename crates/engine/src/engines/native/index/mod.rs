//! The workload `index`: sessions only look up keys in one index in memory, or insert into it, under a spinlock, a
//! queue lock, or no lock. So the cost of a lock and the yield of second threads are those of the index alone: there
//! is no log, no transaction, and no row larger than a cache line.
//!
//! The index is made for each run, by a thread on the logical CPUs of the first session: without a memory policy
//! all of it lies on that session's node, except for rows that sessions add. After every slice the added rows are
//! removed, and each key must still have its own value.

mod keys;
mod session;
mod shared;
mod spec;
mod structure;

use std::sync::Arc;
use threadwise_study::index::{MOST_ROW_BYTES, ROW_BYTES};
use threadwise_study::{Counters, SessionSlice};

use self::keys::stored_key;
use self::session::IndexSession;
use self::shared::Shared;
pub use self::spec::IndexSpec;
use self::spec::{Form, Operation};
use self::structure::Structure;
use super::error::{agree, failed};
use super::locks::LockKind;
use super::place::on;
use super::table::Content;
use crate::{EngineError, Loaded, Running, Session, SessionRequest, StartRequest};

/// Memory of one session without added rows (see [`threadwise_study::insert::added_bytes`]), and notes.
pub fn size(spec: &IndexSpec, sessions: u64) -> Loaded {
    let (what, row_bytes) = match (spec.form, spec.lock) {
        (Form::BTree, LockKind::LockFree) => ("a B+ tree (scc::TreeIndex)", MOST_ROW_BYTES),
        (Form::BTree, _) => ("a B-tree (std::collections::BTreeMap) behind one lock", ROW_BYTES),
        (Form::Hash, LockKind::LockFree) => {
            ("a hash index, its chains changed by compare-and-swap", ROW_BYTES)
        }
        (Form::Hash, _) => ("a hash index behind one lock", ROW_BYTES),
    };
    let bytes = spec.rows * row_bytes;
    let note = format!("native: {what}, {} rows, about {} MiB", spec.rows, bytes >> 20);
    Loaded { bytes_per_session: bytes / sessions, rows_per_session: spec.rows, notes: vec![note] }
}

/// The index workload, started for one treatment.
pub struct RunningIndex {
    spec: IndexSpec,
    shared: Arc<Shared>,
}

impl RunningIndex {
    /// Makes the index.
    ///
    /// # Errors
    /// An option is impossible, or the thread that makes the index cannot be placed.
    pub fn begin(request: &StartRequest) -> Result<Self, EngineError> {
        let spec = IndexSpec::parse(&request.load)?;
        let sessions = request.sessions.len();
        let first = request.sessions.first().ok_or_else(|| failed("start", "it has no session"))?;
        let structure = on(first, || Structure::new(&spec, sessions))??;
        Ok(Self { spec, shared: Arc::new(Shared::new(structure, sessions)) })
    }

    fn put_back(&self) -> Result<(), EngineError> {
        let reported = self.shared.reports.take();
        self.shared
            .structure
            .put_back()
            .map_or(Ok(()), |found| agree("the index's added rows", found, reported))
    }
}

impl Running for RunningIndex {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(IndexSession::open(request, &self.spec, Arc::clone(&self.shared))))
    }

    fn standing(&self) -> Result<crate::Standing, EngineError> {
        // Memory that sessions touched while warming up is used for the first rows.
        self.shared.structure.put_back();
        Ok(crate::Standing::default())
    }

    fn after(&self, _: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        self.put_back()?;
        Ok(Counters::new())
    }

    fn finish(&self) -> Result<(), EngineError> {
        self.put_back()?;
        if self.spec.operation == Operation::Search {
            // Lookups change nothing, and their answers were checked.
            return Ok(());
        }
        let mut stored = Content::default();
        (0..self.spec.rows).for_each(|place| stored.add(stored_key(place)));
        agree("the index at the end", self.shared.structure.content()?, stored)
    }
}

#[cfg(test)]
mod tests;
