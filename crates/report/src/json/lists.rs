//! Lists of what there is: checks of the doctor, what can be run, engines that are no part of the program.

use super::form::{VERSION, list, pretty};
use super::old_names;
use crate::terminal::DoctorRow;
use serde::{Serialize, Serializer};
use serde_json::json;

/// Something that can be run, or a placement that this machine can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListEntry {
    /// `preset`, `engine`, `workload`, `recipe`, `parser`, `placement`.
    pub kind: String,
    /// Name as the command line takes it.
    pub name: String,
    /// One line.
    pub about: String,
}

/// An engine that is no part of the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineEntry {
    /// Its name.
    pub name: String,
    /// `environment` (a Python environment of ours) or `program` (on PATH).
    pub kind: String,
    /// `ready`, `not installed`, `incomplete`, `outdated`, `foreign`.
    pub state: String,
    /// Why it is in that state, in one line.
    pub why: Option<String>,
    /// The command that makes it ready.
    pub remedy: Option<String>,
    /// Version of the engine.
    #[serde(rename = "engine_version")]
    pub version: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Names and versions of all packages.
    #[serde(serialize_with = "by_name")]
    pub packages: Vec<(String, String)>,
    /// Folder of the environment, or the program.
    pub path: String,
    /// Disk space of the environment; both engines share one.
    pub size_bytes: Option<u64>,
}

fn by_name<S: Serializer>(packages: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(packages.iter().map(|(name, version)| (name, version)))
}

/// The entries of `threadwise list --json`.
pub fn listing(entries: &[ListEntry]) -> String {
    let mut entries = json!(entries);
    old_names::stay(&mut entries, "kind");
    pretty(&json!({"version": VERSION, "entries": entries}))
}

/// The entries of `threadwise engine list --json`, in their order.
pub fn engines(entries: &[EngineEntry]) -> String {
    pretty(&json!({"version": VERSION, "engines": entries}))
}

/// The doctor's checks in their order, and how many there are of each outcome.
pub fn doctor(rows: &[DoctorRow<'_>]) -> String {
    let mut counts = json!({});
    for word in ["ok", "unknown", "warning", "problem"] {
        counts[word] = rows.iter().filter(|row| row.outcome_word == word).count().into();
    }
    let mut checks = list(rows, |row| json!({"check": row.name}));
    old_names::stay(&mut checks, "name");
    pretty(&json!({"version": VERSION, "counts": counts, "checks": checks}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

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

    #[test]
    fn an_engine_that_is_not_there_says_the_command() {
        let entry = EngineEntry {
            name: "duckdb".into(),
            kind: "environment".into(),
            state: "not installed".into(),
            why: None,
            remedy: Some("threadwise engine add duckdb".into()),
            version: None,
            python: None,
            packages: vec![("pyarrow".into(), "26.0.1".into())],
            path: "/opt/threadwise".into(),
            size_bytes: None,
        };
        let value: Value = serde_json::from_str(&engines(&[entry])).unwrap();
        assert_eq!(value["engines"][0]["remedy"], "threadwise engine add duckdb");
        assert_eq!(value["engines"][0]["packages"]["pyarrow"], "26.0.1");
        assert_eq!(value["engines"][0]["engine_version"], Value::Null);
    }
}
