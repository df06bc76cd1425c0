//! `logical-io`: how one visited row comes to lie on a page, and how that and the cache are proved.
//!
//! InnoDB puts at least two rows on a leaf page ("InnoDB Row Formats", mariadb.com/kb): a longer row
//! leaves its page. So visited rows and filler rows alternate in the order of the primary key. A row
//! of this length leaves no room for a third, and two neighbours are one of each kind, so that no page
//! holds two visited rows. The number of pages (mysql.innodb_index_stats after ANALYZE, which counts the
//! pages of the segment) shows that pages are not much emptier either: it is that of the visited rows, and
//! one more if the first page was split. A visit costs more than one page request: those of the path from the
//! root of the primary key to the row.

use mysql::Row;
use mysql::prelude::Queryable;
use std::fmt::Write as _;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::logical_io::{LogicalIo, range_sum, row_sum, shuffled_keys, smaller_data};
use threadwise_engine_sql::{Blocks, Connection, Names, increments, numbers};

use crate::connection::MariadbConnection;
use crate::dialect::PAGE_BYTES;
use crate::error::code;
use crate::observe::{PAGES_READ, counters};

/// Bytes that fill a row, the width of the column.
const PAYLOAD_BYTES: usize = 7000;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Visited rows of one INSERT statement.
const BATCH: usize = 256;

/// Statements of one transaction of the load.
const STATEMENTS_PER_TX: usize = 16;

/// Most pages that the second reading of all data may fetch from files, per 1000.
const UNCACHED_PER_MILLE: u64 = 1;

/// Fills the first table: visited rows in random key order, each followed by its filler.
///
/// # Errors
/// An error of the server; or pages of another size.
pub(crate) fn fill(
    control: &mut MariadbConnection,
    blocks: &Blocks<'_>,
    seed: u64,
) -> Result<(), EngineError> {
    let size = numbers(control, "read the page size", "SELECT @@innodb_page_size")?;
    if size != [i64::try_from(PAGE_BYTES).ok()] {
        let why = format!(
            "innodb_page_size is {} and the rows are made for {PAGE_BYTES}",
            size[0].unwrap_or_default()
        );
        return Err(control.product().failed("place one visited row on each page", why));
    }
    let (table, filler) = (blocks.table(), format!("REPEAT('-',{PAYLOAD_BYTES})"));
    let keys = shuffled_keys(seed, blocks.spec.blocks);
    for (place, transaction) in keys.chunks(BATCH * STATEMENTS_PER_TX).enumerate() {
        let mut id = place * BATCH * STATEMENTS_PER_TX * 2;
        control.run("begin a load", "START TRANSACTION")?;
        for batch in transaction.chunks(BATCH) {
            let mut sql = format!("INSERT INTO {table} VALUES ");
            for key in batch {
                let twin = row_sum(u64::from(*key)) - VALUE_BASE;
                let comma = if id.is_multiple_of(2 * BATCH) { "" } else { "," };
                // Writing to a String cannot fail.
                let _ = write!(
                    sql,
                    "{comma}({},{key},{VALUE_BASE},{twin},{filler}),({},NULL,0,0,{filler})",
                    id + 1,
                    id + 2
                );
                id += 2;
            }
            control.run("load rows", &sql)?;
        }
        control.run("commit a load", "COMMIT")?;
    }
    Ok(())
}

/// Checks for one visited row a page; gives the note about it.
///
/// # Errors
/// The rows take another number of pages; or an error of the server.
pub(crate) fn prove(control: &mut MariadbConnection, blocks: &Blocks<'_>) -> Result<String, EngineError> {
    let rows = blocks.spec.blocks;
    let proof = proof(control, &blocks.names, &blocks.bare(), rows)?;
    Ok(format!(
        "{rows} visited rows of {PAYLOAD_BYTES} bytes, each with one filler on a page of {PAGE_BYTES} bytes; {proof}"
    ))
}

fn proof(
    control: &mut MariadbConnection,
    names: &Names<'_>,
    name: &str,
    blocks: u64,
) -> Result<String, EngineError> {
    let action = "count the pages of a table";
    let counted = control.conn.exec_first::<u64, _, _>(
        "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = ? AND table_name = ? \
         AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'",
        (names.schema, name),
    );
    match counted {
        Ok(Some(pages)) if (blocks..=blocks + blocks / 50 + 1).contains(&pages) => {
            Ok(format!("{pages} leaf pages in mysql.innodb_index_stats"))
        }
        Ok(pages) => Err(control.product().failed(
            "place one visited row on each page",
            format!("{blocks} rows take {} leaf pages", pages.unwrap_or(0)),
        )),
        Err(cause) if matches!(code(&cause), Some(1142 | 1143 | 1044)) => {
            by_size(control, names, name, blocks)
        }
        Err(cause) => Err(control.product().query(action, &cause)),
    }
}

