//! Rows as metrics for Prometheus and the textfile collector of node_exporter.
//!
//! Source: Prometheus, "Text-based format" (version 0.0.4) and "Metric and label naming": base units are seconds and
//! ratios, counters end in `_total`; OpenMetrics 1.0.0.

use crate::layout::Scope;
use crate::rows::{Bounds, Row};
use crate::smt_yield::SmtYield;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Content type for the header of an HTTP answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Content type of [`openmetrics`].
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// First line of a file of metrics, by which the program recognises its own. Readers ignore it.
pub const MARK: &str = "# threadwise headroom";

/// A window beside its rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Its end, in seconds since 1970 (UTC).
    pub end_unix_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// The yield for the capacity.
    pub smt_yield: SmtYield,
    /// Clock now over that with all busy; 1 if unknown.
    pub clock_ratio: f64,
}

/// Sums over all windows since the start, for counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    windows: u64,
    busy_s: BTreeMap<Scope, f64>,
    core_s: BTreeMap<Scope, Bounds>,
}

impl Totals {
    /// Adds a window of `length_s` seconds.
    pub fn add(&mut self, rows: &[Row], length_s: f64) {
        self.windows += 1;
        for row in rows {
            *self.busy_s.entry(row.scope).or_default() +=
                row.busy_share * f64::from(row.logical_cpus) * length_s;
            let core_s = self.core_s.entry(row.scope).or_default();
            core_s.low += row.core_seconds.low;
            core_s.high += row.core_seconds.high;
        }
    }
}

/// The last window and the sums, as text.
pub fn exposition(window: &Window, rows: &[Row], totals: &Totals) -> String {
    let mut text = format!("{MARK}: replaced after every window\n");
    of_rows(&mut text, rows);
    of_window(&mut text, window);
    let busy: Vec<_> = totals.busy_s.iter().map(|(&scope, &value)| (labels(scope, None), value)).collect();
    let cores: Vec<_> = totals.core_s.iter().flat_map(|(&scope, &value)| both(scope, value)).collect();
    let windows = one(totals.windows as f64);
    let counters = [
        ("cpu_busy_seconds_total", "Busy seconds of logical CPUs since the start.", busy),
        ("core_busy_seconds_total", "Seconds in which cores were busy, since the start.", cores),
        ("windows_total", "Windows since the start.", windows),
    ];
    for (name, help, values) in counters {
        metric(&mut text, name, help, "counter", &values);
    }
    text
}

/// The same metrics as OpenMetrics, from their text: help and type of a counter are under its name without `_total`,
/// comments are not allowed, and the last line is `# EOF`.
pub fn openmetrics(text: &str) -> String {
    let mut open = String::new();
    for line in text.lines() {
        match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
            ["#", word @ ("HELP" | "TYPE"), name, rest] => {
                let _ = writeln!(open, "# {word} {} {rest}", name.strip_suffix("_total").unwrap_or(name));
            }
            ["#", ..] => {}
            _ => open.extend([line, "\n"]),
        }
    }
    open + "# EOF\n"
}

fn one(value: f64) -> Vec<(String, f64)> {
    vec![(String::new(), value)]
}

fn of_rows(text: &mut String, rows: &[Row]) {
    type Share = fn(&Row) -> f64;
    type Ends = fn(&Row) -> Bounds;
    let shares: [(&str, &str, Share); 2] = [
        ("cpu_busy_ratio", "Busy share of the logical CPUs, as the operating system shows it.", |row| {
            row.busy_share
        }),
        ("cpu_stolen_ratio", "Share of the logical CPUs' time that a hypervisor gave to others.", |row| {
            row.stolen_share
        }),
    ];
    let spans: [(&str, &str, Ends); 3] = [
        ("core_busy_ratio", "Share of cores' time in which at least one logical CPU was busy.", |row| {
            row.core_busy_share
        }),
        ("capacity_used_ratio", "Work done over the most that could have been done.", |row| {
            row.capacity_used_share
        }),
        ("headroom_ratio", "Share of the capacity that is left.", |row| row.headroom_share),
    ];
    for (name, help, value) in shares {
        let values: Vec<_> = rows.iter().map(|row| (labels(row.scope, None), value(row))).collect();
        metric(text, name, help, "gauge", &values);
    }
    for (name, help, value) in spans {
        let values: Vec<_> = rows.iter().flat_map(|row| both(row.scope, value(row))).collect();
        metric(text, name, help, "gauge", &values);
    }
}

