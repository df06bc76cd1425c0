//! Gains under one kind of lock against another: how often a difference is claimed where there is none, and found where
//! there is one.
//!
//! The preset's shape: operations and keys crossed with three locks, each with A, A′, both threads of a core, one thread
//! of every core and all threads. Pairs share their sides, and each treatment has noise of its own.

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::rules::{CHANGES, count};
use crate::lab_simulations::coverage::share;
use threadwise_analysis::estimate::{Work, block_difference, paired};

const COMBINATIONS: usize = 4;
const LOCKS: usize = 3;
/// A, A′, both threads, one thread of every core, all threads.
const MEMBERS: usize = 5;
const BLOCKS: [usize; 2] = [8, 16];

/// What one study says: whether any pair is claimed to differ that does not, the share of those that do that is found,
/// and whether every interval covers.
#[derive(Clone, Copy)]
struct Seen {
    is_false: bool,
    found: f64,
    covers: bool,
}

/// The gain of both threads under the last lock is larger by this, as a logarithm, in the first combination.
fn study(machine: &Machine, effect: f64, blocks: usize, seed: u64) -> Seen {
    let groups = COMBINATIONS * LOCKS;
    let is_changed = |group: usize| group == LOCKS - 1;
    // The machine's own A and A′ are not used: every group has its own, with the noise of all others.
    let effects: Vec<f64> = (0..groups * MEMBERS)
        .map(|at| if at % MEMBERS == 2 && is_changed(at / MEMBERS) { effect } else { 0.0 })
        .collect();
    let made = Machine { effects, ..machine.clone() }.study(blocks, seed);
    let d = |top: usize, below: &[usize]| -> Vec<f64> {
        let of_block = |block: &Vec<Vec<Work>>| {
            let sides: Vec<&[Work]> = below.iter().map(|at| block[at + 2].as_slice()).collect();
            block_difference(&block[top + 2], &sides, Work::rows_per_s).unwrap()
        };
        made.iter().map(of_block).collect()
    };
    let less = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let (mut pairs, mut truths, mut twins) = (Vec::new(), Vec::new(), Vec::new());
    for combination in 0..COMBINATIONS {
        let group = |lock: usize| (combination * LOCKS + lock) * MEMBERS;
        let gains = |lock: usize| {
            let at = group(lock);
            [d(at + 2, &[at, at + 1]), d(at + 3, &[at, at + 1]), d(at + 4, &[at + 3])]
        };
        let all: Vec<[Vec<f64>; 3]> = (0..LOCKS).map(gains).collect();
        for (below, top) in [(0, 1), (0, 2), (1, 2)] {
            for (gain, (one, other)) in all[top].iter().zip(&all[below]).enumerate() {
                pairs.push(less(one, other));
                let differs = gain == 0 && is_changed(combination * LOCKS + top);
                truths.push(if differs { effect } else { 0.0 });
            }
        }
        let twin = |lock: usize| d(group(lock) + 1, &[group(lock)]);
        twins.extend((1..LOCKS).map(|lock| less(&twin(lock), &twin(0))));
    }
    let judged = paired(&pairs, &twins, CHANGES);
    let all = judged.iter().flatten().zip(&truths);
    let is_false = all.clone().any(|(one, truth)| *truth == 0.0 && one.is_different());
    let covers = all.clone().all(|(one, truth)| one.adjusted_low <= *truth && *truth <= one.adjusted_high);
    let true_ones: Vec<bool> =
        all.filter(|(_, truth)| **truth != 0.0).map(|(one, _)| one.is_different()).collect();
    Seen { is_false, found: if true_ones.is_empty() { 0.0 } else { share(&true_ones) }, covers }
}

/// Shares of studies with a false claim and in which every interval covers; mean share of true differences found.
fn shares(name: &str, machine: &Machine, effect: f64, blocks: usize) -> [f64; 3] {
    let all: Vec<Seen> = (0..count(300)).map(|seed| study(machine, effect, blocks, seed)).collect();
    let false_ones = share(&all.iter().map(|one| one.is_false).collect::<Vec<_>>());
    let covers = share(&all.iter().map(|one| one.covers).collect::<Vec<_>>());
    let found = all.iter().map(|one| one.found).sum::<f64>() / all.len() as f64;
    println!(
        "gains by lock, {name}, {blocks} blocks, a true {:+.0}%: something false said in {:.1}% of studies, all intervals cover \
         in {:.1}%; {:.0}% of true differences are found",
        100.0 * effect.exp_m1(),
        100.0 * false_ones,
        100.0 * covers,
        100.0 * found
    );
    [false_ones, covers, found]
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_lock_is_said_to_gain_more_where_it_does() {
    let unequal = Machine { block_sd: (0.014, 0.02), ..QUIET };
    for (name, machine) in [
        ("independent", unequal.clone()),
        ("AR(1) 0.3", Machine { ar1: 0.3, slice_sd: 0.002, ..unequal.clone() }),
        (
            "a neighbour takes 40% for 20% of the time",
            Machine { neighbour: (40.0, 0.2, 0.4), ..unequal.clone() },
        ),
        ("2% of slices stall", Machine { stalls: 0.02, ..unequal }),
    ] {
        for blocks in BLOCKS {
            let [said, covers, _] = shares(name, &machine, 0.0, blocks);
            assert!(said <= 0.05 && covers >= 0.95, "{name}, {blocks} blocks: {said} {covers}");
            let [said, _, found] = shares(name, &machine, 0.25, blocks);
            assert!(said <= 0.05, "{name}, {blocks} blocks: {said}");
            assert!(found >= if blocks == 8 { 0.5 } else { 0.95 }, "{name}, {blocks} blocks: {found}");
        }
    }
}
