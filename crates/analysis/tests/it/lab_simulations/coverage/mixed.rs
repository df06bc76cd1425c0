//! How often a DOP that raises the 99th percentile of short queries by more than the margin is said to keep it, and one
//! that leaves it alone to raise it; and how often both are found where they are so.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, count, means};
use threadwise_analysis::estimate::{Rule, judge};
use threadwise_analysis::queries::{Step, limit};
use threadwise_analysis::{Direction, Ratio};
use threadwise_statistics::MeanEstimate;

/// Studies a line in CI.
const IN_CI: u64 = 1000;
/// The margin of the preset.
const MARGIN: f64 = 0.1;
/// DOPs above the lowest of two placements, one behind the other in the family.
const DOPS: [&[u32]; 2] = [&[2, 4, 8], &[2, 4]];
/// Noise of a study.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Standard deviation of the percentile's logarithm between blocks.
    sd: f64,
    /// Whether it grows with the DOP: once, twice and three times as much.
    is_unequal: bool,
    /// Correlation of neighbouring blocks.
    ar1: f64,
    /// Share of the blocks in which the compared treatments' percentiles are higher, and by how much.
    disturbed: (f64, f64),
}

/// What a placement's DOPs truly do to the percentile, as factors, disturbances included.
type Truth = [f64; 3];

/// Ratios of a study, those of each placement together.
fn ratios(blocks: usize, noise: Noise, truth: Truth, random: &mut Normal) -> [Vec<Ratio>; 2] {
    let mut scatter = |sd: f64| -> Vec<f64> {
        random.correlated(blocks, noise.ar1).iter().map(|value| sd * value).collect()
    };
    // Each ratio has the noise of the lowest DOP too, of the first placement's that of two runs.
    let base: [Vec<f64>; 2] = [scatter(noise.sd / 2f64.sqrt()), scatter(noise.sd)];
    let twins = scatter(noise.sd * 2f64.sqrt());
    let mut series = vec![twins];
    for (place, dops) in DOPS.iter().enumerate() {
        for (at, factor) in truth.iter().enumerate().take(dops.len()) {
            let sd = if noise.is_unequal { noise.sd * (1.0 + at as f64) } else { noise.sd };
            let effect = factor.ln() - noise.disturbed.0 * noise.disturbed.1.ln_1p();
            let scattered = scatter(sd);
            series.push(scattered.iter().zip(&base[place]).map(|(top, base)| effect + top - base).collect());
        }
    }
    for block in 0..blocks {
        if random.uniform() < noise.disturbed.0 {
            series.iter_mut().skip(1).for_each(|d| d[block] += noise.disturbed.1.ln_1p());
        }
    }
    let family: Vec<(MeanEstimate, Option<f64>)> =
        means(&series).into_iter().skip(1).map(|mean| (mean, None)).collect();
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::LowerIsBetter };
    let mut ratios = judge(&family, rule);
    let second = ratios.split_off(DOPS[0].len());
    [ratios, second]
}

/// What is said of each placement: the highest DOP that keeps the percentile, the smallest that raises it.
fn said(ratios: &[Vec<Ratio>; 2]) -> [(Option<u32>, Option<u32>); 2] {
    std::array::from_fn(|place| {
        let steps =
            DOPS[place].iter().zip(&ratios[place]).map(|(dop, ratio)| Step { dop: *dop, p99: Some(ratio) });
        let (keeps, raises, _) = limit(&steps.collect::<Vec<_>>(), MARGIN);
        (keeps, raises)
    })
}

