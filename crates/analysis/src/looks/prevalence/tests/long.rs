//! Long slices, whose shares come from the looks during them.

use super::*;
use crate::looks::claim::effects;
use crate::looks::rows::By;
use crate::{Facts, analyse_on, document};
use threadwise_document::{Chart, Document};

/// A run of one slice of some seconds from a time on: looks before, during and after it, at equal distances.
fn long(block: u32, treatment: &str, cpus: &[u32], seconds: u64, letters: &str) -> Run {
    let mut run = looked(block, treatment, cpus, &[letters]);
    let window_ns = seconds * 1_000_000_000;
    let slice = &mut run.slices[0];
    (slice.start_ns, slice.window_ns) = (u64::from(block) * 1_000_000_000_000, window_ns);
    let count = slice.looks.len() as u64;
    for (at, one) in (0..).zip(&mut slice.looks) {
        one.look.start_ns = slice.start_ns + at * window_ns / (count - 1);
    }
    run
}

/// Two blocks: the edges of the runs are clear, and what is between them is not.
fn long_runs() -> Vec<Run> {
    vec![
        long(0, "A", &[0], 10, ".. .. .. .."),
        long(0, "both", &[0, 1], 60, ".. 11 11 11 .."),
        long(0, "both", &[0, 1], 20, ".. .. .. .. .. .. .. .."),
        long(1, "both", &[0, 1], 30, ".. 11 .. c. .. .."),
    ]
}

#[test]
fn runs_count_by_their_time_and_their_edges_do_not() {
    let found = found(&long_runs());
    assert_eq!((found.moment, found.taken.during, found.counted()), (When::During, 15, 15));
    let [alone, both] = found.treatments.as_slice() else { panic!("{:?}", found.treatments) };
    assert_eq!((both.slices, both.looks, alone.looks), (3, 13, 2));
    // 60 of 80 s, though 3 of 9 looks; 1 of 4 looks in the other block.
    assert_eq!(means(&both.states), [0.375, 0.5, 0.125, 0.0, 0.0]);
    // Of all logical CPUs 60 of 90 s, and a quarter.
    assert_eq!(means(&found.study)[1], ((60.0 / 90.0 + 0.25) * 500.0_f64).round() / 1000.0);
    assert!((found.by_cpu[1].shares["one-core"].mean - (60.0 / 90.0 + 0.25) / 2.0).abs() < 1e-9);
    // The third run changes, the other two do not; looks around all three are alike.
    assert_eq!((both.bracketed, both.disagree.as_ref().unwrap().mean), (3, 0.5));
    assert_eq!((both.with_during, both.during_differs), (3, 2));
}

#[test]
fn who_did_not_come_during_a_run_is_not_known() {
    let mut runs = long_runs();
    runs.push(long(2, "both", &[0, 1], 10, "a. .a aa .. .. a."));
    let found = found(&runs);
    let both = &found.treatments[1];
    // Half of the four looks of block 2; none is away, and what is not known is no change.
    assert_eq!(means(&both.states), [0.417, 0.333, 0.083, 0.0, 0.167]);
    assert_eq!(both.bracketed, 4);
    assert!(found.by_cpu.iter().all(|one| !one.shares.contains_key("away")));
    assert_eq!(found.stretches_in(LookState::Away), 2, "before the run and after it nothing kept them");
    let short = super::found(&[looked(0, "both", &[0, 1], &["a. .a a.", ".. .. .."])]);
    assert_eq!((short.moment, short.treatments[0].during_differs), (When::Before, 0));
    assert_eq!(means(&short.treatments[0].states), [0.5, 0.0, 0.0, 0.5, 0.0]);
}

