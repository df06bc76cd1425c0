//! Data and statements of `logical-io`.
//!
//! InnoDB puts at least two rows on a leaf page ("InnoDB Row Formats", mariadb.com/kb): a longer row
//! leaves its page. So visited rows and filler rows alternate in the order of the primary key. A row
//! of this length leaves no room for a third, and two neighbours are one of each kind, so that no page
//! holds two visited rows. The number of pages (mysql.innodb_index_stats after ANALYZE, which counts the
//! pages of the segment) shows that pages are not much emptier either: it is that of the visited rows, and
//! one more if the first page was split. A visit costs more than one page request: those of the path from the
//! root of the primary key to the row.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use std::fmt::Write as _;
use threadwise_engine::workloads::logical_io::{LogicalIo, range_sum, row_sum, shuffled_keys};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use super::statements::{Names, fill, run};
use crate::error::{code, failed, query};

/// Bytes of a page, InnoDB's default.
const PAGE_BYTES: u64 = 16_384;

/// Bytes that fill a row, the width of the column.
const PAYLOAD_BYTES: usize = 7000;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Visited rows of one INSERT statement.
const BATCH: usize = 256;

/// Statements of one transaction of the load.
const STATEMENTS_PER_TX: usize = 16;

/// Microseconds between commits.
const COMMIT_US: u64 = 100_000;

/// Bytes of one table with its index, about.
pub(super) fn bytes(spec: &LogicalIo) -> u64 {
    // Upper levels take a page for every 800 leaves, the index 20 bytes a row.
    spec.blocks * PAGE_BYTES * 102 / 100 + spec.blocks * 2 * 20 + (1 << 20)
}

/// Makes the tables of all sessions.
pub(super) fn load(
    control: &mut Conn,
    names: &Names<'_>,
    spec: &LogicalIo,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    check_page_size(control)?;
    let tables = if spec.shared { 1 } else { request.sessions };
    let mut proof = String::new();
    for table in 0..tables {
        let name = names.blocks(table);
        run(control, "create a table", &fill(include_str!("sql/blocks.sql"), &[("table", &name)]))?;
        if table == 0 {
            insert(control, &name, request.seed, spec)?;
        } else {
            let from = names.blocks(0);
            let copy = fill(include_str!("sql/blocks_copy.sql"), &[("table", &name), ("from", &from)]);
            run(control, "copy a table", &copy)?;
        }
        run(control, "create an index", &fill(include_str!("sql/blocks_index.sql"), &[("table", &name)]))?;
        control
            .query_drop(format!("ANALYZE TABLE {name}"))
            .map_err(|cause| query("analyze a table", &cause))?;
        proof = prove(control, names, table, spec.blocks)?;
        run(control, "create a procedure", &loop_sql(names, table, spec))?;
    }
    Ok(Loaded {
        bytes_per_session: spec.blocks * PAGE_BYTES,
        rows_per_session: spec.blocks,
        notes: vec![format!(
            "{} visited rows of {PAYLOAD_BYTES} bytes, each with one filler on a page of {PAGE_BYTES} bytes; {proof}",
            spec.blocks
        )],
    })
}

fn check_page_size(control: &mut Conn) -> Result<(), EngineError> {
    let action = "read the page size";
    let size: Option<u64> =
        control.query_first("SELECT @@innodb_page_size").map_err(|cause| query(action, &cause))?;
    match size {
        Some(PAGE_BYTES) => Ok(()),
        other => Err(failed(
            "place one visited row on each page",
            format!("innodb_page_size is {} and the rows are made for {PAGE_BYTES}", other.unwrap_or(0)),
        )),
    }
}

/// Fills the first table: visited rows in random key order, each followed by its filler.
fn insert(control: &mut Conn, table: &str, seed: u64, spec: &LogicalIo) -> Result<(), EngineError> {
    let filler = format!("REPEAT('-',{PAYLOAD_BYTES})");
    let keys = shuffled_keys(seed, spec.blocks);
    for (place, transaction) in keys.chunks(BATCH * STATEMENTS_PER_TX).enumerate() {
        let mut id = place * BATCH * STATEMENTS_PER_TX * 2;
        run(control, "begin a load", "START TRANSACTION")?;
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
            run(control, "load rows", &sql)?;
        }
        run(control, "commit a load", "COMMIT")?;
    }
    Ok(())
}

