//! Data and statements of `insert`.
//!
//! Firebird compresses runs of equal bytes in a record, so the 111 equal characters of a row take a few bytes. It has
//! no log: it writes whole pages, in an order that is always consistent ("careful write"), and with forced writes on
//! a commit waits for its own pages.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_engine::workloads::insert::{CHECK_MODULUS, Insert, Key, TEXT_CHARS};
use threadwise_engine::{EngineError, LoadRequest, Loaded};

use crate::error::failed;
use crate::home::{DATABASE, Home, PAGE_BYTES};
use crate::isql::{Isql, fill};
use crate::programs::Programs;

/// Bytes of a row with its index entry, with index leaves about 70% full after inserts in random order.
pub(crate) const ROW_BYTES: u64 = 120;

/// Cache bytes reserved for the inserts of a run of fixed time.
const UNKNOWN_BYTES: u64 = 256 << 20;

/// Rows of one transaction of the load.
const BATCH: u64 = 20_000;

/// Draws the next key: two numbers of 31 bits side by side.
const DRAW: &str = "x = MOD(x * 48271, 2147483647); y = MOD(y * 40692, 2147483399); k = x * 2147483648 + y;";

/// Contents of the table: rows, and the sum of their keys' checks.
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

/// States of the two generators, which are never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Draws {
    pub x: i64,
    pub y: i64,
}

impl Draws {
    /// Those of a stream of a seed: stream 0 seeds the table, session s has stream s + 1.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        let mut below = |modulus: u64| (random.next_u64() % (modulus - 1) + 1) as i64;
        Self { x: below(2_147_483_647), y: below(2_147_483_399) }
    }
}

/// Pages of the table at the end of a run, about.
pub(super) fn pages(spec: &Insert, sessions: u32) -> u64 {
    let inserted = spec.rows_per_session.map_or(UNKNOWN_BYTES, |rows| rows * u64::from(sessions) * ROW_BYTES);
    (spec.seed_rows * ROW_BYTES + inserted).div_ceil(PAGE_BYTES)
}

/// Makes the table, its seed and the loop.
pub(super) fn load(
    home: &Home,
    programs: &Programs,
    spec: &Insert,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let mut session = Isql::start(home, &programs.isql, &[DATABASE])?;
    session.define("create a table", include_str!("sql/rows.sql"))?;
    session.run("create an index", "alter table inserted add constraint by_c1 primary key (c1)")?;
    session.run("create a table", "create table facts (seeded bigint not null, key_sum bigint not null)")?;
    let (text, modulus) = ("x".repeat(TEXT_CHARS), CHECK_MODULUS.to_string());
    let places = [("draw", DRAW), ("text", &text), ("modulus", &modulus)];
    session.define("create a procedure", &fill(include_str!("sql/rows_seed.sql"), &places))?;
    session.define("create a procedure", &loop_sql(spec))?;
    let content = seed(&mut session, Draws::new(request.seed, 0), spec.seed_rows)?;
    let held = held(&mut session)?;
    if held != content {
        return Err(EngineError::WrongAnswer(differs("as loaded", content, held)));
    }
    let facts = format!("insert into facts values ({}, {})", content.rows, content.key_sum);
    session.run("store facts about the seeded rows", &facts)?;
    Ok(Loaded {
        bytes_per_session: spec.seed_rows * ROW_BYTES,
        rows_per_session: spec.seed_rows,
        notes: vec![
            "Firebird stores a row's 111 equal characters in a few bytes; each step is an autonomous transaction".into(),
        ],
    })
}

fn seed(session: &mut Isql, mut draws: Draws, rows: u64) -> Result<Content, EngineError> {
    let mut content = Content::default();
    while content.rows < rows as i64 {
        let batch = BATCH.min(rows - content.rows as u64) as i64;
        let sql = format!("select * from seed_rows({batch}, {}, {})", draws.x, draws.y);
        let [key_sum, x, y] = session.numbers("seed rows", &sql, ["KEY_SUM", "LAST_X", "LAST_Y"])?;
        draws = Draws { x, y };
        content = content + Content { rows: batch, key_sum };
    }
    Ok(content)
}

/// The procedure for one number of rows a transaction.
fn loop_sql(spec: &Insert) -> String {
    let draw = match spec.key {
        Key::Sequential => "k = next_key; next_key = next_key + 1;",
        Key::Random => DRAW,
    };
    fill(
        include_str!("sql/rows_loop.sql"),
        &[
            ("per_tx", &spec.rows_per_tx.to_string()),
            ("draw", draw),
            ("text", &"x".repeat(TEXT_CHARS)),
            ("modulus", &CHECK_MODULUS.to_string()),
        ],
    )
}

/// Contents of the table as it was seeded.
pub(super) fn facts(session: &mut Isql) -> Result<Content, EngineError> {
    content(session, "select seeded n, key_sum s from facts")
}

/// Contents of the table now.
pub(super) fn held(session: &mut Isql) -> Result<Content, EngineError> {
    content(
        session,
        &format!("select count(*) n, coalesce(sum(mod(c1, {CHECK_MODULUS})), 0) s from inserted"),
    )
}

fn content(session: &mut Isql, sql: &str) -> Result<Content, EngineError> {
    let [rows, key_sum] = session.numbers("check the table", sql, ["N", "S"])?;
    Ok(Content { rows, key_sum })
}

/// Refuses a database with another durability of commits.
pub(super) fn check_forced_writes(session: &mut Isql, wanted: bool) -> Result<(), EngineError> {
    let action = "check the durability of commits";
    let sql = "select mon$forced_writes f from mon$database";
    let [found] = session.numbers(action, sql, ["F"])?;
    match found == i64::from(wanted) {
        true => Ok(()),
        false => Err(failed(action, format!("forced writes are {found} instead of {}", i64::from(wanted)))),
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
mod tests {
    use super::*;
    use threadwise_study::{OptionValue, Options};

    #[test]
    fn the_loop_draws_the_keys_that_are_asked_for() {
        let insert = |key: &str| {
            let options = Options::from([
                ("rows_per_tx".to_owned(), OptionValue::Integer(3)),
                ("key".to_owned(), OptionValue::Text(key.into())),
            ]);
            loop_sql(&Insert::parse(&options, &[]).unwrap())
        };
        assert!(insert("sequential").contains("k = next_key;") && !insert("sequential").contains("40692"));
        assert!(
            insert("random").contains("k = x * 2147483648 + y") && insert("random").contains("WHILE (i < 3)")
        );
        assert!(!insert("random").contains('{'));
    }

    #[test]
    fn generators_begin_inside_their_range_and_apart() {
        for stream in 0..1000 {
            let Draws { x, y } = Draws::new(7, stream);
            assert!((1..2_147_483_647).contains(&x) && (1..2_147_483_399).contains(&y), "{x} {y}");
        }
        assert_eq!(Draws::new(7, 3), Draws::new(7, 3));
        assert!(Draws::new(7, 3) != Draws::new(7, 4) && Draws::new(7, 3) != Draws::new(8, 3));
    }
}
