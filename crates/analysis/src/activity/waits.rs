//! Shares of what sessions waited for, over blocks.

use super::Activity;
use super::changes::Pairs;
use super::sums::{Sums, over_blocks};
use super::types::{WaitShare, Waits};
use crate::estimate::sides::Sides;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_statistics::per;

/// Most names of a study; the rest is [`OTHER`].
pub const MAX_WAITS: usize = 8;

/// Fewest samples for a statement: with fewer, a share of 10% has a standard error of 3 points or more even if samples
/// are independent.
pub const MIN_SAMPLES: u64 = 100;

/// The state of a session that waits for nothing.
pub const RUNNING: &str = "running";

/// The remainder after the names.
pub const OTHER: &str = "other";

const PREFIX: &str = "waits/";
const SAMPLED: &str = "waits_sampled";

/// Whether a counter counts samples.
pub(super) fn is_wait(counter: &str) -> bool {
    counter == SAMPLED || counter.starts_with(PREFIX)
}

/// The names that the study reports: those with the largest share in any treatment, `running` first, and `other` last
/// if the names leave a remainder.
pub(super) fn names(runs: &[Vec<&Sums>]) -> Vec<String> {
    let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
    for blocks in runs {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for sums_of_run in blocks {
            for (name, value) in waits_of(sums_of_run) {
                *sums.entry(name).or_default() += value;
            }
        }
        let all = samples(blocks);
        for (name, value) in sums {
            let share = largest.entry(name).or_default();
            *share = share.max(per(value, all).unwrap_or(0.0));
        }
    }
    let mut ranked: Vec<(&str, f64)> = largest.into_iter().filter(|(_, share)| *share > 0.0).collect();
    let running = |name: &str| name == RUNNING;
    ranked.sort_by(|a, b| running(b.0).cmp(&running(a.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(b.0)));
    let mut names: Vec<String> = ranked.iter().take(MAX_WAITS).map(|(name, _)| (*name).to_owned()).collect();
    let listed: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let left = |sums: &&Sums| rest(sums, &listed) > 0.0;
    if runs.iter().flatten().any(left) {
        names.push(OTHER.to_owned());
    }
    names
}

/// The shares of one treatment; `None` if waits were not sampled.
pub(super) fn waits(runs: &[&Sums], names: &[String], alpha: f64) -> Option<Waits> {
    let sampled: Vec<&&Sums> = runs.iter().filter(|sums| of_run(sums) > 0.0).collect();
    if sampled.is_empty() {
        return None;
    }
    let listed = listed(names);
    let share = |name: &String| {
        let at_level = |alpha: f64| {
            let mut share =
                over_blocks(sampled.iter().map(|sums| share(sums, name, &listed)), "share", alpha)?;
            if share.high.is_finite() {
                share.high = share.high.min(1.0);
            }
            Some(share)
        };
        let joint = at_level(alpha / names.len() as f64)?;
        Some(WaitShare { name: name.clone(), share: at_level(alpha)?, joint, change: None })
    };
    let samples = samples(runs) as u64;
    let blocks = sampled.len() as u32;
    Some(Waits {
        samples,
        blocks,
        enough: samples >= MIN_SAMPLES && blocks >= 2,
        shares: names.iter().filter_map(share).collect(),
    })
}

/// Adds the changes of all names and compared treatments, which are one family.
pub(super) fn add_changes(activities: &mut [Activity], pairs: &Pairs<'_>, names: &[String]) {
    let enough = |at: usize| activities[at].waits.as_ref().is_some_and(|waits| waits.enough);
    let listed = listed(names);
    let of_name = |name: &String, sides: &Sides| {
        let differences = pairs.differences(sides, |sums| Some(100.0 * share(sums, name, &listed)?));
        let is_known = enough(sides.top) && sides.below.iter().all(|at| enough(*at));
        if is_known { differences } else { Vec::new() }
    };
    let mut places = Vec::new();
    let mut series = Vec::new();
    for sides in pairs.compared() {
        for (at, name) in names.iter().enumerate() {
            places.push((sides.top, at));
            series.push(of_name(name, &sides));
        }
    }
    let twins = Sides::all_twins(pairs.study);
    let twins = twins.iter().flat_map(|sides| names.iter().map(|name| of_name(name, sides)));
    let twins: Vec<Vec<f64>> = twins.collect();
    for ((top, at), change) in places.into_iter().zip(pairs.changes(&series, &twins, "points")) {
        if let Some(share) = activities[top].waits.as_mut().and_then(|waits| waits.shares.get_mut(at)) {
            share.change = change;
        }
    }
}

fn listed(names: &[String]) -> BTreeSet<&str> {
    names.iter().map(String::as_str).filter(|name| *name != OTHER).collect()
}

/// Share of one name in a run's samples; `None` if waits were not sampled.
pub(crate) fn share(sums: &Sums, name: &str, listed: &BTreeSet<&str>) -> Option<f64> {
    let samples = match name {
        OTHER => rest(sums, listed),
        name => sums.counter(&format!("{PREFIX}{name}")).unwrap_or(0.0),
    };
    per(samples, of_run(sums))
}

/// Names and samples of one run; an engine's own `other` belongs to the remainder.
fn waits_of(sums: &Sums) -> impl Iterator<Item = (&str, f64)> {
    let named = sums.counters.iter().filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, *value)));
    named.filter(|(name, _)| *name != OTHER)
}

/// Samples of one run that have none of these names.
fn rest(sums: &Sums, names: &BTreeSet<&str>) -> f64 {
    let shown: f64 = waits_of(sums).filter(|(name, _)| names.contains(name)).map(|(_, value)| value).sum();
    (of_run(sums) - shown).max(0.0)
}

/// All samples of one run. If the engine's total is less than the sum of its parts, the sum counts.
fn of_run(sums: &Sums) -> f64 {
    let parts: f64 = sums.counters.iter().filter(|(name, _)| name.starts_with(PREFIX)).map(|(_, v)| v).sum();
    sums.counter(SAMPLED).unwrap_or(0.0).max(parts)
}

fn samples(runs: &[&Sums]) -> f64 {
    runs.iter().map(|sums| of_run(sums)).sum()
}
