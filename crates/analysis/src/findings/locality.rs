//! What a level of locality is worth: two sessions on cores that share an L2 or an L3, or lie in two NUMA nodes or
//! packages, against two cores of one package; memory on another node; and which level matters most.

use super::facts::{by_group, estimates};
use crate::groups::bare;
use crate::words::{finding, judged, judged_decisive, names};
use crate::{Answer, Estimate, Facts, Finding, FindingKind, Ratio};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::placement::{Localities, Locality, resolve};
use threadwise_machine::{CpuSet, Draw, Memory, Pin, Topology};
use threadwise_study::{ComparisonKind, Role, Treatment};

/// A level and its words.
pub struct LocalityLevel {
    /// Its comparison.
    pub kind: ComparisonKind,
    /// `The L3 matters most`.
    pub noun: &'static str,
    /// `two cores of one L3`.
    pub pair: &'static str,
    /// What its pair is compared with, where nothing more is known of that.
    pub other: &'static str,
}

/// All levels, from the closest.
pub const LEVELS: [LocalityLevel; 5] = [
    LocalityLevel {
        kind: ComparisonKind::SharedL2,
        noun: "L2",
        pair: "two cores of one L2",
        other: "two with an L2 of their own",
    },
    LocalityLevel {
        kind: ComparisonKind::SharedL3,
        noun: "L3",
        pair: "two cores of one L3",
        other: "two in different ones",
    },
    LocalityLevel {
        kind: ComparisonKind::Nodes,
        noun: "NUMA node",
        pair: "two NUMA nodes",
        other: "two cores of one",
    },
    LocalityLevel {
        kind: ComparisonKind::Packages,
        noun: "package",
        pair: "two packages",
        other: "two cores of one",
    },
    LocalityLevel {
        kind: ComparisonKind::Memory,
        noun: "node of memory",
        pair: "sessions whose memory is remote",
        other: "the same with local memory",
    },
];

impl LocalityLevel {
    /// Its noun, and what its pair is compared with, on this machine: two cores of a package may be in two L3s, and where
    /// each node has one L3 in two nodes as well.
    fn words(&self, facts: &Facts<'_>) -> [&'static str; 2] {
        match (&self.kind, of_package(facts.topology)) {
            (ComparisonKind::SharedL2, Some(Locality::SameNode | Locality::SamePackage)) => {
                ["L2 with its L3", "two in different L3s"]
            }
            (ComparisonKind::SharedL3, Some(Locality::SamePackage)) => {
                ["L3 with its NUMA node", "two in different ones"]
            }
            _ => [self.noun, self.other],
        }
    }

    /// Its estimate of throughput in a group.
    pub fn estimate<'a>(&self, facts: &Facts<'a>, group: &str) -> Option<&'a Estimate> {
        let is_it = |estimate: &&Estimate| {
            let found = facts.study.treatment(&estimate.treatment);
            let treatment =
                found.map(|(_, treatment)| treatment).filter(|treatment| treatment.group == group);
            match self.kind {
                ComparisonKind::Memory => {
                    treatment.is_some_and(|one| is_baseline_elsewhere(facts, one, estimate))
                }
                _ => estimate.kind == self.kind && treatment.is_some(),
            }
        };
        facts.throughput().find(is_it)
    }
}

/// Whether an estimate is of the baseline with remote memory, over the baseline with local memory.
fn is_baseline_elsewhere(facts: &Facts<'_>, treatment: &Treatment, estimate: &Estimate) -> bool {
    let mut baselines = facts.study.treatments.iter().filter(|one| one.role == Role::Baseline);
    let alone = baselines.find(|one| one.group == treatment.group);
    estimate.kind == ComparisonKind::Baseline
        && treatment.memory == Memory::Remote
        && alone.is_some_and(|alone| {
            alone.memory == Memory::Local
                && (&alone.placement, alone.sessions) == (&treatment.placement, treatment.sessions)
        })
}

