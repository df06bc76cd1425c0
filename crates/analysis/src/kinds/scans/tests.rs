//! Studies whose processes had known rates.

use super::*;
use crate::FindingKind;
use crate::analyse_on;
use crate::fixtures::{ratio, run, study};
use threadwise_machine::Topology;
use threadwise_study::parallel::ProcessPart;
use threadwise_study::{Study, Workload};

/// A treatment as the analysis gives it.
fn treatment(name: &str, processes: f64, ratio: Result<Ratio, Gap>) -> TreatmentParallel {
    let share = |mean: f64| Interval { mean, low: mean / 2.0, high: mean * 2.0, unit: "share".to_owned() };
    let (ratio, gap) = match ratio {
        Ok(ratio) => (Some(ratio), None),
        Err(gap) => (None, Some(gap)),
    };
    TreatmentParallel {
        treatment: name.to_owned(),
        dop: Some(processes as u32),
        processes: Some(processes),
        blocks: 8,
        scans: 80,
        unsampled_scans: 0,
        row_shares: vec![0.6, 0.4],
        sibling_busy: Some(share(0.3)),
        ratio,
        ratio_blocks: 8,
        gap,
        equal_loss: Some(share(0.2)),
        idle_tail: Some(share(0.02)),
        looking: Some(share(0.01)),
    }
}

fn scanned(mut study: Study) -> Study {
    study.workload = Workload::ParallelScan;
    study
}

/// Processes of 1 s each: alone they do 1000 rows a second, beside a busy sibling 600.
fn parts(shared: &[f64]) -> parallel::Parts {
    let process = |&shared: &f64| ProcessPart {
        rows: (1000.0 * (1.0 - shared) + 600.0 * shared) as u64,
        running_ns: 1_000_000_000,
        sibling_busy_ns: (1e9 * shared) as u64,
        idle_tail_ns: 0,
    };
    parallel::Parts {
        scans: 1,
        processes: shared.len() as u64,
        samples: 200 * shared.len() as u64,
        span_ns: 1_000_000_000,
        tail_ns: 100_000_000,
        process_span_ns: 1_000_000_000 * shared.len() as u64,
        equal_ns: 1_300_000_000,
        by_rate_ns: 1_000_000_000,
        looking_ns: 5_000_000,
        by_process: shared.iter().map(process).collect(),
        ..parallel::Parts::default()
    }
}

fn runs(treatment: &str, shared: &[f64]) -> Vec<Run> {
    let of_block = |block| {
        let mut run = run(block, treatment, &[1000, 1000]);
        for slice in &mut run.slices {
            slice.counters.append(&mut parts(shared).counters());
        }
        run
    };
    (0..8).map(of_block).collect()
}

#[test]
fn what_each_block_says_comes_out_by_treatment() {
    let study = scanned(study(&[""], &["B all 1"]));
    let all = [runs("A", &[0.0]), runs("A'", &[0.0]), runs("B", &[1.0, 0.8, 0.0, 0.1])].concat();
    let analysis = analyse_on(&study, None, &all, 1.0);
    let found = analysis.get::<Parallel>().unwrap();
    let [one, _, four] = found.treatments.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.gap, one.processes, one.blocks), (Some(Gap::OneProcess), Some(1.0), 8));
    let ratio = four.ratio.as_ref().unwrap();
    assert!((ratio.value - 0.6).abs() < 1e-3 && ratio.blocks == 8 && four.gap.is_none(), "{ratio:?}");
    let share = |interval: &Option<Interval>| interval.as_ref().unwrap().mean;
    assert!((share(&four.equal_loss) - 0.3).abs() < 1e-9 && (share(&four.idle_tail) - 0.025).abs() < 1e-9);
    assert!((share(&four.sibling_busy) - 0.475).abs() < 1e-9 && (share(&four.looking) - 0.005).abs() < 1e-9);
    assert!((four.row_shares[0] - 1000.0 / 3240.0).abs() < 1e-9, "{:?}", four.row_shares);
    assert_eq!((four.scans, four.row_shares.len()), (16, 4));
}

#[test]
fn gaps_have_their_reason_and_another_workload_has_nothing() {
    let plain = study(&[""], &["B all 1"]);
    let all = |shared: &[f64]| [runs("A", &[0.0]), runs("A'", &[0.0]), runs("B", shared)].concat();
    let gap = |shared: &[f64]| {
        let analysis = analyse_on(&scanned(plain.clone()), None, &all(shared), 1.0);
        let found = analysis.get::<Parallel>().unwrap();
        found.treatments[2].gap
    };
    assert_eq!(gap(&[0.0, 0.0]), Some(Gap::NeverBusy));
    assert_eq!(gap(&[1.0, 1.0]), Some(Gap::AlwaysBusy));
    assert_eq!(gap(&[0.5, 0.5]), Some(Gap::Alike));
    assert_eq!(gap(&[0.0, 1.0]), None);
    assert!(analyse_on(&plain, None, &all(&[0.0, 1.0]), 1.0).get::<Parallel>().is_none());
    let none = [run(0, "A", &[5]), run(0, "A'", &[5]), run(0, "B", &[5])];
    assert!(analyse_on(&scanned(plain), None, &none, 1.0).get::<Parallel>().is_none());
}

