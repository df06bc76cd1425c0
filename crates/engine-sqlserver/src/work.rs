//! Workloads and their options, checked without a server.

use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, no_workload, place_of_loop, refuse, whole, word};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::{Options, Workload};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 8192;

/// Bytes of a row in a page that random inserts have filled to about 70%: estimated from its 147 bytes.
pub(crate) const ROW_BYTES: u64 = 215;

/// Buckets of the published index.
const BUCKETS: u64 = 2_097_152;

/// Most buckets that the server creates.
const MAX_BUCKETS: u64 = 1 << 30;

/// Options besides those of the workload on every engine.
const MORE: [&str; 2] = ["storage", "buckets"];

/// The workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inserts {
    /// Options on every engine.
    pub spec: Insert,
    /// Buckets of the index of a table in memory; `None` for a table on disk.
    pub buckets: Option<u64>,
}

impl Inserts {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first option that is impossible.
    pub(crate) fn parse(options: &Options) -> Result<Self, EngineError> {
        let spec = Insert::parse(options, &MORE)?;
        let in_memory = word(options, "storage", &["disk", "memory-optimised"])? == 1;
        let buckets = whole(options, "buckets", 1, MAX_BUCKETS)?;
        if !in_memory {
            if buckets.is_some() {
                let why = format!(
                    "it is for an index of {} in memory: --set storage=memory-optimised",
                    Workload::Insert
                );
                return Err(refuse("buckets", why));
            }
            if spec.table == Table::Unlogged {
                let why = "a table on disk is always logged; storage=memory-optimised has unlogged ones \
                           (SCHEMA_ONLY)";
                return Err(refuse("table", why.into()));
            }
            spec.no_single_batch("sqlserver unless storage=memory-optimised")?;
        }
        Ok(Self { spec, buckets: in_memory.then(|| buckets.unwrap_or(BUCKETS)) })
    }

    /// Whether all rows of a session are one atomic block.
    pub(crate) fn is_batch(&self) -> bool {
        self.spec.rows_per_tx == 0
    }

    #[cfg(feature = "client")]
    pub(crate) fn rows_per_step(&self) -> u64 {
        self.spec.rows_per_tx.max(1)
    }
}

/// A workload on data that threadwise makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spec {
    /// Reads of cached blocks.
    LogicalIo(LogicalIo),
    /// Inserts into one table.
    Insert(Inserts),
}

/// A workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Work {
    /// The workload.
    pub spec: Spec,
    /// Where the loop runs.
    pub place: Loop,
}

impl Work {
    /// Reads and checks a request's workload options.
    ///
    /// # Errors
    /// The first option that is impossible.
    pub(crate) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        if load.sessions == 0 {
            return Err(refuse("sessions", "0 sessions; at least 1 is needed".into()));
        }
        let place = place_of_loop(&load.options)?;
        let spec = match &load.workload {
            Workload::LogicalIo => {
                let spec = LogicalIo::parse(&load.options)?;
                if place == Loop::Server {
                    check_pause(&spec)?;
                }
                Spec::LogicalIo(spec)
            }
            Workload::Insert => {
                let inserts = Inserts::parse(&load.options)?;
                if inserts.is_batch() && place == Loop::Client {
                    let why = "0 (all rows of a session in one atomic block) needs a loop inside the server";
                    return Err(refuse("rows_per_tx", why.into()));
                }
                Spec::Insert(inserts)
            }
            other => return Err(no_workload("sqlserver", other, crate::WORKLOADS)),
        };
        Ok(Self { spec, place })
    }

    /// Whether treatments must not share their data.
    #[cfg(feature = "client")]
    pub(crate) fn changes_data(&self) -> bool {
        match &self.spec {
            Spec::LogicalIo(spec) => spec.updates(),
            Spec::Insert(_) => true,
        }
    }
}

/// Refuses options that the server does not support.
///
/// # Errors
/// Pauses that are not whole milliseconds.
fn check_pause(spec: &LogicalIo) -> Result<(), EngineError> {
    match spec.think_time_us % 1000 {
        0 => Ok(()),
        _ => Err(refuse(
            "think_time_us",
            "the server waits for whole milliseconds (WAITFOR): give a multiple of 1000".into(),
        )),
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
