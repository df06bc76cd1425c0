//! Change points of a series: indexes at which its level changes.
//!
//! The model is a line, AR(1) noise, and steps. One step is tried at every index, with the likelihood ratio against the
//! line without it, and the largest of these ratios is the statistic (Quandt, J. American Statistical Association 55,
//! 1960; Andrews, Econometrica 61, 1993). The line is in both models, so that a steady drift is not a change. The
//! correlation coefficient is estimated in each. The distribution of the statistic without a change is simulated for
//! the length of the series and its correlation (a Monte Carlo test: Barnard, J. R. Statist. Soc. B 25, 1963; Davison,
//! Hinkley, *Bootstrap Methods and their Application*, 1997, chapter 4), since asymptotic critical values do not hold
//! for so few values. More changes are looked for on both sides of one that is shown (binary segmentation: Scott,
//! Knott, Biometrics 30, 1974; Bai, Econometric Theory 13, 1997), each at half of its alpha. Error rates:
//! docs/METHODOLOGY.md, "Drift of the baseline".

use super::correlation::{common, residual, variance_of_mean};
use super::{Normal, summary, t_quantile};
use std::collections::BTreeMap;
use std::ops::Range;
use threadwise_document::Interval;

/// Fewest values in which a change is looked for.
pub const MIN_VALUES: usize = 8;
/// Fewest values of a level: fewer are a disturbance.
pub const MIN_LEVEL: usize = 3;
/// Least correlation that is allowed for: few values do not show it.
const LEAST_RHO: f64 = 0.3;
/// Coefficients that are tried, in steps of this width from 0.
const RHO_STEP: f64 = 0.1;
const RHO_STEPS: u32 = 10;
/// Number of simulated series without a change.
const SIMULATED: u64 = 1999;
/// Share of alpha of the test. The rest pays for underestimated correlation.
const LEVEL_SHARE: f64 = 0.8;
/// A logarithm of the likelihood ratio below this is not significant at any length.
const LEAST_GAIN: f64 = 3.0;
/// A sum of squares below this share of the series' own is rounding.
const ROUNDING: f64 = 1e-12;

/// A change that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// p of the test of no change, in the stretch where it was found.
    pub p: f64,
}

/// The largest likelihood ratio of a step.
#[derive(Debug, Clone, Copy)]
struct Step {
    at: usize,
    /// Logarithm of the ratio.
    gain: f64,
    /// Index of the correlation coefficient at which the likelihood with the step is largest.
    rho: u32,
}

/// Distributions of the statistic without a change, simulated once for each length and correlation.
#[derive(Debug, Default)]
pub struct Reference(BTreeMap<(usize, u32), Vec<f64>>);

impl Reference {
    /// How often a series of `count` values without a change has such a step.
    fn p(&mut self, count: usize, step: &Step) -> f64 {
        let rho = step.rho.max((LEAST_RHO / RHO_STEP).round() as u32);
        let gains = self.0.entry((count, rho)).or_insert_with(|| {
            let mut random = Normal::new(1960 + u64::from(rho));
            let gain = |_| {
                let values = random.correlated(count, f64::from(rho) * RHO_STEP);
                largest_step(&values).map_or(0.0, |step| step.gain)
            };
            (0..SIMULATED).map(gain).collect()
        });
        let hits = gains.iter().filter(|gain| **gain >= step.gain).count();
        (1 + hits) as f64 / (1 + SIMULATED) as f64
    }
}

/// The changes of a series in its order. At most `alpha` of the series without a change report one, if the lag-1
/// correlation is up to 0.3 or there are enough values to show it; a steady drift is not a change.
///
/// Degenerate cases: fewer than [`MIN_VALUES`] values, a value that is not finite, or no variance give none.
pub fn change_points(values: &[f64], alpha: f64, reference: &mut Reference) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    let mut stretches = vec![(0..values.len(), alpha)];
    while let Some((stretch, alpha)) = stretches.pop() {
        let Some(step) = largest_step(&values[stretch.clone()]).filter(|step| step.gain >= LEAST_GAIN) else {
            continue;
        };
        let p = reference.p(stretch.len(), &step);
        if p > LEVEL_SHARE * alpha {
            continue;
        }
        let at = stretch.start + step.at;
        found.push(ChangePoint { at, p });
        stretches.extend([(stretch.start..at, alpha / 2.0), (at..stretch.end, alpha / 2.0)]);
    }
    found.sort_by_key(|change| change.at);
    found
}

