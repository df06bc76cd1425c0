//! Families of ratios: each with its t interval over blocks, judged together.
//!
//! Sources: Student 1908 for the interval, Holm 1979 for the family, docs/METHODOLOGY.md for the
//! floor.

use crate::estimate::judge;
use crate::statistics::MeanEstimate;
use crate::{Interval, Ratio};

/// One ratio before it is judged: d per block, oriented so that above 0 is a ratio above 1.
pub struct Member<K> {
    /// What it is of.
    pub key: K,
    /// The mean of d.
    pub mean: MeanEstimate,
    /// A/A floor of the same quantity, in logarithms; `None` where it is unknown.
    pub floor: Option<f64>,
}

impl<K> Member<K> {
    /// A member from d per block and that of A′ over A; `None` without a block.
    pub fn new(key: K, d: &[f64], twins: &[f64], alpha: f64) -> Option<Self> {
        Some(Self { key, mean: MeanEstimate::of(d)?, floor: floor(twins, alpha) })
    }
}

/// max(|low|, |high|) of the A/A interval; `None` without one that has ends.
pub fn floor(twins: &[f64], alpha: f64) -> Option<f64> {
    let (low, high) = MeanEstimate::of(twins)?.interval(alpha);
    let floor = low.abs().max(high.abs());
    floor.is_finite().then_some(floor)
}

/// Judges a family: every ratio with its plain interval, and whether it is an effect among all.
pub fn ratios<K>(members: Vec<Member<K>>, alpha: f64) -> Vec<(K, Ratio)> {
    let family: Vec<(MeanEstimate, f64)> =
        members.iter().map(|member| (member.mean, member.floor.unwrap_or(f64::INFINITY))).collect();
    let judged = judge(&family, alpha);
    let each = members.into_iter().zip(judged);
    each.map(|(member, judgement)| {
        let (low, high) = member.mean.interval(alpha);
        let ratio = Ratio {
            value: member.mean.mean.exp(),
            low: low.exp(),
            high: high.exp(),
            blocks: member.mean.n as u32,
            effect: judgement.effect,
            floor: member.floor.map(f64::exp),
        };
        (member.key, ratio)
    })
    .collect()
}

/// A geometric mean over blocks of times and rates, given as logarithms.
pub fn geometric(logs: &[f64], scale: f64, unit: &str, alpha: f64) -> Option<Interval> {
    let mean = MeanEstimate::of(logs)?;
    let (low, high) = mean.interval(alpha);
    let [mean, low, high] = [mean.mean, low, high].map(|log| log.exp() * scale);
    Some(Interval { mean, low, high, unit: unit.to_owned() })
}

/// An arithmetic mean over blocks of what may be 0; its interval ends at 0.
pub fn arithmetic(values: &[f64], unit: &str, alpha: f64) -> Option<Interval> {
    let mean = MeanEstimate::of(values)?;
    let (low, high) = mean.interval(alpha);
    Some(Interval { mean: mean.mean, low: low.max(0.0), high, unit: unit.to_owned() })
}

/// d with the other sign: a ratio of times becomes one of speeds.
pub fn negated(d: Vec<f64>) -> Vec<f64> {
    d.into_iter().map(|d| -d).collect()
}