fn slice(rows: f64, alone_s: f64, shared_s: f64) -> ProcessSlice {
    ProcessSlice { rows, alone_s, shared_s }
}

#[test]
fn rates_that_were_put_in_come_out() {
    // 1000 rows a second alone, 600 beside a busy sibling.
    let made = |alone_s: f64, shared_s: f64| slice(1000.0 * alone_s + 600.0 * shared_s, alone_s, shared_s);
    let block = [made(1.0, 0.0), made(0.2, 0.8), made(0.5, 0.5), made(0.0, 1.0)];
    assert!((log_ratio(&block).unwrap() - 0.6f64.ln()).abs() < 1e-12);
    // Two kinds alone need no model: 1000 against 600.
    assert!((log_ratio(&[made(2.0, 0.0), made(0.0, 1.0)]).unwrap().exp() - 0.6).abs() < 1e-12);
}

#[test]
fn what_cannot_be_told_is_a_gap() {
    let gap = |slices: &[ProcessSlice]| log_ratio(slices).unwrap_err();
    assert_eq!(gap(&[]), Gap::Unsampled);
    assert_eq!(gap(&[slice(5.0, f64::NAN, 1.0)]), Gap::Unsampled);
    assert_eq!(gap(&[slice(900.0, 1.0, 0.0), slice(900.0, 1.0, 0.01)]), Gap::NeverBusy);
    assert_eq!(gap(&[slice(900.0, 0.0, 1.0), slice(900.0, 0.01, 1.0)]), Gap::AlwaysBusy);
    assert_eq!(gap(&[slice(900.0, 0.5, 0.5), slice(850.0, 0.5, 0.5)]), Gap::Alike);
    assert_eq!(gap(&[slice(9.0, 1.0, 0.0), slice(0.0, 0.0, 1.0)]), Gap::Scatter);
}

fn line(treatments: Vec<TreatmentParallel>) -> Option<(FindingKind, String)> {
    found_by(treatments, slower_workers)
}

fn found_by(
    treatments: Vec<TreatmentParallel>,
    find: fn(&Facts<'_>) -> Option<Finding>,
) -> Option<(FindingKind, String)> {
    let study = study(&[""], &["B all 1", "C all 1"]);
    let (topology, runs) = (Topology::default(), []);
    let mut analysis = crate::analyse(&study, &runs, 1.0);
    analysis.answers.put("parallel_workers", Some(Parallel { treatments }));
    let found = find(&Facts::new(&study, &topology, &analysis))?;
    Some((found.kind, found.line.to_string()))
}

#[test]
fn the_one_with_most_processes_speaks_and_what_is_open_is_not_said() {
    let slow = |name, processes| treatment(name, processes, Ok(ratio(0.6, 0.5, 0.7)));
    let open = treatment("A", 16.0, Ok(ratio(0.9, 0.7, 1.1)));
    let (kind, text) = line(vec![open.clone(), slow("B", 4.0), slow("C", 8.0)]).unwrap();
    assert_eq!(kind, FindingKind::ParallelWorkers);
    assert!(text.starts_with("A worker whose sibling was busy did 0.60x [0.50, 0.70] of the rows"), "{text}");
    assert!(text.contains("(C)") && text.contains("1 more in the table"), "{text}");
    assert_eq!(line(vec![open]), None);
}

#[test]
fn processes_that_were_not_there_are_named() {
    let with = |processes| TreatmentParallel {
        processes: Some(processes),
        ..treatment("B", 4.0, Err(Gap::NoSiblings))
    };
    assert_eq!(found_by(vec![with(3.995)], too_few), None);
    let (kind, text) = found_by(vec![with(3.5)], too_few).unwrap();
    assert!(kind == FindingKind::Trust && text.ends_with("than requested: B had 3.50 of 4."), "{text}");
}

#[test]
fn why_nothing_is_known_is_said_of_several_processes() {
    let gaps = [Gap::OneProcess, Gap::NoSiblings].map(|gap| treatment("A", 2.0, Err(gap)));
    let (kind, text) = line(gaps.to_vec()).unwrap();
    assert_eq!((kind, text.contains("no core has two threads here")), (FindingKind::NotMeasurable, true));
}

#[test]
fn few_shares_are_listed_and_of_many_the_ends() {
    assert_eq!(shares(&[0.6, 0.4]), "60%, 40%");
    assert_eq!(shares(&[0.3, 0.2, 0.2, 0.2, 0.1]), "10% to 30%");
    assert_eq!(shares(&[]), "");
}
