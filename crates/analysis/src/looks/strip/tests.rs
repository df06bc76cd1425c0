//! Columns, cells and points of a small study.

use super::*;
use crate::analyse;
use crate::fixtures::{machine, run, study};
use threadwise_study::{CpuLook, Look, Moment, PairLook, SliceLook};

fn look(start_ns: u64, together: bool) -> Look {
    let adds = if together { 2.4 } else { 4.4 };
    let cpu = |cpu| CpuLook { cpu, chain_ns: Some(0.278), adds_per_step: Some(adds) };
    let pairs = vec![PairLook { a: 0, b: 1, line_ns: Some(if together { 7.0 } else { 60.0 }) }];
    Look { start_ns, took_ns: 1_000_000, cpus: vec![cpu(0), cpu(1)], pairs, alone: None }
}

/// Slices of 100 ms, one after the other, a letter each: `.` apart, `1` on one core, `-` without looks; rows as the
/// digit after it says, in hundreds.
fn looked(block: u32, treatment: &str, begin_ns: u64, slices: &[(char, u64)]) -> Run {
    let rows: Vec<u64> = slices.iter().map(|(_, rows)| *rows).collect();
    let mut run = run(block, treatment, &rows);
    run.cpus = vec![0, 1];
    for ((at, slice), (letter, _)) in (0..).zip(&mut run.slices).zip(slices) {
        (slice.start_ns, slice.window_ns) = (begin_ns + at * 100_000_000, 100_000_000);
        let looks = [(Moment::Before, slice.start_ns)].into_iter().filter(|_| *letter != '-');
        slice.looks = looks
            .map(|(moment, start_ns)| SliceLook { moment, look: look(start_ns, *letter == '1') })
            .collect();
    }
    run
}

fn drawn(runs: &[Run]) -> Strip {
    let (study, topology) = (study(&[""], &["both same-package 2"]), machine(1, 2, 1));
    let analysis = analyse(&study, runs, 1.0);
    let facts = Facts { runs, ..Facts::new(&study, &topology, &analysis) };
    strip(&facts).unwrap()
}

/// The states of a row's cells, with how many columns they have.
fn row(strip: &Strip, row: u32) -> Vec<(u32, u32, u8)> {
    let cells = strip.cells.iter().filter(|cell| cell.0 == row && cell.3.len() == 1);
    cells.map(|(_, first, columns, shares)| (*first, *columns, shares[0].0)).collect()
}

#[test]
fn columns_are_of_equal_time_and_breaks_are_cut_out() {
    let first = [('.', 100), ('1', 60), ('1', 60), ('.', 100)];
    let runs =
        [looked(0, "both", 5_000_000_000, &first), looked(1, "both", 60_000_000_000, &[('.', 100); 2])];
    let strip = drawn(&runs);
    // 600 ms in 600 columns, and a gap.
    assert_eq!(strip.pieces, [(0, 0, 400, 5.0, 5.4), (1, 405, 200, 60.0, 60.2)]);
    assert_eq!((strip.columns, strip.column_s), (605, 0.001));
    let wanted = [(0, 100, 0), (100, 200, 1), (300, 100, 0), (405, 200, 0)];
    assert_eq!(row(&strip, 0), wanted);
    assert_eq!(row(&strip, 1), wanted);
    assert_eq!(strip.treatments, ["A", "A'", "both"]);
    let points: Vec<_> =
        strip.points.iter().map(|point| (point.0, point.1, point.2, point.3, point.6)).collect();
    assert_eq!(points[0], (2, 50.0, 1.0, 0, Some(0)));
    assert_eq!(points[1], (2, 150.0, 0.6, 1, Some(1)));
    assert_eq!(points.len(), 6);
}

#[test]
fn a_slice_without_looks_leaves_a_hole() {
    let strip = drawn(&[looked(0, "both", 0, &[('.', 9), ('-', 9), ('1', 9), ('.', 9), ('.', 9), ('.', 9)])]);
    let wanted = [(0, 100, 0), (200, 100, 1), (300, 300, 0)];
    assert_eq!(row(&strip, 0), wanted);
    let unknown = strip.points.iter().filter(|point| point.3 == number(LookState::Unknown));
    assert_eq!(unknown.count(), 1);
}

#[test]
fn ten_thousand_slices_have_no_more_columns_and_keep_their_shares() {
    let slices: Vec<(char, u64)> = (0..10_000).map(|at| (if at % 4 == 0 { '1' } else { '.' }, 100)).collect();
    let strip = drawn(&[looked(0, "both", 0, &slices)]);
    assert_eq!(strip.columns, 600);
    let times = strip.time_in(0, 0.0, 600.0);
    assert!((times[0] / 600.0 - 0.75).abs() < 0.01 && (times[1] / 600.0 - 0.25).abs() < 0.01, "{times:?}");
    assert!(strip.cells.iter().all(|cell| cell.3.len() == 2));
    assert!(strip.points.len() <= 4_000, "{}", strip.points.len());
    let together: u32 = strip.points.iter().map(|point| point.4).sum();
    assert_eq!(together, 10_000, "each slice is in one point");
    let shared: u32 = strip.points.iter().filter(|point| point.3 == 1).map(|point| point.4).sum();
    assert_eq!(shared, 2_500);
}

#[test]
fn many_blocks_and_many_breaks_stay_within_the_strip() {
    let block = |block: u32| looked(block, "both", u64::from(block) * 20_000_000_000, &[('.', 9), ('1', 9)]);
    let strip = drawn(&(0..1_000).map(block).collect::<Vec<Run>>());
    assert!(strip.pieces.len() <= MAX_STRETCHES && strip.columns < 1_000, "{}", strip.columns);
    assert_eq!(strip.pieces[1].0, 7, "seven blocks are one piece");
    let ends = strip.pieces.windows(2).all(|pair| pair[0].1 + pair[0].2 <= pair[1].1);
    assert!(ends, "pieces do not overlap");
}
