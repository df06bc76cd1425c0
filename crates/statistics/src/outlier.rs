//! Outliers among a few values.
//!
//! Source: Grubbs, "Procedures for detecting outlying observations in samples", Technometrics 11 (1969): the largest
//! studentized deviation, in the form of Student's t of each value against the others, adjusted by Bonferroni for
//! having tested all of them.

use super::student::{summary, t_two_sided_p};

/// Fewest values among which one can be called an outlier.
pub const MIN_VALUES: usize = 4;

/// Deviation of a value from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// The value less the mean of the others.
    pub from_others: f64,
    /// Two-sided p of Student's t on n − 2 degrees of freedom, times n, at most 1: the chance that any of n values of one
    /// normal distribution is as far out.
    pub p: f64,
}

/// The deviation of each value, in their order.
///
/// Assumes independent values of one normal distribution. Degenerate cases: fewer than [`MIN_VALUES`], or a value that
/// is not finite, gives none; if the others are all equal, a value that differs has p 0.
pub fn deviations(values: &[f64]) -> Vec<Deviation> {
    let n = values.len();
    if n < MIN_VALUES || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let of_one = |at: usize| {
        let others: Vec<f64> = values.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, x)| *x).collect();
        let others = summary(&others)?;
        let from_others = values[at] - others.mean;
        let scale = others.sd * (1.0 + 1.0 / others.n as f64).sqrt();
        let t = if from_others == 0.0 { 0.0 } else { from_others / scale };
        let p = t_two_sided_p(t, (n - 2) as f64)?;
        Some(Deviation { from_others, p: (p * n as f64).min(1.0) })
    };
    (0..n).filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_grubbs() {
        // Strengths of ten wires: the largest is 2.39 standard deviations from the mean of all. For n = 10 the table has
        // 2.290 at 2.5% and 2.410 at 1% of one side, so p of both sides lies between 2% and 5%.
        let wires = [568.0, 570.0, 570.0, 570.0, 572.0, 572.0, 572.0, 578.0, 584.0, 596.0];
        let all = deviations(&wires);
        let largest = all.iter().min_by(|one, other| one.p.total_cmp(&other.p)).unwrap();
        assert_eq!(*largest, all[9]);
        assert!((largest.from_others - (596.0 - 5156.0 / 9.0)).abs() < 1e-9);
        assert!((0.02..0.05).contains(&largest.p), "{}", largest.p);
    }

    #[test]
    fn too_few_and_no_spread() {
        assert!(deviations(&[1.0, 2.0, 9.0]).is_empty() && deviations(&[1.0, 2.0, 3.0, f64::NAN]).is_empty());
        let all = deviations(&[1.0, 1.0, 1.0, 2.0]);
        assert_eq!((all[3].p, all[0].from_others), (0.0, 1.0 - 4.0 / 3.0));
        assert!(all[0].p > 0.9, "the others have one that is far out");
        assert!(deviations(&[3.0; 5]).iter().all(|one| one.p == 1.0));
    }
}