/// Checks for one visited row a page; gives the text of the proof.
fn prove(control: &mut Conn, names: &Names<'_>, table: u32, blocks: u64) -> Result<String, EngineError> {
    let action = "count the pages of a table";
    let name = format!("blocks{}_{table}", names.suffix);
    let counted = control.exec_first::<u64, _, _>(
        "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = ? AND table_name = ? \
         AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'",
        (names.schema, &name),
    );
    match counted {
        Ok(Some(pages)) if (blocks..=blocks + blocks / 50 + 1).contains(&pages) => {
            Ok(format!("{pages} leaf pages in mysql.innodb_index_stats"))
        }
        Ok(pages) => Err(failed(
            "place one visited row on each page",
            format!("{blocks} rows take {} leaf pages", pages.unwrap_or(0)),
        )),
        Err(cause) if matches!(code(&cause), Some(1142 | 1143 | 1044)) => {
            by_size(control, names, &name, blocks)
        }
        Err(cause) => Err(query(action, &cause)),
    }
}

/// The weaker proof, for accounts that may not read mysql.innodb_index_stats: the pages allocated to the
/// primary key, upper levels and unused pages of the last extents included.
fn by_size(control: &mut Conn, names: &Names<'_>, name: &str, blocks: u64) -> Result<String, EngineError> {
    let bytes: Option<u64> = control
        .exec_first(
            "SELECT data_length FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
            (names.schema, name),
        )
        .map_err(|cause| query("read the size of a table", &cause))?;
    let pages = bytes.unwrap_or(0) / PAGE_BYTES;
    // Up to four extents of 64 pages are reserved at once (fsp0fsp, "FSP_FREE_ADD").
    if (blocks..=blocks + blocks / 25 + 256).contains(&pages) {
        return Ok(format!("{pages} pages in all (this account may not read mysql.innodb_index_stats)"));
    }
    Err(failed("place one visited row on each page", format!("{blocks} rows take {pages} pages")))
}

/// The procedure for one table, without what the options do not need.
fn loop_sql(names: &Names<'_>, table: u32, spec: &LogicalIo) -> String {
    let unit = spec.work_unit;
    let starts = |range: u64| format!("FLOOR(RAND() * {})", range - unit + 1);
    let draw = match spec.hot_pct > 0.0 {
        true => format!(
            "SET first = IF(RAND() * 100 < {}, {}, {});",
            spec.hot_pct,
            starts(spec.hot_blocks),
            starts(spec.blocks)
        ),
        false => format!("SET first = {};", starts(spec.blocks)),
    };
    let (name, last) = (names.blocks(table), unit - 1);
    // range_sum(first, unit) = 7 · unit · first + range_sum(0, unit)
    let sum = format!("{} * first + {}", 7 * unit, range_sum(0, unit));
    let read = format!(
        "SELECT COUNT(*), SUM(value + twin) INTO n, s FROM {name} FORCE INDEX (by_k) \
         WHERE k BETWEEN first AND first + {last};"
    );
    // Two sessions that hold rows of one table until later would deadlock.
    let commit = if spec.shared { "COMMIT AND CHAIN;" } else { "" };
    let step = match spec.updates() {
        true => format!(
            "IF RAND() * 100 < {} THEN UPDATE {name} FORCE INDEX (by_k) SET value = value + 1, twin = twin - 1 \
             WHERE k BETWEEN first AND first + {last}; SET n = ROW_COUNT(), s = {sum}; {commit} ELSE {read} END IF;",
            spec.update_pct
        ),
        false => read,
    };
    let pause = match spec.think_time_us {
        0 => String::new(),
        // Never beyond the end: the next step must still be done.
        us => format!("DO SLEEP(GREATEST(0, LEAST({us}, end_us - now_us)) / 1000000);"),
    };
    fill(
        include_str!("sql/blocks_loop.sql"),
        &[
            ("procedure", &names.read_blocks(table)),
            ("draw", &draw),
            ("step", &step),
            ("unit", &unit.to_string()),
            ("sum", &sum),
            ("commit_us", &COMMIT_US.to_string()),
            ("pause", &pause),
        ],
    )
}

