//! One comparison of a family, from its numbers by block to an estimate.
//!
//! Sources: Student 1908 (interval), Holm 1979 (family), docs/METHODOLOGY.md (margin, correlated blocks).

use super::judge::{Rule, judge};
use crate::{Direction, Estimate, Ratio, Unflagged};
use threadwise_document::numbers::{self, counted};
use threadwise_statistics::{MeanEstimate, correlation, sign_flip_p};
use threadwise_study::study::MIN_BLOCKS;
use threadwise_study::{Comparison, Study};

/// One number per block.
#[derive(Default)]
pub struct Series {
    /// Their numbers.
    pub blocks: Vec<u32>,
    /// d of each.
    pub d: Vec<f64>,
}

impl Series {
    /// Adds a block.
    pub fn push(&mut self, block: u32, d: f64) {
        self.blocks.push(block);
        self.d.push(d);
    }
}

/// Source of d of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The rounds of the block.
    Rounds,
    /// Percentiles of the block's merged histograms.
    Percentiles,
    /// One whole run of each side.
    WholeRuns,
}

/// One comparison of a family, before it is judged.
pub struct Member<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// Metric name.
    pub metric: &'a str,
    /// Which side of 1 is better.
    pub direction: Direction,
    /// Source of d.
    pub source: Source,
    /// Its numbers.
    pub series: Series,
    /// Lag-1 correlation of neighbouring blocks in all series of the metric.
    pub correlation: f64,
    /// The A/A result of the same quantity in the same group, in logarithms; `None` if unknown.
    pub floor: Option<f64>,
}

/// How a family is judged.
#[derive(Clone, Copy)]
pub struct Family<'a> {
    /// The study.
    pub study: &'a Study,
    /// Blocks that a covariate flags.
    pub flagged: &'a [u32],
    /// 1 less the level of intervals.
    pub alpha: f64,
}

impl Family<'_> {
    /// Estimates of comparisons, judged together, in their order.
    pub fn estimates(&self, members: &[Member<'_>]) -> Vec<Estimate> {
        let found: Vec<(&Member<'_>, MeanEstimate)> =
            members.iter().filter_map(|member| Some((member, mean(member, &member.series.d)?))).collect();
        let family: Vec<(MeanEstimate, Option<f64>)> =
            found.iter().map(|(member, mean)| (*mean, member.floor)).collect();
        let rule = Rule {
            margin: self.study.design.margin,
            alpha: self.alpha,
            direction: members.first().map(|member| member.direction).unwrap_or_default(),
        };
        let ratios = judge(&family, rule);
        found.iter().zip(ratios).map(|((member, mean), ratio)| self.estimate(member, mean, ratio)).collect()
    }

    fn estimate(&self, member: &Member<'_>, mean: &MeanEstimate, ratio: Ratio) -> Estimate {
        let comparison = member.comparison;
        Estimate {
            name: comparison.name.clone(),
            kind: comparison.kind.clone(),
            treatment: comparison.treatment.clone(),
            baseline: comparison.baseline.join(" and "),
            metric: member.metric.to_owned(),
            ratio: Ratio { direction: member.direction, ..ratio },
            method: self.method(member, mean),
            p_sign_flip: Some(sign_flip_p(&member.series.d, self.study.seed)),
            unflagged: self.without_flagged(member),
            adjusted: None,
        }
    }

    /// The method in words.
    fn method(&self, member: &Member<'_>, mean: &MeanEstimate) -> String {
        let mut text = format!("t over {}", counted(mean.n, "block"));
        match member.source {
            Source::Percentiles => text += ", percentiles of each block's merged histograms",
            Source::Rounds => {
                text += &format!(" of {}", counted(self.study.design.rounds as usize, "round"));
            }
            Source::WholeRuns => text += " of whole runs",
        }
        text += &format!(", baseline {}", member.comparison.baseline.join(" and "));
        let inflation = correlation::inflation(&member.series.d, mean.correlation);
        if inflation > 1.0 {
            text += &format!(", variance times {} for correlation of blocks", numbers::ratio(inflation));
        }
        if mean.correlation > member.correlation {
            text += " (its own, larger than the family's)";
        }
        text
    }

    /// Value, interval and number of blocks without flagged ones; `None` if none was flagged or fewer than half of the
    /// fewest blocks of a study remain.
    fn without_flagged(&self, member: &Member<'_>) -> Option<Unflagged> {
        let series = &member.series;
        let pairs = series.blocks.iter().zip(&series.d);
        let rest: Vec<f64> =
            pairs.filter(|(block, _)| !self.flagged.contains(block)).map(|(_, d)| *d).collect();
        if rest.len() == series.d.len() || rest.len() < (MIN_BLOCKS / 2) as usize {
            return None;
        }
        let mean = mean(member, &rest)?;
        Some(Unflagged { ratio: mean.as_interval(self.alpha).exp(), blocks: rest.len() as u32 })
    }
}

fn mean(member: &Member<'_>, d: &[f64]) -> Option<MeanEstimate> {
    MeanEstimate::correlated(d, correlation::of_one(d, member.correlation))
}

/// The A/A result: max(|low|, |high|) of its interval in logarithms; `None` without one that has ends.
pub fn floor_of(a_a: Option<MeanEstimate>, alpha: f64) -> Option<f64> {
    let (low, high) = a_a?.interval(alpha);
    Some(low.abs().max(high.abs())).filter(|floor| floor.is_finite())
}
