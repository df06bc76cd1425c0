//! One comparison of a family, from its numbers by block to an estimate.
//!
//! Sources: Student 1908 (interval), Holm 1979 (family), docs/METHODOLOGY.md (floor, effect).

use super::judge::{Judgement, judge};
use crate::statistics::{MeanEstimate, sign_flip_p, variance_inflation};
use crate::{Direction, Estimate, Unflagged};
use threadwise_document::numbers::{self, counted};
use threadwise_study::study::MIN_BLOCKS;
use threadwise_study::{Comparison, Study};

/// One number per block.
#[derive(Default)]
pub struct Series {
    /// Numbers of the blocks.
    pub blocks: Vec<u32>,
    /// d of each.
    pub d: Vec<f64>,
    /// Slices without a row, which were skipped.
    pub empty_rounds: u32,
}

impl Series {
    /// Adds a block.
    pub fn push(&mut self, block: u32, d: f64) {
        self.blocks.push(block);
        self.d.push(d);
    }
}

/// What d of a block is made from.
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
    /// What is compared.
    pub comparison: &'a Comparison,
    /// Metric name.
    pub metric: &'a str,
    /// Which side of 1 is better.
    pub direction: Direction,
    /// What d is made from.
    pub source: Source,
    series: Series,
    mean: MeanEstimate,
    floor: f64,
    unflagged: Option<Unflagged>,
}

impl<'a> Member<'a> {
    /// A comparison by one metric with its numbers and the noise floor of its group; `None` without a
    /// number.
    pub fn new(
        comparison: &'a Comparison,
        (metric, direction, source): (&'a str, Direction, Source),
        series: Series,
        floor: f64,
        (flagged, alpha): (&[u32], f64),
    ) -> Option<Self> {
        let mean = MeanEstimate::of(&series.d)?;
        let unflagged = without_flagged(&series, flagged, alpha);
        Some(Self { comparison, metric, direction, source, series, mean, floor, unflagged })
    }

    fn estimate(&self, study: &Study, judgement: Judgement, alpha: f64) -> Estimate {
        Estimate {
            name: self.comparison.name.clone(),
            kind: self.comparison.kind.clone(),
            treatment: self.comparison.treatment.clone(),
            baseline: self.comparison.baseline.join(" and "),
            metric: self.metric.to_owned(),
            ratio: judgement.ratio(
                &self.mean,
                self.floor,
                self.direction,
                (study.design.target_half_width, alpha),
            ),
            unit: "ratio".to_owned(),
            method: self.method(study.design.rounds),
            p_t: self.mean.p(),
            p_sign_flip: sign_flip_p(&self.series.d, study.seed),
            lag1: self.mean.lag1,
            unflagged: self.unflagged,
        }
    }

    /// The method in words.
    fn method(&self, rounds: u32) -> String {
        let mut text = format!("t over {}", counted(self.mean.n, "block"));
        match self.source {
            Source::Percentiles => text += ", percentiles of each block's merged histograms",
            Source::Rounds => text += &format!(" of {}", counted(rounds as usize, "round")),
            Source::WholeRuns => text += " of whole runs",
        }
        text += &format!(", baseline {}", self.comparison.baseline.join(" and "));
        let inflation = variance_inflation(self.mean.n, self.mean.lag1);
        if inflation > 1.0 {
            text += &format!(", variance times {} for correlation of blocks", numbers::ratio(inflation));
        }
        if self.series.empty_rounds > 0 {
            text +=
                &format!(", {} without a row skipped", counted(self.series.empty_rounds as usize, "slice"));
        }
        text
    }
}

/// Estimates of a family, judged together, in its order.
pub fn estimates_of(study: &Study, members: &[Member<'_>], alpha: f64) -> Vec<Estimate> {
    let family: Vec<(MeanEstimate, f64)> = members.iter().map(|member| (member.mean, member.floor)).collect();
    let judged = members.iter().zip(judge(&family, alpha));
    judged.map(|(member, judgement)| member.estimate(study, judgement, alpha)).collect()
}

/// max(|low|, |high|) of an A/A interval in logarithms; infinite without A/A.
pub fn floor_of(a_a: Option<MeanEstimate>, alpha: f64) -> f64 {
    a_a.map_or(f64::INFINITY, |a_a| {
        let (low, high) = a_a.interval(alpha);
        low.abs().max(high.abs())
    })
}

/// Indices of a comparison's treatments; `None` where the study does not have one of them.
pub fn sides(study: &Study, comparison: &Comparison) -> Option<(usize, Vec<usize>)> {
    let index = |name: &String| study.treatment(name).map(|(at, _)| at);
    let below: Option<Vec<usize>> = comparison.baseline.iter().map(index).collect();
    Some((index(&comparison.treatment)?, below.filter(|below| !below.is_empty())?))
}

/// Value, interval and number of blocks without flagged ones; `None` where none was flagged or
/// fewer than half of the fewest blocks of a study remain.
fn without_flagged(series: &Series, flagged: &[u32], alpha: f64) -> Option<Unflagged> {
    let pairs = series.blocks.iter().zip(&series.d);
    let rest: Vec<f64> = pairs.filter(|(block, _)| !flagged.contains(block)).map(|(_, d)| *d).collect();
    if rest.len() == series.d.len() || rest.len() < (MIN_BLOCKS / 2) as usize {
        return None;
    }
    let mean = MeanEstimate::of(&rest)?;
    let (low, high) = mean.interval(alpha);
    Some(Unflagged { value: mean.mean.exp(), low: low.exp(), high: high.exp(), blocks: rest.len() as u32 })
}
