//! Whether other work is busy on the sibling of a logical CPU, from the CPU's share of its core's width.
//!
//! The width is counted in adds of the wide kernel per step of the latency-limited one, so that the
//! clock cancels out. A CPU alone on its core gets all its width; with a sibling busy about
//! half of it, or more if the sibling often waits for memory.

use crate::bench::{Bench, ProbeError, Timing};
use crate::kernels::{Kernel, WIDE_ADDS_PER_STEP};
use crate::siblings::figures::{RAN, WHOLE, median, quantile, smoothed};
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;
use threadwise_study::look::{self, BUSY_BELOW, best_level};
use threadwise_study::probe::{Neighbour, ProbeForm};

/// Adds per chain step that only a free core reaches, if the widths are known: those of the portable
/// kernels depend on the compiler.
pub const FREE_ADDS: Option<f64> =
    if cfg!(all(target_arch = "x86_64", not(threadwise_portable))) { Some(look::FREE_ADDS) } else { None };

/// Fewest usable windows for a share.
const FEWEST_WINDOWS: usize = 10;

/// How to watch.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// The logical CPUs of each core, as measured, else as declared: of one core one CPU at a time runs.
    /// A CPU in none of them counts as its own core.
    pub cores: &'a [CpuSet],
    /// The logical CPUs of each core kind: a kind's best level is the baseline of all its CPUs. Empty
    /// if kinds are unknown; then each CPU is its own baseline.
    pub kinds: &'a [CpuSet],
    /// Adds per chain step of a free core, from an earlier watch ([`width_of`]); for all CPUs.
    pub baseline: Option<f64>,
    /// Windows of each kernel.
    pub windows: u32,
    /// Length of a window; 1 to 5 ms.
    pub window_ns: u64,
}

impl<'a> Watch<'a> {
    /// The form's settings: 2 ms windows, 0.3 s (short) or 1.3 s a CPU of the fullest core.
    pub fn of(form: ProbeForm, cores: &'a [CpuSet]) -> Self {
        let windows = if form == ProbeForm::Short { 60 } else { 300 };
        Self { cores, kinds: &[], baseline: None, windows, window_ns: 2_000_000 }
    }
}

/// Watches logical CPUs; gives one entry per CPU in the order of `cpus`.
///
/// # Errors
/// Those of the bench.
pub fn watch(bench: &mut dyn Bench, cpus: &[u32], request: &Watch<'_>) -> Result<Vec<Neighbour>, ProbeError> {
    let mut widths = BTreeMap::new();
    for wave in waves(cpus, request.cores) {
        let (mut wide, mut chain) = (Vec::new(), Vec::new());
        for _ in 0..request.windows {
            wide.push(bench.run(Kernel::Wide, &wave, request.window_ns)?);
            chain.push(bench.run(Kernel::Chain, &wave, request.window_ns)?);
        }
        for (position, cpu) in wave.iter().enumerate() {
            widths.insert(*cpu, Widths::of(&wide, &chain, position));
        }
    }
    let of_cpu =
        |cpu: &u32| widths.get(cpu).map(|width| width.neighbour(*cpu, baseline(*cpu, &widths, request)));
    Ok(cpus.iter().filter_map(of_cpu).collect())
}

/// Adds per chain step of a free core, if these figures show one: the baseline for later
/// watches. For CPUs of one core kind.
pub fn width_of<'a>(neighbours: impl IntoIterator<Item = &'a Neighbour>) -> Option<f64> {
    let best =
        neighbours.into_iter().filter_map(|neighbour| neighbour.adds_per_step_p90).max_by(f64::total_cmp);
    best.filter(|best| FREE_ADDS.is_some_and(|free| *best >= free))
}

/// The CPUs that run at the same time: one of each core.
fn waves(cpus: &[u32], cores: &[CpuSet]) -> Vec<Vec<u32>> {
    let mut waves: Vec<Vec<u32>> = Vec::new();
    let mut seen_of_core = vec![0; cores.len()];
    for (at, &cpu) in cpus.iter().enumerate() {
        if cpus[..at].contains(&cpu) {
            continue;
        }
        let turn = match cores.iter().position(|core| core.contains(cpu)) {
            Some(core) => {
                seen_of_core[core] += 1;
                seen_of_core[core] - 1
            }
            None => 0,
        };
        if waves.len() <= turn {
            waves.resize(turn + 1, Vec::new());
        }
        waves[turn].push(cpu);
    }
    waves
}

