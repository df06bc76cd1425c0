//! What was executed between two looks, or why that is not known.

use crate::Neighbours;

/// What one statement did in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Count<K = String> {
    /// Which statement.
    pub statement: K,
    /// Completed executions, at least 1.
    pub calls: u64,
    /// Execution time of all of them, in nanoseconds.
    pub time_ns: u64,
    /// Rows returned or changed.
    pub rows: u64,
}

/// Statements whose counters cannot be compared in an interval, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Their statistics were dropped by the server, with what they counted since the last look.
    pub evicted: u64,
    /// Their counters ran backwards: dropped and counted again, or reset alone.
    pub restarted: u64,
}

/// Why nothing is known of the time between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// The server was restarted.
    Restart,
    /// The statistics were reset.
    Reset,
    /// The clock of the observing machine was set.
    ClockStep,
    /// The observing machine was suspended.
    Suspended,
    /// The server did not answer for a while.
    Unreachable,
    /// The state changed in between.
    StateChange,
    /// The login may see statements that were hidden from it before, with all that they counted.
    RightsChange,
}

impl Gap {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Restart,
        Self::Reset,
        Self::ClockStep,
        Self::Suspended,
        Self::Unreachable,
        Self::StateChange,
        Self::RightsChange,
    ];

    /// Its word in files and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Reset => "reset",
            Self::ClockStep => "clock-step",
            Self::Suspended => "suspended",
            Self::Unreachable => "unreachable",
            Self::StateChange => "state-change",
            Self::RightsChange => "rights-change",
        }
    }

    /// The gap of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gap| gap.word() == word)
    }

    /// What happened, for a message.
    pub fn words(self) -> &'static str {
        match self {
            Self::Restart => "the server was restarted",
            Self::Reset => "the server's statistics were reset",
            Self::ClockStep => "this machine's clock was set",
            Self::Suspended => "this machine was suspended",
            Self::Unreachable => "the server did not answer",
            Self::StateChange => "the state changed",
            Self::RightsChange => "statements of other users became visible",
        }
    }
}

/// What an interval may be compared by. `None` is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct States {
    /// The word that the user gave.
    pub state: Option<String>,
    /// SMT of the server's machine: `on`, `off`, or the kernel's word.
    pub smt: Option<String>,
    /// Governor and turbo of the server's machine: `performance, turbo on`.
    pub clock: Option<String>,
    /// Online logical CPUs of the server's machine.
    pub cpus: Option<u32>,
    /// The server's version.
    pub version: Option<String>,
}

/// The server's machine in an interval; shares are of 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Host {
    /// Busy share of the logical CPUs.
    pub busy_share: f64,
    /// Lower bound of the used share of the capacity.
    pub used_low_share: f64,
    /// Its upper bound.
    pub used_high_share: f64,
    /// Share of the logical CPUs' time that a hypervisor gave to others.
    pub stolen_share: f64,
    /// Clock of busy time in MHz, if it is counted.
    pub busy_mhz: Option<f64>,
}

/// The time between two looks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interval<K = String> {
    /// Its start, in milliseconds since 1970 by the observing machine's clock.
    pub start_unix_ms: i64,
    /// Its end, likewise.
    pub end_unix_ms: i64,
    /// Its length in nanoseconds, by a clock that is never set.
    pub length_ns: u64,
    /// Why nothing is known of it, if so; then it has no counts.
    pub gap: Option<Gap>,
    /// Its states.
    pub states: States,
    /// The server's machine, if it is the observing one.
    pub host: Option<Host>,
    /// Neighbours on that machine, if they are looked for.
    pub neighbours: Option<Neighbours>,
    /// What statements did, the one with the most time first.
    pub counts: Vec<Count<K>>,
    /// The sum of those beyond the most that are kept.
    pub rest: Count<u64>,
    /// Statements whose counters cannot be compared.
    pub lost: Lost,
}

impl<K> Interval<K> {
    /// Calls of all statements, including the rest.
    pub fn calls(&self) -> u64 {
        self.counts.iter().fold(self.rest.calls, |sum, count| sum.saturating_add(count.calls))
    }

    /// Execution time of all statements in nanoseconds, including the rest.
    pub fn time_ns(&self) -> u64 {
        self.counts.iter().fold(self.rest.time_ns, |sum, count| sum.saturating_add(count.time_ns))
    }
}
