//! Where a study ran, in numbers: how often its logical CPUs were in each state, for how long, what came after
//! what, how far apart their cores were, and what the looks cost.
//!
//! A treatment's states are those of its own logical CPUs in the last look before each of its slices; the study's
//! are those of all logical CPUs that were looked at.

use super::distance::{Distance, Line, boundaries, levels, share};
use super::sequence::{self, Moment, Stretches, Transition};
use super::shares::BlockShares;
use super::states::{Judged, LookedAt, State, looked_at};
use super::words::serialize_word;
use crate::setting::Setting;
use crate::statistics::{median, per};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::Interval;
use threadwise_machine::Topology;
use threadwise_study::look::Levels;
use threadwise_study::look::follow::Share;
use threadwise_study::{Look, Moment as When, Run};

/// Looks may take this share of the measured time.
pub const COST_SHARE: f64 = 0.01;

/// What the looks of a study say. Only valid runs are in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Looks {
    /// Looks right before slices, while slices ran, and right after slices.
    pub taken: Counts,
    /// Slices without a look before them.
    pub slices_without: u32,
    /// OS numbers of the logical CPUs that were looked at, ascending.
    pub cpus: Vec<u32>,
    /// Whether some of them are declared as siblings of each other: that these are on one core is no finding.
    pub has_declared_siblings: bool,
    /// Time that looks took, waiting for each other included, over the time of all windows; `None` without
    /// windows.
    pub cost_share: Option<f64>,
    /// Median of the looks' durations, nanoseconds.
    pub took_ns_p50: f64,
    /// Whether the width of a free core is known of any logical CPU: without it nothing is said of co-runners.
    pub widths_known: bool,
    /// A line that took no longer was one between siblings, nanoseconds; `None` where the lines leave no gap.
    pub siblings_ns: Option<f64>,
    /// Looks whose lines and widths contradict each other.
    pub contradictions: u32,
    /// States of all logical CPUs that were looked at, in the looks before slices; siblings that are declared as
    /// such are as good as apart.
    pub study: Vec<StateShare>,
    /// Their stretches, over all looks.
    pub stretches: Vec<Stretches>,
    /// What came after what, over all looks.
    pub transitions: Vec<Transition>,
    /// In study order, those with a look before a slice.
    pub treatments: Vec<TreatmentLooks>,
    /// By logical CPU, in the looks before slices.
    pub by_cpu: Vec<CpuShares>,
    /// Levels of lines between different cores, nearest first, in the looks before slices.
    pub distances: Vec<Distance>,
}

/// Looks by when they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Right before a slice.
    pub before: u32,
    /// While a slice ran.
    pub during: u32,
    /// Right after a slice.
    pub after: u32,
}

impl Counts {
    /// All of them.
    pub fn all(self) -> u32 {
        self.before + self.during + self.after
    }
}

/// How often a state was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateShare {
    /// The state.
    #[serde(serialize_with = "serialize_word")]
    pub state: State,
    /// Share of the looks, with its interval over blocks.
    pub share: Interval,
}

/// What the looks say of one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreatmentLooks {
    /// Its name.
    pub treatment: String,
    /// Slices with a look before them.
    pub slices: u32,
    /// Every state, in the order of [`State::ALL`].
    pub states: Vec<StateShare>,
    /// Slices with a look before and one after them.
    pub bracketed: u32,
    /// Share of these whose two looks are in different states; `None` without any.
    pub disagree: Option<Interval>,
    /// Of these, slices that also have a look while they ran.
    pub with_during: u32,
    /// Of these, slices with a look while they ran that is in another state than both the one before and the
    /// one after.
    pub during_differs: u32,
    /// Share of the lines between its logical CPUs in each level of the study's distances; empty without lines, or
    /// where all lines are one level.
    pub distances: Vec<Interval>,
}

/// What the looks say of one logical CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuShares {
    /// OS number.
    pub cpu: u32,
    /// Looks before slices that it was in.
    pub looks: u32,
    /// Share of them in which it had its core so, by the word of `threadwise watch`; words that never occurred
    /// have no entry.
    pub shares: BTreeMap<&'static str, Interval>,
}

impl Looks {
    /// Share of the looks before slices in which the study was in a state.
    pub fn share(&self, state: State) -> Option<&Interval> {
        self.study.iter().find(|one| one.state == state).map(|one| &one.share)
    }

    /// Stretches of a state; 0 where it never occurred.
    pub fn stretches_in(&self, state: State) -> u32 {
        self.stretches.iter().find(|one| one.state == state).map_or(0, |one| one.stretches)
    }
}

