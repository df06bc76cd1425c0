//! Data and statements of `logical-io`.
//!
//! A page of 8 KiB holds one row of 7,000 bytes of fixed width and never two ("Pages and extents architecture
//! guide": 8,060 bytes of rows). Rows are in a heap in random key order, with an index, so that each row
//! of a step is on a random page.

use threadwise_engine::workloads::logical_io::{LogicalIo, range_sum, row_sum, shuffled_keys};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use tiberius::{ColumnData, TokenRow};

use crate::client::connect::{Connection, Fault, Server};
use crate::client::error::{advice, query};
use crate::client::statements::{Names, fill, one_row, run, whole};
use crate::failed;
use crate::work::PAGE_BYTES;

/// Bytes that fill a row.
const PAYLOAD_BYTES: u64 = 7000;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Makes the tables of all sessions.
pub(super) fn load(
    control: &mut Connection,
    server: &Server,
    names: &Names<'_>,
    spec: &LogicalIo,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let tables = if spec.shared { 1 } else { request.sessions };
    let mut proof = String::new();
    for table in 0..tables {
        let name = names.blocks(table);
        let with_table = [("table", name.as_str())];
        run(control, "create a table", &fill(include_str!("../../sql/blocks.sql"), &with_table))?;
        if table == 0 {
            insert(control, &name, request.seed, spec)?;
        } else {
            let from = names.blocks(0);
            let places = [("table", name.as_str()), ("from", &from)];
            run(control, "copy a table", &fill(include_str!("../../sql/blocks_copy.sql"), &places))?;
        }
        run(control, "create an index", &fill(include_str!("../../sql/blocks_index.sql"), &with_table))?;
        warm(control, names, table, spec.blocks)?;
        proof = prove(control, server, &name, spec.blocks)?;
        run(control, "create a procedure", &loop_sql(names, table, spec))?;
    }
    let rows = spec.blocks;
    Ok(Loaded {
        bytes_per_session: rows * PAGE_BYTES,
        rows_per_session: rows,
        notes: vec![format!(
            "{rows} rows of {PAYLOAD_BYTES} bytes, one a page of {PAGE_BYTES} bytes; {proof}"
        )],
    })
}

/// Fills the first table, in random key order.
fn insert(control: &mut Connection, table: &str, seed: u64, spec: &LogicalIo) -> Result<(), EngineError> {
    let mut keys = shuffled_keys(seed, spec.blocks).into_iter();
    let mut next = || {
        Ok::<_, Fault>(keys.next().map(|key| {
            let mut row = TokenRow::new();
            row.push(ColumnData::I32(i32::try_from(key).ok()));
            row.push(ColumnData::I64(Some(VALUE_BASE)));
            row.push(ColumnData::I64(Some(row_sum(u64::from(key)) - VALUE_BASE)));
            row
        }))
    };
    let loaded = control.bulk(table, &["k", "value", "twin"], &mut next);
    loaded.map(drop).map_err(|cause| query("load rows", &cause))
}

/// Checks for one row a page; gives the text of the proof, or that there is none.
fn prove(control: &mut Connection, server: &Server, table: &str, blocks: u64) -> Result<String, EngineError> {
    let counted = control.rows(&fill(include_str!("../../sql/blocks_pages.sql"), &[("table", table)]));
    let pages = match counted {
        Ok(rows) => rows.first().and_then(|row| whole(row, 0)).and_then(|pages| u64::try_from(pages).ok()),
        Err(cause @ Fault::Server(_)) if server.is_babelfish() => {
            return Ok(format!("not proved: the server does not count pages ({})", advice(&cause)));
        }
        Err(cause) => return Err(query("count the pages of a table", &cause)),
    };
    match pages {
        Some(pages) if (blocks..=blocks + blocks / 50 + 8).contains(&pages) => {
            Ok(format!("{pages} data pages in sys.allocation_units"))
        }
        None => Ok("not proved: the login may not see sys.allocation_units".to_owned()),
        Some(pages) => Err(failed(
            "place one row on each page",
            format!("{blocks} rows take {pages} pages; is the database compressed?"),
        )),
    }
}

