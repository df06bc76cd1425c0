//! How much is measured, and the time that takes.

use super::meter::window_s;
use super::rounds::{WINDOW_NS, WINDOWS_PER_ROUND};
use crate::neighbour::FREE_ADDS;
use threadwise_machine::CpuSet;
use threadwise_study::probe::ProbeForm;

/// Up to so many logical CPUs every pair is tested separately at once.
pub(super) const ONE_BY_ONE: usize = 3;

/// Up to so many logical CPUs the full form tests every pair separately.
pub(super) const FULL_CPUS: usize = 64;

/// Windows of each kernel in a set.
pub(super) const SET_REPEATS: usize = 6;

/// Pairs tested at the same time. More would save little time and load more of the machine.
pub(super) const BATCH: usize = 64;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    /// Rounds of a pair before any answer but "same core", which needs more anyway.
    pub least_rounds: usize,
    /// Rounds of a pair after which it stays open.
    pub most_rounds: usize,
    /// Seconds of windows after which no more sets are run.
    pub sets_s: f64,
    /// Seconds of windows for pairs.
    pub pairs_s: f64,
}

impl Plan {
    pub fn of(cpus: usize, form: ProbeForm) -> Self {
        let few = cpus <= ONE_BY_ONE;
        // A single pair gets the time to see the hypervisor move it. Of three CPUs there are three pairs.
        let (least_rounds, most_rounds) = match (form, few) {
            (ProbeForm::Short, true) => (60, 240),
            (ProbeForm::Short, false) => (32, 96),
            (_, true) => (200, 800),
            (_, false) => (48, 160),
        };
        let pairs_at_once = if cpus == 3 { 3 } else { 1 };
        // If neighbours hide answers, this ends it.
        let size = cpus as f64;
        let (sets_s, pairs_s): (f64, f64) = match form {
            ProbeForm::Short => (8.0 + size / 100.0, (6.0 + size / 16.0).min(30.0)),
            ProbeForm::Standard => (12.0 + size / 100.0, (12.0 + size / 16.0).min(36.0)),
            ProbeForm::Full if cpus <= FULL_CPUS => (14.0, 90.0),
            ProbeForm::Full => (14.0 + size / 200.0, 60.0),
        };
        Self { least_rounds, most_rounds: most_rounds / pairs_at_once, sets_s, pairs_s }
    }
}

/// Seconds that [`super::measure`] takes on so many logical CPUs. For up to 3 the maximum, for
/// more the time if neighbours hide no answers and cores are as declared; never much over a
/// minute for the short and the standard form.
pub fn estimate_s(cpus: usize, declared_cores: &[CpuSet], form: ProbeForm) -> f64 {
    let plan = Plan::of(cpus, form);
    let round_s = |running: usize| WINDOWS_PER_ROUND * window_s(running, WINDOW_NS);
    if cpus < 2 {
        return 0.0;
    }
    if cpus <= ONE_BY_ONE {
        return (cpus * (cpus - 1) / 2 * plan.most_rounds) as f64 * round_s(2);
    }
    let threads = declared_cores.iter().map(CpuSet::len).max().unwrap_or(1).clamp(2, 16).next_power_of_two();
    // Generous compared with the model's need, as tests/siblings.rs checks.
    let deals = 1.6 * threads as f64 * ((cpus * cpus) as f64).ln() / 1.3;
    let set_s = 2.0 * SET_REPEATS as f64 * window_s(cpus / threads, WINDOW_NS);
    // If the width of a free core is unknown, each CPU runs alone first.
    let alone = if FREE_ADDS.is_none() { cpus * deals_alone(cpus) } else { 0 };
    let alone_s = (alone * 2 * SET_REPEATS) as f64 * window_s(1, WINDOW_NS);
    let sets_s = (deals * threads as f64 * set_s).min(plan.sets_s) + alone_s;
    // A core of four threads needs three pair tests; the other pairs follow from them.
    let siblings: usize = declared_cores.iter().map(|core| core.len().saturating_sub(1)).sum();
    let every = form == ProbeForm::Full && cpus <= FULL_CPUS;
    let pairs = if every { cpus * (cpus - 1) / 2 } else { siblings.max(1) };
    let at_once = (cpus / threads / if every { 2 } else { 1 }).clamp(1, BATCH);
    let rounds = if every { plan.least_rounds } else { plan.most_rounds.min(72) };
    // Two more for pairs that the sets leave open by chance.
    let batches = pairs.div_ceil(at_once) + 2;
    let pairs_s = batches as f64 * rounds as f64 * round_s(at_once * 2);
    sets_s + pairs_s.min(plan.pairs_s)
}

/// How often each CPU runs alone, if the width of a free core is unknown.
pub(super) fn deals_alone(cpus: usize) -> usize {
    if cpus <= FULL_CPUS { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smt2(cpus: u32) -> Vec<CpuSet> {
        (0..cpus / 2).map(|core| [core, core + cpus / 2].into_iter().collect()).collect()
    }

    #[test]
    fn short_on_two_takes_under_three_seconds_and_standard_under_eight() {
        let alone: Vec<CpuSet> = (0..2).map(|cpu| [cpu].into_iter().collect()).collect();
        let short = estimate_s(2, &alone, ProbeForm::Short);
        let standard = estimate_s(2, &alone, ProbeForm::Standard);
        assert!((1.0..3.0).contains(&short), "{short}");
        assert!((3.0..8.0).contains(&standard), "{standard}");
    }

    #[test]
    fn large_machines_take_under_a_minute() {
        for form in [ProbeForm::Short, ProbeForm::Standard] {
            for cpus in [64, 768, 1000] {
                let seconds = estimate_s(cpus as usize, &smt2(cpus), form);
                assert!(seconds < 60.0, "{cpus} logical CPUs, {form:?}: {seconds} s");
            }
        }
    }
}
