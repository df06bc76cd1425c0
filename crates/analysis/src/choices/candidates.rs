//! Treatments of a study that differ in one thing alone.

use super::sweep;
use super::types::{Axis, ONE_CORE};
use crate::shape::Shape;
use threadwise_study::{Role, Study, Treatment, version, worklist};

/// Kinds of comparisons that have both threads of each core on top, and one below.
const BOTH_THREADS: [&str; 2] = ["smt-whole", "smt-off"];

/// Treatments that differ in one thing alone, in the order in which they are preferred.
pub struct Candidates {
    /// In what they differ.
    pub axis: Axis,
    /// Their group.
    pub group: String,
    /// What they have in common.
    pub place: String,
    /// Their places in the study, at least two.
    pub treatments: Vec<usize>,
}

/// Of a study of rates. Two versions of a program are its question where there are some, and what to set for either is not.
pub fn of_rates(study: &Study) -> Vec<Candidates> {
    let mut all = Vec::new();
    if version::are_compared(study) {
        return all;
    }
    for group in study.groups() {
        all.extend(sessions(study, group));
        all.extend(threads(study, group));
        // One session alone is there to be compared with.
        let is_meant = |one: &Treatment| one.role == Role::Compared && one.sessions > 1;
        all.extend(classes(study, group, Axis::Placement, is_meant));
        for axis in [Axis::Service, Axis::Memory, Axis::Pin] {
            all.extend(classes(study, group, axis, |one| one.role != Role::BaselineTwin));
        }
    }
    all
}

/// Of a study of commands: placements; of work lists jobs before that.
pub fn of_commands(study: &Study) -> Vec<Candidates> {
    if version::are_compared(study) {
        return Vec::new();
    }
    let is_meant = |one: &Treatment| one.role != Role::BaselineTwin;
    let is_list = study.workload == worklist::WORKLOAD;
    let of_group = |group: &&str| {
        let jobs = if is_list { classes(study, group, Axis::Jobs, is_meant) } else { Vec::new() };
        jobs.into_iter().chain(classes(study, group, Axis::Placement, is_meant)).collect::<Vec<_>>()
    };
    study.groups().iter().flat_map(of_group).collect()
}

/// Of a study of queries: both threads of each core at their degree of parallelism, and one.
pub fn threads_of_queries(study: &Study) -> Vec<Candidates> {
    study.groups().into_iter().flat_map(|group| compared_threads(study, group, &["both-threads"])).collect()
}

fn place_of(study: &Study, name: &str) -> Option<usize> {
    study.treatment(name).map(|(at, _)| at)
}

/// Numbers of sessions: the sweep that takes cores first; without one, one session and two on two cores.
fn sessions(study: &Study, group: &str) -> Option<Candidates> {
    let sweeps = sweep::points(study, group);
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
    let treatments = names.into_iter().filter_map(|name| place_of(study, name)).collect();
    let place = spread.and_then(|points| points.order).unwrap_or_default().to_owned();
    Some(Candidates { axis: Axis::Sessions, group: group.to_owned(), place, treatments })
}

/// One thread of each core or both: over the whole machine or a package where the study compares that, else of one core.
fn threads(study: &Study, group: &str) -> Vec<Candidates> {
    let mut pairs = compared_threads(study, group, &BOTH_THREADS);
    if pairs.is_empty() {
        let with = |shape: Shape| {
            let mut all = study.treatments.iter().enumerate();
            all.find(|(_, one)| one.group == group && Shape::of(one) == shape).map(|(at, _)| at)
        };
        let pair = with(Shape::OneCpu).zip(with(Shape::SameCore));
        pairs.extend(pair.map(|(one, both)| threads_pair(group, ONE_CORE, [one, both])));
    }
    pairs
}

/// One thread of each core below, both on top: comparisons of some kinds.
fn compared_threads(study: &Study, group: &str, kinds: &[&str]) -> Vec<Candidates> {
    let is_here = |name: &str| study.treatment(name).is_some_and(|(_, one)| one.group == group);
    let whole = study.comparisons.iter().filter(|one| kinds.contains(&one.kind.as_str()));
    let whole = whole.filter(|one| is_here(&one.treatment));
    whole
        .filter_map(|one| {
            let [under] = one.baseline.as_slice() else { return None };
            let pair = [place_of(study, under)?, place_of(study, &one.treatment)?];
            Some(threads_pair(group, &one.name, pair))
        })
        .collect()
}

fn threads_pair(group: &str, place: &str, pair: [usize; 2]) -> Candidates {
    Candidates {
        axis: Axis::Smt,
        group: group.to_owned(),
        place: place.to_owned(),
        treatments: pair.to_vec(),
    }
}

/// Sets of treatments of a group that differ in nothing but an axis.
fn classes(study: &Study, group: &str, axis: Axis, is_meant: impl Fn(&Treatment) -> bool) -> Vec<Candidates> {
    let mut classes: Vec<Vec<usize>> = Vec::new();
    for (at, one) in study.treatments.iter().enumerate() {
        // Sessions that take turns on one logical CPU are there to be compared with.
        if one.group != group || !is_meant(one) || Shape::of(one) == Shape::OneCpu {
            continue;
        }
        match classes.iter_mut().find(|class| is_like(&study.treatments[class[0]], one, axis)) {
            Some(class) => class.push(at),
            None => classes.push(vec![at]),
        }
    }
    let made = |mut treatments: Vec<usize>| {
        if axis == Axis::Jobs {
            treatments.sort_by_key(|at| study.treatments[*at].sessions);
        }
        let first = &study.treatments[*treatments.first()?];
        let place = match axis {
            Axis::Placement => String::new(),
            _ => first.placement.trim().to_owned(),
        };
        let group = group.to_owned();
        (treatments.len() >= 2).then_some(Candidates { axis, group, place, treatments })
    };
    classes.into_iter().filter_map(made).collect()
}

/// Whether nothing but an axis tells two treatments apart.
fn is_like(one: &Treatment, other: &Treatment, axis: Axis) -> bool {
    let is = |what: Axis| axis == what;
    one.factors == other.factors
        && one.instance == other.instance
        && one.arm == other.arm
        && (is(Axis::Jobs) || one.sessions == other.sessions)
        && (is(Axis::Placement) || one.placement.trim() == other.placement.trim())
        && (is(Axis::Service) || one.service == other.service)
        && (is(Axis::Memory) || one.memory == other.memory)
        && (is(Axis::Pin) || one.pin == other.pin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use threadwise_machine::Pin;

    fn names(study: &Study, axis: Axis) -> Vec<Vec<&str>> {
        let name = |at: &usize| study.treatments[*at].name.as_str();
        let all = of_rates(study).into_iter().filter(|all| all.axis == axis);
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
}
