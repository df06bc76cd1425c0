//! Shares, rates and cycles worked by hand.

use super::*;
use crate::fixtures::{machine, run, study};
use crate::{TreatmentSummary, analyse_on, analyse_probed};
use threadwise_study::probe::{ClockReading, ClockSource, Probe};
use threadwise_study::{Counters, Run};

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-4 * expected.abs().max(1e-9), "{got}, expected {expected}");
}

fn counters(named: &[(&str, u64)]) -> Counters {
    named.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// A run of one slice of 1 s and 1,000 rows with these counters of no session.
fn counted(block: u32, treatment: &str, named: &[(&str, u64)]) -> Run {
    let mut run = run(block, treatment, &[1000]);
    run.slices[0].counters = counters(named);
    run
}

fn summary_of(runs: &[Run], name: &str) -> TreatmentSummary {
    let analysis = analyse_on(&study(&[""], &["T same-core 2"]), None, runs, 1.0);
    analysis.treatments.into_iter().find(|summary| summary.name == name).unwrap()
}

#[test]
fn shares_of_samples_worked_by_hand() {
    // Shares of WALWrite: 30/100 and 50/100: mean 0.4, sd 0.14142, se 0.1, t(0.975, 1) = 12.7062: the
    // interval ends at 0 and 1. In the twin both are 0.2.
    let waits = |running: u64, wal: u64| {
        [("waits/running", running), ("waits/LWLock:WALWrite", wal), ("waits_sampled", 100)]
    };
    let mut runs = Vec::new();
    for (block, wal) in [(0, 30), (1, 50)] {
        runs.push(counted(block, "A", &waits(100 - wal, wal)));
        runs.push(counted(block, "A'", &waits(80, 20)));
        // Two samples of a hundred are of nothing that has a name.
        runs.push(counted(block, "T", &waits(90, 8)));
    }
    let waits = summary_of(&runs, "A").activity.waits.unwrap();
    assert_eq!((waits.samples, waits.blocks, waits.enough), (200, 2, true));
    let names: Vec<&str> = waits.shares.iter().map(|wait| wait.name.as_str()).collect();
    assert_eq!(names, ["running", "LWLock:WALWrite", "other"], "the same names in all treatments");
    let wal = &waits.shares[1].share;
    close(wal.mean, 0.4);
    assert_eq!((wal.low, wal.high, wal.unit.as_str()), (0.0, 1.0, "share"));
    let twin = summary_of(&runs, "A'").activity.waits.unwrap().shares[1].share.clone();
    assert_eq!((twin.mean, twin.low, twin.high), (0.2, 0.2, 0.2));
    let rest = summary_of(&runs, "T").activity.waits.unwrap();
    close(rest.shares[2].share.mean, 0.02);
    close(rest.shares.iter().map(|wait| wait.share.mean).sum(), 1.0);
}

#[test]
fn rare_waits_are_other_and_few_samples_tell_nothing() {
    let names: Vec<String> = (0..12).map(|at| format!("waits/Lock:{at:02}")).collect();
    let mut named: Vec<(&str, u64)> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at as u64 + 1)).collect();
    named.extend([("waits/running", 1), ("waits/other", 1), ("waits_sampled", 80)]);
    let runs: Vec<Run> = ["A", "A'"]
        .into_iter()
        .flat_map(|name| [counted(0, name, &named), counted(1, name, &named)])
        .collect();
    let waits = summary_of(&runs, "A").activity.waits.unwrap();
    let shown: Vec<&str> = waits.shares.iter().map(|wait| wait.name.as_str()).collect();
    assert_eq!(shown.len(), MAX_WAITS + 1);
    assert_eq!((shown[0], shown[1], shown[7], shown[8]), (RUNNING, "Lock:11", "Lock:05", OTHER));
    // 1 + 2 + 3 + 4 + 5 of the rare ones and the engine's own other, of 80.
    close(waits.shares[8].share.mean, 16.0 / 80.0);
    assert!(waits.enough, "160 samples");
    let one = summary_of(&[counted(0, "A", &named), counted(0, "A'", &named)], "A").activity.waits.unwrap();
    assert_eq!((one.samples, one.enough), (80, false));
    assert!(one.shares[1].share.high.is_infinite(), "one block has no interval");
    assert_eq!(summary_of(&[counted(0, "A", &[]), counted(0, "A'", &[])], "A").activity, Activity::default());
}

