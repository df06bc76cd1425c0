//! Changes of activities against the baseline, paired by block; all changes of one question are judged together.
//!
//! Method and sources: `estimate::judge`; docs/METHODOLOGY.md, "Changes of what is not a rate".

use super::sums::Sums;
use crate::estimate::sides::Sides;
use crate::estimate::{Rule, paired, paired_difference};
use crate::{Direction, Ratio};
use threadwise_study::Study;

/// The runs of a study by treatment and block, and what they are judged with.
pub(super) struct Pairs<'a> {
    /// The study.
    pub study: &'a Study,
    /// The usable run of each treatment in each block.
    pub by_block: &'a [Vec<Option<&'a Sums>>],
    /// 1 less the level of intervals.
    pub alpha: f64,
}

impl Pairs<'_> {
    /// Every compared treatment with its group's baselines.
    pub fn compared(&self) -> Vec<Sides> {
        self.study.groups().into_iter().flat_map(|group| Sides::of_group(self.study, group)).collect()
    }

    /// The differences of the blocks in which all sides have a value, in block order.
    pub fn differences(
        &self,
        Sides { top, below }: &Sides,
        value: impl Fn(&Sums) -> Option<f64>,
    ) -> Vec<f64> {
        let of_block = |block: usize| {
            let side = |at: usize| value(self.by_block[at][block]?);
            let baselines: Option<Vec<f64>> = below.iter().map(|at| side(*at)).collect();
            paired_difference(side(*top)?, &baselines?)
        };
        (0..self.by_block[*top].len()).filter_map(of_block).collect()
    }

    /// Judges a family of changes in this unit and reports every change, however small.
    pub fn changes(&self, series: &[Vec<f64>], twins: &[Vec<f64>], unit: &'static str) -> Vec<Option<Ratio>> {
        let rule = Rule { margin: 0.0, alpha: self.alpha, direction: Direction::Neither };
        let judged = paired(series, twins, rule).into_iter();
        judged.map(|one| one.map(|one| Ratio { unit, ..one })).collect()
    }
}
