//! Arms inside of blocks, with the noise that a switch leaves: clocks, caches and page tables that settle after it, and
//! a host that moves a guest's logical CPUs when some come and go.
//!
//! A block has each of two arms twice, in an order and its reverse (`study::plan::phases`), four treatments in each, and
//! the machine is switched only between phases that differ. What a switch leaves fades with the slices after it.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, RULE, answers, count, means};
use crate::lab_simulations::coverage::share;
use threadwise_analysis::diagnostics::settling::{Phase, difference};
use threadwise_analysis::estimate::{Work, block_difference, paired};
use threadwise_study::arm::SETTLE_NS;

/// Treatments of each arm: A, A′ and two others, of which the last is compared between arms.
const TREATMENTS: usize = 4;
const ROUNDS: usize = 20;
/// Slices that a treatment's would be while the runner lets an arm settle: of 50 ms and a warm-up of 15 ms.
const SETTLING: f64 = SETTLE_NS as f64 / 65e6;

/// What a switch leaves.
#[derive(Debug, Clone, Copy)]
struct Switch {
    /// Mean and standard deviation of the logarithm that is lost right after a switch into each arm.
    lost: [(f64, f64); 2],
    /// Slices in which it fades to a third.
    fades: f64,
    /// Standard deviation of the logarithm between phases: where the host puts things after a switch.
    between: f64,
    /// Correlation of a block's noise with that of the block before it.
    ar1: f64,
}

const NONE: Switch = Switch { lost: [(0.0, 0.0); 2], fades: 10.0, between: 0.0, ar1: 0.0 };

/// By block: d of the twins, d of the last treatment between arms, and each arm's d of first rounds.
#[derive(Default)]
struct Series {
    ratios: [Vec<f64>; 2],
    left: [Vec<f64>; 2],
}

/// The phases of a block: the arm of each, and whether it begins with a switch.
fn phases(first_arm: usize) -> [(usize, bool); 4] {
    // Outside of blocks the machine is as it was found, in the first arm.
    [(first_arm, first_arm != 0), (1 - first_arm, true), (1 - first_arm, false), (first_arm, true)]
}

fn series(switch: Switch, effect: f64, blocks: usize, seed: u64) -> Series {
    let mut random = Normal::new(seed);
    let mut levels = [0.0; 2 * TREATMENTS].map(|_: f64| random.draw());
    let (mut first_arm, mut series) = (0, Series::default());
    for block in 0..blocks {
        // The second block of a pair has the reverse order of the first.
        first_arm = if block % 2 == 0 { usize::from(random.uniform() < 0.5) } else { 1 - first_arm };
        let (mut lost, mut since, mut level) = (0.0, 0.0, switch.between * random.draw());
        let mut slices: Vec<Vec<Work>> = vec![Vec::new(); 2 * TREATMENTS];
        let mut switched: [Vec<Phase>; 2] = Default::default();
        for (arm, is_switch) in phases(first_arm) {
            if is_switch {
                let (mean, sd) = switch.lost[arm];
                (lost, since, level) = (mean + sd * random.draw(), SETTLING, switch.between * random.draw());
                switched[arm].push(Phase::new());
            }
            for round in 0..ROUNDS / 2 {
                let first = (random.uniform() * TREATMENTS as f64) as usize;
                for turn in 0..TREATMENTS {
                    let treatment = (first + turn) % TREATMENTS;
                    let (at, is_compared) = (arm * TREATMENTS + treatment, treatment == TREATMENTS - 1);
                    let log = level - lost * (-since / switch.fades).exp()
                        + if is_compared { 0.02 } else { 0.014 } * levels[at]
                        + 0.03 * random.draw()
                        + if is_compared && arm == 1 { effect } else { 0.0 };
                    let taken = Work { slices: 1, rows: 1e6 * log.exp(), window_ns: 5e7, ..Work::default() };
                    if let Some(phase) = switched[arm].last_mut() {
                        let sides = phase.entry(at).or_default();
                        let side = if round == 0 && is_switch { &mut sides.0 } else { &mut sides.1 };
                        *side =
                            Work { rows: side.rows + taken.rows, window_ns: side.window_ns + 5e7, ..*side };
                    }
                    slices[at].push(taken);
                    since += 1.0;
                }
            }
        }
        let d =
            |top: usize, below: usize| block_difference(&slices[top], &[&slices[below]], Work::rows_per_s);
        series.ratios[0].push(d(1, 0).unwrap());
        series.ratios[1].push(d(2 * TREATMENTS - 1, TREATMENTS - 1).unwrap());
        for (arm, phases) in switched.iter().enumerate() {
            series.left[arm].extend(difference(phases.iter()));
        }
        let fresh = (1.0 - switch.ar1 * switch.ar1).sqrt();
        levels.iter_mut().for_each(|level| *level = switch.ar1 * *level + fresh * random.draw());
    }
    series
}

