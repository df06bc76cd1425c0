//! Statistics of statements, of the plan cache: sys.dm_exec_query_stats, by query hash. Their texts hold literals and are
//! not read; those of statements with parameters come from the Query Store, if it is on in the login's database.
//!
//! Sources: sys.dm_exec_query_stats ("rows are removed with their plan"; rights), sys.query_store_query, "Monitor
//! performance by using the Query Store".

use std::collections::{HashMap, HashSet};
use threadwise_engine::statements::{SourceFacts, without_literals};
use threadwise_engine::{EngineError, StatementSource};
use threadwise_engine_sql::fill;
use threadwise_observed::{Snapshot, StatementCount, StatementText};

use super::connect::{Connection, Fault, Server};
use super::error::{advice, code, query};
use super::statements::{text, whole};
use crate::failed;
use crate::transaction::QUOTING;

/// An open connection.
pub(super) struct Statements {
    connection: Connection,
    facts: SourceFacts,
}

impl Statements {
    /// Connects and reads once.
    ///
    /// # Errors
    /// The server does not answer, or does not permit this login to read its plan cache.
    pub(super) fn open(server: &Server) -> Result<Self, EngineError> {
        if server.is_babelfish() {
            let why = "Babelfish has no sys.dm_exec_query_stats: name its PostgreSQL, postgres://…";
            return Err(EngineError::Missing(format!("this server keeps no such statistics: {why}")));
        }
        let mut connection = server.connect("threadwise observe")?;
        read(&mut connection).map_err(|cause| refused(&cause))?;
        let remarks =
            ["statistics are those of cached plans: what a plan did since the last look is lost with it"];
        let facts = SourceFacts {
            version: server.version_text(),
            place: server.target().place(),
            is_local: server.target().is_here(),
            remarks: remarks.map(str::to_owned).to_vec(),
        };
        Ok(Self { connection, facts })
    }
}

fn read(connection: &mut Connection) -> Result<Snapshot, Fault> {
    let rows = connection.rows(&fill(include_str!("../sql/statements.sql"), &[]))?;
    let mut snapshot = Snapshot::default();
    for row in &rows {
        let number =
            |at: usize| whole(row, at).and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
        match text(row, 0) {
            None => snapshot.started_unix_s = whole(row, 2).map(|seconds| seconds as f64),
            Some(key) => snapshot.statements.push(StatementCount {
                key,
                calls: number(2),
                time_ns: number(3).saturating_mul(1000),
                rows: number(4),
                since: text(row, 1),
            }),
        }
    }
    Ok(snapshot)
}

/// The error of the first read, with the right that is missing.
fn refused(cause: &Fault) -> EngineError {
    match code(cause) {
        Some(229 | 297 | 300) => failed(
            "read sys.dm_exec_query_stats",
            format!(
                "{}; GRANT VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE) TO the login",
                advice(cause)
            ),
        ),
        _ => query("read sys.dm_exec_query_stats", cause),
    }
}

impl StatementSource for Statements {
    fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    fn snapshot(&mut self) -> Result<Snapshot, EngineError> {
        read(&mut self.connection).map_err(|cause| query("read sys.dm_exec_query_stats", &cause))
    }

    fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError> {
        let marks = self.connection.rows(&fill(include_str!("../sql/statement_marks.sql"), &[]));
        let marks = marks.map_err(|cause| query("read what statements are", &cause))?;
        let mut stored: HashMap<String, (Option<String>, String)> = HashMap::new();
        if wants_text {
            // Before 2016, or without the right, there is no Query Store.
            let found = self
                .connection
                .rows(&fill(include_str!("../sql/statement_texts.sql"), &[]))
                .unwrap_or_default();
            stored
                .extend(found.iter().filter_map(|row| Some((text(row, 0)?, (text(row, 1), text(row, 2)?)))));
        }
        let wanted: HashSet<&str> = keys.iter().map(String::as_str).collect();
        let one = |row| {
            let key = text(row, 0).filter(|key| wanted.contains(key.as_str()))?;
            let (database, words) =
                stored.remove(&key).map_or((None, None), |(name, text)| (name, Some(text)));
            Some(StatementText {
                database: database.or_else(|| text(row, 1)),
                user: None,
                text: words.map(|words| without_literals(&words, QUOTING)),
                is_ours: whole(row, 2) == Some(1),
                key,
            })
        };
        Ok(marks.iter().filter_map(one).collect())
    }
}