#[test]
fn counters_per_row_and_per_second() {
    let mut runs = Vec::new();
    for (block, bytes) in [(0, 200_000), (1, 220_000)] {
        for name in ["A", "A'"] {
            let mut run = counted(block, name, &[("wal_bytes", bytes), ("waits_sampled", 9), ("waits/x", 9)]);
            // A session's counter and the slice's own of the same name add up.
            run.slices[0].sessions[0].counters.insert("wal_bytes".to_owned(), 10_000);
            run.slices[0].sessions[0].counters.insert("flush_ns".to_owned(), 5_000);
            runs.push(run);
        }
    }
    let counters = summary_of(&runs, "A").activity.counters;
    let names: Vec<&str> = counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["flush_ns", "wal_bytes"], "what stands elsewhere is left out");
    let (row, second) = (counters[1].per_row.clone().unwrap(), counters[1].per_s.clone().unwrap());
    // 210 and 230 a row: mean 220, sd 14.142, se 10, t 12.7062.
    close(row.mean, 220.0);
    close(row.low, 220.0 - 127.062);
    close(row.high, 220.0 + 127.062);
    close(second.mean, 220_000.0);
    assert_eq!((row.unit.as_str(), second.unit.as_str(), counters[1].blocks), ("bytes", "bytes/s", 2));
    assert_eq!(counters[0].per_row.as_ref().unwrap().unit, "ns");
    close(counters[0].per_row.as_ref().unwrap().mean, 5.0);
}

#[test]
fn the_clients_share_of_the_cpu() {
    // The engine takes 100 ns a row (fixture), the client 25.
    let with_client = |name: &str| {
        let mut run = counted(0, name, &[]);
        run.slices[0].sessions[0].counters.insert("client_cpu_ns".to_owned(), 25_000);
        run
    };
    let mut runs = vec![with_client("A"), with_client("A'")];
    let activity = summary_of(&runs, "A").activity;
    assert!(activity.server_loop, "no step has a latency");
    let cpu = activity.cpu.unwrap();
    close(cpu.engine_ns_per_row.unwrap().mean, 100.0);
    close(cpu.client_ns_per_row.unwrap().mean, 25.0);
    close(cpu.client_share.unwrap().mean, 0.2);
    // A server elsewhere: its CPU time is unknown, and so is the share.
    runs[0].slices[0].sessions[0].cpu_ns = 0;
    let cpu = summary_of(&runs, "A").activity.cpu.unwrap();
    assert_eq!((cpu.engine_ns_per_row, cpu.client_share), (None, None));
    runs[0].slices[0].sessions[0].latency = crate::fixtures::latency(1, &[1000]);
    assert!(!summary_of(&runs, "A").activity.server_loop);
}

#[test]
fn the_published_arithmetic() {
    let bound = |seconds, spins| cycles_per_spin_bound(seconds, 5.0, 2.4e9, spins).unwrap().round();
    assert_eq!(bound(10.434, 113_246_628.0), 1106.0);
    assert_eq!(bound(18.388, 6_692_284_057.0), 33.0);
    // Half of five cores' time spinning is half of the bound.
    let spin_ns = 10.434e9 * 5.0 / 2.0;
    assert_eq!(cycles_per_spin(spin_ns, 2.4e9, 113_246_628.0).unwrap().round(), 553.0);
    assert_eq!((cycles_per_spin_bound(1.0, 1.0, 1e9, 0.0), cycles_per_spin(1.0, 1e9, 0.0)), (None, None));
}

fn clock(cpu: u32, busy_cpus: u32, source: ClockSource, mhz: f64) -> ClockReading {
    ClockReading { cpu, busy_cpus, source, avg_mhz: None, busy_pct: None, bzy_mhz: Some(mhz), tsc_mhz: None }
}

