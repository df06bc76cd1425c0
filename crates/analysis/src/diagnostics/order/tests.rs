//! Neighbours and carry-over of whole runs, and what a report says of them.

use super::{Neighbours, OrderedSlice, contrasts, judged};
use crate::FindingKind;
use crate::diagnostics::QuestionAnswer;
use crate::estimate::Rule;
use crate::estimate::sides::Sides;
use crate::{Analysis, Direction, Facts, Ratio, analyse, document, fixtures};
use threadwise_machine::Topology;
use threadwise_study::plan::order::rounds;
use threadwise_study::{Run, RunStatus, Study};

const BLOCKS: u32 = 8;
const ROWS: f64 = 1e9;

/// A number in ±0.5 that is a function of the slice.
fn noise(sequence: u64) -> f64 {
    (sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 24) as f64 - 0.5
}

/// ln(rate) of a slice: three treatments alike, 1% of noise, and what `b` carries over.
fn log_rate(sequence: u64, predecessor: Option<usize>, carried: f64) -> f64 {
    0.01 * noise(sequence) + if predecessor == Some(2) { carried } else { 0.0 }
}

fn study() -> Study {
    fixtures::study(&[""], &["b one-cpu 1"])
}

/// The orders of all blocks: those of the plan, or the same order in every round.
fn orders(study: &Study, is_balanced: bool) -> Vec<Vec<Vec<usize>>> {
    let order = |block| match is_balanced {
        true => rounds(study.seed, 3, study.design.rounds, block),
        false => (0..study.design.rounds)
            .map(|round| if round % 3 == 0 { vec![0, 1, 2] } else { vec![1, 0, 2] })
            .collect(),
    };
    (0..BLOCKS).map(order).collect()
}

/// Full runs, one list a block.
fn runs(study: &Study, orders: &[Vec<Vec<usize>>], carried: f64) -> Vec<Run> {
    let mut all = Vec::new();
    for (block, order) in (0..).zip(orders) {
        let first = u64::from(block) * 60;
        let mut ran: Vec<Run> =
            study.treatments.iter().map(|one| fixtures::run(block, &one.name, &[0; 20])).collect();
        let mut predecessor = None;
        for (at, &treatment) in (0u64..).zip(order.iter().flatten()) {
            let slice = &mut ran[treatment].slices[(at / 3) as usize];
            slice.sequence = first + at;
            slice.sessions[0].rows = (ROWS * log_rate(first + at, predecessor, carried).exp()) as u64;
            predecessor = Some(treatment);
        }
        all.extend(ran);
    }
    all
}

fn found(analysis: &Analysis) -> QuestionAnswer {
    analysis.found("order").unwrap().clone()
}

fn analysed(study: &Study, is_balanced: bool, carried: f64) -> (Analysis, QuestionAnswer) {
    let analysis = analyse(study, &runs(study, &orders(study, is_balanced), carried), 1.0);
    let order = found(&analysis);
    (analysis, order)
}

fn pairs(found: &QuestionAnswer) -> [f64; 3] {
    ["pairs", "least", "most"].map(|name| found.numbers[name])
}

#[test]
fn neighbours_are_counted() {
    let mut neighbours = Neighbours::of_treatments(4);
    for (before, treatment) in [(None, 0), (Some(0), 1), (Some(1), 1), (Some(1), 2), (None, 2), (Some(2), 0)]
    {
        neighbours.add(before, treatment);
    }
    assert_eq!(neighbours.counts[0], [0, 1, 0, 0]);
    // Treatment 3 has no slice.
    assert_eq!(neighbours.pairs(), [("pairs", 9.0), ("least", 0.0), ("most", 1.0)].into());
}

