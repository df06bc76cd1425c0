//! What a session used, by the server's own counts of it and the kernel's of its process.
//!
//! Sources: Oracle Database Reference 19c, "V$SESS_TIME_MODEL" (DB CPU and DB time, microseconds, of calls that have ended;
//! up to 5 s of one that is under way may be missing), "V$MYSTAT", "V$STATNAME", "Statistics Descriptions" (session logical
//! reads is db block gets and consistent gets together).

use threadwise_engine::servers::Thread;
use threadwise_engine_sql::{Template, Usage, Value};

/// Statistics of a session: logical and physical reads, and others with their counters.
const STATISTICS: [&str; 4] = ["session logical reads", "physical reads", "redo size", "user commits"];

/// The session's times.
pub(crate) const SESSION_TIME: &str = include_str!("sql/session_time.sql");

pub(crate) fn text(row: &[Value], at: usize) -> Option<&str> {
    row.get(at).and_then(Value::text)
}

pub(crate) fn whole(row: &[Value], at: usize) -> Option<i64> {
    row.get(at).and_then(Value::whole)
}

/// How a connection reads its own usage, as far as its account may.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// Numbers of [`STATISTICS`] in this version; empty if they may not be read.
    numbers: Vec<i64>,
    pub has_time: bool,
}

impl Meter {
    /// Of the names and numbers of statistics.
    pub(crate) fn of(found: &[Vec<Value>]) -> Self {
        let number = |wanted: &&str| whole(found.iter().find(|row| text(row, 0) == Some(wanted))?, 1);
        let numbers: Option<Vec<i64>> = STATISTICS.iter().map(number).collect();
        Self { numbers: numbers.unwrap_or_default(), has_time: false }
    }

    /// Whether it reads statistics.
    pub(crate) fn counts(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The statement that reads them.
    pub(crate) fn sql(&self) -> String {
        let numbers = self.numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Template::default().with("numbers", numbers).fill(include_str!("sql/session_statistics.sql"))
    }

    /// A reading.
    pub(crate) fn usage(
        &self,
        statistics: &[Vec<Value>],
        times: &[Vec<Value>],
        backend: Option<Thread>,
    ) -> Usage {
        let count = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
        let statistic = |at: usize| {
            let number = self.numbers.get(at)?;
            count(whole(statistics.iter().find(|row| whole(row, 0) == Some(*number))?, 1))
        };
        let time_ns = |name: &str| {
            let row = times.iter().find(|row| text(row, 0) == Some(name))?;
            count(whole(row, 1)).map(|us| us * 1000)
        };
        let named = |name: &'static str, value: Option<u64>| value.map(|value| (name, value));
        Usage {
            cpu_ns: time_ns("DB CPU").unwrap_or(0),
            reads: statistic(0).zip(statistic(1)).map(|(all, missed)| [all, missed]),
            counted: [
                named("redo_bytes", statistic(2)),
                named("commits", statistic(3)),
                named("db_time_ns", time_ns("DB time")),
            ],
            ..Usage::of_thread(backend)
        }
    }
}