/// Statements of the client's loop.
pub(super) fn read_sql(names: &Names<'_>, table: u32) -> String {
    fill(include_str!("sql/blocks_read.sql"), &[("table", &names.blocks(table))])
}

/// A step of the client's loop that updates.
pub(super) fn update_sql(names: &Names<'_>, table: u32) -> String {
    fill(include_str!("sql/blocks_update.sql"), &[("table", &names.blocks(table))])
}

/// Reads all pages of a table and of its index, and checks their contents.
pub(super) fn warm(
    connection: &mut Conn,
    names: &Names<'_>,
    table: u32,
    blocks: u64,
) -> Result<(), EngineError> {
    let name = names.blocks(table);
    let action = "read the whole table";
    let row: Option<(u64, u64, i64)> = connection
        .query_first(format!(
            "SELECT COUNT(*), COUNT(k), SUM(IF(k IS NULL, 0, value + twin)) FROM {name} FORCE INDEX (PRIMARY)"
        ))
        .map_err(|cause| query(action, &cause))?;
    let expected = Some((2 * blocks, blocks, range_sum(0, blocks)));
    if row != expected {
        return Err(EngineError::WrongAnswer(format!("{name} holds {row:?} instead of {expected:?}")));
    }
    let keys: Option<u64> = connection
        .query_first(format!("SELECT COUNT(*) FROM {name} FORCE INDEX (by_k) WHERE k >= 0"))
        .map_err(|cause| query(action, &cause))?;
    match keys {
        Some(keys) if keys == blocks => Ok(()),
        other => Err(EngineError::WrongAnswer(format!("{name} has {other:?} keys instead of {blocks}"))),
    }
}

/// Refuses a plan that would answer from the index alone, or read the whole table; gives the plan.
pub(super) fn plan(
    connection: &mut Conn,
    names: &Names<'_>,
    table: u32,
    unit: u64,
) -> Result<String, EngineError> {
    let sql = format!(
        "EXPLAIN SELECT COUNT(*), SUM(value + twin) FROM {} FORCE INDEX (by_k) WHERE k BETWEEN 0 AND {}",
        names.blocks(table),
        unit - 1
    );
    let rows: Vec<Row> = connection.query(sql).map_err(|cause| query("plan a step", &cause))?;
    let text = |row: &Row, column: &str| -> String {
        row.get_opt::<Option<String>, _>(column).and_then(Result::ok).flatten().unwrap_or_default()
    };
    let [row] = rows.as_slice() else {
        return Err(failed("plan a step", format!("the plan has {} rows instead of 1", rows.len())));
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
    Err(failed("plan a step", format!("the plan is '{plan}' instead of a range of by_k that reads rows")))
}

#[cfg(test)]
mod tests {
    use super::super::statements::names;
    use super::*;
    use threadwise_study::{OptionValue, Options};

    fn spec(pairs: &[(&str, f64)]) -> LogicalIo {
        let options: Options =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect();
        LogicalIo::parse(&options).unwrap()
    }

    #[test]
    fn the_loop_holds_what_is_asked_for_and_no_more() {
        let names = names("s", "_x");
        let plain = loop_sql(&names, 3, &spec(&[]));
        assert!(plain.contains("`s`.`read_blocks_x_3`") && plain.contains("FLOOR(RAND() * 8129)"), "{plain}");
        for absent in ["UPDATE", "SLEEP", "RAND() * 100", "{"] {
            assert!(!plain.contains(absent), "{absent}: {plain}");
        }
        let full = loop_sql(
            &names,
            0,
            &spec(&[("update_pct", 5.0), ("think_time_us", 70.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)]),
        );
        for there in [
            "UPDATE `s`.`blocks_x_0`",
            "LEAST(70,",
            "RAND() * 100 < 50",
            "FLOOR(RAND() * 1)",
            "448 * first + ",
        ] {
            assert!(full.contains(there), "{there}: {full}");
        }
    }
}
