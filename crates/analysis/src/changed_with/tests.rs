//! Tables and links on studies worked by hand.

use super::*;
use crate::fixtures::{run, study};
use crate::{Analysis, Facts, analyse, document, verdict};
use threadwise_machine::Topology;
use threadwise_study::{Reading, Run, Study};

fn made() -> Study {
    study(&[""], &["T same-core 2"])
}

fn reading(sampler: &str, metric: &str, cpu: Option<u32>, value: f64) -> Reading {
    let (sampler, metric) = (sampler.to_owned(), metric.to_owned());
    Reading { sampler, metric, cpu, start_ns: 0, end_ns: 1, value: Some(value), gap: None }
}

/// A run of 10 slices of 1 s at a rate, with a clock, and LLC misses in the samplers' windows of 10 s.
fn measured(block: u32, name: &str, rate: u64, mhz: f64, misses: f64) -> Run {
    let mut run = run(block, name, &[rate; 10]);
    run.readings = vec![
        reading("clock", "window_ns", None, 1e10),
        reading("clock", "aperf_cycles", Some(0), mhz * 1e7),
        reading("clock", "mperf_cycles", Some(0), 2e10),
        reading("clock", "tsc_cycles", Some(0), 2e10),
        reading("counters", "window_ns", None, 1e10),
        reading("counters", "llc_misses", Some(0), misses),
    ];
    run
}

/// Numbers between 0 and 1 that look drawn, the same in every run of the test.
fn drawn(block: u32, salt: u32) -> f64 {
    let mixed = (block + 1).wrapping_mul(2_654_435_761).wrapping_add(salt.wrapping_mul(40_503_239));
    f64::from((mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519) >> 8) / f64::from(1u32 << 24)
}

/// So many blocks in which T has half of A's rate, up to 10% more: as its clock has where `by_clock`, of its own else. Each
/// row misses `misses` times and up to a third more, whatever the rate.
fn runs(blocks: u32, by_clock: bool, misses: f64) -> Vec<Run> {
    let of_block = |block: u32| {
        let a = 1_000_000 + (20_000.0 * drawn(block, 1)) as u64;
        let more = 1.0 + 0.1 * drawn(block, 2);
        let clock = 3000.0 * if by_clock { more } else { 1.0 + 0.1 * drawn(block, 3) };
        let t = (500_000.0 * more) as u64;
        let missed = |rate: u64, salt: u32| 10.0 * rate as f64 * misses * (1.0 + 0.3 * drawn(block, salt));
        [
            measured(block, "A", a, 3000.0, missed(a, 4)),
            measured(block, "A'", a + 1000, 3000.0, missed(a + 1000, 5)),
            measured(block, "T", t, clock, missed(t, 6)),
        ]
    };
    (0..blocks).flat_map(of_block).collect()
}

fn analysed(runs: &[Run]) -> Analysis {
    analyse(&made(), runs, 1.0)
}

fn quantity<'a>(analysis: &'a Analysis, metric: &str) -> &'a Quantity {
    let compared = &analysis.get::<ChangedWith>().unwrap().comparisons[0];
    compared.quantities.iter().find(|quantity| quantity.metric == metric).unwrap()
}

fn said(runs: &[Run]) -> Option<String> {
    let (study, analysis, topology) = (made(), analysed(runs), Topology::default());
    let findings = verdict(&Facts { runs, ..Facts::new(&study, &topology, &analysis) });
    findings.into_iter().find(|one| one.kind == FindingKind::Why).map(|one| one.text())
}

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() <= 1e-6 * wanted.abs(), "{got}, expected {wanted}");
}

#[test]
fn a_table_has_both_sides_and_the_paired_change() {
    let all: Vec<Run> = (0..3)
        .flat_map(|block| {
            let misses = f64::from(block + 1);
            [
                measured(block, "A", 1000, 3000.0, 1e4 * misses),
                measured(block, "A'", 1000, 3000.0, 1e4 * misses),
                measured(block, "T", 2000, 2700.0, 8e4 * misses),
            ]
        })
        .collect();
    let analysis = analysed(&all);
    let clock = quantity(&analysis, "clock_mhz");
    close(clock.baseline.mean, 3000.0);
    close(clock.treatment.mean, 2700.0);
    close(clock.change.value, 0.9);
    assert_eq!((clock.change.unit, clock.change.blocks, clock.change.is_different()), ("ratio", 3, true));
    // 1, 2 and 3 misses a row, a geometric mean of the cube root of 6; T has four times as many in each block.
    let misses = quantity(&analysis, "llc_misses_per_row");
    close(misses.baseline.mean, 6f64.cbrt());
    close(misses.change.value, 4.0);
    // 10 ms of 1 s in both.
    let waited = quantity(&analysis, "run_queue_wait_share");
    close(waited.baseline.mean, 0.01);
    assert_eq!((waited.change.unit, waited.change.value), ("points", 0.0));
    let names: Vec<&str> = analysis.get::<ChangedWith>().unwrap().comparisons[0]
        .quantities
        .iter()
        .map(|one| &*one.metric)
        .collect();
    assert!(!names.contains(&"power_w") && !names.contains(&"spins_per_row"), "unknown is no row: {names:?}");
}

