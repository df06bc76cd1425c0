//! Families of ratios: each with its t interval over blocks, judged together.
//!
//! Sources: Student 1908 for the interval, Holm 1979 for the family, docs/METHODOLOGY.md for the
//! floor.

use crate::estimate::judge;
use crate::statistics::MeanEstimate;
use crate::{Direction, Ratio};

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

/// Judges a family: every ratio with its plain interval, and whether it is an effect among all; `target` is the
/// half-width from which on a ratio is conclusive.
pub fn ratios<K>(
    members: Vec<Member<K>>,
    direction: Direction,
    (target, alpha): (f64, f64),
) -> Vec<(K, Ratio)> {
    let floor = |member: &Member<K>| member.floor.unwrap_or(f64::INFINITY);
    let family: Vec<(MeanEstimate, f64)> =
        members.iter().map(|member| (member.mean, floor(member))).collect();
    let judged = judge(&family, alpha).into_iter().zip(family);
    members
        .into_iter()
        .zip(judged)
        .map(|(member, (judgement, (mean, floor)))| {
            (member.key, judgement.ratio(&mean, floor, direction, (target, alpha)))
        })
        .collect()
}

/// d with the other sign: a ratio of times becomes one of speeds.
pub fn negated(d: Vec<f64>) -> Vec<f64> {
    d.into_iter().map(|d| -d).collect()
}
