//! What a worker loses beside a busy sibling, and what the straggler costs.

use crate::parallel::{Gap, TreatmentParallel};
use crate::words::{MAX_LISTED, answered, finding, limited};
use crate::{Facts, Finding, Ratio};
use threadwise_document::{Prose, numbers, prose};

/// Kind of the finding that answers the study's question.
pub(super) const KIND: &str = "parallel-workers";

/// A worker that comes too late for a scan in a hundred is no worker less.
const HARDLY: f64 = 0.01;

/// One line: of the treatment with most processes of which a difference is shown, by the interval that holds for all
/// treatments together; or why none has a ratio. `None` where ratios are there and none shows a difference.
pub(super) fn workers(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.analysis.parallel.as_ref()?.treatments;
    let shown: Vec<(&TreatmentParallel, &Ratio)> = all
        .iter()
        .filter_map(|one| Some((one, one.ratio.as_ref()?)))
        .filter(|(_, ratio)| ratio.is_different())
        .collect();
    // The first of those with as many processes, in the study's order: never by what came out.
    let most = shown.iter().rev().max_by(|(one, _), (other, _)| processes(one).total_cmp(&processes(other)));
    match most {
        Some((one, ratio)) => {
            Some(finding(KIND, said(facts, one, ratio, shown.len() - 1), &[&one.treatment]))
        }
        None if all.iter().all(|one| one.ratio.is_none()) => unknown(all),
        None => None,
    }
}

fn processes(one: &TreatmentParallel) -> f64 {
    one.processes.unwrap_or(0.0)
}

fn said(facts: &Facts<'_>, one: &TreatmentParallel, ratio: &Ratio, more: usize) -> Prose {
    let name = facts.label(&one.treatment, facts.group_of(&one.treatment));
    let mut text = prose!(
        "A worker whose sibling was busy did {} of the rows per second of one alone{} ({}).",
        &ratio.decisive(),
        answered(ratio),
        name
    );
    if let Some(loss) = &one.equal_loss {
        text.push(prose!(
            " Equal parts of the rows would have taken its processes {} longer than parts by their rates",
            loss
        ));
        match &one.idle_tail {
            Some(tail) => {
                text.push(prose!("; the engine's own division left them idle for {} of the time.", tail))
            }
            None => text.push("."),
        }
    }
    if more > 0 {
        text.push(prose!(" {} more in the table.", more));
    }
    text
}

/// Why there is no ratio: what is said of the treatments with several processes.
fn unknown(all: &[TreatmentParallel]) -> Option<Finding> {
    let gaps = || all.iter().filter_map(|one| one.gap);
    let gap = gaps().find(|gap| *gap != Gap::OneProcess).or_else(|| gaps().next())?;
    let text = format!("What a busy sibling costs a worker is not known: {}.", gap.words());
    Some(finding("not-measurable", text, &[]))
}

/// Treatments whose scans had fewer processes than were asked for: what is said of a degree is of fewer then.
pub(super) fn too_few(facts: &Facts<'_>) -> Option<Finding> {
    let all = &facts.analysis.parallel.as_ref()?.treatments;
    let lacks = |one: &&TreatmentParallel| {
        one.dop.zip(one.processes).is_some_and(|(dop, seen)| seen < f64::from(dop) - HARDLY)
    };
    let few: Vec<&TreatmentParallel> = all.iter().filter(lacks).collect();
    let clause = |one: &&TreatmentParallel| {
        let name = facts.label(&one.treatment, facts.group_of(&one.treatment));
        let seen = numbers::value(processes(one), "1");
        prose!("{} had {} of {}", name, Prose::figure(seen), one.dop.unwrap_or(0))
    };
    let names: Vec<&str> = few.iter().map(|one| one.treatment.as_str()).collect();
    let clauses = limited(few.iter().map(clause), MAX_LISTED)?;
    Some(finding(
        "trust",
        prose!("Trust: fewer processes took part in a scan than asked for: {}.", clauses),
        &names,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Analysis;
    use crate::fixtures::{ratio, study};
    use crate::parallel::Parallel;
    use crate::parallel::tests::treatment;
    use threadwise_machine::Topology;

    fn line(treatments: Vec<TreatmentParallel>) -> Option<(String, String)> {
        found_by(treatments, workers)
    }

    fn found_by(
        treatments: Vec<TreatmentParallel>,
        find: fn(&Facts<'_>) -> Option<Finding>,
    ) -> Option<(String, String)> {
        let study = study(&[""], &["B all 1", "C all 1"]);
        let (topology, runs) = (Topology::default(), []);
        let analysis =
            Analysis { parallel: Some(Parallel { treatments }), ..crate::analyse(&study, &runs, 1.0) };
        let found = find(&Facts::new(&study, &topology, &analysis))?;
        Some((found.kind.clone(), found.line.to_string()))
    }

    #[test]
    fn the_one_with_most_processes_speaks_and_what_is_open_is_not_said() {
        let slow = |name, processes| treatment(name, processes, Ok(ratio(0.6, 0.5, 0.7)));
        let open = treatment("A", 16.0, Ok(ratio(0.9, 0.7, 1.1)));
        let (kind, text) = line(vec![open.clone(), slow("B", 4.0), slow("C", 8.0)]).unwrap();
        assert_eq!(kind, KIND);
        assert!(
            text.starts_with("A worker whose sibling was busy did 0.60x [0.50, 0.70] of the rows"),
            "{text}"
        );
        assert!(text.contains("(C)") && text.contains("1 more in the table"), "{text}");
        assert_eq!(line(vec![open]), None);
    }

    #[test]
    fn processes_that_were_not_there_are_named() {
        let with = |processes| TreatmentParallel {
            processes: Some(processes),
            ..treatment("B", 4.0, Err(Gap::NoSiblings))
        };
        assert_eq!(found_by(vec![with(3.995)], too_few), None);
        let (kind, text) = found_by(vec![with(3.5)], too_few).unwrap();
        assert!(kind == "trust" && text.ends_with("than asked for: B had 3.50 of 4."), "{text}");
    }

    #[test]
    fn why_nothing_is_known_is_said_of_several_processes() {
        let gaps = [Gap::OneProcess, Gap::NoSiblings].map(|gap| treatment("A", 2.0, Err(gap)));
        let (kind, text) = line(gaps.to_vec()).unwrap();
        assert_eq!((kind.as_str(), text.contains("no core has two threads here")), ("not-measurable", true));
    }
}
