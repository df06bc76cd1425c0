//! Keys of the index: stored keys, keys looked up, keys inserted, and the value of each.
//!
//! The n-th stored key has n in its upper half and 0 in its lower one, so that no read is needed to know it. Inserted
//! keys have numbers from 1 on in their lower half, and so lie between two stored ones or behind all of them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::workloads::insert::Key;

/// Bits of a key below its place (the n of the n-th stored key).
const PLACE_BITS: u32 = 32;

/// Most keys stored at the start: their places, and those of the sessions behind them, fit into a key.
pub const MAX_ROWS: u64 = 1 << 28;

/// The value stored with a key; both together fill a cache line.
pub type Value = [u64; 7];

/// The value of a key.
#[inline]
pub fn value_of(key: i64) -> Value {
    // An odd factor for each word (the golden ratio's, as in splitmix64), so that words of different keys differ.
    std::array::from_fn(|word| (key as u64).wrapping_add(word as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The stored key with this number.
#[inline]
pub fn stored_key(place: u64) -> i64 {
    (place << PLACE_BITS) as i64
}

/// Stored keys in the order of their insertion: every second one first. Inserted in ascending order they would fill
/// the nodes of std's tree, and the first inserts of a run would have to split every node.
pub fn in_order(rows: u64) -> impl Iterator<Item = i64> {
    (0..rows).step_by(2).chain((1..rows).step_by(2)).map(stored_key)
}

/// The keys of one session: a pure function of seed and session.
#[derive(Debug, Clone)]
pub struct Keys {
    order: Key,
    rows: u64,
    absent_pct: f64,
    session: u64,
    sessions: u64,
    random: ChaCha8Rng,
    /// Ascending lookups: the next place.
    next: u64,
    /// Keys inserted since [`Keys::restart`].
    inserted: u64,
}

impl Keys {
    /// Keys of one of `sessions` sessions on an index of `rows` rows, at least one for each session.
    pub fn new(order: Key, rows: u64, absent_pct: f64, (session, sessions): (u32, u32), seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(session));
        let (session, sessions) = (u64::from(session), u64::from(sessions));
        let next = rows * session / sessions;
        Self { order, rows, absent_pct, session, sessions, random, next, inserted: 0 }
    }

    /// The next key to look up, and whether it is stored. Ascending keys begin at the session's part of the index and
    /// wrap around.
    #[inline]
    pub fn lookup(&mut self) -> (i64, bool) {
        let place = match self.order {
            Key::Random => self.below(self.rows),
            Key::Sequential => {
                let place = self.next;
                self.next = if place + 1 == self.rows { 0 } else { place + 1 };
                place
            }
        };
        let is_absent = self.absent_pct > 0.0 && self.happens(self.absent_pct);
        (stored_key(place) | i64::from(is_absent), !is_absent)
    }

    /// The next key to insert, different from all since [`Keys::restart`] and from those of other sessions. Random
    /// keys lie behind every n-th stored one, n being the number of sessions; ascending ones behind all, each session
    /// with a place of its own.
    #[inline]
    pub fn insert(&mut self) -> i64 {
        self.inserted += 1;
        let place = match self.order {
            Key::Random => self.session + self.sessions * self.below(self.rows / self.sessions),
            Key::Sequential => self.rows + self.session,
        };
        stored_key(place) | self.inserted as i64
    }

    /// Every inserted key has been removed.
    pub fn restart(&mut self) {
        self.inserted = 0;
    }

    /// How many keys were inserted since [`Keys::restart`].
    pub fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Uniform below a number: multiply and shift (Lemire, ACM TOMACS 29, 2019), with a bias below 2^28 / 2^64.
    #[inline]
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(end)) >> 64) as u64
    }

    #[inline]
    fn happens(&mut self, percent: f64) -> bool {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * 100.0 < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn stored_keys_come_once_each_and_differ_in_every_word_of_their_values() {
        for rows in [1, 2, 7, 1000] {
            let keys: BTreeSet<i64> = in_order(rows).collect();
            assert_eq!(keys, (0..rows).map(stored_key).collect());
        }
        for word in 0..7 {
            let values: BTreeSet<u64> = in_order(1000).map(|key| value_of(key)[word]).collect();
            assert_eq!(values.len(), 1000);
        }
        assert!(stored_key(MAX_ROWS + u64::from(u16::MAX)) > 0);
    }

    #[test]
    fn sequential_lookups_go_around_from_the_sessions_part() {
        let mut keys = Keys::new(Key::Sequential, 10, 0.0, (1, 2), 7);
        let places: Vec<i64> = (0..10).map(|_| keys.lookup().0 >> PLACE_BITS).collect();
        assert_eq!(places, [5, 6, 7, 8, 9, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn random_lookups_are_spread_seeded_and_absent_as_often_as_asked() {
        let draw = |session, seed| {
            let mut keys = Keys::new(Key::Random, 1000, 25.0, (session, 2), seed);
            (0..10_000).map(|_| keys.lookup()).collect::<Vec<_>>()
        };
        let found = draw(0, 7);
        assert!(found == draw(0, 7) && found != draw(1, 7) && found != draw(0, 8));
        // 2,500 give or take five standard deviations of 43.
        let absent = found.iter().filter(|(_, is_there)| !is_there).count();
        assert!((2_285..=2_715).contains(&absent), "{absent}");
        assert!(found.iter().all(|(key, is_there)| (key & 1 == 0) == *is_there && key >> PLACE_BITS < 1000));
        let places: BTreeSet<i64> = found.iter().map(|(key, _)| key >> PLACE_BITS).collect();
        assert!(places.len() > 990, "{}", places.len());
    }

    #[test]
    fn inserted_keys_are_new_and_no_other_sessions() {
        for order in [Key::Random, Key::Sequential] {
            let mut all: BTreeSet<i64> = in_order(11).collect();
            for session in 0..3 {
                let mut keys = Keys::new(order, 11, 0.0, (session, 3), 7);
                let first: Vec<i64> = (0..500).map(|_| keys.insert()).collect();
                assert!(first.iter().all(|key| all.insert(*key)), "{order:?}");
                assert_eq!(order == Key::Sequential, first.is_sorted());
                assert_eq!(keys.inserted(), 500);
                keys.restart();
                assert_eq!(keys.insert() & 0xffff_ffff, 1);
            }
        }
    }
}
