//! From long runs to ratios, stalls, falls, the section and the findings.

use super::*;
use crate::fixtures;
use crate::{Answer, Facts, analyse, document::document};
use threadwise_machine::Topology;
use threadwise_study::LongWindows as Design;

const WINDOW_NS: u64 = 10_000_000_000;

fn study(long_blocks: u32) -> Study {
    let mut study = fixtures::study(&[""], &["b one-cpu 1", "c same-package 1"]);
    study.design.long_windows = Some(Design { blocks: long_blocks, window_ns: WINDOW_NS });
    study
}

/// Rates that scatter by about 1% from block to block, each treatment's by itself.
fn noise(block: u32, at: usize) -> f64 {
    1.0 + 0.01 * (f64::from(7919 * block + 104_729 * at as u32 + 13)).sin()
}

fn slices(study: &Study) -> Vec<Run> {
    let run = |block: u32, at: usize| {
        let rows = (1e6 * noise(block, at)) as u64;
        fixtures::run(block, &study.treatments[at].name, &[rows; 20])
    };
    (0..8).flat_map(|block| (0..study.treatments.len()).map(move |at| run(block, at))).collect()
}

/// Long runs in which `b` does a share of its rate, and its last three tenths a share of their part.
fn long_runs(study: &Study, share: f64, end: f64) -> Vec<Run> {
    let blocks = study.design.long_windows.unwrap().blocks;
    let run = |number: u32, at: usize| {
        let name = &study.treatments[at].name;
        let (share, end) = if name == "b" { (share, end) } else { (1.0, 1.0) };
        let piece = |piece: u32| {
            let part = if piece >= 7 { end } else { 1.0 };
            (1e6 * share * part * noise(number + 100, at)) as u64
        };
        let pieces: Vec<u64> = (0..10).map(piece).collect();
        let mut run = fixtures::run(FIRST_BLOCK + number, name, &[pieces.iter().sum()]);
        let window = &mut run.slices[0];
        window.window_ns = WINDOW_NS;
        window.sessions[0].rows_by_piece = pieces;
        window.sessions[0].latency = fixtures::latency(1000, &[20_000, 30_000]);
        run
    };
    (0..blocks).flat_map(|number| (0..study.treatments.len()).map(move |at| run(number, at))).collect()
}

fn found(study: &Study, runs: &[Run]) -> LongWindows {
    long_windows(study, &analyse(study, &slices(study), 1.0), runs, 1.0).unwrap()
}

/// Texts of the section and of the findings.
fn said(study: &Study, runs: &[Run]) -> (String, Vec<String>) {
    let mut analysis = analyse(study, &slices(study), 1.0);
    let found = long_windows(study, &analysis, runs, 1.0);
    analysis.answers.put("long_windows", found);
    let topology = Topology::default();
    let document = document(&Facts::new(study, &topology, &analysis));
    let section = document.sections.iter().find(|section| section.id == "long-windows").unwrap();
    let findings = document
        .verdict
        .iter()
        .filter(|line| matches!(line.kind, FindingKind::LongWindows | FindingKind::Stalls));
    (format!("{:?}", section.blocks), findings.map(crate::Finding::text).collect())
}

#[test]
fn windows_that_agree_give_no_finding() {
    let study = study(3);
    let runs = long_runs(&study, 1.0, 1.0);
    let long = found(&study, &runs);
    assert_eq!((long.blocks, long.planned, long.different().len()), (3, 3, 0));
    let b = &long.treatments[2];
    let by = b.compared.as_ref().unwrap();
    assert!(
        by.difference.low < 1.0 && by.difference.high > 1.0 && (0.01..0.2).contains(&by.detectable.unwrap())
    );
    assert_eq!(long.treatments[0].compared, None, "a baseline");
    let stalls = b.stalls.unwrap();
    assert_eq!((stalls.steps, stalls.windows_ns, stalls.share), (0, 3 * WINDOW_NS, 0.0));
    assert!((29_900..30_100).contains(&stalls.longest_ns));
    assert!(!b.fall.as_ref().unwrap().is_beyond());
    assert_eq!(said(&study, &runs).1, Vec::<String>::new());
}

#[test]
fn a_treatment_that_long_windows_show_slower_is_named() {
    let study = study(12);
    let runs = long_runs(&study, 0.8, 1.0);
    let long = found(&study, &runs);
    let [(treatment, by)] = long.different()[..] else { panic!("{:?}", long.different()) };
    assert_eq!((treatment.treatment.as_str(), by.difference.answer), ("b", Answer::Smaller));
    assert!((by.difference.value - 0.8).abs() < 0.02);
    let lines = said(&study, &runs).1;
    assert!(
        lines.len() == 1
            && lines[0]
                .starts_with("Long windows disagree with slices: of b, windows of 10.0 s give a ratio"),
        "{lines:?}"
    );
}

