//! The workloads on Firebird: data, loops inside the engine, counters.

mod call;
mod clock;
pub(crate) mod counters;
mod insert;
mod logical_io;
mod opened;
mod session;
pub(crate) mod transaction;
mod treatment;

use threadwise_engine::workloads::insert::{Durability, Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, no_workload, place_of_loop, refuse};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_study::Workload;

use crate::home::{DATABASE, Home, PAGE_BYTES};
use crate::isql::Isql;
use crate::programs::Programs;
pub(crate) use insert::ROW_BYTES;
pub(crate) use treatment::Treatment;

/// Workloads of this engine.
pub(crate) const WORKLOADS: &[Workload] = &[Workload::LogicalIo, Workload::Insert, Workload::Transaction];

/// A workload on data that threadwise makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Work {
    /// Reads of cached blocks.
    LogicalIo(LogicalIo),
    /// Inserts into one table.
    Insert(Insert),
}

impl Work {
    /// Reads and checks a request's workload options.
    ///
    /// # Errors
    /// The first option that is impossible.
    pub(crate) fn parse(load: &LoadRequest) -> Result<Self, EngineError> {
        some_sessions(load)?;
        let workload = match &load.workload {
            Workload::LogicalIo => Self::LogicalIo(readable(LogicalIo::parse(&load.options)?)?),
            Workload::Insert => Self::Insert(insertable(Insert::parse(&load.options, &[])?)?),
            other => return Err(no_workload("firebird", other, WORKLOADS)),
        };
        match place_of_loop(&load.options)? {
            Loop::Server => Ok(workload),
            Loop::Client => {
                let why = "firebird's loops get their window once, and have no client that steps";
                Err(refuse("loop", format!("{why}; leave it out")))
            }
        }
    }

    /// Pages that each session's cache needs, about.
    pub(crate) fn cache_pages(&self, sessions: u32) -> u64 {
        match self {
            // Its own table, the pages of the index, and system pages.
            Self::LogicalIo(spec) => spec.blocks * 21 / 20 + 1024,
            Self::Insert(spec) => insert::pages(spec, sessions) + 1024,
        }
    }

    /// Whether treatments must not share their data.
    pub(crate) fn changes_data(&self) -> bool {
        match self {
            Self::LogicalIo(spec) => spec.updates(),
            Self::Insert(_) => true,
        }
    }

    /// Whether commits wait for the disk.
    pub(crate) fn forced_writes(&self) -> bool {
        matches!(self, Self::Insert(Insert { durability: Durability::Full, .. }))
    }
}

/// Refuses a treatment without sessions.
fn some_sessions(load: &LoadRequest) -> Result<(), EngineError> {
    match load.sessions {
        0 => Err(refuse("sessions", "0 sessions; at least 1 is needed".into())),
        _ => Ok(()),
    }
}

/// Refuses options that Firebird's loops do not support.
fn readable(spec: LogicalIo) -> Result<LogicalIo, EngineError> {
    if spec.think_time_us > 0 {
        let why = "firebird's procedures have no pause before version 5; leave it out";
        return Err(refuse("think_time_us", why.into()));
    }
    if spec.shared && spec.updates() {
        let why = "with update_pct it is not available on firebird: the loop's one transaction would hold rows \
                   that another session changes, which ends in an update conflict";
        return Err(refuse("shared", why.into()));
    }
    Ok(spec)
}

fn insertable(spec: Insert) -> Result<Insert, EngineError> {
    spec.no_single_batch("firebird")?;
    match spec.table {
        Table::Durable => Ok(spec),
        Table::Unlogged => {
            let why =
                "unlogged is not available on firebird, which has no such tables; use durability=relaxed";
            Err(refuse("table", why.into()))
        }
    }
}

/// Makes the template's database with everything that the workload needs.
///
/// # Errors
/// An error of Firebird, or data that is not as required.
pub(crate) fn load(
    home: &Home,
    programs: &Programs,
    workload: &Work,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let create = format!("create database '{DATABASE}' page_size {PAGE_BYTES}");
    Isql::start(home, &programs.isql, &[])?.run("create a database", &create)?;
    home.set_forced_writes(programs, false)?;
    match workload {
        Work::LogicalIo(spec) => logical_io::load(home, programs, spec, request),
        Work::Insert(spec) => insert::load(home, programs, spec, request),
    }
}
