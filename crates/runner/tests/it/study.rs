//! Whole studies with a good worker: what is stored, the order, stopping and going on.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, is_running, run_of, study};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use threadwise_runner::{Decision, Event, Reason, run};
use threadwise_store::EndState;
use threadwise_study::{RunStatus, Stopping, plan_block};

#[test]
fn a_study_runs_as_planned_and_leaves_nothing_behind() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let study = study(&["other"], 2);
    let mut store = bench.create(&study);
    let (mut slices, mut names) = (Vec::new(), Vec::new());
    let mut observer = |event: &Event<'_>, _: &AtomicBool| match event {
        Event::SliceFinished { done, total, treatment, slice } => {
            slices.push((*done, *total, (*treatment).to_owned(), slice.unwrap().sequence));
        }
        Event::Planned { blocks, .. } => names.push(format!("planned {blocks}")),
        Event::BlockStarted { block, .. } => names.push(format!("start {block}")),
        Event::BlockFinished { block, .. } => names.push(format!("end {block}")),
        Event::Finished { blocks } => names.push(format!("finished {blocks}")),
        _ => {}
    };
    let outcome = bench.observe(&mut store, &mut observer).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (2, Reason::PlanDone));
    assert_eq!(names, ["planned 2", "start 0", "end 0", "start 1", "end 1", "finished 2"]);
    let planned: Vec<String> = (0..2)
        .flat_map(|block| plan_block(&study, &bench.topology, block).unwrap().rounds)
        .flatten()
        .map(|treatment| study.treatments[treatment].name.clone())
        .collect();
    assert_eq!(slices.iter().map(|slice| slice.2.clone()).collect::<Vec<_>>(), planned);
    for (at, (done, total, _, sequence)) in slices.iter().enumerate() {
        assert_eq!((*done, *total, *sequence), (at as u64 + 1, 18, at as u64));
    }
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 6);
    for run in &runs {
        assert_eq!(run.status, RunStatus::Valid, "{run:?}");
        assert_eq!(run.slices.len(), 3);
        assert!(run.slices.iter().all(|slice| slice.rows() == 640 && !slice.cpu_times.is_empty()));
        assert!(run.slices.windows(2).all(|pair| pair[0].start_ns < pair[1].start_ns));
        assert!(run.prepare_ns > 0 && !run.cpus.is_empty());
    }
    assert_eq!(store.state().unwrap(), EndState::Complete);
    assert_eq!(store.complete_blocks().unwrap(), [0, 1]);
    assert!(store.notes().unwrap().contains(&"a note".into()));
    assert_eq!(bench.left_behind(), Vec::<std::path::PathBuf>::new());
    assert!(bench.pids().into_iter().all(|pid| !is_running(pid)));
}

#[test]
fn a_stopped_study_goes_on_where_it_was() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&[], 2));
    let mut stop_in_second_block = |event: &Event<'_>, stop: &AtomicBool| {
        if matches!(event, Event::SliceFinished { done: 8, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = bench.observe(&mut store, &mut stop_in_second_block).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (1, Reason::Interrupted));
    assert_eq!(store.state().unwrap(), EndState::Stopped);
    drop(store);
    let mut store = bench.resume();
    let before = store.runs().unwrap();
    assert_eq!(before.iter().filter(|run| run.status == RunStatus::Superseded).count(), 2);
    let outcome = bench.run(&mut store).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (2, Reason::PlanDone));
    let runs = store.runs().unwrap();
    assert_eq!(runs[..4], before[..], "what was there stays as it was");
    let redone: Vec<_> = runs.iter().filter(|run| run.attempt == 1).collect();
    assert_eq!(redone.len(), 2);
    for run in redone {
        assert_eq!((run.block, &run.status, run.slices.len()), (1, &RunStatus::Valid, 3));
        let earlier = before.iter().flat_map(|run| &run.slices).map(|slice| slice.start_ns).max().unwrap();
        assert!(run.slices[0].start_ns > earlier, "the clock goes on");
        assert!(run.slices.iter().all(|slice| (6..12).contains(&slice.sequence)));
    }
    // Nothing is left to do, and nothing is done.
    let outcome = bench.run(&mut store).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (2, Reason::PlanDone));
    assert_eq!(store.runs().unwrap().len(), 6);
}

