//! The settings that a study lets its user choose, and which of each to use: numbers of sessions, of jobs, degrees of
//! parallelism, one busy thread of a core or both, placements of sessions, of service threads and of memory.
//!
//! The method is [`crate::estimate::choose`]. Candidates are in order of preference among equals: fewer sessions before
//! more, one thread of a core before both, the order of the study.

pub(crate) mod lost;

use crate::Interval;
use crate::estimate::sides::side;
use crate::estimate::{Chosen, Fastest, Observed, choose, throughput_over};
use crate::groups;
use crate::setting::Setting;
use crate::shape::Shape;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_machine::placement::Order;
use threadwise_statistics::MeanEstimate;
use threadwise_study::{Comparison, ComparisonKind, Role, Study, Treatment, Workload, version};

/// The choices of a study of rates; none if its runs are whole.
pub(crate) fn of_rates(setting: &Setting<'_>, observed: &Observed) -> Vec<Choice> {
    let study = setting.study;
    if study.is_fixed_work() {
        return Vec::new();
    }
    let over = over(study, |top, below| throughput_over(study, observed, top, below));
    candidates_of_rates(study).into_iter().filter_map(|all| made(setting, all, &over)).collect()
}

/// d by block of one treatment over another of the same group, where a baseline is both of its names; `d` is that of a
/// treatment over the mean of others.
pub(crate) fn over<'a>(
    study: &'a Study,
    d: impl Fn(usize, &[usize]) -> Vec<f64> + 'a,
) -> impl Fn(usize, usize) -> Vec<f64> + 'a {
    move |one, other| match study.treatments[one].role {
        Role::Compared => d(one, &side(study, other)),
        _ => d(other, &side(study, one)).into_iter().map(|d| -d).collect(),
    }
}

/// Which treatments of each group may be the best; `over` gives d by block of one over another.
pub(crate) fn fastest(study: &Study, over: impl Fn(usize, usize) -> Vec<f64>, alpha: f64) -> Vec<Fastest> {
    let of_group = |group: &str| {
        let all = study.treatments.iter().enumerate();
        let is_candidate = |one: &Treatment| one.group == group && one.role != Role::BaselineTwin;
        let all: Vec<usize> = all.filter(|(_, one)| is_candidate(one)).map(|(at, _)| at).collect();
        let name = |at: usize| study.treatments[all[at]].name.clone();
        Fastest::of(group, all.len(), name, |one, other| over(all[one], all[other]), alpha)
    };
    study.groups().into_iter().filter_map(of_group).collect()
}

/// Chooses among the candidates that were measured; `None` with fewer than two.
pub(crate) fn made(
    setting: &Setting<'_>,
    candidates: Candidates,
    over: impl Fn(usize, usize) -> Vec<f64>,
) -> Option<Choice> {
    let study = setting.study;
    let Candidates { axis, group, place, treatments } = candidates;
    let is_measured =
        |one: &usize| treatments.iter().any(|other| other != one && !over(*one, *other).is_empty());
    let measured: Vec<usize> = treatments.iter().copied().filter(is_measured).collect();
    if measured.len() < 2 {
        return None;
    }
    let name = |at: &usize| (study.treatments[*at].name.clone(), study.treatments[*at].sessions);
    let rule = (study.design.margin.ln_1p(), setting.alpha, study.seed);
    let over = |one: usize, other: usize| over(measured[one], measured[other]);
    Some(Choice::made((axis, &group, place), measured.iter().map(name).collect(), over, rule))
}

/// What the candidates of a choice differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Number of busy sessions.
    Sessions,
    /// One busy thread of each core, or both.
    Smt,
    /// Logical CPUs of the same number of sessions.
    Placement,
    /// Where service threads run.
    Service,
    /// NUMA nodes of memory.
    Memory,
    /// How sessions are bound.
    Pin,
    /// Degree of parallelism.
    Dop,
    /// Jobs of a work list.
    Jobs,
}

/// Value of [`Choice::place`] if one core represents all.
pub const ONE_CORE: &str = "one core";

/// A choice between settings.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Choice {
    /// What the candidates differ in.
    pub axis: Axis,
    /// Group of treatments.
    pub group: String,
    /// What the candidates have in common that other choices of the same axis do not; may be empty.
    pub place: String,
    /// At least two, in order of preference.
    pub candidates: Vec<Candidate>,
    /// Treatment to use: the first that is shown to be within the margin of the best; `None` if the data do not decide.
    pub chosen: Option<String>,
    /// Best guess if none is chosen; `None` with fewer than two blocks that all candidates have.
    pub guess: Option<Guess>,
    /// What each candidate lost to others, if they lost unequal shares of their time, so that nothing is chosen or
    /// guessed; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostTime>,
}

