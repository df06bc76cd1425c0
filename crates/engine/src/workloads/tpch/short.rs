//! Short queries beside the streams of a slice: look-ups of one order by its key, until the last stream is done.
//!
//! Keys: TPC-H specification, clause 4.2.3: of every 32 order keys the first 8 are used, and 0 is not a key.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use threadwise_study::SessionSlice;

use crate::{EngineError, Window, clock, latency};

/// Keys of existing orders, drawn with equal chances; the same for all treatments of a block.
#[derive(Debug)]
pub struct OrderKeys {
    random: ChaCha8Rng,
    orders: u64,
}

impl OrderKeys {
    /// Keys of a session in a slice, by the block's seed, from this many orders.
    pub fn new(seed: u64, session: u32, sequence: u64, orders: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ sequence.rotate_left(32));
        random.set_stream(u64::from(session));
        Self { random, orders: orders.max(1) }
    }
}

impl Iterator for OrderKeys {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        // 64 random bits to at most 150 billion orders: the bias is below a ten-millionth.
        Some(order_key(self.random.next_u64() % self.orders + 1))
    }
}

/// Key of the n-th order, from 1.
fn order_key(number: u64) -> i64 {
    ((number / 8) * 32 + number % 8) as i64
}

/// Executes short queries one after another from the window's start until `is_over`, at most to its end. `look_up`
/// gets a key and tells whether the answer was that order alone.
///
/// # Errors
/// The error of the first query that failed.
pub fn beside(
    engine: &str,
    window: &Window,
    keys: OrderKeys,
    is_over: impl Fn() -> bool,
    mut look_up: impl FnMut(i64) -> Result<bool, EngineError>,
) -> Result<SessionSlice, EngineError> {
    let failed = |cause: latency::LatencyError| EngineError::Failed {
        engine: engine.to_owned(),
        action: "record the latencies of short queries".to_owned(),
        why: cause.to_string(),
    };
    let mut histogram = latency::histogram().map_err(failed)?;
    let mut slice = SessionSlice::default();
    clock::sleep_until_ns(window.start_ns);
    let mut now_ns = clock::monotonic_ns();
    for key in keys {
        if is_over() || now_ns >= window.end_ns {
            break;
        }
        let began_ns = now_ns;
        let is_right = look_up(key)?;
        now_ns = clock::monotonic_ns();
        histogram.saturating_record(now_ns.saturating_sub(began_ns).max(1));
        slice.steps += 1;
        slice.rows += 1;
        slice.answers_checked += 1;
        slice.answers_wrong += u64::from(!is_right);
    }
    slice.latency = latency::to_bytes(&histogram).map_err(failed)?;
    slice.finished_ns = Some(now_ns.saturating_sub(window.start_ns));
    Ok(slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_eight_of_every_32_keys_are_used() {
        let keys: Vec<i64> = (1..=17).map(order_key).collect();
        assert_eq!(keys, [1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36, 37, 38, 39, 64, 65]);
        let drawn: BTreeSet<i64> = OrderKeys::new(1, 0, 0, 17).take(1000).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), keys);
    }

    #[test]
    fn keys_differ_by_session_and_slice_and_not_from_treatment_to_treatment() {
        let keys = |seed, session, sequence| -> Vec<i64> {
            OrderKeys::new(seed, session, sequence, 15_000).take(50).collect()
        };
        assert_eq!(keys(7, 1, 3), keys(7, 1, 3));
        let all: BTreeSet<Vec<i64>> = [keys(7, 1, 3), keys(7, 2, 3), keys(7, 1, 4), keys(8, 1, 3)].into();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn short_queries_end_with_the_streams_and_each_is_counted() {
        let window = Window { sequence: 0, start_ns: 0, end_ns: u64::MAX, piece_ns: None, arrivals: None };
        let left = Cell::new(5_u64);
        let is_over = || left.get() == 0;
        let look_up = |_| {
            left.set(left.get() - 1);
            Ok(left.get() != 2)
        };
        let slice = beside("test", &window, OrderKeys::new(1, 0, 0, 100), is_over, look_up).unwrap();
        assert_eq!((slice.steps, slice.rows, slice.answers_checked, slice.answers_wrong), (5, 5, 5, 1));
        assert_eq!(latency::steps(&slice.latency), Ok(5));
        assert!(slice.finished_ns.is_some() && slice.queries.is_empty());
        let over = Window { end_ns: 1, ..window };
        let none = beside("test", &over, OrderKeys::new(1, 0, 0, 100), || false, |_| Ok(true)).unwrap();
        assert_eq!((none.steps, none.latency.len()), (0, 0));
    }
}
