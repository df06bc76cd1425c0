//! Variance components of values that are nested in two levels, and the share of the variance of a group's mean that is
//! the group's own.
//!
//! Sources: Searle, Casella, McCulloch, *Variance Components* (1992), chapters 3 and 5, for estimates by the method of
//! moments from unbalanced data; Burdick, Graybill, *Confidence Intervals on Variance Components* (1992), for the ratio
//! of mean squares of unweighted means.

use super::student::summary;
use super::variances::f_quantile;

/// Values by group and subgroup, such as machines and their boots.
pub type Nested = [Vec<Vec<f64>>];

/// The levels at which values vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// From group to group.
    Group,
    /// From subgroup to subgroup of a group.
    Subgroup,
    /// From value to value of a subgroup.
    Value,
}

/// A variance, of one level or of several that cannot be separated.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its levels.
    pub levels: Vec<Level>,
    /// Variance, 0 or more.
    pub variance: f64,
}

/// Sums of squares and counts of nested values.
struct Sums {
    groups: f64,
    subgroups: f64,
    values: f64,
    /// Squares of group means around the overall mean, of subgroup means around that of their group, of values.
    squares: [f64; 3],
    /// Sum over groups of n².
    group_squares: f64,
    /// Sum over subgroups of n², and of n² over the n of its group.
    subgroup_squares: f64,
    subgroup_squares_by_group: f64,
}

impl Sums {
    fn of(groups: &Nested) -> Option<Self> {
        let all: Vec<f64> = groups.iter().flatten().flatten().copied().collect();
        let mean = |values: &[f64]| summary(values).map(|summary| summary.mean);
        let total = mean(&all)?;
        let mut sums = Self {
            groups: 0.0,
            subgroups: 0.0,
            values: all.len() as f64,
            squares: [0.0; 3],
            group_squares: 0.0,
            subgroup_squares: 0.0,
            subgroup_squares_by_group: 0.0,
        };
        for group in groups {
            let values: Vec<f64> = group.iter().flatten().copied().collect();
            let Some(of_group) = mean(&values) else { continue };
            let n = values.len() as f64;
            sums.groups += 1.0;
            sums.group_squares += n * n;
            sums.squares[0] += n * (of_group - total).powi(2);
            for subgroup in group {
                let Some(of_subgroup) = mean(subgroup) else { continue };
                let m = subgroup.len() as f64;
                sums.subgroups += 1.0;
                sums.subgroup_squares += m * m;
                sums.subgroup_squares_by_group += m * m / n;
                sums.squares[1] += m * (of_subgroup - of_group).powi(2);
                sums.squares[2] += subgroup.iter().map(|value| (value - of_subgroup).powi(2)).sum::<f64>();
            }
        }
        Some(sums)
    }
}

/// Variances by level, from the outermost on; negative estimates are 0. Levels without repetition cannot be separated
/// from the next one: with one value per subgroup their variances are one component, with one subgroup per group those
/// of the outer two.
///
/// Degenerate cases: fewer than two groups, or a value that is not finite, gives none.
pub fn components(groups: &Nested) -> Vec<Component> {
    let Some(sums) = Sums::of(groups).filter(|sums| sums.groups >= 2.0) else { return Vec::new() };
    let (between, among, within) =
        (sums.groups - 1.0, sums.subgroups - sums.groups, sums.values - sums.subgroups);
    let [of_groups, of_subgroups, of_values] = sums.squares;
    let component =
        |levels: &[Level], variance: f64| Component { levels: levels.to_vec(), variance: variance.max(0.0) };
    let group_share = sums.values - sums.group_squares / sums.values;
    match (among > 0.0, within > 0.0) {
        (true, true) => {
            let value = of_values / within;
            let subgroup = (of_subgroups - among * value) / (sums.values - sums.subgroup_squares_by_group);
            let mixed = sums.subgroup_squares_by_group - sums.subgroup_squares / sums.values;
            let group = (of_groups - between * value - mixed * subgroup.max(0.0)) / group_share;
            vec![
                component(&[Level::Group], group),
                component(&[Level::Subgroup], subgroup),
                component(&[Level::Value], value),
            ]
        }
        // One repetition at either of the inner levels: one-way analysis by groups.
        (true, false) | (false, true) => {
            let inner = (of_subgroups + of_values) / (among + within);
            let group = (of_groups - between * inner) / group_share;
            match among > 0.0 {
                true => vec![
                    component(&[Level::Group], group),
                    component(&[Level::Subgroup, Level::Value], inner),
                ],
                false => vec![
                    component(&[Level::Group, Level::Subgroup], group),
                    component(&[Level::Value], inner),
                ],
            }
        }
        (false, false) => {
            vec![component(&[Level::Group, Level::Subgroup, Level::Value], of_groups / between)]
        }
    }
}

