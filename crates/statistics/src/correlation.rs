//! Correlation of neighbouring blocks: one coefficient for a study, and its effect on the variance of a mean.
//!
//! Blocks are modelled as a stationary AR(1) process. The coefficient is the restricted maximum likelihood
//! estimate over all series of a family together, each with a mean and a variance of its own. Source: Patterson,
//! Thompson, "Recovery of inter-block information when block sizes are unequal", Biometrika 58 (1971); for AR(1)
//! errors Cheang, Reinsel, J. American Statistical Association 95 (2000), who show how much less biased it is
//! than the sample correlation, whose mean is 0.19 at a true 0.6 with 8 blocks. Coverage:
//! docs/METHODOLOGY.md, "Correlated blocks".

/// Fewest blocks of a series for an estimate of correlation over several series.
pub const MIN_BLOCKS: usize = 8;
/// Fewest for a single series, in which 8 blocks show next to nothing.
pub const MIN_BLOCKS_ALONE: usize = 16;
/// Largest coefficient; beyond it blocks say nothing about their mean.
const MOST: f64 = 0.95;
/// Width of the last step of the search.
const STEP: f64 = 0.005;

/// The restricted maximum likelihood estimate of the lag-1 correlation of some series of blocks, 0 to 0.95; never
/// below 0, since a negative one must not narrow an interval.
///
/// Assumes that each series is AR(1) with this coefficient, a mean and a variance of its own, at even distances. Series
/// that share treatments depend on each other, which makes the estimate less precise than their number suggests, but
/// does not bias it. Degenerate cases: series of fewer than [`MIN_BLOCKS`] values ([`MIN_BLOCKS_ALONE`] for a single
/// one), without variance, or with values that are not finite are left out; without any other the answer is 0.
pub fn common(series: &[&[f64]]) -> f64 {
    let at_least = if series.len() > 1 { MIN_BLOCKS } else { MIN_BLOCKS_ALONE };
    let centred: Vec<Vec<f64>> =
        series.iter().filter(|one| one.len() >= at_least).filter_map(|one| centred(one)).collect();
    if centred.is_empty() {
        return 0.0;
    }
    let likelihood = |rho: f64| centred.iter().map(|one| log_likelihood(one, rho)).sum::<f64>();
    // The sum may have several peaks: a coarse search over all of it, then a fine one near the best.
    let best = |points: Vec<f64>| {
        let rated = points.into_iter().map(|rho| (likelihood(rho), rho));
        rated.reduce(|best, one| if one.0 > best.0 { one } else { best }).map_or(0.0, |(_, rho)| rho)
    };
    let coarse = best((0..=19).map(|at| f64::from(at) * 0.05).collect());
    let fine = (-9..=9).map(|at| coarse + f64::from(at) * STEP).filter(|rho| (0.0..=MOST).contains(rho));
    best(fine.collect())
}

/// Ratio of the variance of the mean of `values` to that of independent ones with this sample variance, at least 1: the
/// exact one for the mean of this many values of an AR(1) process, whose variance is estimated with the coefficient
/// known.
///
/// Degenerate cases: fewer than 2 values or no variance give 1.
pub fn inflation(values: &[f64], rho: f64) -> f64 {
    let Some(centred) = centred(values).filter(|_| rho > 0.0) else { return 1.0 };
    let rho = rho.min(MOST);
    let independent = residual(&centred, 0.0);
    (residual(&centred, rho) / independent * values.len() as f64 * variance_of_mean(values.len(), rho))
        .max(1.0)
}

/// The coefficient of one series of a family: that of all, or its own if that is larger, since what it shares with
/// others does not protect a correlated series.
pub fn of_one(values: &[f64], common_to_all: f64) -> f64 {
    match stands_out(values, common_to_all) {
        true => common_to_all.max(common(&[values, values])),
        false => common_to_all,
    }
}

/// Whether a series is more correlated than `rho` says: the likelihood ratio against its own estimate exceeds what
/// chance gives in 1 of 100 (chi-squared, one degree of freedom, one side).
pub fn stands_out(values: &[f64], rho: f64) -> bool {
    const ONE_IN_A_HUNDRED: f64 = 5.41;
    let Some(centred) = centred(values).filter(|all| all.len() >= MIN_BLOCKS) else { return false };
    let points = || (0..=19).map(|at| f64::from(at) * 0.05);
    let free = points().map(|point| log_likelihood(&centred, point)).fold(f64::MIN, f64::max);
    let above = points().filter(|point| *point > rho);
    let best = above.map(|point| log_likelihood(&centred, point)).fold(f64::MIN, f64::max);
    best >= free && 2.0 * (free - log_likelihood(&centred, rho.min(MOST))) > ONE_IN_A_HUNDRED
}

/// The values less their mean; `None` without variance, or with too few values.
fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let all = super::summary(values).filter(|all| all.n >= 2 && all.sd > 0.0)?;
    Some(values.iter().map(|value| value - all.mean).collect())
}

