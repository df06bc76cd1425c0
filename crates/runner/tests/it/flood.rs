//! Workers that say too much, or nothing any more: the runner stays able to stop, and the others' runs
//! are whole.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, is_running, run_of, study};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use threadwise_runner::{Decision, Event, Reason, run};
use threadwise_study::{Design, RunStatus};

/// Deadlines are twice as long, so that an end by one cannot be taken for an end by the flag.
const HANG: Duration = Duration::from_secs(120);

/// Kind and message of the run of a treatment that goes wrong beside two that are right.
fn failure(fault: &str) -> (String, String) {
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&[fault], 1));
    let started = Instant::now();
    bench.run(&mut store).unwrap();
    assert!(started.elapsed() < HANG, "{fault} held the runner up");
    let runs = store.runs().unwrap();
    for name in ["alone", "alone again"] {
        assert_eq!(run_of(&runs, name).status, RunStatus::Valid, "{name} beside {fault}");
    }
    assert!(bench.left_behind().is_empty());
    match &run_of(&runs, fault).status {
        RunStatus::Failed { kind, message } => (kind.clone(), message.clone()),
        other => panic!("{fault}: {other:?}"),
    }
}

#[test]
fn thousands_of_notes_are_a_protocol_failure() {
    if !common::has_python() {
        return;
    }
    let (kind, message) = failure("many notes");
    assert_eq!(kind, "protocol");
    assert!(message.contains("more than 100 notes"), "{message}");
}

#[test]
fn thousands_of_counters_are_a_protocol_failure() {
    if !common::has_python() {
        return;
    }
    let (kind, message) = failure("many counters");
    assert_eq!(kind, "protocol");
    assert!(message.contains("more than 256 counters"), "{message}");
}

#[test]
fn a_log_without_end_fails_the_run() {
    if !common::has_python() {
        return;
    }
    let (kind, message) = failure("endless log");
    assert_eq!(kind, "protocol");
    // It may be killed in the midst of a line.
    assert!(message.contains("64 MiB to its log") && message.contains("last line of its log: "), "{message}");
}

#[test]
fn notes_from_workers_are_clean_and_have_an_end() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&["other notes"], 4));
    let mut heard = Vec::new();
    let mut observer = |event: &Event<'_>, _: &AtomicBool| {
        if let Event::Note(text) = event {
            heard.push((*text).to_owned());
        }
    };
    bench.observe(&mut store, &mut observer).unwrap();
    let stored: Vec<String> = store.notes().unwrap().into_iter().map(|note| note.text).collect();
    for notes in [&heard, &stored] {
        let from_worker = notes.iter().filter(|note| note.contains("[2J")).count();
        assert_eq!(from_worker, 249, "'a note' is the worker's too");
        let left_out = notes.iter().filter(|note| note.contains("notes of workers after")).count();
        assert_eq!(left_out, 1, "{notes:?}");
        assert!(!notes.iter().any(|note| note.contains(['\u{1b}', '\u{202e}'])), "{notes:?}");
    }
}

/// Sets the flag when the worker is about to do `fault`, and gives how the study ended.
fn stopped(fault: &str, slice_ns: u64) {
    let bench = Bench::new(GOOD);
    let mut study = study(&[fault], 1);
    study.design = Design { slice_ns, rounds: 1, ..study.design };
    let mut store = bench.create(&study);
    let stop = Arc::new(AtomicBool::new(false));
    let (flag, sign) = (Arc::clone(&stop), bench.folder.path().join("asleep"));
    let started = Instant::now();
    let asker = std::thread::spawn(move || {
        while !sign.exists() && started.elapsed() < HANG {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The worker falls asleep after it has said so.
        std::thread::sleep(Duration::from_millis(50));
        flag.store(true, Ordering::Relaxed);
    });
    let mut settings = bench.settings.clone();
    settings.deadlines.prepare = HANG * 2;
    settings.deadlines.stop = HANG * 2;
    settings.deadlines.interrupt = HANG * 2;
    let outcome =
        run(&bench.topology, &settings, &mut store, &mut |_| {}, &mut |_, _| Decision::Continue, &stop);
    asker.join().unwrap();
    assert!(started.elapsed() < HANG, "{fault} kept the runner from stopping");
    // The last slice is whole before a worker is asked to end.
    let reason = if fault == "asleep in stop" { Reason::PlanDone } else { Reason::Interrupted };
    assert_eq!(outcome.unwrap().reason, reason, "{fault}");
    assert!(bench.left_behind().is_empty());
    assert!(bench.pids().into_iter().all(|pid| !is_running(pid)));
}

#[test]
fn a_worker_that_was_stopped_does_not_keep_the_runner() {
    if !common::has_python() {
        return;
    }
    for fault in ["asleep in prepare", "asleep in slice", "asleep in stop"] {
        stopped(fault, 1_000_000);
    }
}

#[test]
fn a_worker_that_was_stopped_in_a_long_slice_does_not_keep_the_runner() {
    if !common::has_python() {
        return;
    }
    stopped("asleep in slice", 1_000_000_000);
}

#[test]
fn a_worker_whose_answer_has_no_end_does_not_keep_the_runner() {
    if !common::has_python() {
        return;
    }
    stopped("endless line", 1_000_000);
}
