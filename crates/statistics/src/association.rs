//! Whether two series of blocks move together: Spearman's rank correlation with a permutation test, after the
//! correlation of neighbouring blocks was removed.
//!
//! Sources: Spearman, "The proof and measurement of association between two things", American Journal of Psychology 15
//! (1904); Pitman, "Significance tests which may be applied to samples from any populations. II. The correlation
//! coefficient test", J. R. Statist. Soc. Suppl. 4 (1937); DiCiccio, Romano, "Robust permutation tests for correlation and
//! regression coefficients", J. American Statistical Association 112 (2017), for what is compared (studentized, so that blocks in
//! which both series scatter by more are no link); Prais, Winsten, "Trend estimators and serial correlation", Cowles
//! Commission discussion paper 383 (1954), for taking out AR(1); Besag, Clifford, "Sequential Monte Carlo p-values",
//! Biometrika 78 (1991), for drawing no more permutations than a decision takes; Bonett, Wright, "Sample size requirements
//! for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65 (2000), for the interval; Fieller, Hartley,
//! Pearson, "Tests for rank correlation coefficients", Biometrika 44 (1957), for its variance in the number of blocks.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use statrs::distribution::{ContinuousCDF, Normal};
use threadwise_document::Interval;

/// Fewest pairs for an answer: with fewer, too many permutations keep all signs for p to be small.
pub const MIN_PAIRS: usize = 12;
/// Most permutations; the smallest p is one over this plus one.
const MOST_DRAWN: u32 = 9_999;
/// Drawing ends when this many are as far from 0 as the observed correlation.
const ENOUGH: u32 = 25;
/// Strength of a correlation, half of the variance, that a study must be able to show before it reports that nothing
/// moves.
pub const PLAIN_STRENGTH: f64 = 0.7;
/// Power at that strength.
const POWER: f64 = 0.8;
/// Variance of z times n − 3: 1.06 for Spearman's by Fieller, Hartley and Pearson, and the cost of studentizing, by
/// simulation (docs/METHODOLOGY.md, "Checked").
const VARIANCE: f64 = 1.5;

/// Which correlations are evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Either sign.
    Both,
    /// Positive ones.
    Above,
    /// Negative ones.
    Below,
}

/// Association of two series.
#[derive(Debug, Clone, PartialEq)]
pub struct Association {
    /// Spearman's rank correlation with its interval.
    pub correlation: Interval,
    /// p of the permutation test.
    pub p: f64,
}

/// The association of two series with a value for each block.
///
/// `rho` is the lag-1 correlation of `y`, which is removed from both: the rest of `y` may be permuted if it does not
/// depend on `x`, however `x` is correlated with itself. Normality is not assumed, and ranks limit the effect of
/// disturbed blocks. The studentized correlation is permuted, so that p holds also if `x` and `y` depend on each other
/// without being correlated, for instance if both scatter more in some blocks. The interval is at level 1 − `alpha`;
/// permutations are ChaCha8's of `seed`.
///
/// Degenerate cases: fewer than [`MIN_PAIRS`] pairs, series of different lengths, values that are not finite, or a
/// constant series give `None`.
pub fn association(x: &[f64], y: &[f64], rho: f64, tail: Tail, alpha: f64, seed: u64) -> Option<Association> {
    let is_finite = x.iter().chain(y).all(|value| value.is_finite());
    if x.len() != y.len() || x.len() < MIN_PAIRS || !is_finite || varies(x).and(varies(y)).is_none() {
        return None;
    }
    let (x, mut y) =
        (centred_ranks(&without_neighbours(x, rho))?, centred_ranks(&without_neighbours(y, rho))?);
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let product = |y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let correlation = (product(&y) / (squares(&x) * squares(&y)).sqrt()).clamp(-1.0, 1.0);
    let statistic = |y: &[f64]| {
        let scale = x.iter().zip(y).map(|(x, y)| (x * y).powi(2)).sum::<f64>().sqrt();
        let studentized = product(y) / scale.max(f64::MIN_POSITIVE);
        match tail {
            Tail::Both => studentized.abs(),
            Tail::Above => studentized,
            Tail::Below => -studentized,
        }
    };
    // Sums of the same numbers in another order differ in the last digits: equal is "as far".
    let reach = statistic(&y) - 1e-9;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut hits, mut drawn) = (0, 0);
    while drawn < MOST_DRAWN && hits < ENOUGH {
        y.shuffle(&mut random);
        drawn += 1;
        hits += u32::from(statistic(&y) >= reach);
    }
    let p = match hits {
        ENOUGH => f64::from(ENOUGH) / f64::from(drawn),
        _ => f64::from(hits + 1) / f64::from(drawn + 1),
    };
    Some(Association { correlation: interval(correlation, x.len(), alpha), p })
}

