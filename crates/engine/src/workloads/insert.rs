//! The workload `insert`: concurrent sessions insert into one table, a few rows a transaction, after
//! the published measurements of inserts on cores, siblings and NUMA nodes: a table of a bigint key,
//! a time, char(111), two ints and a bigint, seeded with random keys; 2 rows a transaction; each
//! session with its own ascending keys from session × 10^10, or with random keys.
//!
//! The inserted rows are known in closed form: the engine counts rows and adds up [`key_check`] of their keys,
//! and both are compared with the table at the end of every run.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::insert::USUAL_SEED_ROWS;
use threadwise_study::{OptionValue, Options, Workload};

use super::options::{only, refuse, whole, word};
use super::rate;
use crate::EngineError;

/// Options that the workload has on every engine.
pub const OPTIONS: [&str; 9] =
    ["key", "rows_per_tx", "durability", "table", "seed_rows", "rows_per_session", "loop", RATE, ARRIVALS];

/// Length of the text column, characters.
pub const TEXT_CHARS: usize = 111;

/// Modulus of [`key_check`], a prime: sums of a billion keys stay inside 64 bits.
pub const CHECK_MODULUS: i64 = 1_000_000_007;

/// Distance between the first keys of two sessions with ascending keys.
pub const SESSION_STRIDE: i64 = 10_000_000_000;

/// Most seeded rows of a table, or inserted rows of a session.
const MAX_ROWS: u64 = 1_000_000_000;

/// Most rows of one transaction.
const MAX_ROWS_PER_TX: u64 = 1000;

/// How keys are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Ascending, each session from its own base.
    Sequential,
    /// Random.
    Random,
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Until the log is on the disk.
    Full,
    /// For nothing; the log is written later.
    Relaxed,
}

/// What a crash may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Nothing that was committed and flushed.
    Durable,
    /// Everything: unlogged, or in memory.
    Unlogged,
}

/// The workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insert {
    /// How keys are chosen.
    pub key: Key,
    /// Rows of one transaction; 0 for all rows of a session in one (if the engine supports it).
    pub rows_per_tx: u64,
    /// What a commit waits for.
    pub durability: Durability,
    /// What a crash may lose.
    pub table: Table,
    /// Rows of the table at the start.
    pub seed_rows: u64,
    /// Rows that each session inserts; `None` for a fixed time.
    pub rows_per_session: Option<u64>,
}

impl Insert {
    /// Reads and checks the options; `more` are the names of the engine's own options. `loop` is accepted
    /// and left to the engine.
    ///
    /// # Errors
    /// The first option that is unknown, of the wrong type or impossible.
    pub fn parse(options: &Options, more: &[&str]) -> Result<Self, EngineError> {
        only(options, Workload::Insert, &[OPTIONS.as_slice(), more].concat())?;
        let spec = Self {
            key: [Key::Sequential, Key::Random][word(options, "key", &["sequential", "random"])?],
            rows_per_tx: whole(options, "rows_per_tx", 0, MAX_ROWS_PER_TX)?.unwrap_or(2),
            durability: [Durability::Full, Durability::Relaxed]
                [word(options, "durability", &["full", "relaxed"])?],
            table: [Table::Durable, Table::Unlogged][word(options, "table", &["durable", "unlogged"])?],
            seed_rows: whole(options, "seed_rows", 0, MAX_ROWS)?.unwrap_or(USUAL_SEED_ROWS),
            rows_per_session: whole(options, "rows_per_session", 1, MAX_ROWS)?,
        };
        spec.check()?;
        rate::of(options)?;
        rate::refuse_beside(options, "rows_per_session", "it is a fixed amount of work")?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), EngineError> {
        match (self.rows_per_tx, self.rows_per_session) {
            (0, None) => Err(refuse(
                "rows_per_tx",
                "0 means all rows of a session in one transaction, which needs rows_per_session".into(),
            )),
            (per_tx, Some(rows)) if per_tx > 0 && rows % per_tx != 0 => {
                Err(refuse("rows_per_session", format!("{rows} is not a multiple of rows_per_tx, {per_tx}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses `rows_per_tx=0` for an engine that does not support it.
    ///
    /// # Errors
    /// It is 0.
    pub fn no_single_batch(&self, engine: &str) -> Result<(), EngineError> {
        match self.rows_per_tx {
            0 => Err(refuse("rows_per_tx", format!("0 (all rows in one) is not available on {engine}"))),
            _ => Ok(()),
        }
    }
}

/// Whether options are those of a fixed amount of work.
pub fn is_fixed_work(options: &Options) -> bool {
    matches!(options.get("rows_per_session"), Some(OptionValue::Integer(_) | OptionValue::Number(_)))
}

/// A key's term in the sum by which tables are checked.
pub fn key_check(key: i64) -> i64 {
    key.rem_euclid(CHECK_MODULUS)
}

/// First key of a session with ascending keys.
pub fn first_key(session: u32) -> i64 {
    (i64::from(session) + 1) * SESSION_STRIDE
}

/// Random keys of a stream: 62 bits, never negative, so that they are keys on every engine. Stream 0
/// seeds the table; session s has stream s + 1.
#[derive(Debug, Clone)]
pub struct RandomKeys(ChaCha8Rng);

impl RandomKeys {
    /// The keys of a stream of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        Self(random)
    }
}

impl Iterator for RandomKeys {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        Some((self.0.next_u64() >> 2) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, OptionValue)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn text(value: &str) -> OptionValue {
        OptionValue::Text(value.to_owned())
    }

    #[test]
    fn absent_options_have_their_defaults() {
        let spec = Insert::parse(&Options::new(), &[]).unwrap();
        assert_eq!((spec.key, spec.rows_per_tx, spec.seed_rows), (Key::Sequential, 2, 200_000));
        assert_eq!((spec.durability, spec.table), (Durability::Full, Table::Durable));
        assert_eq!(spec.rows_per_session, None);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let whole = OptionValue::Integer;
        let cases = [
            ("key", text("uuid"), "sequential, random"),
            ("durability", text("none"), "full, relaxed"),
            ("table", OptionValue::Flag(true), "durable, unlogged"),
            ("rows_per_tx", whole(1001), "from 0 to 1000"),
            ("rows_per_tx", whole(0), "needs rows_per_session"),
            ("rows_per_session", whole(7), "multiple of rows_per_tx"),
            ("seed_rows", whole(-1), "from 0 to"),
            ("stripes", whole(4), "allowed: key,"),
        ];
        for (name, value, part) in cases {
            let message = Insert::parse(&options(&[(name, value)]), &[]).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        assert!(Insert::parse(&options(&[("stripes", whole(4))]), &["stripes"]).is_ok());
        let batch =
            Insert::parse(&options(&[("rows_per_tx", whole(0)), ("rows_per_session", whole(7))]), &[])
                .unwrap();
        assert!(batch.no_single_batch("sqlite").unwrap_err().to_string().contains("sqlite"));
    }

    #[test]
    fn keys_are_seeded_apart_and_never_negative() {
        let take = |seed, stream| RandomKeys::new(seed, stream).take(1000).collect::<Vec<_>>();
        assert_eq!(take(1, 0), take(1, 0));
        assert!(take(1, 0) != take(1, 1) && take(1, 0) != take(2, 0));
        assert!(take(1, 0).iter().all(|key| *key >= 0 && key_check(*key) < CHECK_MODULUS));
        assert_eq!(first_key(1) - first_key(0), SESSION_STRIDE);
        assert_eq!(key_check(CHECK_MODULUS + 5), 5);
    }
}