/// The result of one CPU.
struct Widths {
    /// Adds per chain step in windows without interruption.
    usable: Vec<f64>,
    /// The same in all windows that were long enough.
    all: Vec<f64>,
    off_cpu_share: f64,
}

impl Widths {
    fn of(wide: &[Vec<Timing>], chain: &[Vec<Timing>], position: usize) -> Self {
        let step =
            |timing: &Timing| (timing.on_cpu_share >= RAN && timing.step_ns > 0.0).then_some(timing.step_ns);
        let clock =
            smoothed(&chain.iter().map(|window| step(&window[position])).collect::<Vec<Option<f64>>>());
        let (mut usable, mut all) = (Vec::new(), Vec::new());
        for (window, clock) in wide.iter().zip(clock) {
            let timing = &window[position];
            let (Some(clock), Some(step)) = (clock, step(timing)) else { continue };
            let adds = WIDE_ADDS_PER_STEP * clock / step;
            all.push(adds);
            if timing.on_cpu_share >= WHOLE {
                usable.push(adds);
            }
        }
        let shares: Vec<f64> =
            wide.iter().chain(chain).map(|window| 1.0 - window[position].on_cpu_share).collect();
        let off_cpu_share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        Self { usable, all, off_cpu_share: off_cpu_share.clamp(0.0, 1.0) }
    }

    fn neighbour(&self, cpu: u32, baseline: Baseline) -> Neighbour {
        let at = |share| quantile(&self.all, share);
        let (busy_share, why) = self.busy(baseline);
        Neighbour {
            cpu,
            windows: self.all.len() as u32,
            adds_per_step_p10: at(0.1),
            adds_per_step_p50: at(0.5),
            adds_per_step_p90: at(0.9),
            busy_share,
            off_cpu_share: self.off_cpu_share,
            why,
        }
    }

    fn busy(&self, baseline: Baseline) -> (Option<f64>, String) {
        let count = self.usable.len();
        if count < FEWEST_WINDOWS {
            let off = 100.0 * self.off_cpu_share;
            return (
                None,
                format!("{count} windows without interruption are too few (off the CPU {off:.0}%)"),
            );
        }
        let (width, source) = match baseline {
            Baseline::Known(width, source) => (width, source),
            Baseline::Unknown(why) => return (None, why),
        };
        let busy: Vec<f64> = self.usable.iter().copied().filter(|adds| *adds < BUSY_BELOW * width).collect();
        let share = busy.len() as f64 / count as f64;
        // A window or two may be disturbed in other ways.
        let left = median(&busy).filter(|_| busy.len() >= FEWEST_WINDOWS);
        let left = left.map_or(String::new(), |left| format!("; {left:.1} while the sibling was busy"));
        (Some(share), format!("a free core gives {width:.1} adds per chain step ({source}){left}"))
    }
}

/// The width of a free core.
enum Baseline {
    Known(f64, &'static str),
    Unknown(String),
}

fn baseline(cpu: u32, widths: &BTreeMap<u32, Widths>, request: &Watch<'_>) -> Baseline {
    if let Some(width) = request.baseline.filter(|width| *width > 0.0) {
        return Baseline::Known(width, "earlier figures");
    }
    let Some(free) = FREE_ADDS else {
        let why = "the width of this architecture's cores is not known: busy siblings cannot be detected";
        return Baseline::Unknown(why.to_owned());
    };
    let best = |cpu: u32| widths.get(&cpu).and_then(|width| best_level(&width.usable));
    let by_width = best(cpu).unwrap_or(0.0);
    let kind = request.kinds.iter().find(|kind| kind.contains(cpu));
    let of_kind = kind.into_iter().flat_map(CpuSet::iter).filter_map(best).fold(0.0, f64::max);
    match by_width.max(of_kind) {
        width if width < free => Baseline::Unknown(format!(
            "never above {width:.1} adds per chain step, but a free core gives {free:.1} or more: no baseline"
        )),
        width if by_width >= width => Baseline::Known(width, "its own best"),
        width => Baseline::Known(width, "the best of its kind"),
    }
}
