//! Physical core-seconds from the busy times of logical CPUs.
//!
//! An operating system's CPU seconds count a core twice while both of its siblings are busy. How long
//! a core was busy at all cannot be told from busy times alone, but it has bounds: with busy times bᵢ
//! of its logical CPUs in a window w, at least max bᵢ (all overlap), at most min(w, Σ bᵢ) (none does).
//!
//! Busy times are of whatever ran. Where the CPU time of the executions themselves is known, the bounds
//! are of them alone: they had that much of the busy times, and nobody knows which part.

use std::collections::BTreeMap;

use threadwise_machine::Topology;
use threadwise_study::{CpuTimes, QueryExecution, Slice};

use super::CoreSeconds;
use super::table::{Cell, Table};
use crate::Direction;
use crate::estimate::{Bounded, judge_bounded};
use threadwise_statistics::{MeanEstimate, mean};

/// Bounds over all cores of a placement in one window, all in the same unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CoreBounds {
    /// Busy times of logical CPUs, added up.
    pub logical: f64,
    /// Cores busy with at least one thread, at the least.
    pub core_low: f64,
    /// The same at the most.
    pub core_high: f64,
    /// Two threads of a core busy while another core idled, at the least.
    pub straggler_low: f64,
    /// The same at the most.
    pub straggler_high: f64,
}

impl CoreBounds {
    /// Bounds from the busy times of each core's logical CPUs. Times beyond the window, which ticks of
    /// 10 ms can show, are cut off.
    pub fn of(cores: &[Vec<f64>], window: f64) -> Self {
        let clean = |busy: &Vec<f64>| busy.iter().map(|b| b.clamp(0.0, window.max(0.0))).collect();
        let cores: Vec<Vec<f64>> = cores.iter().map(clean).collect();
        let mut bounds = Self::default();
        for busy in &cores {
            let (low, high) = busy_bounds(busy, window);
            bounds.logical += busy.iter().sum::<f64>();
            bounds.core_low += low;
            bounds.core_high += high;
        }
        (bounds.straggler_low, bounds.straggler_high) = straggler_bounds(&cores, window);
        bounds
    }

    /// With so much of the other's.
    fn plus(self, other: &Self, share: f64) -> Self {
        Self {
            logical: self.logical + other.logical * share,
            core_low: self.core_low + other.core_low * share,
            core_high: self.core_high + other.core_high * share,
            straggler_low: self.straggler_low + other.straggler_low * share,
            straggler_high: self.straggler_high + other.straggler_high * share,
        }
    }
}

/// Time in which at least one of a core's logical CPUs was busy: at least the longest busy time, at
/// most the window or their sum. Both are reached: by busy times that all begin together, and by ones
/// that follow each other.
pub fn busy_bounds(busy: &[f64], window: f64) -> (f64, f64) {
    let longest = busy.iter().copied().fold(0.0, f64::max);
    (longest, busy.iter().sum::<f64>().min(window).max(longest))
}

/// Time in which at least two of a core's logical CPUs were busy.
///
/// Let N be the number of busy ones, n of them there. Outside of that time N ≤ 1, inside N ≤ n, so
/// Σ b ≤ w + (n − 1)·t; and two busy times of a and b overlap by at least a + b − w. Above: N ≥ 2 makes
/// 2t ≤ Σ b, and without the busiest one another is busy all of the time, t ≤ Σ b − max b.
fn both_busy_bounds(busy: &[f64], window: f64) -> (f64, f64) {
    if busy.len() < 2 {
        return (0.0, 0.0);
    }
    let sum: f64 = busy.iter().sum();
    let mut sorted = busy.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let low = ((sum - window) / (busy.len() - 1) as f64).max(sorted[0] + sorted[1] - window).max(0.0);
    let high = window.min(sum / 2.0).min(sum - sorted[0]).max(low);
    (low, high)
}

/// Time in which some core had two busy threads while another core had none: stragglers, since a
/// thread on the idle core would have had it to itself.
///
/// For cores c and k ≠ c let C be the time in which c has two busy, I that in which k idles. The two
/// lie together at least C + I − w, at most min(C, I); over all pairs the largest of the former and at
/// most the sum of the latter by c or by k, and never more than the window.
pub fn straggler_bounds(cores: &[Vec<f64>], window: f64) -> (f64, f64) {
    let both: Vec<(f64, f64)> = cores.iter().map(|busy| both_busy_bounds(busy, window)).collect();
    let idle: Vec<(f64, f64)> = cores
        .iter()
        .map(|busy| busy_bounds(busy, window))
        .map(|(low, high)| ((window - high).max(0.0), (window - low).max(0.0)))
        .collect();
    let idle_sum: f64 = idle.iter().map(|(_, high)| high).sum();
    let both_sum: f64 = both.iter().map(|(_, high)| high).sum();
    let by_busy: f64 = both.iter().zip(&idle).map(|(both, idle)| both.1.min(idle_sum - idle.1)).sum();
    let by_idle: f64 = both.iter().zip(&idle).map(|(both, idle)| idle.1.min(both_sum - both.1)).sum();
    let high = by_busy.min(by_idle).min(window).max(0.0);
    (straggler_low(&both, &idle, window).min(high), high)
}

