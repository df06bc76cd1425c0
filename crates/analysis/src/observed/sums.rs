//! Sums of counts by statement, unit and stratum; contrasts of units from them.

use super::plan::{Design, Plan};
use std::collections::{BTreeMap, HashMap};
use threadwise_observed::Count;

/// Calls and their time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) time_ns: u64,
}

impl Sum {
    fn add(&mut self, calls: u64, time_ns: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.time_ns = self.time_ns.saturating_add(time_ns);
    }

    /// The logarithm of the time a call in nanoseconds; `None` without any.
    fn log(self) -> Option<f64> {
        (self.calls > 0 && self.time_ns > 0).then(|| (self.time_ns as f64 / self.calls as f64).ln())
    }
}

/// What a statement did in each unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct OfStatement {
    /// By unit, then by stratum.
    units: BTreeMap<u32, BTreeMap<u32, Sum>>,
    /// On each side.
    pub(super) sides: [Sum; 2],
}

/// Sums of all statements.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums {
    pub(super) statements: HashMap<u32, OfStatement>,
}

impl Sums {
    /// Adds a count of an interval.
    pub fn add(&mut self, plan: &Plan, interval: usize, count: &Count<u32>) {
        let Some((unit, stratum)) = plan.places.get(interval).copied().flatten() else { return };
        let side = plan.units[unit as usize].side;
        let sums = self.statements.entry(count.statement).or_default();
        sums.sides[side].add(count.calls, count.time_ns);
        sums.units.entry(unit).or_default().entry(stratum).or_default().add(count.calls, count.time_ns);
    }
}

/// Logarithms of the ratio of the second state to the first: of blocks, or of units on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Series {
    /// One of each block.
    Blocks(Vec<f64>),
    /// Of units before and after, each against what the first side has in its strata.
    Sides([Vec<f64>; 2]),
}

impl OfStatement {
    /// Its contrasts by a plan's design.
    pub(super) fn series(&self, plan: &Plan) -> Series {
        match plan.design {
            Design::Turns => {
                let blocks = (0..plan.units.len() as u32 / 3).filter_map(|block| {
                    let sign = if plan.units[3 * block as usize + 1].side == 1 { 1.0 } else { -1.0 };
                    Some(sign * self.middle_over_ends(3 * block)?)
                });
                Series::Blocks(blocks.collect())
            }
            Design::Units(_) => Series::Sides(self.sides(plan)),
        }
    }

    /// The middle one of three units against both of its neighbours: what grows steadily cancels.
    fn middle_over_ends(&self, first: u32) -> Option<f64> {
        let before = self.over(first + 1, first)?;
        let after = self.over(first + 1, first + 2)?;
        Some(f64::midpoint(before, after))
    }

    /// The logarithm of the ratio of times a call of two units, over the strata that both have. A stratum counts as much
    /// as its smaller number of calls lets it (the harmonic mean of both).
    fn over(&self, top: u32, below: u32) -> Option<f64> {
        let (top, below) = (self.units.get(&top)?, self.units.get(&below)?);
        let both = top.iter().filter_map(|(stratum, top)| {
            let below = below.get(stratum)?;
            let weight = 1.0 / (1.0 / top.calls as f64 + 1.0 / below.calls as f64);
            Some((weight, top.log()? - below.log()?))
        });
        weighted(both)
    }

    /// Units of both sides, each against the mean of the first side's other units in the same strata: one that is alone
    /// in a stratum says nothing of how units scatter.
    fn sides(&self, plan: &Plan) -> [Vec<f64>; 2] {
        let of_side =
            |side: usize| self.units.iter().filter(move |(unit, _)| plan.units[**unit as usize].side == side);
        let mut reference: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (stratum, sum) in of_side(0).flat_map(|(_, strata)| strata) {
            if let Some(log) = sum.log() {
                let (total, count) = reference.entry(*stratum).or_default();
                *total += log;
                *count += 1.0;
            }
        }
        let shared = |stratum: &u32| of_side(1).any(|(_, strata)| strata.contains_key(stratum));
        reference.retain(|stratum, (_, count)| *count > 1.0 && shared(stratum));
        let unit = |strata: &BTreeMap<u32, Sum>, side: usize| {
            let known = strata.iter().filter_map(|(stratum, sum)| {
                let (total, count) = *reference.get(stratum)?;
                let log = sum.log()?;
                let others = if side == 0 { (total - log) / (count - 1.0) } else { total / count };
                Some((sum.calls as f64, log - others))
            });
            weighted(known)
        };
        [0, 1].map(|side| of_side(side).filter_map(|(_, strata)| unit(strata, side)).collect())
    }
}

/// The weighted mean; `None` without a value.
fn weighted(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (weights, sum) =
        values.fold((0.0, 0.0), |(weights, sum), (weight, value)| (weights + weight, sum + weight * value));
    (weights > 0.0).then(|| sum / weights)
}
