//! Changes of what is not a rate: how often one is shown where nothing changed, and where something did.
//!
//! Beside each figure stands that of the rules before: two unpaired intervals without a point in common, and means that
//! differ by 5%.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, CHANGES, MARGIN, count};
use threadwise_analysis::estimate::{Rule, judge_bounded, paired, paired_difference};
use threadwise_analysis::{Answer, Direction, Interval, Ratio};
use threadwise_statistics::{MeanEstimate, arithmetic, mean};

/// Studies a line, where nothing else is asked for.
const IN_CI: u64 = 400;
/// Samples of a treatment in a block.
const SAMPLES: usize = 200;
/// Shares of running, of seven waits, and of what is left.
const SHARES: [f64; 9] = [0.35, 0.20, 0.12, 0.10, 0.08, 0.06, 0.04, 0.03, 0.02];
/// Which of them moves.
const MOVED: usize = 1;

/// A number per treatment and block; treatments 0 and 1 are A and A′.
type Numbers = Vec<Vec<f64>>;

/// d by block of each compared treatment, and of A′ over A.
fn differences(numbers: &Numbers) -> (Vec<Vec<f64>>, Vec<f64>) {
    let blocks = numbers[0].len();
    let d = |top: usize, below: &[usize]| -> Vec<f64> {
        let side = |block: usize| below.iter().map(|at| numbers[*at][block]).collect::<Vec<_>>();
        (0..blocks).map(|block| paired_difference(numbers[top][block], &side(block)).unwrap()).collect()
    };
    ((2..numbers.len()).map(|top| d(top, &[0, 1])).collect(), d(1, &[0]))
}

/// A family of changes: of several quantities, each by treatment and block.
fn judged(quantities: &[Numbers]) -> Vec<Ratio> {
    let (series, twins): (Vec<_>, Vec<_>) = quantities.iter().map(differences).unzip();
    paired(&series.concat(), &twins, CHANGES).into_iter().flatten().collect()
}

/// The rule before: some compared treatment's interval has no point in common with A's.
fn is_apart(numbers: &Numbers) -> bool {
    let intervals: Vec<Interval> = numbers.iter().map(|one| arithmetic(one, "1", ALPHA).unwrap()).collect();
    let apart = |one: &Interval| one.low > intervals[0].high || one.high < intervals[0].low;
    intervals[2..].iter().any(apart)
}

/// Shares of samples by name, treatment and block. Over blocks the truth of each name wobbles by 15%, and the last
/// treatment may wait for one name more.
fn shares((treatments, blocks): (usize, usize), more: f64, random: &mut Normal) -> Vec<Numbers> {
    let mut all = vec![vec![vec![0.0; blocks]; treatments + 2]; SHARES.len()];
    let places = (0..treatments + 2).flat_map(|treatment| (0..blocks).map(move |block| (treatment, block)));
    for (treatment, block) in places {
        let mut truth: Vec<f64> = SHARES.to_vec();
        if treatment == treatments + 1 {
            truth[MOVED] += more;
            truth[0] -= more;
        }
        truth.iter_mut().for_each(|share| *share *= (0.15 * random.draw()).exp());
        let sum: f64 = truth.iter().sum();
        for _ in 0..SAMPLES {
            let mut left = random.uniform() * sum;
            let hit = truth.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            all[hit.unwrap_or(0)][treatment][block] += 1.0 / SAMPLES as f64;
        }
    }
    all
}

/// How many of some studies have something.
fn share_of(studies: u64, mut has: impl FnMut(&mut Normal) -> bool) -> f64 {
    (0..studies).filter(|seed| has(&mut Normal::new(*seed))).count() as f64 / studies as f64
}

fn percent(share: f64) -> f64 {
    100.0 * share
}

