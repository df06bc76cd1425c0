//! Statistics of statements by digest, of the Performance Schema.
//!
//! Sources: MySQL Reference Manual, "Performance Schema Statement Digests and Sampling", "Statement Summary Tables",
//! "Pre-Filtering by Consumer"; MariaDB Knowledge Base, "Performance Schema Overview" (it is off by default there). A
//! digest is of one database; statistics have no users. When the table is full, further digests share the row of NULL:
//! none is evicted.

use std::collections::HashSet;
use threadwise_engine::statements::{SourceFacts, without_literals};
use threadwise_engine::{EngineError, StatementSource};
use threadwise_engine_sql::{Connection, Driver, Value, fill};
use threadwise_observed::{Snapshot, StatementCount, StatementText};

use crate::connection::MariadbConnection;
use crate::driver::Database;
use crate::product::Product;
use crate::transaction::QUOTING;

/// Nothing can be written by this connection.
const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";

/// Whether statistics are kept: the Performance Schema as a whole, and its consumer of digests.
const IS_ON: &str = "SELECT @@GLOBAL.performance_schema AS threadwise_observe, \
    (SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'statements_digest')";

const COUNTERS: &str = include_str!("sql/statements.sql");
const TEXTS: &str = include_str!("sql/statement_texts.sql");

/// Name of a column in each query here.
const ALIAS: &str = "threadwise_observe";

/// An open connection.
pub(crate) struct Statements {
    connection: MariadbConnection,
    facts: SourceFacts,
    counters: String,
}

impl Statements {
    /// Connects and reads once.
    ///
    /// # Errors
    /// The server does not answer, or has no such statistics for this login: the message says what brings them.
    pub(crate) fn open(
        product: &'static Product,
        database: &Database,
        remarks: Vec<String>,
    ) -> Result<Self, EngineError> {
        let server = &database.server;
        let mut connection = database.connect("statements")?;
        connection.run("set up a connection that only reads", READ_ONLY)?;
        let limit = format!("SET {}", (product.limit)(20));
        connection.run("limit the time of its query", &limit)?;
        let facts = SourceFacts {
            version: server.version_text().to_owned(),
            place: server.place().to_string(),
            is_local: server.near(),
            remarks,
        };
        let user = server.user();
        expect_on(&mut connection, &facts.place, user)?;
        let counters = fill(COUNTERS, &[("status", product.status)]);
        let mut source = Self { connection, facts, counters };
        let first = source.snapshot().map_err(|error| permit(error, user))?;
        if first.evictions.is_some_and(|lost| lost > 0) {
            source.facts.remarks.push(
                "the server's table of digests is full, and further statements are not counted one by one: raise \
                 performance_schema_digests_size, or TRUNCATE performance_schema.events_statements_summary_by_digest"
                    .to_owned(),
            );
        }
        Ok(source)
    }
}

/// Refuses a server that keeps no statistics.
fn expect_on(connection: &mut MariadbConnection, place: &str, user: &str) -> Result<(), EngineError> {
    let missing =
        |why: &str| EngineError::Missing(format!("{place} keeps no statistics of statements: {why}"));
    let rows = connection
        .rows("ask whether it keeps statistics of statements", IS_ON, &[])
        .map_err(|error| permit(error, user))?;
    let words: Vec<String> = rows.into_iter().flatten().map(text).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["0", ..] => Err(missing(
            "performance_schema is off: set performance_schema=ON in the server's configuration and restart it",
        )),
        [_, "NO"] => Err(missing(
            "its consumer is off: UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = \
             'statements_digest'",
        )),
        _ => Ok(()),
    }
}

/// An error of a first read, with the right that it needs.
fn permit(error: EngineError, user: &str) -> EngineError {
    match error {
        EngineError::Failed { engine, action, why } if why.contains("denied") => EngineError::Failed {
            engine,
            action,
            why: format!("{why}: GRANT SELECT ON performance_schema.* TO {user}"),
        },
        other => other,
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        Value::Whole(number) => number.to_string(),
        _ => String::new(),
    }
}

/// A counter; numbers come as text, with decimals where they are sums.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Whole(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.split('.').next()?.parse().ok(),
        _ => None,
    }
}

/// Database and digest.
fn key(schema: &Value, digest: &Value) -> String {
    let name = |value: &Value| if let Value::Text(text) = value { text.clone() } else { String::new() };
    format!("{}.{}", name(schema), name(digest))
}

impl StatementSource for Statements {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn snapshot(&mut self) -> Result<Snapshot, EngineError> {
        let rows = self.connection.rows("read statistics of statements", &self.counters, &[])?;
        let mut snapshot = Snapshot::default();
        for row in &rows {
            let [schema, digest, one, two, three, since] = row.as_slice() else { continue };
            if matches!(digest, Value::Null) {
                let started =
                    number(two).zip(number(one)).map(|(now_s, uptime_s)| now_s as f64 - uptime_s as f64);
                snapshot.started_unix_s = started;
                snapshot.evictions = number(three);
                continue;
            }
            snapshot.statements.push(StatementCount {
                key: key(schema, digest),
                calls: number(one).unwrap_or_default(),
                time_ns: number(two).unwrap_or_default() / 1000,
                rows: number(three).unwrap_or_default(),
                since: number(since).map(|since| since.to_string()),
            });
        }
        Ok(snapshot)
    }

    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError> {
        let wanted: HashSet<&str> = keys.iter().map(String::as_str).collect();
        let rows = self.connection.rows("read texts of statements", &fill(TEXTS, &[]), &[])?;
        let one = |row: &Vec<Value>| {
            let [schema, digest, words] = row.as_slice() else { return None };
            let key = key(schema, digest);
            let words = if let Value::Text(words) = words { words.as_str() } else { "" };
            wanted.contains(key.as_str()).then(|| StatementText {
                key,
                database: if let Value::Text(name) = schema { Some(name.clone()) } else { None },
                user: None,
                text: wants_text.then(|| without_literals(words, QUOTING)),
                is_ours: is_ours(words),
            })
        };
        Ok(rows.iter().filter_map(one).collect())
    }
}

/// Whether a digest's text is that of a query here. Comments are not part of it, and names of columns are.
fn is_ours(text: &str) -> bool {
    text.contains(ALIAS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queries_of_threadwise_are_ours() {
        for sql in [IS_ON, COUNTERS, TEXTS] {
            // A digest's text may be cut (performance_schema_max_digest_length).
            let begin: String = fill(sql, &[("status", "s")]).chars().take(200).collect();
            assert!(is_ours(&begin), "{begin}");
        }
        // Of a monitor that reads the same table.
        let other = "SELECT `SCHEMA_NAME` , `DIGEST` , `DIGEST_TEXT` , `COUNT_STAR` \
                     FROM `performance_schema` . `events_statements_summary_by_digest`";
        assert!(!is_ours(other));
    }

    #[test]
    fn a_refused_read_names_the_login() {
        let denied = EngineError::Failed {
            engine: "mariadb".into(),
            action: "read".into(),
            why: "SELECT command denied".into(),
        };
        let shown = permit(denied, "watch").to_string();
        assert!(shown.contains("GRANT SELECT ON performance_schema.* TO watch"), "{shown}");
    }
}
