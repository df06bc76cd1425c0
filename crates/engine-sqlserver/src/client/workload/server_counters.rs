//! The server's statistics of spinlocks, waits and latches between two readings.
//!
//! Source: sys.dm_os_spinlock_stats, sys.dm_os_wait_stats and sys.dm_os_latch_stats, all of the whole server
//! since its start; each needs VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE). Waits of idle tasks
//! are left out by the pattern of their names ("sys.dm_os_wait_stats", types of waits).

use std::collections::BTreeMap;
use threadwise_study::Counters;

use crate::client::connect::{Connection, Fault};
use crate::client::error::{advice, code};
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
        sql: include_str!("../../sql/spinlocks.sql"),
        view: "sys.dm_os_spinlock_stats",
        prefix: "spinlock",
        columns: &["spins", "collisions", "backoffs"],
        most: 30,
    },
    View {
        sql: include_str!("../../sql/waits.sql"),
        view: "sys.dm_os_wait_stats",
        prefix: "server_wait",
        columns: &["wait_ms", "waits"],
        most: 30,
    },
    View {
        sql: include_str!("../../sql/latches.sql"),
        view: "sys.dm_os_latch_stats",
        prefix: "latch",
        columns: &["wait_ms", "waits"],
        most: 20,
    },
];

/// Views that the login may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Readable([bool; VIEWS.len()]);

/// One reading: counters of all names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading(BTreeMap<(usize, String), Vec<u64>>);

impl Readable {
    /// Tries each view once; a note for each that cannot be read.
    pub(super) fn find(control: &mut Connection) -> (Self, Vec<String>) {
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

impl Reading {
    /// Reads the views; one that has become unreadable is a gap.
    pub(super) fn take(control: &mut Connection, readable: Readable) -> Self {
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
    pub(super) fn since(&self, before: &Self) -> Counters {
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
