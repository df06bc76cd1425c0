//! Statistics of statements by the extension pg_stat_statements, from its version 1.4 on.
//!
//! Source: PostgreSQL documentation, "pg_stat_statements", and its scripts of versions: 1.8 (PostgreSQL 13) splits
//! planning from execution, 1.9 (14) has `toplevel` and pg_stat_statements_info, 1.11 (17) has `stats_since`.

use postgres::error::SqlState;
use postgres::types::Oid;
use postgres::{Client, Row, Statement};
use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};
use threadwise_engine::statements::{SourceFacts, without_literals};
use threadwise_engine::{EngineError, StatementSource};
use threadwise_engine_sql::fill;
use threadwise_observed::{Snapshot, StatementCount, StatementText};

use crate::Server;
use crate::error::{failed, query, server_message};
use crate::transaction::QUOTING;

const EXTENSION: &str = "SELECT pg_catalog.quote_ident(n.nspname), e.extversion \
     FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace \
     WHERE e.extname = 'pg_stat_statements'";

/// Nothing can be written by this connection, and no query of it delays the server for long.
const SETTINGS: &str = "SET default_transaction_read_only = on; SET statement_timeout = '20s'; \
     SET lock_timeout = '5s'; SET jit = off; SET max_parallel_workers_per_gather = 0";

/// Where a version of the extension has its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Columns {
    time: &'static str,
    toplevel: &'static str,
    since: &'static str,
    has_info: bool,
}

impl Columns {
    /// Those of a version, such as `1.10`.
    fn of(version: &str) -> Self {
        let minor = version.strip_prefix("1.").and_then(|minor| minor.parse::<u32>().ok());
        // A version after those that are known has what the last known one has.
        let minor = minor.unwrap_or(u32::MAX);
        Self {
            time: if minor >= 8 { "total_exec_time" } else { "total_time" },
            toplevel: if minor >= 9 { "s.toplevel" } else { "true" },
            since: if minor >= 11 { "s.stats_since" } else { "NULL::timestamptz" },
            has_info: minor >= 9,
        }
    }

    /// A text with its places filled in, without its comments.
    fn fill(self, sql: &str, schema: &str) -> String {
        let info = match self.has_info {
            true => format!("{schema}.pg_stat_statements_info"),
            false => "(SELECT NULL::timestamptz AS stats_reset, NULL::bigint AS dealloc)".to_owned(),
        };
        let places = [
            ("time", self.time),
            ("toplevel", self.toplevel),
            ("since", self.since),
            ("info", &info),
            ("schema", schema),
        ];
        fill(sql, &places)
    }
}

/// An open connection with its prepared query.
pub(crate) struct Statements {
    client: Client,
    facts: SourceFacts,
    counters: Statement,
    texts: String,
}

impl Statements {
    /// Connects and prepares the query.
    ///
    /// # Errors
    /// The server does not answer, or has no such statistics for this login: the message says what brings them.
    pub(crate) fn open(server: &Server) -> Result<Self, EngineError> {
        let mut client = server.connect("threadwise observe")?;
        let set = client.batch_execute(SETTINGS);
        set.map_err(|cause| query("set up a connection that only reads", &cause))?;
        let found = client.query_opt(EXTENSION, &[]);
        let found = found.map_err(|cause| query("look for pg_stat_statements", &cause))?;
        let Some(row) = found else { return Err(no_extension(server)) };
        let (schema, version): (String, String) = (row.get(0), row.get(1));
        let columns = Columns::of(&version);
        let sql = columns.fill(include_str!("sql/statements.sql"), &schema);
        let counters = client.prepare(&sql).map_err(|cause| no_statistics(server, &cause))?;
        let mut source = Self {
            client,
            facts: SourceFacts {
                version: server.version().to_owned(),
                place: server.place(),
                is_local: server.is_local(),
                remarks: Vec::new(),
            },
            counters,
            texts: columns.fill(include_str!("sql/statement_texts.sql"), &schema),
        };
        // A library that is not loaded is noticed by the first use only.
        let first = source.read().map_err(|cause| no_statistics(server, &cause))?;
        source.facts.remarks = source.remarks(server, &first);
        Ok(source)
    }

    fn read(&mut self) -> Result<Snapshot, postgres::Error> {
        let rows = self.client.query(&self.counters, &[])?;
        let mut snapshot = Snapshot::default();
        if let Some(row) = rows.first() {
            let seconds =
                |moment: SystemTime| moment.duration_since(UNIX_EPOCH).map(|since| since.as_secs_f64());
            snapshot.started_unix_s = seconds(row.get(0)).ok();
            snapshot.reset = row.get::<_, Option<SystemTime>>(1).map(moment);
            snapshot.evictions = row.get::<_, Option<i64>>(2).map(i64::unsigned_abs);
        }
        snapshot.statements.reserve(rows.len());
        for row in &rows {
            match (row.get::<_, Option<Oid>>(3), row.get::<_, Option<i64>>(6)) {
                // No statement at all.
                (None, _) => {}
                // The server hides the number of another user's statement.
                (Some(_), None) => snapshot.hidden += 1,
                (Some(database), Some(number)) => snapshot.statements.push(count(row, database, number)),
            }
        }
        Ok(snapshot)
    }