/// The step of a series that raises its likelihood most.
fn largest_step(values: &[f64]) -> Option<Step> {
    let all = summary(values).filter(|all| all.n >= MIN_VALUES && all.sd > 0.0)?;
    let least = ROUNDING * all.sd * all.sd * (all.n - 1) as f64;
    let centred: Vec<f64> = values.iter().map(|value| value - all.mean).collect();
    let (mut plain, mut with_step) = (f64::MIN, Step { at: 0, gain: f64::MIN, rho: 0 });
    for rho in 0..RHO_STEPS {
        let line = Line::fit(&centred, f64::from(rho) * RHO_STEP);
        if line.squares <= least {
            return None;
        }
        plain = plain.max(line.likelihood(line.squares));
        let (at, squares) = line.best_step();
        let gain = line.likelihood(squares.max(least));
        if gain > with_step.gain {
            with_step = Step { at, gain, rho };
        }
    }
    Some(Step { gain: with_step.gain - plain, ..with_step })
}

/// A line fitted by generalised least squares: everything is first multiplied by a root of the inverse of the
/// correlation matrix, which leaves independent noise (Prais, Winsten 1954).
struct Line {
    rho: f64,
    /// An orthonormal basis of constants and lines.
    basis: [Vec<f64>; 2],
    /// Residuals of the line.
    left: Vec<f64>,
    /// Its sum of squares.
    squares: f64,
}

impl Line {
    fn fit(values: &[f64], rho: f64) -> Self {
        let whitened = |at: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let first = (1.0 - rho * rho).sqrt() * at(0);
            std::iter::once(first).chain((1..values.len()).map(|t| at(t) - rho * at(t - 1))).collect()
        };
        let middle = (values.len() - 1) as f64 / 2.0;
        let constant = unit(whitened(&|_| 1.0));
        let slope = unit(without(whitened(&|t| t as f64 - middle), &constant));
        let left = without(without(whitened(&|t| values[t]), &constant), &slope);
        let squares = dot(&left, &left);
        Self { rho, basis: [constant, slope], left, squares }
    }

    /// Logarithm of the likelihood at a sum of squares, the variance taken out at its maximum, less a constant.
    fn likelihood(&self, squares: f64) -> f64 {
        0.5 * (1.0 - self.rho * self.rho).ln() - 0.5 * self.left.len() as f64 * squares.ln()
    }

    /// The index of the step that leaves the least sum of squares, and that sum.
    fn best_step(&self) -> (usize, f64) {
        let count = self.left.len();
        // A step at `at`, multiplied by the root, is 1 at its index, 1 − ρ after it, and 0 before.
        let behind = 1.0 - self.rho;
        let [constant, slope] = &self.basis;
        let (mut best, mut sums) = ((MIN_LEVEL, self.squares), [0.0; 4]);
        for at in (MIN_LEVEL..count).rev() {
            let here = [self.left[at], constant[at], slope[at], 1.0];
            let product = |vector: usize| here[vector] + behind * sums[vector];
            let along = [product(1), product(2)];
            let square = 1.0 + behind * behind * sums[3] - along[0] * along[0] - along[1] * along[1];
            if count - at >= MIN_LEVEL && square > ROUNDING {
                let squares = self.squares - product(0).powi(2) / square;
                best = if squares < best.1 { (at, squares) } else { best };
            }
            sums.iter_mut().zip(here).for_each(|(sum, value)| *sum += value);
        }
        best
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn unit(values: Vec<f64>) -> Vec<f64> {
    let length = dot(&values, &values).sqrt();
    values.into_iter().map(|value| value / length).collect()
}

/// Values less their component along a vector of length 1.
fn without(values: Vec<f64>, along: &[f64]) -> Vec<f64> {
    let part = dot(&values, along);
    values.into_iter().zip(along).map(|(value, along)| value - part * along).collect()
}

/// The levels between changes, and how much each is above the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// The values of each level, and their mean.
    pub levels: Vec<(Range<usize>, Interval)>,
    /// One fewer: the level after each change less the one before it.
    pub steps: Vec<Interval>,
}

