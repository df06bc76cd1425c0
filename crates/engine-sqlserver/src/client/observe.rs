//! What the server counts, and what its sessions wait for.
//!
//! Source: sys.dm_os_spinlock_stats, sys.dm_os_wait_stats and sys.dm_os_latch_stats, all of the whole server
//! since its start; each needs VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE). Waits of idle tasks
//! are left out by the pattern of their names ("sys.dm_os_wait_stats", types of waits). sys.dm_exec_requests.wait_type
//! is the current wait of a request; NULL is work. A login without that right sees its own request alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use threadwise_engine::EngineError;
use threadwise_engine_sql::Observer;
use threadwise_study::Counters;

use crate::client::connect::{Connection, Fault};
use crate::client::error::{advice, code, query};
use crate::client::statements::{text, whole};

/// A view, the prefix of its counters, and its numeric columns after the name.
struct View {
    sql: &'static str,
    view: &'static str,
    prefix: &'static str,
    columns: &'static [&'static str],
    /// Names kept for one slice: those with the largest first number.
    most: usize,
}

/// Together fewer than the 256 counters that a message may have.
const VIEWS: [View; 3] = [
    View {
        sql: include_str!("../sql/spinlocks.sql"),
        view: "sys.dm_os_spinlock_stats",
        prefix: "spinlock",
        columns: &["spins", "collisions", "backoffs"],
        most: 30,
    },
    View {
        sql: include_str!("../sql/waits.sql"),
        view: "sys.dm_os_wait_stats",
        prefix: "server_wait",
        columns: &["wait_ms", "waits"],
        most: 30,
    },
    View {
        sql: include_str!("../sql/latches.sql"),
        view: "sys.dm_os_latch_stats",
        prefix: "latch",
        columns: &["wait_ms", "waits"],
        most: 20,
    },
];

/// Views that the login may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Readable([bool; VIEWS.len()]);

/// One reading: counters of all names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Reading(BTreeMap<(usize, String), Vec<u64>>);

impl Readable {
    /// Tries each view once; a note for each that cannot be read.
    fn find(control: &mut Connection) -> (Self, Vec<String>) {
        let mut notes = Vec::new();
        let readable = VIEWS.map(|view| match control.rows(view.sql) {
            Ok(_) => true,
            Err(cause) => {
                notes.push(format!("{} is not read: {}", view.view, why_not(&cause)));
                false
            }
        });
        (Self(readable), notes)
    }
}

/// Why a view of the server's state cannot be read.
pub(crate) fn why_not(cause: &Fault) -> String {
    match code(cause) {
        Some(229 | 297 | 300 | 371) => {
            "the login lacks VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE)".to_owned()
        }
        Some(_) => "the server has no such view".to_owned(),
        None => advice(cause),
    }
}

/// What reads counters and waits of a treatment.
pub(crate) struct SqlserverObserver {
    /// Whether a session without a request waits for its client.
    client: bool,
    /// Whether requests of other sessions are visible.
    looks: bool,
    readable: Readable,
    before: Reading,
}

impl SqlserverObserver {
    /// Finds out what the login may read; a note for what it may not.
    pub(crate) fn start(control: &mut Connection, client: bool) -> (Self, Vec<String>) {
        let (readable, mut notes) = Readable::find(control);
        let looks = may_look(control);
        let is_looked_at = looks.is_ok();
        notes.extend(looks.err());
        (Self { client, looks: is_looked_at, readable, before: Reading::default() }, notes)
    }
}

impl Observer<Connection> for SqlserverObserver {
    fn begin(&mut self, control: &mut Connection) -> Result<(), EngineError> {
        self.before = Reading::take(control, self.readable);
        Ok(())
    }

    fn end(&mut self, control: &mut Connection) -> Result<Counters, EngineError> {
        Ok(Reading::take(control, self.readable).since(&self.before))
    }

    fn waits(
        &mut self,
        control: &mut Connection,
        sessions: &[i64],
    ) -> Result<Option<Vec<String>>, EngineError> {
        if !self.looks {
            return Ok(None);
        }
        let rows = control.rows(&statement(sessions));
        let rows = rows.map_err(|cause| query("sample the waits of sessions", &cause))?;
        let name = |row| {
            let wait = text(row, 1).map(|wait| wait.trim().to_owned()).filter(|wait| !wait.is_empty());
            wait.unwrap_or_else(|| "running".to_owned())
        };
        let idle = if self.client { sessions.len().saturating_sub(rows.len()) } else { 0 };
        Ok(Some(rows.iter().map(name).chain((0..idle).map(|_| "client".to_owned())).collect()))
    }
}

