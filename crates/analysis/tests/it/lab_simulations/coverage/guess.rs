//! Best guesses where nothing is decided: how often they are right, beside the probability that they state.

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::rules::{MARGIN, answers, means, studies};
use threadwise_analysis::Answer;
use threadwise_analysis::estimate::Guess;

const STUDIES: u64 = 2000;
/// Truths, in logarithms: these steps from −12% to +18% lie evenly around the margin.
const TRUTHS: i32 = 15;

/// Probability stated, and whether it was right, of every undecided step.
fn guesses(machine: &Machine, blocks: usize) -> Vec<(f64, bool)> {
    let margin = MARGIN.ln_1p();
    let of_truth = |step: i32| {
        let effect = margin + 0.01 * f64::from(step);
        let machine = Machine { effects: vec![effect, 0.65], ..machine.clone() };
        let truth = machine.truth(0);
        let each = |_: &Machine, series: &[Vec<f64>]| {
            let ratio = &answers(&means(series))[0];
            let guess = Guess::of(ratio).filter(|_| ratio.answer == Answer::Undecided)?;
            Some((guess.probability, guess.is_above == (truth > margin)))
        };
        studies(&machine, blocks, STUDIES / TRUTHS as u64, each).into_iter().flatten().collect::<Vec<_>>()
    };
    // Odd steps alone, so that no truth is the margin itself.
    (-TRUTHS..=TRUTHS).filter(|step| step % 2 != 0).flat_map(of_truth).collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn guesses_are_right_as_often_as_they_say() {
    let with = |ar1| Machine { block_sd: (0.02, 0.05), ar1, ..QUIET };
    let disturbed = Machine { disturbed: (0.1, 0.12), ..with(0.0) };
    let twice = Machine { block_sd: (0.04, 0.1), ..with(0.0) };
    for (name, machine, blocks, slack) in [
        ("independent", with(0.0), 8, 0.05),
        ("independent, twice the noise", twice, 32, 0.05),
        ("AR(1) 0.6", with(0.6), 8, 0.1),
        ("disturbed", disturbed, 8, 0.06),
    ] {
        let all = guesses(&machine, blocks);
        for (least, most) in [(0.5, 0.7), (0.7, 0.9), (0.9, 1.0)] {
            let some: Vec<_> = all.iter().filter(|one| (least..=most).contains(&one.0)).collect();
            let mean = |value: &dyn Fn(&&(f64, bool)) -> f64| {
                some.iter().map(value).sum::<f64>() / some.len() as f64
            };
            let (said, right) = (mean(&|one| one.0), mean(&|one| f64::from(u8::from(one.1))));
            println!(
                "best guesses, {name}, {blocks} blocks: {:.0}% right where {:.0}% is stated ({} guesses)",
                100.0 * right,
                100.0 * said,
                some.len()
            );
            assert!(
                some.len() > 50 && right > said - slack,
                "{name} {blocks}: {right} {said} of {}",
                some.len()
            );
        }
    }
}