/// The weaker proof, for accounts that may not read mysql.innodb_index_stats: the pages allocated to the
/// primary key, upper levels and unused pages of the last extents included.
fn by_size(
    control: &mut MariadbConnection,
    names: &Names<'_>,
    name: &str,
    blocks: u64,
) -> Result<String, EngineError> {
    let product = control.product();
    let bytes: Option<u64> = control
        .conn
        .exec_first(
            "SELECT data_length FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            (names.schema, name),
        )
        .map_err(|cause| product.query("read the size of a table", &cause))?;
    let pages = bytes.unwrap_or(0) / PAGE_BYTES;
    // Up to four extents of 64 pages are reserved at once (fsp0fsp, "FSP_FREE_ADD").
    if (blocks..=blocks + blocks / 25 + 256).contains(&pages) {
        return Ok(format!("{pages} pages in all (this account may not read mysql.innodb_index_stats)"));
    }
    Err(product.failed("place one visited row on each page", format!("{blocks} rows take {pages} pages")))
}

/// Reads all pages of a table and of its index, and checks their contents.
///
/// # Errors
/// Other contents; or an error of the server.
pub(crate) fn warm(connection: &mut MariadbConnection, blocks: &Blocks<'_>) -> Result<(), EngineError> {
    let (name, action, blocks) = (blocks.table(), "read the whole table", blocks.spec.blocks);
    let rows = i64::try_from(blocks).unwrap_or_default();
    let sql = format!(
        "SELECT COUNT(*), COUNT(k), SUM(IF(k IS NULL, 0, value + twin)) FROM {name} FORCE INDEX (PRIMARY)"
    );
    let (found, expected) =
        (numbers(connection, action, &sql)?, [2 * rows, rows, range_sum(0, blocks)].map(Some));
    if found != expected {
        return Err(EngineError::WrongAnswer(format!("{name} holds {found:?} instead of {expected:?}")));
    }
    let sql = format!("SELECT COUNT(*) FROM {name} FORCE INDEX (by_k) WHERE k >= 0");
    match numbers(connection, action, &sql)? {
        [Some(keys)] if keys == rows => Ok(()),
        [other] => Err(EngineError::WrongAnswer(format!("{name} has {other:?} keys instead of {blocks}"))),
    }
}

/// Proves that the data is in memory: a second reading of all of it reads no file.
///
/// # Errors
/// It is not cached, with the size that would be; or an error of the server.
pub(crate) fn prove_cached(
    control: &mut MariadbConnection,
    names: Names<'_>,
    tables: u32,
    spec: &LogicalIo,
) -> Result<(), EngineError> {
    let most = (u64::from(tables) * spec.blocks * UNCACHED_PER_MILLE / 1000).max(u64::from(tables));
    let mut read = 0;
    // On a shared server reads of others count too, hence a second attempt.
    for _ in 0..2 {
        let before = counters(control)?;
        (0..tables).try_for_each(|number| warm(control, &Blocks { names, number, spec }))?;
        let counted = increments(&before, &counters(control)?);
        read = counted.get(PAGES_READ).copied().unwrap_or(0);
        if read <= most {
            return Ok(());
        }
    }
    let sql = "SELECT @@GLOBAL.innodb_buffer_pool_size";
    let [pool] = numbers(control, "read innodb_buffer_pool_size", sql)?;
    let pool = pool.map_or(0, i64::unsigned_abs);
    let why = format!(
        "not cached: reading it again read {read} pages from files; innodb_buffer_pool_size is {} MiB: make it larger, \
         or {}",
        pool >> 20,
        smaller_data(pool, u64::from(tables))
    );
    Err(control.product().failed("keep the data in memory", why))
}

/// Refuses a plan that would answer from the index alone, or read the whole table; gives the plan.
///
/// # Errors
/// Another plan; or an error of the server.
pub(crate) fn plan(connection: &mut MariadbConnection, blocks: &Blocks<'_>) -> Result<String, EngineError> {
    let unit = blocks.spec.work_unit;
    let sql = format!(
        "EXPLAIN FORMAT=TRADITIONAL SELECT COUNT(*), SUM(value + twin) FROM {} FORCE INDEX (by_k) WHERE k BETWEEN 0 AND {}",
        blocks.table(),
        unit - 1
    );
    let product = connection.product();
    let rows: Vec<Row> = connection.conn.query(sql).map_err(|cause| product.query("plan a step", &cause))?;
    let text = |row: &Row, column: &str| -> String {
        row.get_opt::<Option<String>, _>(column).and_then(Result::ok).flatten().unwrap_or_default()
    };
    let [row] = rows.as_slice() else {
        return Err(product.failed("plan a step", format!("the plan has {} rows instead of 1", rows.len())));
    };
    let (kind, key, extra) = (text(row, "type"), text(row, "key"), text(row, "Extra"));
    let plan = format!("type {kind}, key {key}, {extra}");
    // A range of one key is a look-up of that key.
    let kinds: &[&str] = if unit == 1 { &["range", "const", "ref"] } else { &["range"] };
    let covering = extra.split("; ").any(|part| part == "Using index");
    let detour = ["Rowid-ordered", "Key-ordered", "rowid filter"].iter().any(|word| extra.contains(word));
    if kinds.contains(&kind.as_str()) && key == "by_k" && !covering && !detour {
        return Ok(plan);
    }
    Err(product
        .failed("plan a step", format!("the plan is '{plan}' instead of a range of by_k that reads rows")))
}
