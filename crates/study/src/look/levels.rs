//! Reference levels for looks: lines of siblings, and the width of a free core.

use super::{Alone, Look};
use std::collections::BTreeMap;

/// Longest time of one move of a line between siblings. In the results of 27 machines with SMT that come with
/// core-to-core-latency (<https://github.com/nviennot/core-to-core-latency>) 706 pairs of siblings took at most
/// 13.8 ns; of the 83,104 other pairs four were below 14.5 ns, all of one machine whose results are noisy, and
/// the next took 15.4 ns.
pub const SIBLINGS_AT_MOST_NS: f64 = 14.5;

/// Siblings may take longer by this factor where the looks themselves leave a gap above.
const SIBLINGS_MAY_TAKE: f64 = 1.1;

/// Minimum ratio between the lines of siblings and the others in the looks themselves. On 26 of the 27 machines above
/// it is 1.56 and more.
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

/// Two that share one core and run the wide kernel both have half of its width, and loop overhead of a sibling's
/// turn: 0.51 to 0.53 on AMD Zen 5, 0.56 on an Intel server, when measured. Neighbours mostly leave more.
pub const HALF_BELOW: f64 = 0.65;

/// One of two on a core that gains less than this share while the other stands still is not slowed by the other.
/// Standing still may itself use width: on a guest of an AMD EPYC server (Zen 5) two on one core had 2.03 adds a
/// step together and 2.41 while the other divided, 1.185 times as much, and never the 3.93 of a free core. Of 1,640
/// looks at two that were slowed on different cores, both gained 1.08 and more in 26.
const GAINS: f64 = 1.08;

/// Values within this share of each other are one level.
const SAME_LEVEL: f64 = 0.94;

/// Lines are ignored after more tests than this show one core with a long line.
const MISLED: usize = 1;

/// Widths are counted in bins of this share of the best level.
const BIN: f64 = 0.005;

/// Widths in the bin of the peak from which on its edge is looked for.
const ENOUGH: usize = 20;

/// So many bins with at most one width each for [`FOOT`] of the peak's lie outside of it.
const GAP: usize = 4;
const FOOT: usize = 20;

/// One line in this many may be an outlier on each side of the gap, since an interrupt may hit every batch.
const ODD: usize = 100;

/// Levels of one machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    /// Longest line between siblings, nanoseconds; `None` if the looks leave no gap there.
    pub siblings_ns: Option<f64>,
    /// Whether those that widths alone show on one core have longer lines: then lines tell nothing, and `siblings_ns`
    /// is `None`.
    pub lines_mislead: bool,
    /// The width of each logical CPU's core when it is free, as far as the looks show it.
    pub free: BTreeMap<u32, FreeWidth>,
}

/// Widths of a logical CPU whose core is free, in adds per chain step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreeWidth {
    /// The peak: what it nearly always has then.
    pub adds: f64,
    /// The edge of the peak: with less, something else used the core.
    pub from: f64,
}

impl FreeWidth {
    /// Whether a width is so small that no disturbance of a free core explains it, as a second peak close to the first
    /// might: below [`BUSY_BELOW`] of the peak.
    pub fn is_deep(&self, adds_per_step: f64) -> bool {
        adds_per_step < BUSY_BELOW * self.adds
    }
}

