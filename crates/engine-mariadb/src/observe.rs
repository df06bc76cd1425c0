//! What the server counts, and what its sessions wait for.
//!
//! The states of the process list cost statements nothing: the server keeps them anyway. They name the current step of
//! a statement, most of which is work; the states that are waits are listed below. Short waits inside InnoDB
//! have no state. The wait instruments of the performance schema show them, and cost CPU time.
//!
//! Source: mariadb.com/kb/en/innodb-status-variables and server-status-variables, which belong to the whole server
//! (counters that a version lacks are left out, with a note); general-thread-states (with sql/mysqld.cc,
//! PSI_stage_info, of 10.11); and performance-schema-events_waits_current-table (a row whose END_EVENT_ID is NULL is
//! under way).

use mysql::Row;
use mysql::prelude::Queryable;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::Loop;
use threadwise_engine_sql::{Observer, SqlWorkload, increments};
use threadwise_study::Counters;

use crate::connection::MariadbConnection;
use crate::durability::flush_at_commit;
use crate::options::Waits;

/// Status variable, and the name of its counter: the server's word with the unit last.
const KNOWN: [(&str, &str); 18] = [
    ("Innodb_buffer_pool_read_requests", "logical_reads"),
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

/// Pages read from files, by read-ahead too (Innodb_buffer_pool_reads excludes that).
pub(crate) const PAGES_READ: &str = "physical_reads";

/// Waits of InnoDB's own latches, from SHOW ENGINE INNODB MUTEX.
const LATCH_WAITS: &str = "latch_waits";

/// A note if the performance schema is used. The figure: CPU time of the server per row of one session's inserts of
/// two rows, over that without the performance schema, measured on a busy machine.
const COST: &str = "waits=instruments: the performance schema takes CPU time in every statement; for inserts of two \
                    rows it was measured at 1.165 times the CPU time per row (95%: 1.116 to 1.215)";

/// A note if only the states are used.
const STATES_ONLY: &str = "waits are taken from the states of the process list, since the performance schema's wait \
                           instruments are off: short waits inside InnoDB do not show";

/// Command of a session that has no statement.
const IDLE: &str = "Sleep";

/// What reads counters and waits of a treatment.
pub(crate) struct MariadbObserver {
    look: Look,
    before: Counters,
}

/// How a treatment samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    /// Source of the names.
    source: Waits,
    /// Whether a commit waits for the log to be flushed; else the state `Commit` is work.
    flushes: bool,
    /// Whether a session without a statement is at work, waiting for its client; with loops inside the server it has
    /// not begun or is done.
    client: bool,
}

impl MariadbObserver {
    /// Starts to observe; with notes for the report.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn start(
        control: &mut MariadbConnection,
        wanted: Waits,
        workload: &SqlWorkload,
    ) -> Result<(Self, Vec<String>), EngineError> {
        let (source, note) = source(control, wanted);
        let before = counters(control)?;
        let notes = note.map(str::to_owned).into_iter().chain(lacks(&before)).collect();
        let (flushes, client) = (flush_at_commit(workload) != Some(0), workload.place == Loop::Client);
        Ok((Self { look: Look { source, flushes, client }, before }, notes))
    }

    /// All counters, with the waits of latches, which need a separate statement and the right PROCESS.
    fn all(control: &mut MariadbConnection) -> Result<Counters, EngineError> {
        let mut all = counters(control)?;
        if let Ok(rows) = control.conn.query::<(String, String, String), _>("SHOW ENGINE INNODB MUTEX") {
            all.insert(LATCH_WAITS.to_owned(), latch_waits(&rows));
        }
        Ok(all)
    }
}

impl Observer<MariadbConnection> for MariadbObserver {
    fn begin(&mut self, control: &mut MariadbConnection) -> Result<(), EngineError> {
        self.before = Self::all(control)?;
        Ok(())
    }

    fn end(&mut self, control: &mut MariadbConnection) -> Result<Counters, EngineError> {
        Ok(increments(&self.before, &Self::all(control)?))
    }

    fn waits(
        &mut self,
        control: &mut MariadbConnection,
        sessions: &[i64],
    ) -> Result<Option<Vec<String>>, EngineError> {
        let Some(sql) = statement(self.look.source, sessions) else { return Ok(None) };
        let product = control.product();
        let rows: Vec<Row> = control
            .conn
            .query(&sql)
            .map_err(|cause| product.query("sample the waits of sessions", &cause))?;
        let seen = rows.iter().filter_map(seen).filter(|(id, ..)| sessions.contains(id));
        Ok(Some(seen.filter_map(|(_, command, wait)| name(self.look, &command, wait.as_deref())).collect()))
    }
}

/// The server's counters, without those of latches.
///
/// # Errors
/// An error of the server.
pub(crate) fn counters(control: &mut MariadbConnection) -> Result<Counters, EngineError> {
    let product = control.product();
    let status: Vec<(String, String)> = control
        .conn
        .query(
            "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb\\_%' OR Variable_name IN ('Table_locks_waited', \
             'Handler_commit')",
        )
        .map_err(|cause| product.query("read the server's counters", &cause))?;
    Ok(parse(&status))
}

fn parse(status: &[(String, String)]) -> Counters {
    let value = |variable: &str| {
        let (_, text) = status.iter().find(|(name, _)| name.eq_ignore_ascii_case(variable))?;
        text.parse().ok()
    };
    let counter = |(variable, counter): &(&str, &str)| Some(((*counter).to_owned(), value(variable)?));
    KNOWN.iter().filter_map(counter).collect()
}

/// A note about counters that this version lacks.
fn lacks(counters: &Counters) -> Option<String> {
    let is_absent = |(_, counter): &&(&str, &str)| !counters.contains_key(*counter);
    let absent: Vec<&str> = KNOWN.iter().filter(is_absent).map(|(name, _)| *name).collect();
    (!absent.is_empty()).then(|| format!("this server does not count: {}", absent.join(", ")))
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

/// The requested source if this server has it, else the states; with the note for it.
fn source(control: &mut MariadbConnection, wanted: Waits) -> (Waits, Option<&'static str>) {
    if wanted != Waits::Instruments {
        return (wanted, None);
    }
    let enabled: Option<u64> = control
        .conn
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

/// A row's connection, command, and state or event.
fn seen(row: &Row) -> Option<(i64, String, Option<String>)> {
    Some((row.get("Id")?, row.get("Command")?, row.get::<Option<String>, _>("State")?))
}

fn statement(source: Waits, sessions: &[i64]) -> Option<String> {
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
        // MySQL from 8.0 on has the third.
        "Commit" | "Commit_implicit" | "waiting for handler commit" => flushes,
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

    fn reading(pairs: &[(&str, &str)]) -> Counters {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        parse(&pairs)
    }

    #[test]
    fn counters_are_those_that_are_known_and_numbers() {
        let found =
            reading(&[("Innodb_log_writes", "5"), ("INNODB_data_fsyncs", "9"), ("Handler_commit", "x")]);
        assert_eq!((found["log_writes"], found["data_fsyncs"], found.len()), (5, 9, 2));
        let lacks = lacks(&found).unwrap();
        assert!(lacks.contains("Innodb_os_log_fsyncs") && !lacks.contains("Innodb_log_writes,"), "{lacks}");
    }

    #[test]
    fn latches_are_added_up() {
        let row = |status: &str| ("InnoDB".to_owned(), "x".to_owned(), status.to_owned());
        assert_eq!(latch_waits(&[row("waits=3"), row("os_waits=4"), row("OS waits 5"), row("spins=9")]), 12);
    }
}
