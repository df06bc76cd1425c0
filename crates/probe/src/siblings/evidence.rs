//! Counts over the rounds of a pair; `judge` interprets them.
//!
//! Frequency cancels out: the width that a CPU got is counted in adds of the wide kernel per step
//! of the latency-limited one, measured in the same round and in the same company.

use super::figures::{ALIKE, FULL, RAN, WHOLE, median, quantile, smoothed};
use super::rounds::{Round, Windows};
use crate::bench::Timing;
use crate::kernels::WIDE_ADDS_PER_STEP;
use threadwise_study::look::best_level;
use threadwise_study::probe::Slowdown;

/// At this share of the best level and below other work used the core: slowed 1.4 times.
const SLOWED: f64 = 1.0 / 1.4;

/// If the shares of a joint window add up to this or more, both were on a CPU at the same time for half of it.
const OVERLAP: f64 = 1.5;

/// Up to this the two may have taken turns; above 1 since each thread sees its own share, in chunks.
pub(super) const TURNS: f64 = 1.3;

/// The longest time off a CPU that does not count as interrupted.
const OFF: f64 = 0.75;

/// Counts over all rounds of a pair. Pairs of figures are in the order of the pair's CPUs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Evidence {
    /// Rounds.
    pub rounds: u32,
    /// Rounds in which both reached their best level alone and the joint window can be compared.
    pub used: u32,
    /// Best level, adds per chain step, over windows alone and together alike: the sign test must not
    /// know which is which.
    pub best: [Option<f64>; 2],
    /// Rounds in which both were at their best level alone.
    pub full_alone: u32,
    /// Most rounds in a row in which they were not.
    pub hidden_run: u32,
    /// Joint windows in which both were on a CPU all the time.
    pub joint: u32,
    /// Of these, one was at its best level.
    pub full_together: u32,
    /// Of these, that level is one that only a free core reaches; first and second half of the rounds.
    pub apart: [u32; 2],
    /// Most `apart` joint windows in a row.
    pub apart_run: u32,
    /// Rounds with a full width alone and slowed together, and the other way round.
    pub slower_together: [u32; 2],
    pub slower_alone: [u32; 2],
    /// Most rounds in a row with both at full width alone and both slowed together.
    pub same_run: u32,
    /// Time together over time alone.
    pub wide: Option<Slowdown>,
    pub wide_sides: [Option<f64>; 2],
    pub chain: Option<Slowdown>,
    pub load_store: Option<Slowdown>,
    /// Mean share of the joint windows on a CPU.
    pub on_cpu_share: Option<f64>,
    /// When each was on a CPU.
    pub turns: Turns,
}

/// Evidence that two take turns on one logical CPU.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Turns {
    /// Joint windows, of any kernel, that this system did not interrupt.
    pub joint: u32,
    /// Of these, both were on a CPU for half of it at the same time.
    pub overlapping: u32,
    /// Median sum of the two shares.
    pub sum: Option<f64>,
    /// Windows with the CPU to itself alone and interrupted together, and the other way round.
    pub off_together: [u32; 2],
    pub off_alone: [u32; 2],
    /// Most rounds in a row in which both had the CPU alone and no joint window overlapped.
    pub run: u32,
}

/// The width of one CPU over the rounds.
struct Side {
    /// Adds per chain step; `None` if the thread hardly ran.
    alone: Vec<Option<f64>>,
    together: Vec<Option<f64>>,
    best: Option<f64>,
}

impl Evidence {
    /// Counts. `free` is the least width of a free core, if known.
    pub fn of(rounds: &[Round], free: Option<f64>) -> Self {
        let sides = [Side::of(rounds, 0), Side::of(rounds, 1)];
        let mut seen = Self {
            rounds: rounds.len() as u32,
            best: [sides[0].best, sides[1].best],
            on_cpu_share: on_cpu_share(rounds),
            turns: Turns::of(rounds),
            ..Self::default()
        };
        seen.count_levels(rounds, &sides, free);
        seen.slowdowns(rounds, &sides);
        seen
    }

