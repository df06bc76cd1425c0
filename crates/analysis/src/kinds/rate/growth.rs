//! What each session adds up to the number of physical cores, and what each one adds beyond it; and which points have
//! more sessions than logical CPUs.
//!
//! Both slopes are shares of the throughput at the number of cores, so that they can be compared: with r the ratio of
//! that point to the baseline of b sessions, (1 - 1/r) / (cores - b) before it, and with q the ratio of a later point
//! of n sessions to it, (q - 1) / (n - cores) behind it. Each grows with its ratio alone, so the ends of a ratio's
//! interval are those of the slope's.

use crate::estimate::THROUGHPUT;
use crate::{Estimate, Facts, Interval};
use threadwise_document::numbers::counted;
use threadwise_document::{Block, Cell, Column, Prose, Ratio, Shown, Table, prose};
use threadwise_study::{Role, Treatment};

/// The table of slopes and the note on run queues, each where there is something to say.
pub fn blocks(facts: &Facts<'_>) -> Vec<Block> {
    let table = slopes(facts).map(Block::Table);
    let queue = run_queue(facts).map(|text| Block::Text(text, Shown::Everywhere));
    table.into_iter().chain(queue).collect()
}

fn slopes(facts: &Facts<'_>) -> Option<Table> {
    let cores = u32::try_from(facts.topology.cores.len()).ok()?;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for group in facts.study.groups() {
        for (below, beyond) in at_the_cores(facts, group, cores) {
            let name = facts.label(&below.name, group);
            let before = facts.against_alone(below, THROUGHPUT).and_then(|alone| up_to(facts, alone, below));
            let words = facts.group_words(group);
            let place = if words.is_empty() { String::new() } else { format!(" {words}") };
            let mut row = |range: String, slope: Option<Interval>| {
                rows.extend(slope.map(|slope| vec![Cell::text(range), Cell::Share(slope)]));
            };
            row(format!("up to {name}{place}"), before);
            let (last, sessions) = (facts.label(&beyond.treatment, group), below.sessions);
            let top = facts.study.treatment(&beyond.treatment).map_or(sessions, |(_, top)| top.sessions);
            let behind = slope(&beyond.ratio, top.checked_sub(sessions)?, |ratio| ratio - 1.0);
            row(format!("from {name} to {last}{place}"), behind);
        }
    }
    let columns = vec![
        Column::text("sessions"),
        Column::figure(format!("each adds, of the rate at {}", counted(cores as usize, "core"))),
    ];
    (!rows.is_empty())
        .then(|| Table::new("What a session adds, up to the number of cores and beyond it", columns, rows))
}

/// The points at the number of cores, each with what a later one is compared to it: the last without a run queue where
/// the study compares that one.
fn at_the_cores<'a>(facts: &Facts<'a>, group: &str, cores: u32) -> Vec<(&'a Treatment, &'a Estimate)> {
    let mut found: Vec<(&Treatment, &Estimate)> = Vec::new();
    // What goes furthest comes first.
    for kind in ["beyond-cores", "sweep-step"] {
        for estimate in facts.throughput().filter(|estimate| estimate.kind == kind) {
            let Some((_, below)) = facts.study.treatment(&estimate.baseline) else { continue };
            let is_point = below.group == group && below.sessions == cores && below.role == Role::Compared;
            if is_point && !found.iter().any(|(other, _)| other.name == below.name) {
                found.push((below, estimate));
            }
        }
    }
    found
}

/// What each session adds between the baseline and a point.
fn up_to(facts: &Facts<'_>, alone: &Estimate, point: &Treatment) -> Option<Interval> {
    let mut all = facts.study.treatments.iter();
    let baseline = all.find(|other| other.group == point.group && other.role == Role::Baseline)?;
    slope(&alone.ratio, point.sessions.checked_sub(baseline.sessions)?, |ratio| 1.0 - 1.0 / ratio)
}

/// A slope by a function that grows with the ratio; none over no session, or without an interval.
fn slope(ratio: &Ratio, sessions: u32, share: impl Fn(f64) -> f64) -> Option<Interval> {
    let each = |ratio: f64| share(ratio) / f64::from(sessions);
    let is_known = sessions > 0 && ratio.low > 0.0 && ratio.high.is_finite();
    is_known.then(|| Interval {
        mean: each(ratio.value),
        low: each(ratio.low),
        high: each(ratio.high),
        unit: "share".to_owned(),
    })
}

/// Points with more sessions than the machine has logical CPUs for them.
fn run_queue(facts: &Facts<'_>) -> Option<Prose> {
    let allowed = facts.topology.allowed().len();
    let is_queued = |treatment: &&Treatment| {
        treatment.role == Role::Compared && allowed > 0 && treatment.sessions as usize > allowed
    };
    let mut names: Vec<&str> = facts
        .study
        .treatments
        .iter()
        .filter(is_queued)
        .map(|treatment| facts.label(&treatment.name, &treatment.group))
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    (!names.is_empty()).then(|| {
        prose!(
            "More sessions than logical CPUs (run queue), {} here: {}.",
            counted(allowed, "logical CPU"),
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::ratio;

    #[test]
    fn slopes_are_those_of_the_points() {
        // 100 rows/s of one session, 750 to 850 of eight on eight cores: 7 more sessions add 650 to 750.
        let before = slope(&ratio(8.0, 7.5, 8.5), 7, |ratio| 1.0 - 1.0 / ratio).unwrap();
        for (slope, rate) in [(before.low, 750.0), (before.mean, 800.0), (before.high, 850.0)] {
            assert!((slope - (rate - 100.0) / 7.0 / rate).abs() < 1e-12);
        }
        let behind = slope(&ratio(1.2, 0.96, 1.4), 8, |ratio| ratio - 1.0).unwrap();
        assert!((behind.mean - 0.025).abs() < 1e-12 && behind.low < 0.0 && behind.low < behind.high);
        assert_eq!(slope(&ratio(1.2, 0.0, f64::INFINITY), 8, |ratio| ratio - 1.0), None, "one block");
        assert_eq!(slope(&ratio(1.2, 1.1, 1.3), 0, |ratio| ratio - 1.0), None);
    }
}
