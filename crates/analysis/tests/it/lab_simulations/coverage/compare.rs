//! Did it change? How often studies of two sides say so where nothing did, and what they find.
//!
//! An hour does something to all treatments of a study, and half as much to each by itself; blocks have their own noise.

use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, count};
use crate::lab_simulations::coverage::share;
use threadwise_analysis::compare::change::{is_regression, paired_differences};
use threadwise_analysis::estimate::{Rule, judge};
use threadwise_analysis::external_arms::differences;
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::{MeanEstimate, Normal, mean, welch};

/// Comparisons of two sides between which nothing changed.
const OF_NOTHING: u64 = 1000;
/// Comparisons of two sides between which something did.
const OF_SOMETHING: u64 = 300;
const BLOCKS: usize = 8;
const TREATMENTS: usize = 4;
/// Of a block of a study, as a standard deviation of ln(rate).
const BLOCK_SD: f64 = 0.02;
const RULE: Rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };

/// What an hour does, as standard deviations of ln(rate).
#[derive(Clone, Copy)]
enum Hours {
    /// Each study has an hour of its own.
    Each,
    /// One hour in ten does four times as much.
    Rough,
    /// All studies of a side share one, and differ by a quarter of that.
    Shared,
    /// Both studies of a pair share one, and differ by a quarter of that.
    Pairs,
}

/// ln(rate) of every block of every study of both sides, by treatment; the other side has the effects on top.
struct Sides {
    before: Vec<Vec<Vec<f64>>>,
    after: Vec<Vec<Vec<f64>>>,
}

/// What an hour does to each treatment.
fn hour(sd: f64, is_rough: bool, random: &mut Normal) -> Vec<f64> {
    // A normal value is beyond 1.645 standard deviations in one of ten.
    let sd = if is_rough && random.draw().abs() > 1.645 { 4.0 * sd } else { sd };
    let common = sd * random.draw();
    (0..TREATMENTS).map(|_| common + sd / 2.0 * random.draw()).collect()
}

fn sides(hours: Hours, sd: f64, studies: usize, effects: [f64; TREATMENTS], random: &mut Normal) -> Sides {
    let by_treatment = || vec![Vec::new(); TREATMENTS];
    let mut sides = Sides { before: by_treatment(), after: by_treatment() };
    let of_sides = [0, 1].map(|_| hour(sd, false, random));
    for _ in 0..studies {
        let of_pair = hour(sd, false, random);
        for (at, side) in [&mut sides.before, &mut sides.after].into_iter().enumerate() {
            let is_shared = matches!(hours, Hours::Shared | Hours::Pairs);
            let this = hour(if is_shared { sd / 4.0 } else { sd }, matches!(hours, Hours::Rough), random);
            for (treatment, all) in side.iter_mut().enumerate() {
                let shared = match hours {
                    Hours::Each | Hours::Rough => 0.0,
                    Hours::Shared => of_sides[at][treatment],
                    Hours::Pairs => of_pair[treatment],
                };
                let level = this[treatment] + shared + if at == 1 { effects[treatment] } else { 0.0 };
                all.push((0..BLOCKS).map(|_| level + BLOCK_SD * random.draw()).collect());
            }
        }
    }
    sides
}

/// Means of studies by treatment, after and before.
fn means(sides: &Sides) -> Vec<(Vec<f64>, Vec<f64>)> {
    let of_side =
        |studies: &[Vec<f64>]| studies.iter().filter_map(|blocks| mean(blocks.iter().copied())).collect();
    sides.after.iter().zip(&sides.before).map(|(after, before)| (of_side(after), of_side(before))).collect()
}

/// Of each treatment after the first its ratio to the first, by study.
fn comparisons(treatments: &[(Vec<f64>, Vec<f64>)]) -> Vec<(Vec<f64>, Vec<f64>)> {
    let less = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one - other).collect();
    let Some((first, rest)) = treatments.split_first() else { return Vec::new() };
    rest.iter().map(|(after, before)| (less(after, &first.0), less(before, &first.1))).collect()
}

/// Shares of comparisons of two sides in which something is said.
#[derive(Default)]
struct Said {
    /// That a treatment changed.
    treatments: f64,
    /// That a treatment or a ratio of two changed.
    either: f64,
    /// That a treatment is a regression.
    regression: f64,
    /// That the first treatment is.
    first: f64,
}

