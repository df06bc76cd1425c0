//! One look of `threadwise watch --json`, a line each.

use super::form::VERSION;
use serde::Serialize;
use serde_json::json;
use threadwise_machine::text::escaped_json;

/// A logical CPU in a look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchedCpu {
    /// OS number.
    pub cpu: u32,
    /// `alone`, `one-core`, `co-runner`, `slowed`, `away`, `unknown` (docs/JSON.md).
    pub state: &'static str,
    /// The watched logical CPU that it shares its core with.
    pub with: Option<u32>,
    /// Adds of the wide kernel per step of the latency-limited one.
    pub adds_per_step: Option<f64>,
}

/// A line that two logical CPUs passed in a look.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchedLine {
    /// OS number.
    pub a: u32,
    /// OS number.
    pub b: u32,
    /// One move; `None` where it did not get to and fro in time.
    pub line_ns: Option<f64>,
}

/// A look, as one line without its end.
pub fn watched(utc: &str, took_ns: u64, cpus: &[WatchedCpu], lines: &[WatchedLine]) -> String {
    let look = json!({"version": VERSION, "utc": utc, "took_ns": took_ns, "cpus": cpus, "lines": lines});
    escaped_json(&look.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_one_line_that_json_readers_take() {
        let cpus = [WatchedCpu { cpu: 0, state: "one-core", with: Some(1), adds_per_step: Some(2.4) }];
        let lines = [WatchedLine { a: 0, b: 1, line_ns: None }];
        let text = watched("2026-01-01T00:00:00Z", 20_000, &cpus, &lines);
        assert!(!text.contains('\n'));
        let look: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&look["version"], &look["took_ns"]), (&json!(1), &json!(20_000)));
        assert_eq!(look["cpus"][0]["with"], json!(1));
        assert_eq!(look["lines"][0]["line_ns"], json!(null));
    }
}
