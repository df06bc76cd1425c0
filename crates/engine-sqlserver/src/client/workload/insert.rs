//! Data and statements of `insert`: the published table on disk, or in memory with a hash index and a natively
//! compiled procedure.
//!
//! Source: "Control transaction durability", "Memory-optimized tables", "Natively compiled stored procedures" and
//! "Supported features for natively compiled T-SQL modules" of the SQL Server documentation: no BREAK, only one row of
//! VALUES, no hash functions. So random keys come from two multiplicative generators of 31 bits (L'Ecuyer,
//! CACM 31, 1988), seeded separately for each session, and rows are inserted one by one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_engine::workloads::insert::{
    CHECK_MODULUS, Durability, Key, RandomKeys, TEXT_CHARS, Table, key_check,
};
use threadwise_engine::{EngineError, LoadRequest, Loaded};
use tiberius::{ColumnData, TokenRow};

use crate::client::connect::{Connection, Fault};
use crate::client::error::query;
use crate::client::statements::{Names, fill, run, whole};
use crate::failed;
use crate::work::{Inserts, ROW_BYTES};

/// Rows of one INSERT statement of the load, and of one transaction.
const BATCH: usize = 1000;

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

/// States of the two generators of a session's random keys, which are never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Draws {
    pub x: i64,
    pub y: i64,
}

/// The next key of [`Draws`]: two numbers of 31 bits side by side.
const DRAW: &str = "SET @x = (@x * 48271) % 2147483647; SET @y = (@y * 40692) % 2147483399; \
                    SET @k{row} = @x * 2147483648 + @y;";

impl Draws {
    /// Those of a session in a block.
    pub(super) fn new(seed: u64, session: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(session) + 1);
        let mut below = |modulus: u64| (random.next_u64() % (modulus - 1) + 1) as i64;
        Self { x: below(2_147_483_647), y: below(2_147_483_399) }
    }
}

/// Makes the table, its seed and the procedures.
pub(super) fn load(
    control: &mut Connection,
    names: &Names<'_>,
    workload: &Inserts,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let facts = names.facts();
    run(control, "create a table", &fill(include_str!("../../sql/facts.sql"), &[("table", &facts)]))?;
    run(control, "create a table", &table_sql(names, workload))?;
    let content = seed(control, names, request.seed, workload.spec.seed_rows)?;
    let sql = format!("INSERT INTO {facts} (seeded, key_sum) VALUES ({}, {})", content.rows, content.key_sum);
    run(control, "store facts about the seeded rows", &sql)?;
    for sql in procedures(names, workload) {
        run(control, "create a procedure", &sql)?;
    }
    let seeded = workload.spec.seed_rows;
    let notes = workload.buckets.map(|buckets| {
        format!(
            "storage=memory-optimised: rows in memory, found by a hash index of {buckets} buckets; natively compiled"
        )
    });
    Ok(Loaded {
        bytes_per_session: seeded * ROW_BYTES,
        rows_per_session: seeded,
        notes: notes.into_iter().collect(),
    })
}

fn table_sql(names: &Names<'_>, workload: &Inserts) -> String {
    let table = names.inserted();
    match workload.buckets {
        None => fill(include_str!("../../sql/rows.sql"), &[("table", &table)]),
        Some(buckets) => {
            let durability =
                if workload.spec.table == Table::Durable { "SCHEMA_AND_DATA" } else { "SCHEMA_ONLY" };
            let buckets = buckets.to_string();
            let places = [("table", table.as_str()), ("buckets", &buckets), ("durability", durability)];
            fill(include_str!("../../sql/rows_memory.sql"), &places)
        }
    }
}

/// Seeds the table: keys come by bulk load and are inserted from there a few at a time, in their random order, so that
/// pages are as full as inserts leave them; a single load would be sorted first.
fn seed(control: &mut Connection, names: &Names<'_>, seed: u64, rows: u64) -> Result<Content, EngineError> {
    let (staging, table) = (names.object("keys"), names.inserted());
    let mut content = Content::default();
    run(control, "create a table", &fill(include_str!("../../sql/seed_keys.sql"), &[("table", &staging)]))?;
    let mut keys = RandomKeys::new(seed, 0).take(usize::try_from(rows).unwrap_or(usize::MAX));
    let mut next = || {
        Ok::<_, Fault>(keys.next().map(|key| {
            content = content + Content { rows: 1, key_sum: key_check(key) };
            let mut row = TokenRow::new();
            row.push(ColumnData::I32(i32::try_from(content.rows).ok()));
            row.push(ColumnData::I64(Some(key)));
            row
        }))
    };
    control.bulk(&staging, &["n", "k"], &mut next).map_err(|cause| query("load keys", &cause))?;
    let text = "x".repeat(TEXT_CHARS);
    for first in (1..=rows).step_by(BATCH) {
        let (first, last) = (first.to_string(), (first + BATCH as u64 - 1).to_string());
        let places = [
            ("table", table.as_str()),
            ("staging", &staging),
            ("text", &text),
            ("first", &first),
            ("last", &last),
        ];
        run(control, "seed rows", &fill(include_str!("../../sql/seed_rows.sql"), &places))?;
    }
    run(control, "drop the keys", &format!("DROP TABLE {staging}"))?;
    match held(control, names)? {
        held if held == content => Ok(content),
        held => Err(EngineError::WrongAnswer(differs("after loading", content, held))),
    }
}

