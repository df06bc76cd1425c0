//! The order of slices: every round complete, neighbours and places balanced over the study and on its way.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{default_study, small_guest};
use threadwise_study::plan::order::rounds;
use threadwise_study::plan_block;

/// What was counted in some blocks.
struct Counts {
    treatments: usize,
    /// How often each treatment (second) came right after each (first).
    pairs: Vec<Vec<i32>>,
    /// How often each treatment had each place of a round.
    places: Vec<Vec<i32>>,
    /// How often each treatment began a block.
    begins: Vec<i32>,
}

impl Counts {
    fn new(treatments: usize) -> Self {
        let square = || vec![vec![0; treatments]; treatments];
        Self { treatments, pairs: square(), places: square(), begins: vec![0; treatments] }
    }

    fn add(&mut self, block: &[Vec<usize>]) {
        for round in block {
            for (place, treatment) in round.iter().enumerate() {
                self.places[*treatment][place] += 1;
            }
        }
        let slices: Vec<usize> = block.concat();
        for pair in slices.windows(2) {
            self.pairs[pair[0]][pair[1]] += 1;
        }
        self.begins[slices[0]] += 1;
    }

    fn after_others(&self) -> impl Iterator<Item = i32> {
        let pairs = (0..self.treatments).flat_map(|one| (0..self.treatments).map(move |other| (one, other)));
        pairs.filter(|(one, other)| one != other).map(|(one, other)| self.pairs[one][other])
    }

    fn after_itself(&self) -> impl Iterator<Item = i32> {
        (0..self.treatments).map(|treatment| self.pairs[treatment][treatment])
    }
}

fn spread(counts: impl Iterator<Item = i32>) -> i32 {
    let all: Vec<i32> = counts.collect();
    all.iter().max().unwrap() - all.iter().min().unwrap()
}

/// max − min of pair counts that no order can fall below: pairs of different treatments are fixed in number, and a
/// treatment can follow itself at the start of a round only.
fn least_spread(treatments: i32, rounds: i32, blocks: i32) -> i32 {
    let others = (rounds * blocks * (treatments - 1), treatments * (treatments - 1));
    let itself = ((rounds - 1) * blocks, treatments);
    let ends = |(count, cells): (i32, i32)| (count / cells, (count + cells - 1) / cells);
    let ((low, high), (low_itself, high_itself)) = (ends(others), ends(itself));
    high.max(high_itself) - low.min(low_itself)
}

#[test]
fn every_round_has_every_treatment_once_and_begins_where_the_last_ended() {
    for treatments in 0..=40 {
        for (number, block) in [(20, 0), (20, 7), (1, 3), (3, 4_000_000_000)] {
            let order = rounds(7, treatments, number, block);
            assert_eq!(order.len(), number as usize);
            for round in &order {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..treatments).collect::<Vec<_>>());
            }
            assert!(order.windows(2).all(|pair| pair[0].last() == pair[1].first()));
        }
    }
}

#[test]
fn a_cycle_has_every_pair_and_every_place_twice() {
    for treatments in (2..=13).chain([39, 40]) {
        let mut counts = Counts::new(treatments);
        for block in 0..5 {
            counts.add(&rounds(3, treatments, 2 * treatments as u32, block));
        }
        assert!(counts.after_others().all(|count| count == 10), "{treatments}: {:?}", counts.pairs);
        assert!(counts.places.concat().iter().all(|count| *count == 10), "{treatments}: {:?}", counts.places);
        // The first slice of each block follows none.
        let after_itself = counts.after_itself().zip(&counts.begins);
        assert!(after_itself.map(|(count, begins)| count + begins).all(|count| count == 10));
    }
}

