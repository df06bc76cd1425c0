//! The doctor's checks as JSON.

use super::{VERSION, old_names, pretty};
use crate::terminal::DoctorRow;
use serde_json::{Map, Value, json};

/// The checks in their order, and how many there are of each outcome.
pub fn doctor(rows: &[DoctorRow<'_>]) -> String {
    let mut counts = Map::new();
    for word in ["ok", "unknown", "warning", "problem"] {
        counts.insert(word.to_owned(), json!(rows.iter().filter(|row| row.outcome_word == word).count()));
    }
    let checks = rows.iter().map(|row| {
        json!({
            "name": old_names::stable(row.name),
            "check": row.name,
            "outcome": row.outcome_word,
            "found": row.found,
            "source": row.source,
            "remedy": row.remedy,
        })
    });
    pretty(&json!({"version": VERSION, "counts": counts, "checks": checks.collect::<Value>()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_and_kept_whole() {
        let row = DoctorRow {
            name: "co-runner",
            outcome_word: "warning",
            found: "it is \"on\"",
            source: "/sys/x",
            remedy: None,
        };
        let value: Value = serde_json::from_str(&doctor(&[row, row])).unwrap();
        assert_eq!((&value["counts"]["warning"], &value["counts"]["ok"]), (&json!(2), &json!(0)));
        assert_eq!(value["checks"][1]["found"], "it is \"on\"");
        let names = (&value["checks"][0]["name"], &value["checks"][0]["check"]);
        assert_eq!(names, (&json!("stranger"), &json!("co-runner")));
        assert_eq!(value["checks"][0]["remedy"], Value::Null);
    }
}