impl Reading {
    /// Reads the views; one that has become unreadable is a gap.
    fn take(control: &mut Connection, readable: Readable) -> Self {
        let mut all = BTreeMap::new();
        for (at, view) in VIEWS.iter().enumerate().filter(|(at, _)| readable.0[*at]) {
            for row in control.rows(view.sql).unwrap_or_default() {
                let number = |at: usize| whole(&row, at + 1).and_then(|number| u64::try_from(number).ok());
                let numbers: Option<Vec<u64>> = (0..view.columns.len()).map(number).collect();
                if let Some((name, numbers)) = text(&row, 0).zip(numbers) {
                    all.insert((at, name.trim().to_owned()), numbers);
                }
            }
        }
        Self(all)
    }

    /// Increments since another reading: `spinlock/NAME/spins`, `server_wait/NAME/wait_ms`, `latch/NAME/waits`;
    /// of each view the names that grew most.
    fn since(&self, before: &Self) -> Counters {
        let mut counters = Counters::new();
        for (at, view) in VIEWS.iter().enumerate() {
            let mut grown: Vec<(&str, Vec<u64>)> = self
                .0
                .iter()
                .filter(|((of_view, _), _)| *of_view == at)
                .map(|((_, name), now)| {
                    let then = before.0.get(&(at, name.clone()));
                    let since = |(place, now): (usize, &u64)| {
                        now.saturating_sub(then.map_or(0, |then| then.get(place).copied().unwrap_or(0)))
                    };
                    (name.as_str(), now.iter().enumerate().map(since).collect::<Vec<u64>>())
                })
                .filter(|(_, added)| added.iter().any(|added| *added > 0))
                .collect();
            grown.sort_by(|(_, one), (_, other)| other.cmp(one));
            for (name, added) in grown.into_iter().take(view.most) {
                for (column, added) in view.columns.iter().zip(added) {
                    counters.insert(format!("{}/{name}/{column}", view.prefix), added);
                }
            }
        }
        counters
    }
}

/// Whether requests of other sessions are visible; otherwise the reason.
pub(crate) fn may_look(control: &mut Connection) -> Result<(), String> {
    let lacks = "waits of sessions are not sampled: the login lacks VIEW SERVER STATE (from 2022 on VIEW SERVER \
                 PERFORMANCE STATE)";
    let cannot = |cause: Fault| format!("waits of sessions are not sampled: {}", why_not(&cause));
    let rows = control.rows(include_str!("../sql/may_look.sql")).map_err(cannot)?;
    match rows.first().and_then(|row| whole(row, 0)) {
        Some(1) => control.rows(&statement(&[0])).map(drop).map_err(cannot),
        _ => Err(lacks.to_owned()),
    }
}

fn statement(sessions: &[i64]) -> String {
    let mut sql =
        "SELECT CAST(session_id AS int), CAST(wait_type AS nvarchar(60)) FROM sys.dm_exec_requests WHERE \
                   session_id IN ("
            .to_owned();
    for (place, id) in sessions.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(sql, "{}{id}", if place == 0 { "" } else { ", " });
    }
    sql + ")"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_view_and_only_the_largest_are_kept() {
        let reading = |spins: u64, many: u64| {
            let mut all = BTreeMap::from([((0, "LOGCACHE_ACCESS".to_owned()), vec![spins, 3, 1])]);
            all.extend((0..100).map(|lock| ((0, format!("LOCK_{lock}")), vec![many, 0, 0])));
            all.insert((1, "WRITELOG".to_owned()), vec![50 + spins, 7]);
            all.insert((2, "BUFFER".to_owned()), vec![9, 9]);
            Reading(all)
        };
        let since = reading(1000, 5).since(&reading(400, 4));
        assert_eq!(since["spinlock/LOGCACHE_ACCESS/spins"], 600);
        assert_eq!(since["spinlock/LOGCACHE_ACCESS/backoffs"], 0);
        assert_eq!((since["server_wait/WRITELOG/wait_ms"], since["server_wait/WRITELOG/waits"]), (600, 0));
        assert!(!since.keys().any(|name| name.starts_with("latch/")), "it did not grow");
        assert_eq!(since.keys().filter(|name| name.ends_with("/spins")).count(), 30);
        let most: usize = VIEWS.iter().map(|view| view.most * view.columns.len()).sum();
        assert!(most < 200, "{most}");
        let new = reading(5, 1).since(&Reading::default());
        assert_eq!(new["spinlock/LOGCACHE_ACCESS/collisions"], 3);
    }
}
