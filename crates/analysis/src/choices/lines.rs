//! The lines of a session sweep: one for each order in which it takes logical CPUs, known by its steps.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

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
