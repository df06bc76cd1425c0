//! Rows: busy shares, capacity used and headroom of a machine, a package or a node in a window.
//!
//! Source: docs/HEADROOM.md. Capacity used is a quotient of two linear functions of the yield, so over an interval
//! of yields its extremes are at the ends; it grows with the time in which at least one sibling is busy.

use crate::core_time::CoreTime;
use crate::layout::{Layout, Scope};
use crate::smt_yield::SmtYield;
use serde::{Serialize, Serializer};

/// Bounds of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bounds {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// A window of the machine or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// Its scope.
    #[serde(flatten)]
    pub scope: Scope,
    /// Logical CPUs that were online all the time.
    pub logical_cpus: u32,
    /// Cores with at least one of them.
    pub cores: u32,
    /// Busy share of the logical CPUs, which an operating system shows; 0 to 1.
    pub busy_share: f64,
    /// Share of the logical CPUs' time that a hypervisor gave to other guests; 0 to 1.
    pub stolen_share: f64,
    /// Share of cores' time in which at least one logical CPU was busy; 0 to 1.
    pub core_busy_share: Bounds,
    /// Seconds in which a core was busy with at least one logical CPU, added up.
    pub core_seconds: Bounds,
    /// Work done over the maximum, 0 to 1; above 1 if the clock is higher than with all busy.
    pub capacity_used_share: Bounds,
    /// The unused capacity, 0 to 1.
    pub headroom_share: Bounds,
    /// Whether all of its cores with two and more logical CPUs are known from task switches.
    #[serde(rename = "method", serialize_with = "method")]
    pub is_traced: bool,
}

/// Its word in JSON.
fn method<S: Serializer>(is_traced: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_traced { "exact" } else { "bounds" })
}

/// Sums over cores.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    busy_s: f64,
    available_s: f64,
    either_busy_s: [f64; 2],
    either_available_s: [f64; 2],
}

impl Sum {
    /// Work over capacity with a yield, at an end (0: least time in which a core was busy, 1: most).
    fn used(&self, smt_yield: f64, end: usize) -> f64 {
        let seconds =
            |threads_s: f64, core_s: f64| (smt_yield - 1.0) * threads_s + (2.0 - smt_yield) * core_s;
        let capacity_s = seconds(self.available_s, self.either_available_s[1 - end]);
        if capacity_s > 0.0 { seconds(self.busy_s, self.either_busy_s[end]) / capacity_s } else { 0.0 }
    }
}

/// A row for each scope of a layout that has an online core, from its cores' times in a window of `window_s` seconds.
/// `clock_ratio` is the clock now over that with all busy, 1 if unknown.
pub fn rows(
    layout: &Layout,
    cores: &[CoreTime],
    window_s: f64,
    smt_yield: &SmtYield,
    clock_ratio: f64,
) -> Vec<Row> {
    let row = |&scope: &Scope| {
        let inside = layout.cores().iter().zip(cores).filter(|(core, _)| layout.is_in(core, scope));
        let inside: Vec<&CoreTime> = inside.map(|(_, time)| time).filter(|time| time.threads > 0).collect();
        (!inside.is_empty()).then(|| of_cores(scope, &inside, window_s, smt_yield, clock_ratio))
    };
    layout.scopes().iter().filter_map(row).collect()
}

fn of_cores(scope: Scope, cores: &[&CoreTime], window_s: f64, smt_yield: &SmtYield, clock_ratio: f64) -> Row {
    let mut sum = Sum::default();
    let (mut threads, mut stolen_s, mut shown_busy_s) = (0_u32, 0.0, 0.0);
    for core in cores {
        threads += core.threads;
        stolen_s += core.stolen_s;
        shown_busy_s += core.shown_busy_s;
        sum.busy_s += core.busy_s;
        sum.available_s += core.available_s;
        for end in 0..2 {
            sum.either_busy_s[end] += core.either_busy_s[end];
            sum.either_available_s[end] += core.either_available_s[end];
        }
    }
    let share = |seconds: f64, count: u32| {
        let all_s = f64::from(count) * window_s;
        if all_s > 0.0 { (seconds / all_s).clamp(0.0, 1.0) } else { 0.0 }
    };
    let ends = |end: usize| smt_yield.counted().map(|one| sum.used(one, end) * clock_ratio);
    let used = Bounds {
        low: ends(0).into_iter().fold(f64::INFINITY, f64::min),
        high: ends(1).into_iter().fold(0.0, f64::max),
    };
    let count = cores.len() as u32;
    let [least_s, most_s] = sum.either_busy_s;
    Row {
        scope,
        logical_cpus: threads,
        cores: count,
        busy_share: share(shown_busy_s, threads),
        stolen_share: share(stolen_s, threads),
        core_busy_share: Bounds { low: share(least_s, count), high: share(most_s, count) },
        core_seconds: Bounds { low: least_s, high: most_s },
        capacity_used_share: used,
        headroom_share: Bounds { low: (1.0 - used.high).max(0.0), high: (1.0 - used.low).max(0.0) },
        is_traced: cores.iter().all(|core| core.is_traced || core.threads < 2),
    }
}

#[cfg(test)]
mod tests;
