//! Changes of activities against the baseline: pairs of one block, all of a question judged together.
//!
//! Method and sources: `estimate::paired`; docs/METHODOLOGY.md, "Changes of what is not a rate".

use super::sums::Sums;
use super::types::Change;
use crate::Interval;
use crate::estimate::{Paired, paired, paired_difference};
use threadwise_study::{Role, Study};

/// The runs of a study by treatment and block, and what they are judged with.
pub(super) struct Pairs<'a> {
    /// The study.
    pub study: &'a Study,
    /// Of each treatment its usable run in each block.
    pub by_block: &'a [Vec<Option<&'a Sums>>],
    /// 1 less the level of intervals.
    pub alpha: f64,
}

impl Pairs<'_> {
    /// Each compared treatment with the baselines of its group, where it has any.
    pub fn compared(&self) -> Vec<(usize, Vec<usize>)> {
        let all = (0..self.by_block.len()).filter(|at| self.role(*at) == Role::Compared);
        all.map(|at| (at, self.in_group(at, |role| role != Role::Compared)))
            .filter(|(_, below)| !below.is_empty())
            .collect()
    }

    /// A′ and A of each group that has both.
    pub fn twins(&self) -> Vec<(usize, usize)> {
        let all = (0..self.by_block.len()).filter(|at| self.role(*at) == Role::BaselineTwin);
        all.filter_map(|at| Some((at, *self.in_group(at, |role| role == Role::Baseline).first()?))).collect()
    }

    fn role(&self, at: usize) -> Role {
        self.study.treatments[at].role
    }

    fn in_group(&self, at: usize, has: fn(Role) -> bool) -> Vec<usize> {
        let group = &self.study.treatments[at].group;
        let members = (0..self.by_block.len()).filter(|one| self.study.treatments[*one].group == *group);
        members.filter(|one| has(self.role(*one))).collect()
    }

    /// d of every block in which all sides have a value.
    pub fn differences(&self, top: usize, below: &[usize], value: impl Fn(&Sums) -> Option<f64>) -> Vec<f64> {
        let of_block = |block: usize| {
            let side = |at: usize| value(self.by_block[at][block]?);
            let baselines: Option<Vec<f64>> = below.iter().map(|at| side(*at)).collect();
            paired_difference(side(top)?, &baselines?)
        };
        (0..self.by_block[top].len()).filter_map(of_block).collect()
    }

    /// The changes of a family, in its order.
    pub fn changes(&self, series: &[Vec<f64>], twins: &[Vec<f64>], unit: &str) -> Vec<Option<Change>> {
        let all = paired(series, twins, self.alpha).into_iter();
        all.map(|one| one.map(|one| Change::of(&one, unit))).collect()
    }
}

impl Change {
    /// A change that was judged with others, in its unit.
    pub(crate) fn of(one: &Paired, unit: &str) -> Self {
        Self {
            value: Interval { mean: one.mean.mean, low: one.low, high: one.high, unit: unit.to_owned() },
            adjusted_low: one.adjusted_low,
            adjusted_high: one.adjusted_high,
            blocks: one.mean.n as u32,
            p_t: one.mean.p(),
            adjusted_p: one.adjusted_p,
            family: one.family as u32,
            correlation: one.mean.correlation,
            shown: one.is_shown(),
        }
    }

    /// A difference of logarithms as a ratio.
    pub(crate) fn of_logarithms(self) -> Self {
        let Interval { mean, low, high, .. } = self.value;
        Self {
            value: Interval { mean: mean.exp(), low: low.exp(), high: high.exp(), unit: "ratio".to_owned() },
            adjusted_low: self.adjusted_low.exp(),
            adjusted_high: self.adjusted_high.exp(),
            ..self
        }
    }
}
