//! Many comparisons of which some are selected: the share of false ones among those.
//!
//! Sources: Benjamini, Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995) for the
//! selection; Benjamini, Yekutieli, "False discovery rate-adjusted multiple confidence intervals for selected
//! parameters", J. American Statistical Association 100 (2005) for the intervals.

/// Result of Benjamini and Hochberg's procedure for a family of p values.
#[derive(Debug, Clone, PartialEq)]
pub struct Discoveries {
    /// Number of selected comparisons, which are those with the smallest p.
    pub selected: usize,
    /// R q / m with R selected among m, or q / m with none: the interval at level 1 − this excludes 0 exactly if the
    /// comparison is selected.
    pub interval_alpha: f64,
    /// Adjusted p of each: it is selected exactly if this is at most `q`.
    pub adjusted_p: Vec<f64>,
}

/// Benjamini and Hochberg's procedure at `q` over two-sided p values: the largest R such that the R-th smallest is at most
/// R q / m.
///
/// At most `q` of the selected are false on average, if the values are independent or depend on each other positively;
/// and at most `q` of the intervals of the selected at level 1 − R q / m miss on average.
///
/// Degenerate cases: an empty family selects nothing, at `q`; a p that is not a number counts as 1.
pub fn discoveries(p_values: &[f64], q: f64) -> Discoveries {
    let known = |at: &usize| if p_values[*at].is_nan() { 1.0 } else { p_values[*at] };
    let mut sorted: Vec<usize> = (0..p_values.len()).collect();
    sorted.sort_by(|one, other| known(one).total_cmp(&known(other)));
    let family = sorted.len().max(1) as f64;
    let is_within = |(at, one): (usize, &usize)| known(one) <= (at + 1) as f64 * q / family;
    let selected = sorted.iter().enumerate().rposition(is_within).map_or(0, |last| last + 1);
    let (mut adjusted_p, mut least) = (vec![1.0; p_values.len()], 1.0_f64);
    for (at, one) in sorted.iter().enumerate().rev() {
        least = least.min(known(one) * family / (at + 1) as f64);
        adjusted_p[*one] = least;
    }
    Discoveries { selected, interval_alpha: selected.max(1) as f64 * q / family, adjusted_p }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_comparisons_as_published_by_benjamini_and_hochberg() {
        // Section 4.1 of the paper: four are rejected, where Bonferroni's and Hochberg's procedures reject three.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let got = discoveries(&p, 0.05);
        assert_eq!(got.selected, 4);
        assert!((got.interval_alpha - 4.0 * 0.05 / 15.0).abs() < 1e-15);
        // 0.0095 · 15 / 4; 0.0201 · 15 / 5.
        assert!((got.adjusted_p[3] - 0.035625).abs() < 1e-12 && (got.adjusted_p[4] - 0.0603).abs() < 1e-12);
    }

    #[test]
    fn a_later_one_brings_those_before_it() {
        // 0.03 > 0.05 / 3 and 0.034 > 2 · 0.05 / 3, yet 0.05 is within 3 · 0.05 / 3.
        assert_eq!(discoveries(&[0.05, 0.03, 0.034], 0.05).selected, 3);
        assert_eq!(discoveries(&[0.0501, 0.03, 0.034], 0.05).selected, 0);
    }

    #[test]
    fn too_little_to_say() {
        let none = Discoveries { selected: 0, interval_alpha: 0.05, adjusted_p: vec![] };
        assert_eq!(discoveries(&[], 0.05), none);
        let unknown = Discoveries { interval_alpha: 0.025, adjusted_p: vec![1.0; 2], ..none };
        assert_eq!(discoveries(&[f64::NAN, 1.0], 0.05), unknown);
        assert_eq!(discoveries(&[0.0], 0.05).selected, 1);
    }
}
