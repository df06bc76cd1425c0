//! The lines of a session sweep: one for each order in which it takes logical CPUs, told apart by its steps.
//!
//! A sweep in two orders has points of each, and points that are one treatment since both orders take the same logical
//! CPUs there. Its steps say which treatment follows which.

use threadwise_study::{Role, Study};

/// Orders that a sweep has at most.
const MOST: usize = 2;

/// Names of the treatments of each order of a group's sweep, by number of sessions, without the baseline; none where
/// the sweep has one order.
pub fn lines<'a>(study: &'a Study, group: &str) -> Vec<Vec<&'a str>> {
    let sessions = |name: &str| study.treatment(name).map(|(_, treatment)| treatment.sessions);
    let is_here = |name: &str| {
        let found = study.treatment(name).map(|(_, treatment)| treatment);
        found.is_some_and(|found| found.group == group && found.role == Role::Compared)
    };
    let steps: Vec<(&str, &str)> = study
        .comparisons
        .iter()
        .filter(|comparison| comparison.kind == "sweep-step")
        .filter_map(|step| Some((step.baseline.first()?.as_str(), step.treatment.as_str())))
        .filter(|(under, top)| is_here(under) && is_here(top) && sessions(under) < sessions(top))
        .collect();
    let mut firsts: Vec<&str> = steps.iter().map(|(under, _)| *under).collect();
    firsts.retain(|under| steps.iter().all(|(_, top)| top != under));
    firsts.dedup();
    let mut lines: Vec<Vec<&str>> = (0..MOST).map(|order| line(&firsts, &steps, order)).collect();
    lines.dedup();
    if lines.len() < MOST { Vec::new() } else { lines }
}

/// The line of one order: where several treatments follow, the one at its place.
fn line<'a>(firsts: &[&'a str], steps: &[(&'a str, &'a str)], order: usize) -> Vec<&'a str> {
    let mut line: Vec<&str> = Vec::new();
    let mut next = firsts.get(order).or(firsts.first()).copied();
    // Steps go to more sessions, so this ends.
    while let Some(name) = next {
        line.push(name);
        let tops: Vec<&str> = steps.iter().filter(|(under, _)| *under == name).map(|(_, top)| *top).collect();
        next = tops.get(order).or(tops.first()).copied();
    }
    line
}
