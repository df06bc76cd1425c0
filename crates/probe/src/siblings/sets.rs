//! Set tests: many logical CPUs run the wide kernel at once, and a CPU that is as fast as alone shares
//! its core with none of the others. This clears most pairs of a large machine in a few seconds.
//!
//! The CPUs are repeatedly dealt at random into parts, and each part runs as a set: group
//! testing with random pools, where an item that a clean pool held is cleared (Du and Hwang,
//! *Combinatorial Group Testing and Its Applications*, ch. 2). A slowed CPU proves nothing,
//! since a neighbour slows as well as a sibling does; pairs that are never cleared are tested pair by pair.
//! With two threads a core and random halves, 3 of 8 pairs that share nothing are cleared each time;
//! every second deal separates likely siblings and clears more.

use super::Meter;
use super::evidence::step;
use super::figures::{ALIKE, FULL, WHOLE};
use super::plan::{Plan, SET_REPEATS, deals_alone};
use super::rounds::WINDOW_NS;
use crate::bench::{ProbeError, Timing};
use crate::kernels::{Kernel, WIDE_ADDS_PER_STEP};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use threadwise_study::look::best_level;
use threadwise_study::probe::SetTest;

/// Windows of a set in which a CPU must have been on all the time to count as running in it.
const RAN_WINDOWS: usize = 5;

/// Windows of a set at full width that clear a CPU. With those above, at least 3 of [`SET_REPEATS`]
/// saw the two at the same time.
const FULL_WINDOWS: usize = 4;

/// Deals between two checks of what is cleared.
const DEALS: usize = 4;

/// Fewest threads of a core with 1 in 16 parts.
const MOST_PARTS: usize = 16;

/// Below this share of CPUs at full width, parts hold too many siblings.
const TOO_FEW_FULL: f64 = 0.25;

/// The set tests of a probe. CPUs are known by their index in the request.
pub(super) struct Sets {
    cpus: Vec<u32>,
    /// Least width of a free core, if known.
    free: Option<f64>,
    /// All widths seen of each CPU, and those in its own sets.
    widths: Vec<Vec<f64>>,
    alone: Vec<Vec<f64>>,
    measured: Vec<Measured>,
    /// Row `i` holds those that share no core with `i`.
    cleared: Vec<Vec<u64>>,
    /// Row `i` holds those that ran beside `i` without interruption.
    together: Vec<Vec<u64>>,
    /// For `i` and `j`, how many sets held both and cleared neither of the other.
    suspicion: Vec<Vec<u16>>,
}

/// One set: who ran, and each one's width in each window (`None` where it was interrupted).
struct Measured {
    members: Vec<usize>,
    widths: Vec<Vec<Option<f64>>>,
}

impl Sets {
    pub fn new(cpus: &[u32], free: Option<f64>) -> Self {
        let words = cpus.len().div_ceil(64);
        Self {
            cpus: cpus.to_vec(),
            free,
            widths: vec![Vec::new(); cpus.len()],
            alone: vec![Vec::new(); cpus.len()],
            measured: Vec::new(),
            cleared: vec![vec![0; words]; cpus.len()],
            together: vec![vec![0; words]; cpus.len()],
            suspicion: vec![vec![0; cpus.len()]; cpus.len()],
        }
    }

    /// Runs sets until every pair that can be cleared is, or the plan's time is over.
    pub fn run(
        &mut self,
        meter: &mut Meter<'_>,
        random: &mut ChaCha8Rng,
        plan: &Plan,
    ) -> Result<(), ProbeError> {
        let mut active: Vec<usize> = (0..self.cpus.len()).collect();
        if self.free.is_none() {
            // Nothing else distinguishes a free core's width from half of it.
            self.deal(meter, random, &mut active, self.cpus.len(), deals_alone(self.cpus.len()))?;
        }
        let start_s = meter.spent_s;
        self.deal(meter, random, &mut active, 1, DEALS)?;
        let (mut parts, mut idle) = (2, 0);
        while idle < 2 {
            active.retain(|&one| active_with(one, &self.cleared, self.cpus.len()));
            let before = self.pairs_left();
            if before == 0 || meter.spent_s - start_s >= plan.sets_s {
                return Ok(());
            }
            let full = self.deal(meter, random, &mut active, parts, DEALS)?;
            let more_parts = parts * 2 <= active.len().min(MOST_PARTS);
            if full < TOO_FEW_FULL && more_parts {
                parts *= 2;
            } else {
                idle = if self.pairs_left() == before { idle + 1 } else { 0 };
            }
        }
        Ok(())
    }

