//! The workloads on PostgreSQL: those of steps, which `engine-sql` has for all servers, and those of queries,
//! `parallel-scan` and `tpch`, one folder each: SQL, data, sessions.

mod cpu;
mod parallel_scan;
mod tpch;

use threadwise_engine::workloads::parallel_scan::ParallelScan;
use threadwise_engine::{EngineError, LoadRequest, Loaded, servers};
use threadwise_engine_sql::{Driver, Spec, SqlWorkload};
use threadwise_study::Workload;
use threadwise_tpch::options::{Cache, TpchOptions};

use crate::{Server, steps, transaction};
pub(crate) use parallel_scan::{Scans, not_ours};
#[doc(hidden)]
pub use tpch::canonical_plan;
pub(crate) use tpch::{PostgresStream, parse as parse_tpch};

/// One of the workloads with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PostgresWorkload {
    /// Steps, one after another.
    Steps(SqlWorkload),
    /// Scans by parallel workers.
    ParallelScan(ParallelScan),
    /// The queries of TPC-H.
    Tpch(TpchOptions),
}

impl PostgresWorkload {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// The first unknown or impossible option.
    pub(crate) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        match &load.workload {
            Workload::ParallelScan => Ok(Self::ParallelScan(parallel_scan::parse(load)?)),
            Workload::Tpch => Ok(Self::Tpch(tpch::parse(load)?)),
            Workload::Transaction | Workload::Burn => {
                Ok(Self::Steps(SqlWorkload::transaction(transaction::parse(load)?)))
            }
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
    PostgresWorkload::parse(load).map(drop)
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
    Ok(match PostgresWorkload::parse(load)? {
        PostgresWorkload::Steps(workload) => steps::data_bytes(&workload, load.sessions),
        PostgresWorkload::ParallelScan(scan) => parallel_scan::pool_bytes(&scan),
        PostgresWorkload::Tpch(options) => tpch::data_bytes(&options),
    })
}

/// Whether a run must start on a fresh copy of what was loaded.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn needs_fresh_copy(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(matches!(
        PostgresWorkload::parse(load)?,
        PostgresWorkload::Steps(SqlWorkload { spec: Spec::Insert(_), .. })
    ))
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
    Ok(
        matches!(PostgresWorkload::parse(load)?, PostgresWorkload::Tpch(options) if options.cache == Cache::Cold),
    )
}

/// The suffix of object names that keeps treatments apart in one database; of data with a schema of its own, in a server
/// that is `ours`, that schema.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn suffix(load: &LoadRequest, ours: bool) -> Result<String, EngineError> {
    let name = match PostgresWorkload::parse(load)? {
        PostgresWorkload::ParallelScan(scan) => parallel_scan::schema_name(&scan),
        PostgresWorkload::Tpch(options) => tpch::schema_name(&options),
        PostgresWorkload::Steps(workload) => return Ok(servers::suffix(load, workload.changes_data())),
    };
    Ok(if ours { name } else { String::new() })
}

/// The schema with the tables of queries: the data's own in a private server, threadwise's common one in the user's.
pub(crate) fn schema<'a>(server: &'a Server, suffix: &'a str) -> &'a str {
    if suffix.is_empty() { server.schema() } else { suffix }
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
    Ok(match PostgresWorkload::parse(load)? {
        PostgresWorkload::ParallelScan(_) | PostgresWorkload::Tpch(_) => {
            tpch::server_settings(data_bytes(load)?, memory_bytes, major)
        }
        PostgresWorkload::Steps(_) => Vec::new(),
    })
}

/// Makes the data of one treatment in a server for it alone, or tries the user's statements.
///
/// # Errors
/// An error of the server, or a table that does not have one row a block.
pub(crate) fn load(server: &Server, request: &LoadRequest) -> Result<Loaded, EngineError> {
    let mut control = Driver::connect(server, "threadwise loader")?;
    match PostgresWorkload::parse(request)? {
        PostgresWorkload::Steps(workload) => {
            threadwise_engine_sql::load(server, &mut control, &workload, request, "")
        }
        PostgresWorkload::ParallelScan(_) | PostgresWorkload::Tpch(_) => load_shared(server, request, false),
    }
}

/// Makes the data beside that of other treatments, or finds it. `ours` is a server that threadwise started.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_shared(server: &Server, request: &LoadRequest, ours: bool) -> Result<Loaded, EngineError> {
    let mut control = Driver::connect(server, "threadwise loader")?;
    let suffix = suffix(request, ours)?;
    match PostgresWorkload::parse(request)? {
        PostgresWorkload::Steps(workload) => {
            threadwise_engine_sql::load_shared(server, &mut control, &workload, request, &suffix)
        }
        PostgresWorkload::ParallelScan(scan) => parallel_scan::load(&mut control, server, &scan, &suffix),
        PostgresWorkload::Tpch(options) => {
            let schema = schema(server, &suffix);
            threadwise_engine_sql::tpch::load(server, &mut control, &options, request, schema)
        }
    }
}
