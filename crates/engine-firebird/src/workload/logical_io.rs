//! Data and statements of `logical-io`.
//!
//! One row a page: two do not fit, and the number of pages that a program with an empty cache reads shows that none
//! extends to a second page. The index is a B-tree apart from the rows; Firebird collects row numbers from it and
//! visits each row's page, since no answer comes from an index alone.

use std::fmt::Write as _;
use threadwise_engine::workloads::logical_io::{LogicalIo, range_sum, shuffled_keys};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use super::counters::Pages;

use crate::error::failed;
use crate::home::{DATABASE, Home, PAGE_BYTES};
use crate::isql::{Isql, fill};
use crate::programs::Programs;

/// Far from 0, so that the numbers look the same after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Keys of one call of the load, ten characters each: a statement has at most 64 KiB.
const BATCH: usize = 2500;

/// Makes the tables of all sessions.
pub(super) fn load(
    home: &Home,
    programs: &Programs,
    spec: &LogicalIo,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let mut session = Isql::start(home, &programs.isql, &[DATABASE])?;
    let tables = if spec.shared { 1 } else { request.sessions };
    for table in 0..tables {
        let number = table.to_string();
        let places = [("table", number.as_str())];
        session.define("create a table", &fill(include_str!("sql/blocks.sql"), &places))?;
        match table {
            0 => insert(&mut session, request.seed, spec)?,
            _ => {
                session.run("copy a table", &format!("insert into blocks_{table} select * from blocks_0"))?
            }
        }
        let index = format!("create unique index by_k_{table} on blocks_{table} (k)");
        session.run("create an index", &index)?;
        session.define("create a procedure", &loop_sql(table, spec))?;
    }
    drop(session);
    let mut reads = 0;
    for table in 0..tables {
        reads = prove(home, programs, table, spec.blocks)?;
    }
    Ok(Loaded {
        bytes_per_session: spec.blocks * PAGE_BYTES,
        rows_per_session: spec.blocks,
        notes: vec![format!(
            "{} rows, one on each page of {PAGE_BYTES} bytes: an empty cache takes {reads} page reads for all",
            spec.blocks
        )],
    })
}

/// Fills the first table in random key order.
fn insert(session: &mut Isql, seed: u64, spec: &LogicalIo) -> Result<(), EngineError> {
    let base = VALUE_BASE.to_string();
    session.define("create a procedure", &fill(include_str!("sql/blocks_fill.sql"), &[("base", &base)]))?;
    for batch in shuffled_keys(seed, spec.blocks).chunks(BATCH) {
        let mut keys = String::with_capacity(10 * batch.len());
        for key in batch {
            // Writing to a String cannot fail.
            let _ = write!(keys, "{key:>10}");
        }
        session.run("load rows", &format!("execute procedure fill_blocks('{keys}')"))?;
    }
    Ok(())
}

/// Checks for one row a page; gives the pages that a program with an empty cache reads for all rows.
fn prove(home: &Home, programs: &Programs, table: u32, blocks: u64) -> Result<u64, EngineError> {
    let mut session = Isql::start(home, &programs.isql, &[DATABASE])?;
    let reads = check_all(&mut session, table, blocks)?.reads;
    // A pointer page for every thousand pages, and pages that the statements themselves need.
    match (blocks..=blocks + blocks / 50 + 200).contains(&reads) {
        true => Ok(reads),
        false => {
            let why = format!("{blocks} rows took {reads} page reads");
            Err(failed("place one row on each page", why))
        }
    }
}