    fn count_levels(&mut self, rounds: &[Round], sides: &[Side; 2], free: Option<f64>) {
        // Without known widths, one that is far behind the other may have a neighbour all the time.
        let most = self.best.iter().flatten().copied().fold(0.0, f64::max);
        let least = free.unwrap_or(ALIKE * most);
        let (mut apart_run, mut same_run, mut hidden_run) = (0, 0, 0);
        for (at, round) in rounds.iter().enumerate() {
            let joint = round.wide.together.iter().all(whole);
            let alone =
                [0, 1].map(|side| sides[side].full(&sides[side].alone, at, whole(&round.wide.alone[side])));
            let together = [0, 1].map(|side| sides[side].full(&sides[side].together, at, joint));
            for side in 0..2 {
                match (alone[side], together[side]) {
                    (Some(true), Some(false)) => self.slower_together[side] += 1,
                    (Some(false), Some(true)) => self.slower_alone[side] += 1,
                    _ => {}
                }
            }
            let both_full = alone == [Some(true); 2];
            self.full_alone += u32::from(both_full);
            hidden_run = if both_full { 0 } else { hidden_run + 1 };
            self.hidden_run = self.hidden_run.max(hidden_run);
            if !joint {
                continue;
            }
            self.joint += 1;
            self.full_together += u32::from(together.contains(&Some(true)));
            let free_width = |side: usize| self.best[side].is_some_and(|best| best >= least);
            let apart = (0..2).any(|side| together[side] == Some(true) && free_width(side));
            self.apart[usize::from(at >= rounds.len() / 2)] += u32::from(apart);
            apart_run = if apart { apart_run + 1 } else { 0 };
            let same = both_full && together == [Some(false); 2];
            same_run = if same { same_run + 1 } else { 0 };
            self.apart_run = self.apart_run.max(apart_run);
            self.same_run = self.same_run.max(same_run);
        }
    }

    fn slowdowns(&mut self, rounds: &[Round], sides: &[Side; 2]) {
        let (mut wide, mut chain, mut load_store) = (Vec::new(), Vec::new(), Vec::new());
        for (at, round) in rounds.iter().enumerate() {
            let full = |side: usize| sides[side].full(&sides[side].alone, at, whole(&round.wide.alone[side]));
            let ratio = |side: usize| Some(sides[side].alone[at]? / sides[side].together[at]?);
            let slowed = mean_ratio([ratio(0), ratio(1)]);
            let (Some(slowed), [Some(true), Some(true)]) = (slowed, [full(0), full(1)]) else { continue };
            self.used += 1;
            wide.push(slowed);
            let clock = [step_ratio(&round.chain, 0), step_ratio(&round.chain, 1)];
            chain.extend(mean_ratio(clock));
            let ports = round
                .load_store
                .as_ref()
                .map(|windows| [0, 1].map(|side| Some(step_ratio(windows, side)? / clock[side]?)));
            load_store.extend(ports.and_then(mean_ratio));
        }
        self.wide_sides = [sides[0].slowdown(), sides[1].slowdown()];
        self.wide = slowdown(&wide);
        self.chain = slowdown(&chain);
        self.load_store = slowdown(&load_store);
    }
}

impl Side {
    fn of(rounds: &[Round], side: usize) -> Self {
        let adds = |windows: &dyn Fn(&Windows) -> Timing| {
            let chain: Vec<Option<f64>> = rounds.iter().map(|round| step(&windows(&round.chain))).collect();
            let chain = smoothed(&chain);
            let adds = rounds
                .iter()
                .zip(chain)
                .map(|(round, chain)| Some(WIDE_ADDS_PER_STEP * chain? / step(&windows(&round.wide))?));
            adds.collect::<Vec<Option<f64>>>()
        };
        let alone = adds(&|windows| windows.alone[side]);
        let together = adds(&|windows| windows.together[side]);
        let whole_ones =
            rounds.iter().zip(alone.iter().zip(&together)).flat_map(|(round, (alone, together))| {
                let alone = alone.filter(|_| whole(&round.wide.alone[side]));
                let together = together.filter(|_| whole(&round.wide.together[side]));
                [alone, together]
            });
        let best = best_level(&whole_ones.flatten().collect::<Vec<f64>>());
        Self { alone, together, best }
    }

