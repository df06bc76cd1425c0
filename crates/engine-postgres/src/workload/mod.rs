//! The workloads on PostgreSQL: those of steps, which `engine-sql` has for all servers, and those of queries,
//! `parallel-scan` and `tpch`, one folder each: SQL, data, sessions.

mod parallel_scan;
pub(crate) mod shared;
pub(crate) mod sql;
pub(crate) mod stats;
mod tpch;
mod treatment;
pub(crate) mod waits;

use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_engine_sql::{Objects, Spec, Work as Steps};
use threadwise_study::Workload;

use crate::{Server, steps, transaction};
pub(crate) use parallel_scan::not_ours;
pub(crate) use shared::{lock, setting};
pub(crate) use tpch::QuerySession;
#[doc(hidden)]
pub use tpch::canonical_plan;
pub(crate) use treatment::Queries;

/// One of the workloads with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Work {
    /// Steps, one after another.
    Steps(Steps),
    /// Scans by parallel workers.
    ParallelScan(parallel_scan::Work),
    /// The queries of TPC-H.
    Tpch(tpch::Work),
}

impl Work {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first unknown or impossible option.
    pub(crate) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        match &load.workload {
            Workload::ParallelScan => Ok(Self::ParallelScan(parallel_scan::Work::parse(load)?)),
            Workload::Tpch => Ok(Self::Tpch(tpch::Work::parse(load)?)),
            Workload::Transaction => Ok(Self::Steps(Steps::transaction(transaction::parse(load)?))),
            _ => steps::parse(load).map(Self::Steps),
        }
    }
}

/// Checks a workload and its options without connecting.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn check(load: &LoadRequest) -> Result<(), EngineError> {
    threadwise_engine_sql::some_sessions(load)?;
    Work::parse(load).map(drop)
}

/// Refuses transactions that may write to another database than the address names.
///
/// # Errors
/// Both names.
pub(crate) fn expect_database(load: &LoadRequest, database: &str) -> Result<(), EngineError> {
    match needs_users(&load.workload) {
        true => transaction::parse(load)?.expect_database(database),
        false => Ok(()),
    }
}

/// Bytes of tables and indexes of all sessions, with what a run adds: room needed in the buffer pool.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn data_bytes(load: &LoadRequest) -> Result<u64, EngineError> {
    Ok(match Work::parse(load)? {
        Work::Steps(workload) => steps::data_bytes(&workload, load.sessions),
        Work::ParallelScan(workload) => workload.pool_bytes(),
        Work::Tpch(workload) => workload.data_bytes(),
    })
}

/// Whether treatments must not share their data.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn changes_data(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(match Work::parse(load)? {
        Work::Steps(workload) => workload.changes_data(),
        Work::ParallelScan(_) | Work::Tpch(_) => false,
    })
}

/// Whether a run must start on a fresh copy of what was loaded.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn needs_fresh_copy(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(matches!(Work::parse(load)?, Work::Steps(Steps { spec: Spec::Insert(_), .. })))
}

/// Whether it is a workload that shares one server, which is never copied: no run changes its data, and that of `tpch`
/// is large.
pub(crate) fn shares_server(workload: &Workload) -> bool {
    [Workload::ParallelScan, Workload::Tpch].contains(workload)
}

/// Whether it runs on private servers alone.
pub(crate) fn needs_ours(workload: &Workload) -> bool {
    *workload == Workload::ParallelScan
}

/// Whether it runs on the user's own data alone, and makes nothing in their server.
pub(crate) fn needs_users(workload: &Workload) -> bool {
    *workload == Workload::Transaction
}

/// Whether every step must find its data in no cache.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn is_cold(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(matches!(Work::parse(load)?, Work::Tpch(workload) if workload.is_cold()))
}

/// The schema that keeps a workload's data apart from other data in a private server, if it has one of its own.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn data_name(load: &LoadRequest) -> Result<Option<String>, EngineError> {
    Ok(match Work::parse(load)? {
        Work::ParallelScan(workload) => Some(workload.suffix()),
        Work::Tpch(workload) => Some(workload.suffix()),
        Work::Steps(_) => None,
    })
}

/// Settings of a private server that a workload needs besides those of all private clusters. `memory_bytes` is the
/// memory available without swapping, `major` the server's version.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn server_settings(
    load: &LoadRequest,
    memory_bytes: u64,
    major: u32,
) -> Result<Vec<(&'static str, String)>, EngineError> {
    Ok(match Work::parse(load)? {
        Work::ParallelScan(workload) => tpch::server_settings(workload.pool_bytes(), memory_bytes, major),
        Work::Tpch(workload) => tpch::server_settings(workload.data_bytes(), memory_bytes, major),
        Work::Steps(_) => Vec::new(),
    })
}

/// Makes the data of one treatment in the server's schema, which exists, or finds it.
///
/// # Errors
/// An error of the server, or a table that does not have one row a block.
pub(crate) fn load(server: &Server, load: &LoadRequest, suffix: &str) -> Result<Loaded, EngineError> {
    let mut control = threadwise_engine_sql::Driver::connect(server, "threadwise loader")?;
    match Work::parse(load)? {
        Work::Steps(workload) => threadwise_engine_sql::load(server, &mut control, &workload, load, suffix),
        Work::ParallelScan(workload) => parallel_scan::load(&mut control.client, server, &workload, suffix),
        Work::Tpch(workload) => tpch::load(&mut control.client, server, load, &workload, suffix),
    }
}

/// Makes the data beside that of other treatments, or finds it.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_shared(
    server: &Server,
    request: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let mut control = threadwise_engine_sql::Driver::connect(server, "threadwise loader")?;
    match Work::parse(request)? {
        Work::Steps(workload) => {
            return threadwise_engine_sql::load_shared(server, &mut control, &workload, request, suffix);
        }
        // In the user's server the tables are in threadwise's schema. In a private one a schema of their own goes with it.
        Work::Tpch(workload) if suffix.is_empty() => {
            let objects = Objects { tables: workload.tables(), procedures: Vec::new() };
            threadwise_engine_sql::announce(server, &mut control, &objects)?;
        }
        Work::Tpch(_) | Work::ParallelScan(_) => {}
    }
    load(server, request, suffix)
}
