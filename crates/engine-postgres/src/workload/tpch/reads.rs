//! Blocks of the data that were read and found in PostgreSQL's cache, by the statistics of its tables and their
//! indexes: unlike those of the database, they exclude the catalogue's blocks.
//!
//! Source: PostgreSQL documentation, "The Cumulative Statistics System", `pg_statio_all_tables`.

use postgres::Client;
use threadwise_engine::EngineError;

use crate::error::query;

/// Blocks so far, of all sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Reads {
    /// Read from a file, which the kernel may have had in memory.
    pub(in super::super) read: u64,
    /// Found in PostgreSQL's cache.
    pub(in super::super) hit: u64,
}

impl Reads {
    /// The counts of the tables in a schema.
    ///
    /// # Errors
    /// An error of the server.
    pub(in super::super) fn so_far(client: &mut Client, schema: &str) -> Result<Self, EngineError> {
        let sql = "SELECT coalesce(sum(heap_blks_read + coalesce(idx_blks_read, 0)), 0)::bigint, \
                   coalesce(sum(heap_blks_hit + coalesce(idx_blks_hit, 0)), 0)::bigint \
                   FROM pg_statio_all_tables WHERE schemaname = $1";
        let row = client.query_one(sql, &[&schema]);
        let (read, hit): (i64, i64) = row
            .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .map_err(|cause| query("read the statistics of its tables", &cause))?;
        Ok(Self { read: u64::try_from(read).unwrap_or(0), hit: u64::try_from(hit).unwrap_or(0) })
    }

    /// Increments since `before`.
    pub(in super::super) fn since(self, first: Self) -> Self {
        Self { read: self.read.saturating_sub(first.read), hit: self.hit.saturating_sub(first.hit) }
    }
}
