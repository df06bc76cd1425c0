//! The server's statistics between two readings.
//!
//! Source: mariadb.com/kb/en/innodb-status-variables and server-status-variables. They belong to the
//! whole server. Counters that a version lacks are left out, with a note.

use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use threadwise_engine::EngineError;
use threadwise_study::Counters;

use crate::error::query;

/// Status variable, and the name of its counter: the server's word with the unit last.
const KNOWN: [(&str, &str); 18] = [
    ("Innodb_buffer_pool_read_requests", READ_REQUESTS),
    ("Innodb_pages_read", PAGES_READ),
    ("Innodb_os_log_written", "log_written_bytes"),
    ("Innodb_log_write_requests", "log_write_requests"),
    ("Innodb_log_writes", "log_writes"),
    ("Innodb_log_waits", "log_waits"),
    ("Innodb_os_log_fsyncs", "log_fsyncs"),
    ("Innodb_data_fsyncs", "data_fsyncs"),
    ("Innodb_data_written", "data_written_bytes"),
    ("Innodb_pages_written", "pages_written"),
    ("Innodb_pages_created", "pages_created"),
    ("Innodb_buffer_pool_write_requests", "buffer_write_requests"),
    ("Innodb_buffer_pool_wait_free", "buffer_free_waits"),
    ("Innodb_row_lock_waits", "row_lock_waits"),
    ("Innodb_row_lock_time", "row_lock_wait_ms"),
    ("Table_locks_waited", "table_lock_waits"),
    ("Handler_commit", "commits"),
    ("Innodb_deadlocks", "deadlocks"),
];

/// Requests of pages from the buffer pool.
pub(super) const READ_REQUESTS: &str = "read_requests";

/// Pages read from files, by read-ahead too (Innodb_buffer_pool_reads excludes that).
pub(super) const PAGES_READ: &str = "pages_read";

/// Waits of InnoDB's own latches, from SHOW ENGINE INNODB MUTEX.
const LATCH_WAITS: &str = "latch_waits";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading(BTreeMap<&'static str, u64>);

impl Reading {
    /// Reads all counters.
    ///
    /// # Errors
    /// An error of the server.
    pub(super) fn take(control: &mut Conn) -> Result<Self, EngineError> {
        let action = "read the server's counters";
        let status: Vec<(String, String)> = control
            .query("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb\\_%' OR Variable_name IN ('Table_locks_waited', 'Handler_commit')")
            .map_err(|cause| query(action, &cause))?;
        Ok(Self::parse(&status))
    }

    /// Adds the waits of latches; they need a separate statement and the right PROCESS.
    pub(super) fn with_latches(mut self, control: &mut Conn) -> Self {
        if let Ok(rows) = control.query::<(String, String, String), _>("SHOW ENGINE INNODB MUTEX") {
            self.0.insert(LATCH_WAITS, latch_waits(&rows));
        }
        self
    }

    fn parse(status: &[(String, String)]) -> Self {
        let value = |variable: &str| {
            let (_, text) = status.iter().find(|(name, _)| name.eq_ignore_ascii_case(variable))?;
            text.parse().ok()
        };
        Self(KNOWN.iter().filter_map(|(variable, counter)| Some((*counter, value(variable)?))).collect())
    }

    /// Increments since another reading.
    pub(super) fn since(&self, before: &Self) -> Counters {
        let pairs = self.0.iter().filter_map(|(name, now)| Some((name, now, before.0.get(name)?)));
        pairs.map(|(name, now, then)| ((*name).to_owned(), now.saturating_sub(*then))).collect()
    }

    /// A note about counters that this version lacks.
    pub(super) fn lacks(&self) -> Option<String> {
        let absent: Vec<&str> = KNOWN
            .iter()
            .filter(|(_, counter)| !self.0.contains_key(counter))
            .map(|(name, _)| *name)
            .collect();
        (!absent.is_empty()).then(|| format!("this server does not count: {}", absent.join(", ")))
    }
}

/// Waits of all latches: the third column is `waits=N`, `OS waits N` or `os_waits=N` by version.
fn latch_waits(rows: &[(String, String, String)]) -> u64 {
    let last_number =
        |text: &str| text.rsplit(['=', ' ']).next().and_then(|number| number.parse::<u64>().ok());
    rows.iter()
        .filter(|(_, _, status)| status.contains("waits"))
        .filter_map(|(_, _, status)| last_number(status))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(pairs: &[(&str, &str)]) -> Reading {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Reading::parse(&pairs)
    }

    #[test]
    fn differences_are_of_what_both_readings_have() {
        let before =
            reading(&[("Innodb_log_writes", "5"), ("Innodb_data_fsyncs", "9"), ("Handler_commit", "x")]);
        let after =
            reading(&[("Innodb_log_writes", "8"), ("Innodb_data_fsyncs", "3"), ("Innodb_pages_read", "1")]);
        let since = after.since(&before);
        assert_eq!((since["log_writes"], since["data_fsyncs"], since.len()), (3, 0, 2));
        assert!(after.lacks().unwrap().contains("Innodb_os_log_fsyncs"));
        assert!(!after.lacks().unwrap().contains("Innodb_pages_read,"));
    }

    #[test]
    fn latches_are_added_up() {
        let row = |status: &str| ("InnoDB".to_owned(), "x".to_owned(), status.to_owned());
        assert_eq!(latch_waits(&[row("waits=3"), row("os_waits=4"), row("OS waits 5"), row("spins=9")]), 12);
    }
}
