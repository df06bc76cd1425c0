//! Lines of `threadwise watch --json` (docs/JSON.md), and the times of their looks.

use super::agreement::Look;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

/// A parsed line.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// State of each logical CPU.
    pub states: Vec<String>,
    /// When the line was written by the guest's clock, seconds since 1970.
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
    let written = humantime::parse_rfc3339(value.get("utc")?.as_str()?).ok()?;
    let written_s = written.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    (!states.is_empty()).then_some(Read { states, written_s })
}

/// Looks of lines with the time of their arrival and the longest wait in the run queue (nanoseconds). The guest's
/// clock is aligned by the least time from writing to arriving.
pub fn dated(lines: Vec<(Duration, Read, u64)>) -> Vec<Look> {
    let ahead_s = |arrived: &Duration, read: &Read| arrived.as_secs_f64() - read.written_s;
    let least = lines.iter().map(|(arrived, read, _)| ahead_s(arrived, read)).fold(f64::INFINITY, f64::min);
    let look = |(arrived, read, waited_ns): (Duration, Read, u64)| {
        let lag = Duration::from_secs_f64(ahead_s(&arrived, &read) - least);
        Look { arrived, lag, states: read.states, waited_ns }
    };
    lines.into_iter().map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"cpus":[{"adds_per_step":3.289,"cpu":0,"state":"neighbour","with":null},{"adds_per_step":3.322,"cpu":1,"state":"alone","with":null}],"lines":[],"took_ns":506860,"utc":"2026-11-23T20:25:05.533Z","version":1}"#;

    #[test]
    fn a_line_of_watch_has_states_and_a_time() {
        let read = read(LINE).unwrap();
        assert_eq!(read.states, ["neighbour", "alone"]);
        assert!((read.written_s.rem_euclid(86_400.0) - 73_505.533).abs() < 1e-6);
    }

    #[test]
    fn other_lines_and_broken_ones_are_none() {
        for line in [
            "",
            "looking at 2 logical CPUs",
            "{}",
            &LINE[..200],
            r#"{"cpus":[],"utc":"2026-11-23T20:25:05Z"}"#,
        ] {
            assert!(!is_look(line), "{line}");
        }
    }

    #[test]
    fn lags_are_counted_from_the_quickest_line() {
        let line = |arrived_ms, written_s| {
            (Duration::from_millis(arrived_ms), Read { states: Vec::new(), written_s }, 0)
        };
        let looks = dated(vec![line(40, 86_399.990), line(72, 86_400.030), line(180, 86_400.070)]);
        let lags_ms: Vec<u128> = looks.iter().map(|look| (look.lag.as_micros() + 500) / 1000).collect();
        assert_eq!(lags_ms, [8, 0, 68]);
    }
}