#[test]
fn a_run_without_looks_during_it_is_not_known_for_its_time() {
    let mut runs = long_runs();
    runs[1].slices[0].looks.retain(|one| one.moment != When::During);
    let found = found(&runs);
    assert_eq!((found.slices_without, found.treatments[1].looks), (1, 10));
    assert_eq!(means(&found.treatments[1].states), [0.375, 0.125, 0.125, 0.0, 0.375]);
    for slice in runs.iter_mut().flat_map(|run| &mut run.slices) {
        slice.looks.retain(|one| one.moment != When::During);
    }
    let nothing = super::found(&runs);
    assert_eq!((nothing.counted(), nothing.slices_without), (0, 4));
    assert_eq!(means(&nothing.study), [0.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(nothing.by_cpu.is_empty() && nothing.distances.is_empty());
}

#[test]
fn slices_are_long_where_most_of_the_time_is_in_long_ones() {
    let mut runs = long_runs();
    let all = |runs: &[Run]| moment(&looked_at(runs));
    let mut set = |windows_ms: [u64; 4]| {
        runs.iter_mut().zip(windows_ms).for_each(|(run, ms)| run.slices[0].window_ns = ms * 1_000_000);
        all(&runs)
    };
    assert_eq!(set([200, 200, 200, 200]), When::Before);
    assert_eq!(set([200, 200, 200, 599]), When::Before);
    assert_eq!(set([200, 200, 200, 601]), When::During);
    assert_eq!(set([50, 50, 50, 201]), When::During);
    assert_eq!(all(&[]), When::Before);
}

#[test]
fn neighbours_are_not_known_where_a_busy_logical_cpu_was_not_looked_at() {
    let mut runs = long_runs();
    for run in runs.iter_mut().filter(|run| run.treatment == "both") {
        run.cpus.push(2);
    }
    let found = found(&runs);
    let both = &found.treatments[1];
    // What lines say stays, and who is clear is so beside 2; that one may be on any core that is slowed.
    assert_eq!(means(&both.states), [0.375, 0.5, 0.0, 0.0, 0.125]);
    assert_eq!((both.coverage, both.coverage.is_whole()), (Coverage { cpus: 3, looked_at: 2 }, false));
    assert!(found.treatments[0].coverage.is_whole());
    assert!(found.by_cpu.iter().all(|one| !one.shares.contains_key("neighbour")));
}

fn report(runs: &[Run]) -> Document {
    let (study, topology) = (study(&[""], &["both same-package 2"]), machine(1, 2, 1));
    let analysis = analyse_on(&study, Some(&topology), runs, 1.0);
    assert!(analysis.effects.is_empty());
    assert_eq!(effects(&study, &looked_at(runs), By::Core, 0.05), None);
    document(&Facts { runs, ..Facts::new(&study, &topology, &analysis) })
}

#[test]
fn a_report_says_that_its_shares_are_of_looks_during_slices() {
    let document = report(&long_runs());
    let section = format!("{:?}", document.section("looks").unwrap());
    for words in [
        "a treatment's own logical CPUs in the looks during them, weighted by their time",
        "the treatment's own logical CPUs in most looks during it",
        "There are no ratios by state: what a look sees during a run came after",
    ] {
        assert!(section.contains(words), "{words}: {section}");
    }
    assert!(!section.contains("other during") && document.section("by-state").is_none());
    let verdict: String = document.verdict.iter().map(|line| line.text() + "\n").collect();
    assert!(verdict.contains(" of the slices' time (15 looks during the slices)"), "{verdict}");
    let charts: Vec<Chart> = document
        .section("looks")
        .unwrap()
        .blocks
        .iter()
        .filter_map(|block| match block {
            threadwise_document::Block::Figure(figure) => Some(figure.chart.clone()),
            _ => None,
        })
        .collect();
    let [Chart::Strip(strip)] = charts.as_slice() else { panic!("{charts:?}") };
    let states: Vec<u8> = strip.points.iter().filter(|point| point.0 == 2).map(|point| point.3).collect();
    // One core in most looks of the first run, clear in those of the others.
    assert_eq!(states, [1, 0, 0]);
}