impl Levels {
    /// From all looks of a study.
    pub fn of<'l>(looks: impl IntoIterator<Item = &'l Look>) -> Self {
        let mut all = Vec::new();
        let (mut lines_ns, mut adds) = (Vec::new(), BTreeMap::<u32, Vec<f64>>::new());
        for look in looks {
            lines_ns.extend(look.pairs.iter().filter_map(|pair| pair.line_ns));
            for (cpu, width) in widths(look) {
                adds.entry(cpu).or_default().push(width);
            }
            all.push(look);
        }
        let free = adds.iter().filter_map(|(&cpu, adds)| Some((cpu, free_width(adds)?))).collect();
        let levels = Self { siblings_ns: siblings_ns(lines_ns), lines_mislead: false, free };
        let shown: Vec<f64> = all.into_iter().filter_map(|look| levels.line_on_one_core(look)).collect();
        levels.unless_misleading(shown)
    }

    /// Removes the level of siblings if those that widths show on one core have longer lines.
    pub(super) fn unless_misleading(self, lines_on_one_core_ns: impl IntoIterator<Item = f64>) -> Self {
        let (long, all) = lines_on_one_core_ns.into_iter().fold((0, 0), |(long, all), line_ns| {
            (long + usize::from(line_ns > SIBLINGS_AT_MOST_NS), all + 1)
        });
        // If most are short, long ones contradict their tests.
        match long > MISLED && 2 * long > all {
            true => Self { siblings_ns: None, lines_mislead: true, ..self },
            false => self,
        }
    }

    /// The line of the tested pair, if its widths show it on one core.
    pub(super) fn line_on_one_core(&self, look: &Look) -> Option<f64> {
        let (a, b, _) = self.tested(look).filter(|(.., is_with)| *is_with)?;
        look.pairs.iter().find(|pair| (pair.a, pair.b) == (a.min(b), a.max(b)))?.line_ns
    }

    /// Whether a line's length alone makes it one between siblings; `None` if lines tell nothing, or none passed.
    pub(super) fn is_near(&self, line_ns: Option<f64>) -> Option<bool> {
        Some(line_ns? <= self.siblings_ns?)
    }

    /// The result of a look's test: the two, and whether they are on one core; `None` without a test, or if the widths
    /// do not tell: both gained, but not the whole width. A neighbour may have stopped meanwhile, or standing still
    /// uses width on this processor; then lines decide.
    pub(super) fn tested(&self, look: &Look) -> Option<(u32, u32, bool)> {
        let Alone { a, b, a_adds_per_step, b_adds_per_step } = look.alone?;
        // CPUs on one core are of one kind: if one of them never had it alone, the other's width applies.
        let free = |cpu: u32, other: u32| self.free.get(&cpu).or_else(|| self.free.get(&other));
        let (free_a, free_b) = (free(a, b)?.adds, free(b, a)?.adds);
        let together = |cpu: u32| look.cpus.iter().find(|seen| seen.cpu == cpu)?.adds_per_step;
        let with = [together(a)? / free_a, together(b)? / free_b];
        let without = [a_adds_per_step / free_a, b_adds_per_step / free_b];
        let is_half = with.iter().all(|share| *share < HALF_BELOW);
        let gains_nothing = || with.iter().zip(&without).any(|(with, without)| *without < GAINS * with);
        match is_half && without.iter().all(|share| *share >= BUSY_BELOW) {
            true => Some((a, b, true)),
            // One has the whole width beside the other, or gains nothing without it.
            false if with.iter().any(|share| *share >= BUSY_BELOW) => Some((a, b, false)),
            false => gains_nothing().then_some((a, b, false)),
        }
    }
}

/// Widths in a look: of each logical CPU with all, and of two without each other.
pub(super) fn widths(look: &Look) -> impl Iterator<Item = (u32, f64)> + '_ {
    let together = look.cpus.iter().filter_map(|seen| Some((seen.cpu, seen.adds_per_step?)));
    let alone = look.alone.map(|one| [(one.a, one.a_adds_per_step), (one.b, one.b_adds_per_step)]);
    together.chain(alone.into_iter().flatten())
}

/// The level of siblings in lines (nanoseconds a move); `None` if they leave no gap there.
///
/// The gap is the widest that begins between [`SIBLINGS_AT_MOST_NS`] and [`SIBLINGS_MAY_TAKE`] times that: on a guest
/// of an AMD EPYC server lines of siblings took 10.5 to 15.4 ns, and all others 21 ns and more. If no line or every
/// line is that short, only the prior is known.
pub(super) fn siblings_ns(lines_ns: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut lines_ns: Vec<f64> = lines_ns.into_iter().collect();
    lines_ns.sort_by(f64::total_cmp);
    let count = lines_ns.len();
    let up_to = |most_ns: f64| lines_ns.partition_point(|line_ns| *line_ns <= most_ns);
    let short = up_to(SIBLINGS_AT_MOST_NS);
    if short == 0 || short == count {
        return Some(SIBLINGS_AT_MOST_NS);
    }
    let last = up_to(SIBLINGS_MAY_TAKE * SIBLINGS_AT_MOST_NS).min(count - 1);
    let edges = (short..=last)
        .map(|split| (lines_ns[split - 1 - split / ODD], lines_ns[split + (count - split) / ODD]));
    let (low, high) =
        edges.reduce(|best, edge| if edge.1 / edge.0 > best.1 / best.0 { edge } else { best })?;
    (high >= VALLEY * low).then(|| SIBLINGS_AT_MOST_NS.max(low * VALLEY.sqrt()))
}

