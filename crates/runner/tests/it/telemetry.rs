//! Where the measuring thread runs, and what is stored of what it saw.

#![allow(clippy::unwrap_used)]

use crate::common;

use crate::common::{Bench, GOOD, run_of, study};
use std::sync::atomic::AtomicBool;
use threadwise_machine::{CpuSet, pin};
use threadwise_runner::Event;
use threadwise_study::{Reading, Run, RunStatus};

fn reading<'a>(run: &'a Run, sampler: &str, metric: &str) -> &'a Reading {
    let named = |reading: &&Reading| reading.sampler == sampler && reading.metric == metric;
    let mut found = run.readings.iter().filter(named);
    let reading = found.next().unwrap_or_else(|| panic!("no {metric} of {sampler} in {:?}", run.readings));
    assert!(found.next().is_none(), "{metric} of {sampler} is there twice");
    reading
}

#[test]
fn the_measuring_thread_keeps_to_one_logical_cpu_and_comes_back() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut store = bench.create(&study(&["other"], 2));
    let before = pin::current_affinity().unwrap();
    let mut seen: Vec<CpuSet> = Vec::new();
    let mut observer = |event: &Event<'_>, _: &AtomicBool| {
        if matches!(event, Event::SliceFinished { .. }) {
            seen.push(pin::current_affinity().unwrap());
        }
    };
    bench.observe(&mut store, &mut observer).unwrap();
    assert_eq!(pin::current_affinity().unwrap(), before);
    assert_eq!(seen.len(), 18);
    assert!(seen.iter().all(|mask| mask.len() == 1 && *mask == seen[0]), "{seen:?}");
    let notes = store.notes().unwrap();
    let placed = notes.iter().filter(|note| note.text.starts_with("telemetry runs on logical CPU"));
    let placed: Vec<_> = placed.collect();
    assert_eq!(placed.len(), 1, "{notes:?}");
    assert!(placed[0].text.contains(&format!("logical CPU {}, ", seen[0])), "{placed:?} and {seen:?}");
    for run in store.runs().unwrap() {
        assert_eq!(run.status, RunStatus::Valid, "workers have their own masks: {run:?}");
    }
}

#[test]
fn long_slices_have_readings_of_their_cpus_and_workers_and_tell_what_looking_cost() {
    if !common::has_python() {
        return;
    }
    let bench = Bench::new(GOOD);
    let mut study = study(&[], 1);
    study.design.slice_ns = 250_000_000;
    let mut store = bench.create(&study);
    bench.run(&mut store).unwrap();
    let runs = store.runs().unwrap();
    let run = run_of(&runs, "alone");
    assert!(run.readings.iter().all(|reading| reading.value.is_some() != reading.gap.is_some()));
    let window_ns = reading(run, "telemetry", "window_ns").value.unwrap();
    assert!(window_ns >= 3.0 * 250e6, "{window_ns}");
    assert!(reading(run, "telemetry", "own_cpu_ns").value.unwrap() > 0.0);
    let busy = reading(run, "cpu", "busy_ns");
    assert_eq!(busy.cpu, Some(run.cpus[0]));
    assert!(busy.value.is_some() && reading(run, "cpu", "total_ns").value.unwrap() > 0.0);
    assert!(reading(run, "process", "resident_bytes_ns").value.unwrap() > 0.0);
    // The worker slept and woke up.
    assert!(reading(run, "process", "voluntary_switches").value.unwrap() > 0.0);
}
