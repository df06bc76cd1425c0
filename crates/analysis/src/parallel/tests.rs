//! Studies whose processes had known rates.

use super::*;
use crate::analyse_on;
use crate::fixtures::{run, study};
use threadwise_study::Study;
use threadwise_study::parallel::ProcessPart;

/// A treatment as the analysis gives it.
pub(crate) fn treatment(name: &str, processes: f64, ratio: Result<Ratio, Gap>) -> TreatmentParallel {
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
    study.workload = WORKLOAD.to_owned();
    study
}

/// Processes of 1 s each: alone they do 1000 rows a second, beside a busy sibling 600.
fn parts(shared: &[f64]) -> Parts {
    let process = |&shared: &f64| ProcessPart {
        rows: (1000.0 * (1.0 - shared) + 600.0 * shared) as u64,
        running_ns: 1_000_000_000,
        sibling_busy_ns: (1e9 * shared) as u64,
        idle_tail_ns: 0,
    };
    Parts {
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
        ..Parts::default()
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
    let found = analyse_on(&study, None, &all, 1.0).parallel.unwrap();
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
        let found = analyse_on(&scanned(plain.clone()), None, &all(shared), 1.0).parallel.unwrap();
        found.treatments[2].gap
    };
    assert_eq!(gap(&[0.0, 0.0]), Some(Gap::NeverBusy));
    assert_eq!(gap(&[1.0, 1.0]), Some(Gap::AlwaysBusy));
    assert_eq!(gap(&[0.5, 0.5]), Some(Gap::Alike));
    assert_eq!(gap(&[0.0, 1.0]), None);
    assert!(analyse_on(&plain, None, &all(&[0.0, 1.0]), 1.0).parallel.is_none());
    let none = [run(0, "A", &[5]), run(0, "A'", &[5]), run(0, "B", &[5])];
    assert!(analyse_on(&scanned(plain), None, &none, 1.0).parallel.is_none());
}
