//! When commits wait for the log.

use mysql::prelude::Queryable;
use threadwise_engine::workloads::insert::Durability;
use threadwise_engine::{DELAYED_DURABILITY, DURABLE_COMMITS, EngineError, Point};
use threadwise_engine_sql::Work;

use crate::connection::MariadbConnection;
use crate::error::{failed, query};

/// The value of innodb_flush_log_at_trx_commit that a workload asks for.
///
/// `relaxed` is 0: a commit neither writes nor flushes the log, which happens within a second, as with PostgreSQL's
/// synchronous_commit=off. With 2 each commit would still make a system call.
pub(crate) fn flush_at_commit(workload: &Work) -> Option<u8> {
    workload.durability().map(|durability| match durability {
        Durability::Full => 1,
        Durability::Relaxed => 0,
    })
}

/// Refuses a durability that the user's server does not have: threadwise does not change its settings.
///
/// # Errors
/// Both, and what to do; or an error of the server.
pub(crate) fn check_durability(control: &mut MariadbConnection, workload: &Work) -> Result<(), EngineError> {
    let Some(wanted) = flush_at_commit(workload) else { return Ok(()) };
    let found = durability(&mut control.conn)?;
    match has_durability(wanted, found) {
        true => Ok(()),
        false => Err(failed(
            "check the durability of commits",
            format!(
                "the study asks for {FLUSH}={wanted} and your server has {found}; threadwise does not change it: set it \
                 there, or measure with --set durability={}",
                if wanted == 1 { "relaxed" } else { "full" }
            ),
        )),
    }
}

/// The server's setting for when commits wait for the log (MariaDB Knowledge Base, "InnoDB System Variables").
const FLUSH: &str = "innodb_flush_log_at_trx_commit";

/// The server's value of that setting.
///
/// # Errors
/// An error of the server.
pub(crate) fn durability(connection: &mut mysql::Conn) -> Result<u8, EngineError> {
    let found = connection.query_first(format!("SELECT @@GLOBAL.{FLUSH}"));
    Ok(found.map_err(|cause| query("read the durability of commits", &cause))?.unwrap_or_default())
}

/// Whether a server with this setting has the durability that a study needs. 2 writes the log and flushes it later:
/// relaxed, if not the cheapest form.
fn has_durability(wanted: u8, found: u8) -> bool {
    matches!((wanted, found), (1, 1) | (0, 0 | 2))
}

/// Each durability as a point: a server has one of them.
pub(crate) fn durability_points(found: u8) -> Vec<Point> {
    let point = |name: &str, wanted: u8, word: &str| match has_durability(wanted, found) {
        true => Point::works(name, format!("{FLUSH}={found}")),
        false => Point::lacks(
            name,
            format!("{FLUSH}={found}: SET GLOBAL {FLUSH}={wanted}, for inserts with durability={word}"),
        ),
    };
    vec![point(DURABLE_COMMITS, 1, "full"), point(DELAYED_DURABILITY, 0, "relaxed")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_durability_and_lacks_the_other() {
        let works = |found: u8| durability_points(found).into_iter().map(|point| (point.name, point.works));
        for (found, full) in [(1, true), (0, false), (2, false)] {
            let expected = [(DURABLE_COMMITS.to_owned(), full), (DELAYED_DURABILITY.to_owned(), !full)];
            assert_eq!(works(found).collect::<Vec<_>>(), expected, "{found}");
        }
        assert!(durability_points(1)[1].says.contains("SET GLOBAL innodb_flush_log_at_trx_commit=0"));
    }
}