/// Blocks needed to show a correlation of [`PLAIN_STRENGTH`] in four of five studies if `family` of them are judged
/// together at `alpha`: Fisher's z with `VARIANCE` / (n − 3) for its variance.
pub fn blocks_needed(family: usize, alpha: f64) -> u32 {
    let z = normal_quantile(1.0 - alpha / 2.0 / family.max(1) as f64) + normal_quantile(POWER);
    (3.0 + VARIANCE * (z / PLAIN_STRENGTH.atanh()).powi(2)).ceil() as u32
}

/// Quantile of the standard normal distribution.
fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

fn interval(correlation: f64, n: usize, alpha: f64) -> Interval {
    let variance = (1.0 + correlation * correlation / 2.0) / (n as f64 - 3.0);
    let half = normal_quantile(1.0 - alpha / 2.0) * variance.sqrt();
    // A correlation of 1 has no end in z.
    let z = correlation.clamp(-0.9999, 0.9999).atanh();
    let (low, high) = ((z - half).tanh().min(correlation), (z + half).tanh().max(correlation));
    Interval { mean: correlation, low, high, unit: "1".to_owned() }
}

fn varies(values: &[f64]) -> Option<()> {
    values.windows(2).any(|pair| pair[0].total_cmp(&pair[1]).is_ne()).then_some(())
}

/// An AR(1) series less its mean and less what each value has from the one before, all of one variance.
fn without_neighbours(values: &[f64], rho: f64) -> Vec<f64> {
    let last = values.len() - 1;
    let weight = |at: usize| if at == 0 || at == last { 1.0 } else { 1.0 - rho };
    let sum: f64 = (0..values.len()).map(weight).sum();
    let mean = values.iter().enumerate().map(|(at, value)| weight(at) * value).sum::<f64>() / sum;
    let first = (1.0 - rho * rho).sqrt() * (values[0] - mean);
    let rest = values.windows(2).map(|pair| (pair[1] - mean) - rho * (pair[0] - mean));
    std::iter::once(first).chain(rest).collect()
}

