//! Families of ratios: each with its t interval over blocks, judged together.
//!
//! Totals are few, and each has to hold: Holm's procedure. Single queries are many, of which some will be named: Benjamini
//! and Hochberg's, with variances shrunk across the queries of a comparison (`statistics::moderated`).
//! Sources: Student 1908, Smyth 2004, Holm 1979, Benjamini, Hochberg 1995, docs/METHODOLOGY.md ("Queries").

use crate::Ratio;
use crate::estimate::{Rule, judge, judge_many};
use threadwise_statistics::{MeanEstimate, correlation, moderated};

/// One ratio before it is judged: d per block, oriented so that above 0 is a ratio above 1.
pub struct Member<K> {
    /// What it is of.
    pub key: K,
    /// The mean of d.
    pub mean: MeanEstimate,
    /// What A/A showed of the same quantity, in logarithms; `None` where it is unknown.
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

/// Judges a family: every ratio with its plain interval, and what may be said of it among all.
pub fn ratios<K>(members: Vec<Member<K>>, rule: Rule) -> Vec<(K, Ratio)> {
    let family: Vec<(MeanEstimate, Option<f64>)> =
        members.iter().map(|member| (member.mean, member.floor)).collect();
    members.into_iter().map(|member| member.key).zip(judge(&family, rule)).collect()
}

/// A query of one comparison, before it is judged beside the others.
pub struct Single<K> {
    /// What it is of.
    pub key: K,
    /// d by block, oriented so that above 0 is a ratio above 1.
    pub d: Vec<f64>,
    /// The same of A′ over A.
    pub twins: Vec<f64>,
}

/// The queries of one comparison that have a block, with one coefficient for the correlation of blocks and variances
/// shrunk across them.
pub fn singles<K>(queries: Vec<Single<K>>, alpha: f64) -> Vec<Member<K>> {
    let every: Vec<&[f64]> = queries.iter().flat_map(|query| [query.d.as_slice(), &query.twins]).collect();
    let common = correlation::common(&every);
    let (known, means): (Vec<Single<K>>, Vec<MeanEstimate>) = queries
        .into_iter()
        .filter_map(|query| {
            let mean = MeanEstimate::correlated(&query.d, correlation::of_one(&query.d, common))?;
            Some((query, mean))
        })
        .unzip();
    let members = known.into_iter().zip(moderated(&means));
    members.map(|(query, mean)| Member { key: query.key, mean, floor: floor(&query.twins, alpha) }).collect()
}

/// Judges the queries of one comparison.
pub fn query_ratios<K>(members: Vec<Member<K>>, rule: Rule) -> Vec<(K, Ratio)> {
    let family: Vec<(MeanEstimate, Option<f64>)> =
        members.iter().map(|member| (member.mean, member.floor)).collect();
    members.into_iter().map(|member| member.key).zip(judge_many(&family, rule)).collect()
}

/// d with the other sign: a ratio of times becomes one of speeds.
pub fn negated(d: Vec<f64>) -> Vec<f64> {
    d.into_iter().map(|d| -d).collect()
}
