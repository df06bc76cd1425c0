//! Does a 95% interval cover the truth in 95% of studies, and how often is each kind of sentence false?
//!
//! Thousands of studies of machines whose truth is known, with noise as it was met and fixed seeds. What is printed
//! stands in docs/METHODOLOGY.md; `cargo test -p threadwise-analysis --test it lab_simulations::coverage -- --ignored --nocapture` prints it again.
//! Beside each figure stands that of the rules before margins.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod activity;
mod advice;
mod arms;
mod best;
mod choose;
mod compare;
mod drift;
mod external_arms;
mod first_block;
mod fleet;
mod guess;
mod halves;
mod knee;
mod lock_gains;
mod long_windows;
mod lost_cpu;
mod mixed;
mod neighbours;
pub mod noise;
mod parallel;
mod queries;
mod real;
mod round_trips;
pub mod rules;
mod scaling_law;
mod short;
mod spins;
mod until;
pub mod whole;
mod why;

use noise::{Machine, QUIET};
use rules::{ALPHA, answers, before, before_answers, means, plain_half_width, studies};
use threadwise_analysis::Answer;

const STUDIES: u64 = 2000;

/// Intervals of the compared treatments of some studies.
pub struct Intervals {
    pub covered: f64,
    covered_before: f64,
    /// Mean of the half-width over that of plain t.
    pub width: f64,
}

pub fn intervals(machine: &Machine, blocks: usize, count: u64) -> Intervals {
    let each = |machine: &Machine, series: &[Vec<f64>]| {
        let means = means(series);
        let of_one = |at: usize| {
            let truth = machine.truth(at - 1);
            let covers = |(low, high): (f64, f64)| f64::from(u8::from(low <= truth && truth <= high));
            let width = means[at].half_width(ALPHA) / plain_half_width(&series[at]);
            [covers(means[at].interval(ALPHA)), covers(before(&series[at]).interval(ALPHA)), width]
        };
        (1..series.len()).map(of_one).collect::<Vec<_>>()
    };
    let all: Vec<[f64; 3]> = studies(machine, blocks, count, each).concat();
    let mean = |at: usize| all.iter().map(|one| one[at]).sum::<f64>() / all.len() as f64;
    Intervals { covered: mean(0), covered_before: mean(1), width: mean(2) }
}

/// Two comparisons, one of treatments with three times the noise of A.
pub fn two(machine: Machine) -> Machine {
    Machine { effects: vec![0.0, 0.65], block_sd: (0.014, 0.04), ..machine }
}