/// What the looks of a study say; `None` without looks.
pub(crate) fn looks(setting: &Setting<'_>, runs: &[Run]) -> Option<Looks> {
    let slices = looked_at(runs);
    let all = || slices.iter().flat_map(|one| &one.looks);
    let counts = counts(all());
    if counts.all() == 0 {
        return None;
    }
    let known = Levels::of(all().map(|one| one.look));
    let took_ns = || all().map(|one| one.look.took_ns as f64);
    let windows_ns: f64 = slices.iter().map(|one| one.slice.window_ns as f64).sum();
    let cpus: BTreeSet<u32> = all().flat_map(|one| one.look.cpus.iter().map(|seen| seen.cpu)).collect();
    let moments = moments(&slices, setting.topology);
    let lines = lines(setting, &slices, known.siblings_ns);
    let cuts = boundaries(&lines);
    let contradicts = |one: &&Judged<'_>| contradicts(one.look, &one.shares, known.siblings_ns);
    Some(Looks {
        taken: counts,
        slices_without: slices.iter().filter(|one| last_before(one).is_none()).count() as u32,
        has_declared_siblings: cpus
            .iter()
            .any(|cpu| cpus.iter().any(|other| are_declared_siblings(setting.topology, *cpu, *other))),
        cpus: cpus.into_iter().collect(),
        cost_share: per(took_ns().sum(), windows_ns),
        took_ns_p50: median(took_ns())?,
        widths_known: !known.free_adds.is_empty(),
        siblings_ns: known.siblings_ns,
        contradictions: all().filter(contradicts).count() as u32,
        study: of_study(setting, &slices),
        stretches: sequence::stretches(&moments),
        transitions: sequence::transitions(&moments),
        treatments: treatments(setting, &slices, &lines, &cuts),
        by_cpu: by_cpu(&slices, setting.alpha),
        distances: levels(&lines, &cuts, setting.alpha),
    })
}

fn counts<'r>(looks: impl Iterator<Item = &'r Judged<'r>>) -> Counts {
    looks.fold(Counts::default(), |mut counts, one| {
        match one.moment {
            When::Before => counts.before += 1,
            When::During => counts.during += 1,
            When::After => counts.after += 1,
        }
        counts
    })
}

fn last_before<'l, 'r>(slice: &'l LookedAt<'r>) -> Option<&'l Judged<'r>> {
    slice.looks.iter().rev().find(|one| one.moment == When::Before)
}

/// Whether two logical CPUs are different ones that the system declares as siblings.
fn are_declared_siblings(topology: Option<&Topology>, cpu: u32, other: u32) -> bool {
    let declared = topology.and_then(|topology| topology.cpu(cpu));
    cpu != other && declared.is_some_and(|declared| declared.siblings.contains(other))
}

/// State of all logical CPUs of a look. Whoever shares a core with a declared sibling is where it should be.
fn whole_state(judged: &Judged<'_>, topology: Option<&Topology>) -> State {
    let as_declared = |(&cpu, &share): (&u32, &Share)| match share.with() {
        Some(other) if are_declared_siblings(topology, cpu, other) => (cpu, Share::Alone),
        _ => (cpu, share),
    };
    let cpus: Vec<u32> = judged.shares.keys().copied().collect();
    State::of(&cpus, &judged.shares.iter().map(as_declared).collect())
}

fn moments(slices: &[LookedAt<'_>], topology: Option<&Topology>) -> Vec<Moment> {
    let looks = slices.iter().flat_map(|one| one.looks.iter().map(move |judged| (one.run.block, judged)));
    let moments = looks.map(|(block, judged)| Moment {
        block,
        start_ns: judged.look.start_ns,
        end_ns: judged.look.start_ns.saturating_add(judged.look.took_ns),
        state: whole_state(judged, topology),
    });
    moments.collect()
}

/// Whether a line says that two are on one core, and the width of one that it is not.
fn contradicts(look: &Look, shares: &BTreeMap<u32, Share>, siblings_ns: Option<f64>) -> bool {
    let is_fast = |line_ns: Option<f64>| line_ns.zip(siblings_ns).is_some_and(|(line, most)| line <= most);
    look.pairs.iter().any(|pair| is_fast(pair.line_ns) && shares.get(&pair.a) == Some(&Share::Unknown))
}

/// The share of every state, of states by block.
fn state_shares(states: &[(u32, State)], alpha: f64) -> Vec<StateShare> {
    let share = |state| {
        let mut shares = BlockShares::default();
        states.iter().for_each(|(block, seen)| shares.add(*block, *seen == state));
        Some(StateShare { state, share: shares.interval(alpha)? })
    };
    State::ALL.into_iter().filter_map(share).collect()
}

fn of_study(setting: &Setting<'_>, slices: &[LookedAt<'_>]) -> Vec<StateShare> {
    let state = |one: &LookedAt<'_>| Some((one.run.block, whole_state(last_before(one)?, setting.topology)));
    state_shares(&slices.iter().filter_map(state).collect::<Vec<_>>(), setting.alpha)
}

