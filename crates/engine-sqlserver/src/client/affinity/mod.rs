//! The server's own CPU affinity, which binds it to a treatment's logical CPUs. It applies to the whole server and
//! persists over restarts, so it is recorded before a change and restored however a study ends.
//!
//! [`Held`] lives as long as the study, and starts the watchdog, which keeps the login in memory and restores the
//! affinity if the study was killed. If the watchdog was killed too, the journal (`threadwise_process::journal`,
//! lasting ones) stays, and the next study with a login of the server first restores it.
//!
//! Source: "ALTER SERVER CONFIGURATION (Transact-SQL)", PROCESS AFFINITY; sys.dm_os_schedulers (status, cpu_id),
//! sys.dm_os_nodes (memory_node_id) and sys.dm_os_sys_info (affinity_type_desc) of the SQL Server documentation.

mod bound;
mod held;
mod recorded;
mod setting;
mod watchdog;

use threadwise_engine::EngineError;
use threadwise_engine::server_cpus::{ServerCpu, ServerCpus};

use super::connect::{Connection, Server};
use super::observe::why_not;
use super::statements::{fill, text, whole};
pub(crate) use bound::Bound;
pub(crate) use held::{Held, put_left_back};
pub(crate) use setting::Setting;
pub use watchdog::{WATCHDOG, watch};

/// Prefix of threadwise's program names in the server's session list.
const OURS: &str = "threadwise%";
/// How many sessions of other clients are listed.
const NAMED: usize = 3;
/// The right to bind the server.
const RIGHT: &str = "it needs the right ALTER SETTINGS: GRANT ALTER SETTINGS TO the login";

/// Reads the server's logical CPUs and affinity. Of a server on another machine they are counted, too, and it cannot be
/// bound.
///
/// # Errors
/// The server does not answer at all.
pub(super) fn ask(server: &Server) -> Result<ServerCpus, EngineError> {
    let unknown = |why: String| ServerCpus {
        cpus: Vec::new(),
        online: threadwise_machine::CpuSet::new(),
        is_auto: true,
        why_not: Some(why),
        others: 0,
        who: Vec::new(),
    };
    let mut connection = server.connect("threadwise affinity")?;
    let (setting, cpus) = match setting::read(&mut connection) {
        Ok(read) => read,
        Err(why) => return Ok(unknown(why)),
    };
    if !server.target().is_here() {
        let why = "it runs on another machine; run threadwise there".to_owned();
        return Ok(ServerCpus { cpus, online: setting.cpus().clone(), ..unknown(why) });
    }
    // At this time the study has no other session yet.
    let who = match others(&mut connection, "") {
        Ok(who) => who,
        Err(why) => return Ok(unknown(why)),
    };
    let may = identity(&mut connection).and_then(|(may, _)| if may { Ok(()) } else { Err(RIGHT.to_owned()) });
    Ok(ServerCpus {
        cpus,
        online: setting.cpus().clone(),
        is_auto: matches!(setting, Setting::Auto(_)),
        why_not: may.err(),
        others: u32::try_from(who.len()).unwrap_or(u32::MAX),
        who: who.into_iter().take(NAMED).collect(),
    })
}

/// Sessions of other clients: those whose program name has another prefix.
fn others(connection: &mut Connection, but: &str) -> Result<Vec<String>, String> {
    let sql = fill(include_str!("../../sql/others.sql"), &[("but", but)]);
    let rows = connection.rows(&sql).map_err(|cause| why_not(&cause))?;
    let who =
        |row| format!("'{}' by '{}'", text(row, 0).unwrap_or_default(), text(row, 1).unwrap_or_default());
    Ok(rows.iter().map(who).collect())
}

/// Whether the login may bind the server, and the server's name.
fn identity(connection: &mut Connection) -> Result<(bool, String), String> {
    let rows = connection.rows(include_str!("../../sql/may_bind.sql")).map_err(|cause| why_not(&cause))?;
    let row = rows.first().ok_or("the server does not report its name")?;
    let name = text(row, 1).filter(|name| !name.trim().is_empty());
    Ok((whole(row, 0) == Some(1), name.ok_or("the server does not report its name")?))
}

/// A logical CPU of a row.
fn cpu(row: &tiberius::Row) -> Option<ServerCpu> {
    let number = |at| whole(row, at).and_then(|number| u32::try_from(number).ok());
    Some(ServerCpu { cpu: number(0)?, node: number(1)? })
}