fn checked(name: &str, machine: &Machine, limits: [(usize, f64); 4]) {
    for (blocks, least) in limits {
        let got = intervals(machine, blocks, STUDIES);
        println!(
            "{name}, {blocks} blocks: {:.1}% covered ({:.1}% before), {:.2} times plain t's half-width",
            100.0 * got.covered,
            100.0 * got.covered_before,
            got.width
        );
        assert!(got.covered >= least, "{name}, {blocks} blocks: {}", got.covered);
        if machine.ar1 == 0.0 {
            assert!(got.width <= 1.3, "{name}, {blocks} blocks: {}", got.width);
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn intervals_cover_where_blocks_are_independent() {
    let machine = two(QUIET);
    for blocks in [8, 16, 32, 64] {
        let got = intervals(&machine, blocks, STUDIES);
        println!(
            "independent, {blocks} blocks: {:.1}% covered ({:.1}% before), {:.2} times plain t's half-width",
            100.0 * got.covered,
            100.0 * got.covered_before,
            got.width
        );
        assert!((0.94..=0.97).contains(&got.covered) && got.width <= 1.3, "{blocks}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn intervals_cover_where_blocks_are_correlated() {
    let some = [(8, 0.92), (16, 0.92), (32, 0.92), (64, 0.92)];
    let much = [(8, 0.88), (16, 0.90), (32, 0.90), (64, 0.90)];
    let of_blocks = |ar1: f64| Machine { ar1, slice_sd: 0.002, ..two(QUIET) };
    checked("AR(1) 0.3", &of_blocks(0.3), some);
    checked("AR(1) 0.6", &of_blocks(0.6), much);
    // The noise of slices is independent, hides some of the correlation, and leaves its effect on the mean.
    let beneath = [(8, 0.86), (16, 0.88), (32, 0.89), (64, 0.90)];
    checked("AR(1) 0.6 beneath the noise of slices", &Machine { ar1: 0.6, ..two(QUIET) }, beneath);
}

#[test]
#[ignore = "laboratory: simulations"]
fn intervals_cover_the_long_run_with_its_disturbances() {
    let limits = [(8, 0.88), (16, 0.88), (32, 0.92), (64, 0.92)];
    let disturbed = Machine { disturbed: (0.1, 0.12), block_sd: (0.014, 0.02), ..two(QUIET) };
    checked("10% of blocks 12% slower", &disturbed, limits);
    let all = [(8, 0.92), (16, 0.92), (32, 0.92), (64, 0.92)];
    checked("2% of slices stall", &Machine { stalls: 0.02, ..two(QUIET) }, all);
    checked("drift of 20% in a block", &Machine { drift: 0.2, ..two(QUIET) }, all);
    let come_and_go = Machine { neighbour: (40.0, 0.2, 0.4), ..two(QUIET) };
    checked("a neighbour takes 40% of all for 20% of the time", &come_and_go, all);
}

/// Share of studies in which something is so of at least one comparison.
pub fn share(all: &[bool]) -> f64 {
    all.iter().filter(|is_so| **is_so).count() as f64 / all.len() as f64
}

#[test]
#[ignore = "laboratory: simulations"]
fn five_percent_more_is_seen_with_eight_blocks() {
    // d has a standard deviation of 2%.
    let machine =
        Machine { effects: vec![0.05f64.ln_1p(), 0.0], block_sd: (0.0, 0.0), slice_sd: 0.0516, ..QUIET };
    let all = studies(&machine, 8, STUDIES, |_, series| {
        let mean = means(series)[1];
        (mean.interval(ALPHA).0 > 0.0, before_answers(series)[0].effect)
    });
    let (now, then): (Vec<bool>, Vec<bool>) = all.into_iter().unzip();
    println!(
        "a true +5% at 8 blocks, sd 2%: the interval leaves out 1 in {:.1}% (an effect before: {:.1}%)",
        100.0 * share(&now),
        100.0 * share(&then)
    );
    assert!(share(&now) >= 0.8);
}

/// What is said in studies of seven comparisons.
pub fn said(machine: &Machine, blocks: usize, count: u64) -> [f64; 6] {
    let all = studies(machine, blocks, count, |_, series| {
        let answers = answers(&means(series));
        let any = |some: &[Answer]| answers.iter().any(|ratio| some.contains(&ratio.answer));
        let then = before_answers(series);
        [
            any(&[Answer::Larger, Answer::Smaller, Answer::WithinMargin, Answer::SizeOpen]),
            any(&[Answer::Larger, Answer::Smaller]),
            any(&[Answer::Equivalent, Answer::WithinMargin]),
            answers.iter().all(|ratio| ratio.is_same()),
            then.iter().any(|one| one.effect),
            then.iter().any(|one| one.adds_nothing),
        ]
    });
    std::array::from_fn(|at| share(&all.iter().map(|one| one[at]).collect::<Vec<_>>()))
}

fn print_said(name: &str, said: [f64; 6]) {
    let [different, beyond, same, all_same, effect, nothing] = said.map(|share| 100.0 * share);
    println!(
        "{name}: different {different:.1}%, beyond the margin {beyond:.1}%, one as good {same:.1}%, all as good \
         {all_same:.1}%; before: an effect {effect:.1}%, one adds nothing {nothing:.1}%"
    );
}

#[test]
#[ignore = "laboratory: simulations"]
fn nothing_is_not_called_a_difference() {
    for (name, machine, limit) in [
        ("nothing, seven comparisons", QUIET, 0.05),
        ("nothing, AR(1) 0.3", Machine { ar1: 0.3, ..QUIET }, 0.05),
        // More correlation than so few blocks can show.
        ("nothing, AR(1) 0.6", Machine { ar1: 0.6, ..QUIET }, 0.11),
        ("nothing, 2% of slices stall", Machine { stalls: 0.02, ..QUIET }, 0.05),
    ] {
        let machine = Machine { effects: vec![0.0; 7], block_sd: (0.02, 0.02), ..machine };
        for blocks in [8, 16, 32] {
            let said = said(&machine, blocks, STUDIES);
            print_said(&format!("{name}, {blocks} blocks"), said);
            assert!(said[0] <= limit, "{name}: {said:?}");
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn four_percent_more_does_not_add_nothing() {
    // The standard deviation of d is 2.5%: 2.04% each, of A and A' half of the variance.
    let machine =
        Machine { effects: vec![0.04f64.ln_1p(); 14], block_sd: (0.0, 0.0), slice_sd: 0.0645, ..QUIET };
    let said = said(&machine, 8, STUDIES);
    print_said("a true +4% in 14 comparisons, 8 blocks, sd 2.5%", said);
    assert!(said[2] <= 0.05 && said[5] > 0.5, "{said:?}");
}

#[test]
#[ignore = "laboratory: simulations"]
fn each_answer_is_given_where_it_is_true() {
    for (truth, sd, wanted) in [
        (0.0, 0.02, Answer::Equivalent),
        (0.02, 0.004, Answer::WithinMargin),
        (0.08, 0.02, Answer::Larger),
        (-0.08, 0.02, Answer::Smaller),
        (0.03, 0.01, Answer::SizeOpen),
        (0.0, 0.10, Answer::Undecided),
    ] {
        for blocks in [8, 32] {
            let slice_sd = sd / 1.5f64.sqrt() * (noise::ROUNDS as f64).sqrt();
            let machine =
                Machine { effects: vec![f64::ln_1p(truth); 2], block_sd: (0.0, 0.0), slice_sd, ..QUIET };
            let all =
                studies(&machine, blocks, STUDIES, |_, series| answers(&means(series))[0].answer == wanted);
            println!(
                "a true {:+.0}%, sd {:.1}%, {blocks} blocks: {wanted:?} in {:.1}%",
                100.0 * truth,
                100.0 * sd,
                100.0 * share(&all)
            );
            assert!(blocks == 8 || share(&all) > 0.5, "{truth} {sd} {blocks}: {wanted:?}");
        }
    }
}
