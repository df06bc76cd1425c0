//! Figures behind the decisions: quantiles, the level of a free core, exact binomial tails.
//!
//! The sign test is from Conover, *Practical Nonparametric Statistics*, ch. 3: under the null,
//! labels of a discordant pair are as likely one way as the other.

/// Share of a window in which a thread must have been on a CPU for the window to count for
/// two threads running at the same time.
pub(crate) const WHOLE: f64 = 0.9;

/// Share of a window in which a thread must have been on a CPU for its median step to be used.
pub(crate) const RAN: f64 = 0.3;

/// At this share of the best level and above a core was free. Half the core is 0.5; noise of a
/// window's median is a few hundredths.
pub(crate) const FULL: f64 = 0.85;

/// If the width of a free core is unknown, one reaches at least this share of the best core.
pub(crate) const ALIKE: f64 = 0.7;

/// The median; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// A quantile between the two nearest values; `None` of nothing.
pub(crate) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64))
}

/// Each value as the median of itself and its existing two neighbours, since one disturbed window
/// of the latency-limited kernel would look like a wider core.
pub(crate) fn smoothed(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let near = |at: usize| {
        let around = &values[at.saturating_sub(1)..(at + 2).min(values.len())];
        median(&around.iter().flatten().copied().collect::<Vec<f64>>())
    };
    (0..values.len()).map(near).collect()
}

/// Probability of `hits` or more in `tries`, each with probability `chance`.
pub(crate) fn binomial_tail(tries: u32, hits: u32, chance: f64) -> f64 {
    if hits == 0 {
        return 1.0;
    }
    let mut ln_ways = 0.0;
    let mut tail = 0.0;
    for hit in 0..=tries {
        if hit > 0 {
            ln_ways += f64::from(tries - hit + 1).ln() - f64::from(hit).ln();
        }
        if hit >= hits {
            let ln_chance = f64::from(hit) * chance.ln() + f64::from(tries - hit) * (1.0 - chance).ln();
            tail += (ln_ways + ln_chance).exp();
        }
    }
    tail.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_exact() {
        assert!((binomial_tail(10, 10, 0.5) - 0.5_f64.powi(10)).abs() < 1e-15);
        assert!((binomial_tail(4, 3, 0.5) - 5.0 / 16.0).abs() < 1e-12);
        assert!((binomial_tail(3, 1, 0.02) - (1.0 - 0.98_f64.powi(3))).abs() < 1e-12);
        assert_eq!(binomial_tail(0, 1, 0.5), 0.0);
        assert_eq!(binomial_tail(1000, 0, 0.5), 1.0);
    }

    #[test]
    fn one_outlier_does_not_pass_the_smoothing() {
        let smooth = smoothed(&[Some(1.0), Some(3.0), Some(1.0), None, Some(2.0)]);
        assert_eq!(smooth[1], Some(1.0));
        assert_eq!(smooth[3], Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
