//! The workloads on SQL Server: data, loops inside the server, counters.

mod insert;
mod logical_io;
mod server_counters;
mod session;
mod treatment;
mod usage;
mod waits;
mod watch;

use threadwise_engine::workloads::insert::Durability;
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use crate::client::connect::{Connection, Server};
use crate::client::statements::{names, text};
use crate::failed;
use crate::work::{Spec, Work};
pub(crate) use server_counters::why_not;
pub(crate) use treatment::Treatment;
pub(crate) use waits::may_look;

/// Refuses options that the user's database does not support: threadwise does not change its settings.
///
/// # Errors
/// The setting, and the statement that changes it.
pub(crate) fn expect_settings(
    workload: &Work,
    control: &mut Connection,
    server: &Server,
) -> Result<(), EngineError> {
    let Spec::Insert(inserts) = workload.spec else { return Ok(()) };
    let database = server.database();
    if inserts.buckets.is_some() {
        let has = control.rows(include_str!("../../sql/memory_filegroup.sql"));
        if !has.is_ok_and(|rows| rows.first().and_then(|row| text(row, 0)).is_some()) {
            let why = format!(
                "database '{database}' has no filegroup for tables in memory: ALTER DATABASE [{database}] ADD \
                 FILEGROUP … CONTAINS MEMORY_OPTIMIZED_DATA, with a file; or measure with --set storage=disk"
            );
            return Err(failed("use tables in memory", why));
        }
    }
    let found = control.rows(include_str!("../../sql/delayed_durability.sql"));
    let found = found.ok().and_then(|rows| text(rows.first()?, 0)).unwrap_or_default();
    let why = match (inserts.spec.durability, found.trim()) {
        (Durability::Relaxed, "ALLOWED" | "FORCED") | (Durability::Full, "DISABLED" | "ALLOWED" | "") => {
            return Ok(());
        }
        (Durability::Relaxed, "") => {
            "the server has no delayed durability: measure with --set durability=full"
        }
        (Durability::Relaxed, _) => {
            "the study asks for delayed durability, which the database does not allow; threadwise does not change \
             that: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, or measure with --set durability=full"
        }
        (Durability::Full, _) => {
            "the study asks for commits that wait for the log, and the database delays all of them; threadwise does \
             not change that: ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED, or --set durability=relaxed"
        }
    };
    Err(failed(format!("check the durability of commits in database '{database}'"), why))
}

/// Objects of a treatment in the server, for the list of what is dropped at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Objects {
    /// Tables, without schema.
    pub tables: Vec<String>,
    /// Procedures, without schema; callers first.
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
            tables: ["inserted", "facts", "keys"].iter().map(|name| format!("{name}{suffix}")).collect(),
            procedures: ["insert_rows", "insert_few"].iter().map(|name| format!("{name}{suffix}")).collect(),
        },
    }
}

/// Makes the data of one treatment in threadwise's schema, which exists already.
///
/// # Errors
/// An error of the server, or data that is not as required.
pub(crate) fn load(
    control: &mut Connection,
    server: &Server,
    workload: &Work,
    request: &LoadRequest,
    suffix: &str,
) -> Result<Loaded, EngineError> {
    let names = names(server.schema(), suffix);
    match &workload.spec {
        Spec::LogicalIo(spec) => logical_io::load(control, server, &names, spec, request),
        Spec::Insert(inserts) => insert::load(control, &names, inserts, request),
    }
}