/// Most policies of memory, or numbers of sessions, in a sentence.
const MOST_CLAUSES: usize = 4;

/// Treatments under another memory policy against the same under the first; `None` without one.
pub fn memory(facts: &Facts<'_>) -> Option<Finding> {
    let found: Vec<&Estimate> = facts.throughput().filter(|one| one.kind == ComparisonKind::Memory).collect();
    clauses(facts, "By where memory lies", &found)
}

/// The second order of a sweep against the first, with as many sessions; `None` without one.
pub fn orders(facts: &Facts<'_>) -> Option<Finding> {
    let of_orders = facts.throughput().filter(|one| one.kind == ComparisonKind::Orders);
    let found: Vec<&Estimate> = of_orders.collect();
    clauses(facts, "Close together against far apart", &found)
}

/// What is shown to differ first, since that is what one can set.
fn clauses(facts: &Facts<'_>, head: &str, found: &[&Estimate]) -> Option<Finding> {
    let mut shown: Vec<&Estimate> = found.to_vec();
    shown.sort_by_key(|one| one.ratio.is_same() || one.ratio.answer == Answer::Undecided);
    let more = shown.len().saturating_sub(MOST_CLAUSES);
    shown.truncate(MOST_CLAUSES);
    let tell = |one: &&Estimate| {
        let words = facts.group_words(facts.group_of(&one.treatment));
        let space = if words.is_empty() { "" } else { " " };
        // Which are named depends on the data.
        prose!("{}{}{} {}", bare(&one.name), space, words, judged_decisive(&one.ratio))
    };
    let mut texts: Vec<Prose> = shown.iter().map(tell).collect();
    texts.extend((more > 0).then(|| prose!("and {} more in the table", more)));
    let text = prose!("{}: {}.", head, Prose::join(texts, "; "));
    (!found.is_empty()).then(|| finding(FindingKind::Asked, text, &names(found)))
}

/// The levels of a group that were measured, with their estimates.
pub fn levels<'a>(facts: &Facts<'a>, group: &str) -> Vec<(&'static LocalityLevel, &'a Estimate)> {
    LEVELS.iter().filter_map(|level| Some((level, level.estimate(facts, group)?))).collect()
}

/// The level whose ratio is shown to be further from 1 than that of every other one of a group, whichever way; `None` with
/// fewer than two levels, or if the data do not show it.
///
/// Judged by the intervals that are adjusted for all comparisons, which hold together, so that one that lies beyond all
/// others is rarely there by chance.
pub fn most<'l>(levels: &[(&'l LocalityLevel, &Estimate)]) -> Option<&'l LocalityLevel> {
    let distances: Vec<(f64, f64)> = levels.iter().map(|(_, one)| distance(&one.ratio)).collect();
    let is_most =
        |at: usize| distances.iter().enumerate().all(|(other, far)| other == at || far.1 < distances[at].0);
    (0..levels.len()).find(|&at| levels.len() > 1 && is_most(at)).map(|at| levels[at].0)
}

/// Bounds of the distance of a ratio from 1, in logarithms.
fn distance(ratio: &Ratio) -> (f64, f64) {
    let (low, high) = (ratio.adjusted_low.ln(), ratio.adjusted_high.ln());
    let ends = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    match low <= 0.0 && high >= 0.0 {
        true => (0.0, ends.1),
        false => ends,
    }
}

/// Where two cores of `same-package` are on this machine.
pub fn of_package(topology: &Topology) -> Option<Locality> {
    let placement = "same-package".parse().ok()?;
    let found = resolve(&placement, topology, &Draw::identity(topology), 1, Pin::Each).ok()?;
    let &[one, other] = found.cpus.as_slice() else { return None };
    Localities::of(topology).between(one, other)
}

/// A sentence a level, in the order of [`LEVELS`].
pub fn found(facts: &Facts<'_>) -> Vec<Finding> {
    let levels = LEVELS.iter().filter_map(|level| of_level(facts, level));
    levels.chain(memory(facts)).chain(orders(facts)).collect()
}

