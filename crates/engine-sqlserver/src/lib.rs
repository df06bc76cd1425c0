//! The engine `sqlserver`: a server of the user, from 2014 on, over TDS.
//!
//! The client is a separate worker program ([`Client`], feature `client`), since its library takes 3 MB and
//! brings a second library for TLS. The main program knows the engine by [`Sqlserver`], which contacts no server.
//!
//! It makes a schema in the user's database and drops it at the end. Engine options: `url`, `schema`, `tls`,
//! `tls_ca`, `password_file`, `affinity`. Workloads: `logical-io`, `insert`, `tpch`,
//! and `transaction`, which makes nothing.
//!
//! Source: [MS-TDS] by way of the client library; the SQL Server documentation for the language and its views.

#[cfg(feature = "client")]
mod client;
mod options;
mod transaction;
mod url;
mod work;

use threadwise_engine::{
    Address, Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest, Trial,
};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

#[cfg(feature = "client")]
pub use client::{Client, WATCHDOG, hear_messages, watch};

/// Name of the engine.
const ENGINE: &str = "sqlserver";

/// Workloads of this engine.
const WORKLOADS: &[Workload] =
    &[Workload::LogicalIo, Workload::Insert, Workload::Tpch, Workload::Transaction, Workload::Burn];

/// The point of `threadwise check` for tables in memory.
const IN_MEMORY: &str = "tables in memory";

/// An error of this engine.
fn failed(action: impl Into<String>, why: impl ToString) -> EngineError {
    EngineError::Failed { engine: ENGINE.into(), action: action.into(), why: why.to_string() }
}

/// The engine without its client.
#[derive(Debug, Clone, Copy)]
pub struct Sqlserver;

impl Sqlserver {
    fn elsewhere(action: &str) -> EngineError {
        failed(action, "only its worker program, threadwise-engine-sqlserver, does this")
    }
}

impl Engine for Sqlserver {
    fn name(&self) -> &'static str {
        ENGINE
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Err(Self::elsewhere("read the version"))
    }

    fn about(&self) -> &'static str {
        "SQL Server from 2014 on: yours (sqlserver://…), by the program threadwise-engine-sqlserver"
    }

    fn workloads(&self) -> &'static [Workload] {
        WORKLOADS
    }

    /// A block is a page of 8 KiB.
    fn properties(&self) -> Properties {
        Properties {
            block_bytes: work::PAGE_BYTES,
            row_bytes: work::ROW_BYTES,
            // Any thread of it may serve any session, so threads cannot be placed one by one.
            service_threads: false,
            dialect: Some(ENGINE.to_owned()),
            tpch_bytes: work::BYTES_PER_SCALE,
            ..Properties::default()
        }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["mssql", "sql-server", "sqlservr", "tsql"],
            address: Some(Address {
                schemes: &["sqlserver", "mssql"],
                password: Ok("SQLCMDPASSWORD or --engine-option password_file=/path"),
            }),
            servers: &["sqlservr"],
            started: &[],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        &["SQLCMD"]
    }

    /// Its threads serve any session, and it has one setting for all of them.
    fn binds_whole(&self) -> bool {
        true
    }

    fn trials(&self) -> &'static [Trial] {
        &[Trial {
            workload: Workload::Insert,
            preset: "concurrent-inserts",
            settings: &["storage=memory-optimised", "durability=full", "seed_rows=1000"],
            needs: Some(IN_MEMORY),
        }]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        match request.workload {
            Workload::Tpch => work::parse_tpch(request).map(drop)?,
            _ => work::parse(request).map(drop)?,
        }
        url::parse(&options::parse(&request.engine_options)?.url).map(drop)
    }

    fn load(&self, _: &LoadRequest) -> Result<Loaded, EngineError> {
        Err(Self::elsewhere("load"))
    }

    fn start(&self, _: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        Err(Self::elsewhere("start"))
    }
}
