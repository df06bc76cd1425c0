//! What a busy sibling costs a parallel worker: how often a difference is claimed where there is none, how often one is
//! found, and whether intervals cover it.
//!
//! Processes of a scan move between logical CPUs while it runs, and two of them share a core at a time; the truth is
//! known to a millisecond, the analysis has looks 5 ms apart. Rates of processes, slices and blocks scatter, what a
//! sibling costs differs from block to block, and a neighbour takes part of a core in some blocks, the doubled-up one or another.

use crate::lab_simulations::coverage::noise::Normal;
use crate::lab_simulations::coverage::rules::{ALPHA, MARGIN, count};
use crate::lab_simulations::coverage::share;
use threadwise_analysis::Direction;
use threadwise_analysis::estimate::Rule;
use threadwise_analysis::kinds::scans::{ProcessSlice, log_ratio, ratios};

/// Processes of the treatments that are judged together; two of them share a core.
const PROCESSES: [usize; 3] = [3, 5, 9];
const SLICES: usize = 10;
/// A scan and the distance of looks, milliseconds.
const SCAN_MS: usize = 100;
const LOOK_MS: usize = 5;
/// Milliseconds after which other processes share the core, on average.
const STAY_MS: f64 = 40.0;

/// Noise of a machine.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Standard deviation of the rate of a process in a slice.
    slice_sd: f64,
    /// Standard deviation over blocks of what a sibling costs, of the treatment with fewest processes; of the next ones
    /// twice and three times as much where it is unequal.
    block_sd: f64,
    is_unequal: bool,
    /// Correlation of neighbouring blocks.
    ar1: f64,
    /// Share of the blocks in which a neighbour takes this share of one core's rate, whichever core it is.
    disturbed: (f64, f64),
}

impl Noise {
    /// What neighbours do to ln(b / a) of so many processes on average: seldom they slow both that share a core, and
    /// mostly one of those that are alone.
    fn shift(self, processes: usize) -> f64 {
        let (cores, alone) = ((processes - 1) as f64, (processes - 2) as f64);
        let (often, taken) = self.disturbed;
        often / cores * ((1.0 - taken).ln() - alone * (1.0 - taken / alone).ln())
    }
}

/// One slice of so many processes: what is known of each by its looks.
fn slice(
    processes: usize,
    ratio: f64,
    noise: Noise,
    slow: Option<usize>,
    random: &mut Normal,
) -> Vec<ProcessSlice> {
    let pick = |random: &mut Normal| (random.uniform() * processes as f64) as usize % processes;
    let rates: Vec<f64> = (0..processes).map(|_| 1e3 * (noise.slice_sd * random.draw()).exp()).collect();
    let (mut rows, mut looked, mut shared) =
        (vec![0.0; processes], vec![0.0; processes], vec![0.0; processes]);
    let phase = (random.uniform() * LOOK_MS as f64) as usize;
    let mut pair = (0, 1);
    for at_ms in 0..SCAN_MS {
        if at_ms == 0 || random.uniform() < 1.0 / STAY_MS {
            let first = pick(random);
            pair = (first, (first + 1 + (random.uniform() * (processes - 1) as f64) as usize) % processes);
        }
        let is_look = at_ms % LOOK_MS == phase;
        for process in 0..processes {
            let is_shared = process == pair.0 || process == pair.1;
            // Core 0 is the doubled-up one, the others have the rest of the processes in order.
            let core = |process: usize| match is_shared {
                true => 0,
                false => (0..process).filter(|other| *other != pair.0 && *other != pair.1).count() + 1,
            };
            let is_slow = slow.is_some_and(|slow| slow == core(process));
            let visited = if is_slow { 1.0 - noise.disturbed.1 } else { 1.0 };
            rows[process] += rates[process] * if is_shared { ratio } else { 1.0 } * visited;
            if is_look {
                looked[process] += 1.0;
                shared[process] += f64::from(u8::from(is_shared));
            }
        }
    }
    let seconds = SCAN_MS as f64 / 1e3;
    let one = |process: usize| {
        let shared_s = seconds * shared[process] / looked[process];
        ProcessSlice { rows: rows[process], alone_s: seconds - shared_s, shared_s }
    };
    (0..processes).map(one).collect()
}