fn said(hours: Hours, sd: f64, studies: usize, effects: [f64; TREATMENTS]) -> Said {
    let judged = |series: &[(Vec<f64>, Vec<f64>)]| -> Vec<Ratio> {
        let ratios = match hours {
            Hours::Pairs => paired_differences(series, RULE),
            _ => differences(series, RULE),
        };
        ratios.into_iter().flatten().collect()
    };
    let total = count(if effects == NOTHING { OF_NOTHING } else { OF_SOMETHING });
    let mut said = Said::default();
    for seed in 0..total {
        let mut random = Normal::new(2024 + seed);
        let treatments = means(&sides(hours, sd, studies, effects, &mut random));
        let (rates, ratios) = (judged(&treatments), judged(&comparisons(&treatments)));
        let changed = rates.iter().any(Ratio::is_different);
        let add = |share: &mut f64, is_so: bool| *share += f64::from(u8::from(is_so)) / total as f64;
        add(&mut said.treatments, changed);
        add(&mut said.either, changed || ratios.iter().any(Ratio::is_different));
        add(&mut said.regression, rates.iter().any(is_regression));
        add(&mut said.first, rates.first().is_some_and(is_regression));
    }
    said
}

const NOTHING: [f64; TREATMENTS] = [0.0; TREATMENTS];

fn slower(by: f64) -> [f64; TREATMENTS] {
    [(-by).ln_1p(); TREATMENTS]
}

#[test]
#[ignore = "laboratory: simulations"]
fn studies_of_two_sides_cry_wolf_seldom() {
    for (name, hours) in [("hours", Hours::Each), ("rough hours", Hours::Rough), ("pairs", Hours::Pairs)] {
        for sd in [0.01, 0.02, 0.03] {
            for studies in [3, 4, 6] {
                let nothing = said(hours, sd, studies, NOTHING);
                let [all, one] = [slower(0.1), [(-0.1f64).ln_1p(), 0.0, 0.0, 0.0]]
                    .map(|effects| said(hours, sd, studies, effects));
                println!(
                    "{name}, sd {:.0}%, {studies} a side: a treatment changed {:.1}%, or a ratio {:.1}%, a regression {:.1}%; all \
                     10% slower: found in {:.0}%; one: in {:.0}%",
                    100.0 * sd,
                    100.0 * nothing.treatments,
                    100.0 * nothing.either,
                    100.0 * nothing.regression,
                    100.0 * all.regression,
                    100.0 * one.first
                );
                // Each of the two families has half of alpha; the rest is chance.
                assert!(nothing.treatments <= 0.05 && nothing.either <= 0.075, "{}", nothing.either);
            }
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn studies_of_one_hour_a_side_cry_wolf() {
    for sd in [0.01, 0.02, 0.03] {
        let nothing = said(Hours::Shared, sd, 3, NOTHING);
        println!(
            "one hour a side, sd {:.0}%, 3 a side: a treatment changed {:.1}%, a regression {:.1}%",
            100.0 * sd,
            100.0 * nothing.treatments,
            100.0 * nothing.regression
        );
        // Which is why such studies are cautioned against.
        assert!(nothing.treatments > 0.05);
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn one_study_a_side_would_cry_wolf() {
    for sd in [0.01, 0.02, 0.03] {
        let one = |seed: u64| {
            let mut random = Normal::new(7 + seed);
            let sides = sides(Hours::Each, sd, 1, NOTHING, &mut random);
            let both = sides.after.iter().zip(&sides.before);
            let means: Vec<(MeanEstimate, Option<f64>)> =
                both.filter_map(|(after, before)| Some((welch(&after[0], &before[0])?, None))).collect();
            let judged = judge(&means, RULE);
            (judged.iter().any(Ratio::is_different), judged.iter().any(is_regression))
        };
        let (changed, regression): (Vec<bool>, Vec<bool>) = (0..count(OF_NOTHING)).map(one).unzip();
        println!(
            "one study a side by its blocks, sd {:.0}%: changed {:.1}%, a regression {:.1}%",
            100.0 * sd,
            100.0 * share(&changed),
            100.0 * share(&regression)
        );
        assert!(share(&changed) > 0.05);
    }
}
