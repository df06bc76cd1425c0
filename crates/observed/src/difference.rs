//! The difference of two snapshots: counters that belong together are subtracted, everything else is a gap or a lost
//! statement with its reason, never a number.
//!
//! Sources: PostgreSQL documentation, "pg_stat_statements" (eviction of the least executed, `dealloc`, `stats_reset`);
//! MySQL Reference Manual, "Statement Summary Tables" (the digest of NULL once the table is full); clock_gettime(2):
//! CLOCK_BOOTTIME counts suspends, CLOCK_MONOTONIC does not.

use crate::{Count, Gap, Interval, Lost, Snapshot, StatementCount, States};
use std::collections::HashMap;

/// A server's start that differs by less is the same: servers give it in whole seconds.
const SAME_START_S: f64 = 2.5;
/// The clock is not set but disciplined if it differs by less from one that never is: 0.5 s, and 0.1% of the length
/// (the kernel slews by at most 0.05%).
const STEP_MS: f64 = 500.0;
const STEP_SHARE: f64 = 1e-3;
/// A shorter suspend than this does not change a rate over a minute by much.
const SUSPEND_NS: u64 = 1_000_000_000;

/// A snapshot with the moment and the states in which it was taken.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Look {
    /// Milliseconds since 1970, by the observing machine's clock.
    pub unix_ms: i64,
    /// Nanoseconds by CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// Nanoseconds by CLOCK_BOOTTIME.
    pub boottime_ns: u64,
    /// Looks without an answer directly before this one.
    pub unanswered: u32,
    /// The states.
    pub states: States,
    /// The counters.
    pub snapshot: Snapshot,
}

/// What was executed between two looks, of the statements with the most time at most `most` by name. `host` and
/// `neighbours` are left out.
pub fn difference(before: &Look, after: &Look, most: usize) -> Interval {
    let mut interval = Interval {
        start_unix_ms: before.unix_ms,
        end_unix_ms: after.unix_ms,
        length_ns: after.boottime_ns.saturating_sub(before.boottime_ns),
        gap: gap(before, after),
        states: after.states.clone(),
        ..Interval::default()
    };
    if interval.gap == Some(Gap::StateChange) {
        interval.states = States::default();
    }
    if interval.gap.is_none() {
        (interval.counts, interval.lost) = counts(&before.snapshot, &after.snapshot);
        interval.rest = cut(&mut interval.counts, most);
    }
    interval
}

/// Why the counters of two looks do not belong together, if so.
fn gap(before: &Look, after: &Look) -> Option<Gap> {
    let (one, other) = (&before.snapshot, &after.snapshot);
    let is_restarted = match (one.started_unix_s, other.started_unix_s) {
        (Some(one), Some(other)) => (other - one).abs() > SAME_START_S,
        _ => false,
    };
    let boot_ns = after.boottime_ns.saturating_sub(before.boottime_ns);
    let awake_ns = after.monotonic_ns.saturating_sub(before.monotonic_ns);
    let boot_ms = boot_ns as f64 / 1e6;
    let is_set = ((after.unix_ms - before.unix_ms) as f64 - boot_ms).abs() > STEP_MS + STEP_SHARE * boot_ms;
    match () {
        () if is_restarted => Some(Gap::Restart),
        () if one.reset != other.reset => Some(Gap::Reset),
        () if is_all_backwards(one, other) => Some(Gap::Reset),
        () if after.unanswered > 0 => Some(Gap::Unreachable),
        () if boot_ns.saturating_sub(awake_ns) > SUSPEND_NS => Some(Gap::Suspended),
        () if is_set => Some(Gap::ClockStep),
        () if before.states != after.states => Some(Gap::StateChange),
        () if one.hidden > 0 && other.hidden == 0 => Some(Gap::RightsChange),
        () => None,
    }
}

/// Whether no statement is there any more as it was, which a server without a moment of its last reset shows in this
/// way only.
fn is_all_backwards(before: &Snapshot, after: &Snapshot) -> bool {
    let (counted, known) = (generations(&before.statements), generations(&after.statements));
    let goes_on =
        |(one, sum): (&Generation<'_>, &Sum)| known.get(one).is_some_and(|other| other.calls >= sum.calls);
    !counted.is_empty() && !counted.iter().any(goes_on)
}

/// A statement since a moment: what was dropped and counted again is another generation, as is another plan of it where
/// a server counts by plan.
type Generation<'a> = (&'a str, Option<&'a str>);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sum {
    calls: u64,
    time_ns: u64,
    rows: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.rows = self.rows.saturating_add(other.rows);
    }

    /// This less an earlier one; `None` if a counter ran backwards.
    fn less(self, before: Self) -> Option<Self> {
        Some(Self {
            calls: self.calls.checked_sub(before.calls)?,
            time_ns: self.time_ns.checked_sub(before.time_ns)?,
            rows: self.rows.checked_sub(before.rows)?,
        })
    }
}

fn generations(statements: &[StatementCount]) -> HashMap<Generation<'_>, Sum> {
    let mut sums: HashMap<Generation<'_>, Sum> = HashMap::with_capacity(statements.len());
    for StatementCount { key, calls, time_ns, rows, since } in statements {
        let sum = sums.entry((key, since.as_deref())).or_default();
        sum.add(Sum { calls: *calls, time_ns: *time_ns, rows: *rows });
    }
    sums
}

fn counts(before: &Snapshot, after: &Snapshot) -> (Vec<Count>, Lost) {
    let (counted, now) = (generations(&before.statements), generations(&after.statements));
    let mut lost = Lost::default();
    let mut found: HashMap<&str, Sum> = HashMap::new();
    for (generation, after) in &now {
        // A generation that is new was counted since the last look: all of it belongs to this interval.
        let base = counted.get(generation).copied().unwrap_or_default();
        match after.less(base) {
            Some(difference) => found.entry(generation.0).or_default().add(difference),
            None => lost.restarted += 1,
        }
    }
    lost.evicted = counted.keys().filter(|generation| !now.contains_key(*generation)).count() as u64;
    let count = |(key, sum): (&str, Sum)| Count {
        statement: key.to_owned(),
        calls: sum.calls,
        time_ns: sum.time_ns,
        rows: sum.rows,
    };
    (found.into_iter().filter(|(_, sum)| sum.calls > 0).map(count).collect(), lost)
}

/// Sorts counts by time, and sums those beyond the first; the sum's statement is their number.
fn cut(counts: &mut Vec<Count>, most: usize) -> Count<u64> {
    counts.sort_by(|one, other| {
        other.time_ns.cmp(&one.time_ns).then_with(|| one.statement.cmp(&other.statement))
    });
    let beyond = counts.split_off(most.min(counts.len()));
    let mut rest = Count { statement: beyond.len() as u64, ..Count::default() };
    for count in &beyond {
        rest.calls = rest.calls.saturating_add(count.calls);
        rest.time_ns = rest.time_ns.saturating_add(count.time_ns);
        rest.rows = rest.rows.saturating_add(count.rows);
    }
    rest
}
