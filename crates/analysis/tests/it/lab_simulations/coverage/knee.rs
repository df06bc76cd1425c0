//! Steps that are named for what they turned out to be: the one behind a knee, and the largest change of several. Do
//! their intervals hold, given that they are named?

use crate::lab_simulations::coverage::noise::{Machine, Normal, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, RULE, count};
use threadwise_analysis::diagnostics::order::judged;
use threadwise_analysis::estimate::{Rule, Work, block_difference, judge};
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::{MeanEstimate, correlation};

/// Ratios of a sweep, a family as the analysis has it: every point against the baseline, then every step.
fn sweep(study: &[Vec<Vec<Work>>]) -> Vec<Ratio> {
    let treatments = study[0].len();
    let d = |top: usize, below: &[usize]| -> Vec<f64> {
        let of_block = |block: &Vec<Vec<Work>>| {
            let sides: Vec<&[Work]> = below.iter().map(|at| block[*at].as_slice()).collect();
            block_difference(&block[top], &sides, Work::rows_per_s).unwrap()
        };
        study.iter().map(of_block).collect()
    };
    let alone = (2..treatments).map(|top| d(top, &[0, 1]));
    let series: Vec<Vec<f64>> = alone.chain((3..treatments).map(|top| d(top, &[top - 1]))).collect();
    let twins = d(1, &[0]);
    let every: Vec<&[f64]> = series.iter().chain([&twins]).map(Vec::as_slice).collect();
    let common = correlation::common(&every);
    let mean = |d: &Vec<f64>| (MeanEstimate::correlated(d, correlation::of_one(d, common)).unwrap(), None);
    let family: Vec<_> = series.iter().map(mean).collect();
    judge(&family, Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter })
}

/// The step behind the knee of a sweep, 0 from the baseline to the first point; `None` where the last one grows.
fn deciding(ratios: &[Ratio], points: usize) -> Option<usize> {
    let step = |at: usize| if at == 0 { &ratios[0] } else { &ratios[points + at - 1] };
    let knee = (0..points).rev().find(|at| step(*at).is_higher()).map_or(0, |at| at + 1);
    (knee < points).then_some(knee)
}

#[test]
#[ignore = "laboratory: simulations"]
fn the_step_behind_a_knee_is_covered() {
    let doubled = f64::ln(2.0);
    let sweeps: [(&str, Vec<f64>); 4] = [
        (
            "flat from 4 of 8 on",
            vec![doubled, 2.0 * doubled, 2.0 * doubled, 2.0 * doubled, 2.0 * doubled, 2.0 * doubled],
        ),
        ("every step 4%", (1..8).map(|at| 0.04 * f64::from(at)).collect()),
        (
            "steps of 12, 10, 8, … %",
            (1..8).map(|at: i32| (1..=at).map(|step| 0.14 - 0.02 * f64::from(step)).sum()).collect(),
        ),
        ("nothing", vec![0.0; 7]),
    ];
    for (name, effects) in sweeps {
        for (noise, ar1, blocks) in [("independent", 0.0, 8), ("independent", 0.0, 32), ("AR(1) 0.3", 0.3, 8)]
        {
            let points = effects.len();
            let machine = Machine { effects: effects.clone(), block_sd: (0.014, 0.025), ar1, ..QUIET };
            let (mut named, mut plain, mut decisive) = (0.0, 0.0, 0.0);
            for seed in 0..count(500) {
                let ratios = sweep(&machine.study(blocks, seed));
                let Some(at) = deciding(&ratios, points) else { continue };
                let ratio = if at == 0 { &ratios[0] } else { &ratios[points + at - 1] };
                let truth =
                    if at == 0 { machine.truth(0) } else { machine.truth(at) - machine.truth(at - 1) };
                let covers =
                    |ratio: &Ratio| f64::from(u8::from(ratio.low.ln() <= truth && truth <= ratio.high.ln()));
                named += 1.0;
                plain += covers(ratio);
                decisive += covers(&ratio.decisive());
            }
            let [plain, decisive] = [plain, decisive].map(|covered| covered / f64::max(named, 1.0));
            println!(
                "knee, {name}, {noise}, {blocks} blocks: {named} steps named, {:.1}% covered by the interval that decides, \
                 {:.1}% by the plain one",
                100.0 * decisive,
                100.0 * plain
            );
            // Of a few that are named a share says nothing.
            let least = if ar1 > 0.0 { 0.92 } else { 0.95 };
            assert!(named < 50.0 || decisive >= least, "{name} {noise} {blocks}: {decisive}");
        }
    }
}

/// Contrasts by block of nine treatments, of which one has this mean.
fn contrasts(mean: f64, random: &mut Normal) -> Vec<Vec<Option<f64>>> {
    let one = |at: usize, random: &mut Normal| Some(if at == 2 { mean } else { 0.0 } + 0.01 * random.draw());
    (0..8).map(|_| (0..9).map(|at| one(at, random)).collect()).collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn the_largest_carry_over_is_covered() {
    for truth in [0.0, -0.01, -0.02] {
        let (mut plain, mut adjusted, mut named) = (0.0, 0.0, 0.0);
        for seed in 0..count(1000) {
            let found = judged(&contrasts(truth, &mut Normal::new(seed)), 9, RULE);
            let all = found.iter().flatten().enumerate();
            let (at, largest) = all.max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs())).unwrap();
            let truth = if at == 2 { truth } else { 0.0 };
            let covers = |low: f64, high: f64| f64::from(u8::from(low <= truth && truth <= high));
            plain += covers(largest.low, largest.high);
            adjusted += covers(largest.adjusted_low, largest.adjusted_high);
            named += 1.0;
        }
        println!(
            "largest of nine, one of {:.0}%: {:.1}% covered, {:.1}% by its own interval",
            100.0 * truth,
            100.0 * adjusted / named,
            100.0 * plain / named
        );
        assert!(adjusted / named >= 0.945, "{truth}: {}", adjusted / named);
    }
}