/// What a candidate lost to others, as shares of the time of its threads or logical CPUs; means over blocks.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize)]
pub struct LostTime {
    /// Time taken by the hypervisor.
    pub stolen_share: f64,
    /// Time taken by other programs.
    pub others_share: f64,
}

/// One of the settings.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Candidate {
    /// Treatment.
    pub treatment: String,
    /// Sessions, jobs or degree of parallelism.
    pub number: u32,
    /// Whether it is shown to be within the margin of the best, whichever that is.
    pub within_margin: bool,
    /// Its speed over the first candidate's; `None` for the first, or without a block that both have.
    pub speed: Option<Interval>,
    /// The same, corrected for the time lost to others; `None` if no candidate lost more than others did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_on_cpu: Option<Interval>,
}

/// The candidate that most likely is within the margin of the best.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Guess {
    /// Treatment.
    pub treatment: String,
    /// Probability that it is within the margin of the best.
    pub probability: f64,
    /// Mean loss against the best, as a share, where it is not within the margin.
    pub loss_share: f64,
}

impl Choice {
    /// Chooses among treatments, each with its number, in order of preference; `over` gives d by block of one over
    /// another, `rule` is the margin in logarithms, 1 − the level, and a seed.
    pub(crate) fn made(
        (axis, group, place): (Axis, &str, String),
        all: Vec<(String, u32)>,
        over: impl Fn(usize, usize) -> Vec<f64>,
        (margin, alpha, seed): (f64, f64, u64),
    ) -> Self {
        // Each pair is requested several times.
        let count = all.len();
        let pairs: Vec<Vec<f64>> = (0..count * count).map(|at| over(at / count, at % count)).collect();
        let over = |one: usize, other: usize| pairs[one * count + other].clone();
        let Chosen { near, chosen, guess } = choose(count, over, margin, alpha, seed);
        let name = |at: usize| all.get(at).map(|(name, _)| name.clone());
        let guess = guess.and_then(|guess| {
            let (probability, loss_share) = (guess.probability, guess.loss_share);
            Some(Guess { treatment: name(guess.at)?, probability, loss_share })
        });
        let chosen = chosen.and_then(name);
        let speed = |at: usize| {
            let mean = MeanEstimate::of(&over(at, 0)).filter(|_| at > 0)?;
            Some(mean.as_interval(alpha).exp())
        };
        let candidates =
            all.into_iter().zip(near).enumerate().map(|(at, ((treatment, number), within_margin))| {
                Candidate { treatment, number, within_margin, speed: speed(at), speed_on_cpu: None }
            });
        let (candidates, lost) = (candidates.collect(), Vec::new());
        Self { axis, group: group.to_owned(), place, candidates, chosen, guess, lost }
    }

    /// A candidate by its treatment.
    pub fn candidate(&self, treatment: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.treatment == treatment)
    }

    /// The one to use.
    pub fn chosen_candidate(&self) -> Option<&Candidate> {
        self.candidate(self.chosen.as_deref()?)
    }
}

/// Kinds of comparisons of both threads of each core over one.
const BOTH_THREADS: [ComparisonKind; 2] = [ComparisonKind::SmtWhole, ComparisonKind::SmtOff];

/// Treatments that differ in one thing alone, in order of preference.
pub struct Candidates {
    /// What they differ in.
    pub axis: Axis,
    /// Their group.
    pub group: String,
    /// What they have in common.
    pub place: String,
    /// Their indexes in the study, at least two.
    pub treatments: Vec<usize>,
}

impl Candidates {
    fn of(axis: Axis, group: &str, place: &str, treatments: Vec<usize>) -> Self {
        Self { axis, group: group.to_owned(), place: place.to_owned(), treatments }
    }
}

/// For a study of rates. If it compares two versions of a program, that is its question and it has no settings to
/// choose.
fn candidates_of_rates(study: &Study) -> Vec<Candidates> {
    let mut all = Vec::new();
    if version::are_compared(study) {
        return all;
    }
    for group in study.groups() {
        all.extend(sessions(study, group));
        all.extend(threads(study, group));
        // One session alone is there for comparison.
        let is_meant = |one: &Treatment| one.role == Role::Compared && one.sessions > 1;
        all.extend(classes(study, group, Axis::Placement, is_meant));
        for axis in [Axis::Service, Axis::Memory, Axis::Pin] {
            all.extend(classes(study, group, axis, |one| one.role != Role::BaselineTwin));
        }
    }
    all
}