/// The procedure for one table, without what the options do not need.
fn loop_sql(table: u32, spec: &LogicalIo) -> String {
    let unit = spec.work_unit;
    // x * starts stays below 2^59.
    let next = "x = MOD(x * 48271, 2147483647);";
    let start = |range: u64| format!("{next} first_ = (x * {}) / 2147483647;", range - unit + 1);
    // A generator's next number, so that "whether" and "where" are drawn independently.
    let happens = |percent: f64| format!("x * 100e0 < {percent} * 2147483647e0");
    let draw = match spec.hot_pct > 0.0 {
        true => format!(
            "{next} IF ({}) THEN BEGIN {} END ELSE BEGIN {} END",
            happens(spec.hot_pct),
            start(spec.hot_blocks),
            start(spec.blocks)
        ),
        false => start(spec.blocks),
    };
    let range = format!("WHERE k BETWEEN :first_ AND :first_ + {}", unit - 1);
    // range_sum(first, unit) = 7 · unit · first + range_sum(0, unit)
    let sum = format!("{} * first_ + {}", 7 * unit, range_sum(0, unit));
    let read = format!("SELECT COUNT(*), SUM(value_ + twin) FROM blocks_{table} {range} INTO :n, :s;");
    let step = match spec.updates() {
        true => format!(
            "{next} IF ({}) THEN BEGIN UPDATE blocks_{table} SET value_ = value_ + 1, twin = twin - 1 {range}; \
             n = ROW_COUNT; s = {sum}; END ELSE {read}",
            happens(spec.update_pct)
        ),
        false => read,
    };
    fill(
        include_str!("sql/blocks_loop.sql"),
        &[
            ("table", &table.to_string()),
            ("draw", &draw),
            ("step", &step),
            ("unit", &unit.to_string()),
            ("sum", &sum),
        ],
    )
}

/// Reads all rows of a table, and checks their contents; gives the pages that this took.
fn check_all(session: &mut Isql, table: u32, blocks: u64) -> Result<Pages, EngineError> {
    let sql = format!("select count(*) n, sum(value_ + twin) s from blocks_{table}");
    let (held, pages) = session.counted("read the whole table", &sql, ["N", "S"])?;
    let expected = [blocks as i64, range_sum(0, blocks)];
    match held == expected {
        true => Ok(pages),
        false => Err(EngineError::WrongAnswer(format!(
            "table {table} holds {} rows with sum {} instead of {} with {}",
            held[0], held[1], expected[0], expected[1]
        ))),
    }
}

/// Brings a table and its index into the cache of a session, and proves it: a second reading of everything fetches
/// hardly a page from the file.
pub(super) fn warm(session: &mut Isql, table: u32, blocks: u64) -> Result<(), EngineError> {
    let keys = format!("select count(*) n from blocks_{table} where k between 0 and {blocks}");
    let mut reads = 0;
    for _ in 0..2 {
        let of_rows = check_all(session, table, blocks)?;
        let ([found], of_keys) = session.counted("read the whole index", &keys, ["N"])?;
        if found != blocks as i64 {
            let why = format!("the index of table {table} has {found} keys instead of {blocks}");
            return Err(EngineError::WrongAnswer(why));
        }
        reads = (of_rows + of_keys).reads;
    }
    // A few pages are read in any case, however small the table: apparently those that other programs'
    // transactions change, such as the header.
    match reads <= blocks / 100 + 64 {
        true => Ok(()),
        false => Err(failed(
            "keep the data in memory",
            format!(
                "not cached: reading it again read {reads} pages from the file; raise --engine-option cache_pages, \
                 or make the data smaller (--set data_mib=N)"
            ),
        )),
    }
}

/// Refuses a plan that would read the whole table; gives the plan.
pub(super) fn plan(session: &mut Isql, table: u32, unit: u64) -> Result<String, EngineError> {
    let sql =
        format!("select count(*), sum(value_ + twin) from blocks_{table} where k between 0 and {}", unit - 1);
    let plan = session.plan(&sql)?;
    match plan.contains(&format!("INDEX (BY_K_{table})")) {
        true => Ok(plan),
        false => Err(failed("plan a step", format!("the plan is '{plan}' instead of a range of the index"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::{OptionValue, Options};

    #[test]
    fn the_loop_holds_what_is_asked_for_and_no_more() {
        let spec = |pairs: &[(&str, f64)]| {
            let options: Options =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value))).collect();
            LogicalIo::parse(&options).unwrap()
        };
        let plain = loop_sql(3, &spec(&[]));
        assert!(plain.contains("read_blocks_3(") && plain.contains("(x * 8129) / 2147483647"), "{plain}");
        assert!(plain.contains("448 * first_ + ") && !plain.contains('{'), "{plain}");
        assert!(!plain.contains("UPDATE") && !plain.contains("100e0"), "{plain}");
        let full = loop_sql(0, &spec(&[("update_pct", 5.0), ("hot_pct", 50.0), ("hot_blocks", 64.0)]));
        for there in ["UPDATE blocks_0", "x * 100e0 < 50 *", "x * 100e0 < 5 *", "(x * 1) / 2147483647"] {
            assert!(full.contains(there), "{there}: {full}");
        }
    }
}