fn treatments(
    setting: &Setting<'_>,
    slices: &[LookedAt<'_>],
    lines: &[Line],
    cuts: &[f64],
) -> Vec<TreatmentLooks> {
    let mut by_name: BTreeMap<&str, Vec<&LookedAt<'_>>> = BTreeMap::new();
    for one in slices {
        by_name.entry(one.run.treatment.as_str()).or_default().push(one);
    }
    let summary = |(at, name): (usize, &str)| {
        let slices = by_name.get(name)?;
        let own_lines = || lines.iter().filter(|line| line.treatment == Some(at));
        let levels = if cuts.is_empty() { 0..0 } else { 0..cuts.len() + 1 };
        let distances = levels.filter_map(|level| share(own_lines(), cuts, level, setting.alpha)).collect();
        treatment(name, slices, distances, setting.alpha)
    };
    let named = setting.study.treatments.iter().map(|treatment| treatment.name.as_str()).enumerate();
    named.filter_map(summary).collect()
}

/// `None` without a look before a slice.
fn treatment(
    name: &str,
    slices: &[&LookedAt<'_>],
    distances: Vec<Interval>,
    alpha: f64,
) -> Option<TreatmentLooks> {
    let (mut states, mut disagree) = (Vec::new(), BlockShares::default());
    let (mut with_during, mut during_differs) = (0, 0);
    for one in slices {
        let cpus = &one.run.cpus;
        let Some(before) = one.before(cpus) else { continue };
        states.push((one.run.block, before));
        let Some(after) = one.after(cpus) else { continue };
        disagree.add(one.run.block, before != after);
        let during = one.looks.iter().filter(|judged| judged.moment == When::During);
        let during: Vec<State> = during.map(|judged| State::of(cpus, &judged.shares)).collect();
        with_during += u32::from(!during.is_empty());
        during_differs += u32::from(during.iter().any(|state| *state != before && *state != after));
    }
    (!states.is_empty()).then(|| TreatmentLooks {
        treatment: name.to_owned(),
        slices: states.len() as u32,
        states: state_shares(&states, alpha),
        bracketed: disagree.all(),
        disagree: disagree.interval(alpha),
        with_during,
        during_differs,
        distances,
    })
}

fn by_cpu(slices: &[LookedAt<'_>], alpha: f64) -> Vec<CpuShares> {
    let mut seen: BTreeMap<u32, Vec<(u32, &'static str)>> = BTreeMap::new();
    for (one, judged) in slices.iter().filter_map(|one| Some((one, last_before(one)?))) {
        for (cpu, share) in &judged.shares {
            seen.entry(*cpu).or_default().push((one.run.block, share.word()));
        }
    }
    let of_cpu = |(cpu, all): (u32, Vec<(u32, &'static str)>)| {
        let words: BTreeSet<&'static str> = all.iter().map(|(_, word)| *word).collect();
        let share = |word: &'static str| {
            let mut shares = BlockShares::default();
            all.iter().for_each(|(block, seen)| shares.add(*block, *seen == word));
            Some((word, shares.interval(alpha)?))
        };
        CpuShares { cpu, looks: all.len() as u32, shares: words.into_iter().filter_map(share).collect() }
    };
    seen.into_iter().map(of_cpu).collect()
}

/// Lines between different cores in the looks before slices, in those of two logical CPUs of the slice with its
/// treatment.
fn lines(setting: &Setting<'_>, slices: &[LookedAt<'_>], siblings_ns: Option<f64>) -> Vec<Line> {
    let Some(siblings_ns) = siblings_ns else { return Vec::new() };
    let places: BTreeMap<&str, usize> =
        setting.study.treatments.iter().map(|treatment| treatment.name.as_str()).zip(0..).collect();
    let of_slice = |one: &LookedAt<'_>| {
        let pairs = last_before(one).map_or(&[][..], |judged| &judged.look.pairs);
        let far = pairs.iter().filter_map(|pair| {
            let line_ns = pair.line_ns.filter(|line_ns| *line_ns > siblings_ns)?;
            let is_ours = [pair.a, pair.b].iter().all(|cpu| one.run.cpus.contains(cpu));
            let treatment = places.get(one.run.treatment.as_str()).copied().filter(|_| is_ours);
            Some(Line { block: one.run.block, line_ns, treatment })
        });
        far.collect::<Vec<Line>>()
    };
    slices.iter().flat_map(of_slice).collect()
}

#[cfg(test)]
mod tests;
