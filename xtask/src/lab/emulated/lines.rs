//! Lines of `threadwise watch --json` (docs/JSON.md), and the times of their looks.

use super::agreement::Look;
use serde_json::Value;
use std::time::Duration;

const SECONDS_OF_DAY: f64 = 86_400.0;

/// A parsed line.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// State of each logical CPU.
    pub states: Vec<String>,
    /// When the line was written by the guest's clock, seconds since midnight.
    written_s: f64,
}

/// Whether a line is one of a look.
pub fn is_look(line: &str) -> bool {
    read(line).is_some()
}

/// Reads a line; `None` if it is not one of a look, or incomplete.
pub fn read(line: &str) -> Option<Read> {
    let value: Value = serde_json::from_str(line).ok()?;
    let state = |cpu: &Value| cpu.get("state")?.as_str().map(str::to_owned);
    let states = value.get("cpus")?.as_array()?.iter().map(state).collect::<Option<Vec<String>>>()?;
    let written_s = seconds_of_day(value.get("utc")?.as_str()?)?;
    (!states.is_empty()).then_some(Read { states, written_s })
}

/// Looks of lines with the time of their arrival and the longest wait in the run queue (nanoseconds). The guest's
/// clock is aligned by the least time from writing to arriving.
pub fn dated(lines: Vec<(Duration, Read, u64)>) -> Vec<Look> {
    // Both clocks run on, and midnight may come between two lines.
    let ahead =
        |arrived: &Duration, read: &Read| (arrived.as_secs_f64() - read.written_s).rem_euclid(SECONDS_OF_DAY);
    let first = lines.first().map_or(0.0, |(arrived, read, _)| ahead(arrived, read));
    let from_first = |arrived: &Duration, read: &Read| {
        let half = SECONDS_OF_DAY / 2.0;
        (ahead(arrived, read) - first + half).rem_euclid(SECONDS_OF_DAY) - half
    };
    let least = lines.iter().map(|(arrived, read, _)| from_first(arrived, read)).fold(0.0, f64::min);
    let look = |(arrived, read, waited_ns): (Duration, Read, u64)| {
        let lag = Duration::from_secs_f64((from_first(&arrived, &read) - least).max(0.0));
        Look { arrived, lag, states: read.states, waited_ns }
    };
    lines.into_iter().map(look).collect()
}

/// `2026-11-23T20:25:05.533Z`.
fn seconds_of_day(utc: &str) -> Option<f64> {
    let (_, time) = utc.strip_suffix('Z')?.split_once('T')?;
    let mut parts = time.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(f64::from(3600 * hours + 60 * minutes) + seconds.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"cpus":[{"adds_per_step":3.289,"cpu":0,"state":"neighbour","with":null},{"adds_per_step":3.322,"cpu":1,"state":"alone","with":null}],"lines":[],"took_ns":506860,"utc":"2026-11-23T20:25:05.533Z","version":1}"#;

    #[test]
    fn a_line_of_watch_has_states_and_a_time() {
        let read = read(LINE).unwrap();
        assert_eq!(read.states, ["neighbour", "alone"]);
        assert!((read.written_s - 73_505.533).abs() < 1e-6);
    }

    #[test]
    fn other_lines_and_broken_ones_are_none() {
        for line in ["", "looking at 2 logical CPUs", "{}", &LINE[..200], r#"{"cpus":[],"utc":"T1:2:3Z"}"#] {
            assert!(!is_look(line), "{line}");
        }
    }

    #[test]
    fn lags_are_counted_from_the_quickest_line_also_past_midnight() {
        let line = |arrived_ms, written_s| {
            (Duration::from_millis(arrived_ms), Read { states: Vec::new(), written_s }, 0)
        };
        let looks = dated(vec![line(40, 86_399.990), line(72, 0.030), line(180, 0.070)]);
        let lags_ms: Vec<u128> = looks.iter().map(|look| (look.lag.as_micros() + 500) / 1000).collect();
        assert_eq!(lags_ms, [8, 0, 68]);
    }
}