#[test]
fn a_clock_that_the_ratio_follows_is_named() {
    let all = runs(16, true, 1.0);
    let analysis = analysed(&all);
    assert_eq!(analysis.get::<ChangedWith>().unwrap().comparisons[0].answer, Explained::Moves);
    let link = quantity(&analysis, "clock_mhz").link.as_ref().unwrap();
    assert!(link.shown && link.correlation.mean > 0.9 && link.form == Form::AsItIs, "{link:?}");
    let text = said(&all).unwrap();
    assert!(
        text.starts_with("Why, from block to block: the ratio of T rises with clock (rank correlation 0.9"),
        "{text}"
    );
}

#[test]
fn what_goes_with_the_rate_by_construction_is_not_named() {
    // Misses a row know nothing of the rate: a second they go with it.
    let analysis = analysed(&runs(32, false, 3.0));
    let misses = quantity(&analysis, "llc_misses_per_row");
    assert!(misses.link.as_ref().is_some_and(|link| !link.shown), "{misses:?}");
    let cpu = quantity(&analysis, "cpu_ns_per_row");
    assert_eq!((&cpu.link, cpu.not_tested), (&None, Some("it contains the rate")));
    // As many a second: a row they fall as the rate rises.
    let mut all = runs(32, false, 1.0);
    for run in &mut all {
        let a_second = 5e6 * (1.0 + 0.01 * drawn(run.block, run.treatment.len() as u32 + 7));
        run.readings
            .iter_mut()
            .filter(|one| one.metric == "llc_misses")
            .for_each(|one| one.value = Some(a_second));
    }
    let analysis = analysed(&all);
    let misses = quantity(&analysis, "llc_misses_per_row");
    assert!(misses.link.as_ref().is_some_and(|link| !link.shown), "{misses:?}");
}

#[test]
fn misses_that_grow_as_the_rate_falls_are_named() {
    let mut all = runs(32, false, 1.0);
    for run in all.iter_mut().filter(|run| run.treatment == "T") {
        let rate = run.slices[0].sessions[0].rows as f64;
        run.readings
            .iter_mut()
            .filter(|one| one.metric == "llc_misses")
            .for_each(|one| one.value = Some(1e20 / rate.powi(3)));
    }
    let analysis = analysed(&all);
    let link = quantity(&analysis, "llc_misses_per_row").link.as_ref().unwrap();
    assert!(link.shown && link.correlation.mean < -0.7 && link.form == Form::PerSecond, "{link:?}");
}

#[test]
fn unexplained_takes_blocks() {
    let few = analysed(&runs(12, false, 1.0));
    let changed = few.get::<ChangedWith>().unwrap();
    assert_eq!(changed.comparisons[0].answer, Explained::TooFewBlocks);
    assert!(changed.blocks_needed > 12 && changed.tested >= 2, "{changed:?}");
    assert_eq!(said(&runs(12, false, 1.0)), None);
    let text = said(&runs(40, false, 1.0)).unwrap();
    assert_eq!(
        text,
        "Why, from block to block: T unexplained (2 figures tested, none moves with the ratio)."
    );
}

#[test]
fn where_no_difference_is_shown_nothing_is_tested() {
    let mut all = runs(16, false, 1.0);
    for run in all.iter_mut().filter(|run| run.treatment == "T") {
        let rows = 960_000 + if run.block.is_multiple_of(2) { 100_000 } else { 0 };
        run.slices.iter_mut().for_each(|slice| slice.sessions[0].rows = rows);
    }
    let analysis = analysed(&all);
    let changed = analysis.get::<ChangedWith>().unwrap();
    assert_eq!((changed.tested, changed.not_tested), (0, Some("no difference of throughput is shown")));
    assert_eq!((changed.comparisons[0].answer, said(&all)), (Explained::NoDifference, None));
}

#[test]
fn the_section_says_how_many_blocks_it_takes() {
    let (study, all, topology) = (made(), runs(12, false, 1.0), Topology::default());
    let analysis = analysed(&all);
    let document = document(&Facts { runs: &all, ..Facts::new(&study, &topology, &analysis) });
    let section = document.section("changed-with").unwrap();
    let text = format!("{section:?}");
    let needed = analysis.get::<ChangedWith>().unwrap().blocks_needed;
    assert!(text.contains("LLC misses per row") && text.contains(&needed.to_string()), "{text}");
}