/// T in one block: two sessions on the siblings 0 and 1 of one core, 1 s, a million spins, 0.2 s of
/// spinning.
fn spinning() -> Vec<Run> {
    let mut runs = vec![run(0, "A", &[1000]), run(0, "A'", &[1000]), run(0, "T", &[1000])];
    let slice = &mut runs[2].slices[0];
    slice.sessions.push(slice.sessions[0].clone());
    for session in &mut slice.sessions {
        session.counters = counters(&[("spins", 500_000), ("spin_ns", 100_000_000)]);
    }
    runs[2].cpus = vec![0, 1];
    runs
}

fn locks_of(runs: &[Run], probe: Option<&Probe>) -> Locks {
    let study = study(&[""], &["T same-core 2"]);
    let topology = machine(1, 2, 2);
    let analysis = analyse_probed(&study, Some(&topology), probe, runs, 1.0);
    analysis.treatments[2].activity.locks.clone().unwrap()
}

#[test]
fn spins_are_reported_with_a_measured_clock_only() {
    let locks = locks_of(&spinning(), None);
    close(locks.spins_per_row.unwrap().mean, 500.0);
    // 0.2 s of 2 sessions of 1 s.
    close(locks.spinning_share.unwrap().mean, 0.1);
    assert_eq!((locks.cycles_per_spin_bound, locks.cycles_per_spin, locks.clock_mhz), (None, None, None));
    assert_eq!(locks.clock, "the clock was not measured: the study has no probe");
    let unclear = Probe { clocks: vec![clock(0, 1, ClockSource::Cpufreq, 2900.0)], ..Probe::default() };
    assert_eq!(locks_of(&spinning(), Some(&unclear)).clock, "the probe measured no clock");
}

#[test]
fn an_engine_that_says_how_long_it_counted_is_believed() {
    let mut runs = spinning();
    for session in &mut runs[2].slices[0].sessions {
        session.counters.insert("counted_ns".into(), 2_000_000_000);
    }
    let probe = Probe { clocks: vec![clock(0, 2, ClockSource::Chain, 3000.0)], ..Probe::default() };
    let (whole, within) = (locks_of(&runs, Some(&probe)), locks_of(&spinning(), Some(&probe)));
    // 0.2 s of 2 sessions of 2 s; a step that ended after the window was counted with it.
    close(whole.spinning_share.as_ref().unwrap().mean, 0.05);
    let bound = |locks: Locks| locks.cycles_per_spin_bound.unwrap().mean;
    close(bound(whole), 2.0 * bound(within));
}

#[test]
fn siblings_share_their_cores_cycles() {
    let clocks = vec![
        clock(0, 1, ClockSource::Chain, 3500.0),
        clock(0, 4, ClockSource::Chain, 2900.0),
        clock(1, 4, ClockSource::Chain, 3100.0),
        clock(2, 4, ClockSource::Chain, 9999.0),
    ];
    let probe = Probe { clocks, ..Probe::default() };
    // Two busy: one busy is nearer than four.
    let locks = locks_of(&spinning(), Some(&probe));
    close(locks.clock_mhz.unwrap(), 3500.0);
    // One core for 1 s at 3.5 GHz and a million spins; 0.2 s at the same clock.
    close(locks.cycles_per_spin_bound.unwrap().mean, 3500.0);
    close(locks.cycles_per_spin.unwrap().mean, 700.0);
    assert_eq!(locks.clock, "the probe's chain of adds");
    let of_own = Probe { clocks: probe.clocks[1..].to_vec(), ..Probe::default() };
    close(locks_of(&spinning(), Some(&of_own)).clock_mhz.unwrap(), 3000.0);
}

#[test]
fn a_fixed_amount_of_work_has_elapsed_and_a_tail() {
    let mut runs = vec![run(0, "A", &[1000]), run(0, "A'", &[1000]), run(0, "T", &[1000])];
    let slice = &mut runs[2].slices[0];
    slice.sessions.push(slice.sessions[0].clone());
    slice.sessions[0].finished_ns = Some(600_000_000);
    slice.sessions[1].finished_ns = Some(1_000_000_000);
    let summary = summary_of(&runs, "T");
    close(summary.metrics["elapsed_ns"].mean, 1e9);
    // (1.0 - 0.8) / 1.0
    close(summary.metrics["idle_tail_share"].mean, 0.2);
    assert!(!summary_of(&runs, "A").metrics.contains_key("elapsed_ns"));
}

