//! Data and statements of `insert`.
//!
//! `table=unlogged` is the engine MEMORY: rows of fixed length, a hash index, no log, lost when the server
//! ends, and one lock for the whole table at each statement (mariadb.com/kb/en/memory-storage-engine).
//! Seeded rows are inserted in the random order of their keys, so that pages are as full as inserts
//! leave them, not as full as after a sorted load.

use mysql::Conn;
use mysql::prelude::Queryable;
use std::fmt::Write as _;
use std::path::Path;
use threadwise_engine::workloads::insert::{
    CHECK_MODULUS, Insert, Key, RandomKeys, TEXT_CHARS, Table, key_check,
};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use threadwise_process::room::server_memory_bytes;

use super::statements::{Names, fill, run, seed as seed_table};
use crate::error::{failed, query};

/// Bytes of a row in a page that random inserts have filled to about 70%.
pub(crate) const ROW_BYTES: u64 = 270;

/// Bytes reserved for the inserts of a run of fixed time.
const UNKNOWN_BYTES: u64 = 512 << 20;

/// Rows of one INSERT statement of the load, and of one transaction.
const BATCH: usize = 1000;
const BATCHES_PER_TX: usize = 50;

/// Contents of the table: rows, and the sum of [`key_check`] over their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Content {
    pub rows: i64,
    pub key_sum: i64,
}

impl std::ops::Add for Content {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { rows: self.rows + other.rows, key_sum: self.key_sum + other.key_sum }
    }
}

/// Bytes of the table at the end of a run, about.
pub(super) fn bytes(spec: &Insert, sessions: u32) -> u64 {
    let inserted = spec.rows_per_session.map_or(UNKNOWN_BYTES, |rows| rows * u64::from(sessions) * ROW_BYTES);
    let copies = if spec.table == Table::Unlogged { 2 } else { 1 };
    spec.seed_rows * ROW_BYTES * copies + inserted
}

/// Makes the table, its seed and the loop.
pub(super) fn load(
    control: &mut Conn,
    names: &Names<'_>,
    spec: &Insert,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    run(control, "create a table", &fill(include_str!("sql/facts.sql"), &[("table", &names.facts())]))?;
    let durable = match spec.table {
        Table::Durable => names.inserted(),
        Table::Unlogged => seed_table(names),
    };
    run(control, "create a table", &table_sql(&durable, Table::Durable))?;
    let content = seed(control, &durable, request.seed, spec.seed_rows)?;
    let facts = format!("INSERT INTO {} VALUES ({}, {})", names.facts(), content.rows, content.key_sum);
    run(control, "store facts about the seeded rows", &facts)?;
    run(control, "analyze a table", &format!("ANALYZE TABLE {durable}"))?;
    if spec.table == Table::Unlogged {
        fill_memory_table(control, names)?;
    }
    run(control, "create a procedure", &loop_sql(names, spec))?;
    let mut notes = Vec::new();
    if spec.table == Table::Unlogged {
        notes.push(
            "table=unlogged is the storage engine MEMORY: a hash index, and one lock for the whole table at each \
             statement"
                .to_owned(),
        );
    }
    Ok(Loaded { bytes_per_session: spec.seed_rows * ROW_BYTES, rows_per_session: spec.seed_rows, notes })
}

fn table_sql(table: &str, kind: Table) -> String {
    let (engine, options) = match kind {
        Table::Durable => ("InnoDB", "ROW_FORMAT=DYNAMIC STATS_PERSISTENT=1 STATS_AUTO_RECALC=0"),
        Table::Unlogged => ("MEMORY", ""),
    };
    let text = "x".repeat(TEXT_CHARS);
    fill(
        include_str!("sql/rows.sql"),
        &[("table", table), ("engine", engine), ("options", options), ("text", &text)],
    )
}

/// Makes the table in memory again from its seed. The size limit is that of the creating session, so this
/// raises it.
pub(super) fn fill_memory_table(control: &mut Conn, names: &Names<'_>) -> Result<(), EngineError> {
    let name = names.inserted();
    run(
        control,
        "raise the size of a table in memory",
        &format!("SET max_heap_table_size = {}", memory_limit()),
    )?;
    run(control, "drop a table in memory", &format!("DROP TABLE IF EXISTS {name}"))?;
    run(control, "create a table in memory", &table_sql(&name, Table::Unlogged))?;
    run(control, "seed a table in memory", &format!("INSERT INTO {name} SELECT * FROM {}", seed_table(names)))
}

/// Half of the free memory, so that a full table is an error of the server and not its end.
fn memory_limit() -> u64 {
    (server_memory_bytes(Path::new("/")) / 2).max(64 << 20)
}

fn seed(control: &mut Conn, table: &str, seed: u64, rows: u64) -> Result<Content, EngineError> {
    let mut keys = RandomKeys::new(seed, 0);
    let mut content = Content::default();
    let mut batches = 0_usize;
    while content.rows < rows as i64 {
        if batches.is_multiple_of(BATCHES_PER_TX) {
            // Also ends the transaction before.
            run(control, "begin a load", "START TRANSACTION")?;
        }
        let mut sql = format!("INSERT INTO {table} (c1, c6) VALUES ");
        for key in keys.by_ref().take(BATCH.min((rows as i64 - content.rows) as usize)) {
            let comma = if sql.ends_with(')') { "," } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(sql, "{comma}({key},{key})");
            content = content + Content { rows: 1, key_sum: key_check(key) };
        }
        run(control, "seed rows", &sql)?;
        batches += 1;
    }
    run(control, "commit a load", "COMMIT")?;
    Ok(content)
}