    /// Deals `active` into `parts` so many times, and measures all the sets in mixed order. Returns
    /// the share of CPUs at full width.
    fn deal(
        &mut self,
        meter: &mut Meter<'_>,
        random: &mut ChaCha8Rng,
        active: &mut [usize],
        parts: usize,
        deals: usize,
    ) -> Result<f64, ProbeError> {
        let mut sets = Vec::new();
        let mut suspicion = self.suspicion.clone();
        for number in 0..deals {
            active.shuffle(random);
            let size = active.len().div_ceil(parts).max(1);
            if number % 2 == 0 {
                sets.extend(active.chunks(size).map(<[usize]>::to_vec));
            } else {
                sets.extend(self.guided(active, size, &suspicion));
            }
            sets.iter().rev().take(parts).for_each(|set| self.suspect(set, &mut suspicion));
        }
        let measured = self.measure(meter, random, sets)?;
        for set in &measured {
            for (member, widths) in set.members.iter().zip(&set.widths) {
                self.widths[*member].extend(widths.iter().flatten());
                if set.members.len() == 1 {
                    self.alone[*member].extend(widths.iter().flatten());
                }
            }
        }
        let count = measured.len();
        self.measured.extend(measured);
        let full_share = self.clear(count);
        let mut suspicion = std::mem::take(&mut self.suspicion);
        for set in self.measured.iter().rev().take(count) {
            self.suspect(&set.members, &mut suspicion);
        }
        self.suspicion = suspicion;
        Ok(full_share)
    }

    /// Deals so that likely siblings are in different parts, and pairs that were in no set yet in
    /// the same. A heuristic that saves time; clearing does not depend on it.
    fn guided(&self, active: &[usize], size: usize, suspicion: &[Vec<u16>]) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); active.len().div_ceil(size)];
        for &one in active {
            let weight = |part: &Vec<usize>| -> i64 {
                let open = part.iter().filter(|&&other| !self.apart(one, other));
                open.map(|&other| match suspicion[one][other] {
                    0 => -2,
                    1 => -1,
                    often => 4 * i64::from(often),
                })
                .sum()
            };
            let free = parts.iter_mut().filter(|part| part.len() < size);
            if let Some(best) = free.min_by_key(|part| weight(part)) {
                best.push(one);
            }
        }
        parts
    }

    /// Counts the pairs of a set that are not cleared.
    fn suspect(&self, set: &[usize], suspicion: &mut [Vec<u16>]) {
        for &one in set {
            for &other in set.iter().filter(|&&other| other != one && !self.apart(one, other)) {
                suspicion[one][other] = suspicion[one][other].saturating_add(1);
            }
        }
    }

    fn measure(
        &self,
        meter: &mut Meter<'_>,
        random: &mut ChaCha8Rng,
        sets: Vec<Vec<usize>>,
    ) -> Result<Vec<Measured>, ProbeError> {
        let mut wide: Vec<Vec<Vec<Timing>>> = vec![Vec::new(); sets.len()];
        let mut chain = wide.clone();
        for _ in 0..SET_REPEATS {
            // The two windows of a set follow each other, so that the clock is the same in both.
            let mut order: Vec<usize> = (0..sets.len()).collect();
            order.shuffle(random);
            let windows = order.into_iter().flat_map(|set| [(set, Kernel::Wide), (set, Kernel::Chain)]);
            for (set, kernel) in windows {
                let cpus: Vec<u32> = sets[set].iter().map(|&member| self.cpus[member]).collect();
                let timings = meter.run(kernel, &cpus, WINDOW_NS)?;
                let seen = if kernel == Kernel::Wide { &mut wide } else { &mut chain };
                seen[set].push(timings);
            }
        }
        let measured = sets.into_iter().zip(wide.iter().zip(&chain)).map(|(members, (wide, chain))| {
            let widths = (0..members.len()).map(|position| widths(wide, chain, position)).collect();
            Measured { members, widths }
        });
        Ok(measured.collect())
    }

    /// Recomputes from all sets which CPUs are cleared, since best levels rise with more figures. Returns the
    /// share of CPUs at full width in the `last` sets.
    fn clear(&mut self, last: usize) -> f64 {
        let best = self.free_widths();
        let words = self.cpus.len().div_ceil(64);
        self.cleared = vec![vec![0; words]; self.cpus.len()];
        let (mut full_count, mut count) = (0, 0);
        let first_of_last = self.measured.len() - last.min(self.measured.len());
        for (at, set) in self.measured.iter().enumerate() {
            let (ran, full) = set.verdict(&best);
            if at >= first_of_last {
                full_count += full.len();
                count += set.members.len();
            }
            let mut ran_bits = vec![0_u64; words];
            ran.iter().for_each(|&member| ran_bits[member / 64] |= 1 << (member % 64));
            for &member in &ran {
                self.together[member].iter_mut().zip(&ran_bits).for_each(|(row, bits)| *row |= bits);
            }
            for &member in &full {
                self.cleared[member].iter_mut().zip(&ran_bits).for_each(|(row, bits)| *row |= bits);
            }
            for &member in &full {
                for &other in &ran {
                    self.cleared[other][member / 64] |= 1 << (member % 64);
                }
            }
        }
        full_count as f64 / count.max(1) as f64
    }

    /// Whether two were seen to share no core.
    pub fn apart(&self, one: usize, other: usize) -> bool {
        bit(&self.cleared[one], other)
    }

    /// Width of each CPU's core when free; `None` if it was never seen free.
    fn free_widths(&self) -> Vec<Option<f64>> {
        let best = |widths: &Vec<f64>| best_level(widths);
        let Some(free) = self.free else {
            // A CPU far behind the best has a neighbour, or is of a narrower kind: no answer.
            let alone: Vec<Option<f64>> = self.alone.iter().map(best).collect();
            let most = alone.iter().flatten().copied().fold(0.0, f64::max);
            let pooled = self.widths.iter().map(|widths| best(widths).unwrap_or(0.0));
            let known = |(alone, pooled): (Option<f64>, f64)| {
                alone.map(|alone| alone.max(pooled)).filter(|width| *width >= ALIKE * most)
            };
            return alone.into_iter().zip(pooled).map(known).collect();
        };
        self.widths.iter().map(|widths| best(widths).filter(|width| *width >= free)).collect()
    }

    /// Whether a CPU was never seen with its core to itself.
    pub fn never_free(&self, one: usize) -> bool {
        self.free.is_some_and(|free| best_level(&self.widths[one]).is_none_or(|best| best < free))
    }

    /// Whether two were on a CPU at the same time, not in turns.
    pub fn ran_together(&self, one: usize, other: usize) -> bool {
        bit(&self.together[one], other)
    }

    /// How many others a CPU may share a core with.
    pub fn open_with(&self, one: usize) -> usize {
        let cleared: u32 = self.cleared[one].iter().map(|word| word.count_ones()).sum();
        // Its own bit is set if it was cleared of any other.
        let itself = usize::from(bit(&self.cleared[one], one));
        self.cpus.len() - 1 - (cleared as usize - itself)
    }

    /// Pairs that are not cleared, each counted twice.
    fn pairs_left(&self) -> usize {
        (0..self.cpus.len()).map(|one| self.open_with(one)).sum()
    }

    /// The sets that cleared something that no earlier one did.
    pub fn tests(&self) -> Vec<SetTest> {
        let best = self.free_widths();
        let mut known = vec![vec![0_u64; self.cpus.len().div_ceil(64)]; self.cpus.len()];
        let mut kept = Vec::new();
        for set in &self.measured {
            let (ran, full) = set.verdict(&best);
            let mut is_new = false;
            for &member in &full {
                for &other in ran.iter().filter(|&&other| other != member) {
                    is_new |= !bit(&known[member], other);
                    known[member][other / 64] |= 1 << (other % 64);
                    known[other][member / 64] |= 1 << (member % 64);
                }
            }
            if is_new {
                let names = |members: &[usize]| members.iter().map(|&member| self.cpus[member]).collect();
                kept.push(SetTest { ran: names(&ran), at_full_width: names(&full) });
            }
        }
        kept
    }
}

