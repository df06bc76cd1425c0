//! What is compared with what, from intervals without their counts.

use super::episodes::{BUSY, By, Episode, episodes, values};
use super::strata::{Strata, overlap_of_hours};
use std::time::{Duration, UNIX_EPOCH};
use threadwise_document::numbers;
use threadwise_observed::Interval;

/// Fewest triples of episodes; with fewer, days are compared.
pub(super) const MIN_TRIPLES: usize = 3;
/// Units of time of states that do not take turns, the longest first, in milliseconds.
const UNITS: [(i64, &str); 3] = [(86_400_000, "day"), (3_600_000, "hour"), (600_000, "10 minutes")];
/// Least lag-1 correlation of hours.
const HOURS_CORRELATION: f64 = 0.8;
/// Fewest units of the longer side.
const MIN_UNITS: usize = 3;
/// A unit of which less than this share was observed is left out.
const MIN_SHARE: f64 = 0.02;
/// Observations that span less have no hours of the day that could matter.
const MIN_SPAN_MS: i64 = 20 * 3_600_000;
/// With less of their time in the same hours, states cannot be separated from the hours.
const MIN_OVERLAP: f64 = 0.5;

/// What the user asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// By what.
    pub by: By,
    /// The two values, of which the second is compared with the first; `None` for the two that are there.
    pub between: Option<[String; 2]>,
    /// Difference that is too small to matter, as a fraction.
    pub margin: f64,
    /// 1 less the level of the intervals.
    pub alpha: f64,
    /// Most statements that are compared, those with the most time.
    pub most: usize,
}

/// What the units of a comparison are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// States take turns: triples of episodes.
    Turns,
    /// They do not: units of time before and after.
    Units(&'static str),
}

impl Design {
    /// Correlation that neighbouring units have at least: hours of a day resemble each other, and a few of them are too
    /// few to measure by how much. Chosen such that the false findings of simulated histories whose hours have a
    /// correlation of 0.7 stay below 5% (docs/METHODOLOGY.md, "Statements in production").
    pub(super) fn least_correlation(self) -> f64 {
        match self {
            Self::Turns | Self::Units("day") => 0.0,
            Self::Units("hour") => HOURS_CORRELATION,
            // Six of them are an hour.
            Self::Units(_) => HOURS_CORRELATION.powf(1.0 / 6.0),
        }
    }
}

/// What is compared with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The question.
    pub question: Question,
    /// The two values.
    pub sides: [String; 2],
    /// What units are.
    pub design: Design,
    /// Units in order: episodes, or parts of them.
    pub units: Vec<Episode>,
    /// Changes of state.
    pub changes: usize,
    /// Whether the states were at other hours of the day.
    pub has_other_hours: bool,
    /// The unit and the stratum of each interval, if it takes part.
    pub(super) places: Vec<Option<(u32, u32)>>,
    /// Whether intervals have strata of load, and of hours.
    pub(super) strata: Strata,
}

/// Plans a comparison of intervals. `calls` are those of the whole server in each.
///
/// # Errors
/// Why they cannot be compared, in one line with what to do.
pub fn plan(question: Question, intervals: &[Interval<u32>], calls: &[u64]) -> Result<Plan, String> {
    let sides = sides(&question, intervals)?;
    let episodes = episodes(question.by, &sides, intervals);
    let changes = episodes.len().saturating_sub(1);
    let is_turns = episodes.len() >= 3 * MIN_TRIPLES;
    let (design, units) = match is_turns {
        true => (Design::Turns, episodes.clone()),
        false => in_units(&question, &episodes, intervals)?,
    };
    let strata = Strata::of(intervals, calls, &units, design == Design::Units("day"));
    let mut places = vec![None; intervals.len()];
    for (number, unit) in units.iter().enumerate() {
        for at in &unit.intervals {
            places[*at] = Some((number as u32, strata.at(&intervals[*at], calls[*at])));
        }
    }
    let first = units.first().and_then(|unit| unit.intervals.first()).map(|at| intervals[*at].start_unix_ms);
    let last = units.last().and_then(|unit| unit.intervals.last()).map(|at| intervals[*at].end_unix_ms);
    let spans_days = first.zip(last).is_some_and(|(first, last)| last - first >= MIN_SPAN_MS);
    let has_other_hours = spans_days && overlap_of_hours(intervals, &units) < MIN_OVERLAP;
    Ok(Plan { question, sides, design, units, changes, has_other_hours, places, strata })
}