/// For a study of commands: placements; for work lists jobs first.
pub fn of_commands(study: &Study) -> Vec<Candidates> {
    if version::are_compared(study) {
        return Vec::new();
    }
    let is_meant = |one: &Treatment| one.role != Role::BaselineTwin;
    let is_list = study.workload == Workload::WorkList;
    let of_group = |group: &&str| {
        let jobs = if is_list { classes(study, group, Axis::Jobs, is_meant) } else { Vec::new() };
        jobs.into_iter().chain(classes(study, group, Axis::Placement, is_meant)).collect::<Vec<_>>()
    };
    study.groups().iter().flat_map(of_group).collect()
}

/// For a study of queries: both threads of each core at their degree of parallelism, and one.
pub fn threads_of_queries(study: &Study) -> Vec<Candidates> {
    study
        .groups()
        .into_iter()
        .flat_map(|group| compared_threads(study, group, &[ComparisonKind::BothThreads]))
        .collect()
}

fn place_of(study: &Study, name: &str) -> Option<usize> {
    study.treatment(name).map(|(at, _)| at)
}

/// Numbers of sessions: the sweep that takes cores first; without one, one session and two on two cores.
fn sessions(study: &Study, group: &str) -> Option<Candidates> {
    let sweeps = points(study, group);
    let spread = sweeps.iter().find(|points| points.order != Some("packed"));
    let names: Vec<&str> = match spread {
        Some(points) => points.treatments.iter().map(|one| one.name.as_str()).collect(),
        None => {
            let is_alone = |one: &&Treatment| one.role == Role::Baseline && one.sessions == 1;
            let is_two = |one: &&Treatment| Shape::of(one) == Shape::SamePackage;
            let of_group = || study.treatments.iter().filter(|one| one.group == group);
            [of_group().find(is_alone)?, of_group().find(is_two)?].map(|one| one.name.as_str()).to_vec()
        }
    };
    let place = spread.and_then(|points| points.order).unwrap_or_default();
    let treatments = names.into_iter().filter_map(|name| place_of(study, name)).collect();
    Some(Candidates::of(Axis::Sessions, group, place, treatments))
}

/// One thread of each core or both: over the whole machine or a package if the study compares that, else of one core.
fn threads(study: &Study, group: &str) -> Vec<Candidates> {
    let mut pairs = compared_threads(study, group, &BOTH_THREADS);
    if pairs.is_empty() {
        let with = |shape: Shape| {
            study.treatments.iter().position(|one| one.group == group && Shape::of(one) == shape)
        };
        let pair = with(Shape::OneCpu).zip(with(Shape::SameCore));
        pairs.extend(pair.map(|(one, both)| Candidates::of(Axis::Smt, group, ONE_CORE, vec![one, both])));
    }
    pairs
}

/// One thread of each core against both: comparisons of some kinds.
fn compared_threads(study: &Study, group: &str, kinds: &[ComparisonKind]) -> Vec<Candidates> {
    let pair = |one: &Comparison| {
        let [under] = one.baseline.as_slice() else { return None };
        let pair = vec![place_of(study, under)?, place_of(study, &one.treatment)?];
        let is_here = study.treatments[pair[1]].group == group && kinds.contains(&one.kind);
        is_here.then(|| Candidates::of(Axis::Smt, group, &one.name, pair))
    };
    study.comparisons.iter().filter_map(pair).collect()
}

/// Sets of treatments of a group that differ in one axis alone.
fn classes(study: &Study, group: &str, axis: Axis, is_meant: impl Fn(&Treatment) -> bool) -> Vec<Candidates> {
    // Sessions that take turns on one logical CPU are there for comparison.
    let is_in = |one: &Treatment| one.group == group && is_meant(one) && Shape::of(one) != Shape::OneCpu;
    let all = study.treatments.iter().enumerate().filter(|(_, one)| is_in(one));
    let classes = groups::classes(all, |(_, one), (_, other)| is_like(one, other, axis)).into_iter();
    let made = |mut class: Vec<(usize, &Treatment)>| {
        if axis == Axis::Jobs {
            class.sort_by_key(|(_, one)| one.sessions);
        }
        let place = if axis == Axis::Placement { "" } else { class[0].1.placement.text.as_str() };
        Candidates::of(axis, group, place, class.into_iter().map(|(at, _)| at).collect())
    };
    classes.filter(|class| class.len() >= 2).map(made).collect()
}

