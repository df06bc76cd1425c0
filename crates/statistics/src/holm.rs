//! Many comparisons at once: Holm's step-down procedure.
//!
//! Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6 (1979).

/// Result of Holm's procedure for one comparison of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolmStep {
    /// Adjusted p: reject at `alpha` exactly if this is at most `alpha`.
    pub adjusted_p: f64,
    /// The interval at level 1 − this excludes 1 (0 in logarithms) exactly if the comparison is rejected.
    pub interval_alpha: f64,
}

/// Holm's step-down procedure over a family of two-sided p values, in their order.
///
/// With m values in ascending order, the i-th is compared with alpha / (m − i + 1), and the first that fails stops the
/// procedure. Adjusted p is the running maximum of (m − i + 1)·p, at most 1. The interval of the i-th is at level 1 −
/// alpha / (m − i + 1); from the first that fails on all take that one's level, so that no interval excludes 1 after an
/// earlier one did not. The chance of any false rejection in the family is at most alpha, however the values depend on
/// each other. The intervals decide about 1 and are not simultaneous intervals for the ratios.
///
/// Degenerate cases: an empty family gives an empty answer; a p that is not a number counts as 1.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<HolmStep> {
    let family = p_values.len();
    let known = |at: usize| if p_values[at].is_nan() { 1.0 } else { p_values[at].clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..family).collect();
    order.sort_by(|a, b| known(*a).total_cmp(&known(*b)));
    let mut steps = vec![HolmStep { adjusted_p: 1.0, interval_alpha: alpha }; family];
    let mut adjusted = 0.0f64;
    let mut stopped_at: Option<f64> = None;
    for (rank, at) in order.into_iter().enumerate() {
        let left = (family - rank) as f64;
        adjusted = adjusted.max((left * known(at)).min(1.0));
        let interval_alpha = stopped_at.unwrap_or(alpha / left);
        if known(at) > interval_alpha {
            stopped_at = Some(interval_alpha);
        }
        steps[at] = HolmStep { adjusted_p: adjusted, interval_alpha };
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjusted(p_values: &[f64]) -> Vec<f64> {
        holm(p_values, 0.05).iter().map(|step| step.adjusted_p).collect()
    }

    fn assert_close(got: &[f64], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        for (g, e) in got.iter().zip(expected) {
            assert!((g - e).abs() < 1e-12, "{got:?}, expected {expected:?}");
        }
    }

    #[test]
    fn the_textbook_example() {
        // Four values often used to show the procedure: .01 .04 .03 .005. In order .005×4 = .02,
        // .01×3 = .03, .03×2 = .06, .04×1 = .04, raised to the running maximum .06.
        assert_close(&adjusted(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
    }

    #[test]
    fn fifteen_comparisons_as_published_by_benjamini_and_hochberg() {
        // The p values of the worked example in Benjamini and Hochberg, "Controlling the false
        // discovery rate", J. R. Statist. Soc. B 57 (1995), section 4.1; Holm's answer by hand:
        // .0019 ≤ .05/13 and .0095 > .05/12, so the first three are rejected at .05.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let steps = holm(&p, 0.05);
        assert_close(
            &adjusted(&p)[..9],
            &[0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213],
        );
        let rejected = steps.iter().filter(|step| step.adjusted_p <= 0.05).count();
        assert_eq!(rejected, 3);
        assert_eq!(steps[2].interval_alpha, 0.05 / 13.0);
        assert!(steps[3..].iter().all(|step| step.interval_alpha == 0.05 / 12.0), "stopped at the fourth");
    }

    #[test]
    fn rejection_and_interval_level_always_agree() {
        let families: [&[f64]; 5] =
            [&[0.03, 0.03], &[0.05], &[0.2, 0.001, 0.024, 0.0], &[1.0, 1.0, 1.0], &[0.025, 0.05]];
        for family in families {
            for (p, step) in family.iter().zip(holm(family, 0.05)) {
                assert_eq!(*p <= step.interval_alpha, step.adjusted_p <= 0.05, "{family:?} {step:?}");
            }
        }
    }

    #[test]
    fn nothing_and_no_number() {
        assert!(holm(&[], 0.05).is_empty());
        assert_close(&adjusted(&[f64::NAN, 0.01]), &[1.0, 0.02]);
    }
}
