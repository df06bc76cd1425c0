//! The workloads on PostgreSQL: `logical-io`, `insert`, `parallel-scan`, `tpch` and `transaction`, one folder each:
//! SQL, data, sessions.
//!
//! A session's loop runs in a procedure of the server that commits every 10 to 100 ms or at each
//! transaction (`loop=server`), or in the client (`loop=client`). A procedure's values for its whole
//! call (counters, CPU time, switches) are scaled to the work inside the window: `backend::Part`.

mod backend;
pub mod clock;
mod insert;
mod logical_io;
mod parallel_scan;
mod shared;
mod sql;
pub mod stats;
mod tables;
mod tpch;
pub(crate) mod transaction;
mod treatment;
pub mod waits;

use postgres::Client;
use threadwise_engine::workloads::options::no_workload;
use threadwise_engine::workloads::transaction::Transaction;
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_study::Workload;

use crate::Server;
pub(crate) use insert::ROW_BYTES;
pub(crate) use parallel_scan::not_ours;
pub(crate) use shared::{lock, setting};
use tables::procedure;
pub(crate) use tpch::QuerySession;
#[doc(hidden)]
pub use tpch::canonical_plan;
pub use treatment::{Backend, Treatment};

/// Workloads of this engine.
pub const WORKLOADS: &[Workload] =
    &[Workload::LogicalIo, Workload::Insert, Workload::ParallelScan, Workload::Tpch, Workload::Transaction];

/// Objects that `load` makes in the schema.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    /// Tables, without schema; indexes go with them.
    pub tables: Vec<String>,
    /// Procedures, without schema; the names are not overloaded.
    pub procedures: Vec<String>,
}

/// One of the workloads with its options.
#[derive(Debug, Clone, PartialEq)]
enum Work {
    LogicalIo(logical_io::Work),
    Insert(insert::Work),
    ParallelScan(parallel_scan::Work),
    Tpch(tpch::Work),
    Transaction(Transaction),
}

impl Work {
    fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        match &load.workload {
            Workload::LogicalIo => Ok(Self::LogicalIo(logical_io::Work::parse(load)?)),
            Workload::Insert => Ok(Self::Insert(insert::Work::parse(load)?)),
            Workload::ParallelScan => Ok(Self::ParallelScan(parallel_scan::Work::parse(load)?)),
            Workload::Tpch => Ok(Self::Tpch(tpch::Work::parse(load)?)),
            Workload::Transaction => Ok(Self::Transaction(transaction::parse(load)?)),
            other => Err(no_workload("postgres", other, WORKLOADS)),
        }
    }
}

/// Checks a workload and its options without connecting.
///
/// # Errors
/// The first unknown or impossible option.
pub fn check(load: &LoadRequest) -> Result<(), EngineError> {
    if load.sessions == 0 {
        return Err(EngineError::Option {
            option: "sessions".into(),
            why: "0 sessions; at least 1 is needed".into(),
        });
    }
    Work::parse(load).map(drop)
}

/// Refuses transactions that may write to another database than the address names.
///
/// # Errors
/// Both names.
pub fn expect_database(load: &LoadRequest, database: &str) -> Result<(), EngineError> {
    match needs_users(&load.workload) {
        true => transaction::parse(load)?.expect_database(database),
        false => Ok(()),
    }
}

/// Bytes of tables and indexes of all sessions, with what a run adds: room needed in the buffer pool.
///
/// # Errors
/// The first unknown or impossible option.
pub fn data_bytes(load: &LoadRequest) -> Result<u64, EngineError> {
    Ok(match Work::parse(load)? {
        Work::LogicalIo(workload) => workload.data_bytes(load.sessions),
        Work::Insert(workload) => workload.data_bytes(load.sessions),
        Work::ParallelScan(workload) => workload.pool_bytes(),
        Work::Tpch(workload) => workload.data_bytes(),
        Work::Transaction(_) => 0,
    })
}