/// ln(b / a) by block of each treatment.
fn study(blocks: usize, effect: f64, noise: Noise, random: &mut Normal) -> Vec<Vec<f64>> {
    let of_treatment = |(at, processes): (usize, &usize), random: &mut Normal| -> Vec<f64> {
        let sd = if noise.is_unequal { noise.block_sd * (1 + at) as f64 } else { noise.block_sd };
        let costs = random.correlated(blocks, noise.ar1);
        let of_block = |cost: &f64| {
            let is_disturbed = random.uniform() < noise.disturbed.0;
            let core = (random.uniform() * (*processes - 1) as f64) as usize;
            let slow = is_disturbed.then_some(core);
            let ratio = (effect + sd * cost).exp();
            let of_slice = |_| slice(*processes, ratio, noise, slow, random);
            let slices: Vec<ProcessSlice> = (0..SLICES).flat_map(of_slice).collect();
            log_ratio(&slices).unwrap()
        };
        costs.iter().map(of_block).collect()
    };
    PROCESSES.iter().enumerate().map(|one| of_treatment(one, random)).collect()
}

/// Shares of studies in which a difference is said of any treatment, and of treatments of which it is said, whose
/// interval and whose deciding interval covers.
fn shares(name: &str, noise: Noise, blocks: usize, ratio: f64) -> [f64; 4] {
    let mut random = Normal::new(blocks as u64);
    let rule = Rule { margin: MARGIN, alpha: ALPHA, direction: Direction::HigherIsBetter };
    let (mut any, mut said, mut covers, mut decides) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count(400) {
        let found: Vec<_> =
            ratios(&study(blocks, ratio.ln(), noise, &mut random), rule).into_iter().flatten().collect();
        any.push(found.iter().any(|one| one.is_different()));
        said.extend(found.iter().map(|one| one.is_different()));
        let truths = PROCESSES.map(|processes| ratio * noise.shift(processes).exp());
        let both = || found.iter().zip(truths);
        covers.extend(both().map(|(one, truth)| one.low <= truth && truth <= one.high));
        decides.push(both().all(|(one, truth)| one.adjusted_low <= truth && truth <= one.adjusted_high));
    }
    let all = [&any, &said, &covers, &decides].map(|one| share(one));
    println!(
        "parallel workers, {name}, {blocks} blocks, a true {ratio}x: said of any treatment in {:.1}% of studies, of {:.1}% \
         of treatments; {:.1}% of intervals cover, all deciding ones in {:.1}%",
        100.0 * all[0],
        100.0 * all[1],
        100.0 * all[2],
        100.0 * all[3]
    );
    all
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_busy_sibling_is_said_to_cost_what_it_costs() {
    let quiet = Noise { slice_sd: 0.03, block_sd: 0.02, is_unequal: false, ar1: 0.0, disturbed: (0.0, 0.0) };
    let noises = [
        ("quiet", quiet),
        ("unequal", Noise { is_unequal: true, ..quiet }),
        ("AR(1) 0.3", Noise { ar1: 0.3, ..quiet }),
        ("disturbed", Noise { disturbed: (0.1, 0.3), ..quiet }),
        ("all", Noise { is_unequal: true, ar1: 0.3, disturbed: (0.1, 0.3), slice_sd: 0.06, ..quiet }),
    ];
    for (name, noise) in noises {
        for blocks in [8, 16] {
            // 5%, with three standard deviations of 400 studies.
            let [any, _, covers, _] = shares(name, noise, blocks, 1.0);
            assert!(any <= 0.083 && covers >= 0.92, "{name}, {blocks} blocks: {any} {covers}");
            let [_, said, covers, _] = shares(name, noise, blocks, 0.6);
            assert!(said >= 0.95 && covers >= 0.92, "{name}, {blocks} blocks: {said} {covers}");
        }
    }
}
