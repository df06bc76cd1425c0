//! Workloads and their options, checked without a server.

use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, refuse, whole, word};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::{Spec, SqlWorkload, tpch};
use threadwise_study::{Options, Workload};
use threadwise_tpch::options::TpchOptions;

use crate::options::{self, Affinity};

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 8192;

/// Bytes of a row in a page that random inserts have filled to about 70%: estimated from its 147 bytes.
pub(crate) const ROW_BYTES: u64 = 215;

/// Buckets of the published index.
const BUCKETS: u64 = 2_097_152;

/// Most buckets that the server creates.
const MAX_BUCKETS: u64 = 1 << 30;

/// Bytes of tables and indexes of `tpch` at scale factor 1; estimated from the published 140 GB at 100.
pub(crate) const BYTES_PER_SCALE: u64 = 1_400_000_000;

/// Options of `tpch` that the server does not support, and why.
const UNFOLLOWED: [(&str, &str); 8] = [
    ("storage", "SQL Server keeps tables in its own files; leave it out"),
    ("batch_rows", "the size of a batch is the server's own; leave it out"),
    ("memory_limit_mb", "the memory of a query is the server's own (max server memory, Resource Governor)"),
    ("spill_dir", "it spills into tempdb"),
    ("spill_limit_mb", "it spills into tempdb, whose files bound that"),
    ("jit", "it has no such setting; leave it out"),
    ("hold_plan", "it has no such setting; leave it out"),
    ("settings.", "threadwise does not change the settings of your own server: leave it out"),
];

/// Options besides those of the workload on every engine.
const MORE: [&str; 2] = ["storage", "buckets"];

/// Reads and checks a request's workload options. Gives the buckets of the index of a table in memory, too; `None` for a
/// table on disk.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(load: &LoadRequest) -> Result<(SqlWorkload, Option<u64>), EngineError> {
    if load.workload.makes_nothing() {
        return Ok((SqlWorkload::transaction(crate::transaction::parse(load)?), None));
    }
    let workload = SqlWorkload::parse(crate::ENGINE, load, crate::WORKLOADS, &MORE)?;
    let buckets = match &workload.spec {
        Spec::LogicalIo(spec) if workload.place == Loop::Server => check_pause(spec).map(|()| None)?,
        Spec::Insert(spec) => buckets(spec, &load.options, workload.place)?,
        Spec::LogicalIo(_) | Spec::Transaction(_) => None,
    };
    Ok((workload, buckets))
}

/// Reads and checks the options of `tpch`.
///
/// # Errors
/// The first option that is unknown, impossible, or not followed.
pub(crate) fn parse_tpch(load: &LoadRequest) -> Result<TpchOptions, EngineError> {
    let found = tpch::parse(&load.options, &UNFOLLOWED, "the server's cache is emptied")?;
    // Streams connect again after each binding, since a connection belongs to the node that it was opened on.
    if found.short > 0 && options::parse(&load.engine_options)?.affinity == Affinity::Set {
        let why = "with affinity=set the server is bound again before each slice, and sessions of short queries stay on the \
                   node that they were opened on: use affinity=keep, or leave short out";
        return Err(refuse("short", why.into()));
    }
    Ok(found)
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