/// Whether two treatments differ in one axis alone.
fn is_like(one: &Treatment, other: &Treatment, axis: Axis) -> bool {
    let is = |what: Axis| axis == what;
    one.factors == other.factors
        && one.instance == other.instance
        && one.arm == other.arm
        && (is(Axis::Jobs) || one.sessions == other.sessions)
        && (is(Axis::Placement) || one.placement == other.placement)
        && (is(Axis::Service) || one.service == other.service)
        && (is(Axis::Memory) || one.memory == other.memory)
        && (is(Axis::Pin) || one.pin == other.pin)
}

const MOST_FIRSTS: usize = 2;

/// Names of the treatments of each order of a group's sweep, by number of sessions, without the baseline; none if the
/// sweep has one order.
pub fn lines<'a>(study: &'a Study, group: &str) -> Vec<Vec<&'a str>> {
    let of_group = |name: &str| {
        let found = study.treatment(name).map(|(_, treatment)| treatment);
        found.filter(|found| found.group == group && found.role == Role::Compared)
    };
    let step = |step: &'a Comparison| {
        let (under, top) = (of_group(step.baseline.first()?)?, of_group(&step.treatment)?);
        let is_one = step.kind == ComparisonKind::SweepStep && under.sessions < top.sessions;
        is_one.then_some((under.name.as_str(), top.name.as_str()))
    };
    let steps: Vec<(&str, &str)> = study.comparisons.iter().filter_map(step).collect();
    let mut firsts: Vec<&str> = steps.iter().map(|(under, _)| *under).collect();
    firsts.retain(|under| steps.iter().all(|(_, top)| top != under));
    firsts.dedup();
    let mut lines: Vec<Vec<&str>> = (0..MOST_FIRSTS).map(|order| line(&firsts, &steps, order)).collect();
    lines.dedup();
    if lines.len() < MOST_FIRSTS { Vec::new() } else { lines }
}

/// The line of one order: of several treatments that follow, the one at its index.
fn line<'a>(firsts: &[&'a str], steps: &[(&'a str, &'a str)], order: usize) -> Vec<&'a str> {
    let mut line: Vec<&str> = Vec::new();
    let mut next = firsts.get(order).or(firsts.first()).copied();
    // Each step has more sessions, so this ends.
    while let Some(name) = next {
        line.push(name);
        let tops: Vec<&str> = steps.iter().filter(|(under, _)| *under == name).map(|(_, top)| *top).collect();
        next = tops.get(order).or(tops.first()).copied();
    }
    line
}

/// The points of one group and order.
pub struct Points<'a> {
    /// How it takes logical CPUs (`spread`, `packed`, `packed-cores`), if the group's sweep has two orders.
    pub order: Option<&'static str>,
    /// At least two, including the baseline if it is one.
    pub treatments: Vec<&'a Treatment>,
}

/// The sweeps of a group.
pub fn points<'a>(study: &'a Study, group: &str) -> Vec<Points<'a>> {
    let lines = lines(study, group);
    let all = match lines.is_empty() {
        true => vec![Points { order: None, treatments: of_one_order(study, group) }],
        false => lines.iter().map(|line| ordered(study, group, line, &lines)).collect(),
    };
    all.into_iter().filter(|points| points.treatments.len() >= 2).collect()
}

/// The points of one order of two, with the baseline first if that has fewer sessions.
fn ordered<'a>(study: &'a Study, group: &str, line: &[&str], lines: &[Vec<&str>]) -> Points<'a> {
    let of_line = line.iter().filter_map(|name| study.treatment(name)).map(|(_, treatment)| treatment);
    let treatments: Vec<&Treatment> = of_line.collect();
    let first = treatments.first().map_or(0, |treatment| treatment.sessions);
    let mut all = study.treatments.iter().filter(|treatment| treatment.group == group);
    let alone = all.find(|treatment| treatment.role == Role::Baseline && treatment.sessions < first);
    // Points of both orders have the words of the first.
    let is_shared = |name: &str| lines.iter().all(|line| line.contains(&name));
    let not_shared = treatments.iter().find(|treatment| !is_shared(&treatment.name));
    let order = not_shared.and_then(|treatment| word_of_order(treatment.placement.text.as_str()));
    Points { order, treatments: alone.into_iter().chain(treatments).collect() }
}

/// The order of a placement such as `packed:4`.
fn word_of_order(placement: &str) -> Option<&'static str> {
    let (word, _) = placement.split_once(':')?;
    Order::ALL.into_iter().map(|(_, known)| known).find(|known| *known == word)
}