fn of_window(text: &mut String, window: &Window) {
    let ends = [("low", window.smt_yield.low()), ("high", window.smt_yield.high())];
    let yields = ends.map(|(bound, value)| (format!("{{bound=\"{bound}\"}}"), value)).to_vec();
    let gauges = [
        ("smt_yield_ratio", "Throughput of two busy siblings of a core over that of one.", yields),
        (
            "clock_ratio",
            "Clock of busy logical CPUs over that with all busy; 1 if unknown.",
            one(window.clock_ratio),
        ),
        ("window_seconds", "Length of the window of the ratios.", one(window.length_s)),
        (
            "window_end_timestamp_seconds",
            "End of that window, in seconds since 1970.",
            one(window.end_unix_s),
        ),
    ];
    for (name, help, values) in gauges {
        metric(text, name, help, "gauge", &values);
    }
}

/// One metric with its values. Writing to a String cannot fail.
fn metric(text: &mut String, name: &str, help: &str, kind: &str, values: &[(String, f64)]) {
    let _ = writeln!(text, "# HELP threadwise_{name} {help}\n# TYPE threadwise_{name} {kind}");
    for (labels, value) in values {
        let _ = writeln!(text, "threadwise_{name}{labels} {value}");
    }
}

fn both(scope: Scope, bounds: Bounds) -> [(String, f64); 2] {
    [(labels(scope, Some("low")), bounds.low), (labels(scope, Some("high")), bounds.high)]
}

/// `{scope="package",id="0",bound="low"}`.
fn labels(scope: Scope, bound: Option<&str>) -> String {
    let id = scope.id().map_or_else(String::new, |id| format!(",id=\"{id}\""));
    let bound = bound.map_or_else(String::new, |bound| format!(",bound=\"{bound}\""));
    format!("{{scope=\"{}\"{id}{bound}}}", scope.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::row;

    #[test]
    fn every_metric_has_help_type_and_a_number() {
        let rows = [row(Scope::Machine), row(Scope::Package(1))];
        let mut totals = Totals::default();
        totals.add(&rows, 1.0);
        totals.add(&rows, 1.0);
        let window = Window {
            end_unix_s: 1_700_000_000.5,
            length_s: 1.0,
            smt_yield: SmtYield::new(1.2, 1.3).unwrap(),
            clock_ratio: 1.0,
        };
        let text = exposition(&window, &rows, &totals);
        assert!(text.starts_with(MARK) && text.ends_with('\n'));
        for line in [
            "threadwise_cpu_busy_ratio{scope=\"machine\"} 0.5",
            "threadwise_headroom_ratio{scope=\"package\",id=\"1\",bound=\"low\"} 0.18",
            "threadwise_core_busy_seconds_total{scope=\"machine\",bound=\"high\"} 16",
            "threadwise_cpu_busy_seconds_total{scope=\"machine\"} 16",
            "threadwise_smt_yield_ratio{bound=\"high\"} 1.3",
            "threadwise_window_end_timestamp_seconds 1700000000.5",
            "threadwise_windows_total 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let open = openmetrics(&text);
        assert!(open.contains("# TYPE threadwise_windows counter\nthreadwise_windows_total 2\n"), "{open}");
        assert!(open.ends_with("\n# EOF\n") && !open.contains(MARK), "{open}");
        let mut name = "";
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..2] {
                ["#", "HELP"] => name = words[2],
                ["#", "TYPE"] => {
                    assert_eq!(words[2], name);
                    assert_eq!(words[3] == "counter", name.ends_with("_total"));
                }
                _ => {
                    assert_eq!(line.split(['{', ' ']).next(), Some(name));
                    assert!(words[words.len() - 1].parse::<f64>().unwrap().is_finite());
                }
            }
        }
    }
}