/// The levels of a series with these changes.
///
/// Levels have one variance and one lag-1 correlation, which is taken to be at least 0.3. Changes are chosen from the
/// same values, so intervals are Student's t at level 1 − `alpha` / m, with m possible indexes of a change
/// (Bonferroni): they hold whichever was chosen.
///
/// Degenerate cases: no value, or one that is not finite, gives `None`; without degrees of freedom intervals are
/// infinite.
pub fn levels(values: &[f64], changes: &[ChangePoint], alpha: f64) -> Option<Levels> {
    summary(values)?;
    let starts = std::iter::once(0).chain(changes.iter().map(|change| change.at));
    let ends = changes.iter().map(|change| change.at).chain([values.len()]);
    let stretches: Vec<Range<usize>> = starts.zip(ends).map(|(start, end)| start..end).collect();
    let parts: Vec<&[f64]> = stretches.iter().map(|stretch| &values[stretch.clone()]).collect();
    let rho = common(&parts).max(LEAST_RHO);
    let degrees = values.len().saturating_sub(parts.len());
    let squares: f64 = parts.iter().filter(|part| part.len() > 1).map(|part| residual(part, rho)).sum();
    let variance = squares / degrees as f64;
    let places = match changes.is_empty() {
        true => 1,
        false => (values.len() + 1).saturating_sub(2 * MIN_LEVEL).max(1),
    };
    let quantile = t_quantile(1.0 - alpha / 2.0 / places as f64, degrees as f64);
    let between = |mean: f64, parts: f64| {
        let half = quantile.map_or(f64::INFINITY, |t| t * (variance * parts).sqrt());
        Interval { mean, low: mean - half, high: mean + half, unit: "1".to_owned() }
    };
    let means: Vec<(f64, f64)> = parts
        .iter()
        .map(|part| (part.iter().sum::<f64>() / part.len() as f64, variance_of_mean(part.len(), rho)))
        .collect();
    let levels =
        stretches.into_iter().zip(&means).map(|(stretch, (mean, part))| (stretch, between(*mean, *part)));
    let steps = means.windows(2).map(|pair| between(pair[1].0 - pair[0].0, pair[0].1 + pair[1].1));
    Some(Levels { levels: levels.collect(), steps: steps.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of squares that a constant, a line and a step leave, by elimination on the normal equations.
    fn left_by_hand(values: &[f64], at: usize) -> f64 {
        let row = |t: usize| [1.0, t as f64, f64::from(u8::from(t >= at)), values[t]];
        let mut matrix = [[0.0; 4]; 4];
        for t in 0..values.len() {
            let row = row(t);
            for (line, one) in matrix.iter_mut().zip(row) {
                line.iter_mut().zip(row).for_each(|(cell, other)| *cell += one * other);
            }
        }
        for pivot in 0..3 {
            let above = matrix[pivot];
            for line in matrix.iter_mut().skip(pivot + 1) {
                let factor = line[pivot] / above[pivot];
                line.iter_mut().zip(above).for_each(|(cell, above)| *cell -= factor * above);
            }
        }
        matrix[3][3]
    }

    #[test]
    fn sums_of_squares_are_those_of_least_squares() {
        let values = [1.0, 2.5, 1.5, 3.0, 7.0, 6.5, 8.0, 7.5, 9.0, 8.0];
        let (at, squares) = Line::fit(&values, 0.0).best_step();
        let by_hand = (3..=7).map(|at| (left_by_hand(&values, at), at));
        let best = by_hand.reduce(|best, one| if one.0 < best.0 { one } else { best }).unwrap();
        assert_eq!((at, best.1), (4, 4));
        assert!((squares - best.0).abs() < 1e-9, "{squares} {best:?}");
    }

    #[test]
    fn whitened_noise_has_the_inverse_of_its_correlation() {
        // x′R⁻¹x of AR(1) with 0.5 is (x₁² + x₃² + 1.25 x₂² − x₁x₂ − x₂x₃) / 0.75, and whitening leaves it times 0.75.
        let line = Line::fit(&[1.0, -2.0, 0.5], 0.5);
        let first = line.basis[0][0] / line.basis[0][1];
        assert!((first - 0.75f64.sqrt() / 0.5).abs() < 1e-12);
        assert!((dot(&line.basis[0], &line.basis[1])).abs() < 1e-12);
    }

    fn noisy(count: usize, sd: f64, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Normal::new(seed);
        (0..count).map(|t| level(t) + sd * random.draw()).collect()
    }

    #[test]
    fn steps_are_found_at_their_places_with_their_sizes() {
        let values = noisy(60, 0.01, 3, |t| {
            if t < 20 {
                0.0
            } else if t < 45 {
                -0.1
            } else {
                -0.04
            }
        });
        let found = change_points(&values, 0.05, &mut Reference::default());
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [20, 45]);
        assert!(found.iter().all(|change| change.p <= 0.04));
        let got = levels(&values, &found, 0.05).unwrap();
        assert_eq!(
            got.levels.iter().map(|(range, _)| range.clone()).collect::<Vec<_>>(),
            [0..20, 20..45, 45..60]
        );
        for (step, truth) in got.steps.iter().zip([-0.1, 0.06]) {
            assert!(step.low < truth && truth < step.high && step.high - step.low < 0.05, "{step:?}");
        }
    }

    #[test]
    fn drift_and_single_blocks_are_no_change() {
        let mut reference = Reference::default();
        let none =
            |values: &[f64], reference: &mut Reference| change_points(values, 0.05, reference).is_empty();
        assert!(none(&noisy(40, 0.01, 5, |t| 0.01 * t as f64), &mut reference));
        assert!(none(&noisy(40, 0.01, 6, |t| if t == 17 || t == 30 { -0.2 } else { 0.0 }), &mut reference));
        let line: Vec<f64> = (0..20).map(|t| 0.5 * f64::from(t)).collect();
        assert!(none(&line, &mut reference) && none(&[1.0; 20], &mut reference));
    }

    #[test]
    fn a_step_without_noise_is_a_step() {
        let values: Vec<f64> = (0..12).map(|t| if t < 6 { 1.0 } else { 2.0 }).collect();
        let found = change_points(&values, 0.05, &mut Reference::default());
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [6]);
        let got = levels(&values, &found, 0.05).unwrap();
        let step = &got.steps[0];
        assert!(step.mean == 1.0 && (step.high - step.low).abs() < 1e-6, "{step:?}");
    }

    #[test]
    fn too_little_to_say() {
        let mut reference = Reference::default();
        let step: Vec<f64> = (0..7).map(|t| f64::from(u8::from(t > 3))).collect();
        assert!(change_points(&step, 0.05, &mut reference).is_empty());
        assert!(change_points(&[], 0.05, &mut reference).is_empty());
        assert!(change_points(&[f64::NAN; 9], 0.05, &mut reference).is_empty());
        assert_eq!(levels(&[], &[], 0.05), None);
        let one = levels(&[2.0], &[], 0.05).unwrap();
        assert!(one.levels[0].1.low.is_infinite() && one.steps.is_empty());
        // One level is the mean with t's interval, wider for correlation of 0.3: mean 3, variance 2.5 if independent.
        let plain = levels(&[1.0, 2.0, 3.0, 4.0, 5.0], &[], 0.05).unwrap().levels.remove(0).1;
        assert!(plain.mean == 3.0 && plain.high - 3.0 > 1.963, "{plain:?}");
    }
}
