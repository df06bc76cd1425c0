//! What a study of locks says: under which lock second threads, and cores, gain more.

use crate::Facts;
use crate::estimate::Change;
use crate::findings::{activity, smt, trust};
use crate::kind::Kind;
use crate::lock_gains::{Gain, LockGain, LockGains};
use crate::parts::Parts;
use crate::words::{finding, limited, names};
use crate::{Estimate, Finding, Interval};
use std::collections::BTreeSet;
use threadwise_document::{Prose, prose};
use threadwise_machine::placement::{self, Resolved};
use threadwise_machine::{Draw, Placement};

/// Most pairs that a sentence has.
const MAX_PAIRS: usize = 4;

/// From what something is gained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// Second threads of the same cores, and third ones.
    Threads,
    /// More cores.
    Cores,
}

/// The findings: second threads first, where there are any.
pub fn gains(facts: &Facts<'_>, kind: &dyn Kind, gains: &LockGains) -> Parts {
    let threads = said(facts, gains, From::Threads);
    let mut found: Vec<Finding> = match &threads {
        Some(_) => Vec::new(),
        None => vec![smt::not_measured(facts)],
    };
    let lead = if threads.is_some() { "lock-threads" } else { "lock-cores" };
    found.extend(threads);
    found.extend(said(facts, gains, From::Cores));
    found.extend(activity::activity(facts));
    Parts {
        validity: trust::validity(facts).into_iter().collect(),
        found,
        lead: Some(lead),
        limits: vec![trust::trust(facts), trust::scope(facts, kind, &[])],
        ..Parts::default()
    }
}

/// What pairs of gains of one kind show, the largest differences first; `None` without a pair.
fn said(facts: &Facts<'_>, gains: &LockGains, from: From) -> Option<Finding> {
    let is_of_it = |pair: &&LockGain| from_what(facts, &pair.top) == Some(from) && pair.ratio.is_some();
    let all: Vec<&LockGain> = gains.pairs.iter().filter(is_of_it).collect();
    let mut shown: Vec<&LockGain> = all.iter().copied().filter(|pair| pair.is_shown()).collect();
    let size = |pair: &LockGain| pair.ratio.as_ref().map_or(0.0, Change::size);
    shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let (kind, what) = match from {
        From::Threads => ("lock-threads", "Gains from second threads by lock"),
        From::Cores => ("lock-cores", "Gains from more cores by lock"),
    };
    let clauses = shown.iter().filter_map(|pair| clause(facts, gains, pair));
    let mut text = match limited(clauses, MAX_PAIRS) {
        Some(clauses) => prose!("{}: {}.", what, clauses),
        None => prose!("{}: no difference is shown.", what),
    };
    if all.len() > shown.len() && !shown.is_empty() {
        text.push(prose!(" Of {} pairs {} show no difference.", all.len(), all.len() - shown.len()));
    }
    let evidence: Vec<&Estimate> = all
        .iter()
        .flat_map(|pair| [&pair.top, &pair.below])
        .filter_map(|name| estimate(facts, name))
        .collect();
    (!all.is_empty()).then(|| finding(kind, text, &names(&evidence)))
}

/// `lock-free gains more than spin (random, search; 2-threads : alone): 1.31x [1.28, 1.34] against 0.86x [0.84, 0.88],
/// 1.52 [1.40, 1.66] times as much`, the larger one first.
fn clause(facts: &Facts<'_>, gains: &LockGains, pair: &LockGain) -> Option<Prose> {
    let ratio = pair.ratio.as_ref()?.adjusted();
    let (more, less, times) = match ratio.mean >= 1.0 {
        true => (&pair.top, &pair.below, ratio),
        false => {
            let (mean, low, high) = (1.0 / ratio.mean, 1.0 / ratio.high, 1.0 / ratio.low);
            (&pair.below, &pair.top, Interval { mean, low, high, ..ratio })
        }
    };
    let (more, less) = (gains.gain(more)?, gains.gain(less)?);
    Some(prose!(
        "{} gains more than {} ({}): {} against {}, {} times as much",
        &more.lock,
        &less.lock,
        place(more),
        &estimate(facts, &more.comparison)?.ratio,
        &estimate(facts, &less.comparison)?.ratio,
        &times
    ))
}

/// Under which other levels, and of what: `random, search; 2-threads : alone`.
fn place(gain: &Gain) -> String {
    let levels: Vec<&str> = gain.levels.values().map(String::as_str).collect();
    let all = [levels.join(", "), gain.of.clone()];
    all.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ")
}

/// The estimate of throughput with a name.
pub(super) fn estimate<'a>(facts: &Facts<'a>, name: &str) -> Option<&'a Estimate> {
    facts.throughput().find(|estimate| estimate.name == name)
}

/// From what a comparison's treatment gains, by the cores that placements have: more sessions on the same number of
/// cores, or more cores. `None` of anything else, such as two sessions on one logical CPU.
fn from_what(facts: &Facts<'_>, comparison: &str) -> Option<From> {
    let comparison = facts.study.comparisons.iter().find(|one| one.name == comparison)?;
    let [top, below] =
        [&comparison.treatment, comparison.baseline.first()?].map(|name| occupied(facts, name));
    let ((top_cores, top_cpus), (cores, cpus)) = (top?, below?);
    match (top_cores.cmp(&cores), top_cpus > cpus) {
        (std::cmp::Ordering::Equal, true) => Some(From::Threads),
        (std::cmp::Ordering::Greater, _) => Some(From::Cores),
        _ => None,
    }
}

/// How many cores and logical CPUs a treatment uses.
fn occupied(facts: &Facts<'_>, name: &str) -> Option<(usize, usize)> {
    let (_, treatment) = facts.study.treatment(name)?;
    let parsed: Placement = treatment.placement.parse().ok()?;
    let draw = Draw::identity(facts.topology);
    let found: Resolved =
        placement::resolve(&parsed, facts.topology, &draw, treatment.sessions, treatment.pin).ok()?;
    let cpus = found.set();
    let core = |cpu| facts.topology.cores.iter().position(|core| core.cpus.contains(cpu));
    let cores: BTreeSet<Option<usize>> = cpus.iter().map(core).collect();
    Some((cores.len(), cpus.len()))
}

#[cfg(test)]
mod tests;
