//! Intervals as metrics for Prometheus and the textfile collector of node_exporter.
//!
//! Source: Prometheus, "Text-based format" (version 0.0.4; label values escape backslash, quote and line feed) and
//! "Metric and label naming": base units are seconds, counters end in `_total`.

use crate::{Gap, Interval, Neighbours, StatementText, States};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// First line of a file of metrics, by which the program recognises its own. Readers ignore it.
pub const MARK: &str = "# threadwise observe";

/// Most statements that have metrics of their own: Prometheus keeps a series for each.
pub const MOST_SERIES: usize = 200;

/// Sums of one statement since the start.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sum {
    calls: u64,
    time_ns: u64,
    rows: u64,
}

impl Sum {
    fn add(&mut self, calls: u64, time_ns: u64, rows: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.rows = self.rows.saturating_add(rows);
    }
}

/// Sums over all intervals since the start, for counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Totals {
    statements: HashMap<String, Sum>,
    all: Sum,
    intervals: u64,
    gaps: BTreeMap<&'static str, u64>,
    evicted: u64,
    restarted: u64,
    states: States,
    is_answering: bool,
    /// Looks that showed whether a neighbour was there, and those with one, once neighbours are looked for.
    looks: Option<(u64, u64)>,
}

impl Totals {
    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        self.is_answering = true;
        self.states = interval.states.clone();
        match interval.gap {
            Some(gap) => *self.gaps.entry(gap.word()).or_default() += 1,
            None => self.intervals += 1,
        }
        if let Some(neighbours) = interval.neighbours {
            self.add_looks(neighbours);
        }
        for count in &interval.counts {
            self.all.add(count.calls, count.time_ns, count.rows);
            let sum = self.statements.entry(count.statement.clone()).or_default();
            sum.add(count.calls, count.time_ns, count.rows);
        }
        self.all.add(interval.rest.calls, interval.rest.time_ns, interval.rest.rows);
        self.evicted = self.evicted.saturating_add(interval.lost.evicted);
        self.restarted = self.restarted.saturating_add(interval.lost.restarted);
    }

    fn add_looks(&mut self, neighbours: Neighbours) {
        let looks = neighbours.looks();
        let with_neighbour = (neighbours.share().unwrap_or_default() * looks as f64).round() as u64;
        let sums = self.looks.get_or_insert_default();
        *sums = (sums.0.saturating_add(looks), sums.1.saturating_add(with_neighbour));
    }

    /// Notes that the server did not answer a look.
    pub fn miss(&mut self) {
        self.is_answering = false;
    }
}

/// The sums as text. `names` has what is known of statements.
pub fn exposition(totals: &Totals, names: &HashMap<String, StatementText>) -> String {
    let mut text = format!("{MARK}: replaced after every interval\n");
    let one = |value: f64| vec![(String::new(), value)];
    let states = &totals.states;
    let label = |name: &str, value: &Option<String>| {
        format!("{name}=\"{}\"", escaped(value.as_deref().unwrap_or("unknown")))
    };
    let state = format!(
        "{{{},{},{}}}",
        label("state", &states.state),
        label("smt", &states.smt),
        label("clock", &states.clock)
    );
    let gap = |gap: &Gap| {
        let count = totals.gaps.get(gap.word()).copied().unwrap_or_default();
        (format!("{{reason=\"{}\"}}", gap.word()), count as f64)
    };
    let metrics = [
        ("up", "Whether the server answered the last look.", "gauge", one(f64::from(totals.is_answering))),
        ("state", "The present state; always 1.", "gauge", vec![(state, 1.0)]),
        ("intervals_total", "Intervals since the start.", "counter", one(totals.intervals as f64)),
        (
            "gaps_total",
            "Intervals without counts since the start.",
            "counter",
            Gap::ALL.iter().map(gap).collect(),
        ),
        ("evicted_total", "Statements that the server dropped.", "counter", one(totals.evicted as f64)),
        ("restarted_total", "Counters that ran backwards.", "counter", one(totals.restarted as f64)),
        ("calls_total", "Executions of all statements.", "counter", one(totals.all.calls as f64)),
        (
            "time_seconds_total",
            "Execution time of all statements.",
            "counter",
            one(seconds(totals.all.time_ns)),
        ),
    ];
    for (name, help, kind, values) in metrics {
        metric(&mut text, &format!("observe_{name}"), help, kind, &values);
    }
    if let Some((looks, with_neighbour)) = totals.looks {
        let [help, with_help] =
            ["Looks that showed whether a neighbour was there.", "Looks that showed a neighbour."];
        metric(&mut text, "observe_looks_total", help, "counter", &one(looks as f64));
        let with_neighbour = one(with_neighbour as f64);
        metric(&mut text, "observe_looks_with_neighbour_total", with_help, "counter", &with_neighbour);
    }
    of_statements(&mut text, totals, names);
    text
}

