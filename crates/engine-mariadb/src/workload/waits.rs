//! Waits of sessions, sampled from a control connection, 20 times a second.
//!
//! The states of the process list cost statements nothing: the server keeps them anyway. They name the current step of
//! a statement, most of which is work; the states that are waits are listed below. Short waits inside InnoDB
//! have no state. The wait instruments of the performance schema show them, and cost CPU time.
//!
//! Source: mariadb.com/kb/en/general-thread-states (with sql/mysqld.cc, PSI_stage_info, of 10.11) and
//! mariadb.com/kb/en/performance-schema-events_waits_current-table (a row whose END_EVENT_ID is NULL is
//! under way).

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::servers::Samples;
use threadwise_engine::{EngineError, Window};

use crate::error::query;
use crate::options::Waits;

/// Time between two looks.
const PERIOD_NS: u64 = 50_000_000;

/// A note if the performance schema is used. The figure: CPU time of the server per row of one session's inserts of
/// two rows, over that without the performance schema, measured on a busy machine.
const COST: &str = "waits=instruments: the performance schema takes CPU time in every statement; for inserts of two \
                    rows it was measured at 1.165 times the CPU time per row (95%: 1.116 to 1.215)";

/// A note if only the states are used.
const STATES_ONLY: &str = "waits are taken from the states of the process list, since the performance schema's wait \
                           instruments are off: short waits inside InnoDB do not show";

/// Command of a session that has no statement.
const IDLE: &str = "Sleep";

/// How a treatment samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Source of the names.
    pub source: Waits,
    /// Whether a commit waits for the log to be flushed; else the state `Commit` is work.
    pub flushes: bool,
    /// Whether a session without a statement is at work, waiting for its client; with loops inside the server it has
    /// not begun or is done.
    pub client: bool,
}

/// The requested source if this server has it, else the states; with the note for it.
pub(super) fn source(control: &mut Conn, wanted: Waits) -> (Waits, Option<&'static str>) {
    if wanted != Waits::Instruments {
        return (wanted, None);
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
        Some(1..) => (Waits::Instruments, Some(COST)),
        _ => (Waits::States, Some(STATES_ONLY)),
    }
}

/// Samples during a window, starting at a phase of `phase` (0 to 1) of the period, until the window ends or all
/// sessions are done.
///
/// # Errors
/// An error of the server.
pub(super) fn sample(
    control: &mut Conn,
    look: Look,
    sessions: &[u32],
    window: &Window,
    phase: f64,
    all_done: &dyn Fn() -> bool,
) -> Result<Samples, EngineError> {
    let mut samples = Samples::default();
    let Some(sql) = statement(look.source, sessions) else { return Ok(samples) };
    let mut at_ns = window.start_ns + (phase * PERIOD_NS as f64) as u64;
    while at_ns < window.end_ns {
        sleep_until_ns(at_ns);
        if all_done() {
            break;
        }
        let rows: Vec<Row> =
            control.query(&sql).map_err(|cause| query("sample the waits of sessions", &cause))?;
        let now_ns = monotonic_ns();
        // A late answer is about the time between windows.
        if now_ns < window.end_ns && !all_done() {
            let seen = rows.iter().filter_map(seen).filter(|(id, ..)| sessions.contains(id));
            seen.filter_map(|(_, command, wait)| name(look, &command, wait.as_deref()))
                .for_each(|name| samples.add(name));
        }
        at_ns = (at_ns + PERIOD_NS).max(now_ns);
    }
    Ok(samples)
}

/// A row's connection, command, and state or event.
fn seen(row: &Row) -> Option<(u32, String, Option<String>)> {
    Some((row.get("Id")?, row.get("Command")?, row.get::<Option<String>, _>("State")?))
}

