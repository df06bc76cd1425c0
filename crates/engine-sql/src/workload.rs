//! What a treatment's sessions do, with its options checked.

use threadwise_engine::workloads::insert::{Durability, Insert, Table};
use threadwise_engine::workloads::logical_io::LogicalIo;
use threadwise_engine::workloads::options::{Loop, no_workload, place_of_loop, refuse};
use threadwise_engine::workloads::transaction::Transaction;
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::Workload;

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// Reads of cached blocks.
    LogicalIo(LogicalIo),
    /// Inserts into one table.
    Insert(Insert),
    /// The user's statements on the user's data.
    Transaction(Transaction),
}

/// A workload's options, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlWorkload {
    /// The workload.
    pub spec: Spec,
    /// Where the loop runs.
    pub place: Loop,
}

impl SqlWorkload {
    /// Reads and checks a request's options of `logical-io` and `insert`; `more` are the engine's own options of
    /// `insert`.
    ///
    /// # Errors
    /// The first option that is impossible; or the engine has other workloads only.
    pub fn parse(
        engine: &str,
        load: &LoadRequest,
        has: &[Workload],
        more: &[&str],
    ) -> Result<Self, EngineError> {
        some_sessions(load)?;
        let spec = match &load.workload {
            Workload::LogicalIo => Spec::LogicalIo(LogicalIo::parse(&load.options)?),
            Workload::Insert => Spec::Insert(Insert::parse(&load.options, more)?),
            other => return Err(no_workload(engine, other, has)),
        };
        Ok(Self { spec, place: place_of_loop(&load.options)? })
    }

    /// Transactions of the user, which a client calls.
    pub fn transaction(transaction: Transaction) -> Self {
        Self { spec: Spec::Transaction(transaction), place: Loop::Client }
    }

    /// Whether treatments must not share their data.
    pub fn changes_data(&self) -> bool {
        match &self.spec {
            Spec::LogicalIo(spec) => spec.updates(),
            Spec::Insert(_) => true,
            Spec::Transaction(_) => false,
        }
    }

    /// Whether all sessions work on one table of blocks.
    pub fn shares_table(&self) -> bool {
        matches!(&self.spec, Spec::LogicalIo(spec) if spec.shared)
    }

    /// Tables of blocks for this many sessions.
    pub fn tables(&self, sessions: u32) -> u32 {
        if self.shares_table() { 1 } else { sessions }
    }

    /// What commits wait for, if the workload asks for it: a table that a crash may lose asks for nothing.
    pub fn durability(&self) -> Option<Durability> {
        match &self.spec {
            Spec::Insert(Insert { durability, table: Table::Durable, .. }) => Some(*durability),
            _ => None,
        }
    }

    /// Names of everything that loading makes, without schema; `more` are the driver's own tables and procedures of
    /// `insert`.
    pub fn objects(&self, sessions: u32, suffix: &str, more: &Objects) -> Objects {
        let ending = |name: &String| format!("{name}{suffix}");
        match &self.spec {
            Spec::LogicalIo(_) => {
                let named = |begins: &str| {
                    (0..self.tables(sessions)).map(|table| format!("{begins}{suffix}_{table}")).collect()
                };
                Objects { tables: named("blocks"), procedures: named("read_blocks") }
            }
            Spec::Insert(_) => Objects {
                tables: ["inserted".to_owned()].iter().chain(&more.tables).map(ending).collect(),
                procedures: ["insert_rows".to_owned()].iter().chain(&more.procedures).map(ending).collect(),
            },
            Spec::Transaction(_) => Objects::default(),
        }
    }
}

/// Refuses a treatment without sessions.
///
/// # Errors
/// It has none.
pub fn some_sessions(load: &LoadRequest) -> Result<(), EngineError> {
    match load.sessions {
        0 => Err(refuse("sessions", "0 sessions; at least 1 is needed".into())),
        _ => Ok(()),
    }
}

/// Objects of a treatment in the server, for the list of what is dropped at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    /// Tables, without schema.
    pub tables: Vec<String>,
    /// Procedures, without schema; callers first.
    pub procedures: Vec<String>,
}
