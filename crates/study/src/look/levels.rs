//! What looks are judged by: lines of siblings, and the width of a free core.

use super::Look;
use std::collections::BTreeMap;

/// Longest time of one move of a line between siblings. In the results of 27 machines with SMT that come with
/// core-to-core-latency (<https://github.com/nviennot/core-to-core-latency>) 706 pairs of siblings took at most
/// 13.8 ns; of the 83,104 other pairs four were below 14.5 ns, all of one machine whose results are noisy, and
/// the next took 15.4 ns.
pub const SIBLINGS_AT_MOST_NS: f64 = 14.5;

/// The lines of siblings and the others have to be this far apart, as a ratio, in the looks themselves. On 26
/// of the 27 machines above they are: by 1.56 and more.
const VALLEY: f64 = 1.5;

/// Adds per chain step that only a free core reaches.
///
/// x86-64 cores with SMT add 4 (Skylake, Zen to Zen 4), 5 (Golden Cove) or 6 (Zen 5) independent
/// registers a cycle (Fog, *The microarchitecture of Intel, AMD and VIA CPUs*); half of the widest is
/// 3, and loop overhead leaves 3.8 of the narrowest.
pub const FREE_ADDS: f64 = 3.4;

/// Below this share of a free core's width the sibling was busy: half way between a free core and one whose
/// sibling takes 4 tenths.
pub const BUSY_BELOW: f64 = 0.8;

/// Values within this share of each other are one level.
const SAME_LEVEL: f64 = 0.94;

/// One line in so many may be odd on each side of the gap, since an interrupt may fall into every batch.
const ODD: usize = 100;

/// Levels of one machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    /// A line that takes no longer is one between siblings, nanoseconds; `None` where the looks leave no gap
    /// there.
    pub siblings_ns: Option<f64>,
    /// Adds per chain step of each logical CPU while its core is free, as far as the looks show it.
    pub free_adds: BTreeMap<u32, f64>,
}

impl Levels {
    /// From all looks of a study.
    pub fn of<'l>(looks: impl IntoIterator<Item = &'l Look>) -> Self {
        let (mut lines_ns, mut adds) = (Vec::new(), BTreeMap::<u32, Vec<f64>>::new());
        for look in looks {
            lines_ns.extend(look.pairs.iter().filter_map(|pair| pair.line_ns));
            for seen in &look.cpus {
                adds.entry(seen.cpu).or_default().extend(seen.adds_per_step);
            }
        }
        let free_adds = adds.iter().filter_map(|(&cpu, adds)| Some((cpu, free_adds(adds)?))).collect();
        Self { siblings_ns: siblings_ns(lines_ns), free_adds }
    }
}

/// The level of siblings in lines (nanoseconds a move); `None` where they leave no gap there.
pub(super) fn siblings_ns(lines_ns: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut near, mut far): (Vec<f64>, Vec<f64>) =
        lines_ns.into_iter().partition(|line_ns| *line_ns <= SIBLINGS_AT_MOST_NS);
    near.sort_by(|a, b| b.total_cmp(a));
    far.sort_by(f64::total_cmp);
    let edge = |sorted: &[f64]| sorted.get(sorted.len() / ODD).copied();
    let is_gap = match (edge(&near), edge(&far)) {
        (Some(low), Some(high)) => high >= VALLEY * low,
        _ => true,
    };
    is_gap.then_some(SIBLINGS_AT_MOST_NS)
}

/// Adds per chain step of a logical CPU whose core is free, from many looks at it; `None` where it never
/// had a width that only a free core has.
pub(super) fn free_adds(adds_per_step: &[f64]) -> Option<f64> {
    best_level(adds_per_step).filter(|best| *best >= FREE_ADDS)
}

/// The highest level that several values agree on: a single fluke is none, and neither does it take
/// more than one value in fifty to make one, since a co-runner may be busy nearly all the time.
pub fn best_level(values: &[f64]) -> Option<f64> {
    let mut falling = values.to_vec();
    falling.sort_by(|a, b| b.total_cmp(a));
    let together = (falling.len() / 50).max(4);
    let level = falling.windows(together).find(|run| run[together - 1] >= SAME_LEVEL * run[0])?;
    let (above, below) = (level[(together - 1) / 2], level[together / 2]);
    Some(f64::midpoint(above, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Option<f64> = Some(SIBLINGS_AT_MOST_NS);

    #[test]
    fn lines_between_siblings_and_others_take_the_level_away() {
        assert_eq!(siblings_ns([60.0, 61.0, 55.0]), LEVEL);
        assert_eq!(siblings_ns([60.0, 6.9, 7.8]), LEVEL);
        assert_eq!(siblings_ns([7.0, 7.5]), LEVEL);
        assert_eq!(siblings_ns([60.0, 7.0, 14.0, 16.0]), None);
        let with_odd_ones = |odd: usize| (0..200).map(move |at| if at < odd { 16.0 } else { 60.0 });
        assert_eq!(siblings_ns(with_odd_ones(2).chain([14.0])), LEVEL);
        assert_eq!(siblings_ns(with_odd_ones(3).chain([14.0])), None);
    }

    #[test]
    fn the_best_level_is_no_fluke_and_may_be_rare() {
        let mut values = vec![2.5; 95];
        values.push(9.0);
        assert!((best_level(&values).unwrap() - 2.5).abs() < 1e-9);
        values.extend([5.0, 4.95, 5.05, 4.9]);
        assert!((best_level(&values).unwrap() - 4.975).abs() < 1e-9);
        assert_eq!(best_level(&[5.0, 5.0, 5.0]), None);
    }

    #[test]
    fn a_core_that_is_never_free_has_no_level() {
        let mut adds = vec![2.4; 19];
        assert_eq!(free_adds(&adds), None);
        adds.extend([4.4; 5]);
        assert_eq!(free_adds(&adds), Some(4.4));
        assert_eq!(free_adds(&[]), None);
    }
}
