//! How many of some logical CPUs were looked at.
//!
//! A look is at 16 logical CPUs at most (`threadwise_study::looked_at`). For a treatment with more it describes only
//! those that it saw: if they were clear, the treatment need not be, and two of a treatment on one core are seen only
//! if both were looked at.

use super::states::{LookedAt, Shares};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;

/// How many of some logical CPUs were in a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Coverage {
    /// How many there are.
    pub cpus: u32,
    /// How many of them were looked at.
    pub looked_at: u32,
}

impl Coverage {
    /// Coverage of one look.
    fn new(cpus: &CpuSet, shares: &Shares) -> Self {
        let looked_at = shares.iter().filter(|(cpu, _)| cpus.contains(*cpu)).count();
        Self { cpus: cpus.len() as u32, looked_at: looked_at as u32 }
    }

    /// Whether all of them were looked at.
    pub fn is_whole(self) -> bool {
        self.looked_at >= self.cpus
    }

    /// The one with the smaller share; of equal shares the one with more logical CPUs.
    fn least(self, other: Self) -> Self {
        let share = |one: Self, two: Self| u64::from(one.looked_at) * u64::from(two.cpus);
        match share(self, other).cmp(&share(other, self)) {
            Ordering::Less => self,
            Ordering::Greater => other,
            Ordering::Equal => {
                if self.cpus >= other.cpus {
                    self
                } else {
                    other
                }
            }
        }
    }
}

/// Coverage of each slice's run by its looks: that of the look with the smallest share. `None` without looks.
pub fn of_runs<'l>(slices: impl IntoIterator<Item = &'l LookedAt<'l>>) -> Option<Coverage> {
    let of_slice = |slice: &LookedAt<'_>| {
        let cpus: CpuSet = slice.run.cpus.iter().copied().collect();
        slice.looks.iter().map(|one| Coverage::new(&cpus, &one.shares)).reduce(Coverage::least)
    };
    slices.into_iter().filter_map(of_slice).reduce(Coverage::least)
}

/// Coverage of all treatments of a block by its looks: that of the look with the smallest share. `None` without looks.
pub fn of_blocks(slices: &[LookedAt<'_>]) -> Option<Coverage> {
    let mut blocks: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for slice in slices {
        let cpus = blocks.entry(slice.run.block).or_default();
        slice.run.cpus.iter().for_each(|cpu| cpus.insert(*cpu));
    }
    let looks = slices.iter().flat_map(|slice| slice.looks.iter().map(|one| (slice.run.block, one)));
    let covered = looks.filter_map(|(block, one)| Some(Coverage::new(blocks.get(&block)?, &one.shares)));
    covered.reduce(Coverage::least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_the_smallest_share() {
        let coverage = |looked_at, cpus| Coverage { cpus, looked_at };
        assert_eq!(coverage(16, 64).least(coverage(3, 4)), coverage(16, 64));
        assert_eq!(coverage(3, 4).least(coverage(16, 64)), coverage(16, 64));
        assert_eq!(coverage(2, 2).least(coverage(16, 16)), coverage(16, 16));
        assert!(coverage(2, 2).is_whole() && !coverage(0, 1).is_whole());
    }
}
