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
        "calls": interval.calls(),
        "time_ns": interval.time_ns(),
        "statements": interval.counts.iter().map(|count| statement(count, names)).collect::<Vec<Value>>(),
        "rest": {
            "statements": interval.rest.statement, "calls": interval.rest.calls, "time_ns": interval.rest.time_ns,
            "rows": interval.rest.rows,
        },
        "evicted": interval.lost.evicted,
        "restarted": interval.lost.restarted,
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
        let of = |neighbours| {
            let interval = Interval { neighbours: Some(neighbours), ..Interval::default() };
            serde_json::from_str::<Value>(&observed(&interval, "", &names)).unwrap()["neighbours"].clone()
        };
        assert_eq!(
            of(Neighbours::Seen { looks: 40, share: 0.25 }),
            json!({"looks": 40, "share": 0.25, "unknown": null})
        );
        assert_eq!(
            of(Neighbours::Unknown(Unseen::NoGuest)),
            json!({"looks": 0, "share": null, "unknown": "not-a-guest"})
        );
        let gap = observed(&Interval { gap: Some(Gap::Restart), ..Interval::default() }, "", &names);
        assert!(gap.contains("\"gap\":\"restart\""), "{gap}");
    }
}
