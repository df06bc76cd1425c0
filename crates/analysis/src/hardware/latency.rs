//! Levels of cache-line latency, and how they fit the declaration.

use super::lines::{cpus_text, from_to};
use super::shown::{extent, level_name};
use super::types::{Difference, MAX_DIFFERENCES};
use crate::words::{count_of, finding, shortened};
use crate::{Finding, FindingKind};
use std::collections::BTreeMap;
use threadwise_document::numbers::nanoseconds;
use threadwise_document::{Prose, prose};
use threadwise_machine::Topology;
use threadwise_machine::topology::LogicalCpu;
use threadwise_study::probe::{PairLatency, Probe};

/// Minima of the two methods that differ by more than this are reported.
const METHODS_APART: f64 = 1.25;

/// A level holds a declared kind of pair if this share of the kind's pairs falls into it.
const HELD_SHARE: f64 = 0.10;

/// Kinds of pairs as declared, nearest first.
const KINDS: [&str; 4] = ["same core", "same LLC", "same package", "other package"];

/// The line about latencies, and the differences where a declared kind of pair falls into several levels.
pub fn latency(topology: &Topology, probe: &Probe) -> (Option<Finding>, Vec<Difference>) {
    let (text, differences) = match probe.latencies.as_slice() {
        [] => return (None, Vec::new()),
        [pair] => (of_one(pair), Vec::new()),
        pairs if probe.levels.is_empty() => (of_unclustered(pairs), Vec::new()),
        _ => {
            let (fit, differences) = fit(topology, probe);
            (prose!("{}; {}", of_levels(probe), fit), differences)
        }
    };
    let text = prose!("{}{}.", text, methods(&probe.latencies));
    (Some(finding(FindingKind::ProbeLatency, text, &[])), differences)
}

fn of_one(pair: &PairLatency) -> Prose {
    prose!(
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

fn of_unclustered(pairs: &[PairLatency]) -> Prose {
    let (low, _, high) = extent(pairs.iter().map(|pair| pair.cas.min_ns)).unwrap_or_default();
    prose!("A cache line passes in {} over {} pairs", range(low, high), pairs.len())
}

fn of_levels(probe: &Probe) -> Prose {
    let levels = probe.levels.iter().enumerate();
    let texts =
        levels.map(|(at, level)| prose!("{} {}", level_name(probe, at), range(level.low_ns, level.high_ns)));
    let levels = count_of(probe.levels.len(), "level");
    prose!("A cache line passes in {}: {}", levels, Prose::list(texts.collect()))
}

/// How pairs of each declared kind fall into the levels.
fn fit(topology: &Topology, probe: &Probe) -> (Prose, Vec<Difference>) {
    let mut table: BTreeMap<usize, BTreeMap<usize, u32>> = BTreeMap::new();
    for pair in &probe.latencies {
        let (Some(kind), Some(level)) = (kind(topology, pair.a, pair.b), pair.level) else { continue };
        *table.entry(kind).or_default().entry(level as usize).or_default() += 1;
    }
    // Each kind with its levels, without those of a few stray pairs, and how many strayed.
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
        misfits.push(prose!("{} {} in another level than most of their kind", stray, pairs));
    }
    let text = match (held.is_empty(), misfits.is_empty()) {
        (true, _) => prose!("nothing is declared to compare with"),
        (false, true) => prose!("as declared"),
        (false, false) => prose!("not as declared: {}", shortened(&misfits)),
    };
    (text, differences)
}

fn misfits(
    topology: &Topology,
    probe: &Probe,
    held: &[(usize, Vec<usize>)],
) -> (Vec<Prose>, Vec<Difference>) {
    let (mut texts, mut differences) = (Vec::new(), Vec::new());
    for (kind, levels) in held {
        if let [nearest, _, ..] = levels.as_slice() {
            let name = KINDS[*kind];
            texts.push(prose!("pairs on the {} fall into {}", name, count_of(levels.len(), "level")));
            differences.extend(split(topology, probe, *kind, *nearest));
        }
    }
    for pair in held.windows(2) {
        let [(near, near_levels), (far, far_levels)] = pair else { continue };
        let (Some(last), Some(first)) = (near_levels.last(), far_levels.first()) else { continue };
        let (near, far) = (KINDS[*near], KINDS[*far]);
        if last == first {
            texts.push(prose!("{} and {} cannot be distinguished", near, far));
        } else if last > first {
            texts.push(prose!("some of {} are nearer than some of {}", far, near));
        }
    }
    (texts, differences)
}

/// LLC domains or packages that hold several groups of the nearer level.
fn split(topology: &Topology, probe: &Probe, kind: usize, nearest: usize) -> Vec<Difference> {
    type Domain = fn(&LogicalCpu) -> Option<u32>;
    let (domains, domain_of, name): (_, Domain, _) = match KINDS[kind] {
        "same LLC" => (&topology.llc_domains, |cpu| cpu.llc, "LLC domain"),
        "same package" => (&topology.packages, |cpu| cpu.package, "package"),
        _ => return Vec::new(),
    };
    let Some(level) = probe.levels.get(nearest) else { return Vec::new() };
    let mut groups: BTreeMap<u32, Vec<Prose>> = BTreeMap::new();
    for group in &level.groups {
        let Some(at) = group.first().and_then(|cpu| domain_of(topology.cpu(cpu)?)) else { continue };
        if domains.get(at as usize).is_some_and(|known| group.is_subset(&known.cpus)) {
            groups.entry(at).or_default().push(group.to_string().into());
        }
    }
    let several = groups.into_iter().filter(|(_, groups)| groups.len() > 1).take(MAX_DIFFERENCES);
    let difference = |(at, groups): (u32, Vec<Prose>)| {
        let cpus = domains[at as usize].cpus.intersection(&probe.cpus);
        let measured = count_of(groups.len(), "group");
        let text = prose!(
            "{} are declared as one {} and fall into {} by latency: {}",
            cpus_text(&cpus),
            name,
            measured.as_str(),
            shortened(&groups)
        );
        Difference { cpus, declared: format!("one {name}"), measured, text }
    };
    several.map(difference).collect()
}

/// Declared relation of a pair: an index into [`KINDS`].
fn kind(topology: &Topology, a: u32, b: u32) -> Option<usize> {
    let (a, b) = (topology.cpu(a)?, topology.cpu(b)?);
    Some(match () {
        () if a.siblings.contains(b.os_id) => 0,
        () if a.llc.is_some() && a.llc == b.llc => 1,
        () if a.package? == b.package? => 2,
        () => 3,
    })
}

/// Whether the two methods disagree.
fn methods(pairs: &[PairLatency]) -> Prose {
    let apart = |pair: &&PairLatency| {
        let (one, other) = (pair.cas.min_ns, pair.two_lines.min_ns);
        one.max(other) > METHODS_APART * one.min(other)
    };
    let count = pairs.iter().filter(apart).count();
    match (count, pairs.len()) {
        (0, _) => Prose::default(),
        (_, 1) => prose!("; the two methods differ by more than 25%"),
        (count, all) => prose!("; the two methods differ by more than 25% on {} of {} pairs", count, all),
    }
}

/// `41.0 ns to 52.3 ns`.
fn range(low_ns: f64, high_ns: f64) -> Prose {
    from_to(ns(low_ns), ns(high_ns))
}

fn ns(value: f64) -> Prose {
    Prose::figure(nanoseconds(value))
}
