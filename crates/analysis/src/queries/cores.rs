//! Physical core-seconds from the busy times of logical CPUs.
//!
//! An operating system's CPU seconds count a core twice while both of its siblings are busy. How long
//! a core was busy at all cannot be told from busy times alone, but it has bounds: with busy times bᵢ
//! of its logical CPUs in a window w, at least max bᵢ (all overlap), at most min(w, Σ bᵢ) (none does).

use std::collections::BTreeMap;

use threadwise_machine::Topology;
use threadwise_study::{CpuTimes, Slice};

use super::CoreSeconds;
use super::table::{Cell, Table};

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

    fn add(&mut self, other: &Self, share: f64) {
        self.logical += other.logical * share;
        self.core_low += other.core_low * share;
        self.core_high += other.core_high * share;
        self.straggler_low += other.straggler_low * share;
        self.straggler_high += other.straggler_high * share;
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
    let of = |(core, both): (usize, &(f64, f64))| {
        let other = longest.iter().find(|other| **other != core)?;
        Some(both.0 + idle[*other].0 - window)
    };
    both.iter().enumerate().filter_map(of).fold(0.0, f64::max)
}

/// Means over a treatment's blocks that have all queries, once each; `None` where cores or busy times
/// are not known.
pub fn core_seconds(table: &Table<'_>, treatment: usize) -> Option<CoreSeconds> {
    let topology = table.topology?;
    let (mut sum, mut elapsed, mut cores, mut blocks) = (CoreBounds::default(), 0.0, 0_usize, 0.0);
    for cell in table.of(treatment) {
        let Some((bounds, window_s, count)) = of_block(cell, topology) else { continue };
        sum.add(&bounds, 1.0);
        elapsed += window_s;
        cores = cores.max(count);
        blocks += 1.0;
    }
    (blocks > 0.0).then(|| CoreSeconds {
        cores: cores as u32,
        logical_s: sum.logical / blocks,
        core_low_s: sum.core_low / blocks,
        core_high_s: sum.core_high / blocks,
        straggler_low_s: sum.straggler_low / blocks,
        straggler_high_s: sum.straggler_high / blocks,
        elapsed_s: elapsed / blocks,
    })
}

/// Seconds of one block, for all queries once.
fn of_block(cell: &Cell<'_>, topology: &Topology) -> Option<(CoreBounds, f64, usize)> {
    let share = 1.0 / cell.passes(&cell.total?);
    let cores = cores_of(cell, topology)?;
    let (mut sum, mut elapsed) = (CoreBounds::default(), 0.0);
    for slice in &cell.slices {
        let (busy, window_s) = busy_s(slice, &cores)?;
        sum.add(&CoreBounds::of(&busy, window_s), share);
        elapsed += window_s * share;
    }
    (elapsed > 0.0).then_some((sum, elapsed, cores.len()))
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
    let mut of = |cpu: &u32| {
        let times = by_cpu.get(cpu)?;
        window_s = window_s.max(times.total_ns as f64 / 1e9);
        Some(times.busy_ns as f64 / 1e9)
    };
    let busy: Option<Vec<Vec<f64>>> = cores.iter().map(|cpus| cpus.iter().map(&mut of).collect()).collect();
    Some((busy?, window_s))
}
