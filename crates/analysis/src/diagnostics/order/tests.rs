//! Neighbours and carry-over of whole runs, and what a report says of them.

use super::{Order, contrasts, fit::OrderedSlice, judged};
use crate::{Analysis, Facts, analyse, document, fixtures};
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

fn analysed(study: &Study, is_balanced: bool, carried: f64) -> (Analysis, Order) {
    let analysis = analyse(study, &runs(study, &orders(study, is_balanced), carried), 1.0);
    let order = analysis.order.clone().unwrap();
    (analysis, order)
}

/// The paragraph on order in the method section, and the finding.
fn said(study: &Study, analysis: &Analysis) -> (String, Option<String>) {
    let topology = Topology::default();
    let facts = Facts::new(study, &topology, analysis);
    let paragraph = crate::sections::order::paragraph(&facts).unwrap().to_string();
    let found = document(&facts).verdict.into_iter().find(|finding| finding.kind == "carry-over");
    (paragraph, found.map(|finding| finding.line.to_string()))
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
    for (after, expected) in order.after.iter().zip(judged(&by_block, 3, 0.05)) {
        let expected = expected.unwrap().ratio();
        let (got, wanted) = (&after.change.value, &expected.value);
        for (got, wanted) in [(got.mean, wanted.mean), (got.low, wanted.low), (got.high, wanted.high)] {
            assert!((got - wanted).abs() < 1e-6, "{after:?} {expected:?}");
        }
        assert_eq!((after.change.blocks, after.change.shown), (8, expected.shown));
    }
    let heavy = &order.after[2].change.value;
    assert!((heavy.low..heavy.high).contains(&0.98), "{heavy:?}");
    // 160 slices, of which each treatment ended some blocks.
    assert_eq!(order.after.iter().map(|after| after.slices).sum::<u32>(), 480 - 8);
    assert!(order.pairs.pairs == 9 && order.pairs.least >= 48 && order.pairs.most <= 55, "{:?}", order.pairs);
    let ratio = analysis.estimates[0].ratio.value;
    let shift = order.shift.unwrap();
    assert_eq!(shift.comparison, "b : A+A'");
    assert!(shift.share < 0.001 && (ratio - 1.0).abs() < shift.share + 0.001, "{ratio} {shift:?}");
}

#[test]
fn carry_over_is_a_finding_before_the_scope() {
    let study = study();
    let (analysis, _) = analysed(&study, true, -0.02);
    let (paragraph, finding) = said(&study, &analysis);
    let finding = finding.unwrap();
    assert!(finding.starts_with("Carry-over: after slices of b, slices were 1.9% [1.8, 2.1] "), "{finding}");
    assert!(finding.contains("] slower than after others (it is shown for 2 more). Each treatment"));
    assert!(finding.ends_with("no ratio is shifted by more than 0.1%; rates contain it."), "{finding}");
    assert!(paragraph.contains("is -1.9% [-2.1, -1.8]"), "{paragraph}");
    assert!(
        paragraph.contains("the largest change of 3; by Holm's method carry-over is shown for 3. Within")
    );
    let topology = Topology::default();
    let kinds: Vec<String> =
        document(&Facts::new(&study, &topology, &analysis)).verdict.into_iter().map(|one| one.kind).collect();
    let place = |kind: &str| kinds.iter().position(|one| one == kind).unwrap();
    assert_eq!((place("carry-over"), place("scope")), (place("trust") + 1, place("carry-over") + 1));
}

#[test]
fn without_carry_over_there_is_no_finding_but_its_interval() {
    let study = study();
    let (analysis, order) = analysed(&study, true, 0.0);
    assert!(
        order.after.iter().all(|after| !after.change.shown
            && after.change.value.low < 1.0
            && after.change.value.high > 1.0)
    );
    let (paragraph, finding) = said(&study, &analysis);
    assert_eq!(finding, None);
    assert!(paragraph.contains("by Holm's method no carry-over is shown. Within"), "{paragraph}");
    assert!(paragraph.ends_with("no throughput ratio by more than 0.1%."), "{paragraph}");
}

#[test]
fn an_order_that_is_not_balanced_says_how_far_ratios_may_be_shifted() {
    let study = study();
    let (analysis, order) = analysed(&study, false, -0.02);
    assert!(order.pairs.least == 0 && order.pairs.most > 100, "{:?}", order.pairs);
    // b always comes last, so that it never follows itself.
    let (paragraph, finding) = said(&study, &analysis);
    match finding {
        Some(finding) => assert!(finding.contains("ratios may be shifted by up to"), "{finding}"),
        None => assert!(paragraph.contains("is not tested"), "{paragraph}"),
    }
}

#[test]
fn runs_that_do_not_count_still_ran_before_others() {
    let study = study();
    let orders = orders(&study, true);
    let mut failed = runs(&study, &orders, -0.02);
    let whole = analyse(&study, &failed, 1.0).order.unwrap();
    for run in failed.iter_mut().filter(|run| run.block == 3 && run.treatment == "b") {
        run.status = RunStatus::Failed { kind: "crash".to_owned(), message: "gone".to_owned() };
    }
    let order = analyse(&study, &failed, 1.0).order.unwrap();
    assert_eq!(order.pairs, whole.pairs);
    assert_eq!(order.after[2].change.blocks, 8, "its slices ran, and slices after them count");
    assert!((order.after[2].change.value.mean - 0.98).abs() < 0.005);
}

#[test]
fn where_nothing_is_tested_the_reason_is_there() {
    let mut study = study();
    study.design.rounds = 1;
    let order = analyse(&study, &[fixtures::run(0, "A", &[5])], 1.0).order.unwrap();
    assert_eq!((order.gap.as_deref(), order.after.len()), (Some("a block has one round"), 0));
    assert_eq!(order.shift, None);
    study.design.rounds = 20;
    let order = analyse(&study, &[], 1.0).order.unwrap();
    assert_eq!(order.gap.as_deref(), Some("no block can tell predecessors from rounds and treatments"));
    assert_eq!((order.pairs.pairs, order.shift), (0, None));
    study.workload = "tpch".to_owned();
    let order = analyse(&study, &[], 1.0).order.unwrap();
    assert_eq!(order.gap.as_deref(), Some("its rounds are of different queries"));
    study.workload = "command".to_owned();
    assert_eq!(analyse(&study, &[], 1.0).order, None);
}
