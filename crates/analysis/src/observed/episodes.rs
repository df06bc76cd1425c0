//! Episodes: runs of intervals in one state.

use std::collections::BTreeMap;
use threadwise_observed::{Interval, Neighbours, States};

/// Words of intervals without and with neighbours.
const QUIET: &str = "quiet";
pub(super) const BUSY: &str = "busy";
/// An interval is quiet if less than this share of its looks shows a neighbour.
const QUIET_BELOW: f64 = 0.05;
/// It is busy if more than this share does. The gap keeps chance from moving an interval from one class into the other:
/// with 40 looks the standard error of a share of 0.1 is 0.05.
const BUSY_ABOVE: f64 = 0.2;
/// With fewer looks an interval is in neither class.
const LEAST_LOOKS: u64 = 10;

/// What intervals are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The user's word.
    State,
    /// SMT of the server's machine.
    Smt,
    /// Governor and turbo of it.
    Clock,
    /// Its online logical CPUs.
    Cpus,
    /// The server's version.
    Version,
    /// Whether neighbours were there on it: `quiet`, `busy`.
    Neighbours,
    /// Before and after a moment, in milliseconds since 1970.
    Moment(i64),
}

impl By {
    /// Its name in a text, before a value of it.
    pub fn words(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Smt => "SMT",
            Self::Clock => "clock",
            Self::Cpus => "online CPUs",
            Self::Version => "version",
            Self::Neighbours => "neighbours",
            Self::Moment(_) => "",
        }
    }

    /// The value of an interval; `None` if it is unknown. One across the moment is on neither side.
    pub fn value<K>(self, interval: &Interval<K>) -> Option<String> {
        let States { state, smt, clock, cpus, version } = &interval.states;
        match self {
            Self::State => state.clone(),
            Self::Smt => smt.clone(),
            Self::Clock => clock.clone(),
            Self::Cpus => cpus.map(|cpus| cpus.to_string()),
            Self::Version => version.clone(),
            Self::Neighbours => class(interval.neighbours?).map(str::to_owned),
            Self::Moment(at) if interval.end_unix_ms <= at => Some("before".to_owned()),
            Self::Moment(at) if interval.start_unix_ms >= at => Some("after".to_owned()),
            Self::Moment(_) => None,
        }
    }
}

/// Quiet or busy; `None` in between, and with few looks.
fn class(neighbours: Neighbours) -> Option<&'static str> {
    match neighbours.share()? {
        _ if neighbours.looks() < LEAST_LOOKS => None,
        share if share < QUIET_BELOW => Some(QUIET),
        share if share > BUSY_ABOVE => Some(BUSY),
        _ => None,
    }
}

/// A run of intervals in one of the two states that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// 0 for the first state, 1 for the second.
    pub side: usize,
    /// Indexes of its intervals, ascending.
    pub intervals: Vec<usize>,
}

/// Values with the time in them, in nanoseconds, in the order of their first interval.
pub(super) fn values(by: By, intervals: &[Interval<u32>]) -> Vec<(String, u64)> {
    let mut order: Vec<String> = Vec::new();
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for interval in intervals.iter().filter(|interval| interval.gap.is_none()) {
        let Some(value) = by.value(interval) else { continue };
        if !times.contains_key(&value) {
            order.push(value.clone());
        }
        let time = times.entry(value).or_default();
        *time = time.saturating_add(interval.length_ns);
    }
    order.into_iter().map(|value| (value.clone(), times.get(&value).copied().unwrap_or_default())).collect()
}

/// Episodes of two states in order. Intervals in other states, unknown ones and gaps are in none, and do not end one.
pub(super) fn episodes(by: By, sides: &[String; 2], intervals: &[Interval<u32>]) -> Vec<Episode> {
    let mut found: Vec<Episode> = Vec::new();
    for (at, interval) in intervals.iter().enumerate().filter(|(_, interval)| interval.gap.is_none()) {
        let Some(value) = by.value(interval) else { continue };
        let Some(side) = sides.iter().position(|side| *side == value) else { continue };
        match found.last_mut() {
            Some(last) if last.side == side => last.intervals.push(at),
            _ => found.push(Episode { side, intervals: vec![at] }),
        }
    }
    found
}

impl Episode {
    /// Its length in nanoseconds, of its intervals alone.
    pub fn length_ns(&self, intervals: &[Interval<u32>]) -> u64 {
        let lengths =
            self.intervals.iter().filter_map(|at| intervals.get(*at)).map(|interval| interval.length_ns);
        lengths.fold(0, u64::saturating_add)
    }
}