/// Shares of studies in which a DOP at or beyond the margin is said to keep it (of any placement), one that does nothing
/// to raise it, and of the first placement the right DOPs are named: the last that does nothing, the first beyond.
fn shares(blocks: usize, noise: Noise, truth: Truth) -> [f64; 4] {
    let studies = count(IN_CI);
    let mut random = Normal::new(blocks as u64);
    let truth_of = |dop: u32| truth[DOPS[0].iter().position(|one| *one == dop).unwrap()];
    let is_bad = |dop: &u32| truth_of(*dop) >= 1.0 + MARGIN;
    let last_good = DOPS[0].iter().rev().find(|dop| !is_bad(dop)).copied();
    let first_bad = DOPS[0].iter().find(|dop| is_bad(dop)).copied();
    let mut sums = [0_u64; 4];
    for _ in 0..studies {
        let said = said(&ratios(blocks, noise, truth, &mut random));
        let kept_falsely = said.iter().any(|(keeps, _)| keeps.as_ref().is_some_and(is_bad));
        let raised_falsely = said.iter().any(|(_, raises)| raises.is_some_and(|dop| truth_of(dop) <= 1.0));
        let (keeps, raises) = said[0];
        let all = [
            kept_falsely,
            raised_falsely,
            last_good.is_some() && keeps == last_good,
            first_bad.is_some() && raises == first_bad,
        ];
        sums.iter_mut().zip(all).for_each(|(sum, is_so)| *sum += u64::from(is_so));
    }
    sums.map(|sum| sum as f64 / studies as f64)
}

/// 5%, with three standard deviations of 1,000 studies.
const LIMIT: f64 = 0.071;

fn noises() -> [(&'static str, Noise); 5] {
    let quiet = Noise { sd: 0.03, is_unequal: false, ar1: 0.0, disturbed: (0.0, 0.0) };
    [
        ("quiet", quiet),
        ("unequal", Noise { is_unequal: true, ..quiet }),
        ("AR(1) 0.3", Noise { ar1: 0.3, ..quiet }),
        ("disturbed", Noise { disturbed: (0.1, 0.12), ..quiet }),
        ("all", Noise { is_unequal: true, ar1: 0.3, disturbed: (0.1, 0.12), ..quiet }),
    ]
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_dop_that_raises_the_percentile_is_seldom_said_to_keep_it() {
    let beyond = 1.0 + MARGIN;
    let truths: [(&str, Truth); 4] = [
        ("at the margin: all", [beyond; 3]),
        ("the last two", [1.0, beyond, beyond]),
        ("the last", [1.0, 1.0, beyond]),
        ("none raises it", [1.0; 3]),
    ];
    println!("truth, noise, blocks: said to keep what is at the margin; said to raise what does nothing");
    for (what, truth) in truths {
        for (name, noise) in noises() {
            for blocks in [8, 16, 32] {
                let [kept, raised, ..] = shares(blocks, noise, truth);
                println!("{what:>20} {name:>10} {blocks:>2}: {:5.1}% {:5.1}%", 100.0 * kept, 100.0 * raised);
                assert!(kept <= LIMIT && raised <= LIMIT, "{what} {name} {blocks}: {kept} {raised}");
            }
        }
    }
}

/// Seldom and large disturbances of what is compared alone: in 43% and 19% of studies none of 8 and 16 blocks is disturbed,
/// and what a percentile is then is all that can be seen. The error is above 5%, and is given in docs/METHODOLOGY.md.
#[test]
#[ignore = "laboratory: simulations"]
fn disturbances_that_a_study_did_not_meet_are_not_in_what_it_says() {
    let noise = Noise { sd: 0.03, is_unequal: false, ar1: 0.0, disturbed: (0.1, 0.3) };
    println!("10% of blocks disturbed by 30%, at the margin with them: said to keep it");
    for (blocks, most) in [(8, 0.13), (16, 0.17), (32, 0.17), (64, 0.17)] {
        let [kept, ..] = shares(blocks, noise, [1.0 + MARGIN; 3]);
        println!("{blocks:>2}: {:5.1}%", 100.0 * kept);
        assert!(kept <= most, "{blocks}: {kept}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn the_right_dops_are_named_where_there_are_blocks_enough() {
    println!("noise, blocks: named the last DOP that does nothing, the first that raises it by half");
    for (name, noise) in noises() {
        for blocks in [8, 16, 32, 64] {
            let [kept, _, keeps, raises] = shares(blocks, noise, [1.0, 1.0, 1.5]);
            println!("{name:>10} {blocks:>2}: {:5.1}% {:5.1}%", 100.0 * keeps, 100.0 * raises);
            assert!(kept <= LIMIT, "{name} {blocks}: {kept}");
            assert!(
                name != "quiet" || blocks < 16 || (keeps > 0.8 && raises > 0.8),
                "{blocks}: {keeps} {raises}"
            );
        }
    }
}
