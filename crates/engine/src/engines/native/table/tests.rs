//! Tests of the table under concurrent inserts.

use super::*;
use std::collections::BTreeMap;
use std::thread;

const KINDS: [Index; 3] = [Index::LockFree, Index::Locked(1), Index::Locked(16)];

fn row(key: i64, session: usize) -> Row {
    Row::new(key, 1, session as i32, 0, 0)
}

fn find(table: &Table, key: i64) -> Option<&Row> {
    table.find(key, &mut Walked::default())
}

fn insert(table: &Table, part: RowOrigin, session: usize, key: i64) -> bool {
    table.insert(part, session, row(key, session), &mut Walked::default())
}

#[test]
fn rows_are_found_by_their_keys() {
    for index in KINDS {
        let table = Table::new(index, 8, 2);
        assert!((0..1000).all(|key| insert(&table, RowOrigin::Seed, (key % 2) as usize, key)));
        assert!(
            (0..1000)
                .all(|key| find(&table, key).is_some_and(|found| *found == row(key, (key % 2) as usize)))
        );
        assert!(find(&table, 1000).is_none() && find(&table, -1).is_none());
        assert!((0..1000).all(|key| !insert(&table, RowOrigin::Added, 0, key)));
        assert_eq!(table.content(), Content { rows: 1000, key_sum: 499_500 });
    }
}

#[test]
fn chain_steps_are_the_rows_that_were_compared() {
    let table = Table::new(Index::LockFree, 1, 1);
    let mut walked = Walked::default();
    for key in 0..10 {
        assert!(table.insert(RowOrigin::Added, 0, row(key, 0), &mut walked));
    }
    assert_eq!(walked, Walked { chain_steps: 45, retries: 0 });
    // The first key stands last in the only chain.
    assert!(!table.insert(RowOrigin::Added, 0, row(0, 0), &mut walked));
    assert_eq!(walked.chain_steps, 55);
}

/// Every session inserts the same keys, in an order of its own, into few chains.
#[test]
fn overlapping_keys_are_inserted_exactly_once() {
    const SESSIONS: usize = 8;
    const KEYS: i64 = 5_000;
    for index in KINDS {
        let table = Table::new(index, 4, SESSIONS);
        let won: Vec<Vec<i64>> = thread::scope(|scope| {
            let inserters: Vec<_> = (0..SESSIONS)
                .map(|session| {
                    let table = &table;
                    // Factors coprime to the number of keys: permutations, some of them alike.
                    let factor = [1, 1, 7, 7, 4_999, 4_999, 3, 1_001][session];
                    scope.spawn(move || {
                        let keys = (0..KEYS / 5).map(|at| at * factor % KEYS);
                        keys.filter(|key| insert(table, RowOrigin::Added, session, *key)).collect()
                    })
                })
                .collect();
            inserters.into_iter().map(|inserter| inserter.join().unwrap()).collect()
        });
        let mut winners: BTreeMap<i64, usize> = BTreeMap::new();
        for (session, keys) in won.iter().enumerate() {
            for key in keys {
                assert!(winners.insert(*key, session).is_none(), "{index:?}: key {key} went in twice");
            }
        }
        for (key, session) in &winners {
            assert_eq!(find(&table, *key).unwrap().c4, *session as i32, "{index:?}: key {key}");
        }
        let key_sum = winners.keys().map(|key| *key as u64).sum();
        assert_eq!(table.content(), Content { rows: winners.len() as u64, key_sum });
    }
}

#[test]
fn putting_back_leaves_the_seed_and_tells_what_was_added() {
    for index in KINDS {
        let mut table = Table::new(index, 64, 3);
        table.touch(1, 100, || row(0, 1));
        assert_eq!(table.put_back(), Content::default());
        for key in 0..300 {
            assert!(insert(&table, RowOrigin::Seed, (key % 3) as usize, key));
        }
        let seed = table.content();
        for round in 0..3 {
            for key in 1000..1200 {
                assert!(insert(&table, RowOrigin::Added, (key % 3) as usize, key), "round {round}");
            }
            assert_eq!(table.content().rows, 500);
            let added = Content { rows: 200, key_sum: (1000..1200).sum() };
            assert_eq!(table.put_back(), added);
            assert_eq!(table.content(), seed);
            assert!(find(&table, 1000).is_none() && find(&table, 299).is_some());
        }
    }
}

#[test]
fn sequential_keys_spread_like_random_ones() {
    let buckets = 1 << 10;
    let mut counts = vec![0_u32; buckets];
    for key in 0..buckets as i64 {
        counts[hash(10_000_000_000 + key) as usize & (buckets - 1)] += 1;
    }
    // A mean of one a bucket: 1/e of 1,024 are empty, give or take five standard deviations (10 each).
    let empty = counts.iter().filter(|count| **count == 0).count();
    assert!((327..=427).contains(&empty), "{empty}");
    assert!(counts.iter().all(|count| *count < 10));
}
