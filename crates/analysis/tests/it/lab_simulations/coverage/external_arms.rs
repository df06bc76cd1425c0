//! External arms: how often a study says that arms differ which do not, and how often an interval over boots covers.

use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN};
use threadwise_analysis::estimate::Rule;
use threadwise_analysis::external_arms::{differences, fastest};
use threadwise_analysis::{Answer, Direction, Ratio};
use threadwise_statistics::{Normal, welch};

/// More than elsewhere, since each takes microseconds.
const STUDIES: u64 = 10_000;
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
            let this_boot = boot + case.treatment_sd * random.draw();
            let blocks = (0..BLOCKS).map(|_| this_boot + block_sd * random.draw());
            series.push(blocks.sum::<f64>() / BLOCKS as f64);
        }
    }
    by_treatment
}

/// What studies of a case say.
struct Said {
    /// Share in which a ratio is said to differ from 1.
    different: f64,
    /// Share in which that of the fastest treatments is.
    fastest_different: f64,
    /// Share in which a ratio is said to be beyond the margin.
    beyond: f64,
    /// Share in which the baseline's interval at 95% holds the truth.
    covered: f64,
}

/// Studies whose other arm does this more, as a logarithm.
fn simulated(case: &Case, effect: f64) -> Said {
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
    let mut counts = [0u32; 4];
    for study in 0..STUDIES {
        let mut random = Normal::new(1947 + study);
        let first = arm(case, case.treatments.0, case.block_sd.0, &mut random);
        let mut other = arm(case, case.treatments.1, case.block_sd.1, &mut random);
        other.iter_mut().flatten().for_each(|ln_rate| *ln_rate += effect);
        let mut pairs: Vec<(Vec<f64>, Vec<f64>)> =
            other.iter().zip(&first).map(|(top, below)| (top.clone(), below.clone())).collect();
        let both = pairs.len();
        let best = fastest(&other).zip(fastest(&first)).filter(|(top, below)| top != below);
        pairs.extend(best.map(|(top, below)| (other[top].clone(), first[below].clone())));
        let judged: Vec<Ratio> = differences(&pairs, rule).into_iter().flatten().collect();
        assert_eq!(judged.len(), pairs.len());
        let is_beyond = |ratio: &Ratio| matches!(ratio.answer, Answer::Larger | Answer::Smaller);
        let (low, high) = welch(&pairs[0].0, &pairs[0].1).unwrap().interval(ALPHA);
        let said = [
            judged.iter().any(Ratio::is_different),
            judged[both..].iter().any(Ratio::is_different),
            judged.iter().any(is_beyond),
            low <= effect && effect <= high,
        ];
        counts.iter_mut().zip(said).for_each(|(count, is_so)| *count += u32::from(is_so));
    }
    let [different, fastest_different, beyond, covered] =
        counts.map(|count| f64::from(count) / STUDIES as f64);
    Said { different, fastest_different, beyond, covered }
}

#[test]
#[ignore = "laboratory: simulations"]
fn arms_that_do_nothing_are_not_said_to_differ() {
    for boots in [2, 3] {
        for boot_sd in [0.01, 0.03] {
            for block_sd in [(0.02, 0.02), (0.10, 0.10), (0.02, 0.10)] {
                let case = Case { boot_sd, treatment_sd: boot_sd / 2.0, block_sd, boots, treatments: (3, 2) };
                let said = simulated(&case, 0.0);
                println!(
                    "{boots} + {boots} boots, sd from boot to boot {:.0}%, of blocks {:.0}% and {:.0}%: different \
                     {:.1}% (the fastest of each {:.1}%), beyond the margin {:.1}%; covered {:.1}%",
                    100.0 * boot_sd,
                    100.0 * block_sd.0,
                    100.0 * block_sd.1,
                    100.0 * said.different,
                    100.0 * said.fastest_different,
                    100.0 * said.beyond,
                    100.0 * said.covered
                );
                assert!(said.different <= 0.05, "{}", said.different);
                // Of two values each Welch's degrees are 1 to 2, and its intervals wider than they need be.
                let most = if boots == 2 { 0.985 } else { 0.97 };
                assert!((0.93..=most).contains(&said.covered), "{}", said.covered);
            }
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_few_boots_find() {
    for (boots, least) in [(2, 0.0), (3, 0.0), (4, 0.8)] {
        let case =
            Case { boot_sd: 0.01, treatment_sd: 0.005, block_sd: (0.02, 0.02), boots, treatments: (3, 2) };
        let [ten, thirty] = [0.10, 0.30].map(|effect| simulated(&case, f64::ln_1p(effect)).different);
        println!(
            "{boots} + {boots} boots, sd from boot to boot 1%, of blocks 2%: a true +10% is said to differ in {:.0}%, \
             +30% in {:.0}%",
            100.0 * ten,
            100.0 * thirty
        );
        assert!(thirty >= least, "{thirty}");
    }
}
