//! Levels of cache-line latency, and how they fit what is declared.

use super::{Difference, MAX_DIFFERENCES, cpus_text};
use crate::Finding;
use crate::findings::finding;
use crate::findings::words::{count, list, shortened};
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_machine::topology::LogicalCpu;
use threadwise_study::probe::{LatencyLevel, PairLatency, Probe};

/// Minima of the two methods that are further apart than this are reported.
const METHODS_APART: f64 = 1.25;

/// A level holds a declared kind of pair when this share of the kind's pairs falls into it.
const HELD_SHARE: f64 = 0.10;

/// Kinds of pairs as declared, nearest first.
const KINDS: [&str; 4] = ["same core", "same LLC", "same package", "other package"];

/// The line about latencies, and where a declared kind of pair falls into several levels.
pub fn latency(topology: &Topology, probe: &Probe) -> (Option<Finding>, Vec<Difference>) {
    let (text, differences) = match probe.latencies.as_slice() {
        [] => return (None, Vec::new()),
        [pair] => (of_one(pair), Vec::new()),
        pairs if probe.levels.is_empty() => (of_unclustered(pairs), Vec::new()),
        _ => {
            let (fit, differences) = fit(topology, probe);
            (format!("{}; {fit}", of_levels(&probe.levels)), differences)
        }
    };
    let text = format!("{text}{}.", methods(&probe.latencies));
    (Some(finding("probe-latency", text, &[])), differences)
}

fn of_one(pair: &PairLatency) -> String {
    format!(
        "A cache line passes between CPU {} and CPU {} in {} by compare-and-swap (median {}), {} by two lines \
         (median {}); one pair has no levels to compare",
        pair.a,
        pair.b,
        ns(pair.cas.min_ns),
        ns(pair.cas.median_ns),
        ns(pair.two_lines.min_ns),
        ns(pair.two_lines.median_ns)
    )
}

fn of_unclustered(pairs: &[PairLatency]) -> String {
    let minima = || pairs.iter().map(|pair| pair.cas.min_ns);
    let (low, high) = (minima().fold(f64::INFINITY, f64::min), minima().fold(0.0, f64::max));
    format!("A cache line passes in {} over {} pairs", range(low, high), pairs.len())
}

fn of_levels(levels: &[LatencyLevel]) -> String {
    let level = |(at, level): (usize, &LatencyLevel)| {
        format!("{} {}", level_name(level, at), range(level.low_ns, level.high_ns))
    };
    let texts: Vec<String> = levels.iter().enumerate().map(level).collect();
    let s = if levels.len() == 1 { "" } else { "s" };
    format!("A cache line passes in {} level{s}: {}", count(levels.len() as u32), list(&texts))
}

fn level_name(level: &LatencyLevel, at: usize) -> String {
    level.name.clone().unwrap_or_else(|| format!("level {}", at + 1))
}

/// How pairs of each declared kind fall into the levels.
fn fit(topology: &Topology, probe: &Probe) -> (String, Vec<Difference>) {
    let mut table: BTreeMap<usize, BTreeMap<usize, u32>> = BTreeMap::new();
    for pair in &probe.latencies {
        let (Some(kind), Some(level)) = (kind(topology, pair.a, pair.b), pair.level) else { continue };
        *table.entry(kind).or_default().entry(level as usize).or_default() += 1;
    }
    // Each kind with its levels, those of a few stray pairs left out, and how many strayed.
    let mut stray = 0;
    let held: Vec<(usize, Vec<usize>)> = table
        .iter()
        .map(|(kind, levels)| {
            let all: u32 = levels.values().sum();
            let is_held = |count: u32| f64::from(count) >= HELD_SHARE * f64::from(all);
            stray += levels.values().filter(|count| !is_held(**count)).sum::<u32>();
            (*kind, levels.iter().filter(|(_, count)| is_held(**count)).map(|(level, _)| *level).collect())
        })
        .collect();
    let (mut misfits, differences) = misfits(topology, probe, &held);
    if stray > 0 {
        let pairs = if stray == 1 { "pair lies" } else { "pairs lie" };
        misfits.push(format!("{stray} {pairs} in another level than most of their kind"));
    }
    let text = match (held.is_empty(), misfits.is_empty()) {
        (true, _) => "nothing is declared to compare with".to_owned(),
        (false, true) => "as declared".to_owned(),
        (false, false) => format!("not as declared: {}", shortened(&misfits)),
    };
    (text, differences)
}

