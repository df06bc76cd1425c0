//! SQL Server's SQL and facts, as data.

use threadwise_engine_sql::{Dialect, Marks, SchemaSql};

use crate::ENGINE;
use crate::work::{PAGE_BYTES, ROW_BYTES};

/// SQL Server.
pub(crate) const DIALECT: Dialect = Dialect {
    engine: ENGINE,
    quotes: ["[", "]"],
    marks: Marks::Numbered("@P"),
    call: "EXEC {procedure} {arguments}",
    loops: "loops run inside the server",
    block_bytes: PAGE_BYTES,
    row_bytes: ROW_BYTES,
    // Microseconds since 2020.
    now: include_str!("../sql/now.sql"),
    // Statements are compiled when they are first executed.
    compile_ns: 5_000_000,
    blocks: include_str!("../sql/blocks.sql"),
    blocks_copy: include_str!("../sql/blocks_copy.sql"),
    blocks_index: include_str!("../sql/blocks_index.sql"),
    blocks_settle: "",
    blocks_loop: include_str!("../sql/blocks_loop.sql"),
    blocks_read: include_str!("../sql/blocks_read.sql"),
    blocks_update: include_str!("../sql/blocks_update.sql"),
    blocks_around: ["", "", ""],
    blocks_counted: &[],
    rows: include_str!("../sql/rows.sql"),
    rows_loop: include_str!("../sql/rows_loop.sql"),
    rows_step: include_str!("../sql/rows_step.sql"),
    rows_held: include_str!("../sql/rows_held.sql"),
    rows_put_back: include_str!("../sql/rows_put_back.sql"),
    rows_counted: &[],
    // It has no read-only transactions: see `crate::transaction`.
    begin: ["BEGIN TRANSACTION"; 2],
    end: " TRANSACTION",
    // Linked servers stand before a dot too.
    databases: "SELECT name FROM sys.databases UNION SELECT name FROM sys.servers WHERE is_linked = 1",
    schema: SchemaSql {
        noun: "schema",
        option: "schema",
        lock: include_str!("../sql/lock.sql"),
        is_there: "SELECT SCHEMA_ID(N'{schema}')",
        has_table: "SELECT OBJECT_ID(N'[{schema}].[{name}]')",
        make: include_str!("../sql/schema.sql"),
        objects: include_str!("../sql/objects.sql"),
        announce: include_str!("../sql/announce.sql"),
        drop: "IF OBJECT_ID(N'[{schema}].[{name}]') IS NOT NULL DROP {kind} [{schema}].[{name}]",
        drop_schema: include_str!("../sql/drop_schema.sql"),
        transaction: ["", "", ""],
    },
};
