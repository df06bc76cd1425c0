//! Long windows beside slices: stored apart, in their place, and gone on with after a stop.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, study};
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_runner::{Event, Reason};
use threadwise_study::plan::long::FIRST_BLOCK;
use threadwise_study::{LongWindows, RunStatus, Study, plan_long_block};

fn with_long_windows() -> Study {
    let mut study = study(&["other"], 4);
    study.design.long_windows = Some(LongWindows { blocks: 2, window_ns: 2_000_000 });
    study
}

#[test]
fn long_windows_are_taken_between_blocks_and_kept_apart() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let study = with_long_windows();
    let mut store = bench.create(&study);
    let mut order = Vec::new();
    let mut observer = |event: &Event<'_>, _: &AtomicBool| match event {
        Event::BlockStarted { block, .. } => order.push(format!("block {block}")),
        Event::LongBlockStarted { number, count } => order.push(format!("long {number} of {count}")),
        Event::LongWindowFinished { treatment } => order.push((*treatment).to_owned()),
        _ => {}
    };
    let outcome = bench.observe(&mut store, &mut observer).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (4, Reason::PlanDone));
    let planned = |number: u32| {
        let plan = plan_long_block(&study, &bench.topology, number).unwrap().unwrap();
        plan.rounds[0].iter().map(|at| study.treatments[*at].name.clone()).collect::<Vec<_>>()
    };
    let text = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let expected = [
        text(&["block 0", "block 1", "long 0 of 2"]),
        planned(0),
        text(&["block 2", "block 3", "long 1 of 2"]),
        planned(1),
    ];
    assert_eq!(order, expected.concat());
    assert!(store.runs().unwrap().iter().all(|run| run.block < 4 && run.slices.len() == 3));
    assert_eq!(store.runs().unwrap().len(), 12);
    assert_eq!(
        (store.complete_blocks().unwrap(), store.complete_long_blocks().unwrap().len()),
        (vec![0, 1, 2, 3], 2)
    );
    let long = store.long_runs().unwrap();
    assert_eq!(long.len(), 6);
    for (at, run) in long.iter().enumerate() {
        assert_eq!((&run.status, run.block), (&RunStatus::Valid, FIRST_BLOCK + at as u32 / 3));
        let [window] = &run.slices[..] else { panic!("{} windows", run.slices.len()) };
        assert!(window.round == 0 && window.looks.is_empty() && window.rows() == 640);
    }
}

#[test]
fn a_study_that_was_stopped_in_long_windows_goes_on_with_them() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&with_long_windows());
    let mut taken = 0;
    let mut stop_in_the_last = |event: &Event<'_>, stop: &AtomicBool| {
        taken += u32::from(matches!(event, Event::LongWindowFinished { .. }));
        if taken == 4 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = bench.observe(&mut store, &mut stop_in_the_last).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (4, Reason::Interrupted), "all blocks of slices are there");
    assert_eq!(store.complete_long_blocks().unwrap(), [FIRST_BLOCK]);
    drop(store);
    let mut store = bench.resume();
    let slices = store.runs().unwrap();
    let outcome = bench.run(&mut store).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (4, Reason::PlanDone));
    assert_eq!(store.runs().unwrap(), slices, "nothing else is done again");
    assert_eq!(store.complete_long_blocks().unwrap(), [FIRST_BLOCK, FIRST_BLOCK + 1]);
    let long = store.long_runs().unwrap();
    let valid = long.iter().filter(|run| run.status.is_valid());
    assert_eq!(
        valid.map(|run| (run.block - FIRST_BLOCK, run.attempt)).collect::<Vec<_>>(),
        [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1), (1, 1)]
    );
    assert!(long.iter().any(|run| run.status == RunStatus::Superseded));
}