/// Restricted log-likelihood of a coefficient, the variance taken out at its maximum, less a constant.
fn log_likelihood(values: &[f64], rho: f64) -> f64 {
    let free = (values.len() - 1) as f64;
    let determinant = free * (1.0 - rho * rho).ln();
    -0.5 * (free * residual(values, rho).ln() + determinant + information(values.len(), rho).ln())
}

/// Generalised least squares' sum of squares around the mean, x′R⁻¹x − (1′R⁻¹x)² / (1′R⁻¹1), where R is the
/// correlation matrix of an AR(1) process, whose inverse has three diagonals.
pub(crate) fn residual(values: &[f64], rho: f64) -> f64 {
    let last = values.len() - 1;
    let (mut squares, mut sum) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        let is_end = at == 0 || at == last;
        squares += value * value * if is_end { 1.0 } else { 1.0 + rho * rho };
        sum += value * (1.0 - rho) * if is_end { 1.0 } else { 1.0 - rho };
    }
    squares -= 2.0 * rho * values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
    let scale = 1.0 / (1.0 - rho * rho);
    squares * scale - (sum * scale).powi(2) / information(values.len(), rho)
}

/// 1′R⁻¹1.
fn information(n: usize, rho: f64) -> f64 {
    (n as f64 - (n as f64 - 2.0) * rho) / (1.0 + rho)
}

/// Variance of the mean of n values of an AR(1) process with variance 1.
pub(crate) fn variance_of_mean(n: usize, rho: f64) -> f64 {
    let n = n as f64;
    // Σ over lags k of (n − k) ρᵏ, in closed form.
    let beside = rho * (n * (1.0 - rho) - (1.0 - rho.powf(n))) / (1.0 - rho).powi(2);
    (n + 2.0 * beside) / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Normal;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn formulas_worked_by_hand() {
        // n = 3, ρ = 0.5: R⁻¹ = 4/3 · [1 −.5 0; −.5 1.25 −.5; 0 −.5 1], the sum of which is 5/3 = (3 − .5) / 1.5.
        assert!(close(information(3, 0.5), 5.0 / 3.0));
        // x = (1, 0, −1): x′R⁻¹x = 4/3 · 2, 1′R⁻¹x = 0.
        assert!(close(residual(&[1.0, 0.0, -1.0], 0.5), 8.0 / 3.0));
        // (3 + 2 (2 · .5 + .25)) / 9 = 5.5 / 9.
        assert!(close(variance_of_mean(3, 0.5), 5.5 / 9.0));
        assert!(close(variance_of_mean(8, 0.0), 0.125));
        assert!(close(residual(&[1.0, 2.0, 6.0], 0.0), 14.0));
    }

    #[test]
    fn several_series_give_the_coefficient_that_one_cannot() {
        let mut random = Normal::new(1);
        for truth in [0.0, 0.3, 0.6] {
            let mut sum = 0.0;
            for _ in 0..300 {
                let series: Vec<Vec<f64>> = (0..4).map(|_| random.correlated(8, truth)).collect();
                sum += common(&series.iter().map(Vec::as_slice).collect::<Vec<_>>());
            }
            // Cut off at 0, so above the truth there; the sample correlation's mean is 0.19 at 0.6.
            let (low, high) = if truth == 0.0 { (0.02, 0.15) } else { (truth - 0.08, truth + 0.08) };
            assert!((low..high).contains(&(sum / 300.0)), "{truth}: {}", sum / 300.0);
        }
    }

    #[test]
    fn too_little_to_say_is_no_correlation() {
        let rising: Vec<f64> = (0..15).map(f64::from).collect();
        assert_eq!(common(&[]), 0.0);
        assert_eq!(common(&[&rising]), 0.0, "one series of 15");
        assert_eq!(common(&[&rising[..7], &rising[..7]]), 0.0);
        assert_eq!(common(&[&[2.0; 9], &[1.0; 9]]), 0.0);
        assert_eq!(common(&[&[f64::NAN; 9], &[1.0; 9]]), 0.0);
        assert!(common(&[&rising, &rising]) > 0.8);
        let turning: Vec<f64> = (0..32).map(|at| f64::from(at % 2)).collect();
        assert_eq!(common(&[&turning]), 0.0, "a negative one narrows nothing");
        assert_eq!(
            (inflation(&[], 0.5), inflation(&[1.0; 8], 0.5), inflation(&rising, 0.0)),
            (1.0, 1.0, 1.0)
        );
    }

    #[test]
    fn one_correlated_series_among_others_stands_out() {
        let mut random = Normal::new(2);
        let named = |truth: f64, random: &mut Normal| {
            (0..4000).filter(|_| stands_out(&random.correlated(16, truth), 0.0)).count()
        };
        let (none, some) = (named(0.0, &mut random), named(0.8, &mut random));
        // 1% are allowed. Of 0.8 it sees 67.7%, with a standard deviation of 30 of 4,000.
        assert!(none <= 60 && (2600..2820).contains(&some), "{none} and {some} of 4000");
        assert!(!stands_out(&random.correlated(16, 0.6), 0.95));
    }
}
