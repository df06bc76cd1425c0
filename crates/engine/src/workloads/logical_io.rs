//! The workload `logical-io`: reads of cached blocks by index, after the method of K. Closson's
//! SLOB as the published placement measurements describe it (scale, work unit, update percentage,
//! one table per session loaded in random key order).
//!
//! A table has `blocks` rows with the keys 0 to `blocks` − 1, one row a block. A step draws a
//! start and visits `work_unit` consecutive keys; since the rows lie in random key order, these are
//! `work_unit` blocks at random. Each row carries two small numbers whose sum is [`row_sum`] of its
//! key at all times (an update adds 1 to one and takes 1 from the other), so the answer of every
//! step is known in closed form.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_study::arrivals::{ARRIVALS, RATE};
use threadwise_study::vcpus::VCPUS;
use threadwise_study::{Options, Workload};

use super::options::{check_vcpus, flag, number, only, refuse, whole};
use super::rate;
use crate::EngineError;

/// Blocks of a session's table, where no option gives its size.
pub const DEFAULT_BLOCKS: u64 = 8192;

/// Every option of the workload.
pub const OPTIONS: [&str; 13] = [
    "blocks",
    "work_unit",
    "update_pct",
    "think_time_us",
    "hot_pct",
    "hot_blocks",
    "shared",
    "data",
    "data_mib",
    "loop",
    RATE,
    ARRIVALS,
    VCPUS,
];

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4096;

/// Most blocks of a table: 1 TiB, and far inside the range in which sums stay exact.
const MAX_BLOCKS: u64 = 1 << 28;

/// Longest accepted pause: a minute.
const MAX_THINK_TIME_US: u64 = 60_000_000;

/// Stream of the seed's generator that draws the order of keys; other data has other streams.
pub const ORDER_STREAM: u64 = 1;

/// The workload's options, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogicalIo {
    /// Blocks (rows) of one session's table.
    pub blocks: u64,
    /// Consecutive keys that one step visits.
    pub work_unit: u64,
    /// Share of steps that change their rows, percent.
    pub update_pct: f64,
    /// Pause after each step, microseconds.
    pub think_time_us: u64,
    /// Share of steps that start in the hot spot, percent.
    pub hot_pct: f64,
    /// Size of the hot spot, the table's first keys.
    pub hot_blocks: u64,
    /// Whether all sessions read one table instead of one each.
    pub shared: bool,
}

impl LogicalIo {
    /// Reads and checks the options. `data` is only a label here: the planner has turned it into `blocks` or
    /// `data_mib`. `loop` is accepted and left to the engine.
    /// # Errors
    /// The first option that is unknown, of the wrong type or impossible.
    pub fn parse(options: &Options) -> Result<Self, EngineError> {
        only(options, Workload::LogicalIo, &OPTIONS)?;
        check_vcpus(options)?;
        let spec = Self {
            blocks: blocks(options)?,
            work_unit: whole(options, "work_unit", 1, MAX_BLOCKS)?.unwrap_or(64),
            update_pct: percent(options, "update_pct")?,
            think_time_us: whole(options, "think_time_us", 0, MAX_THINK_TIME_US)?.unwrap_or(0),
            hot_pct: percent(options, "hot_pct")?,
            hot_blocks: whole(options, "hot_blocks", 0, MAX_BLOCKS)?.unwrap_or(0),
            shared: flag(options, "shared")?,
        };
        spec.check()?;
        rate::of(options)?;
        rate::refuse_beside(options, "think_time_us", "it is a pause between steps")?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), EngineError> {
        let Self { blocks, work_unit, hot_blocks, .. } = *self;
        if work_unit > blocks {
            return Err(refuse("work_unit", format!("{work_unit} is more than the {blocks} blocks")));
        }
        if self.hot_pct == 0.0 && hot_blocks > 0 {
            return Err(refuse("hot_blocks", format!("{hot_blocks} without hot_pct has no effect")));
        }
        if self.hot_pct > 0.0 && !(work_unit..=blocks).contains(&hot_blocks) {
            return Err(refuse(
                "hot_blocks",
                format!(
                    "{hot_blocks} is not between work_unit ({work_unit}) and blocks ({blocks}), as hot_pct needs"
                ),
            ));
        }
        Ok(())
    }

    /// Whether steps change rows, so that treatments must not share their data.
    pub fn updates(&self) -> bool {
        self.update_pct > 0.0
    }

    /// Pause after each step, nanoseconds.
    pub fn think_time_ns(&self) -> u64 {
        self.think_time_us * 1000
    }
}

