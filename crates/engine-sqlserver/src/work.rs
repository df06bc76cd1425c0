//! Workloads and their options, checked without a server.

use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, refuse, whole, word};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::{Spec, Work};
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

/// Reads and checks a request's workload options. Gives the buckets of the index of a table in memory, too; `None` for a
/// table on disk.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(load: &LoadRequest) -> Result<(Work, Option<u64>), EngineError> {
    if load.workload == Workload::Transaction {
        return Ok((Work::transaction(crate::transaction::parse(load)?), None));
    }
    let workload = Work::parse(crate::ENGINE, load, crate::WORKLOADS, &MORE)?;
    let buckets = match &workload.spec {
        Spec::LogicalIo(spec) if workload.place == Loop::Server => check_pause(spec).map(|()| None)?,
        Spec::Insert(spec) => buckets(spec, &load.options, workload.place)?,
        Spec::LogicalIo(_) | Spec::Transaction(_) => None,
    };
    Ok((workload, buckets))
}

fn buckets(spec: &Insert, options: &Options, place: Loop) -> Result<Option<u64>, EngineError> {
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
            let why =
                "a table on disk is always logged; storage=memory-optimised has unlogged ones (SCHEMA_ONLY)";
            return Err(refuse("table", why.into()));
        }
        spec.no_single_batch("sqlserver unless storage=memory-optimised")?;
    }
    if is_batch(spec) && place == Loop::Client {
        let why = "0 (all rows of a session in one atomic block) needs a loop inside the server";
        return Err(refuse("rows_per_tx", why.into()));
    }
    Ok(in_memory.then(|| buckets.unwrap_or(BUCKETS)))
}

/// Whether all rows of a session are one atomic block.
pub(crate) fn is_batch(spec: &Insert) -> bool {
    spec.rows_per_tx == 0
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