#[test]
#[ignore = "laboratory: simulations"]
fn waits_that_did_not_change() {
    for treatments in [4, 8] {
        let mut before = 0.0;
        let shown = share_of(count(IN_CI), |random| {
            let all = shares((treatments, 8), 0.0, random);
            before += f64::from(u8::from(all[1..8].iter().any(is_apart)));
            judged(&all).iter().any(|one| one.is_different())
        });
        let before = before / count(IN_CI) as f64;
        println!(
            "waits, {treatments} treatments: changed in {:.1}% of studies of nothing ({:.1}% before)",
            percent(shown),
            percent(before)
        );
        assert!(shown <= 0.05 && before > 0.1, "{shown} {before}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_wait_that_changed_by_ten_points() {
    for (treatments, blocks, least) in [(4, 8, 0.2), (8, 8, 0.1), (4, 16, 0.85), (8, 16, 0.8)] {
        let (mut named, mut covered) = (0.0, 0.0);
        let shown = share_of(count(IN_CI), |random| {
            let family = judged(&shares((treatments, blocks), 0.1, random));
            let at = (MOVED + 1) * treatments - 1;
            // The change that a verdict names, the largest of the treatment's, holds the truth of what it names.
            let of_treatment = (1..8).map(|name| (name, &family[(name + 1) * treatments - 1]));
            let largest = of_treatment
                .filter(|(_, one)| one.is_different())
                .max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()));
            if let Some((name, one)) = largest {
                let truth = if name == MOVED { 0.1 } else { 0.0 };
                named += 1.0;
                covered += f64::from(u8::from(one.adjusted_low <= truth && truth <= one.adjusted_high));
            }
            family[at].is_different()
        });
        println!(
            "waits, {treatments} treatments, {blocks} blocks: +10 points shown in {:.1}%; the largest named is covered in {:.1}%",
            percent(shown),
            percent(covered / named)
        );
        assert!(shown > least && covered / named >= 0.95, "{shown} {}", covered / named);
    }
}

/// Positive numbers by treatment and block with this standard deviation of logarithms, each block with a level of its
/// own that all treatments share.
fn levels(treatments: usize, sd: f64, shared_sd: f64, random: &mut Normal) -> Numbers {
    let shared: Vec<f64> = (0..8).map(|_| shared_sd * random.draw()).collect();
    let one = |_| shared.iter().map(|level| (level + sd * random.draw()).exp()).collect();
    (0..treatments + 2).map(one).collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn spins_that_did_not_change() {
    for treatments in [4, 8] {
        let mut before = 0.0;
        let shown = share_of(count(IN_CI), |random| {
            let spins = levels(treatments, 0.2, 0.0, random);
            before += f64::from(u8::from(is_apart(&spins)));
            let logs = spins.iter().map(|one| one.iter().map(|value| value.ln()).collect()).collect();
            judged(&[logs]).iter().any(|one| one.is_different())
        });
        println!(
            "spins, {treatments} treatments: changed in {:.1}% of studies of nothing ({:.1}% before)",
            percent(shown),
            percent(before / count(IN_CI) as f64)
        );
        assert!(shown <= 0.05, "{shown}");
    }
}

/// Whether the cores' own time is said to differ, where it lies between these times 1 and `room` more of itself.
fn differs(seconds: &Numbers, room: f64) -> bool {
    let logs: Numbers = seconds.iter().map(|one| one.iter().map(|value| value.ln()).collect()).collect();
    let bounds = |d: &Vec<f64>| {
        let moved = |by: f64| MeanEstimate::of(&d.iter().map(|d| d + by).collect::<Vec<_>>()).unwrap();
        (moved(-room), moved(room))
    };
    let family: Vec<_> = differences(&logs).0.iter().map(bounds).collect();
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::LowerIsBetter };
    let said = |answer: Answer| !matches!(answer, Answer::Equivalent | Answer::Undecided);
    judge_bounded(&family, rule).iter().any(|ratio| said(ratio.answer))
}

/// The rule before: geometric means that differ by more than 5%.
fn differs_by_means(seconds: &Numbers) -> bool {
    let center = |one: &Vec<f64>| mean(one.iter().map(|value| value.ln())).unwrap();
    let base = (center(&seconds[0]) + center(&seconds[1])) / 2.0;
    seconds[2..].iter().any(|one| (center(one) - base).abs() > 1.05_f64.ln())
}

#[test]
#[ignore = "laboratory: simulations"]
fn core_seconds_that_did_not_change() {
    for treatments in [4, 8] {
        let mut before = 0.0;
        let shown = share_of(count(IN_CI), |random| {
            let seconds = levels(treatments, 0.055, 0.1, random);
            before += f64::from(u8::from(differs_by_means(&seconds)));
            differs(&seconds, 0.0)
        });
        let within_bounds =
            share_of(count(IN_CI), |random| differs(&levels(treatments, 0.055, 0.1, random), 0.02));
        println!(
            "core-seconds, {treatments} treatments: changed in {:.1}% of studies of nothing ({:.1}% before), within \
             bounds in {:.1}%",
            percent(shown),
            percent(before / count(IN_CI) as f64),
            percent(within_bounds)
        );
        assert!(shown <= 0.05 && within_bounds <= shown, "{shown} {within_bounds}");
    }
}
