//! A limit of time: what it cannot hold is said, and what it held is kept. What is decided is asserted, and
//! no time: workers that take 1.5 s to start are slow on any machine, and a limit that is over is over.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, is_running, settings, study};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use threadwise_runner::{Decision, Event, Reason, Settings, run};
use threadwise_store::EndState;
use threadwise_study::{Stopping, Study};

fn short_study(stopping: Stopping) -> Study {
    let mut study = study(&[], 1);
    study.design.rounds = 1;
    study.design.stopping = stopping;
    study
}

/// Settings of a start an hour ago that had a second.
fn overdue(bench: &Bench) -> Settings {
    let began = Instant::now().checked_sub(Duration::from_secs(3600)).unwrap();
    Settings { began, limit: Some(Duration::from_secs(1)), ..bench.settings.clone() }
}

#[test]
fn slow_starts_end_a_study_before_it_measures_and_a_larger_limit_goes_on() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new("slow");
    let mut store = bench.create(&short_study(Stopping::Until { half_width: 0.02, budget_s: 4.0 }));
    bench.settings =
        Settings { limit: Some(Duration::from_secs(4)), began: Instant::now(), ..bench.settings };
    let mut slices = 0;
    let mut observer = |event: &Event<'_>, _: &AtomicBool| {
        slices += u32::from(matches!(event, Event::SliceFinished { slice: Some(_), .. }));
    };
    let outcome = bench.observe(&mut store, &mut observer).unwrap();
    let Reason::Short(short) = outcome.reason else { panic!("{outcome:?}") };
    assert_eq!((outcome.blocks, slices, short.blocks, short.blocks_done), (0, 0, 8, 0));
    let said = short.to_string();
    assert!(said.starts_with("a budget of 4s cannot hold 8 blocks: setting up "), "{said}");
    // A slow start takes 1.5 s, of which the limit may leave less on a busy machine.
    let least = f64::min(1.5, short.limit_s - short.setup_s);
    assert!(said.contains("give --budget ") && short.block_s >= least, "{said}");
    assert_eq!(store.state().unwrap(), EndState::Stopped);
    assert_eq!((store.complete_blocks().unwrap(), store.planned_blocks().unwrap()), (vec![], None));
    assert!(bench.left_behind().is_empty() && bench.pids().into_iter().all(|pid| !is_running(pid)));
    drop(store);

    let quick = settings(bench.folder.path(), &bench.settings.data_root, GOOD);
    bench.settings = Settings { limit: Some(Duration::from_secs(3600)), ..quick };
    let mut store = bench.resume();
    let stop = Arc::new(AtomicBool::new(false));
    let decide = &mut |_: &[_], _| Decision::Stop;
    let outcome = run(&bench.topology, &bench.settings, &mut store, &mut |_| {}, decide, &stop).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (8, Reason::TargetReached));
}

#[test]
fn a_limit_that_is_over_before_anything_is_set_up_measures_nothing() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    bench.settings = overdue(&bench);
    let mut store = bench.create(&short_study(Stopping::Budget { budget_s: 1.0 }));
    let outcome = bench.run(&mut store).unwrap();
    let Reason::Short(short) = outcome.reason else { panic!("{outcome:?}") };
    assert!(outcome.blocks == 0 && short.to_string().contains("cannot hold 8 blocks"), "{short}");
    assert!(store.runs().unwrap().iter().all(|run| run.slices.is_empty()));
    assert!(bench.left_behind().is_empty());
}

#[test]
fn enough_blocks_are_enough_when_the_time_is_over() {
    if !common::has_python() {
        return;
    }
    let mut bench = Bench::new(GOOD);
    let mut study = short_study(Stopping::Budget { budget_s: 3600.0 });
    study.treatments.truncate(1);
    let mut store = bench.create(&study);
    store.set_planned_blocks(12).unwrap();
    let mut stop_after_nine = |event: &Event<'_>, stop: &AtomicBool| {
        if matches!(event, Event::BlockFinished { block: 8, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = bench.observe(&mut store, &mut stop_after_nine).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (9, Reason::Interrupted));
    drop(store);
    bench.settings = overdue(&bench);
    let mut store = bench.resume();
    let outcome = bench.run(&mut store).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (9, Reason::PlanDone));
    assert_eq!((store.state().unwrap(), store.planned_blocks().unwrap()), (EndState::Complete, Some(9)));
    let notes = store.notes().unwrap();
    assert!(notes.iter().any(|note| note.text.contains("held 9 of the 12 planned blocks")), "{notes:?}");
}
