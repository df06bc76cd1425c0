//! A model of a machine whose sharing is known: cores that share their width fairly among busy
//! threads, neighbours, a clock that drifts and slows as cores get busy, a hypervisor that steals and
//! moves, and a system of our own that interrupts.

#![allow(dead_code, reason = "each test uses its part of the model")]

pub mod scenarios;
pub mod toggle;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use threadwise_probe::bench::{Bench, ProbeError, Timing};
use threadwise_probe::kernels::Kernel;
use threadwise_study::probe::Sharing;
use toggle::Toggle;

/// Moments that a window is looked at.
const SLOTS: usize = 16;

/// A hardware thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub core: usize,
    pub thread: usize,
}

/// Work of another guest, on a thread of a core that this machine does not have.
#[derive(Debug, Clone)]
pub struct Neighbour {
    /// Share of the core's width that it would use.
    pub demand: f64,
    pub busy: Toggle,
}

/// A core; its threads are given by who sits on it.
#[derive(Debug, Clone)]
pub struct Core {
    /// Adds a cycle.
    pub width: f64,
    pub neighbours: Vec<Neighbour>,
}

/// What goes wrong in the model besides neighbours.
#[derive(Debug, Clone)]
pub struct Weather {
    /// Standard deviation of a timing's logarithm.
    pub noise: f64,
    /// Share of timings that are 1.2 to 3 times too long.
    pub outliers: f64,
    /// Relative swing of the clock, and its period.
    pub drift: f64,
    pub drift_ns: f64,
    /// How much slower the clock is with all cores busy.
    pub turbo: f64,
    /// Per CPU: mean time that the hypervisor takes it, and mean time between.
    pub steal_ns: (f64, f64),
    /// Per CPU: our own system's other work, mean time on and off.
    pub own_ns: (f64, f64),
    /// How long one of two on the same thread runs before the other.
    pub turn_ns: f64,
}

impl Weather {
    pub fn calm() -> Self {
        Self {
            noise: 0.015,
            outliers: 0.003,
            drift: 0.02,
            drift_ns: 3e9,
            turbo: 0.1,
            steal_ns: (0.0, 1.0),
            own_ns: (0.0, 1.0),
            turn_ns: 3e6,
        }
    }
}

/// The model.
pub struct Machine {
    pub cores: Vec<Core>,
    /// Where each logical CPU runs.
    pub places: Vec<Place>,
    pub weather: Weather,
    /// Times at which all places change.
    pub moves: Vec<(f64, Vec<Place>)>,
    /// All places that were in force while something was measured, and since when.
    pub history: Vec<(f64, Vec<Place>)>,
    pub now_ns: f64,
    /// End with [`ProbeError::Stopped`] after so many windows.
    pub stop_after: Option<u64>,
    pub windows: u64,
    steal: Vec<Toggle>,
    interrupts: Vec<Toggle>,
    /// Whether our own system's work interrupted a CPU in this window.
    switched: Vec<bool>,
    random: ChaCha8Rng,
}

impl Machine {
    pub fn new(cores: Vec<Core>, places: Vec<Place>, weather: Weather, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
        let mut toggles =
            |times| (0..places.len()).map(|_| Toggle::new(times, random.random())).collect::<Vec<Toggle>>();
        let (steal, interrupts) = (toggles(weather.steal_ns), toggles(weather.own_ns));
        Self {
            cores,
            history: vec![(0.0, places.clone())],
            switched: vec![false; places.len()],
            places,
            weather,
            moves: Vec::new(),
            now_ns: 0.0,
            stop_after: None,
            windows: 0,
            steal,
            interrupts,
            random,
        }
    }

    /// What two share now.
    pub fn truth_in(places: &[Place], a: u32, b: u32) -> Sharing {
        let (one, other) = (places[a as usize], places[b as usize]);
        match one {
            _ if one == other => Sharing::SameCpu,
            _ if one.core == other.core => Sharing::SameCore,
            _ => Sharing::DifferentCores,
        }
    }

    /// All that two shared while anything was measured.
    pub fn truths(&self, a: u32, b: u32) -> Vec<Sharing> {
        let mut seen: Vec<Sharing> =
            self.history.iter().map(|(_, places)| Self::truth_in(places, a, b)).collect();
        seen.dedup();
        seen
    }

    /// Share of the time so far in which two shared this.
    pub fn held(&self, a: u32, b: u32, sharing: Sharing) -> f64 {
        let ends = self.history.iter().skip(1).map(|(since, _)| *since).chain([self.now_ns]);
        let held =
            self.history.iter().zip(ends).filter(|((_, places), _)| Self::truth_in(places, a, b) == sharing);
        held.map(|((since, _), end)| end - since).sum::<f64>() / self.now_ns
    }

    fn ghz(&self, busy_cores: usize) -> f64 {
        let weather = &self.weather;
        let busy = busy_cores as f64 / self.cores.len() as f64;
        let swing = (self.now_ns / weather.drift_ns * std::f64::consts::TAU).sin();
        3.0 * (1.0 - weather.turbo * busy) * (1.0 + weather.drift * swing)
    }