fn misfits(
    topology: &Topology,
    probe: &Probe,
    held: &[(usize, Vec<usize>)],
) -> (Vec<String>, Vec<Difference>) {
    let (mut texts, mut differences) = (Vec::new(), Vec::new());
    for (kind, levels) in held {
        if let [nearest, _, ..] = levels.as_slice() {
            let name = KINDS[*kind];
            texts.push(format!("pairs on the {name} fall into {} levels", count(levels.len() as u32)));
            differences.extend(split(topology, probe, *kind, *nearest));
        }
    }
    for pair in held.windows(2) {
        let [(near, near_levels), (far, far_levels)] = pair else { continue };
        let (Some(last), Some(first)) = (near_levels.last(), far_levels.first()) else { continue };
        let (near, far) = (KINDS[*near], KINDS[*far]);
        if last == first {
            texts.push(format!("{near} and {far} are not told apart"));
        } else if last > first {
            texts.push(format!("some of {far} are nearer than some of {near}"));
        }
    }
    (texts, differences)
}

/// LLC domains or packages that hold several groups of the nearer level.
fn split(topology: &Topology, probe: &Probe, kind: usize, nearest: usize) -> Vec<Difference> {
    type Domain = fn(&LogicalCpu) -> Option<u32>;
    let (domains, of, name): (_, Domain, _) = match KINDS[kind] {
        "same LLC" => (&topology.llc_domains, |cpu| cpu.llc, "LLC domain"),
        "same package" => (&topology.packages, |cpu| cpu.package, "package"),
        _ => return Vec::new(),
    };
    let Some(level) = probe.levels.get(nearest) else { return Vec::new() };
    let mut groups: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for group in &level.groups {
        let domain = group.first().and_then(|cpu| of(topology.cpu(cpu)?));
        let Some((domain, known)) = domain.and_then(|at| Some((at, domains.get(at as usize)?))) else {
            continue;
        };
        if group.is_subset(&known.cpus) {
            groups.entry(domain).or_default().push(group.to_string());
        }
    }
    let several = groups.into_iter().filter(|(_, groups)| groups.len() > 1);
    several
        .take(MAX_DIFFERENCES)
        .map(|(at, groups)| {
            let cpus = domains[at as usize].cpus.intersection(&probe.cpus);
            let measured = format!("{} groups", count(groups.len() as u32));
            let text = format!(
                "{} are declared as one {name} and fall into {measured} by latency: {}",
                cpus_text(&cpus),
                shortened(&groups)
            );
            Difference { cpus, declared: format!("one {name}"), measured, text }
        })
        .collect()
}

/// What the machine declares of a pair: an index into [`KINDS`].
fn kind(topology: &Topology, a: u32, b: u32) -> Option<usize> {
    let (a, b) = (topology.cpu(a)?, topology.cpu(b)?);
    let both = |one: Option<u32>, other: Option<u32>| Some(one? == other?);
    if a.siblings.contains(b.os_id) {
        Some(0)
    } else if both(a.llc, b.llc) == Some(true) {
        Some(1)
    } else {
        Some(if both(a.package, b.package)? { 2 } else { 3 })
    }
}

/// Where the two methods disagree.
fn methods(pairs: &[PairLatency]) -> String {
    let apart = |pair: &&PairLatency| {
        let (one, other) = (pair.cas.min_ns, pair.two_lines.min_ns);
        one.max(other) > METHODS_APART * one.min(other)
    };
    let count = pairs.iter().filter(apart).count();
    match (count, pairs.len()) {
        (0, _) => String::new(),
        (_, 1) => "; the two methods differ by more than 25%".to_owned(),
        (count, all) => format!("; the two methods differ by more than 25% on {count} of {all} pairs"),
    }
}

/// `41 to 52 ns`.
fn range(low_ns: f64, high_ns: f64) -> String {
    let (low, high) = (figure(low_ns), figure(high_ns));
    if low == high { format!("{low} ns") } else { format!("{low} to {high} ns") }
}

fn ns(value: f64) -> String {
    format!("{} ns", figure(value))
}

/// Whole nanoseconds from 20 on, else tenths.
fn figure(ns: f64) -> String {
    if ns >= 20.0 { format!("{ns:.0}") } else { format!("{ns:.1}") }
}
