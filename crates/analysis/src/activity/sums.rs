//! One run's sums, from which activities are made.

use crate::Interval;
use std::collections::BTreeMap;
use threadwise_statistics::arithmetic;
use threadwise_study::{Counters, Run, Slice};

/// Sums over the slices of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    /// Windows, seconds.
    pub window_s: f64,
    /// Windows times sessions, seconds.
    pub session_s: f64,
    /// Rows.
    pub rows: f64,
    /// Steps.
    pub steps: f64,
    /// CPU time of the engine's sessions, nanoseconds.
    pub cpu_ns: f64,
    /// The engine's counters, of sessions and of the engine as a whole.
    pub counters: BTreeMap<String, f64>,
    /// Whether any step's latency was kept.
    pub has_latency: bool,
    /// The run's own logical CPUs in order of use.
    pub cpus: Vec<u32>,
    /// Clock of its own logical CPUs by the processor's counters during the run, MHz.
    pub counted_mhz: Option<f64>,
}

impl Sums {
    /// Sums of a run without slices.
    pub fn new(run: &Run, counted_mhz: Option<f64>) -> Self {
        Self { cpus: run.cpus.clone(), counted_mhz, ..Self::default() }
    }

    /// Adds a slice.
    pub fn add(&mut self, slice: &Slice) {
        let window_s = slice.window_ns as f64 / 1e9;
        self.window_s += window_s;
        self.session_s += window_s * slice.sessions.len() as f64;
        self.rows += slice.rows() as f64;
        self.cpu_ns += slice.cpu_ns() as f64;
        for session in &slice.sessions {
            self.steps += session.steps as f64;
            self.count(&session.counters);
            self.has_latency |= !session.latency.is_empty();
        }
        self.count(&slice.counters);
    }

    fn count(&mut self, counters: &Counters) {
        for (name, value) in counters {
            // Names are few and slices many: no name is copied twice.
            match self.counters.get_mut(name) {
                Some(sum) => *sum += *value as f64,
                None => {
                    self.counters.insert(name.clone(), *value as f64);
                }
            }
        }
    }

    /// A counter, if it was reported.
    pub fn counter(&self, name: &str) -> Option<f64> {
        self.counters.get(name).copied()
    }
}

/// Mean over blocks of a figure that is 0 or more. Blocks without it are left out; the mean of one block has no upper
/// end (infinite).
pub(super) fn over_blocks(
    values: impl Iterator<Item = Option<f64>>,
    unit: &str,
    alpha: f64,
) -> Option<Interval> {
    arithmetic(&values.flatten().collect::<Vec<f64>>(), unit, alpha)
}
