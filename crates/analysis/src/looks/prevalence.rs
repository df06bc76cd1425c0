//! Where a study ran, in numbers: how often its logical CPUs were in each state, for how long, transitions, distances
//! of their cores, and the cost of the looks.
//!
//! A treatment's states are those of its own logical CPUs in the last look before each of its slices, or for long
//! slices in the looks during them; the study's are those of all logical CPUs that were looked at. If not all were,
//! states are those of the ones that were, with their number.

use super::counted::{Counted, counted, moment};
use super::coverage::{self, Coverage};
use super::distance::{Distance, Line, boundaries, levels, share};
use super::sequence::{self, Moment, Stretches, Transition};
use super::shares::BlockShares;
use super::states::{Judged, LookState, LookedAt, Shares};
use super::words::{serialize_moment, serialize_word};
use crate::setting::Setting;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::Interval;
use threadwise_machine::Topology;
use threadwise_statistics::{median, per};
use threadwise_study::look::Levels;
use threadwise_study::look::follow::Share;
use threadwise_study::{Look, Moment as When, PairLook};

/// Largest share of the measured time for looks.
pub const COST_SHARE: f64 = 0.015;

/// Results of a study's looks. Only valid runs are included.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Looks {
    /// Looks right before slices, while slices ran, and right after slices.
    pub taken: Counts,
    /// The looks that are counted for shares: before slices, or during them if they are long.
    #[serde(serialize_with = "serialize_moment")]
    #[schemars(with = "String")]
    pub moment: When,
    /// Slices without a look of that moment. Before slices, they are not counted; during slices, their time is unknown.
    pub slices_without: u32,
    /// OS numbers of the logical CPUs that were looked at, ascending; more than 16 take turns.
    pub cpus: Vec<u32>,
    /// Number of logical CPUs of a block's treatments, and how many of them were in one look: the look with the
    /// smallest share.
    pub coverage: Coverage,
    /// Whether some of them are declared as siblings of each other: these being on one core is not a finding.
    pub has_declared_siblings: bool,
    /// Time of looks, including waiting for each other, over the time of all windows; `None` without windows.
    pub cost_share: Option<f64>,
    /// Median of the looks' durations, nanoseconds.
    pub took_ns_p50: f64,
    /// Whether the width of a free core is known for any logical CPU: otherwise neighbours are unknown.
    pub widths_known: bool,
    /// Longest line between siblings, nanoseconds; `None` if the lines have no gap.
    pub siblings_ns: Option<f64>,
    /// Share of the looks at logical CPUs with a neighbour that left far less than the width of a free core.
    #[serde(skip)]
    pub deep_share: f64,
    /// Whether lines of those that are on one core by their widths are longer than that.
    pub lines_mislead: bool,
    /// Looks whose lines and widths contradict each other.
    pub contradictions: u32,
    /// States of all logical CPUs that were looked at, in the looks that count; declared siblings count as apart.
    pub study: Vec<StateShare>,
    /// Stretches of these states, over all looks.
    pub stretches: Vec<Stretches>,
    /// Transitions, over all looks.
    pub transitions: Vec<Transition>,
    /// Treatments with anything counted, in study order.
    pub treatments: Vec<TreatmentLooks>,
    /// By logical CPU, in the looks that count.
    pub by_cpu: Vec<CpuShares>,
    /// Levels of lines between different cores, nearest first, in the looks that count.
    pub distances: Vec<Distance>,
}

/// Looks by when they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct StateShare {
    /// The state.
    #[serde(serialize_with = "serialize_word")]
    #[schemars(with = "String")]
    pub state: LookState,
    /// Share of the looks before slices, or of the time of slices by the looks during them, with its interval over
    /// blocks.
    pub share: Interval,
}

/// Results of the looks for one treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct TreatmentLooks {
    /// Its name.
    pub treatment: String,
    /// Number of its logical CPUs, and how many of them were in one look: the look with the smallest share. Its states
    /// are those of the ones that were.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// Slices that count: those with a look before them, or all if the looks during them count.
    pub slices: u32,
    /// Looks that are counted for the shares.
    pub looks: u32,
    /// Every state, in display order.
    pub states: Vec<StateShare>,
    /// Slices with a look before and one after them; if the looks during them count, slices with two or more known ones
    /// of these.
    pub bracketed: u32,
    /// Share of these whose looks have different states; `None` without any.
    pub disagree: Option<Interval>,
    /// Slices with looks before, during and after them.
    pub with_during: u32,
    /// Number of these with a look while they ran in a known state that differs from both the one before and the one
    /// after.
    pub during_differs: u32,
    /// Share of the lines between its logical CPUs in each level of the study's distances; empty without lines, or if
    /// all lines are one level.
    pub distances: Vec<Interval>,
}