/// T against A and A' in four blocks: shares of a wait in samples of a thousand.
fn waiting(of_t: [u64; 4]) -> Vec<Run> {
    let mut runs = Vec::new();
    for (block, wal) in (0..).zip(of_t) {
        for (name, wal) in [("A", 100), ("A'", 120), ("T", wal)] {
            let named = [("waits/running", 1000 - wal), ("waits/W", wal), ("waits_sampled", 1000)];
            runs.push(counted(block, name, &named));
        }
    }
    runs
}

#[test]
fn changes_of_waits_are_paired_and_adjusted_for_all_names() {
    // d in points: 20, 22, 18, 24 over the mean of A and A' (11%): mean 21, sd 2.58199, se 1.29099; t(0.975, 3) = 3.1824.
    let runs = waiting([310, 330, 290, 350]);
    let waits = summary_of(&runs, "T").activity.waits.unwrap();
    let change = waits.shares[1].change.clone().unwrap();
    close(change.value, 21.0);
    close(change.low, 21.0 - 3.1824 * 1.29099);
    // The second of two equal p, Holm's level 1 − 0.025 and Bonferroni's 1 − 0.05 / 2: t(0.9875, 3) = 4.1765.
    close(change.adjusted_high, 21.0 + 4.1765 * 1.29099);
    assert_eq!((change.unit, change.blocks, change.family, change.is_different()), ("points", 4, 2, true));
    let running = waits.shares[0].change.clone().unwrap();
    close(running.value, -21.0);
    let base = summary_of(&runs, "A").activity.waits.unwrap();
    assert!(base.shares.iter().all(|wait| wait.change.is_none()), "a baseline has no change");
    // The same wobble of T alone is none.
    let none = summary_of(&waiting([110, 90, 130, 112]), "T").activity.waits.unwrap();
    assert!(!none.shares[1].change.as_ref().unwrap().is_different());
    let joint = &waits.shares[1];
    assert!(joint.joint.low < joint.share.low && joint.joint.high > joint.share.high);
}

#[test]
fn a_block_without_its_pair_tells_no_change() {
    let mut runs = waiting([310, 330, 290, 350]);
    runs.iter_mut()
        .filter(|run| run.block == 3 && run.treatment == "T")
        .for_each(|run| run.slices[0].counters.clear());
    let waits = summary_of(&runs, "T").activity.waits.unwrap();
    assert_eq!(waits.shares[1].change.as_ref().unwrap().blocks, 3);
    runs.iter_mut().filter(|run| run.treatment == "A'").for_each(|run| run.slices[0].counters.clear());
    let waits = summary_of(&runs, "T").activity.waits.unwrap();
    assert_eq!(waits.shares[1].change, None, "A' has no samples");
}

#[test]
fn spins_are_compared_as_ratios_and_as_differences_where_there_are_none() {
    let spins = |of_a: u64| {
        let mut runs = Vec::new();
        for block in 0..4 {
            for (name, spins) in [("A", of_a), ("A'", 4 * of_a), ("T", 8000 + 100 * u64::from(block))] {
                runs.push(counted(block, name, &[("spins", spins)]));
            }
        }
        summary_of(&runs, "T").activity.locks.unwrap().spins_per_row_change.unwrap()
    };
    // √(1,000 · 4,000) = 2,000, and the fourth root of 8,000 · 8,100 · 8,200 · 8,300 is 8,149.23.
    let ratio = spins(1000);
    close(ratio.value, 8149.23 / 2000.0);
    assert_eq!((ratio.unit, ratio.is_different(), ratio.family), ("ratio", true, 1));
    let difference = spins(0);
    close(difference.value, 8.15);
    assert_eq!((difference.unit, difference.is_different()), ("1", true));
}