#[test]
fn the_bound_is_imbalance_times_effect() {
    let mut neighbours = Neighbours::of_treatments(2);
    // After 0: a quarter of 0's slices, three quarters of 1's; the other way round after 1.
    for (predecessor, treatment, times) in [(0, 0, 1), (0, 1, 3), (1, 0, 3), (1, 1, 1)] {
        (0..times).for_each(|_| neighbours.add(Some(predecessor), treatment));
    }
    let after = |low: f64, high: f64| Some(Ratio { low, high, ..fixtures::ratio(0.0, 0.0, 0.0) });
    let all = [after(-0.03, -0.01), after(0.01, 0.02)];
    let bound = |top: usize, below: usize, all: &[Option<Ratio>]| {
        neighbours.shift_bound(&Sides { top, below: vec![below] }, all)
    };
    let found = bound(1, 0, &all).unwrap();
    assert!((found - (0.5 * 0.015 + 0.5 * 0.01)).abs() < 1e-12, "{found}");
    assert_eq!(bound(0, 0, &all), Some(0.0));
    assert_eq!((bound(1, 0, &[None, None]), bound(1, 0, &[])), (None, None), "unknown, and not 0");
    let none = Neighbours::of_treatments(2);
    assert_eq!(none.shift_bound(&Sides { top: 1, below: vec![0] }, &all), None);
}

/// The paragraph on order in the method section, and the finding.
fn said(study: &Study, analysis: &Analysis) -> (String, Option<String>) {
    let topology = Topology::default();
    let facts = Facts::new(study, &topology, analysis);
    let paragraph = super::paragraph(&facts, &found(analysis)).unwrap().to_string();
    let finding = document(&facts).verdict.into_iter().find(|finding| finding.kind == FindingKind::CarryOver);
    (paragraph, finding.map(|finding| finding.line.to_string()))
}

#[test]
fn the_whole_analysis_gives_the_same_numbers() {
    let study = study();
    let (analysis, order) = analysed(&study, true, -0.02);
    let by_block: Vec<Vec<Option<f64>>> = (0..)
        .zip(orders(&study, true))
        .map(|(block, order)| {
            let slices = order.concat();
            let before = std::iter::once(None).chain(slices.iter().copied().map(Some));
            let slice = |(at, (treatment, predecessor)): (u64, (&usize, Option<usize>))| OrderedSlice {
                round: (at / 3) as u32,
                treatment: *treatment,
                predecessor,
                log_rate: log_rate(block * 60 + at, predecessor, -0.02),
            };
            let slices: Vec<OrderedSlice> = (0..).zip(slices.iter().zip(before)).map(slice).collect();
            contrasts(&slices, 3)
        })
        .collect();
    let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::Neither };
    for (after, expected) in order.estimates.iter().zip(judged(&by_block, 3, rule)) {
        let (got, wanted) = (&after.ratio, expected.unwrap().exp());
        for (got, wanted) in [(got.value, wanted.value), (got.low, wanted.low), (got.high, wanted.high)] {
            assert!((got - wanted).abs() < 1e-6, "{after:?} {wanted:?}");
        }
        assert_eq!((got.blocks, got.answer), (8, wanted.answer));
    }
    let heavy = &order.estimates[2].ratio;
    assert!((heavy.low..heavy.high).contains(&0.98), "{heavy:?}");
    let [pairs, least, most] = pairs(&order);
    assert!(pairs == 9.0 && least >= 48.0 && most <= 55.0, "{order:?}");
    let ratio = analysis.estimates[0].ratio.value;
    let shift = order.numbers["largest_shift_share"];
    assert!(shift < 0.001 && (ratio - 1.0).abs() < shift + 0.001, "{ratio} {shift:?}");
}