/// Shares of studies.
#[derive(Debug)]
struct Shares {
    /// The interval covers the truth.
    covered: f64,
    /// The arms are said to differ.
    differs: f64,
    /// They are said to be the same within the margin.
    same: f64,
    /// Something is said to be left of switches.
    left: f64,
    /// A claim of one of the two kinds is false, and nothing is said to be left of switches.
    misled: f64,
}

fn shares(switch: Switch, effect: f64, blocks: usize) -> Shares {
    let all: Vec<[bool; 5]> = (0..count(2000))
        .map(|seed| {
            let Series { ratios, left } = series(switch, effect, blocks, seed);
            let means = means(&ratios);
            let (low, high) = means[1].interval(ALPHA);
            let ratio = &answers(&means)[0];
            let left = paired(&left, &[], RULE).into_iter().flatten().any(|one| one.is_different());
            let differs = ratio.is_higher() || ratio.is_lower();
            let is_false = if effect == 0.0 { differs } else { ratio.is_same() };
            [low <= effect && effect <= high, differs, ratio.is_same(), left, is_false && !left]
        })
        .collect();
    let [covered, differs, same, left, misled] =
        [0, 1, 2, 3, 4].map(|at| share(&all.iter().map(|one| one[at]).collect::<Vec<_>>()));
    Shares { covered, differs, same, left, misled }
}

fn printed(name: &str, switch: Switch, effect: f64, blocks: usize) -> Shares {
    let got = shares(switch, effect, blocks);
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    println!(
        "arms, {name}, {blocks} blocks, a true {:+.1}%: {} covered; said to differ {}, to be the same {}; something said to be \
         left {}; misled without that {}",
        100.0 * effect.exp_m1(),
        percent(got.covered),
        percent(got.differs),
        percent(got.same),
        percent(got.left),
        percent(got.misled)
    );
    got
}

const BLOCKS: [usize; 2] = [8, 16];

#[test]
#[ignore = "laboratory: simulations"]
fn what_fades_while_arms_settle_misleads_nobody() {
    for (name, switch) in [
        ("nothing left", NONE),
        ("2% between phases", Switch { between: 0.02, ..NONE }),
        ("6% between phases, blocks correlated by 0.3", Switch { between: 0.06, ar1: 0.3, ..NONE }),
        ("5% after every switch, for 10 slices", Switch { lost: [(0.05, 0.05); 2], ..NONE }),
        ("20% after every switch, for 5 slices", Switch { lost: [(0.2, 0.1); 2], fades: 5.0, ..NONE }),
        (
            "20% after a switch to one arm, for 5 slices",
            Switch { lost: [(0.0, 0.0), (0.2, 0.1)], fades: 5.0, ..NONE },
        ),
    ] {
        for blocks in BLOCKS {
            let none = printed(name, switch, 0.0, blocks);
            let margin = printed(name, switch, 0.04, blocks);
            assert!(none.covered >= 0.94 && margin.covered >= 0.94, "{name}, {blocks} blocks");
            assert!(none.differs <= 0.04 && margin.same <= 0.02, "{name}, {blocks} blocks");
            assert!(switch.lost[1].0 > 0.0 || none.left <= ALPHA, "{name}, {blocks} blocks");
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_does_not_fade_in_time_is_said() {
    for (name, switch) in [
        ("20% after every switch, for 10 slices", Switch { lost: [(0.2, 0.1); 2], ..NONE }),
        (
            "5% after a switch to one arm, for 20 slices",
            Switch { lost: [(0.0, 0.0), (0.05, 0.05)], fades: 20.0, ..NONE },
        ),
        ("20% after a switch to one arm, for 10 slices", Switch { lost: [(0.0, 0.0), (0.2, 0.1)], ..NONE }),
        (
            "20% after a switch to one arm, for 20 slices",
            Switch { lost: [(0.0, 0.0), (0.2, 0.1)], fades: 20.0, ..NONE },
        ),
    ] {
        for blocks in BLOCKS {
            let none = printed(name, switch, 0.0, blocks);
            let margin = printed(name, switch, 0.04, blocks);
            assert!(none.misled <= 0.05 && margin.misled <= 0.05, "{name}, {blocks} blocks");
        }
    }
}