/// Ranks less their mean, equal values with the mean of theirs; `None` if all are equal.
fn centred_ranks(values: &[f64]) -> Option<Vec<f64>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let is_same = |at: &&usize| values[**at].total_cmp(&values[order[start]]).is_eq();
        let end = start + order[start..].iter().take_while(is_same).count();
        let rank = (start + end - 1) as f64 / 2.0 - mean;
        order[start..end].iter().for_each(|at| ranks[*at] = rank);
        start = end;
    }
    varies(&ranks).map(|()| ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Normal;

    const RISING: [f64; 16] =
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0];

    fn of(x: &[f64], y: &[f64], tail: Tail) -> Association {
        association(x, y, 0.0, tail, 0.05, 1).unwrap()
    }

    #[test]
    fn ranks_worked_by_hand() {
        assert_eq!(centred_ranks(&[3.0, 1.0, 3.0, 9.0]), Some(vec![0.0, -1.5, 0.0, 1.5]));
        assert_eq!(centred_ranks(&[2.0; 3]), None);
        // 1 − 6 Σd² / n(n² − 1) with two neighbours exchanged: Σd² = 2.
        let mut exchanged = RISING;
        exchanged.swap(3, 4);
        let got = of(&RISING, &exchanged, Tail::Both).correlation.mean;
        assert!((got - (1.0 - 12.0 / 4080.0)).abs() < 1e-12, "{got}");
        // Of logarithms, squares and whatever rises: the same.
        let cubes = exchanged.map(|value: f64| value.powi(3));
        assert_eq!(of(&RISING, &cubes, Tail::Both).correlation.mean, got);
    }

    #[test]
    fn a_tail_takes_its_own_side() {
        let falling: Vec<f64> = RISING.iter().rev().copied().collect();
        let p = |tail| of(&RISING, &falling, tail).p;
        assert!(p(Tail::Both) <= 1e-3 && p(Tail::Below) <= 1e-3 && p(Tail::Above) > 0.99);
    }

    #[test]
    fn what_scatters_together_is_not_what_moves_together() {
        let mut random = Normal::new(7);
        let one = |seed: u64| {
            let size: Vec<f64> = (0..64).map(|_| if random.uniform() < 0.2 { 5.0 } else { 1.0 }).collect();
            let mut series = || size.iter().map(|size| size * random.draw()).collect::<Vec<f64>>();
            association(&series(), &series(), 0.0, Tail::Both, 0.05, seed).unwrap().p <= 0.01
        };
        // 20 of 2,000, with a standard deviation of 4.4.
        let below = (0..2000).map(one).filter(|is_below| *is_below).count();
        assert!((8..=36).contains(&below), "{below}");
    }

    #[test]
    fn neighbours_are_taken_out_exactly() {
        // Mean (1·2 + .5·4 + 1·9) / 2.5 = 5.2; (2 − 5.2) √.75, (4 − 5.2) + 1.6, (9 − 5.2) + .6.
        let got = without_neighbours(&[2.0, 4.0, 9.0], 0.5);
        for (got, wanted) in got.iter().zip([-3.2 * 0.75f64.sqrt(), 0.4, 4.4]) {
            assert!((got - wanted).abs() < 1e-12, "{got} {wanted}");
        }
    }

    #[test]
    fn of_independent_series_as_many_are_below_a_level_as_it_says() {
        let mut random = Normal::new(5);
        let below = |rho: f64, taken_out: f64, random: &mut Normal| {
            let one = |seed: u64| {
                let (x, y) = (random.correlated(16, rho), random.correlated(16, rho));
                association(&x, &y, taken_out, Tail::Both, 0.05, seed).unwrap().p <= 0.05
            };
            (0..2000).map(one).filter(|is_below| *is_below).count()
        };
        // 100 of 2,000, with a standard deviation of 10; neighbours that are left in make it more.
        let (white, out, left_in) =
            (below(0.0, 0.0, &mut random), below(0.6, 0.6, &mut random), below(0.6, 0.0, &mut random));
        assert!(
            (70..=130).contains(&white) && (70..=130).contains(&out) && left_in > 200,
            "{white} {out} {left_in}"
        );
    }

    /// How many of so many intervals hold the truth, and in how many the association is shown with the blocks that
    /// are said to be needed.
    fn covered_and_shown(count: u64) -> (u32, u32) {
        let truth: f64 = 0.7;
        let n = blocks_needed(8, 0.025) as usize;
        let mut random = Normal::new(6);
        let (mut covered, mut shown) = (0, 0);
        // Spearman's of a bivariate normal with Pearson's r: 6 / π · asin(r / 2).
        let r = 2.0 * (truth * std::f64::consts::PI / 6.0).sin();
        for seed in 0..count {
            let x: Vec<f64> = (0..n).map(|_| random.draw()).collect();
            let y: Vec<f64> = x.iter().map(|x| r * x + (1.0 - r * r).sqrt() * random.draw()).collect();
            let got = association(&x, &y, 0.0, Tail::Both, 0.05, seed).unwrap();
            covered += u32::from(got.correlation.low <= truth && truth <= got.correlation.high);
            shown += u32::from(got.p <= 0.025 / 8.0);
        }
        (covered, shown)
    }

    /// 95% of 150 are 142, 80% are 120. Fixed seeds: four standard deviations are room for another generator.
    #[test]
    fn intervals_hold_the_truth_and_needed_blocks_show_it() {
        let (covered, shown) = covered_and_shown(150);
        assert!((131..150).contains(&covered) && (100..=140).contains(&shown), "{covered} {shown}");
    }

    mod lab_simulations {
        use super::*;

        #[test]
        #[ignore = "laboratory: simulations"]
        fn a_thousand_intervals_hold_the_truth_and_needed_blocks_show_it() {
            let (covered, shown) = covered_and_shown(1000);
            assert!((920..=985).contains(&covered) && (760..=900).contains(&shown), "{covered} {shown}");
        }
    }

    #[test]
    fn too_little_to_say() {
        let none = |x: &[f64], y: &[f64]| association(x, y, 0.0, Tail::Both, 0.05, 1).is_none();
        assert!(
            none(&RISING[..11], &RISING[..11]) && none(&RISING, &[2.0; 16]) && none(&RISING, &RISING[..12])
        );
        let mut broken = RISING;
        broken[3] = f64::NAN;
        assert!(none(&RISING, &broken));
        assert!(blocks_needed(0, 0.05) >= 15 && blocks_needed(100, 0.05) > blocks_needed(10, 0.05));
    }
}
