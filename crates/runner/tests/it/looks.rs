//! Looks around slices, as a study stores them.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, study};
use threadwise_runner::Looks;
use threadwise_study::{DuringLook, Moment, looks_during};

#[test]
fn every_slice_has_a_look_before_and_after_and_drawn_ones_while_it_runs() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    bench.settings.looks = Looks::All;
    let mut study = study(&["other"], 2);
    study.design.rounds = 10;
    let drawn: usize = (0..2).map(|block| looks_during(&study, block).iter().flatten().count()).sum();
    assert!((15..45).contains(&drawn), "{drawn} of 60");
    let mut store = bench.create(&study);
    bench.run(&mut store).unwrap();
    let runs = store.runs().unwrap();
    let slices: Vec<_> = runs.iter().flat_map(|run| &run.slices).collect();
    assert_eq!(slices.len(), 60);
    for slice in &slices {
        let moments: Vec<Moment> = slice.looks.iter().map(|one| one.moment).collect();
        assert_eq!((moments.first(), moments.last()), (Some(&Moment::Before), Some(&Moment::After)));
        let (before, after) = (&slice.looks[0].look, &slice.looks[moments.len() - 1].look);
        assert!(before.start_ns < slice.start_ns, "{before:?}");
        assert!(slice.start_ns + slice.window_ns < after.start_ns, "{after:?}");
        assert!(!before.cpus.is_empty() && before.cpus.len() <= 3, "one logical CPU, and two idle ones");
    }
    let of_the_plan = |block: u32| looks_during(&study, block).into_iter();
    let due: Vec<Option<DuringLook>> = of_the_plan(0).chain(of_the_plan(1)).collect();
    for slice in slices {
        let during = slice.looks.iter().filter(|one| one.moment == Moment::During).count();
        // A look that is due while the answer is there already is left out.
        let due = due[slice.sequence as usize];
        let most = due.map_or(0, |look| if look.repeated { 2 } else { 1 });
        assert!(during <= most, "slice {}", slice.sequence);
    }
}

#[test]
fn looks_may_be_left_out() {
    if !common::has_python() {
        return;
    }
    for (which, wanted) in [(Looks::None, [false, false]), (Looks::EveryOtherRound, [true, false])] {
        let mut bench = Bench::new(GOOD);
        bench.settings.looks = which;
        let mut store = bench.create(&study(&[], 1));
        bench.run(&mut store).unwrap();
        for slice in store.runs().unwrap().iter().flat_map(|run| &run.slices) {
            assert_eq!(!slice.looks.is_empty(), wanted[slice.round as usize % 2], "round {}", slice.round);
        }
    }
}
