//! The engine's own statistics of each session between two readings.
//!
//! Source: MON$IO_STATS (Firebird's doc/README.monitoring_tables): page fetches are accesses of the page
//! cache, page reads are those that went to the file. A transaction sees the numbers of its first look,
//! and each look asks the programs of all sessions for theirs, so it is only done while they are parked.

use std::collections::BTreeMap;
use threadwise_engine::EngineError;

use crate::error::failed;
use crate::isql::{Isql, number_of};

const SQL: &str = "select a.mon$server_pid, s.mon$page_fetches, s.mon$page_reads, s.mon$page_writes, \
                   s.mon$page_marks from mon$attachments a join mon$io_stats s on s.mon$stat_id = a.mon$stat_id \
                   where a.mon$system_flag = 0";

/// Accesses of pages of one session since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pages {
    /// Found in the cache or read.
    pub fetches: u64,
    /// Read from the file.
    pub reads: u64,
    /// Written to the file.
    pub writes: u64,
    /// Changed in the cache.
    pub marks: u64,
}

impl Pages {
    /// What was added since another reading.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            fetches: self.fetches.saturating_sub(before.fetches),
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            marks: self.marks.saturating_sub(before.marks),
        }
    }
}

/// The statistics of all sessions of the database, by the process of each.
///
/// # Errors
/// The engine's.
pub(super) fn read(session: &mut Isql) -> Result<BTreeMap<u32, Pages>, EngineError> {
    let action = "read the counters of the sessions";
    let pages = |row| {
        let number = |column| number_of(row, column).and_then(|number| u64::try_from(number).ok());
        let pages = Pages {
            fetches: number("MON$PAGE_FETCHES")?,
            reads: number("MON$PAGE_READS")?,
            writes: number("MON$PAGE_WRITES")?,
            marks: number("MON$PAGE_MARKS")?,
        };
        Some((u32::try_from(number("MON$SERVER_PID")?).ok()?, pages))
    };
    let rows = session.rows(action, SQL)?;
    rows.iter().map(|row| pages(row).ok_or_else(|| failed(action, "a number is missing"))).collect()
}

/// The statistics of one session, which asks itself.
///
/// # Errors
/// The engine's.
pub(super) fn of(session: &mut Isql) -> Result<Pages, EngineError> {
    let pid = session.pid();
    let all = read(session)?;
    all.get(&pid).copied().ok_or_else(|| failed("read the counters of a session", "it does not find itself"))
}