/// Results of the looks for one logical CPU.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct CpuShares {
    /// OS number.
    pub cpu: u32,
    /// Looks that count and include it.
    pub looks: u32,
    /// Share of them by how it had its core, in the words of `threadwise watch`; words that never occurred have no
    /// entry.
    pub shares: BTreeMap<&'static str, Interval>,
}

impl Looks {
    /// Between the nearest level of lines between different cores and the next one, nanoseconds a move; `None` if all
    /// are of one level.
    pub fn cut_ns(&self) -> Option<f64> {
        let [near, far, ..] = self.distances.as_slice() else { return None };
        Some((near.line_ns_p95 * far.line_ns_p5).sqrt())
    }

    /// Share of the looks that count in which the study was in a state.
    pub fn share(&self, state: LookState) -> Option<&Interval> {
        self.study.iter().find(|one| one.state == state).map(|one| &one.share)
    }

    /// Number of looks at the moment that counts.
    pub fn counted(&self) -> u32 {
        if self.moment == When::During { self.taken.during } else { self.taken.before }
    }

    /// Stretches of a state; 0 if it never occurred.
    pub fn stretches_in(&self, state: LookState) -> u32 {
        self.stretches.iter().find(|one| one.state == state).map_or(0, |one| one.stretches)
    }
}

/// Results of a study's looks; `None` without looks.
pub(crate) fn looks(setting: &Setting<'_>, slices: &[LookedAt<'_>]) -> Option<Looks> {
    let all = || slices.iter().flat_map(|one| &one.looks);
    let counts = counts(all());
    if counts.all() == 0 {
        return None;
    }
    let known = Levels::of(all().map(|one| one.look));
    let took_ns = || all().map(|one| one.look.took_ns as f64);
    let windows_ns: f64 = slices.iter().map(|one| one.slice.window_ns as f64).sum();
    let cpus: BTreeSet<u32> = all().flat_map(|one| one.look.cpus.iter().map(|seen| seen.cpu)).collect();
    let moments = moments(slices, setting.topology);
    let moment = moment(slices);
    let counted = counted(slices, moment);
    let lines = lines(setting, &counted, &known);
    let cuts = boundaries(&lines);
    let contradicts = |one: &&Judged<'_>| contradicts(one.look, &one.shares, known.siblings_ns);
    Some(Looks {
        taken: counts,
        moment,
        slices_without: slices.iter().filter(|one| has_none(one, moment)).count() as u32,
        has_declared_siblings: cpus
            .iter()
            .any(|cpu| cpus.iter().any(|other| are_declared_siblings(setting.topology, *cpu, *other))),
        cpus: cpus.into_iter().collect(),
        coverage: coverage::of_blocks(slices)?,
        cost_share: per(took_ns().sum(), windows_ns),
        took_ns_p50: median(took_ns())?,
        widths_known: !known.free.is_empty(),
        siblings_ns: known.siblings_ns,
        deep_share: deep_share(all(), &known),
        lines_mislead: known.lines_mislead,
        contradictions: all().filter(contradicts).count() as u32,
        study: of_study(setting, &counted),
        stretches: sequence::stretches(&moments),
        transitions: sequence::transitions(&moments),
        treatments: treatments(setting, slices, (&counted, moment), (&lines, &cuts)),
        by_cpu: by_cpu(&counted, setting.alpha),
        distances: levels(&lines, &cuts, setting.alpha),
    })
}

/// Of the looks that show whether a logical CPU has a neighbour.
fn deep_share<'r>(looks: impl Iterator<Item = &'r Judged<'r>>, known: &Levels) -> f64 {
    let (mut deep, mut all) = (0.0, 0.0);
    for (seen, share) in
        looks.flat_map(|one| one.look.cpus.iter().map(|seen| (seen, one.shares.get(seen.cpu))))
    {
        let is_neighbour = match share {
            Some(Share::Neighbour) => true,
            Some(Share::Alone) => false,
            _ => continue,
        };
        let is_deep =
            seen.adds_per_step.zip(known.free.get(&seen.cpu)).is_some_and(|(adds, free)| free.is_deep(adds));
        all += 1.0;
        deep += f64::from(u8::from(is_neighbour && is_deep));
    }
    if all > 0.0 { deep / all } else { 0.0 }
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

/// Whether a slice has no look of a moment.
fn has_none(slice: &LookedAt<'_>, moment: When) -> bool {
    slice.looks.iter().all(|one| one.moment != moment)
}

/// Whether two logical CPUs are different ones that the system declares as siblings.
fn are_declared_siblings(topology: Option<&Topology>, cpu: u32, other: u32) -> bool {
    let declared = topology.and_then(|topology| topology.cpu(cpu));
    cpu != other && declared.is_some_and(|declared| declared.siblings.contains(other))
}