/// Whether treatments must not share their data.
///
/// # Errors
/// The first unknown or impossible option.
pub fn changes_data(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(match Work::parse(load)? {
        Work::LogicalIo(workload) => workload.io.updates(),
        Work::Insert(_) => true,
        Work::ParallelScan(_) | Work::Tpch(_) | Work::Transaction(_) => false,
    })
}

/// Whether a run must start on a fresh copy of what was loaded.
///
/// # Errors
/// The first unknown or impossible option.
pub fn needs_fresh_copy(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(matches!(Work::parse(load)?, Work::Insert(_)))
}

/// Whether it is a workload that shares one server, which is never copied: no run changes its data, and that of `tpch`
/// is large.
pub fn shares_server(workload: &Workload) -> bool {
    [Workload::ParallelScan, Workload::Tpch].contains(workload)
}

/// Whether it runs on private servers alone.
pub fn needs_ours(workload: &Workload) -> bool {
    *workload == Workload::ParallelScan
}

/// Whether it runs on the user's own data alone, and makes nothing in their server.
pub fn needs_users(workload: &Workload) -> bool {
    *workload == Workload::Transaction
}

/// Whether every step must find its data in no cache.
///
/// # Errors
/// The first unknown or impossible option.
pub fn is_cold(load: &LoadRequest) -> Result<bool, EngineError> {
    Ok(matches!(Work::parse(load)?, Work::Tpch(workload) if workload.is_cold()))
}

/// The schema that keeps a workload's data apart from other data in a private server, if it has one of its own.
///
/// # Errors
/// The first unknown or impossible option.
pub fn data_name(load: &LoadRequest) -> Result<Option<String>, EngineError> {
    Ok(match Work::parse(load)? {
        Work::ParallelScan(workload) => Some(workload.suffix()),
        Work::Tpch(workload) => Some(workload.suffix()),
        Work::LogicalIo(_) | Work::Insert(_) | Work::Transaction(_) => None,
    })
}

/// Settings of a private server that a workload needs besides those of all private clusters. `memory_bytes` is the
/// memory available without swapping, `major` the server's version.
///
/// # Errors
/// The first unknown or impossible option.
pub fn server_settings(
    load: &LoadRequest,
    memory_bytes: u64,
    major: u32,
) -> Result<Vec<(&'static str, String)>, EngineError> {
    Ok(match Work::parse(load)? {
        Work::ParallelScan(workload) => tpch::server_settings(workload.pool_bytes(), memory_bytes, major),
        Work::Tpch(workload) => tpch::server_settings(workload.data_bytes(), memory_bytes, major),
        Work::LogicalIo(_) | Work::Insert(_) | Work::Transaction(_) => Vec::new(),
    })
}

/// Names of the objects that `load` makes.
///
/// # Errors
/// The first unknown or impossible option.
pub fn objects(load: &LoadRequest, suffix: &str) -> Result<Objects, EngineError> {
    let tables = match Work::parse(load)? {
        Work::LogicalIo(workload) => workload.tables(load.sessions, suffix),
        Work::Insert(_) => vec![insert::table(suffix)],
        // A schema of their own goes with the private server; the user's statements make nothing.
        Work::ParallelScan(_) | Work::Transaction(_) => return Ok(Objects::default()),
        Work::Tpch(workload) => {
            let tables = if suffix.is_empty() { workload.tables() } else { Vec::new() };
            return Ok(Objects { tables, procedures: Vec::new() });
        }
    };
    let procedures = tables.iter().map(|table| procedure(table)).collect();
    Ok(Objects { tables, procedures })
}

/// Makes the data of one treatment in the server's schema, which exists, or finds it.
///
/// # Errors
/// An error of the server, or a table that does not have one row a block.
pub fn load(
    control: &mut Client,
    server: &Server,
    load: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    match Work::parse(load)? {
        Work::LogicalIo(workload) => logical_io::load(control, server, load, &workload, suffix),
        Work::Insert(workload) => insert::load(control, server, load, &workload, suffix),
        Work::ParallelScan(workload) => parallel_scan::load(control, server, &workload, suffix),
        Work::Tpch(workload) => tpch::load(control, server, load, &workload, suffix),
        Work::Transaction(_) => transaction::load(server, load),
    }
}