#[test]
fn carry_over_is_a_finding_before_the_scope() {
    let study = study();
    let (analysis, _) = analysed(&study, true, -0.02);
    let (paragraph, finding) = said(&study, &analysis);
    let finding = finding.unwrap();
    assert!(finding.starts_with("Carry-over: after slices of b, slices were 1.9% [1.8, 2.1] "), "{finding}");
    assert!(finding.contains("] slower than after others (shown for 2 more). Each treatment"));
    assert!(finding.ends_with("no ratio is shifted by more than 0.1%; rates contain it."), "{finding}");
    assert!(paragraph.contains("is -1.9% [-2.1, -1.8]"), "{paragraph}");
    assert!(
        paragraph.contains("the largest change of 3; by Holm's method carry-over is shown for 3. Within")
    );
    let topology = Topology::default();
    let kinds: Vec<FindingKind> =
        document(&Facts::new(&study, &topology, &analysis)).verdict.into_iter().map(|one| one.kind).collect();
    let place = |kind| kinds.iter().position(|one| *one == kind).unwrap();
    assert_eq!(
        (place(FindingKind::CarryOver), place(FindingKind::Scope)),
        (place(FindingKind::Trust) + 1, place(FindingKind::CarryOver) + 1)
    );
}

#[test]
fn without_carry_over_there_is_no_finding_but_its_interval() {
    let study = study();
    let (analysis, order) = analysed(&study, true, 0.0);
    assert!(order.shown().count() == 0 && order.estimates.len() == 3);
    assert!(order.estimates.iter().all(|after| after.ratio.low < 1.0 && after.ratio.high > 1.0));
    let (paragraph, finding) = said(&study, &analysis);
    assert_eq!(finding, None);
    assert!(paragraph.contains("by Holm's method no carry-over is shown. Within"), "{paragraph}");
    assert!(paragraph.ends_with("no throughput ratio by more than 0.1%."), "{paragraph}");
}

#[test]
fn an_order_that_is_not_balanced_says_how_far_ratios_may_be_shifted() {
    let study = study();
    let (analysis, order) = analysed(&study, false, -0.02);
    let [_, least, most] = pairs(&order);
    assert!(least == 0.0 && most > 100.0, "{order:?}");
    // b always comes last, so that it never follows itself.
    let (paragraph, finding) = said(&study, &analysis);
    match finding {
        Some(finding) => assert!(finding.contains("ratios may be shifted by up to"), "{finding}"),
        None => assert!(paragraph.contains("was not tested"), "{paragraph}"),
    }
}

#[test]
fn runs_that_do_not_count_still_ran_before_others() {
    let study = study();
    let orders = orders(&study, true);
    let mut failed = runs(&study, &orders, -0.02);
    let whole = found(&analyse(&study, &failed, 1.0));
    for run in failed.iter_mut().filter(|run| run.block == 3 && run.treatment == "b") {
        run.status = RunStatus::Failed { kind: "crash".to_owned(), message: "gone".to_owned() };
    }
    let order = found(&analyse(&study, &failed, 1.0));
    assert_eq!(pairs(&order), pairs(&whole));
    assert_eq!(order.estimates[2].ratio.blocks, 8, "its slices ran, and slices after them count");
    assert!((order.estimates[2].ratio.value - 0.98).abs() < 0.005);
}

#[test]
fn where_nothing_is_tested_the_reason_is_there() {
    let mut study = study();
    study.design.rounds = 1;
    let order = found(&analyse(&study, &[fixtures::run(0, "A", &[5])], 1.0));
    assert_eq!((order.gap.as_deref(), order.estimates.len()), (Some("a block has one round"), 0));
    assert!(!order.numbers.contains_key("largest_shift_share"));
    study.design.rounds = 20;
    let order = found(&analyse(&study, &[], 1.0));
    assert_eq!(order.gap.as_deref(), Some("no block can tell predecessors from rounds and treatments"));
    assert!(order.numbers["pairs"] == 0.0 && !order.numbers.contains_key("largest_shift_share"));
    study.workload = "tpch".into();
    let order = found(&analyse(&study, &[], 1.0));
    assert_eq!(order.gap.as_deref(), Some("its rounds are of different queries"));
    study.workload = "command".into();
    assert_eq!(analyse(&study, &[], 1.0).found("order"), None);
}
