//! The engine `sqlite`: SQLite inside the worker process, one connection per session, one module per
//! workload.
//!
//! Common to all workloads: pages of 4 KiB; no memory mapping, which would bypass the page cache and its
//! counters; NOMUTEX and no memory statistics, so that sessions share no lock of the process
//! (threadsafe.html, c3ref/config.html).

mod error;
mod ffi;
mod files;
mod insert;
mod logical_io;
mod settings;
mod tpch;
mod transaction;

use crate::workloads::logical_io as logical_io_workload;
use crate::workloads::options::{no_workload, refuse};

use crate::{Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest};
use error::NAME;
pub use ffi::{CacheCounters, take_cache_counters};
pub use logical_io::{READ_SQL, SqliteSession};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Sqlite;

/// Its workloads.
const WORKLOADS: [Workload; 4] =
    [Workload::LogicalIo, Workload::Insert, Workload::Tpch, Workload::Transaction];

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok(rusqlite::version().to_owned())
    }

    fn about(&self) -> &'static str {
        "SQLite inside the worker: no server, no configuration, a file per session or one for all"
    }

    fn workloads(&self) -> &'static [Workload] {
        &WORKLOADS
    }

    /// Sizes are measured: a row of `insert` and its index, and the tables and indexes of TPC-H.
    fn properties(&self) -> Properties {
        Properties {
            service_threads: false,
            dialect: Some(NAME.to_owned()),
            row_bytes: 165,
            tpch_bytes: 1_470_000_000,
            ..Properties::default()
        }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy { other_names: &["sqlite3"], ..KnownBy::default() }
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        SqliteWorkload::of(request).map(drop)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        match SqliteWorkload::of(request)? {
            SqliteWorkload::LogicalIo(spec) => logical_io::load(request, &spec),
            SqliteWorkload::Insert(spec) => insert::load(request, &spec),
            SqliteWorkload::Tpch(spec) => tpch::load(request, &spec),
            SqliteWorkload::Transaction(spec) => transaction::load(request, &spec),
        }
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        match SqliteWorkload::of(&request.load)? {
            SqliteWorkload::LogicalIo(_) => Ok(Box::new(logical_io::Connections)),
            SqliteWorkload::Insert(spec) => Ok(Box::new(insert::Inserting::start(request, spec)?)),
            SqliteWorkload::Tpch(spec) => Ok(Box::new(tpch::Querying::start(&request.load, &spec)?)),
            SqliteWorkload::Transaction(spec) => Ok(Box::new(transaction::Transactions::new(spec))),
        }
    }
}

/// A workload with its options, checked.
enum SqliteWorkload {
    LogicalIo(logical_io_workload::LogicalIo),
    Insert(insert::Spec),
    Tpch(tpch::Spec),
    Transaction(transaction::Spec),
}

impl SqliteWorkload {
    /// Checks the whole request.
    fn of(request: &LoadRequest) -> Result<Self, EngineError> {
        if !WORKLOADS.contains(&request.workload) {
            return Err(no_workload(NAME, &request.workload, &WORKLOADS));
        }
        if request.sessions == 0 {
            return Err(refuse("sessions", "0 sessions; at least 1 is needed".into()));
        }
        if request.workload == Workload::Transaction {
            return transaction::Spec::of(request).map(Self::Transaction);
        }
        if let Some(name) = request.engine_options.keys().next() {
            return Err(refuse(
                name,
                "sqlite has no engine option but database, for transactions: leave it out".into(),
            ));
        }
        Ok(match request.workload {
            Workload::Insert => Self::Insert(insert::Spec::of(&request.options)?),
            Workload::Tpch => Self::Tpch(tpch::Spec::of(&request.options)?),
            _ => Self::LogicalIo(logical_io::spec(request)?),
        })
    }
}
