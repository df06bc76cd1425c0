//! What sessions wait for: looked at from a control connection, 20 times a second.
//!
//! Source: mariadb.com/kb/en/performance-schema-events_waits_current-table (a row whose END_EVENT_ID
//! is NULL is under way) and thread-states. Without the performance schema there are the states of
//! the process list, of which only those that name a lock or a flush are waits.

use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::{EngineError, Window};
use threadwise_study::Counters;

use crate::error::query;

/// Time between two looks.
const PERIOD_NS: u64 = 50_000_000;

/// Where the looks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The wait events of the performance schema.
    Events,
    /// The states of the process list.
    States,
    /// Nobody looks.
    Off,
}

/// Samples of one window.
#[derive(Debug, Default)]
pub(super) struct Samples {
    seen: BTreeMap<String, u64>,
    all: u64,
}

impl Samples {
    /// As counters: `waits/NAME`, `waits/running`, `waits_sampled`.
    pub(super) fn counters(&self) -> Counters {
        let named = self.seen.iter().map(|(name, count)| (format!("waits/{name}"), *count));
        named.chain((self.all > 0).then_some(("waits_sampled".to_owned(), self.all))).collect()
    }
}

/// The best source that this server has, and what the reader must know of it.
pub(super) fn source(control: &mut Conn, wanted: bool) -> (Source, Option<String>) {
    if !wanted {
        return (Source::Off, None);
    }
    let enabled: Option<u64> = control
        .query_first(
            "SELECT (SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' AND \
             NAME IN ('events_waits_current', 'global_instrumentation', 'thread_instrumentation')) DIV 3 * \
             (SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND NAME LIKE 'wait/%')",
        )
        .ok()
        .flatten();
    match enabled {
        Some(1..) => (
            Source::Events,
            Some(
                "waits are sampled from the performance schema, which costs CPU time in every statement; the engine \
                 option waits=false goes without"
                    .to_owned(),
            ),
        ),
        _ => (
            Source::States,
            Some(
                "waits are taken from the states of the process list, since the performance schema's wait events \
                 are off: short waits inside InnoDB do not show"
                    .to_owned(),
            ),
        ),
    }
}

/// Looks during a window, at a phase of `phase` (0 to 1) of the period, until the window ends or all
/// sessions are done.
///
/// # Errors
/// The server's.
pub(super) fn sample(
    control: &mut Conn,
    source: Source,
    sessions: &[u32],
    window: &Window,
    phase: f64,
    all_done: &dyn Fn() -> bool,
) -> Result<Samples, EngineError> {
    let mut samples = Samples::default();
    let Some(sql) = statement(source, sessions) else { return Ok(samples) };
    let mut at_ns = window.start_ns + (phase * PERIOD_NS as f64) as u64;
    while at_ns < window.end_ns {
        sleep_until_ns(at_ns);
        if all_done() {
            break;
        }
        let rows: Vec<(u32, Option<String>)> =
            control.query(&sql).map_err(|cause| query("look at what sessions wait for", &cause))?;
        let now_ns = monotonic_ns();
        // An answer that came late tells of the time between windows.
        if now_ns < window.end_ns && !all_done() {
            samples.all += rows.len() as u64;
            for (_, wait) in rows {
                *samples.seen.entry(name(source, wait.as_deref())).or_default() += 1;
            }
        }
        at_ns = (at_ns + PERIOD_NS).max(now_ns);
    }
    Ok(samples)
}

fn statement(source: Source, sessions: &[u32]) -> Option<String> {
    let ids = sessions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if ids.is_empty() {
        return None;
    }
    match source {
        // Waits nest (a table's I/O holds a latch's wait); the innermost is the latest.
        Source::Events => Some(format!(
            "SELECT t.PROCESSLIST_ID, SUBSTRING_INDEX(GROUP_CONCAT(w.EVENT_NAME ORDER BY w.EVENT_ID DESC), ',', 1) \
             FROM performance_schema.threads t LEFT JOIN performance_schema.events_waits_current w \
             ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL AND w.EVENT_NAME <> 'idle' \
             WHERE t.PROCESSLIST_ID IN ({ids}) GROUP BY t.PROCESSLIST_ID"
        )),
        Source::States => {
            Some(format!("SELECT ID, STATE FROM information_schema.PROCESSLIST WHERE ID IN ({ids})"))
        }
        Source::Off => None,
    }
}

/// The name of a wait, `running` for none.
fn name(source: Source, wait: Option<&str>) -> String {
    let running = || "running".to_owned();
    match (source, wait.map(str::trim).filter(|wait| !wait.is_empty())) {
        (_, None) | (Source::Off, _) => running(),
        // The access of a table is work; what it waits for shows as an event inside of it.
        (Source::Events, Some("wait/io/table/sql/handler")) => running(),
        (Source::Events, Some(event)) => event.trim_start_matches("wait/").to_owned(),
        (Source::States, Some(state)) => {
            match ["ait", "lock", "flush", "Commit", "commit"].iter().any(|word| state.contains(word)) {
                true => format!("state:{state}"),
                false => running(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_waited_for() {
        for (source, wait, expected) in [
            (
                Source::Events,
                Some("wait/synch/rwlock/innodb/index_tree_rw_lock"),
                "synch/rwlock/innodb/index_tree_rw_lock",
            ),
            (Source::Events, Some("wait/io/table/sql/handler"), "running"),
            (Source::Events, None, "running"),
            (Source::States, Some("Waiting for table level lock"), "state:Waiting for table level lock"),
            (Source::States, Some("Update"), "running"),
            (Source::States, Some(" "), "running"),
        ] {
            assert_eq!(name(source, wait), expected);
        }
    }

    #[test]
    fn samples_become_counters_and_none_become_none() {
        let mut samples = Samples::default();
        assert!(samples.counters().is_empty());
        samples.all = 3;
        samples.seen.insert("running".into(), 3);
        assert_eq!(samples.counters(), [("waits/running".into(), 3), ("waits_sampled".into(), 3)].into());
        assert_eq!(statement(Source::Events, &[]), None);
        assert!(statement(Source::States, &[4, 5]).unwrap().contains("(4, 5)"));
    }
}