fn of_one_order<'a>(study: &'a Study, group: &str) -> Vec<&'a Treatment> {
    // A sweep's point may be one of the named placements: `same-package` is two sessions on a machine of two cores. The
    // steps of the sweep show it.
    let in_a_step = |t: &Treatment| {
        let mut steps = study.comparisons.iter().filter(|c| c.kind == ComparisonKind::SweepStep);
        steps.any(|step| step.treatment == t.name || step.baseline == [t.name.as_str()])
    };
    let in_points = |t: &Treatment| Shape::of(t) == Shape::Spread || in_a_step(t);
    let of_group = || study.treatments.iter().filter(|t| t.group == group);
    let mut treatments: Vec<&Treatment> =
        of_group().filter(|t| t.role == Role::Compared && in_points(t)).collect();
    // The fewest sessions are compared with the baseline; a baseline of several sessions elsewhere is not a point.
    let is_point = |baseline: &&Treatment| {
        let fewer = of_group().any(|t| in_points(t) && t.sessions <= baseline.sessions);
        baseline.sessions == 1 || in_a_step(baseline) || !fewer
    };
    treatments.extend(of_group().find(|t| t.role == Role::Baseline).filter(is_point));
    treatments.sort_by_key(|t| (t.sessions, t.role == Role::Compared));
    treatments.dedup_by_key(|t| t.sessions);
    treatments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use threadwise_machine::Pin;

    fn names(study: &Study, axis: Axis) -> Vec<Vec<&str>> {
        let name = |at: &usize| study.treatments[*at].name.as_str();
        let all = candidates_of_rates(study).into_iter().filter(|all| all.axis == axis);
        all.map(|all| all.treatments.iter().map(name).collect()).collect()
    }

    #[test]
    fn a_sweep_is_a_choice_of_sessions_and_placements_of_as_many_are_one() {
        let lines = [
            "O one-cpu 2",
            "C same-core 2",
            "P same-package 2",
            "S4 spread:4 4",
            "S8 spread:8 8",
            "X same-package 2",
        ];
        let mut study = fixtures::study(&[""], &lines);
        study.treatments.last_mut().unwrap().pin = Pin::Set;
        assert_eq!(names(&study, Axis::Sessions), [["A", "S4", "S8"]]);
        assert_eq!(names(&study, Axis::Smt), [["O", "C"]]);
        assert_eq!(names(&study, Axis::Placement), [["C", "P"]]);
        assert_eq!(names(&study, Axis::Pin), [["P", "X"]]);
        assert!(names(&study, Axis::Service).is_empty());
    }

    #[test]
    fn without_a_sweep_two_sessions_are_set_against_one() {
        let study = fixtures::study(&[""], &["O one-cpu 2", "P same-package 2"]);
        assert_eq!(names(&study, Axis::Sessions), [["A", "P"]]);
        assert!(names(&study, Axis::Smt).is_empty());
        assert!(names(&fixtures::study(&[""], &["O one-cpu 2"]), Axis::Sessions).is_empty());
    }

    #[test]
    fn the_whole_machine_tells_of_threads_where_it_is_compared() {
        let mut study = fixtures::study(&[""], &["O one-cpu 2", "C same-core 2", "N no-smt 4", "L all 8"]);
        let mut whole = fixtures::comparison("L", &["N"], "smt-whole");
        whole.name = "both-threads".to_owned();
        study.comparisons.push(whole);
        assert_eq!(names(&study, Axis::Smt), [["N", "L"]]);
    }

    /// Two cores of two threads: 1, 2, 3 and 4 sessions, of which 4 are the same logical CPUs in both orders.
    fn study(orders: &[&str]) -> Study {
        let treatments: Vec<String> = orders
            .iter()
            .flat_map(|order| {
                [2, 3].map(|sessions| format!("{order}-{sessions} {order}:{sessions} {sessions}"))
            })
            .chain(["sessions-4 spread:4 4".to_owned()])
            .collect();
        let treatments: Vec<&str> = treatments.iter().map(String::as_str).collect();
        let mut study = fixtures::study(&[""], &treatments);
        for order in orders {
            let points = [format!("{order}-2"), format!("{order}-3"), "sessions-4".to_owned()];
            let steps =
                points.windows(2).map(|pair| fixtures::comparison(&pair[1], &[&pair[0]], "sweep-step"));
            study.comparisons.extend(steps);
        }
        study
    }

    #[test]
    fn each_order_has_its_line_through_the_points_of_both() {
        let both = study(&["spread", "packed"]);
        let found = lines(&both, "");
        assert_eq!(found, [["spread-2", "spread-3", "sessions-4"], ["packed-2", "packed-3", "sessions-4"]]);
        assert!(lines(&study(&["spread"]), "").is_empty(), "one order is no two");
        assert!(lines(&both, "data=l2").is_empty(), "another group has none");
    }
}