/// The width of a logical CPU on a free core, from many looks; `None` if it never had a width that only a free core has.
///
/// A free core has the same width to 1% in nearly every look, since a piece of the kernel takes 1 µs: on a guest of an
/// AMD EPYC server 3.93 in half of the looks, and below 3.87 a session lost as much as below 3.0. So the edge is where the
/// peak ends, and not a share of it, unless nothing ends it: a neighbour that uses little fills the space below it.
pub(super) fn free_width(adds_per_step: &[f64]) -> Option<FreeWidth> {
    let best = best_level(adds_per_step).filter(|best| *best >= FREE_ADDS)?;
    let least = BUSY_BELOW * best;
    let mut counts = vec![0_usize; ((1.0 + BIN - BUSY_BELOW) / BIN).ceil() as usize];
    let bin = |adds: f64| ((adds / best - BUSY_BELOW) / BIN) as usize;
    for adds in adds_per_step.iter().filter(|adds| **adds >= least) {
        if let Some(count) = counts.get_mut(bin(*adds)) {
            *count += 1;
        }
    }
    let peak = (0..counts.len()).max_by_key(|at| counts[*at]).filter(|peak| counts[*peak] >= ENOUGH);
    let Some(peak) = peak else { return Some(FreeWidth { adds: best, from: least }) };
    let of_bin = |bin: usize| best * (BUSY_BELOW + BIN * bin as f64);
    let is_foot = |bins: &&[usize]| bins.iter().all(|count| count * FOOT <= counts[peak]);
    let foot = counts[..peak].windows(GAP).rev().position(|bins| is_foot(&bins));
    let from = foot.map_or(least, |above| of_bin(peak - above));
    let in_peak = adds_per_step.iter().copied().filter(|adds| *adds >= from && bin(*adds) <= peak + 1);
    let (sum, count) = in_peak.fold((0.0, 0.0), |(sum, count), adds| (sum + adds, count + 1.0));
    Some(FreeWidth { adds: sum / count, from })
}

/// The highest level that several values agree on. A single outlier is not a level, but one value in fifty is enough,
/// since a neighbour may be busy nearly all the time.
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
        assert_eq!(siblings_ns([60.0, 7.0, 14.0, 17.0]), None);
        assert_eq!(siblings_ns([7.0, 14.0, 15.0]), None, "nothing is far");
        assert_eq!(siblings_ns([15.4, 15.8, 16.3]), LEVEL, "nothing is near");
        let with_odd_ones = |odd: usize| (0..200).map(move |at| if at < odd { 17.0 } else { 60.0 });
        assert!(siblings_ns(with_odd_ones(2).chain([14.0])).is_some());
        assert_eq!(siblings_ns(with_odd_ones(3).chain([14.0])), None);
    }

    #[test]
    fn siblings_that_take_a_little_longer_are_still_siblings() {
        // A fifth of the lines, of which a tenth above the prior, as on a guest of an AMD EPYC server, and more.
        let near = (0..200).map(|at| 11.0 + 4.4 * f64::from(at) / 199.0);
        let far = (0..800).map(|at| 23.5 + 0.02 * f64::from(at));
        let level = siblings_ns(near.chain(far)).unwrap();
        assert!(level > 15.4 && level < 23.5, "{level}");
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
        assert_eq!(free_width(&adds), None);
        adds.extend([4.4; 5]);
        assert_eq!(free_width(&adds), Some(FreeWidth { adds: 4.4, from: BUSY_BELOW * 4.4 }), "too few");
        assert_eq!(free_width(&[]), None);
    }

    /// As on a guest of an AMD EPYC server, where a few widths lie above the peak and many far below it.
    #[test]
    fn a_free_core_is_at_its_peak_and_not_below() {
        let peak = (0..600).map(|at| 3.92 + 0.02 * f64::from(at) / 600.0);
        let above = (0..40).map(|at| 4.0 + 0.02 * f64::from(at));
        let below = (0..360).map(|at| 2.0 + 1.88 * f64::from(at) / 360.0);
        let free = free_width(&peak.chain(above).chain(below).collect::<Vec<f64>>()).unwrap();
        assert!((free.adds - 3.93).abs() < 0.02 && free.from > 3.86 && free.from < 3.92, "{free:?}");
        // A broad peak has a broad edge: 5.2 to 5.4 of 100 looks (Zen 5).
        let broad = (0..400).map(|at| 5.3 + 0.2 * (f64::from(at % 21) / 20.0 - 0.5));
        let free = free_width(&broad.chain([2.7; 100]).collect::<Vec<f64>>()).unwrap();
        assert!(free.from > 5.1 && free.from <= 5.2, "{free:?}");
        // Nothing ends it.
        let filled = (0..400).map(|at| 4.0 - 0.8 * f64::from(at) / 400.0);
        let free = free_width(&filled.collect::<Vec<f64>>()).unwrap();
        assert!(free.from <= 3.3, "{free:?}");
    }
}