/// The largest C + I − w over pairs of two cores.
fn straggler_low(both: &[(f64, f64)], idle: &[(f64, f64)], window: f64) -> f64 {
    // The two cores that idle longest are enough: for each core one of them is another one.
    let mut longest: Vec<usize> = (0..idle.len()).collect();
    longest.sort_by(|a, b| idle[*b].0.total_cmp(&idle[*a].0));
    let shared = |(core, both): (usize, &(f64, f64))| {
        let other = longest.iter().find(|other| **other != core)?;
        Some(both.0 + idle[*other].0 - window)
    };
    both.iter().enumerate().filter_map(shared).fold(0.0, f64::max)
}

/// Time in which cores worked for somebody with `cpu` of CPU time on them in a window, while their logical
/// CPUs were busy for so long with him and others.
///
/// At the least where his threads met: of a core's busy times in descending order, bₖ − bₖ₊₁ is what k
/// logical CPUs can have been busy together at the longest if as much as possible overlaps, which takes k
/// times as much of his CPU time; the largest k first, over all cores. At the most where they never met:
/// his CPU time, and on no core more than the window or its busy times. CPU time beyond the busy times,
/// which ticks of 10 ms can leave, counts as if all siblings of the largest core had shared it.
pub fn own_bounds(cores: &[Vec<f64>], cpu: f64, window: f64) -> (f64, f64) {
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    let mut siblings = 1.0_f64;
    for busy in cores {
        let mut busy: Vec<f64> = busy.iter().map(|seconds| seconds.clamp(0.0, window.max(0.0))).collect();
        busy.sort_by(|a, b| b.total_cmp(a));
        siblings = siblings.max(busy.len() as f64);
        let next = busy.iter().skip(1).copied().chain([0.0]);
        stretches
            .extend((1..).map(f64::from).zip(busy.iter().zip(next).map(|(seconds, next)| seconds - next)));
    }
    stretches.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut low, mut left) = (0.0, cpu);
    for (together, length) in stretches {
        let took = left.min(together * length);
        low += took / together;
        left -= took;
    }
    low += left / siblings;
    let most: f64 = cores.iter().map(|busy| busy.iter().sum::<f64>().min(window)).sum();
    (low, most.min(cpu).max(low))
}

/// One block of a treatment: all queries once, in seconds.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    cores: usize,
    bounds: CoreBounds,
    /// CPU time and bounds of the executions alone.
    cpu_s: Option<(f64, f64, f64)>,
    elapsed: f64,
    slice: f64,
}

