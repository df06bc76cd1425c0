//! A server's statistics of statements, as they are sent.

use serde::{Deserialize, Serialize};
use threadwise_machine::text::one_line;
use threadwise_observed::{Snapshot, StatementCount, StatementText};

use super::limits;
use crate::statements::{MOST_TEXT_BYTES, SourceFacts};

/// Most characters of a key, a name and a line.
const CHARS: (usize, usize) = (300, 500);

/// Counters of a statement: its key, calls, time in nanoseconds, rows, since when.
type WireCount = (String, u64, u64, u64, Option<String>);

/// What a server's statistics say (mirrors `SourceFacts`, `Snapshot` and `StatementText`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WireStatements {
    /// The server's version.
    pub version: String,
    /// Its name.
    pub place: String,
    /// Whether it runs on this machine.
    pub is_local: bool,
    /// What the user should know, a line each.
    #[serde(default, deserialize_with = "limits::notes")]
    pub remarks: Vec<String>,
    /// When it was started.
    #[serde(default)]
    pub started_unix_s: Option<f64>,
    /// When its statistics were reset.
    #[serde(default)]
    pub reset: Option<String>,
    /// Evictions since then.
    #[serde(default)]
    pub evictions: Option<u64>,
    /// Statements that this login may not see.
    #[serde(default)]
    pub hidden: u64,
    /// Counters, if requested.
    #[serde(default, deserialize_with = "limits::statements")]
    pub counts: Vec<WireCount>,
    /// What statements are, if requested.
    #[serde(default, deserialize_with = "limits::statements")]
    pub texts: Vec<WireText>,
}

/// What a statement is (mirrors `StatementText`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WireText {
    /// Its key.
    pub key: String,
    /// Its database.
    #[serde(default)]
    pub database: Option<String>,
    /// Its user.
    #[serde(default)]
    pub user: Option<String>,
    /// Its text without literals.
    #[serde(default)]
    pub text: Option<String>,
    /// Whether it is that by which statistics are read.
    #[serde(default)]
    pub is_ours: bool,
}

impl WireStatements {
    /// Facts alone.
    pub fn of(facts: &SourceFacts) -> Self {
        Self {
            version: facts.version.clone(),
            place: facts.place.clone(),
            is_local: facts.is_local,
            remarks: facts.remarks.clone(),
            ..Self::default()
        }
    }

    /// The same with counters.
    pub fn with_counts(self, snapshot: Snapshot) -> Self {
        let count = |one: StatementCount| (one.key, one.calls, one.time_ns, one.rows, one.since);
        Self {
            started_unix_s: snapshot.started_unix_s,
            reset: snapshot.reset,
            evictions: snapshot.evictions,
            hidden: snapshot.hidden,
            counts: snapshot.statements.into_iter().map(count).collect(),
            ..self
        }
    }

    /// The same with what statements are.
    pub fn with_texts(self, texts: Vec<StatementText>) -> Self {
        let text = |one: StatementText| WireText {
            key: one.key,
            database: one.database,
            user: one.user,
            text: one.text,
            is_ours: one.is_ours,
        };
        Self { texts: texts.into_iter().map(text).collect(), ..self }
    }

    /// The facts.
    pub fn facts(&self) -> SourceFacts {
        SourceFacts {
            version: one_line(&self.version, CHARS.0),
            place: one_line(&self.place, CHARS.0),
            is_local: self.is_local,
            remarks: self.remarks.iter().map(|line| one_line(line, CHARS.1)).collect(),
        }
    }

    /// The counters.
    pub fn snapshot(self) -> Snapshot {
        let count = |(key, calls, time_ns, rows, since): WireCount| StatementCount {
            key: one_line(&key, CHARS.0),
            calls,
            time_ns,
            rows,
            since: since.map(|since| one_line(&since, CHARS.0)),
        };
        Snapshot {
            started_unix_s: self.started_unix_s.filter(|start| start.is_finite()),
            reset: self.reset.map(|reset| one_line(&reset, CHARS.0)),
            evictions: self.evictions,
            hidden: self.hidden,
            statements: self.counts.into_iter().map(count).collect(),
        }
    }

    /// What statements are.
    pub fn texts(self) -> Vec<StatementText> {
        let line = |text: String, most: usize| one_line(&text, most);
        let text = |one: WireText| StatementText {
            key: line(one.key, CHARS.0),
            database: one.database.map(|name| line(name, CHARS.0)),
            user: one.user.map(|name| line(name, CHARS.0)),
            text: one.text.map(|text| line(text, MOST_TEXT_BYTES)),
            is_ours: one.is_ours,
        };
        self.texts.into_iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_come_back_unchanged() {
        let facts = SourceFacts { version: "16".into(), place: "db:1433".into(), ..SourceFacts::default() };
        let snapshot = Snapshot {
            started_unix_s: Some(5.0),
            statements: vec![StatementCount {
                key: "0xAB".into(),
                calls: 1,
                time_ns: 2,
                rows: 3,
                since: Some("p".into()),
            }],
            ..Snapshot::default()
        };
        let texts =
            vec![StatementText { key: "0xAB".into(), text: Some("SELECT ?".into()), ..Default::default() }];
        let wire = WireStatements::of(&facts).with_counts(snapshot.clone()).with_texts(texts.clone());
        let back: WireStatements = serde_json::from_str(&serde_json::to_string(&wire).unwrap()).unwrap();
        assert_eq!((back.facts(), back.clone().snapshot(), back.texts()), (facts, snapshot, texts));
    }
}