fn percent(options: &Options, name: &str) -> Result<f64, EngineError> {
    match number(options, name) {
        None => Ok(0.0),
        Some(value) if (0.0..=100.0).contains(&value) => Ok(value),
        Some(_) => Err(refuse(name, "not a number from 0 to 100".into())),
    }
}

fn blocks(options: &Options) -> Result<u64, EngineError> {
    if let Some(blocks) = whole(options, "blocks", 1, MAX_BLOCKS)? {
        return Ok(blocks);
    }
    let Some(data_mib) = number(options, "data_mib") else {
        return match options.get("data") {
            None => Ok(DEFAULT_BLOCKS),
            Some(label) => Err(refuse("data", format!("'{label}' needs blocks or data_mib too"))),
        };
    };
    let blocks = data_mib * (1 << 20) as f64 / BLOCK_BYTES as f64;
    if (1.0..=MAX_BLOCKS as f64).contains(&blocks) {
        return Ok(blocks as u64);
    }
    let most = (MAX_BLOCKS * BLOCK_BYTES) >> 20;
    Err(refuse("data_mib", format!("not a number of MiB from 1 block of 4 KiB to {most} MiB")))
}

/// Advice if the data of this many tables does not fit into a server's cache: half of it for the tables, since it
/// also holds indexes, catalogues and what other clients read.
pub fn smaller_data(cache_bytes: u64, tables: u64) -> String {
    match (cache_bytes / 2 / tables.max(1)) >> 20 {
        0 => "the data smaller (--set data_mib=N)".to_owned(),
        mib => format!("the data smaller (--set data_mib={mib})"),
    }
}

/// One step to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// First key; the step visits `work_unit` keys from here.
    pub first: u64,
    /// Whether the rows are changed instead of read.
    pub update: bool,
}

/// The steps of one session: a pure function of workload, block seed and session.
///
/// ChaCha8 itself, not a cheaper generator seeded from it: a step takes one to three draws of 5 ns
/// against tens of microseconds of work, and sessions get streams that cannot overlap.
#[derive(Debug, Clone)]
pub struct Steps {
    spec: LogicalIo,
    random: ChaCha8Rng,
}

impl Steps {
    /// The steps of one session in one block.
    pub fn new(spec: LogicalIo, block_seed: u64, session: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(block_seed);
        random.set_stream(u64::from(session));
        Self { spec, random }
    }

    /// Draws the next step.
    pub fn draw(&mut self) -> Step {
        let update = self.happens(self.spec.update_pct);
        let range = if self.happens(self.spec.hot_pct) { self.spec.hot_blocks } else { self.spec.blocks };
        let starts = range - self.spec.work_unit + 1;
        // Multiply and shift (Lemire, ACM TOMACS 29, 2019) without rejection: the bias is below
        // 2^28 / 2^64. Written out, so that a seed means the same keys under every library version.
        let first = ((u128::from(self.random.next_u64()) * u128::from(starts)) >> 64) as u64;
        Step { first, update }
    }

    fn happens(&mut self, percent: f64) -> bool {
        if percent <= 0.0 {
            return false;
        }
        let uniform = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        uniform * 100.0 < percent
    }
}