/// The procedures of a treatment, called ones first.
fn procedures(names: &Names<'_>, workload: &Inserts) -> Vec<String> {
    let (spec, rows) = (&workload.spec, workload.rows_per_step());
    let list =
        |part: &dyn Fn(u64) -> String, between: &str| (0..rows).map(part).collect::<Vec<_>>().join(between);
    let draw = match spec.key {
        Key::Sequential => list(&|row| format!("SET @k{row} = @next_key + {row};"), " "),
        Key::Random => list(&|row| DRAW.replace("{row}", &row.to_string()), " "),
    };
    let sum = list(&|row| format!("SET @key_sum = @key_sum + @k{row} % {CHECK_MODULUS};"), " ");
    let keys = list(&|row| format!("@k{row} bigint = 0"), ", ");
    let (text, table) = ("x".repeat(TEXT_CHARS), names.inserted());
    let delayed = if spec.durability == Durability::Relaxed { "ON" } else { "OFF" };
    let procedure = names.insert_rows();
    if workload.is_batch() {
        let places = [
            ("procedure", procedure.as_str()),
            ("draw", &draw),
            ("table", &table),
            ("text", &text),
            ("sum", &sum),
            ("delayed", delayed),
        ];
        return vec![fill(include_str!("../../sql/rows_batch.sql"), &places)];
    }
    let values = list(&|row| format!("(@k{row}, SYSUTCDATETIME(), '{text}', @owner, {row}, @k{row})"), ", ");
    let insert = format!("INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES {values};");
    let insert = match (workload.buckets, spec.durability) {
        (Some(_), _) => {
            format!("EXEC {} @owner, {};", names.object("insert_few"), list(&|row| format!("@k{row}"), ", "))
        }
        (None, Durability::Full) => insert,
        (None, Durability::Relaxed) => {
            format!("BEGIN TRANSACTION; {insert} COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);")
        }
    };
    let per_tx = rows.to_string();
    let places = [
        ("procedure", procedure.as_str()),
        ("keys", &keys),
        ("draw", &draw),
        ("insert", &insert),
        ("per_tx", &per_tx),
        ("sum", &sum),
    ];
    let body = fill(include_str!("../../sql/rows_loop.sql"), &places);
    if workload.buckets.is_none() {
        return vec![body];
    }
    let one = |row| {
        format!(
            "INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES (@k{row}, @now, '{text}', @owner, {row}, @k{row});"
        )
    };
    let few = names.object("insert_few");
    let places = [
        ("procedure", few.as_str()),
        ("parameters", &list(&|row| format!("@k{row} bigint"), ", ")),
        ("inserts", &list(&one, " ")),
        ("delayed", delayed),
    ];
    vec![fill(include_str!("../../sql/rows_few.sql"), &places), body]
}

/// A transaction of the client's loop: keys as parameters, the owner first.
pub(super) fn client_sql(names: &Names<'_>, workload: &Inserts) -> String {
    let text = "x".repeat(TEXT_CHARS);
    let rows: Vec<String> = (0..workload.rows_per_step())
        .map(|row| format!("(@P{key}, SYSUTCDATETIME(), '{text}', @P1, {row}, @P{key})", key = row + 2))
        .collect();
    let insert =
        format!("INSERT INTO {} (c1, c2, c3, c4, c5, c6) VALUES {}", names.inserted(), rows.join(", "));
    match workload.spec.durability {
        Durability::Full => insert,
        Durability::Relaxed => {
            format!("BEGIN TRANSACTION; {insert}; COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)")
        }
    }
}

/// Contents of the table as it was seeded.
pub(super) fn facts(control: &mut Connection, names: &Names<'_>) -> Result<Content, EngineError> {
    content(control, &format!("SELECT seeded, key_sum FROM {}", names.facts()))
}

/// Contents of the table now.
pub(super) fn held(control: &mut Connection, names: &Names<'_>) -> Result<Content, EngineError> {
    let modulus = CHECK_MODULUS.to_string();
    let table = names.inserted();
    content(
        control,
        &fill(include_str!("../../sql/rows_held.sql"), &[("table", &table), ("modulus", &modulus)]),
    )
}

fn content(control: &mut Connection, sql: &str) -> Result<Content, EngineError> {
    let rows = control.rows(sql).map_err(|cause| query("check the table", &cause))?;
    let pair = rows.first().and_then(|row| Some((whole(row, 0)?, whole(row, 1)?)));
    pair.map(|(rows, key_sum)| Content { rows, key_sum })
        .ok_or_else(|| failed("check the table", "the answer is empty"))
}

/// Removes the inserted rows and checks that the seeded ones are complete.
pub(super) fn put_back(control: &mut Connection, names: &Names<'_>) -> Result<(), EngineError> {
    let sql = fill(include_str!("../../sql/rows_put_back.sql"), &[("table", &names.inserted())]);
    run(control, "remove the inserted rows", &sql)?;
    let (seeded, held) = (facts(control, names)?, held(control, names)?);
    match seeded == held {
        true => Ok(()),
        false => Err(EngineError::WrongAnswer(differs("after the reset", seeded, held))),
    }
}

/// The error text for a table with other contents than reported.
pub(super) fn differs(when: &str, expected: Content, held: Content) -> String {
    format!(
        "{when} the table holds {} rows with key sum {} instead of {} rows with key sum {}",
        held.rows, held.key_sum, expected.rows, expected.key_sum
    )
}

#[cfg(test)]
#[path = "insert_tests.rs"]
mod tests;
