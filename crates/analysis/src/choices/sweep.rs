//! The points of a session sweep, by number of sessions.

use super::lines;
use crate::shape::Shape;
use threadwise_study::{Role, Study, Treatment};

/// How placements of a sweep begin that takes siblings first.
const PACKED: &str = "packed:";

/// The points of one group and order.
pub struct Points<'a> {
    /// How it takes logical CPUs (`spread`, `packed`), where the group has a sweep in each of two orders.
    pub order: Option<&'static str>,
    /// At least two, the baseline among them where it is one.
    pub treatments: Vec<&'a Treatment>,
}

/// The sweeps of a group.
pub fn points<'a>(study: &'a Study, group: &str) -> Vec<Points<'a>> {
    let lines = lines::lines(study, group);
    let all = match lines.is_empty() {
        true => vec![Points { order: None, treatments: of_one_order(study, group) }],
        false => lines.iter().map(|line| ordered(study, group, line)).collect(),
    };
    all.into_iter().filter(|points| points.treatments.len() >= 2).collect()
}

/// The points of one order of two, with the baseline first where that has fewer sessions.
fn ordered<'a>(study: &'a Study, group: &str, line: &[&str]) -> Points<'a> {
    let of_line = line.iter().filter_map(|name| study.treatment(name)).map(|(_, treatment)| treatment);
    let treatments: Vec<&Treatment> = of_line.collect();
    let is_packed = treatments.iter().any(|treatment| treatment.placement.trim().starts_with(PACKED));
    let first = treatments.first().map_or(0, |treatment| treatment.sessions);
    let mut all = study.treatments.iter().filter(|treatment| treatment.group == group);
    let alone = all.find(|treatment| treatment.role == Role::Baseline && treatment.sessions < first);
    let order = Some(if is_packed { "packed" } else { "spread" });
    Points { order, treatments: alone.into_iter().chain(treatments).collect() }
}

fn of_one_order<'a>(study: &'a Study, group: &str) -> Vec<&'a Treatment> {
    // A sweep's point may be one of the named placements: `same-package` is two sessions on a
    // machine of two cores. The steps of the sweep tell.
    let in_a_step = |t: &Treatment| {
        let mut steps = study.comparisons.iter().filter(|c| c.kind == "sweep-step");
        steps.any(|step| step.treatment == t.name || step.baseline == [t.name.as_str()])
    };
    let in_points = |t: &Treatment| Shape::of(t) == Shape::Spread || in_a_step(t);
    let of_group = || study.treatments.iter().filter(|t| t.group == group);
    let mut treatments: Vec<&Treatment> =
        of_group().filter(|t| t.role == Role::Compared && in_points(t)).collect();
    // The fewest sessions are compared with the baseline; one of several sessions somewhere else
    // is no point.
    let is_point = |baseline: &&Treatment| {
        let fewer = of_group().any(|t| in_points(t) && t.sessions <= baseline.sessions);
        baseline.sessions == 1 || in_a_step(baseline) || !fewer
    };
    treatments.extend(of_group().find(|t| t.role == Role::Baseline).filter(is_point));
    treatments.sort_by_key(|t| (t.sessions, t.role == Role::Compared));
    treatments.dedup_by_key(|t| t.sessions);
    treatments
}