fn of_level(facts: &Facts<'_>, level: &LocalityLevel) -> Option<Finding> {
    let found = estimates(facts, |group| level.estimate(facts, group));
    let text = by_group(facts, |group| Some(judged(level.estimate(facts, group)?)))?;
    let nodes = facts.topology.numa_nodes.iter().filter(|node| !node.cpus.is_empty()).count();
    let numa = match level.kind {
        ComparisonKind::Packages if nodes < facts.topology.packages.len() => {
            " Fewer NUMA nodes than packages are declared, so this says nothing about local and remote memory."
        }
        _ => "",
    };
    let pair = match level.kind {
        ComparisonKind::Memory => numbers::capital(level.pair),
        _ => format!("Two sessions on {}", level.pair),
    };
    let text = prose!("{} against {}: {}.{}", pair, level.words(facts)[1], text, numa);
    Some(finding(FindingKind::Packages, text, &names(&found)))
}

/// The group with the most levels, of equals the last, which has the largest data; `None` without a level.
pub fn group<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let count = |group: &&str| levels(facts, group).len();
    facts.study.groups().into_iter().max_by_key(count).filter(|group| count(group) > 0)
}

/// `The package matters most: two packages do 0.81x [0.79, 0.83] of two cores of one, two cores of one L3 1.12x [1.10, 1.14] of
/// two in different ones`; `None` without a level.
pub fn sentence(facts: &Facts<'_>, group: &str, judged: impl Fn(&Ratio) -> Prose) -> Option<Prose> {
    let mut levels = levels(facts, group);
    if levels.is_empty() {
        return None;
    }
    let most = most(&levels);
    let is_most = |level: &LocalityLevel| most.is_some_and(|most| most.kind == level.kind);
    levels.sort_by_key(|(level, _)| !is_most(level));
    let clauses = levels.iter().enumerate().map(|(at, (level, estimate))| {
        let verb = if at == 0 { " do" } else { "" };
        prose!("{}{} {} of {}", level.pair, verb, judged(&estimate.ratio), level.words(facts)[1])
    });
    let clauses = Prose::join(clauses, ", ");
    let words = facts.group_words(group);
    let place = if words.is_empty() { String::new() } else { format!(" {words}") };
    Some(match most {
        Some(level) => prose!("The {} matters most{}: {}.", level.words(facts)[0], place, clauses),
        None => prose!("{}{}.", clauses.capital(), place),
    })
}

/// The groups of cores that a number of sessions fills in an order, if the groups are alike: `the cores of one L3`.
pub fn filled(topology: &Topology, order: Option<&str>, sessions: u32) -> Option<String> {
    let cores =
        |cpus: &CpuSet| topology.cores.iter().filter(|core| !core.cpus.intersection(cpus).is_empty()).count();
    let levels = [
        ("L3", topology.llc_domains.iter().map(|one| &one.cpus).collect::<Vec<_>>()),
        ("NUMA node", topology.numa_nodes.iter().map(|one| &one.cpus).collect()),
        ("package", topology.packages.iter().map(|one| &one.cpus).collect()),
    ];
    let sessions = sessions as usize;
    levels.into_iter().find_map(|(noun, sets)| {
        let sets: Vec<_> = sets.into_iter().filter(|set| !set.is_empty()).collect();
        let first = *sets.first()?;
        let is_alike = |set: &&CpuSet| (set.len(), cores(set)) == (first.len(), cores(first));
        if sets.len() < 2 || !sets.iter().all(is_alike) {
            return None;
        }
        match order {
            Some("packed") if sessions == first.len() => Some(format!("the logical CPUs of one {noun}")),
            Some("packed-cores") if sessions == cores(first) => Some(format!("the cores of one {noun}")),
            None | Some("spread") if sessions == sets.len() && cores(first) > 1 => {
                Some(format!("one core of each {noun}"))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests;
