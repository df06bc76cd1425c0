//! Estimates the time of windows, for progress and for budgets, without reading a clock.

use crate::bench::{Bench, ProbeError, Timing};
use crate::kernels::Kernel;

/// A window's overhead: waking, preheating, joining.
const WINDOW_OVERHEAD_S: f64 = 0.3e-3;

/// Addition for each logical CPU.
const PER_CPU_S: f64 = 4e-6;

/// Seconds that a window of this length with so many logical CPUs takes.
pub(super) fn window_s(cpus: usize, window_ns: u64) -> f64 {
    window_ns as f64 * 1e-9 + WINDOW_OVERHEAD_S + PER_CPU_S * cpus as f64
}

/// A bench that reports the probe's progress.
pub(super) struct Meter<'a> {
    bench: &'a mut dyn Bench,
    progress: &'a mut dyn FnMut(f64),
    expected_s: f64,
    /// Seconds of windows so far, as estimated.
    pub spent_s: f64,
}

impl<'a> Meter<'a> {
    pub fn new(bench: &'a mut dyn Bench, progress: &'a mut dyn FnMut(f64), expected_s: f64) -> Self {
        Self { bench, progress, expected_s, spent_s: 0.0 }
    }

    /// Runs one window; gives one timing per CPU in the order of `cpus`.
    pub fn run(&mut self, kernel: Kernel, cpus: &[u32], window_ns: u64) -> Result<Vec<Timing>, ProbeError> {
        let timings = self.bench.run(kernel, cpus, window_ns)?;
        self.spent_s += window_s(cpus.len(), window_ns);
        (self.progress)((self.spent_s / self.expected_s.max(1e-3)).min(0.99));
        Ok(timings)
    }

    /// Reports that all is done.
    pub fn done(&mut self) {
        (self.progress)(1.0);
    }
}