/// State of all logical CPUs of a look. One that shares a core with a declared sibling is where it should be.
fn whole_state(judged: &Judged<'_>, topology: Option<&Topology>) -> LookState {
    let as_declared = |(cpu, share): (u32, Share)| match share.with() {
        Some(other) if are_declared_siblings(topology, cpu, other) => (cpu, Share::Alone),
        _ => (cpu, share),
    };
    let cpus: Vec<u32> = judged.shares.iter().map(|(cpu, _)| cpu).collect();
    LookState::of(&cpus, &judged.shares.iter().map(as_declared).collect())
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

/// Whether the line of two says that they are on one core and the width of one that it is not, or a test says that they
/// are and the line not.
fn contradicts(look: &Look, shares: &Shares, siblings_ns: Option<f64>) -> bool {
    let is_fast = |line_ns: Option<f64>| line_ns.zip(siblings_ns).is_some_and(|(line, most)| line <= most);
    let is_tested = |pair: &PairLook| {
        look.alone.is_some_and(|one| (one.a, one.b) == (pair.a, pair.b)) && pair.line_ns.is_some()
    };
    let mut unknown = look.pairs.iter().filter(|pair| shares.get(pair.a) == Some(Share::Unknown));
    unknown.any(|pair| siblings_ns.is_some() && (is_fast(pair.line_ns) || is_tested(pair)))
}

/// The share of every state, from states by block with their weights.
fn state_shares(states: &[(u32, LookState, f64)], alpha: f64) -> Vec<StateShare> {
    let share = |state| {
        let mut shares = BlockShares::default();
        states.iter().for_each(|(block, seen, weight)| shares.add_weighted(*block, *seen == state, *weight));
        Some(StateShare { state, share: shares.interval(alpha)? })
    };
    LookState::ALL.into_iter().filter_map(share).collect()
}

fn of_study(setting: &Setting<'_>, counted: &[Counted<'_, '_>]) -> Vec<StateShare> {
    let state = |one: &Counted<'_, '_>| {
        let state = one.judged.map_or(LookState::Unknown, |judged| whole_state(judged, setting.topology));
        (one.slice.run.block, state, one.weight)
    };
    state_shares(&counted.iter().map(state).collect::<Vec<_>>(), setting.alpha)
}

fn treatments(
    setting: &Setting<'_>,
    slices: &[LookedAt<'_>],
    (counted, moment): (&[Counted<'_, '_>], When),
    (lines, cuts): (&[Line], &[f64]),
) -> Vec<TreatmentLooks> {
    let mut by_name: BTreeMap<&str, Vec<&Counted<'_, '_>>> = BTreeMap::new();
    for one in counted {
        by_name.entry(one.slice.run.treatment.as_str()).or_default().push(one);
    }
    let summary = |(at, name): (usize, &str)| {
        let counted = by_name.get(name)?;
        let its_lines = || lines.iter().filter(|line| line.treatment == Some(at));
        let levels = if cuts.is_empty() { 0..0 } else { 0..cuts.len() + 1 };
        let distances = levels.filter_map(|level| share(its_lines(), cuts, level, setting.alpha)).collect();
        let coverage = coverage::of_runs(slices.iter().filter(|slice| slice.run.treatment == name));
        let most = counted.iter().map(|one| one.slice.run.cpus.len()).max()?;
        let coverage = coverage.unwrap_or(Coverage { cpus: most as u32, looked_at: 0 });
        Some(treatment((name, coverage), (counted, moment), distances, setting.alpha))
    };
    let named = setting.study.treatments.iter().map(|treatment| treatment.name.as_str()).enumerate();
    named.filter_map(summary).collect()
}

fn treatment(
    (name, coverage): (&str, Coverage),
    (counted, moment): (&[&Counted<'_, '_>], When),
    distances: Vec<Interval>,
    alpha: f64,
) -> TreatmentLooks {
    let state = |one: &&Counted<'_, '_>| {
        let cpus = &one.slice.run.cpus;
        let state = one.judged.map_or(LookState::Unknown, |judged| LookState::of(cpus, &judged.shares));
        (one.slice.run.block, state, one.weight)
    };
    let states: Vec<(u32, LookState, f64)> = counted.iter().map(state).collect();
    let mut slices: Vec<&LookedAt<'_>> = counted.iter().map(|one| one.slice).collect();
    slices.dedup_by(|one, other| std::ptr::eq(*one, *other));
    let mut disagree = BlockShares::default();
    let (mut with_during, mut during_differs) = (0, 0);
    for one in &slices {
        if let Some(changed) = changed(one, moment) {
            disagree.add(one.run.block, changed);
        }
        if let Some(differs) = during_differs_from_both(one) {
            with_during += 1;
            during_differs += u32::from(differs);
        }
    }
    TreatmentLooks {
        treatment: name.to_owned(),
        coverage,
        slices: slices.len() as u32,
        looks: counted.iter().filter(|one| one.judged.is_some()).count() as u32,
        states: state_shares(&states, alpha),
        bracketed: disagree.all(),
        disagree: disagree.interval(alpha),
        with_during,
        during_differs,
        distances,
    }
}

/// States of the run's logical CPUs in the looks during a slice.
fn states_during(slice: &LookedAt<'_>) -> Vec<LookState> {
    let during = slice.looks.iter().filter(|judged| judged.moment == When::During);
    during.map(|judged| LookState::of(&slice.run.cpus, &judged.shares)).collect()
}

/// Whether the state of a slice is seen to change: between the looks around it, or between known ones during it. `None`
/// with fewer than two.
fn changed(slice: &LookedAt<'_>, moment: When) -> Option<bool> {
    let cpus = &slice.run.cpus;
    if moment == When::Before {
        return Some(slice.before(cpus)? != slice.after(cpus)?);
    }
    let known: Vec<LookState> =
        states_during(slice).into_iter().filter(|state| *state != LookState::Unknown).collect();
    let (first, rest) = known.split_first()?;
    (!rest.is_empty()).then(|| rest.iter().any(|state| state != first))
}

/// Whether a look during a slice knows another state than those before and after it; `None` if one of the three is
/// missing.
fn during_differs_from_both(slice: &LookedAt<'_>) -> Option<bool> {
    let around = [slice.before(&slice.run.cpus)?, slice.after(&slice.run.cpus)?];
    let during = states_during(slice);
    let differs = |state: &LookState| *state != LookState::Unknown && !around.contains(state);
    (!during.is_empty()).then(|| during.iter().any(differs))
}

fn by_cpu(counted: &[Counted<'_, '_>], alpha: f64) -> Vec<CpuShares> {
    let mut seen: BTreeMap<u32, CpuSums> = BTreeMap::new();
    for (one, judged) in counted.iter().filter_map(|one| Some((one, one.judged?))) {
        for (cpu, share) in judged.shares.iter() {
            let sums = seen.entry(cpu).or_default();
            sums.looks += 1;
            let (count, by_word) = sums.blocks.entry(one.slice.run.block).or_default();
            *count += 1;
            *by_word.entry(share.word()).or_default() += one.weight;
        }
    }
    let of_cpu = |(cpu, sums): (u32, CpuSums)| {
        let words: BTreeSet<&'static str> =
            sums.blocks.values().flat_map(|(_, by_word)| by_word.keys().copied()).collect();
        let share = |word: &'static str| {
            let mut shares = BlockShares::default();
            for (block, (count, by_word)) in &sums.blocks {
                let hits = by_word.get(word).copied().unwrap_or(0.0);
                shares.add_block(*block, hits, by_word.values().sum(), *count);
            }
            Some((word, shares.interval(alpha)?))
        };
        CpuShares { cpu, looks: sums.looks, shares: words.into_iter().filter_map(share).collect() }
    };
    seen.into_iter().map(of_cpu).collect()
}

/// Looks of a logical CPU: their number, and for each block the number and the sum of weights by word.
#[derive(Default)]
struct CpuSums {
    looks: u32,
    blocks: BTreeMap<u32, (u32, BTreeMap<&'static str, f64>)>,
}

/// Lines between different cores in the looks that count; those of two logical CPUs of the slice with its treatment.
fn lines(setting: &Setting<'_>, counted: &[Counted<'_, '_>], known: &Levels) -> Vec<Line> {
    let least_ns = match known.siblings_ns {
        Some(siblings_ns) => siblings_ns,
        None if known.lines_mislead => 0.0,
        None => return Vec::new(),
    };
    let places: BTreeMap<&str, usize> =
        setting.study.treatments.iter().map(|treatment| treatment.name.as_str()).zip(0..).collect();
    let of_look = |one: &Counted<'_, '_>| {
        let run = one.slice.run;
        let pairs = one.judged.map_or(&[][..], |judged| &judged.look.pairs);
        let share = |cpu: u32| one.judged.and_then(|judged| judged.shares.get(cpu));
        let far = pairs.iter().filter(|pair| share(pair.a) != Some(Share::With(pair.b))).filter_map(|pair| {
            let line_ns = pair.line_ns.filter(|line_ns| *line_ns > least_ns)?;
            let is_ours = [pair.a, pair.b].iter().all(|cpu| run.cpus.contains(cpu));
            let treatment = places.get(run.treatment.as_str()).copied().filter(|_| is_ours);
            Some(Line { block: run.block, line_ns, treatment })
        });
        far.collect::<Vec<Line>>()
    };
    counted.iter().flat_map(of_look).collect()
}

#[cfg(test)]
mod tests;
