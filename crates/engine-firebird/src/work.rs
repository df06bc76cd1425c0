//! Options of `logical-io` and `insert`, checked without an engine.

use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, refuse};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::{Spec, SqlWorkload};
use threadwise_study::Workload;

use crate::dialect::{DIALECT, PAGE_BYTES, ROW_BYTES};

/// Workloads of this engine.
pub(crate) const WORKLOADS: &[Workload] = &[Workload::LogicalIo, Workload::Insert, Workload::Transaction];

/// Cache bytes reserved for the inserts of a run of fixed time.
const UNKNOWN_BYTES: u64 = 256 << 20;

/// Reads and checks a request's workload options.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn parse(load: &LoadRequest) -> Result<SqlWorkload, EngineError> {
    let workload = SqlWorkload::parse(DIALECT.engine, load, WORKLOADS, &[])?;
    match &workload.spec {
        Spec::LogicalIo(spec) => check_reads(spec)?,
        Spec::Insert(spec) => check_inserts(spec)?,
        Spec::Transaction(_) => {}
    }
    match workload.place {
        Loop::Server => Ok(workload),
        Loop::Client => {
            let why = "firebird's loops get their window once, and have no client that steps";
            Err(refuse("loop", format!("{why}; leave it and --rate out (a --transaction has both)")))
        }
    }
}

/// Refuses options that Firebird's loops do not support.
fn check_reads(spec: &LogicalIo) -> Result<(), EngineError> {
    if spec.think_time_us > 0 {
        let why = "firebird's procedures have no pause before version 5; leave it out";
        return Err(refuse("think_time_us", why.into()));
    }
    if spec.shared && spec.updates() {
        let why = "with update_pct it is not available on firebird: the loop's one transaction would hold rows \
                   that another session changes, which ends in an update conflict";
        return Err(refuse("shared", why.into()));
    }
    Ok(())
}

fn check_inserts(spec: &Insert) -> Result<(), EngineError> {
    spec.no_single_batch(DIALECT.engine)?;
    match spec.table {
        Table::Durable => Ok(()),
        Table::Unlogged => {
            let why =
                "unlogged is not available on firebird, which has no such tables; use durability=relaxed";
            Err(refuse("table", why.into()))
        }
    }
}

/// Pages that each session's cache needs, about.
pub(crate) fn cache_pages(workload: &SqlWorkload, sessions: u32) -> u64 {
    1024 + match &workload.spec {
        // Its own table, the pages of the index, and system pages.
        Spec::LogicalIo(spec) => spec.blocks * 21 / 20,
        Spec::Insert(spec) => {
            let inserted =
                spec.rows_per_session.map_or(UNKNOWN_BYTES, |rows| rows * u64::from(sessions) * ROW_BYTES);
            (spec.seed_rows * ROW_BYTES + inserted).div_ceil(PAGE_BYTES)
        }
        Spec::Transaction(_) => 0,
    }
}
