//! What the server counts over a slice (log, transactions, blocks), and what its sessions wait for.
//!
//! Sources: PostgreSQL documentation, "The Cumulative Statistics System": `pg_stat_wal` (from 14),
//! `pg_stat_database`, `pg_stat_io` (from 16), `pg_stat_bgwriter`, `pg_stat_checkpointer` (from 17),
//! `pg_statio_all_tables`, `pg_stat_activity`. Counters belong to the whole server or database, and include the work of
//! others on a user's server. Sessions flush theirs at the end of a slice; the log writer does so in its own time, so that
//! its part may come with the next slice.

use postgres::{Client, Statement};
use std::fmt::Write as _;
use threadwise_engine::EngineError;
use threadwise_engine_sql::{Observer, increments};
use threadwise_study::Counters;

use crate::Server;
use crate::backend::FORCED_FLUSH;
use crate::connection::PostgresConnection;
use crate::dialect::BLOCK_BYTES;
use crate::error::{failed, query};

/// What processes wait for now. A session without a CPU counts as running too: to the server it does not wait.
const WAITS: &str = "SELECT coalesce(wait_event_type || ':' || wait_event, 'running') \
                     FROM pg_stat_activity WHERE pid = ANY($1)";

/// Blocks of a schema's tables and indexes that were read from a file, which the kernel may have had in memory, and those
/// found in PostgreSQL's cache: unlike those of the database, they exclude the catalogue's.
const READS: &str = "SELECT coalesce(sum(heap_blks_read + coalesce(idx_blks_read, 0)), 0)::bigint, \
                     coalesce(sum(heap_blks_hit + coalesce(idx_blks_hit, 0)), 0)::bigint \
                     FROM pg_statio_all_tables WHERE schemaname = $1";

/// A counter: its name, its expression, and the versions that have it, from (inclusive) and to (exclusive).
struct Counter(&'static str, &'static str, u32, u32);

/// Upper bound of counters that every later version has.
const NEWEST: u32 = u32::MAX;

/// Versions that introduced something, by `server_version_num`.
const WAL: u32 = 140_000;
const IO: u32 = 160_000;
const CHECKPOINTER: u32 = 170_000;
const WAL_IN_IO: u32 = 180_000;

const COUNTERS: &[Counter] = &[
    Counter("wal_records", "w.wal_records", WAL, NEWEST),
    Counter("wal_fpi", "w.wal_fpi", WAL, NEWEST),
    Counter("wal_bytes", "w.wal_bytes", WAL, NEWEST),
    Counter("wal_buffers_full", "w.wal_buffers_full", WAL, NEWEST),
    Counter("wal_writes", "w.wal_write", WAL, WAL_IN_IO),
    Counter("wal_syncs", "w.wal_sync", WAL, WAL_IN_IO),
    Counter("wal_writes", "io.wal_writes", WAL_IN_IO, NEWEST),
    Counter("wal_syncs", "io.wal_syncs", WAL_IN_IO, NEWEST),
    Counter("commits", "d.xact_commit", 0, NEWEST),
    Counter("rollbacks", "d.xact_rollback", 0, NEWEST),
    Counter("deadlocks", "d.deadlocks", 0, NEWEST),
    Counter("temp_bytes", "d.temp_bytes", 0, NEWEST),
    Counter("database_blocks_hit", "d.blks_hit", 0, NEWEST),
    Counter("database_blocks_read", "d.blks_read", 0, NEWEST),
    Counter("checkpoints", "b.checkpoints_timed + b.checkpoints_req", 0, CHECKPOINTER),
    Counter("checkpoints", "c.num_timed + c.num_requested", CHECKPOINTER, NEWEST),
    Counter("checkpointer_blocks_written", "b.buffers_checkpoint", 0, CHECKPOINTER),
    Counter("checkpointer_blocks_written", "c.buffers_written", CHECKPOINTER, NEWEST),
    Counter("bgwriter_blocks_written", "b.buffers_clean", 0, NEWEST),
    Counter("backend_blocks_written", "b.buffers_backend", 0, CHECKPOINTER),
    Counter("blocks_allocated", "b.buffers_alloc", 0, NEWEST),
    Counter("backend_blocks_written", "io.backend_writes", CHECKPOINTER, NEWEST),
    Counter("blocks_extended", "io.extends", IO, NEWEST),
    Counter("blocks_evicted", "io.evictions", IO, NEWEST),
];

/// What reads counters and waits of a treatment.
pub struct PostgresObserver {
    stats: Statement,
    names: Vec<&'static str>,
    waits: Statement,
    /// The schema whose blocks are counted for queries.
    schema: Option<String>,
    first: Counters,
}