    /// Per slot and measured CPU: time of a step, or nothing while it is off.
    fn slots(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Vec<[Option<f64>; SLOTS]> {
        let mut on_core: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (seat, cpu) in cpus.iter().enumerate() {
            on_core.entry(self.places[*cpu as usize].core).or_default().push(seat);
        }
        let ghz = self.ghz(on_core.len());
        let mut steps = vec![[None; SLOTS]; cpus.len()];
        let mut idle: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        if self.weather.own_ns.0 > 0.0 {
            let mut measured = vec![false; self.places.len()];
            cpus.iter().for_each(|cpu| measured[*cpu as usize] = true);
            for cpu in (0..self.places.len()).filter(|cpu| !measured[*cpu]) {
                idle.entry(self.places[cpu].core).or_default().push(cpu);
            }
        }
        let moment = |slot| self.now_ns + (slot as f64 + 0.5) / SLOTS as f64 * window_ns as f64;
        let moments: Vec<(usize, f64)> = (0..SLOTS).map(|slot| (slot, moment(slot))).collect();
        for (core, seats) in &on_core {
            let idle = idle.get(core).map_or(&[][..], Vec::as_slice);
            let (mut others, mut running) = (Vec::new(), Vec::new());
            let mut memo = (Vec::new(), 0, 0.0);
            for &(slot, now_ns) in &moments {
                self.running(cpus, seats, now_ns, &mut running);
                self.others(*core, idle, now_ns, &mut others);
                if slot == 0 || memo.1 != running.len() || memo.0 != others {
                    let cycles = step_cycles(kernel, self.cores[*core].width, running.len(), &others);
                    memo = (others.clone(), running.len(), cycles);
                }
                for &seat in &running {
                    steps[seat][slot] = Some(memo.2 / ghz);
                }
            }
        }
        steps
    }

    /// What others want on a core: neighbours, and our own system's work on CPUs that are not measured.
    fn others(&mut self, core: usize, idle: &[usize], now_ns: f64, others: &mut Vec<f64>) {
        others.clear();
        for neighbour in &mut self.cores[core].neighbours {
            if neighbour.busy.at(now_ns) {
                others.push(neighbour.demand);
            }
        }
        for &cpu in idle {
            if self.interrupts[cpu].at(now_ns) {
                others.push(0.5);
            }
        }
    }

    /// Who of a core is on a CPU: not stolen, and its turn where two share a thread.
    fn running(&mut self, cpus: &[u32], seats: &[usize], now_ns: f64, running: &mut Vec<usize>) {
        running.clear();
        for &seat in seats {
            let cpu = cpus[seat] as usize;
            let stolen = self.weather.steal_ns.0 > 0.0 && self.steal[cpu].at(now_ns);
            // Half of the time our own system's other work has the CPU.
            let is_switched = self.weather.own_ns.0 > 0.0
                && self.interrupts[cpu].at(now_ns)
                && ((now_ns / 2e5) as u64).is_multiple_of(2);
            self.switched[cpu] |= is_switched;
            if !stolen && !is_switched {
                running.push(seat);
            }
        }
        let turn = (now_ns / self.weather.turn_ns) as usize;
        let place = |seat: usize| self.places[cpus[seat] as usize];
        let ready = running.clone();
        running.retain(|&seat| {
            let here = || ready.iter().filter(|&&other| place(other) == place(seat));
            here().nth(turn % here().count().max(1)) == Some(&seat)
        });
    }

    fn timing(&mut self, cpu: u32, slots: &[Option<f64>], window_ns: u64) -> Timing {
        let mut on: Vec<f64> = slots.iter().flatten().copied().collect();
        on.sort_by(f64::total_cmp);
        let share = on.len() as f64 / slots.len() as f64;
        let weather = &self.weather;
        // Twelve uniform draws make a normal one.
        let normal: f64 = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        let outlier = match self.random.random::<f64>() < weather.outliers {
            true => self.random.random_range(1.2..3.0),
            false => 1.0,
        };
        let was_switched = std::mem::take(&mut self.switched[cpu as usize]);
        let factor = (weather.noise * normal).exp() * outlier;
        // A thread that was off all the time has one chunk, as long as the window.
        let step_ns = on.get(on.len() / 2).map_or(window_ns as f64, |step| step * factor);
        let rate: f64 = on.iter().map(|step| 1.0 / step).sum::<f64>() / slots.len() as f64;
        Timing {
            cpu,
            step_ns,
            steps_per_ns: rate.max(1e-9),
            on_cpu_share: share,
            involuntary_switches: u64::from(was_switched),
        }
    }
}

impl Bench for Machine {
    fn run(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Result<Vec<Timing>, ProbeError> {
        self.windows += 1;
        if self.stop_after.is_some_and(|after| self.windows > after) {
            return Err(ProbeError::Stopped);
        }
        if let Some(at) = self.moves.iter().position(|(at, _)| *at <= self.now_ns) {
            self.places = self.moves.remove(at).1;
            self.history.push((self.now_ns, self.places.clone()));
        }
        self.now_ns += 2e5;
        let slots = self.slots(kernel, cpus, window_ns);
        let timings =
            cpus.iter().zip(&slots).map(|(cpu, slots)| self.timing(*cpu, slots, window_ns)).collect();
        self.now_ns += window_ns as f64 + 1e5;
        Ok(timings)
    }
}

/// Cycles of a step on a core where `ours` run the kernel beside `others`: each thread gets what it
/// wants, or a fair share of what is left.
fn step_cycles(kernel: Kernel, width: f64, ours: usize, others: &[f64]) -> f64 {
    // Ports for loads and stores: three operations a cycle; a step is three.
    let (capacity, want, step) = match kernel {
        Kernel::Wide => (width, width, 8.0),
        Kernel::Chain => (width, 1.0, 1.0),
        Kernel::LoadStore => (3.0, 3.0, 3.0),
    };
    let mut demands: Vec<(f64, bool)> = others.iter().map(|share| (share * capacity, false)).collect();
    demands.extend(std::iter::repeat_n((want, true), ours));
    demands.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut left, mut threads, mut got) = (capacity, demands.len(), 0.0);
    for (demand, toggle) in demands {
        let share = demand.min(left / threads as f64);
        left -= share;
        threads -= 1;
        if toggle {
            got = share;
        }
    }
    step / got.max(1e-6)
}
