//! Intervals of observed statements, one object a line (docs/JSON.md).

use super::form::{line, merged, pretty};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use threadwise_analysis::observed::{Comparison, document};
use threadwise_observed::{Count, Interval, StatementText};

/// An interval of `threadwise observe --json`, as one line without its end. `names` has what is known of statements.
pub fn observed(interval: &Interval, utc: &str, names: &HashMap<String, StatementText>) -> String {
    line(form(interval, utc, names))
}

/// The comparison of statements in production, with the sentences of its answer.
pub fn observed_comparison(found: &Comparison<'_>) -> String {
    pretty(merged(json!(found), json!({"answer": document(found, "", "").verdict})))
}

fn form<'a>(
    interval: &'a Interval,
    utc: &'a str,
    names: &'a HashMap<String, StatementText>,
) -> impl Serialize {
    let states = &interval.states;
    let host = interval.host.map(|host| {
        json!({
            "busy_share": host.busy_share,
            "capacity_used_share": {"low": host.used_low_share, "high": host.used_high_share},
            "headroom_share": {"low": (1.0 - host.used_high_share).max(0.0), "high": (1.0 - host.used_low_share).max(0.0)},
            "stolen_share": host.stolen_share,
            "busy_mhz": host.busy_mhz,
        })
    });
    let neighbours = interval.neighbours.map(|neighbours| {
        json!({
            "looks": neighbours.looks(),
            "share": neighbours.share(),
            "unknown": neighbours.unknown().map(|unseen| unseen.word()),
        })
    });
    let statements = || interval.counts.iter().map(|count| statement(count, names)).collect::<Vec<Value>>();
    let rest = &interval.rest;
    let rest = || {
        json!({
            "statements": rest.statement, "calls": rest.calls, "time_ns": rest.time_ns, "rows": rest.rows,
        })
    };
    // Of a gap nothing is known, which 0 would not say.
    let is_known = interval.gap.is_none();
    json!({
        "utc": utc,
        "interval_ns": interval.length_ns,
        "gap": interval.gap.map(|gap| gap.word()),
        "states": {
            "state": states.state, "smt": states.smt, "clock": states.clock, "cpus": states.cpus,
            "version": states.version,
        },
        "host": host,
        "neighbours": neighbours,
        "calls": is_known.then(|| interval.calls()),
        "time_ns": is_known.then(|| interval.time_ns()),
        "statements": is_known.then(statements),
        "rest": is_known.then(rest),
        "evicted": is_known.then_some(interval.lost.evicted),
        "restarted": is_known.then_some(interval.lost.restarted),
    })
}

fn statement(count: &Count, names: &HashMap<String, StatementText>) -> Value {
    let known = names.get(&count.statement);
    json!({
        "statement": count.statement,
        "database": known.and_then(|known| known.database.as_deref()),
        "user": known.and_then(|known| known.user.as_deref()),
        "text": known.and_then(|known| known.text.as_deref()),
        "calls": count.calls,
        "time_ns": count.time_ns,
        "rows": count.rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_observed::{Gap, Neighbours, Unseen};

    #[test]
    fn an_interval_is_one_line() {
        let count = Count { statement: "5.10.top.7".to_owned(), calls: 3, time_ns: 30, rows: 1 };
        let text = StatementText { text: Some("SELECT $1\nFROM t".to_owned()), ..StatementText::default() };
        let names = HashMap::from([(count.statement.clone(), text)]);
        let interval = Interval { counts: vec![count], length_ns: 60_000_000_000, ..Interval::default() };
        let line = observed(&interval, "2026-01-01T00:00:00Z", &names);
        assert!(!line.contains('\n'));
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&read["version"], &read["calls"], &read["host"]), (&json!(1), &json!(3), &Value::Null));
        assert_eq!(read["statements"][0]["text"], json!("SELECT $1\nFROM t"));
        assert_eq!(read["neighbours"], Value::Null);
        let neighbours_of = |neighbours| {
            let interval = Interval { neighbours: Some(neighbours), ..Interval::default() };
            serde_json::from_str::<Value>(&observed(&interval, "", &names)).unwrap()["neighbours"].clone()
        };
        assert_eq!(
            neighbours_of(Neighbours::Seen { looks: 40, share: 0.25 }),
            json!({"looks": 40, "share": 0.25, "unknown": null})
        );
        assert_eq!(
            neighbours_of(Neighbours::Unknown(Unseen::NoGuest)),
            json!({"looks": 0, "share": null, "unknown": "not-a-guest"})
        );
        let gap = observed(&Interval { gap: Some(Gap::Restart), ..Interval::default() }, "", &names);
        let read: Value = serde_json::from_str(&gap).unwrap();
        assert_eq!(read["gap"], json!("restart"));
        for field in ["calls", "time_ns", "statements", "rest", "evicted", "restarted"] {
            assert_eq!(read.get(field), Some(&Value::Null), "{field}");
        }
    }
}