/// The procedure for one number of rows a transaction.
fn loop_sql(names: &Names<'_>, spec: &Insert) -> String {
    let rows = 0..spec.rows_per_tx;
    let list = |part: &dyn Fn(u64) -> String, between: &str| {
        rows.clone().map(part).collect::<Vec<_>>().join(between)
    };
    // 60 bits of a hash, since RAND() has 30: key number next_key + row of this session's stream.
    let draw = match spec.key {
        Key::Sequential => list(&|row| format!("k{row} = next_key + {row}"), ", "),
        Key::Random => {
            list(&|row| format!("k{row} = CONV(LEFT(MD5(CONCAT(seed, next_key + {row})), 15), 16, 10)"), ", ")
        }
    };
    let text = "x".repeat(TEXT_CHARS);
    fill(
        include_str!("sql/rows_loop.sql"),
        &[
            ("procedure", &names.insert_rows()),
            ("table", &names.inserted()),
            ("keys", &list(&|row| format!("k{row}"), ", ")),
            ("draw", &format!("SET {draw};")),
            ("values", &list(&|row| format!("(k{row}, SYSDATE(6), '{text}', owner, {row}, k{row})"), ", ")),
            ("sum", &sum_sql(spec.rows_per_tx)),
            ("per_tx", &spec.rows_per_tx.to_string()),
        ],
    )
}

/// Assignments that add up the keys of a transaction. Some terms each, since the server evaluates an expression
/// recursively, on a thread stack of 292 KiB.
fn sum_sql(rows: u64) -> String {
    let places: Vec<String> = (0..rows).map(|row| format!("k{row} MOD {CHECK_MODULUS}")).collect();
    let assignments = places.chunks(50).map(|terms| format!("key_sum = key_sum + {}", terms.join(" + ")));
    assignments.collect::<Vec<_>>().join(", ")
}

/// A transaction of the client's loop: one statement.
pub(super) fn insert_sql(names: &Names<'_>, spec: &Insert) -> String {
    let text = "x".repeat(TEXT_CHARS);
    let row = format!("(?, SYSDATE(6), '{text}', ?, 0, ?)");
    let rows = vec![row; spec.rows_per_tx as usize].join(", ");
    format!("INSERT INTO {} (c1, c2, c3, c4, c5, c6) VALUES {rows}", names.inserted())
}

/// Contents of the table as it was seeded.
pub(super) fn facts(control: &mut Conn, names: &Names<'_>) -> Result<Content, EngineError> {
    content(control, &format!("SELECT seeded, key_sum FROM {}", names.facts()))
}

/// Contents of the table now.
pub(super) fn held(control: &mut Conn, names: &Names<'_>) -> Result<Content, EngineError> {
    content(
        control,
        &format!(
            "SELECT COUNT(*), CAST(COALESCE(SUM(c1 MOD {CHECK_MODULUS}), 0) AS SIGNED) FROM {}",
            names.inserted()
        ),
    )
}

fn content(control: &mut Conn, sql: &str) -> Result<Content, EngineError> {
    let row: Option<(i64, i64)> =
        control.query_first(sql).map_err(|cause| query("check the table", &cause))?;
    row.map(|(rows, key_sum)| Content { rows, key_sum })
        .ok_or_else(|| failed("check the table", "the answer is empty"))
}

/// Removes the inserted rows and checks that the seeded ones are complete.
pub(super) fn put_back(control: &mut Conn, names: &Names<'_>, spec: &Insert) -> Result<(), EngineError> {
    match spec.table {
        Table::Durable => run(
            control,
            "remove the inserted rows",
            &format!("DELETE FROM {} WHERE c4 <> 0", names.inserted()),
        )?,
        Table::Unlogged => fill_memory_table(control, names)?,
    }
    let (seeded, held) = (facts(control, names)?, held(control, names)?);
    if seeded == held {
        return Ok(());
    }
    Err(EngineError::WrongAnswer(differs("after the reset", seeded, held)))
}

/// The error text for a table with other contents than reported.
pub(super) fn differs(when: &str, expected: Content, held: Content) -> String {
    format!(
        "{when} the table holds {} rows with key sum {} instead of {} rows with key sum {}",
        held.rows, held.key_sum, expected.rows, expected.key_sum
    )
}

#[cfg(test)]
mod tests {
    use super::super::statements::names;
    use super::*;
    use threadwise_study::{OptionValue, Options};

    #[test]
    fn the_loop_names_each_row_of_a_transaction() {
        let options: Options = [
            ("rows_per_tx".to_owned(), OptionValue::Integer(3)),
            ("key".to_owned(), OptionValue::Text("random".into())),
        ]
        .into();
        let spec = Insert::parse(&options, &[]).unwrap();
        let names = names("s", "");
        let sql = loop_sql(&names, &spec);
        assert!(sql.contains("DECLARE k0, k1, k2 BIGINT") && sql.contains("k2 MOD 1000000007"), "{sql}");
        assert!(sql.contains("next_key + 3") && sql.contains("LEFT(MD5(CONCAT(seed, next_key + 2)), 15)"));
        assert!(!sql.contains('{'), "{sql}");
        assert_eq!(insert_sql(&names, &spec).matches("SYSDATE(6)").count(), 3);
        assert_eq!(insert_sql(&names, &spec).matches('?').count(), 9);
    }
}