/// The two values that are compared.
fn sides(question: &Question, intervals: &[Interval<u32>]) -> Result<[String; 2], String> {
    if intervals.iter().all(|interval| interval.gap.is_some()) {
        return Err("it has no interval with figures yet: let `threadwise observe` run longer".to_owned());
    }
    let by = question.by;
    let found = values(by, intervals);
    let list = || {
        let one = |(value, time_ns): &(String, u64)| {
            format!("{value} ({})", numbers::seconds(*time_ns as f64 / 1e9))
        };
        found.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if let Some(sides) = &question.between {
        let absent = sides.iter().find(|side| found.iter().all(|(value, _)| value != *side));
        return match absent {
            Some(side) if found.is_empty() => Err(format!("it has no {} at all, so not {side}", by.words())),
            Some(side) => Err(format!("it has no interval in {} {side}, but in {}", by.words(), list())),
            None if sides[0] == sides[1] => Err("--between needs two different states".to_owned()),
            None => Ok(sides.clone()),
        };
    }
    match (by, found.as_slice()) {
        (By::Moment(_), [(one, _), (other, _)]) => Ok([one.clone(), other.clone()]),
        (By::Moment(at), _) => Err(format!(
            "it has intervals on one side of the moment only: it begins {} and ends {}, and the moment is {}",
            utc(intervals.first().map_or(0, |one| one.start_unix_ms)),
            utc(intervals.last().map_or(0, |one| one.end_unix_ms)),
            utc(at)
        )),
        // The second is compared with the first: on with off.
        (By::Smt, [(one, _), (other, _)]) if one == "on" => Ok([other.clone(), one.clone()]),
        (By::Neighbours, [(one, _), (other, _)]) if one == BUSY => Ok([other.clone(), one.clone()]),
        (By::Neighbours, []) => Err(
            "its neighbours are unknown in all intervals, or between quiet and busy: look for them by observe --neighbours"
                .to_owned(),
        ),
        (By::Neighbours, [_]) => {
            Err(format!("its neighbours are {} only: nothing to compare it with; observe longer", list()))
        }
        (_, [(one, _), (other, _)]) => Ok([one.clone(), other.clone()]),
        (By::State, []) => {
            Err("its state is unknown in all intervals: name it with observe --state NAME".to_owned())
        }
        (_, []) => Err(format!(
            "its {} is unknown in all intervals: observe on the server's machine, or name states with observe --state \
             NAME and compare --by state",
            by.words()
        )),
        (_, [_]) => Err(format!(
            "it has one {} only, {}: nothing to compare it with; --since TIME compares before and after a moment",
            by.words(),
            list()
        )),
        _ => Err(format!("it has more than two: {}; name two with --between FIRST SECOND", list())),
    }
}

/// A moment in UTC (RFC 3339).
pub(super) fn utc(unix_ms: i64) -> String {
    // A later year has five digits, which the form does not have.
    const LAST_MS: u64 = 253_402_300_799_000;
    let since = Duration::from_millis(u64::try_from(unix_ms).unwrap_or_default().min(LAST_MS));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Episodes cut into units of time, of the longest unit of which there are enough.
fn in_units(
    question: &Question,
    episodes: &[Episode],
    intervals: &[Interval<u32>],
) -> Result<(Design, Vec<Episode>), String> {
    for (length_ms, name) in UNITS {
        let units: Vec<Episode> =
            episodes.iter().flat_map(|episode| cut(question.by, episode, intervals, length_ms)).collect();
        let count = |side| units.iter().filter(|unit| unit.side == side).count();
        let (first, second) = (count(0), count(1));
        // Units of the first state are compared with its others.
        if first.max(second) >= MIN_UNITS && first >= 2 && second >= 1 {
            return Ok((Design::Units(name), units));
        }
    }
    let needed = "20 minutes in the first state, 30 minutes in one of the two, or 8 changes of state";
    Err(format!("it is too short to compare: it needs {needed}"))
}

/// An episode cut into units of time, counted from its start, or from the moment in both directions.
fn cut(by: By, episode: &Episode, intervals: &[Interval<u32>], length_ms: i64) -> Vec<Episode> {
    let Some(first) = episode.intervals.first() else { return Vec::new() };
    let origin = if let By::Moment(at) = by { at } else { intervals[*first].start_unix_ms };
    let mut units: Vec<(i64, Episode)> = Vec::new();
    for at in &episode.intervals {
        let middle = i64::midpoint(intervals[*at].start_unix_ms, intervals[*at].end_unix_ms);
        let number = (middle - origin).div_euclid(length_ms);
        match units.last_mut() {
            Some((last, unit)) if *last == number => unit.intervals.push(*at),
            _ => units.push((number, Episode { side: episode.side, intervals: vec![*at] })),
        }
    }
    let least_ns = (length_ms as f64 * 1e6 * MIN_SHARE) as u64;
    units.into_iter().map(|(_, unit)| unit).filter(|unit| unit.length_ns(intervals) >= least_ns).collect()
}
