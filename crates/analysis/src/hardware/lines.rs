//! The other lines of a probe, one each: neighbours on the siblings of the probed logical CPUs, and the clock with one
//! logical CPU busy against that with all busy. Words that all lines share.

use crate::words::{MAX_LISTED, finding, share};
use crate::{Finding, FindingKind};
use std::collections::BTreeMap;
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::CpuSet;
use threadwise_statistics::mean;
use threadwise_study::probe::{ClockReading, ClockSource, Neighbour, Probe};

/// Share from which a logical CPU is named.
pub(super) const NAMED_SHARE: f64 = 0.05;

/// Below this share there was no neighbour: hardly a window of the probe.
const HARDLY_SHARE: f64 = 0.0005;

/// Share from which it is reported that the probe was kept off a CPU.
const OFF_CPU_SHARE: f64 = 0.05;

/// Neighbours seen; `None` if they were not watched.
pub fn neighbour(probe: &Probe) -> Option<Finding> {
    if probe.neighbours.is_empty() {
        return None;
    }
    let mut known: Vec<(&Neighbour, f64)> =
        probe.neighbours.iter().filter_map(|neighbour| Some((neighbour, neighbour.busy_share?))).collect();
    known.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let split = known.partition_point(|(_, share)| *share >= NAMED_SHARE);
    let (busy, quiet) = known.split_at(split);
    let mut parts: Vec<Prose> = Vec::new();
    parts.extend(busy_text(busy));
    parts.extend(quiet_text(quiet, busy.is_empty()));
    parts.extend(unknown_text(probe, parts.is_empty()));
    parts.extend(off_cpu_text(probe));
    Some(finding(FindingKind::ProbeNeighbour, prose!("{}.", Prose::join(parts, "; ")), &[]))
}

/// The others together, with the largest share.
fn quiet_text(quiet: &[(&Neighbour, f64)], alone: bool) -> Option<Prose> {
    let (_, most) = quiet.first()?;
    let cpus: CpuSet = quiet.iter().map(|(neighbour, _)| neighbour.cpu).collect();
    let siblings = if cpus.len() == 1 { "the sibling" } else { "the siblings" };
    let siblings_of = format!("{siblings} of {}", cpus_text(&cpus));
    let none = *most < HARDLY_SHARE;
    let most = share(*most);
    Some(match (none, alone) {
        (true, true) => prose!("No neighbour was seen on {}", siblings_of),
        (true, false) => prose!("none was seen on {}", siblings_of),
        (false, true) => {
            prose!("A neighbour was busy on {} during at most {} of the probe", siblings_of, most)
        }
        (false, false) => prose!("on {} during at most {}", siblings_of, most),
    })
}

/// The busiest by name, the rest by number.
fn busy_text(busy: &[(&Neighbour, f64)]) -> Option<Prose> {
    let (first, rest) = busy.split_first()?;
    let named = |(neighbour, busy): &(&Neighbour, f64)| {
        prose!("that of CPU {} during {}", neighbour.cpu, share(*busy))
    };
    let mut parts = vec![prose!("the sibling of CPU {} during {} of the probe", first.0.cpu, share(first.1))];
    parts.extend(rest.iter().take(MAX_LISTED - 1).map(named));
    if let [next, .., last] | [next @ last] = rest.get(MAX_LISTED - 1..).unwrap_or_default() {
        let count = numbers::counted(rest.len() - (MAX_LISTED - 1), "CPU");
        parts.push(prose!("those of {} more during {}", count, from_to(share(last.1), share(next.1))));
    }
    Some(prose!("A neighbour was busy on {}", Prose::list(parts)))
}

fn unknown_text(probe: &Probe, alone: bool) -> Option<Prose> {
    let unknown: Vec<&Neighbour> = probe.neighbours.iter().filter(|one| one.busy_share.is_none()).collect();
    let why = sentence_part(&unknown.first()?.why);
    let cpus: CpuSet = unknown.iter().map(|neighbour| neighbour.cpu).collect();
    let cpus = cpus_text(&cpus);
    Some(match alone {
        true => prose!("Whether a neighbour was busy on the sibling of {} is unknown: {}", cpus, why),
        false => prose!("unknown for {}: {}", cpus, why),
    })
}

fn off_cpu_text(probe: &Probe) -> Option<Prose> {
    let most =
        probe.neighbours.iter().max_by(|one, other| one.off_cpu_share.total_cmp(&other.off_cpu_share))?;
    (most.off_cpu_share >= OFF_CPU_SHARE).then(|| {
        prose!(
            "the probe was kept off CPU {} for {} of the time of its windows",
            most.cpu,
            share(most.off_cpu_share)
        )
    })
}

/// Below this ratio the line says that the loss is the clock, not contention.
const SLOWER: f64 = 0.98;

/// The clock; `None` if no source reported one.
pub fn clock(probe: &Probe) -> Option<Finding> {
    let sources = [ClockSource::Perf, ClockSource::Cpufreq, ClockSource::Chain];
    let text = sources.into_iter().find_map(|source| of_source(probe, source))?;
    let tsc = mean(probe.clocks.iter().filter_map(|clock| clock.tsc_mhz));
    let tsc = tsc.map_or_else(Prose::default, |mhz| prose!("; the time stamp counter runs at {}", ghz(mhz)));
    Some(finding(FindingKind::ProbeClock, prose!("{}{}.", text, tsc), &[]))
}

fn of_source(probe: &Probe, source: ClockSource) -> Option<Prose> {
    let clocks: Vec<&ClockReading> = probe.clocks.iter().filter(|clock| clock.source == source).collect();
    let most = clocks.iter().map(|clock| clock.busy_cpus).max()?;
    let with = |busy: u32| {
        let readings = clocks.iter().filter(move |clock| clock.busy_cpus == busy);
        readings.filter_map(|clock| Some((clock.cpu, clock.bzy_mhz.filter(|mhz| *mhz > 0.0)?)))
    };
    let (one, all) = (mean(with(1).map(|(_, mhz)| mhz)), mean(with(most).map(|(_, mhz)| mhz)));
    let by = source_words(source);
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

fn source_words(source: ClockSource) -> &'static str {
    match source {
        ClockSource::Perf => "APERF and MPERF",
        ClockSource::Cpufreq => "cpufreq",
        ClockSource::Chain => "steps of the latency-bound kernel, one per cycle",
    }
}

fn ghz(mhz: f64) -> Prose {
    Prose::figure(format!("{} GHz", numbers::significant(mhz / 1e3, 3)))
}

/// A ratio of times, as `1.98x`.
pub fn slowed(ratio: f64) -> Prose {
    Prose::figure(numbers::value(ratio, "ratio"))
}

/// A text without its full stop, for use inside a sentence.
pub fn sentence_part(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}

/// `CPU 3`, `CPUs 0-1,8`; their number if they do not fit into a line.
pub fn cpus_text(cpus: &CpuSet) -> String {
    let text = cpus.to_string();
    match cpus.len() {
        1 => format!("CPU {text}"),
        many if text.len() > 30 => {
            let first = cpus.first().unwrap_or(0);
            format!("{} (the first is {first})", numbers::counted(many, "CPU"))
        }
        _ => format!("CPUs {text}"),
    }
}

/// `41.0 ns to 52.3 ns`; one figure if both look the same.
pub fn from_to(low: Prose, high: Prose) -> Prose {
    if low == high { low } else { prose!("{} to {}", low, high) }
}