    /// Whether the width is that of the best level (`true`), that of a shared core (`false`), or neither.
    fn full(&self, widths: &[Option<f64>], at: usize, whole: bool) -> Option<bool> {
        let share = widths[at]? / self.best?;
        match share {
            _ if !whole => None,
            _ if share >= FULL => Some(true),
            _ if share <= SLOWED => Some(false),
            _ => None,
        }
    }

    /// Median over the rounds in which it had its core to itself alone.
    fn slowdown(&self) -> Option<f64> {
        let best = self.best?;
        let ratio = |(alone, together): (&Option<f64>, &Option<f64>)| {
            let alone = (*alone).filter(|alone| *alone >= FULL * best)?;
            Some(alone / (*together)?)
        };
        median(&self.alone.iter().zip(&self.together).filter_map(ratio).collect::<Vec<f64>>())
    }
}

impl Turns {
    fn of(rounds: &[Round]) -> Self {
        let mut seen = Self::default();
        let (mut sums, mut run) = (Vec::new(), 0);
        for round in rounds {
            let kernels = [Some(round.wide), Some(round.chain), round.load_store];
            let (mut exclusive, mut counted) = (true, 0);
            for windows in kernels.iter().flatten() {
                let was_switched = |timing: &Timing| timing.involuntary_switches > 0;
                if windows.together.iter().any(was_switched) || windows.alone.iter().any(was_switched) {
                    continue;
                }
                let sum: f64 = windows.together.iter().map(|timing| timing.on_cpu_share).sum();
                sums.push(sum);
                counted += 1;
                seen.joint += 1;
                seen.overlapping += u32::from(sum >= OVERLAP);
                exclusive &= sum <= TURNS && windows.alone.iter().all(whole);
                for side in 0..2 {
                    let (alone, together) = (&windows.alone[side], &windows.together[side]);
                    seen.off_together[side] += u32::from(whole(alone) && together.on_cpu_share <= OFF);
                    seen.off_alone[side] += u32::from(whole(together) && alone.on_cpu_share <= OFF);
                }
            }
            run = if exclusive && counted >= 2 { run + 1 } else { 0 };
            seen.run = seen.run.max(run);
        }
        seen.sum = median(&sums);
        seen
    }
}

fn whole(timing: &Timing) -> bool {
    timing.on_cpu_share >= WHOLE
}

/// Time of a step, if the thread ran for long enough.
pub(super) fn step(timing: &Timing) -> Option<f64> {
    (timing.on_cpu_share >= RAN && timing.step_ns > 0.0).then_some(timing.step_ns)
}

fn step_ratio(windows: &Windows, side: usize) -> Option<f64> {
    Some(step(&windows.together[side])? / step(&windows.alone[side])?)
}

/// Geometric mean of the values that exist.
fn mean_ratio(sides: [Option<f64>; 2]) -> Option<f64> {
    match sides {
        [Some(one), Some(other)] => Some((one * other).sqrt()),
        [one, other] => one.or(other),
    }
}

fn slowdown(ratios: &[f64]) -> Option<Slowdown> {
    Some(Slowdown { median: median(ratios)?, low: quantile(ratios, 0.25)?, high: quantile(ratios, 0.75)? })
}

fn on_cpu_share(rounds: &[Round]) -> Option<f64> {
    if rounds.is_empty() {
        return None;
    }
    let of_round = |round: &Round| -> f64 {
        let windows = [round.wide.together, round.chain.together];
        windows.iter().flatten().map(|timing| timing.on_cpu_share).sum::<f64>() / 4.0
    };
    Some(rounds.iter().map(of_round).sum::<f64>() / rounds.len() as f64)
}
