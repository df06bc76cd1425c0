//! The difference of a logarithm between two states, within blocks, and its interval over blocks.
//!
//! A block compares its slices of one state with its own of the other, so that differences between blocks have no
//! effect (a fixed-effects or "within" estimator; Wooldridge, *Econometric Analysis of Cross Section and Panel Data*,
//! 2nd edition, chapter 10); the interval is Student's t over blocks.

use super::rows::Amount;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use threadwise_statistics::MeanEstimate;
use threadwise_statistics::correlation::inflation;

/// A slice, or a round, with the state that it is sorted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Block.
    pub block: u32,
    /// Compared only with units of the same stratum of the block.
    pub stratum: u8,
    /// Whether it is in the state on one core, or in the reference state.
    pub is_same: bool,
    /// The measured amount.
    pub top: Amount,
    /// The reference amount; of two, the mean of the logarithms.
    pub below: [Option<Amount>; 2],
}

/// One number of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockContrast {
    /// Block.
    pub block: u32,
    /// Logarithm in the one state less that in the other.
    pub d: f64,
    /// Information in it: harmonic count n₁n₂/(n₁ + n₂), summed over strata.
    pub weight: f64,
}

/// Sums over the units of a block, a stratum and a state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    count: u32,
    top: Amount,
    below: [Amount; 2],
}

impl Cell {
    pub(super) fn add(&mut self, unit: &Unit) {
        self.count += 1;
        self.top.add(unit.top);
        for (sum, amount) in self.below.iter_mut().zip(unit.below) {
            sum.add(amount.unwrap_or_default());
        }
    }

    pub(super) fn log_ratio(&self) -> f64 {
        let below = self.below.iter().filter(|sum| sum.time_ns > 0.0);
        let (count, sum) = below.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one.log_rate()));
        self.top.log_rate() - if count > 0.0 { sum / count } else { 0.0 }
    }
}

/// The difference between two cells and its weight; `None` if one has fewer units than `at_least`.
pub(super) fn difference(same: &Cell, other: &Cell, at_least: u32) -> Option<(f64, f64)> {
    if same.count < at_least || other.count < at_least {
        return None;
    }
    let d = same.log_ratio() - other.log_ratio();
    let (n, m) = (f64::from(same.count), f64::from(other.count));
    d.is_finite().then_some((d, n * m / (n + m)))
}

/// One number for each block that has at least `at_least` units of both states, in block order. Strata of a block are
/// weighted by their harmonic counts.
pub fn by_block(units: impl IntoIterator<Item = Unit>, at_least: u32) -> Vec<BlockContrast> {
    let mut cells: BTreeMap<(u32, u8), [Cell; 2]> = BTreeMap::new();
    for unit in units {
        cells.entry((unit.block, unit.stratum)).or_default()[usize::from(unit.is_same)].add(&unit);
    }
    let mut blocks: BTreeMap<u32, ([u32; 2], f64, f64)> = BTreeMap::new();
    for ((block, _), [other, same]) in &cells {
        let (counts, sum, weight) = blocks.entry(*block).or_default();
        counts[0] += other.count;
        counts[1] += same.count;
        if let Some((d, share)) = difference(same, other, 1) {
            *sum += d * share;
            *weight += share;
        }
    }
    let enough = |(counts, _, weight): &([u32; 2], f64, f64)| {
        counts.iter().all(|count| *count >= at_least) && *weight > 0.0
    };
    let found = blocks.into_iter().filter(|(_, sums)| enough(sums));
    found.map(|(block, (_, sum, weight))| BlockContrast { block, d: sum / weight, weight }).collect()
}

/// Mean over blocks, weighted by the information in each, with the robust standard error of such a mean (White,
/// Econometrica 48, 1980; MacKinnon, White, J. Econometrics 29, 1985, their HC1): a block with two rounds of a state
/// has less information than one with ten, and the interval holds without knowing how much less. The quantile is
/// Student's with n − 1 degrees of freedom. Positive correlation of neighbouring blocks widens it by the rule of
/// [`MeanEstimate`]. With equal weights it is [`MeanEstimate::of`].
///
/// Degenerate cases: no block gives `None`, one block an infinite interval.
pub fn pooled(blocks: &[BlockContrast]) -> Option<MeanEstimate> {
    let values: Vec<f64> = blocks.iter().map(|block| block.d).collect();
    let plain = MeanEstimate::of(&values)?;
    let total: f64 = blocks.iter().map(|block| block.weight).sum();
    let mean = blocks.iter().map(|block| block.weight * block.d).sum::<f64>() / total;
    if plain.n < 2 {
        return Some(plain);
    }
    let n = plain.n as f64;
    let squares: f64 = blocks.iter().map(|block| (block.weight * (block.d - mean)).powi(2)).sum();
    let inflation = inflation(&values, plain.correlation);
    let standard_error = (squares * n / (n - 1.0) * inflation).sqrt() / total;
    Some(MeanEstimate { mean, standard_error, ..plain })
}

