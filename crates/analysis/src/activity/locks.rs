//! Cost of spinning: spins per row, share of time spent spinning, cycles per spin.
//!
//! The bound is the arithmetic of published spinlock measurements, seconds × cores × clock / spins, which counts all
//! time as spinning. The clock is a measured one, never the nominal one, which a turbo clock can exceed by half.

use super::Activity;
use super::changes::Pairs;
use super::sums::{Sums, over_blocks};
use super::types::Locks;
use crate::estimate::sides::Sides;
use crate::setting::Setting;
use std::collections::BTreeSet;
use threadwise_machine::{Pin, Topology};
use threadwise_statistics::{mean, per};
use threadwise_study::Treatment;
use threadwise_study::probe::{ClockReading, ClockSource, Probe};

/// Counter of spins.
pub(super) const SPINS: &str = "spins";
/// Counter of nanoseconds spent spinning, by the sessions' own clock.
pub(super) const SPIN_NS: &str = "spin_ns";
/// Counter of the nanoseconds over which a session counted: whole steps, so it may differ from the window.
pub(super) const COUNTED_NS: &str = "counted_ns";

/// Upper bound of cycles per spin: as if `cores` cores had only spun for `seconds`. `None` without a spin.
pub fn cycles_per_spin_bound(seconds: f64, cores: f64, clock_hz: f64, spins: f64) -> Option<f64> {
    per(seconds * cores * clock_hz, spins)
}

/// Cycles per spin, from the time that sessions measured themselves spinning, at a clock. `None` without a spin.
pub fn cycles_per_spin(spin_ns: f64, clock_hz: f64, spins: f64) -> Option<f64> {
    per(spin_ns / 1e9 * clock_hz, spins)
}

/// Seconds over which all sessions counted, added up.
fn counted_s(sums: &Sums) -> f64 {
    sums.counter(COUNTED_NS).map_or(sums.session_s, |counted_ns| counted_ns / 1e9)
}

/// Whether a treatment's sessions measured their time spinning.
pub(super) fn measures_spins(runs: &[&Sums]) -> bool {
    runs.iter().any(|sums| sums.counter(SPINS).is_some() && sums.counter(SPIN_NS).is_some())
}

/// The figures of one treatment; `None` if its engine counts no spins. `measured_spins` is the number of treatments
/// that measured their time spinning.
pub(super) fn locks(
    runs: &[&Sums],
    treatment: &Treatment,
    setting: &Setting<'_>,
    measured_spins: usize,
) -> Option<Locks> {
    let alpha = setting.alpha;
    let counted: Vec<&Sums> = runs.iter().copied().filter(|sums| sums.counter(SPINS).is_some()).collect();
    if counted.is_empty() {
        return None;
    }
    let spins = |sums: &Sums| sums.counter(SPINS).unwrap_or(0.0);
    let (clocks, clock) = clocks(&counted, treatment, setting);
    let hz = |at: usize| Some(clocks.as_ref()?.get(at)? * 1e6);
    let bound = |(at, sums): (usize, &&Sums)| {
        let cores = busy_cores(&sums.cpus, treatment, setting.topology);
        // The time over which spins were counted; the window if an engine does not report it.
        let seconds = per(sums.window_s * counted_s(sums), sums.session_s)?;
        cycles_per_spin_bound(seconds, cores as f64, hz(at)?, spins(sums))
    };
    let measured =
        |(at, sums): (usize, &&Sums)| cycles_per_spin(sums.counter(SPIN_NS)?, hz(at)?, spins(sums));
    let share = |sums: &&Sums| per(sums.counter(SPIN_NS)? / 1e9, counted_s(sums));
    let all = || counted.iter().enumerate();
    Some(Locks {
        spins_per_row: over_blocks(counted.iter().map(|sums| per(spins(sums), sums.rows)), "1", alpha),
        spins_per_row_change: None,
        spinning_share: over_blocks(counted.iter().map(share), "share", alpha),
        spinning_share_joint_high: over_blocks(
            counted.iter().map(share),
            "share",
            alpha / measured_spins.max(1) as f64,
        )
        .map(|share| share.high),
        cycles_per_spin_bound: over_blocks(all().map(bound), "cycles", alpha),
        cycles_per_spin: over_blocks(all().map(measured), "cycles", alpha),
        clock_mhz: clocks.as_ref().and_then(|clocks| mean(clocks.iter().copied())),
        clock,
    })
}

