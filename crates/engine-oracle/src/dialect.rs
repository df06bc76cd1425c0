//! Oracle's SQL and facts, as data.
//!
//! Names have no quotes, so that the server turns them into capitals, and begin with a prefix: threadwise's objects lie
//! in the account's own schema, since making another one takes an administrator.

use threadwise_engine_sql::{Dialect, Marks, SchemaSql};

use crate::error::ENGINE;

/// Bytes of a block, the usual ones.
pub(crate) const BLOCK_BYTES: u64 = 8192;

/// Bytes of a row with its entry in the index, estimated and not measured: 155 bytes of a row in a block that is filled
/// to 90%, and an entry of 22 bytes in a leaf that is filled to about 70%.
pub(crate) const ROW_BYTES: u64 = 210;

/// Oracle.
pub(crate) const DIALECT: Dialect = Dialect {
    engine: ENGINE,
    quotes: ["", ""],
    marks: Marks::Numbered(":p"),
    call: "BEGIN {procedure}({arguments}, {answers}); END;",
    loops: "loops run inside the server",
    block_bytes: BLOCK_BYTES,
    row_bytes: ROW_BYTES,
    now: include_str!("sql/now.sql"),
    // Statements are parsed when they are first executed.
    compile_ns: 5_000_000,
    blocks: include_str!("sql/blocks.sql"),
    blocks_copy: include_str!("sql/blocks_copy.sql"),
    blocks_index: include_str!("sql/blocks_index.sql"),
    blocks_settle: include_str!("sql/blocks_settle.sql"),
    blocks_loop: include_str!("sql/blocks_loop.sql"),
    blocks_read: include_str!("sql/blocks_read.sql"),
    blocks_update: include_str!("sql/blocks_update.sql"),
    // A session commits each statement of its own.
    blocks_around: ["", "", ""],
    blocks_counted: &[],
    rows: include_str!("sql/rows.sql"),
    rows_loop: include_str!("sql/rows_loop.sql"),
    rows_step: include_str!("sql/rows_step.sql"),
    rows_held: include_str!("sql/rows_held.sql"),
    rows_put_back: include_str!("sql/rows_put_back.sql"),
    rows_counted: &[],
    begin: ["SET TRANSACTION READ ONLY", "SET TRANSACTION READ WRITE"],
    end: "",
    // A name with a link to another one is refused.
    databases: "",
    schema: SchemaSql {
        noun: "set of objects",
        option: "prefix",
        lock: include_str!("sql/lock.sql"),
        is_there: include_str!("sql/is_there.sql"),
        has_table: include_str!("sql/has_table.sql"),
        make: include_str!("sql/schema.sql"),
        objects: include_str!("sql/objects.sql"),
        announce: include_str!("sql/announce.sql"),
        drop: include_str!("sql/drop.sql"),
        drop_schema: include_str!("sql/drop_schema.sql"),
        transaction: ["", "", ""],
    },
};