/// Means over blocks that have all queries; of several sides (a baseline's two runs) over those too.
/// `None` where cores or busy times are not known.
pub fn core_seconds(
    topology: Option<&Topology>,
    is_throughput: bool,
    blocks: &[Vec<&Cell<'_>>],
) -> Option<CoreSeconds> {
    let cells = blocks.iter().flatten();
    let all: Vec<Block> = cells.filter_map(|cell| of_block(cell, topology?, is_throughput)).collect();
    let geometric =
        |value: &dyn Fn(&Block) -> f64| mean(all.iter().map(|block| value(block).ln())).map(f64::exp);
    let arithmetic = |value: &dyn Fn(&Block) -> f64| mean(all.iter().map(value));
    // One way of reckoning for all blocks of a treatment.
    let cpu_s: Option<Vec<(f64, f64, f64)>> = all.iter().map(|block| block.cpu_s).collect();
    let geometric_cpu = |value: fn(&(f64, f64, f64)) -> f64| {
        mean(cpu_s.as_ref()?.iter().map(|seconds| value(seconds).ln())).map(f64::exp)
    };
    let slice_s = geometric(&|block| block.slice)?;
    let engine_cpu_s = geometric_cpu(|cpu| cpu.0);
    Some(CoreSeconds {
        cores: all.iter().map(|block| block.cores).max()? as u32,
        engine_cpu_s,
        core_low_s: geometric_cpu(|cpu| cpu.1).or_else(|| geometric(&|block| block.bounds.core_low))?,
        core_high_s: geometric_cpu(|cpu| cpu.2).or_else(|| geometric(&|block| block.bounds.core_high))?,
        elapsed_s: if engine_cpu_s.is_some() { geometric(&|block| block.elapsed)? } else { slice_s },
        logical_s: geometric(&|block| block.bounds.logical)?,
        slice_s,
        straggler_low_s: arithmetic(&|block| block.bounds.straggler_low)?,
        straggler_high_s: arithmetic(&|block| block.bounds.straggler_high)?,
        to_baseline: None,
    })
}

/// Core-seconds of each compared treatment over its baseline's, one family. By block the lower bound is that of the
/// treatment over the baseline's upper one, and the other way round; of streams a stream's part.
pub fn core_ratios(table: &Table<'_>) -> BTreeMap<usize, Bounded> {
    let bounds = |cell: &Cell<'_>| of_block(cell, table.topology?, table.is_throughput)?.cpu_s;
    let (lower, upper) = (|cell: &Cell<'_>| Some(bounds(cell)?.1), |cell: &Cell<'_>| Some(bounds(cell)?.2));
    let treatments = &table.study.treatments;
    let mut places = Vec::new();
    let mut family = Vec::new();
    for at in (0..treatments.len()).filter(|at| table.is_compared(*at)) {
        let below = table.below(at);
        let low = MeanEstimate::of(&table.over_other(at, below, lower, upper));
        let high = MeanEstimate::of(&table.over_other(at, below, upper, lower));
        let (Some(low), Some(high), Some(base)) = (low, high, below.first()) else { continue };
        let streams = |at: usize| f64::from(treatments[at].sessions.max(1)).ln();
        let by = if table.is_throughput { streams(*base) - streams(at) } else { 0.0 };
        places.push(at);
        family.push((low.shifted(by), high.shifted(by)));
    }
    places.into_iter().zip(judge_bounded(&family, table.rule(Direction::LowerIsBetter))).collect()
}

fn of_block(cell: &Cell<'_>, topology: &Topology, is_throughput: bool) -> Option<Block> {
    let share = 1.0 / cell.passes(&cell.total?);
    let cores = cores_of(cell, topology)?;
    let mut sum = Block { cores: cores.len(), cpu_s: Some((0.0, 0.0, 0.0)), ..Block::default() };
    for slice in &cell.slices {
        let (busy, slice_s) = busy_s(slice, &cores)?;
        let bounds = CoreBounds::of(&busy, slice_s);
        let elapsed = elapsed_s(slice, is_throughput);
        sum.cpu_s = sum.cpu_s.zip(cpu_s(slice, is_throughput)).map(|(sum, cpu)| {
            let (low, high) = own_bounds(&busy, cpu, elapsed);
            (sum.0 + cpu * share, sum.1 + low * share, sum.2 + high * share)
        });
        sum.bounds = sum.bounds.plus(&bounds, share);
        sum.elapsed += elapsed * share;
        sum.slice += slice_s * share;
    }
    (sum.slice > 0.0).then_some(sum)
}

/// CPU seconds of the executions of a slice; `None` where they are not known. Streams of one process have
/// them for the slice as a whole.
fn cpu_s(slice: &Slice, is_throughput: bool) -> Option<f64> {
    let ns = match is_throughput {
        true => Some(slice.cpu_ns()),
        false => executions(slice).try_fold(0, |sum: u64, one| sum.checked_add(one.cpu_ns?)),
    };
    ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9)
}

/// Seconds in which a slice's executions were planned and run.
fn elapsed_s(slice: &Slice, is_throughput: bool) -> f64 {
    match is_throughput {
        true => slice.window_ns as f64 / 1e9,
        false => executions(slice)
            .map(|one| (one.elapsed_ns as f64 + one.planning_ns.unwrap_or(0) as f64) / 1e9)
            .sum(),
    }
}

fn executions(slice: &Slice) -> impl Iterator<Item = &QueryExecution> {
    slice.sessions.iter().flat_map(|session| &session.queries)
}

/// The logical CPUs of a run by core; `None` where a core is not known.
pub fn cores_of(cell: &Cell<'_>, topology: &Topology) -> Option<Vec<Vec<u32>>> {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in cell.cpus() {
        cores.entry(topology.cpu(cpu)?.core?).or_default().push(cpu);
    }
    (!cores.is_empty()).then(|| cores.into_values().collect())
}

/// Busy seconds of each core's logical CPUs over a slice, and its length: the longest time that the
/// system counted for one of them, since it counts in ticks.
fn busy_s(slice: &Slice, cores: &[Vec<u32>]) -> Option<(Vec<Vec<f64>>, f64)> {
    let by_cpu: BTreeMap<u32, &CpuTimes> = slice.cpu_times.iter().map(|times| (times.cpu, times)).collect();
    let mut window_s: f64 = 0.0;
    let mut place = |cpu: &u32| {
        let times = by_cpu.get(cpu)?;
        window_s = window_s.max(times.total_ns as f64 / 1e9);
        Some(times.busy_ns as f64 / 1e9)
    };
    let busy: Option<Vec<Vec<f64>>> =
        cores.iter().map(|cpus| cpus.iter().map(&mut place).collect()).collect();
    Some((busy?, window_s))
}