/// Adds the changes of spins per row, one family of all compared treatments: ratios, or differences if a block has no
/// spin.
pub(super) fn add_changes(activities: &mut [Activity], pairs: &Pairs<'_>) {
    let per_row = |sums: &Sums| per(sums.counter(SPINS)?, sums.rows);
    let log = |sums: &Sums| per_row(sums).map(f64::ln);
    let compared = pairs.compared();
    let is_ratio = |sides: &Sides| {
        let sides =
            sides.below.iter().chain([&sides.top]).flat_map(|at| pairs.by_block[*at].iter().flatten());
        sides.filter_map(|sums| per_row(sums)).all(|spins| spins > 0.0)
    };
    let units: Vec<&'static str> =
        compared.iter().map(|pair| if is_ratio(pair) { "ratio" } else { "1" }).collect();
    let series = compared.iter().zip(&units).map(|(sides, unit)| match *unit {
        "ratio" => pairs.differences(sides, log),
        _ => pairs.differences(sides, per_row),
    });
    let series: Vec<Vec<f64>> = series.collect();
    let twins = Sides::all_twins(pairs.study).into_iter().filter(is_ratio);
    let twins: Vec<Vec<f64>> = twins.map(|sides| pairs.differences(&sides, log)).collect();
    let changes = pairs.changes(&series, &twins, "1");
    for ((sides, unit), change) in compared.into_iter().zip(units).zip(changes) {
        if let Some(locks) = &mut activities[sides.top].locks {
            locks.spins_per_row_change =
                change.map(|change| if unit == "ratio" { change.exp() } else { change });
        }
    }
}

/// Cores that a run's sessions kept busy: those of their logical CPUs, and no more than there are sessions. Siblings
/// share their core's cycles.
pub(super) fn busy_cores(cpus: &[u32], treatment: &Treatment, topology: Option<&Topology>) -> usize {
    let sessions = treatment.sessions as usize;
    let bound = match treatment.pin {
        Pin::Each => &cpus[..cpus.len().min(sessions)],
        Pin::Set => cpus,
    };
    let core = |cpu: &u32| match topology.and_then(|topology| topology.cpu(*cpu)?.core) {
        Some(core) => (0, core),
        None => (1, *cpu),
    };
    let cores: BTreeSet<(u8, u32)> = bound.iter().map(core).collect();
    cores.len().min(sessions)
}

/// The clock of each run in MHz and its source, or why there is none. The processor's own counters during the run are
/// preferred to the probe's measurement.
pub(super) fn clocks(
    runs: &[&Sums],
    treatment: &Treatment,
    setting: &Setting<'_>,
) -> (Option<Vec<f64>>, String) {
    let counted: Option<Vec<f64>> = runs.iter().map(|sums| sums.counted_mhz).collect();
    if counted.is_some() {
        return (counted, "APERF and MPERF during the runs".to_owned());
    }
    let Some(probe) = setting.probe else {
        return (None, "the clock was not measured: the study has no probe".to_owned());
    };
    // cpufreq's figure may be the requested clock, not the actual one.
    for (source, words) in [(ClockSource::Perf, "APERF and MPERF"), (ClockSource::Chain, "chain of adds")] {
        let of_run = |sums: &&Sums| probed_mhz(probe, source, &sums.cpus, treatment.sessions);
        let clocks: Option<Vec<f64>> = runs.iter().map(of_run).collect();
        if clocks.is_some() {
            return (clocks, format!("the probe's {words}"));
        }
    }
    (None, "the probe measured no clock".to_owned())
}

/// The probe's clock by one source, with the number of busy logical CPUs nearest to `busy`: the mean of the run's own
/// CPUs, or of all CPUs if none of its own was measured.
fn probed_mhz(probe: &Probe, source: ClockSource, assigned: &[u32], busy: u32) -> Option<f64> {
    let busy = busy.min(assigned.len() as u32);
    let readings = || probe.clocks.iter().filter(|clock| clock.source == source);
    let known = |clock: &&ClockReading| clock.bzy_mhz.is_some_and(|mhz| mhz > 0.0);
    let nearest = readings()
        .filter(known)
        .map(|clock| clock.busy_cpus)
        .min_by_key(|cpus| (cpus.abs_diff(busy), std::cmp::Reverse(*cpus)))?;
    let at = || readings().filter(known).filter(|clock| clock.busy_cpus == nearest);
    mean(at().filter(|clock| assigned.contains(&clock.cpu)).filter_map(|clock| clock.bzy_mhz))
        .or_else(|| mean(at().filter_map(|clock| clock.bzy_mhz)))
}
