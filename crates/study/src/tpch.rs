//! What the plan of a study needs from the workload `tpch`: the rounds of a block, and the queries of each session in
//! them. The crate `tpch` has the queries.
//!
//! `test=power` has one round for every query, so that treatments take turns query by query and each ratio is one of
//! neighbours in time. `test=throughput` has one round of whole streams. Sources: TPC-H specification, clauses 5.3.3
//! and 5.3.4.

use rand::Rng;
use rand::seq::SliceRandom;

use crate::{OptionValue, Options};

/// Number of queries in the specification.
pub const QUERIES: u8 = 22;

/// Default time limit of one query, or of all streams together: an hour, the maximum of a worker.
pub const LIMIT_MS: f64 = 3_600_000.0;

/// Maximum sessions beside the streams.
pub const MAX_SHORT: u32 = 64;

/// Which test is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// One stream, query by query.
    Power,
    /// Several streams, each in its own order.
    Throughput,
}

/// The test that the options select; the engine refuses an unknown word.
pub fn test(options: &Options) -> Test {
    let word = options.get("test").and_then(OptionValue::text);
    if word == Some("throughput") { Test::Throughput } else { Test::Power }
}

/// The queries that the options select, ascending; all if absent or invalid.
pub fn queries(options: &Options) -> Vec<u8> {
    let asked = options.get("queries").map(ToString::to_string);
    asked.and_then(|list| query_list(&list).ok()).unwrap_or_else(|| (1..=QUERIES).collect())
}

/// Sessions beside the streams, which run short queries; 0 for an invalid value, which the engine refuses.
pub fn short(options: &Options) -> u32 {
    let short = options.get("short").and_then(OptionValue::whole);
    short.and_then(|short| u32::try_from(short).ok()).unwrap_or(0).min(MAX_SHORT)
}

/// Parses a list of queries such as `1,3-6`: ascending, each once.
///
/// # Errors
/// What is wrong with it, and what is allowed.
pub fn query_list(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("queries '{text}': a list of 1 to {QUERIES} such as 1,3-6 is allowed");
    let number = |word: &str| word.trim().parse::<u8>().ok().filter(|query| (1..=QUERIES).contains(query));
    let mut queries = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first > last {
            return Err(wrong());
        }
        queries.extend(first..=last);
    }
    queries.sort_unstable();
    queries.dedup();
    Ok(queries)
}

/// Rounds of a block: one for every query, or one in total.
pub fn rounds(options: &Options) -> u32 {
    match test(options) {
        Test::Power => queries(options).len() as u32,
        Test::Throughput => 1,
    }
}

/// The queries of each round and stream, drawn for one block: `[round][stream]`.
pub(crate) fn scripts(
    options: &Options,
    rounds: u32,
    streams: u32,
    random: &mut impl Rng,
) -> Vec<Vec<Vec<u8>>> {
    let mut order = || {
        let mut queries = queries(options);
        queries.shuffle(random);
        queries
    };
    match test(options) {
        // More rounds than queries: the whole test again, in another order.
        Test::Power => {
            let mut left: Vec<u8> = Vec::new();
            let mut next = || {
                if left.is_empty() {
                    left = order();
                }
                left.pop().map_or_else(Vec::new, |query| vec![vec![query]])
            };
            (0..rounds).map(|_| next()).collect()
        }
        Test::Throughput => (0..rounds).map(|_| (0..streams).map(|_| order()).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn lists_of_queries_are_read() {
        assert_eq!(query_list("3, 1-2,22,2").unwrap(), [1, 2, 3, 22]);
        for bad in ["", "0", "23", "5-3", "1-", "a", "1,,2"] {
            assert!(query_list(bad).unwrap_err().contains("1 to 22"), "{bad}");
        }
    }

    #[test]
    fn a_power_block_has_every_query_once_in_every_pass() {
        let options = Options::from([("queries".to_owned(), OptionValue::Text("1-3".to_owned()))]);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let scripts = scripts(&options, 6, 1, &mut random);
        assert_eq!(rounds(&options), 3);
        for pass in scripts.chunks(3) {
            let mut seen: Vec<u8> = pass.iter().map(|round| round[0][0]).collect();
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3]);
        }
    }

    #[test]
    fn sessions_beside_the_streams_are_whole_and_few() {
        let read = |value: OptionValue| short(&Options::from([("short".to_owned(), value)]));
        let whole = [0, 2, 64, 65, -1, i64::MAX].map(|short| read(OptionValue::Integer(short)));
        assert_eq!(whole, [0, 2, 64, 64, 0, 0]);
        assert_eq!((read(OptionValue::Number(2.0)), short(&Options::new())), (0, 0));
    }

    #[test]
    fn streams_of_a_throughput_block_have_orders_of_their_own() {
        let options = Options::from([("test".to_owned(), OptionValue::Text("throughput".to_owned()))]);
        let scripts = scripts(&options, rounds(&options), 3, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!((scripts.len(), scripts[0].len()), (1, 3));
        assert!(scripts[0].iter().all(|stream| stream.len() == 22));
        assert_ne!(scripts[0][0], scripts[0][1]);
    }
}