impl PostgresObserver {
    /// Prepares to observe; with notes about what the server's version lacks. Blocks of `schema` are counted for queries.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn start(
        client: &mut Client,
        server: &Server,
        schema: Option<&str>,
    ) -> Result<(Self, Vec<String>), EngineError> {
        let version_num = server.version_num();
        let had = counters_of(version_num);
        let mut prepare =
            |action: &str, sql: &str| client.prepare(sql).map_err(|cause| query(action, &cause));
        let stats = prepare("prepare the reading of its statistics", &reading(&had, version_num))?;
        let waits = prepare("prepare the sampling of waits", WAITS)?;
        let names = had.iter().map(|counter| counter.0).collect();
        let schema = schema.filter(|_| version_num >= FORCED_FLUSH).map(str::to_owned);
        let observer = Self { stats, names, waits, schema, first: Counters::new() };
        Ok((observer, lacks(version_num)))
    }

    fn now(&self, client: &mut Client) -> Result<Counters, EngineError> {
        let action = "read its statistics";
        let row = client.query_one(&self.stats, &[]).map_err(|cause| query(action, &cause))?;
        let mut now = Counters::new();
        let mut add = |name: &str, count: i64| now.insert(name.to_owned(), u64::try_from(count).unwrap_or(0));
        for (column, name) in self.names.iter().enumerate() {
            let count: i64 = row.try_get(column).map_err(|cause| failed(action, cause))?;
            add(name, count);
            if self.schema.is_some() && *name == "temp_bytes" {
                add("spill_bytes", count);
            }
        }
        let Some(schema) = &self.schema else { return Ok(now) };
        let row = client.query_one(READS, &[schema]);
        let (read, hit): (i64, i64) = row
            .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .map_err(|cause| query("read the statistics of its tables", &cause))?;
        add("read_bytes", read.saturating_mul(BLOCK_BYTES.cast_signed()));
        add("buffer_hits", hit);
        Ok(now)
    }
}

impl Observer<PostgresConnection> for PostgresObserver {
    fn begin(&mut self, control: &mut PostgresConnection) -> Result<(), EngineError> {
        self.first = self.now(&mut control.client)?;
        Ok(())
    }

    fn end(&mut self, control: &mut PostgresConnection) -> Result<Counters, EngineError> {
        match self.first.is_empty() {
            true => Ok(Counters::new()),
            false => Ok(increments(&self.first, &self.now(&mut control.client)?)),
        }
    }

    fn waits(
        &mut self,
        control: &mut PostgresConnection,
        sessions: &[i64],
    ) -> Result<Option<Vec<String>>, EngineError> {
        let action = "sample waits";
        let pids: Vec<i32> = sessions.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect();
        let rows = control.client.query(&self.waits, &[&pids]).map_err(|cause| query(action, &cause))?;
        let waits = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, postgres::Error>>();
        waits.map(Some).map_err(|cause| query(action, &cause))
    }
}

/// The counters that a version has.
fn counters_of(version_num: u32) -> Vec<&'static Counter> {
    COUNTERS.iter().filter(|Counter(_, _, from, below)| (*from..*below).contains(&version_num)).collect()
}

fn reading(counters: &[&Counter], version_num: u32) -> String {
    let mut sql = String::from("SELECT ");
    for (index, Counter(_, expression, ..)) in counters.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(sql, "{comma}coalesce({expression}, 0)::bigint");
    }
    sql.push_str(" FROM pg_stat_bgwriter AS b CROSS JOIN pg_stat_database AS d");
    if version_num >= WAL {
        sql.push_str(" CROSS JOIN pg_stat_wal AS w");
    }
    if version_num >= CHECKPOINTER {
        sql.push_str(" CROSS JOIN pg_stat_checkpointer AS c");
    }
    if version_num >= IO {
        let wal = match version_num >= WAL_IN_IO {
            true => {
                "sum(writes) FILTER (WHERE object = 'wal') AS wal_writes, \
                 sum(fsyncs) FILTER (WHERE object = 'wal') AS wal_syncs, "
            }
            false => "",
        };
        let blocks = "object <> 'wal'";
        // Writing to a String cannot fail.
        let _ = write!(
            sql,
            " CROSS JOIN (SELECT {wal}sum(writes) FILTER (WHERE {blocks} AND backend_type = 'client backend') \
             AS backend_writes, sum(extends) FILTER (WHERE {blocks}) AS extends, \
             sum(evictions) FILTER (WHERE {blocks}) AS evictions FROM pg_stat_io) AS io"
        );
    }
    sql.push_str(" WHERE d.datname = current_database()");
    sql
}

fn lacks(version_num: u32) -> Vec<String> {
    let version = version_num / 10_000;
    let mut lacks = Vec::new();
    if version_num < WAL {
        lacks.push(format!("PostgreSQL {version} has no pg_stat_wal: no counters of the log"));
    }
    if version_num < FORCED_FLUSH {
        lacks.push(format!(
            "PostgreSQL {version} collects statistics up to half a second late: the server's counters of one \
             slice may belong to its neighbours"
        ));
    }
    if version_num < IO {
        lacks.push(format!("PostgreSQL {version} has no pg_stat_io: no counts of new and evicted blocks"));
    }
    lacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_has_a_counter_twice() {
        for version_num in [110_000, 130_000, 140_005, 150_018, 160_001, 170_002, 180_000, 190_000] {
            let mut names: Vec<_> = counters_of(version_num).iter().map(|counter| counter.0).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{version_num}");
        }
    }

    #[test]
    fn each_version_reads_the_views_that_it_has() {
        let sql = |version_num: u32| reading(&counters_of(version_num), version_num);
        assert!(!sql(130_000).contains("pg_stat_wal") && !sql(130_000).contains("w."));
        assert!(sql(150_000).contains("w.wal_sync") && !sql(150_000).contains("io."));
        assert!(sql(170_000).contains("w.wal_sync") && sql(170_000).contains("c.num_timed"));
        assert!(sql(180_000).contains("io.wal_syncs") && !sql(180_000).contains("w.wal_sync"));
        assert_eq!((lacks(130_000).len(), lacks(150_000).len(), lacks(160_000).len()), (3, 1, 0));
    }
}
