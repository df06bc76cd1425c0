//! Engines on Python packages and programs on PATH as JSON: `threadwise engine list --json`.

use super::{VERSION, pretty};
use serde_json::{Map, Value, json};

/// An engine that is no part of the program itself.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub version: Option<String>,
    /// Version of Python.
    pub python: Option<String>,
    /// Names and versions of all packages.
    pub packages: Vec<(String, String)>,
    /// Folder of the environment, or the program.
    pub path: String,
    /// Disk space of the environment; both engines share one.
    pub size_bytes: Option<u64>,
}

/// The entries in their order.
pub fn engines(entries: &[EngineEntry]) -> String {
    let entry = |entry: &EngineEntry| {
        let packages: Map<String, Value> =
            entry.packages.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
        json!({
            "name": entry.name,
            "kind": entry.kind,
            "state": entry.state,
            "why": entry.why,
            "remedy": entry.remedy,
            "engine_version": entry.version,
            "python": entry.python,
            "packages": packages,
            "path": entry.path,
            "size_bytes": entry.size_bytes,
        })
    };
    pretty(&json!({"version": VERSION, "engines": entries.iter().map(entry).collect::<Value>()}))
}

#[cfg(test)]
mod tests {
    use super::*;

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