#[test]
fn stalls_are_counted_with_their_share_and_the_longest() {
    let study = study(3);
    let mut runs = long_runs(&study, 1.0, 1.0);
    for run in runs.iter_mut().filter(|run| run.treatment == "c") {
        let session = &mut run.slices[0].sessions[0];
        session.latency = fixtures::latency(2, &[20_000, 40_000_000, 500_000_000]);
    }
    let stalls = found(&study, &runs).treatments[3].stalls.unwrap();
    // Two of 500 ms in each of three windows of 10 s; one of 40 ms is no longer than a slice.
    assert_eq!(stalls.steps, 6);
    assert!((stalls.share - 0.1).abs() < 1e-3 && (499_000_000..501_000_000).contains(&stalls.longest_ns));
    let lines = said(&study, &runs).1;
    assert!(
        lines[0].starts_with("Stalls: in 30.0 s of long windows, 6 steps of c took longer than a slice"),
        "{lines:?}"
    );
}

#[test]
fn a_rate_that_falls_within_windows_is_shown_in_the_section() {
    let study = study(6);
    let runs = long_runs(&study, 1.0, 0.7);
    let long = found(&study, &runs);
    let shown: Vec<bool> = long.treatments.iter().map(|one| one.fall.as_ref().unwrap().is_beyond()).collect();
    assert_eq!(shown, [false, false, true, false]);
    let fall = long.treatments[2].fall.as_ref().unwrap();
    assert!((fall.value - 0.7).abs() < 1e-3, "{fall:?}");
    assert!(said(&study, &runs).0.contains("by more than the margin: b (-30"));
}

#[test]
fn what_failed_or_was_done_again_does_not_count() {
    let study = study(3);
    let mut runs = long_runs(&study, 1.0, 1.0);
    runs[2].status = RunStatus::Failed { kind: "crash".to_owned(), message: "signal 9".to_owned() };
    // A block that was begun before, with half of the rate.
    let mut before = fixtures::run(FIRST_BLOCK, "b", &[1]);
    before.status = RunStatus::Superseded;
    runs.insert(0, before);
    let long = found(&study, &runs);
    assert_eq!((long.treatments[2].windows, long.treatments[3].windows, long.blocks), (2, 3, 3));
    assert_eq!(long.left_out, ["long window 1 of b: crash: signal 9"]);
    assert!(long.treatments[2].compared.as_ref().unwrap().by_long_windows.blocks == 2);
}

#[test]
fn without_latencies_or_pieces_it_says_so() {
    let study = study(3);
    let mut runs = long_runs(&study, 1.0, 1.0);
    for session in runs.iter_mut().flat_map(|run| &mut run.slices).flat_map(|slice| &mut slice.sessions) {
        session.latency.clear();
        session.rows_by_piece.clear();
    }
    let (section, _) = said(&study, &runs);
    assert!(section.contains("does not count rows by piece") && section.contains("Stalls are not counted"));
    // One window has no interval, and none nothing at all.
    let one = found(&study, &long_runs(&study, 0.5, 1.0)[..4]);
    assert!(one.different().is_empty() && one.treatments[2].compared.as_ref().unwrap().detectable.is_none());
    let none = found(&study, &[]);
    assert!(none.blocks == 0 && none.treatments.iter().all(|one| one.compared.is_none() && one.windows == 0));
    assert!(said(&study, &[]).0.contains("0 of 3 long windows"));
    let mut without = study.clone();
    without.design.long_windows = None;
    assert_eq!(long_windows(&without, &analyse(&without, &slices(&without), 1.0), &[], 1.0), None);
}

#[test]
fn a_difference_has_both_variances_and_the_degrees_of_the_smaller_sample() {
    let mean = |n: usize, standard_error: f64| MeanEstimate {
        n,
        mean: 0.1,
        standard_error,
        correlation: 0.0,
        degrees: n as f64 - 1.0,
    };
    let got = difference(&mean(3, 2.0), &mean(8, 1.0));
    assert!(got.degrees == 2.0 && (got.standard_error - 5f64.sqrt()).abs() < 1e-12);
    assert_eq!((got.n, got.mean), (3, 0.0));
    let one = difference(&mean(1, f64::INFINITY), &mean(8, 1.0));
    assert!(one.standard_error.is_infinite() && one.p() == 1.0);
    let flat = difference(&mean(3, 0.0), &mean(8, 0.0));
    assert_eq!((flat.standard_error, flat.degrees), (0.0, 2.0));
}
