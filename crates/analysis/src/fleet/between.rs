//! Kinds of machines against each other: Welch's t on machine means, all pairs and rows together.

use super::judged::{Between, MIN_MACHINES};
use super::machines::{Machine, Series};
use super::types::Kind;
use crate::estimate::{Rule, judge as judge_family};
use threadwise_statistics::{MeanEstimate, welch};

/// Ratios between all pairs of kinds that have intervals, of all rows together; those of each row.
pub(super) fn judge_between(
    rows: &[Vec<Series>],
    by_kind: &[(Kind, Vec<Machine<'_>>)],
    rule: Rule,
) -> Vec<Vec<Between>> {
    let has_interval = |series: &Series| series.nodes.len() >= MIN_MACHINES;
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (row, of_kinds) in rows.iter().enumerate() {
        let known: Vec<usize> = (0..of_kinds.len()).filter(|at| has_interval(&of_kinds[*at])).collect();
        for (at, below) in known.iter().enumerate() {
            places.extend(known[at + 1..].iter().map(|top| (row, *top, *below)));
        }
    }
    let mean = |(row, top, below): &(usize, usize, usize)| {
        difference(&rows[*row][*top].means(), &rows[*row][*below].means())
    };
    let means: Vec<Option<MeanEstimate>> = places.iter().map(mean).collect();
    let family: Vec<_> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge_family(&family, rule).into_iter();
    let mut between: Vec<Vec<Between>> = vec![Vec::new(); rows.len()];
    for ((row, top, below), mean) in places.into_iter().zip(means) {
        let ratio = mean.and_then(|_| judged.next());
        let name = |at: usize| by_kind[at].0.name.clone();
        between[row].extend(ratio.map(|ratio| Between { kind: name(top), other: name(below), ratio }));
    }
    between
}

/// The difference of the means of two kinds' machines, by Welch's t (Biometrika 34, 1947). Its degrees of freedom are at
/// most (1 + m/n) · (m − 1) for m machines of one kind and n ≥ m of the other. Where three machines that spread much happen
/// to lie close together Welch's estimate has too many; m − 1 would always be safe (Mickey, Brown, Annals of Mathematical
/// Statistics 37, 1966), and with as many machines on both sides the bound is the most that Welch has. `None` without a
/// machine.
pub fn difference(top: &[f64], below: &[f64]) -> Option<MeanEstimate> {
    let (fewer, more) = (top.len().min(below.len()) as f64, top.len().max(below.len()) as f64);
    let mean = welch(top, below)?;
    let most = (1.0 + fewer / more) * (fewer - 1.0);
    Some(MeanEstimate { degrees: mean.degrees.min(most), ..mean })
}