    /// What the user should know before it begins.
    fn remarks(&mut self, server: &Server, first: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        if first.hidden > 0 {
            lines.push(hidden(first.hidden, server.user()));
        }
        let off = |client: &mut Client, name: &str| {
            let sql = "SELECT pg_catalog.current_setting($1, true)";
            let value = client.query_one(sql, &[&name]).ok()?.get::<_, Option<String>>(0)?;
            matches!(value.as_str(), "off" | "none").then_some(value)
        };
        for (name, on) in [("compute_query_id", "auto"), ("pg_stat_statements.track", "top")] {
            if let Some(value) = off(&mut self.client, name) {
                lines.push(counts_none(name, &value, on));
            }
        }
        lines
    }
}

fn hidden(count: u64, user: &str) -> String {
    format!(
        "{count} statements of other users are hidden from '{user}' and left out: to show them, GRANT pg_read_all_stats \
         TO {user}"
    )
}

/// The default is not named: it may be set in a file of the server.
fn counts_none(name: &str, value: &str, on: &str) -> String {
    format!(
        "the server counts no statements: {name} is {value} there; to turn it on, ALTER SYSTEM SET {name} = '{on}', \
         then SELECT pg_reload_conf()"
    )
}

impl StatementSource for Statements {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn snapshot(&mut self) -> Result<Snapshot, EngineError> {
        self.read().map_err(|cause| query("read pg_stat_statements", &cause))
    }

    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError> {
        let numbers: Vec<i64> = keys.iter().filter_map(|key| key.rsplit('.').next()?.parse().ok()).collect();
        let wanted: HashSet<&str> = keys.iter().map(String::as_str).collect();
        let rows = self.client.query(&self.texts, &[&numbers, &wants_text]);
        let rows = rows.map_err(|cause| query("read texts of pg_stat_statements", &cause))?;
        let text = |row: &Row| {
            let key = key(row.get(0), row.get(1), row.get(2), row.get::<_, Option<i64>>(3)?);
            wanted.contains(key.as_str()).then(|| StatementText {
                key,
                database: row.get(4),
                user: row.get(5),
                text: row.get::<_, Option<String>>(6).map(|text| without_literals(&text, QUOTING)),
                is_ours: row.get::<_, Option<bool>>(7).unwrap_or_default(),
            })
        };
        Ok(rows.iter().filter_map(text).collect())
    }
}

fn moment(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros()).to_string()
}

/// Database, user, whether it was executed by a client itself or inside of a function, and the server's number.
fn key(database: Oid, user: Oid, is_top_level: bool, number: i64) -> String {
    format!("{database}.{user}.{}.{number}", if is_top_level { "top" } else { "nested" })
}

fn count(row: &Row, database: Oid, number: i64) -> StatementCount {
    let time_ms: f64 = row.get(8);
    StatementCount {
        key: key(database, row.get(4), row.get(5), number),
        calls: row.get::<_, i64>(7).unsigned_abs(),
        time_ns: (time_ms * 1e6).round() as u64,
        rows: row.get::<_, i64>(9).unsigned_abs(),
        since: row.get::<_, Option<SystemTime>>(10).map(moment),
    }
}

fn no_extension(server: &Server) -> EngineError {
    missing_statistics(
        server,
        format!(
            "database {} lacks the extension pg_stat_statements: a superuser sets shared_preload_libraries = \
             'pg_stat_statements', restarts the server, and executes CREATE EXTENSION pg_stat_statements there; or \
             name a database that has it",
            server.database()
        ),
    )
}

fn no_statistics(server: &Server, cause: &postgres::Error) -> EngineError {
    let code = cause.code().cloned();
    match code {
        Some(code) if code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => missing_statistics(
            server,
            "the extension is there, but the server has not loaded it: a superuser sets shared_preload_libraries = \
             'pg_stat_statements' and restarts the server",
        ),
        Some(code) if code == SqlState::INSUFFICIENT_PRIVILEGE => failed(
            "read pg_stat_statements",
            format!(
                "{}; GRANT pg_read_all_stats TO {}, and USAGE on the extension's schema",
                cause.as_db_error().map_or("it is not permitted", |error| error.message()),
                server.user()
            ),
        ),
        _ => failed("read pg_stat_statements", server_message(cause)),
    }
}

fn missing_statistics(server: &Server, why: impl std::fmt::Display) -> EngineError {
    EngineError::Missing(format!("{} keeps no statistics of statements: {why}", server.place()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_name_statements_that_help() {
        let shown = counts_none("compute_query_id", "off", "auto");
        assert!(
            shown.contains("ALTER SYSTEM SET compute_query_id = 'auto', then SELECT pg_reload_conf()"),
            "{shown}"
        );
        let shown = hidden(3, "watch");
        assert!(shown.ends_with("to show them, GRANT pg_read_all_stats TO watch"), "{shown}");
    }

    #[test]
    fn columns_are_those_of_the_extensions_version() {
        let old = Columns::of("1.7");
        assert_eq!((old.time, old.toplevel, old.has_info), ("total_time", "true", false));
        let known = Columns::of("1.10");
        assert_eq!((known.time, known.toplevel), ("total_exec_time", "s.toplevel"));
        assert!(known.has_info && known.since.starts_with("NULL"));
        for newer in ["1.11", "1.12", "2.0"] {
            assert_eq!(Columns::of(newer).since, "s.stats_since");
        }
        for version in ["1.7", "1.10", "1.12"] {
            for sql in [include_str!("sql/statements.sql"), include_str!("sql/statement_texts.sql")] {
                let filled = Columns::of(version).fill(sql, "\"my schema\"");
                assert!(!filled.contains(['{', '}']) && !filled.contains("--"), "{filled}");
                assert!(filled.contains(threadwise_engine::statements::MARK), "{filled}");
            }
        }
    }
}
