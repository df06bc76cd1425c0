//! PostgreSQL's SQL and facts, as data.

use threadwise_engine_sql::{Dialect, Marks, SchemaSql};

use crate::error::ENGINE;

/// Bytes of a PostgreSQL block (`BLCKSZ`, which packages do not change).
pub(crate) const BLOCK_BYTES: u64 = 8192;

/// Bytes of a row with its item pointer (header 24, c1 and c2 8 each, c3 112 with its length, c4 and
/// c5, c6, pointer 4), and of its index entry on leaves that splits left half full.
pub(crate) const ROW_BYTES: u64 = 176 + 40;

/// PostgreSQL.
pub(crate) const DIALECT: Dialect = Dialect {
    engine: ENGINE,
    quotes: ["\"", "\""],
    marks: Marks::Numbered("$"),
    call: "CALL {procedure}({arguments})",
    loops: "loops run inside the server",
    block_bytes: BLOCK_BYTES,
    row_bytes: ROW_BYTES,
    now: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    compile_ns: 0,
    blocks: include_str!("sql/blocks.sql"),
    blocks_copy: "INSERT INTO {table} SELECT * FROM {from} ORDER BY ctid",
    blocks_index: include_str!("sql/blocks_index.sql"),
    // Sets what a later reader would otherwise write: hint bits, frozen rows, the visibility map.
    blocks_settle: "VACUUM (FREEZE, ANALYZE) {table}",
    blocks_loop: include_str!("sql/blocks_loop.sql"),
    blocks_read: include_str!("sql/blocks_read.sql"),
    blocks_update: include_str!("sql/blocks_update.sql"),
    // In a transaction the backend keeps its counts of blocks. An update is committed in the round trip that begins the
    // next transaction.
    blocks_around: ["BEGIN", "COMMIT; BEGIN", "COMMIT"],
    blocks_counted: &["logical_reads", "physical_reads"],
    rows: include_str!("sql/rows.sql"),
    rows_loop: include_str!("sql/rows_loop.sql"),
    rows_step: include_str!("sql/rows_step.sql"),
    rows_held: include_str!("sql/rows_held.sql"),
    rows_put_back: include_str!("sql/rows_put_back.sql"),
    // Up to version 15 a new block counts as one that was not in the cache.
    rows_counted: &["logical_reads", "blocks_not_hit_or_new"],
    begin: ["BEGIN READ ONLY", "BEGIN READ WRITE"],
    end: "",
    databases: "",
    schema: SchemaSql {
        noun: "schema",
        option: "schema",
        lock: include_str!("sql/lock.sql"),
        is_there: "SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'",
        has_table: "SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}' AND tablename = '{name}'",
        make: include_str!("sql/schema.sql"),
        objects: include_str!("sql/objects.sql"),
        announce: "INSERT INTO \"{schema}\".threadwise_objects VALUES ('{kind}', '{name}') ON CONFLICT DO NOTHING",
        drop: "DROP {kind} IF EXISTS \"{schema}\".\"{name}\"",
        drop_schema: "DROP TABLE IF EXISTS \"{schema}\".threadwise_mark, \"{schema}\".threadwise_objects, \
                      \"{schema}\".threadwise_loads\nGO\nDROP SCHEMA \"{schema}\"",
        // A session of a killed worker may hold a table until its call ends, another session for ever.
        transaction: ["BEGIN; SET LOCAL lock_timeout = '60s'", "COMMIT", "ROLLBACK"],
    },
};
