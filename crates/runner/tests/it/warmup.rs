//! Warm-ups that are measured before the first block: which slices have them, and what is stored.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, study};
use std::collections::BTreeMap;
use threadwise_study::Study;
use threadwise_study::warmup::{UNSEEN_NS, WINDOW_NS, WINDOWS, Warmup};

const MS: u64 = 1_000_000;

fn measured(blocks: u32) -> Study {
    let mut study = study(&["slow start"], blocks);
    study.design.rewarm_ns = None;
    study
}

/// How often each treatment was asked for each warm-up and window, in milliseconds.
fn windows(bench: &Bench) -> BTreeMap<(String, u64, u64), usize> {
    let text = std::fs::read_to_string(bench.folder.path().join("windows")).unwrap();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split(',').collect();
        let ms = |at: usize| parts[at].parse::<u64>().unwrap() / MS;
        *counts.entry((parts[0].to_owned(), ms(1), ms(2))).or_default() += 1;
    }
    counts
}

#[test]
fn all_slices_have_the_warm_up_that_the_first_block_measured() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new("pieces");
    let mut store = bench.create(&measured(2));
    bench.run(&mut store).unwrap();
    let expected = |name: &str| if name == "slow start" { 10 } else { 4 };
    for run in store.runs().unwrap() {
        let warmup = Warmup { ns: expected(&run.treatment) * MS, piece_ns: Ok(2 * MS) };
        assert_eq!(Warmup::of(&run.readings), Some(warmup), "{}, block {}", run.treatment, run.block);
    }
    let windows = windows(&bench);
    for name in ["alone", "alone again", "slow start"] {
        assert_eq!(windows[&(name.to_owned(), 0, WINDOW_NS / MS)], WINDOWS, "{windows:?}");
        assert_eq!(windows[&(name.to_owned(), expected(name), 1)], 6, "{windows:?}");
    }
    assert_eq!(windows.len(), 6);
}

#[test]
fn a_worker_that_knows_no_pieces_is_not_asked_for_them() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&measured(1));
    bench.run(&mut store).unwrap();
    for run in store.runs().unwrap() {
        let why = "its engine does not count pieces of windows";
        assert_eq!(Warmup::of(&run.readings), Some(Warmup::unseen(why)));
    }
    let windows = windows(&bench);
    assert!(windows.keys().all(|(_, warmup_ms, _)| *warmup_ms == UNSEEN_NS / MS), "{windows:?}");
    let notes = store.notes().unwrap();
    let said = "warm-up of slow start: 5 ms, not seen: its engine does not count pieces of windows";
    assert!(notes.iter().any(|note| note.text == said), "{notes:?}");
}

#[test]
fn a_warm_up_that_is_given_is_not_measured() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new("pieces");
    let mut study = measured(1);
    study.design.rewarm_ns = Some(2 * MS);
    let mut store = bench.create(&study);
    bench.run(&mut store).unwrap();
    assert!(store.runs().unwrap().iter().all(|run| Warmup::of(&run.readings).is_none()));
    assert!(windows(&bench).keys().all(|(_, warmup_ms, window_ms)| (*warmup_ms, *window_ms) == (2, 1)));
}