/// A logarithm with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// The logarithm.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of blocks.
    pub blocks: u32,
}

impl Serialize for Contrast {
    /// As a ratio; one block has no ends.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ratio = |log: f64| log.is_finite().then(|| log.exp());
        let mut fields = to.serialize_struct("Contrast", 4)?;
        fields.serialize_field("value", &ratio(self.mean))?;
        fields.serialize_field("low", &ratio(self.low))?;
        fields.serialize_field("high", &ratio(self.high))?;
        fields.serialize_field("blocks", &self.blocks)?;
        fields.end()
    }
}

impl JsonSchema for Contrast {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Contrast".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        threadwise_document::Interval::json_schema(generator)
    }
}

impl Contrast {
    /// The t interval at level 1 − `alpha`.
    pub fn new(estimate: &MeanEstimate, alpha: f64) -> Self {
        let (low, high) = estimate.interval(alpha);
        Self { mean: estimate.mean, low, high, blocks: estimate.n as u32 }
    }

    /// Times a positive constant.
    pub fn scaled(self, by: f64) -> Self {
        Self { mean: self.mean * by, low: self.low * by, high: self.high * by, ..self }
    }

    /// Whether the interval excludes 0.
    pub fn leaves_out_0(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(block: u32, stratum: u8, is_same: bool, top: f64, below: [f64; 2]) -> Unit {
        let below = below.map(|rate| Some(Amount::rate(rate)));
        Unit { block, stratum, is_same, top: Amount::rate(top), below }
    }

    #[test]
    fn a_block_compares_sums_of_its_own_units() {
        // Same: (1 + 3) / 2 over √(1 · 4) = 1; other: 4 over √(2 · 2) = 2. Their ratio is 1/2.
        let units = [
            unit(0, 0, true, 1.0, [1.0, 4.0]),
            unit(0, 0, true, 3.0, [1.0, 4.0]),
            unit(0, 0, false, 4.0, [2.0, 2.0]),
            unit(0, 0, false, 4.0, [2.0, 2.0]),
            unit(1, 0, false, 9.0, [1.0, 1.0]),
        ];
        let blocks = by_block(units, 2);
        assert_eq!(blocks.len(), 1, "block 1 has one state");
        assert!((blocks[0].d - 0.5f64.ln()).abs() < 1e-12 && blocks[0].weight == 1.0, "{blocks:?}");
        assert_eq!(by_block(units, 3), []);
    }

    #[test]
    fn rates_are_weighted_by_time() {
        let top = |done: f64, time_ns: f64| Amount { done, time_ns };
        let side = |is_same, top| Unit { block: 0, stratum: 0, is_same, top, below: [None; 2] };
        // 12 in 4 against 2 in 1: 3 over 2. A mean of rates would be (10 + 2/3) / 2.
        let units = [side(true, top(10.0, 1.0)), side(true, top(2.0, 3.0)), side(false, top(2.0, 1.0))];
        assert!((by_block(units, 1)[0].d - 1.5f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn strata_are_compared_with_themselves() {
        // Stratum 1 is ten times as fast, and has most units of one state: a factor of 2 in both.
        let flat = |stratum, is_same, top| unit(0, stratum, is_same, top, [1.0, 1.0]);
        let mut units = vec![flat(0, true, 2.0), flat(0, false, 1.0), flat(1, false, 10.0)];
        units.extend([flat(1, true, 20.0); 9]);
        let blocks = by_block(units, 2);
        assert!((blocks[0].d - 2f64.ln()).abs() < 1e-12);
        assert!((blocks[0].weight - (0.5 + 0.9)).abs() < 1e-12);
    }

    #[test]
    fn a_pooled_mean_worked_by_hand() {
        let block = |d, weight| BlockContrast { block: 0, d, weight };
        // (1·0 + 3·4) / 4 = 3; around it 1·3 and 3·1: (9 + 9) · 2/1 = 36, root 6, over 4.
        let got = pooled(&[block(0.0, 1.0), block(4.0, 3.0)]).unwrap();
        assert_eq!((got.mean, got.standard_error, got.n), (3.0, 1.5, 2));
        let values = [0.3, 0.1, 0.25, 0.4, 0.2];
        let equal = pooled(&values.map(|d| block(d, 2.5))).unwrap();
        let plain = MeanEstimate::of(&values).unwrap();
        assert!((equal.mean - plain.mean).abs() < 1e-12);
        assert!((equal.standard_error - plain.standard_error).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
        assert_eq!(pooled(&[block(0.2, 1.0)]).unwrap().standard_error, f64::INFINITY);
    }
}
