//! Changes of activities against the baseline: pairs of one block, all of a question judged together.
//!
//! Method and sources: `estimate::change`; docs/METHODOLOGY.md, "Changes of what is not a rate".

use super::sums::Sums;
use crate::estimate::{Change, paired, paired_difference};
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
        all.map(|one| one.map(|one| one.in_unit(unit))).collect()
    }
}