#[test]
fn a_stop_after_the_last_slice_of_a_block_keeps_the_block() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&[], 2));
    let mut stop_at_the_end = |event: &Event<'_>, stop: &AtomicBool| {
        if matches!(event, Event::SliceFinished { done: 6, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = bench.observe(&mut store, &mut stop_at_the_end).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (1, Reason::Interrupted));
    assert_eq!(store.complete_blocks().unwrap(), [0]);
    assert!(store.runs().unwrap().iter().all(|run| run.status.is_valid()));
}

#[test]
fn a_long_window_is_given_up_when_the_study_is_stopped() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut study = study(&[], 1);
    study.design.slice_ns = 600_000_000_000;
    let mut store = bench.create(&study);
    let stop = &Arc::new(AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        let mut observer = |event: Event<'_>| {
            if matches!(event, Event::BlockStarted { .. }) {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(500));
                    stop.store(true, Ordering::Relaxed);
                });
            }
        };
        let decide = &mut |_: &[_], _| Decision::Continue;
        run(&bench.topology, &bench.settings, &mut store, &mut observer, decide, stop)
    });
    assert_eq!(outcome.unwrap().reason, Reason::Interrupted);
    assert!(store.runs().unwrap().iter().all(|run| run.status == RunStatus::Superseded));
}

#[test]
fn a_stop_before_the_first_block_is_reported() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&[], 1));
    let stop = Arc::new(AtomicBool::new(true));
    let decide = &mut |_: &[_], _| Decision::Continue;
    let error = run(&bench.topology, &bench.settings, &mut store, &mut |_| {}, decide, &stop).unwrap_err();
    assert!(error.to_string().contains("nothing was measured"), "{error}");
    assert_eq!(store.state().unwrap(), EndState::Stopped);
    assert!(bench.left_behind().is_empty());
}

#[test]
fn a_look_decides_only_where_it_is_due() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut study = study(&[], 1);
    study.treatments.truncate(1);
    study.design.rounds = 1;
    study.design.stopping = Stopping::Until { half_width: 0.02, budget_s: 3600.0 };
    let mut store = bench.create(&study);
    let mut looks = Vec::new();
    let mut decide = |runs: &[threadwise_study::Run], blocks: u32| {
        looks.push((runs.len(), blocks));
        if blocks == 16 { Decision::Stop } else { Decision::Continue }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let outcome = run(&bench.topology, &bench.settings, &mut store, &mut |_| {}, &mut decide, &stop).unwrap();
    assert_eq!((outcome.blocks, outcome.reason), (16, Reason::TargetReached));
    assert_eq!(looks, [(8, 8), (12, 12), (16, 16)]);
}

#[test]
fn a_budget_fixes_the_number_of_blocks_after_the_first() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut study = study(&[], 1);
    study.treatments.truncate(1);
    study.design.rounds = 1;
    study.design.stopping = Stopping::Budget { budget_s: 0.001 };
    let mut store = bench.create(&study);
    let mut planned = Vec::new();
    let mut observer = |event: &Event<'_>, _: &AtomicBool| {
        if let Event::Planned { blocks, eta_s } = event {
            planned.push((*blocks, eta_s.is_some()));
        }
    };
    let outcome = bench.observe(&mut store, &mut observer).unwrap();
    assert_eq!(outcome.blocks, 8, "never fewer than 8");
    assert_eq!(planned, [(8, true)]);
    assert_eq!(store.planned_blocks().unwrap(), Some(8));
    assert_eq!(run_of(&store.runs().unwrap()[..1], "alone").block, 0);
}