impl Measured {
    /// The CPUs of the set, and those of them at full width.
    fn verdict(&self, best: &[Option<f64>]) -> (Vec<usize>, Vec<usize>) {
        let (mut ran, mut full) = (Vec::new(), Vec::new());
        for (&member, widths) in self.members.iter().zip(&self.widths) {
            if widths.iter().flatten().count() < RAN_WINDOWS {
                continue;
            }
            ran.push(member);
            let Some(best) = best[member] else { continue };
            let at_full = widths.iter().flatten().filter(|width| **width >= FULL * best).count();
            if at_full >= FULL_WINDOWS {
                full.push(member);
            }
        }
        (ran, full)
    }
}

/// Whether a CPU may share a core with another.
fn active_with(one: usize, cleared: &[Vec<u64>], count: usize) -> bool {
    (0..count).any(|other| other != one && !bit(&cleared[one], other))
}

fn bit(row: &[u64], at: usize) -> bool {
    row[at / 64] & (1 << (at % 64)) != 0
}

/// Width in each window of one logical CPU; the latency-limited window that follows gives the clock. A disturbed
/// one makes one window of a set too wide or too narrow, and no verdict depends on one.
fn widths(wide: &[Vec<Timing>], chain: &[Vec<Timing>], position: usize) -> Vec<Option<f64>> {
    let width = |(wide, chain): (&Vec<Timing>, &Vec<Timing>)| {
        let whole = wide[position].on_cpu_share >= WHOLE;
        let step_ns = step(&wide[position]).filter(|_| whole)?;
        Some(WIDE_ADDS_PER_STEP * step(&chain[position])? / step_ns)
    };
    wide.iter().zip(chain).map(width).collect()
}
