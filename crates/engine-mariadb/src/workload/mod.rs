//! The workloads on MariaDB: data, loops inside the server, counters.

mod call;
mod counters;
mod insert;
mod logical_io;
mod session;
mod statements;
mod thread;
pub(crate) mod transaction;
mod treatment;
mod waits;
mod watch;

use mysql::Conn;
use threadwise_engine::workloads::insert::{Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, no_workload, place_of_loop, refuse};
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest};
use threadwise_study::Workload;

use crate::Server;
pub(crate) use insert::ROW_BYTES;
use statements::names;
pub(crate) use thread::{Backend, locate};
pub(crate) use treatment::Treatment;
pub(crate) use watch::Watch;

/// Workloads of this engine.
pub(crate) const WORKLOADS: &[Workload] = &[Workload::LogicalIo, Workload::Insert, Workload::Transaction];

/// A treatment of any workload.
pub(crate) trait AtWork: Send + Sync {
    /// Its connection for control and counters.
    fn watch(&self) -> &Watch;

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// Whatever prevents the session from working.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError>;

    /// Notes for the report, once all sessions are open and warm.
    ///
    /// # Errors
    /// The data is not as the workload requires.
    fn standing(&self) -> Result<Vec<String>, EngineError>;

    /// Called after the last slice.
    ///
    /// # Errors
    /// The data is not what the sessions reported, or could not be reset.
    fn finish(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A workload on data that threadwise makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spec {
    /// Reads of cached blocks.
    LogicalIo(LogicalIo),
    /// Inserts into one table.
    Insert(Insert),
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
        some_sessions(load)?;
        let spec = match &load.workload {
            Workload::LogicalIo => Spec::LogicalIo(LogicalIo::parse(&load.options)?),
            Workload::Insert => {
                let insert = Insert::parse(&load.options, &[])?;
                insert.no_single_batch("mariadb")?;
                Spec::Insert(insert)
            }
            other => return Err(no_workload("mariadb", other, WORKLOADS)),
        };
        let place = place_of_loop(&load.options)?;
        Ok(Self { spec, place })
    }

    /// Bytes of the data of all sessions, with indexes and expected inserts, about.
    pub(crate) fn data_bytes(&self, sessions: u32) -> u64 {
        match &self.spec {
            Spec::LogicalIo(spec) => {
                logical_io::bytes(spec) * u64::from(if spec.shared { 1 } else { sessions })
            }
            Spec::Insert(spec) => insert::bytes(spec, sessions),
        }
    }

    /// Whether treatments must not share their data.
    pub(crate) fn changes_data(&self) -> bool {
        match &self.spec {
            Spec::LogicalIo(spec) => spec.updates(),
            Spec::Insert(_) => true,
        }
    }

    /// The value of innodb_flush_log_at_trx_commit that the workload asks for.
    ///
    /// `relaxed` is 0: a commit neither writes nor flushes the log, which happens within a second,
    /// as with PostgreSQL's synchronous_commit=off. With 2 each commit would still make a system call.
    pub(crate) fn flush_at_commit(&self) -> Option<u8> {
        use threadwise_engine::workloads::insert::Durability;
        match &self.spec {
            Spec::Insert(Insert { durability: Durability::Full, table: Table::Durable, .. }) => Some(1),
            Spec::Insert(Insert { durability: Durability::Relaxed, table: Table::Durable, .. }) => Some(0),
            _ => None,
        }
    }
}

/// Refuses a treatment without sessions.
fn some_sessions(load: &LoadRequest) -> Result<(), EngineError> {
    match load.sessions {
        0 => Err(refuse("sessions", "0 sessions; at least 1 is needed".into())),
        _ => Ok(()),
    }
}

/// Objects of a treatment in the server, for the list of what is dropped at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Objects {
    /// Tables, without schema.
    pub tables: Vec<String>,
    /// Procedures, without schema.
    pub procedures: Vec<String>,
}

/// Names of everything that [`load`] and [`Treatment`] make.
pub(crate) fn objects(workload: &Work, sessions: u32, suffix: &str) -> Objects {
    match &workload.spec {
        Spec::LogicalIo(spec) => {
            let tables = if spec.shared { 1 } else { sessions };
            let named = |prefix: &str| (0..tables).map(|table| format!("{prefix}{suffix}_{table}")).collect();
            Objects { tables: named("blocks"), procedures: named("read_blocks") }
        }
        Spec::Insert(_) => Objects {
            tables: ["inserted", "seed", "facts"].iter().map(|name| format!("{name}{suffix}")).collect(),
            procedures: vec![format!("insert_rows{suffix}")],
        },
    }
}

/// Makes the data of one treatment in threadwise's database, which exists already.
///
/// # Errors
/// An error of the server, or data that is not as required.
pub(crate) fn load(
    control: &mut Conn,
    server: &Server,
    workload: &Work,
    request: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let names = names(server.schema(), suffix);
    match &workload.spec {
        Spec::LogicalIo(spec) => logical_io::load(control, &names, spec, request),
        Spec::Insert(spec) => insert::load(control, &names, spec, request),
    }
}
