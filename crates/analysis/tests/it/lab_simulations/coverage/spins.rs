//! How often spins are said not to explain a loss of which they explain a tenth, which is where the sentence begins, or
//! more.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, answers, count, means};
use threadwise_analysis::spins::{EXPLAINED_SHARE, explained_at_most};
use threadwise_statistics::arithmetic;

/// Studies a line in CI.
const IN_CI: u64 = 1000;
/// Compared treatments, unequal in their noise.
const COMPARED: usize = 3;
/// Rate of the compared treatments over the baseline's.
const RATE: f64 = 0.75;

/// Noise of a study.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Correlation of neighbouring blocks, of rates and shares alike.
    ar1: f64,
    /// Share of the blocks in which the compared treatments are 12% slower.
    disturbed: f64,
    /// Scatter of the share of time spent spinning between blocks, of its logarithm.
    share_sd: f64,
    /// Share of the blocks in which sessions spin three times as long.
    bursts: f64,
}

/// The share of time spent spinning that explains so much of the loss.
fn spinning(explained: f64) -> f64 {
    let odds = explained * (1.0 - RATE) / RATE;
    odds / (1.0 + odds)
}

/// Whether any treatment of a study is said to have lost what spins do not explain.
fn is_said(blocks: usize, noise: Noise, explained: f64, random: &mut Normal) -> bool {
    let mut scatter = |sd: f64| -> Vec<f64> {
        random.correlated(blocks, noise.ar1).iter().map(|value| sd * value).collect()
    };
    let twins = scatter(0.02);
    let mut rates: Vec<Vec<f64>> = (0..COMPARED).map(|at| scatter(0.02 * (1.0 + at as f64))).collect();
    let logs: Vec<Vec<f64>> = (0..COMPARED).map(|_| scatter(noise.share_sd)).collect();
    // Means of both factors are 1, so that the mean share is the true one.
    let even = (-noise.share_sd * noise.share_sd / 2.0).exp() / (1.0 + 2.0 * noise.bursts);
    let mut shares = logs;
    for block in 0..blocks {
        let depth = if random.uniform() < noise.disturbed { 0.88f64.ln() } else { 0.0 };
        let burst = if random.uniform() < noise.bursts { 3.0 } else { 1.0 };
        rates.iter_mut().for_each(|rate| rate[block] += RATE.ln() + depth);
        shares.iter_mut().for_each(|one| one[block] = spinning(explained) * even * burst * one[block].exp());
    }
    let series: Vec<Vec<f64>> = std::iter::once(twins).chain(rates).collect();
    let ratios = answers(&means(&series));
    ratios.iter().zip(&shares).any(|(ratio, shares)| {
        let share = arithmetic(shares, "share", ALPHA / COMPARED as f64);
        let explained = share.and_then(|share| explained_at_most(ratio.adjusted_high, share.high));
        ratio.is_lower() && explained.is_some_and(|explained| explained < EXPLAINED_SHARE)
    })
}

fn said(blocks: usize, noise: Noise, explained: f64) -> f64 {
    let studies = count(IN_CI);
    let mut random = Normal::new(blocks as u64);
    (0..studies).filter(|_| is_said(blocks, noise, explained, &mut random)).count() as f64 / studies as f64
}

#[test]
#[ignore = "laboratory: simulations"]
fn spins_that_explain_a_tenth_are_seldom_said_to_explain_nothing() {
    let quiet = Noise { ar1: 0.0, disturbed: 0.0, share_sd: 0.1, bursts: 0.0 };
    let lines = [
        ("quiet", quiet),
        ("scatter", Noise { share_sd: 0.5, ..quiet }),
        ("correlated", Noise { ar1: 0.3, share_sd: 0.3, ..quiet }),
        ("disturbed", Noise { disturbed: 0.1, share_sd: 0.3, ..quiet }),
        ("all", Noise { ar1: 0.3, disturbed: 0.1, share_sd: 0.3, bursts: 0.0 }),
        ("bursts", Noise { share_sd: 0.3, bursts: 0.1, ..quiet }),
    ];
    println!("noise, blocks: said where spins explain a tenth, a fifth, a hundredth");
    for (name, noise) in lines {
        for blocks in [8, 16, 32] {
            let [tenth, fifth, little] = [0.1, 0.2, 0.01].map(|explained| said(blocks, noise, explained));
            println!(
                "{name:>10} {blocks:>2}: {:5.1}% {:5.1}% {:5.1}%",
                100.0 * tenth,
                100.0 * fifth,
                100.0 * little
            );
            // 5%, with three standard deviations of 1,000 studies.
            assert!(
                tenth <= 0.071 && fifth <= 0.005 && little >= 0.95,
                "{name} {blocks}: {tenth} {fifth} {little}"
            );
        }
    }
}