/// The keys 0 to `blocks` − 1 in seeded random order, in which rows are loaded (Fisher and Yates; Durstenfeld,
/// CACM 7, 1964). Uses the stream [`ORDER_STREAM`] of the seed's generator.
pub fn shuffled_keys(seed: u64, blocks: u64) -> Vec<u32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(ORDER_STREAM);
    // The workload allows at most 2^28 blocks.
    let mut keys: Vec<u32> = (0..blocks as u32).collect();
    for last in (1..keys.len()).rev() {
        let other = ((u128::from(random.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        keys.swap(last, other);
    }
    keys
}

/// Sum of the two small numbers of the row with this key.
pub fn row_sum(key: u64) -> i64 {
    7 * key as i64 + 3
}

/// Sum of [`row_sum`] over `count` keys from `first`, in closed form.
pub fn range_sum(first: u64, count: u64) -> i64 {
    let (first, count) = (first as i64, count as i64);
    7 * (first * count + count * (count - 1) / 2) + 3 * count
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    fn options(pairs: &[(&str, OptionValue)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn data_that_do_not_fit_are_followed_by_an_option_that_does() {
        let mib = 1 << 20;
        for (cache, tables, said) in [
            (128 * mib, 1, "data_mib=64"),
            (128 * mib, 2, "data_mib=32"),
            (128 * mib, 12, "data_mib=5"),
            (8 * mib, 4, "data_mib=1"),
            (8 * mib, 5, "data_mib=N"),
            (0, 0, "data_mib=N"),
        ] {
            assert_eq!(smaller_data(cache, tables), format!("the data smaller (--set {said})"));
        }
    }

    #[test]
    fn defaults_and_sizes() {
        let spec = LogicalIo::parse(&Options::new()).unwrap();
        assert_eq!((spec.blocks, spec.work_unit, spec.updates(), spec.shared), (8192, 64, false, false));
        let sized =
            options(&[("data_mib", OptionValue::Number(1.5)), ("data", OptionValue::Text("l2".into()))]);
        assert_eq!(LogicalIo::parse(&sized).unwrap().blocks, 384);
        let both = options(&[("data_mib", OptionValue::Integer(4)), ("blocks", OptionValue::Number(100.0))]);
        assert_eq!(LogicalIo::parse(&both).unwrap().blocks, 100);
    }

    #[test]
    fn impossible_options_name_themselves() {
        let cases = [
            ("scale", OptionValue::Integer(3), "allowed: blocks"),
            ("blocks", OptionValue::Integer(0), "whole number from 1"),
            ("blocks", OptionValue::Text("many".into()), "'many'"),
            ("blocks", OptionValue::Number(f64::NAN), "whole number"),
            ("blocks", OptionValue::Integer(63), "more than the 63 blocks"),
            ("work_unit", OptionValue::Integer(-1), "whole number from 1"),
            ("update_pct", OptionValue::Number(101.0), "0 to 100"),
            ("hot_pct", OptionValue::Integer(5), "hot_pct needs"),
            ("hot_blocks", OptionValue::Integer(64), "without hot_pct"),
            ("shared", OptionValue::Integer(1), "neither true nor false"),
            ("data", OptionValue::Text("llc".into()), "needs blocks"),
            ("data_mib", OptionValue::Number(1e12), "data_mib"),
            (VCPUS, OptionValue::Text("two".into()), "'two' is not a number of vCPUs"),
            (VCPUS, OptionValue::Integer(0), "'0' is not a number of vCPUs"),
        ];
        for (name, value, part) in cases {
            let message = LogicalIo::parse(&options(&[(name, value)])).unwrap_err().to_string();
            assert!(message.contains(part), "{name}: {message}");
        }
    }

    #[test]
    fn keys_are_a_seeded_permutation() {
        let keys = shuffled_keys(1, 1000);
        assert_eq!(keys, shuffled_keys(1, 1000));
        assert_ne!(keys, shuffled_keys(2, 1000));
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
        let neighbours = keys.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(neighbours < 10, "{neighbours}");
        // A seed means the same data in every version: who resumes a study finds its order again.
        assert_eq!(shuffled_keys(1, 12), [1, 6, 8, 4, 3, 9, 2, 7, 11, 5, 0, 10]);
        assert_eq!((shuffled_keys(9, 0), shuffled_keys(9, 1)), (vec![], vec![0]));
    }

    #[test]
    fn closed_form_is_the_sum() {
        for (first, count) in [(0, 1), (5, 64), (8128, 64), (0, 20_000)] {
            assert_eq!(range_sum(first, count), (first..first + count).map(row_sum).sum::<i64>());
        }
    }

    #[test]
    fn steps_are_seeded_per_session_and_stay_inside() {
        let spec = LogicalIo::parse(&options(&[
            ("blocks", OptionValue::Integer(100)),
            ("hot_pct", OptionValue::Integer(50)),
            ("hot_blocks", OptionValue::Integer(64)),
            ("update_pct", OptionValue::Integer(25)),
        ]))
        .unwrap();
        let take = |seed, session| {
            let mut steps = Steps::new(spec, seed, session);
            (0..4000).map(|_| steps.draw()).collect::<Vec<_>>()
        };
        let steps = take(1, 0);
        assert_eq!(steps, take(1, 0));
        assert_ne!(steps, take(1, 1));
        assert_ne!(steps, take(2, 0));
        assert!(steps.iter().all(|step| step.first <= 36));
        assert!((36 - 34..=36).all(|first| steps.iter().any(|step| step.first == first)));
        // The hot spot holds exactly one start, key 0: half of the steps and 1/37 of the others.
        let at_zero = steps.iter().filter(|step| step.first == 0).count();
        assert!((1900..2200).contains(&at_zero), "{at_zero}");
        let updates = steps.iter().filter(|step| step.update).count();
        assert!((900..1100).contains(&updates), "{updates}");
    }
}