#[test]
fn neighbours_and_places_are_balanced_at_every_number_of_blocks() {
    for (number, blocks) in [(20, 64), (22, 24), (40, 16), (200, 8), (5, 40), (2, 80), (1, 80)] {
        let mut worst = Vec::new();
        for treatments in 2..=12 {
            let (mut counts, mut most, mut at_8) = (Counts::new(treatments), 0, 0);
            for block in 0..blocks {
                counts.add(&rounds(11, treatments, number, block));
                let all = || counts.after_others().chain(counts.after_itself());
                // Where a block has one round no treatment can follow itself.
                let found = if number > 1 { spread(all()) } else { spread(counts.after_others()) };
                let least = least_spread(treatments as i32, number as i32, block as i32 + 1);
                let least = if number > 1 { least } else { 0 };
                most = most.max(found - least);
                if block == 7 {
                    at_8 = found;
                }
                assert!(spread(counts.after_others()) <= 2, "{treatments}, {number}, {block}");
                assert!(spread(counts.places.concat().into_iter()) <= 2, "{treatments}, {number}, {block}");
            }
            // In blocks of two rounds every other treatment of the walk begins a block, and few wishes are granted.
            let limit = if number == 2 { 15 } else { 5 };
            assert!(most <= limit, "{treatments} treatments, {number} rounds: {most} beyond the least");
            worst.push((treatments, at_8, most));
        }
        println!("{number} rounds (treatments, spread after 8 blocks, most beyond the least): {worst:?}");
    }
}

#[test]
fn every_treatment_begins_blocks_as_often() {
    for treatments in 3..=12 {
        let mut counts = Counts::new(treatments);
        (0..8 * treatments as u32).for_each(|block| counts.add(&rounds(5, treatments, 20, block)));
        assert!(
            counts.begins.iter().all(|count| (7..=9).contains(count)),
            "{treatments}: {:?}",
            counts.begins
        );
    }
}

#[test]
fn no_treatment_has_a_place_or_a_rhythm() {
    for treatments in 3..=12 {
        let (mut same, mut compared) = (vec![0; 6 * treatments], vec![0; 6 * treatments]);
        let mut next_place = vec![vec![0; treatments]; treatments];
        for block in 0..200 {
            let order = rounds(13, treatments, 40, block);
            let slices: Vec<usize> = order.concat();
            for lag in 2..same.len() {
                for pair in slices.iter().zip(&slices[lag..]) {
                    same[lag] += i32::from(pair.0 == pair.1);
                    compared[lag] += 1;
                }
            }
            for pair in order.windows(2) {
                for (place, treatment) in pair[0].iter().enumerate() {
                    let next = pair[1].iter().position(|other| other == treatment).unwrap();
                    next_place[place][next] += 1;
                }
            }
        }
        let shares = same.iter().zip(&compared).skip(2).map(|(same, all)| f64::from(*same) / f64::from(*all));
        let most = shares.fold(0.0, f64::max) * treatments as f64;
        println!("{treatments} treatments: the same after some slices, most {most:.2} of chance");
        assert!(most < 2.0, "{treatments}: {most}");
        // All but the last of a round may have any place but the first of the next one, where chance is 1.
        let chance = 200.0 * 39.0 / (treatments - 1) as f64;
        for place in &next_place[..treatments - 1] {
            let mut shares = place[1..].iter().map(|count| f64::from(*count) / chance);
            assert!(place[1..].iter().all(|count| *count > 0), "{treatments}: {next_place:?}");
            assert!(shares.all(|share| share < 3.0), "{treatments}: {next_place:?}");
        }
    }
}

#[test]
fn an_order_is_that_of_seed_and_block_alone() {
    let order = |seed, block| rounds(seed, 9, 20, block);
    assert_eq!(order(1, 6), order(1, 6));
    let mut all: Vec<Vec<Vec<usize>>> =
        (0..3).flat_map(|seed| (0..64).map(move |block| order(seed, block))).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 192, "no two blocks have the same order");
}

#[test]
fn the_plan_has_this_order() {
    let topology = small_guest();
    let mut study = default_study(&topology);
    study.seed = 99;
    for block in [0, 1, 500] {
        let plan = plan_block(&study, &topology, block).unwrap();
        assert_eq!(plan.rounds, rounds(99, study.treatments.len(), study.design.rounds, block));
    }
}
