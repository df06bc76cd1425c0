//! External arms: how often a study says that arms differ which do not, and how often an interval over boots covers.

use crate::rules::{ALPHA, MARGIN};
use threadwise_analysis::arms::{differences, fastest};
use threadwise_analysis::estimate::Rule;
use threadwise_analysis::statistics::{Normal, welch};
use threadwise_analysis::{Answer, Direction};

const STUDIES: u64 = 2000;
const BLOCKS: usize = 8;

/// A machine whose arms do nothing: standard deviations of ln(rate), and the treatments of both arms.
#[derive(Clone, Copy)]
struct Case {
    /// From boot to boot, the same for all treatments.
    boot_sd: f64,
    /// From boot to boot, of each treatment by itself.
    treatment_sd: f64,
    /// Of blocks of the first arm, and of the other.
    block_sd: (f64, f64),
    /// Boots of each arm.
    boots: usize,
    /// Treatments of the first arm, and of the other.
    treatments: (usize, usize),
}

/// ln(rate) of each treatment of an arm, by boot.
fn arm(case: &Case, treatments: usize, block_sd: f64, random: &mut Normal) -> Vec<Vec<f64>> {
    let mut by_treatment = vec![Vec::new(); treatments];
    for _ in 0..case.boots {
        let boot = case.boot_sd * random.draw();
        for series in &mut by_treatment {
            let own_boot = boot + case.treatment_sd * random.draw();
            let blocks = (0..BLOCKS).map(|_| own_boot + block_sd * random.draw());
            series.push(blocks.sum::<f64>() / BLOCKS as f64);
        }
    }
    by_treatment
}

/// Share of studies with a false claim, share with a false claim of the fastest alone, and of intervals that cover.
fn simulated(case: &Case) -> [f64; 4] {
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
    let mut counts = [0u32; 4];
    for study in 0..STUDIES {
        let mut random = Normal::new(1947 + study);
        let first = arm(case, case.treatments.0, case.block_sd.0, &mut random);
        let other = arm(case, case.treatments.1, case.block_sd.1, &mut random);
        let mut pairs: Vec<(Vec<f64>, Vec<f64>)> =
            other.iter().zip(&first).map(|(top, below)| (top.clone(), below.clone())).collect();
        let both = pairs.len();
        let best = fastest(&other).zip(fastest(&first)).filter(|(top, below)| top != below);
        pairs.extend(best.map(|(top, below)| (other[top].clone(), first[below].clone())));
        let judged = differences(&pairs, rule);
        let is_claim = |at: usize| judged[at].as_ref().is_some_and(threadwise_analysis::Ratio::is_different);
        let is_beyond = |at: usize| {
            judged[at].as_ref().is_some_and(|ratio| matches!(ratio.answer, Answer::Larger | Answer::Smaller))
        };
        counts[0] += u32::from((0..pairs.len()).any(is_claim));
        counts[1] += u32::from((both..pairs.len()).any(is_claim));
        counts[2] += u32::from((0..pairs.len()).any(is_beyond));
        let (low, high) = welch(&pairs[0].0, &pairs[0].1).unwrap().interval(ALPHA);
        counts[3] += u32::from(low <= 0.0 && 0.0 <= high);
    }
    counts.map(|count| f64::from(count) / STUDIES as f64)
}

#[test]
fn arms_that_do_nothing_are_not_said_to_differ() {
    for boots in [2, 3] {
        for boot_sd in [0.01, 0.03] {
            for block_sd in [(0.02, 0.02), (0.10, 0.10), (0.02, 0.10)] {
                let case = Case { boot_sd, treatment_sd: boot_sd / 2.0, block_sd, boots, treatments: (3, 2) };
                let [claims, of_fastest, beyond, covered] = simulated(&case).map(|share| 100.0 * share);
                println!(
                    "{boots} + {boots} boots, sd from boot to boot {:.0}%, of blocks {:.0}% and {:.0}%: different \
                     {claims:.1}% (the fastest of each {of_fastest:.1}%), beyond the margin {beyond:.1}%; covered \
                     {covered:.1}%",
                    100.0 * boot_sd,
                    100.0 * block_sd.0,
                    100.0 * block_sd.1
                );
                assert!(claims <= 5.0, "{claims}");
                assert!(covered >= 93.0, "{covered}");
            }
        }
    }
}