/// The procedure for one table, without what the options do not need.
fn loop_sql(names: &Names<'_>, table: u32, spec: &LogicalIo) -> String {
    let unit = spec.work_unit;
    // A multiplicative generator of 31 bits; x times the number of starts stays below 2^59.
    let next = "SET @x = (@x * 48271) % 2147483647;";
    let start = |range: u64| format!("{next} SET @first = (@x * {}) / 2147483647;", range - unit + 1);
    let happens = |percent: f64| format!("@x * 100e0 < {percent:?} * 2147483647e0");
    let draw = match spec.hot_pct > 0.0 {
        true => format!(
            "{next} IF {} BEGIN {} END ELSE BEGIN {} END",
            happens(spec.hot_pct),
            start(spec.hot_blocks),
            start(spec.blocks)
        ),
        false => start(spec.blocks),
    };
    let (name, last) = (names.blocks(table), unit - 1);
    let range = format!("WHERE k BETWEEN @first AND @first + {last}");
    // range_sum(first, unit) = 7 · unit · first + range_sum(0, unit)
    let sum = format!("{} * @first + {}", 7 * unit, range_sum(0, unit));
    let read = format!(
        "SELECT @n = COUNT(*), @s = SUM(value + twin) FROM {name} WITH (INDEX(by_k)) {range} OPTION (MAXDOP 1);"
    );
    let step = match spec.updates() {
        true => format!(
            "{next} IF {} BEGIN UPDATE {name} SET value = value + 1, twin = twin - 1 {range}; SET @n = @@ROWCOUNT; \
             SET @s = {sum}; END ELSE {read}",
            happens(spec.update_pct)
        ),
        false => read,
    };
    // Two sessions that hold rows of one table until later would deadlock: each statement is then a transaction of its
    // own.
    let keeps = spec.updates() && !spec.shared;
    let only = |text: &str| if keeps { text.to_owned() } else { String::new() };
    let commit = "IF @now >= @commit_at BEGIN COMMIT TRANSACTION; BEGIN TRANSACTION; \
                  SET @commit_at = DATEADD(MILLISECOND, 100, @now); END";
    let pause = match spec.think_time_us / 1000 {
        0 => String::new(),
        // Never beyond the end: the next step must still be done.
        ms => format!(
            "SET @left = DATEDIFF(MILLISECOND, @now, @end_at); IF @left > {ms} SET @left = {ms}; IF @left > 0 BEGIN \
             SET @pause = DATEADD(MILLISECOND, @left, CAST(0 AS datetime)); WAITFOR DELAY @pause; END"
        ),
    };
    fill(
        include_str!("../../sql/blocks_loop.sql"),
        &[
            ("procedure", &names.read_blocks(table)),
            ("begin", &only("BEGIN TRANSACTION;")),
            ("draw", &draw),
            ("step", &step),
            ("unit", &unit.to_string()),
            ("sum", &sum),
            ("commit", &only(commit)),
            ("pause", &pause),
            ("end", &only("COMMIT TRANSACTION;")),
        ],
    )
}

/// A step of the client's loop that reads.
pub(super) fn read_sql(names: &Names<'_>, table: u32) -> String {
    fill(include_str!("../../sql/blocks_read.sql"), &[("table", &names.blocks(table))])
}

/// A step of the client's loop that updates.
pub(super) fn update_sql(names: &Names<'_>, table: u32) -> String {
    fill(include_str!("../../sql/blocks_update.sql"), &[("table", &names.blocks(table))])
}

/// Reads all pages of a table and of its index, and checks their contents.
pub(super) fn warm(
    connection: &mut Connection,
    names: &Names<'_>,
    table: u32,
    blocks: u64,
) -> Result<(), EngineError> {
    let name = names.blocks(table);
    let sql = fill(include_str!("../../sql/blocks_whole.sql"), &[("table", &name)]);
    let row = one_row(connection, "read the whole table", &sql)?;
    let found = [0, 1, 2].map(|at| whole(&row, at));
    let rows = i64::try_from(blocks).ok();
    let expected = [rows, rows, Some(range_sum(0, blocks))];
    match found == expected {
        true => Ok(()),
        false => Err(EngineError::WrongAnswer(format!(
            "{name} holds {found:?} rows, keys and sum instead of {expected:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::statements::names;
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
        assert!(
            plain.contains("[s].[read_blocks_x_3]") && plain.contains("(@x * 8129) / 2147483647"),
            "{plain}"
        );
        for absent in ["UPDATE", "WAITFOR", "100e0", "{", "BEGIN TRANSACTION"] {
            assert!(!plain.contains(absent), "{absent}: {plain}");
        }
        let full = loop_sql(
            &names,
            0,
            &spec(&[("update_pct", 5.0), ("think_time_us", 7000.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)]),
        );
        for there in
            ["UPDATE [s].[blocks_x_0]", "@left > 7 ", "50.0 * 2147483647e0", "(@x * 1) / ", "448 * @first + "]
        {
            assert!(full.contains(there), "{there}: {full}");
        }
        assert_eq!(full.matches("BEGIN TRANSACTION").count(), 2);
        let shared = LogicalIo { shared: true, ..spec(&[("update_pct", 5.0)]) };
        assert!(!loop_sql(&names, 0, &shared).contains("TRANSACTION"));
    }
}
