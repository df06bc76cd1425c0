//! When commits wait for the log.

use threadwise_engine::workloads::insert::Durability;
use threadwise_engine::{DELAYED_DURABILITY, DURABLE_COMMITS, EngineError, Point};
use threadwise_engine_sql::{SqlWorkload, numbers};

use crate::connection::MariadbConnection;

/// The value of innodb_flush_log_at_trx_commit that a workload asks for.
///
/// `relaxed` is 0: a commit neither writes nor flushes the log, which happens within a second, as with PostgreSQL's
/// synchronous_commit=off. With 2 each commit would still make a system call.
pub(crate) fn flush_at_commit(workload: &SqlWorkload) -> Option<u8> {
    workload.durability().map(|durability| match durability {
        Durability::Full => 1,
        Durability::Relaxed => 0,
    })
}

/// Refuses a durability that the user's server does not have: threadwise does not change its settings.
///
/// # Errors
/// Both, and what to do; or an error of the server.
pub(crate) fn check_durability(
    control: &mut MariadbConnection,
    workload: &SqlWorkload,
) -> Result<(), EngineError> {
    let Some(wanted) = flush_at_commit(workload) else { return Ok(()) };
    let found = durability(control)?;
    if found.is(wanted) {
        return Ok(());
    }
    let why = format!(
        "the study asks for {FLUSH}={wanted} and your server has {found}; threadwise does not change it: set it there, \
         or measure with --set durability={}",
        if wanted == 1 { "relaxed" } else { "full" }
    );
    Err(control.product().failed("check the durability of commits", why))
}

/// The server's setting for when commits wait for the log (MariaDB Knowledge Base, "InnoDB System Variables").
const FLUSH: &str = "innodb_flush_log_at_trx_commit";

/// When commits of a server wait for its logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommitDurability {
    /// The value of [`FLUSH`].
    flush: i64,
    /// Whether each commit flushes the binary log, which is MySQL's default.
    syncs_binlog: bool,
}

impl std::fmt::Display for CommitDurability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{FLUSH}={}{}", self.flush, if self.syncs_binlog { ", sync_binlog=1" } else { "" })
    }
}

impl CommitDurability {
    /// Whether a server with these settings has the durability that a study needs. 2 writes the log and flushes it later:
    /// relaxed, if not the cheapest form.
    fn is(self, wanted: u8) -> bool {
        match wanted {
            1 => self.flush == 1,
            _ => matches!(self.flush, 0 | 2) && !self.syncs_binlog,
        }
    }
}

/// The server's settings.
///
/// # Errors
/// An error of the server.
pub(crate) fn durability(control: &mut MariadbConnection) -> Result<CommitDurability, EngineError> {
    let sql = format!("SELECT @@GLOBAL.{FLUSH}, @@GLOBAL.log_bin <> 0 AND @@GLOBAL.sync_binlog = 1");
    let [flush, syncs] = numbers(control, "read the durability of commits", &sql)?;
    Ok(CommitDurability { flush: flush.unwrap_or(0), syncs_binlog: syncs == Some(1) })
}

/// Each durability as a point: a server has one of them.
pub(crate) fn durability_points(found: CommitDurability) -> Vec<Point> {
    let point = |name: &str, wanted: u8, word: &str| match found.is(wanted) {
        true => Point::works(name, found.to_string()),
        false => {
            let binlog = if wanted == 0 && found.syncs_binlog { ", sync_binlog=0" } else { "" };
            let set = format!("SET GLOBAL {FLUSH}={wanted}{binlog}");
            Point::lacks(name, format!("{found}: {set}, for inserts with durability={word}"))
        }
    };
    vec![point(DURABLE_COMMITS, 1, "full"), point(DELAYED_DURABILITY, 0, "relaxed")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_durability_and_lacks_the_other() {
        let found = |flush, syncs_binlog| CommitDurability { flush, syncs_binlog };
        for (found, full, relaxed) in [
            (found(1, false), true, false),
            (found(0, false), false, true),
            (found(2, false), false, true),
            (found(1, true), true, false),
            (found(2, true), false, false),
        ] {
            let points = durability_points(found).into_iter().map(|point| (point.name, point.works));
            let expected = [(DURABLE_COMMITS.to_owned(), full), (DELAYED_DURABILITY.to_owned(), relaxed)];
            assert_eq!(points.collect::<Vec<_>>(), expected, "{found}");
        }
        let says = &durability_points(found(1, true))[1].says;
        assert!(says.contains("SET GLOBAL innodb_flush_log_at_trx_commit=0, sync_binlog=0"), "{says}");
    }
}