/// Those with the most time. One whose names have not been asked for yet is left out: with other labels it would be
/// another series.
fn of_statements(text: &mut String, totals: &Totals, names: &HashMap<String, StatementText>) {
    let mut all: Vec<(&String, &Sum)> =
        totals.statements.iter().filter(|(key, _)| names.contains_key(*key)).collect();
    all.sort_by(|one, other| other.1.time_ns.cmp(&one.1.time_ns).then_with(|| one.0.cmp(other.0)));
    all.truncate(MOST_SERIES);
    let labels = |key: &str| {
        let known = names.get(key);
        let name =
            |value: Option<&Option<String>>| escaped(value.and_then(Option::as_deref).unwrap_or_default());
        format!(
            "{{statement=\"{}\",database=\"{}\",user=\"{}\"}}",
            escaped(key),
            name(known.map(|known| &known.database)),
            name(known.map(|known| &known.user))
        )
    };
    type Value = fn(&Sum) -> f64;
    let metrics: [(&str, &str, Value); 3] = [
        ("calls_total", "Executions of a statement, of those with the most time.", |sum| sum.calls as f64),
        ("time_seconds_total", "Execution time of a statement.", |sum| seconds(sum.time_ns)),
        ("rows_total", "Rows that a statement returned or changed.", |sum| sum.rows as f64),
    ];
    for (name, help, value) in metrics {
        let values: Vec<_> = all.iter().map(|(key, sum)| (labels(key), value(sum))).collect();
        metric(text, &format!("statement_{name}"), help, "counter", &values);
    }
}

fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

/// One metric with its values. Writing to a String cannot fail.
fn metric(text: &mut String, name: &str, help: &str, kind: &str, values: &[(String, f64)]) {
    let _ = writeln!(text, "# HELP threadwise_{name} {help}\n# TYPE threadwise_{name} {kind}");
    for (labels, value) in values {
        let _ = writeln!(text, "threadwise_{name}{labels} {value}");
    }
}

/// The value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, Unseen};

    #[test]
    fn sums_become_counters_and_labels_are_escaped() {
        let count = |key: &str, time_ns| Count { statement: key.to_owned(), calls: 2, time_ns, rows: 1 };
        let interval = Interval {
            counts: vec![count("a\"\n", 3_000_000_000), count("b", 1)],
            rest: Count { statement: 1, calls: 5, time_ns: 0, rows: 0 },
            states: States { smt: Some("on".to_owned()), ..States::default() },
            ..Interval::default()
        };
        let mut totals = Totals::default();
        totals.add(&interval);
        totals.add(&interval);
        totals.add(&Interval { gap: Some(Gap::Reset), ..Interval::default() });
        totals.miss();
        let name = StatementText { database: Some("shop".to_owned()), ..StatementText::default() };
        let names = [("b", name), ("a\"\n", StatementText::default())];
        let text = exposition(&totals, &names.map(|(key, name)| (key.to_owned(), name)).into());
        let early = exposition(&totals, &HashMap::new());
        assert!(
            early.contains("threadwise_observe_calls_total 18\n") && !early.contains("statement=\""),
            "{early}"
        );
        for line in [
            "threadwise_observe_up 0",
            "threadwise_observe_intervals_total 2",
            "threadwise_observe_gaps_total{reason=\"reset\"} 1",
            "threadwise_observe_calls_total 18",
            "threadwise_statement_calls_total{statement=\"a\\\"\\n\",database=\"\",user=\"\"} 4",
            "threadwise_statement_time_seconds_total{statement=\"a\\\"\\n\",database=\"\",user=\"\"} 6",
            "threadwise_statement_rows_total{statement=\"b\",database=\"shop\",user=\"\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.starts_with(MARK) && text.ends_with('\n') && !text.contains("looks"));
    }

    #[test]
    fn looks_are_counted_once_they_are_taken() {
        let mut totals = Totals::default();
        let unknown = Neighbours::Unknown(Unseen::NoLook);
        let seen = |share| Neighbours::Seen { looks: 40, share };
        for neighbours in [unknown, seen(0.1), seen(0.0), seen(0.25)] {
            totals.add(&Interval { neighbours: Some(neighbours), ..Interval::default() });
        }
        let text = exposition(&totals, &HashMap::new());
        for line in ["threadwise_observe_looks_total 120", "threadwise_observe_looks_with_neighbour_total 14"]
        {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
