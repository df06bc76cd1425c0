//! The clock with one logical CPU busy against that with all busy, in one line.

use super::words::slowed;
use crate::Finding;
use crate::words::finding;
use std::collections::BTreeMap;
use threadwise_document::{Prose, numbers, prose};
use threadwise_statistics::mean;
use threadwise_study::probe::{ClockReading, ClockSource, Probe};

/// Below this ratio the line says that the loss is the clock, not contention.
const SLOWER: f64 = 0.98;

/// The clock; `None` if no source reported one.
pub fn clock(probe: &Probe) -> Option<Finding> {
    let sources = [ClockSource::Perf, ClockSource::Cpufreq, ClockSource::Chain];
    let text = sources.into_iter().find_map(|source| of_source(probe, source))?;
    let tsc = mean(probe.clocks.iter().filter_map(|clock| clock.tsc_mhz));
    let tsc = tsc.map_or_else(Prose::default, |mhz| prose!("; the time stamp counter runs at {}", ghz(mhz)));
    Some(finding("probe-clock", prose!("{}{}.", text, tsc), &[]))
}

fn of_source(probe: &Probe, source: ClockSource) -> Option<Prose> {
    let clocks: Vec<&ClockReading> = probe.clocks.iter().filter(|clock| clock.source == source).collect();
    let most = clocks.iter().map(|clock| clock.busy_cpus).max()?;
    let with = |busy: u32| {
        let readings = clocks.iter().filter(move |clock| clock.busy_cpus == busy);
        readings.filter_map(|clock| Some((clock.cpu, clock.bzy_mhz.filter(|mhz| *mhz > 0.0)?)))
    };
    let (one, all) = (mean(with(1).map(|(_, mhz)| mhz)), mean(with(most).map(|(_, mhz)| mhz)));
    let by = words(source);
    if most < 2 || all.is_none() {
        return Some(prose!("Clock with one logical CPU busy: {}, by {}", ghz(one?), by));
    }
    let all = all?;
    let Some(one) = one else {
        return Some(prose!("Clock with {} logical CPUs busy: {}, by {}", most, ghz(all), by));
    };
    // Of the same logical CPU if there is one in both, so that core kinds do not mix.
    let alone: BTreeMap<u32, f64> = with(1).collect();
    let ratios = with(most).filter_map(|(cpu, mhz)| Some(mhz / alone.get(&cpu)?));
    let ratio = mean(ratios).unwrap_or(all / one);
    let meaning = if ratio < SLOWER { ": this loss is the clock, not contention" } else { "" };
    Some(prose!(
        "Clock with one logical CPU busy {}, with {} busy {} ({}{}), by {}",
        ghz(one),
        most,
        ghz(all),
        slowed(ratio),
        meaning,
        by
    ))
}

fn words(source: ClockSource) -> &'static str {
    match source {
        ClockSource::Perf => "APERF and MPERF",
        ClockSource::Cpufreq => "cpufreq",
        ClockSource::Chain => "steps of the latency-bound kernel, one per cycle",
    }
}

fn ghz(mhz: f64) -> Prose {
    Prose::figure(format!("{} GHz", numbers::significant(mhz / 1e3, 3)))
}