/// Share of the variance of a group's mean (of the means of its subgroups) that is the group's own: the ends of two
/// one-sided intervals at level 1 − `alpha` each, from the mean squares of unweighted means. Without several subgroups
/// in any group the values are taken as subgroups.
///
/// Exact if all groups have as many subgroups and values. Degenerate cases: fewer than two groups, or no repetition
/// within any, gives `None`; for groups without variance within, all of the variance is their own.
pub fn own_share(groups: &Nested, alpha: f64) -> Option<(f64, f64)> {
    let means = |group: &Vec<Vec<f64>>| -> Option<Vec<f64>> {
        group.iter().map(|subgroup| Some(summary(subgroup)?.mean)).collect()
    };
    let mut parts: Vec<Vec<f64>> = groups.iter().map(means).collect::<Option<_>>()?;
    if parts.iter().all(|group| group.len() < 2) {
        parts = groups.iter().map(|group| group.concat()).collect();
    }
    let of_parts: Vec<_> = parts.iter().map(|group| summary(group)).collect::<Option<_>>()?;
    let within_degrees: f64 = of_parts.iter().map(|part| (part.n - 1) as f64).sum();
    let between = summary(&of_parts.iter().map(|part| part.mean).collect::<Vec<_>>())?;
    if between.n < 2 || within_degrees < 1.0 {
        return None;
    }
    let squares: f64 = of_parts.iter().map(|part| (part.n - 1) as f64 * part.sd.powi(2)).sum();
    let inverse: f64 = of_parts.iter().map(|part| 1.0 / part.n as f64).sum::<f64>() / between.n as f64;
    let within = squares / within_degrees * inverse;
    if within == 0.0 {
        return (between.sd > 0.0).then_some((1.0, 1.0));
    }
    let ratio = between.sd.powi(2) / within;
    let degrees = ((between.n - 1) as f64, within_degrees);
    let share = |quantile: f64| (1.0 - quantile / ratio).clamp(0.0, 1.0);
    let [upper, lower] = [1.0 - alpha, alpha].map(|p| f_quantile(p, degrees.0, degrees.1));
    Some((share(upper?), share(lower?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variances(groups: &Nested) -> Vec<f64> {
        components(groups).iter().map(|component| component.variance).collect()
    }

    #[test]
    fn balanced_components_worked_by_hand() {
        // Two groups of two subgroups of two values. Values differ by 2 in each subgroup: 2 a subgroup, mean square 8 / 4.
        // Subgroup means are 1, 3 and 11, 13: squares 2·(1+1)·2 = 8, mean square 4, so (4 − 2) / 2 = 1. Group means 2 and
        // 12: squares 4·(25+25) = 200, mean square 200, so (200 − 2 − 2·1) / 4 = 49.
        let groups = vec![vec![vec![0.0, 2.0], vec![2.0, 4.0]], vec![vec![10.0, 12.0], vec![12.0, 14.0]]];
        let got = variances(&groups);
        assert!([49.0, 1.0, 2.0].iter().zip(&got).all(|(want, got)| (want - got).abs() < 1e-12), "{got:?}");
        // Mean squares of means: groups 50, subgroups 2 / 2 = 1. F(0.95; 1, 2) = 18.513.
        let (low, high) = own_share(&groups, 0.05).unwrap();
        assert!((low - (1.0 - 18.513 / 50.0)).abs() < 1e-4 && high > 0.999 && high < 1.0, "{low} {high}");
    }

    #[test]
    fn levels_without_repetition_are_one_component() {
        let of = |groups: &Nested| components(groups).into_iter().map(|one| one.levels).collect::<Vec<_>>();
        use Level::{Group, Subgroup, Value};
        assert_eq!(of(&[vec![vec![1.0], vec![2.0]], vec![vec![3.0]]]), [vec![Group], vec![Subgroup, Value]]);
        assert_eq!(of(&[vec![vec![1.0, 2.0]], vec![vec![3.0]]]), [vec![Group, Subgroup], vec![Value]]);
        assert_eq!(of(&[vec![vec![1.0]], vec![vec![3.0]]]), [vec![Group, Subgroup, Value]]);
        assert_eq!(variances(&[vec![vec![1.0]], vec![vec![3.0]]]), [2.0]);
        assert!(of(&[vec![vec![1.0, 2.0]]]).is_empty() && of(&[]).is_empty());
        assert_eq!(own_share(&[vec![vec![1.0]], vec![vec![3.0]]], 0.05), None);
    }

    #[test]
    fn unbalanced_components_are_unbiased() {
        use crate::Normal;
        let shapes: [&[usize]; 5] = [&[2, 1], &[1], &[3, 2], &[2, 2], &[1, 1, 2]];
        let mut random = Normal::new(1992);
        let studies = 4000;
        let mut sums = [0.0; 3];
        for _ in 0..studies {
            let groups: Vec<Vec<Vec<f64>>> = shapes
                .iter()
                .map(|boots| {
                    let group = 3.0 * random.draw();
                    let subgroup = |values: &usize| {
                        let level = group + 2.0 * random.draw();
                        (0..*values).map(|_| level + random.draw()).collect()
                    };
                    boots.iter().map(subgroup).collect()
                })
                .collect();
            for (sum, variance) in sums.iter_mut().zip(variances(&groups)) {
                *sum += variance / f64::from(studies);
            }
        }
        println!("components of 9, 4 and 1: {sums:?}");
        // Estimates below 0 are 0, which adds a little to those that are close to it.
        for (got, truth) in sums.iter().zip([9.0, 4.0, 1.0]) {
            assert!((got / truth - 1.0).abs() < 0.08, "{got}, not {truth}");
        }
    }
}