fn statement(source: Waits, sessions: &[u32]) -> Option<String> {
    let ids = sessions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if ids.is_empty() {
        return None;
    }
    match source {
        // Waits nest (a table's I/O holds a latch's wait); the innermost is the latest.
        Waits::Instruments => Some(format!(
            "SELECT t.PROCESSLIST_ID AS Id, t.PROCESSLIST_COMMAND AS Command, \
             SUBSTRING_INDEX(GROUP_CONCAT(w.EVENT_NAME ORDER BY w.EVENT_ID DESC), ',', 1) AS State \
             FROM performance_schema.threads t LEFT JOIN performance_schema.events_waits_current w \
             ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL AND w.EVENT_NAME <> 'idle' \
             WHERE t.PROCESSLIST_ID IN ({ids}) GROUP BY t.PROCESSLIST_ID"
        )),
        // The table of the same name would be filled into a temporary table first, on disk.
        Waits::States => Some("SHOW PROCESSLIST".to_owned()),
        Waits::None => None,
    }
}

/// The name of a session's state: `running` for work, `None` if it does not belong to this treatment.
fn name(look: Look, command: &str, wait: Option<&str>) -> Option<String> {
    if command == IDLE {
        return look.client.then(|| "client".to_owned());
    }
    let running = || "running".to_owned();
    Some(match (look.source, wait.map(str::trim).filter(|wait| !wait.is_empty())) {
        (_, None) | (Waits::None, _) => running(),
        // Access to a table is work; its waits are events inside it.
        (Waits::Instruments, Some("wait/io/table/sql/handler")) => running(),
        (Waits::Instruments, Some(event)) => event.trim_start_matches("wait/").to_owned(),
        (Waits::States, Some(state)) if is_wait(state, look.flushes) => state.to_owned(),
        (Waits::States, Some(_)) => running(),
    })
}

/// Whether a state is a wait. `Commit` contains the writing and the flush of the log and, for a small part of the time
/// if it is flushed, the work of a commit. All others (`Update`, `Opening tables`, `Statistics`, `System lock`,
/// `Unlocking tables`, …) are steps of a statement that are work.
fn is_wait(state: &str, flushes: bool) -> bool {
    match state {
        "Commit" | "Commit_implicit" => flushes,
        "User lock" | "User sleep" => true,
        other => other.starts_with("Waiting"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: Look = Look { source: Waits::States, flushes: true, client: false };
    const INSTRUMENTS: Look = Look { source: Waits::Instruments, ..STATES };

    #[test]
    fn names_say_what_is_waited_for() {
        let relaxed = Look { flushes: false, ..STATES };
        for (look, wait, expected) in [
            (
                INSTRUMENTS,
                Some("wait/synch/rwlock/innodb/index_tree_rw_lock"),
                "synch/rwlock/innodb/index_tree_rw_lock",
            ),
            (INSTRUMENTS, Some("wait/io/table/sql/handler"), "running"),
            (INSTRUMENTS, None, "running"),
            (STATES, Some("Waiting for table level lock"), "Waiting for table level lock"),
            (STATES, Some("Commit"), "Commit"),
            (relaxed, Some("Commit"), "running"),
            (relaxed, Some("Waiting for table metadata lock"), "Waiting for table metadata lock"),
            (STATES, Some("Update"), "running"),
            (STATES, Some("Statistics"), "running"),
            (STATES, Some("Unlocking tables"), "running"),
            (STATES, Some(" "), "running"),
        ] {
            assert_eq!(name(look, "Query", wait).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_session_without_a_statement_waits_for_its_client_or_is_not_at_work() {
        for look in [STATES, INSTRUMENTS] {
            assert_eq!(name(look, "Sleep", None), None);
            let client = Look { client: true, ..look };
            assert_eq!(name(client, "Sleep", Some("")).as_deref(), Some("client"));
            assert_eq!(name(client, "Execute", None).as_deref(), Some("running"));
        }
    }

    #[test]
    fn nobody_is_looked_at_without_sessions_or_where_nothing_is_sampled() {
        assert_eq!(statement(Waits::States, &[]), None);
        assert_eq!(statement(Waits::None, &[4]), None);
        assert!(statement(Waits::Instruments, &[4, 5]).unwrap().contains("(4, 5)"));
    }
}
