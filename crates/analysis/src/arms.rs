//! Arms inside blocks, with SMT, turbo or the governor switched, and instances of a server: their effect on each
//! treatment, and what was switched.

use crate::words::{finding, judged, names};
use crate::{Estimate, Facts, Finding};
use threadwise_document::{Block, Cell, Column, Prose, Row, Section, Shown, Table, numbers, prose};
use threadwise_study::arm::SETTLE_NS;
use threadwise_study::{Arm, Role, Run};

/// Most ratios in a sentence.
const MAX_CLAUSES: usize = 4;

/// Kind of the finding about SMT: if there is one, it answers the study's question.
pub const SMT_ARMS: &str = "smt-arms";

/// The findings: SMT first, then clocks, then instances of the engine.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    smt(facts).into_iter().chain(clocks(facts)).chain(instances(facts)).collect()
}

/// Ratios of some kinds, those of baselines last.
fn of_kind<'a>(facts: &Facts<'a>, kinds: &[&str]) -> Vec<&'a Estimate> {
    let mut found: Vec<&Estimate> =
        facts.throughput().filter(|one| kinds.contains(&one.kind.as_str())).collect();
    let is_baseline = |one: &&Estimate| {
        facts.study.treatment(&one.treatment).is_some_and(|(_, top)| top.role == Role::Baseline)
    };
    found.sort_by_key(is_baseline);
    found
}

/// Both threads against SMT disabled, and whether a mask is as good as that.
fn smt(facts: &Facts<'_>) -> Option<Finding> {
    let (both, ways) = (of_kind(facts, &["smt-off"]), of_kind(facts, &["smt-way"]));
    let mut sentences = Vec::new();
    if !both.is_empty() {
        sentences.push(prose!(
            "Both threads of a core against one with SMT disabled: {}.",
            clauses(&both, |one| &one.name)
        ));
    }
    if !ways.is_empty() {
        let verdict = mask(&ways);
        sentences.push(prose!(
            "SMT disabled against siblings left idle by a mask: {}{}.",
            clauses(&ways, |one| &one.treatment),
            verdict
        ));
    }
    let evidence: Vec<&Estimate> = both.into_iter().chain(ways).collect();
    (!sentences.is_empty()).then(|| finding(SMT_ARMS, Prose::join(sentences, " "), &names(&evidence)))
}

/// Whether a mask is as good, if the ratios decide it.
fn mask(ways: &[&Estimate]) -> &'static str {
    if ways.iter().all(|one| one.ratio.is_same()) {
        return "; a mask is as good here";
    }
    match ways.iter().any(|one| one.ratio.is_higher() || one.ratio.is_lower()) {
        true => "; a mask is not the same here",
        false => "",
    }
}

/// Turbo and governors.
fn clocks(facts: &Facts<'_>) -> Option<Finding> {
    let found = of_kind(facts, &["turbo", "governor"]);
    let text = prose!("Clocks, each arm against the first one: {}.", clauses(&found, |one| &one.treatment));
    (!found.is_empty()).then(|| finding("clock-arms", text, &names(&found)))
}

/// Versions and settings of the engine, devices and caches.
fn instances(facts: &Facts<'_>) -> Option<Finding> {
    let found = of_kind(facts, &["instance"]);
    let text = prose!("The same treatments under another level: {}.", clauses(&found, |one| &one.name));
    (!found.is_empty()).then(|| finding("instances", text, &names(&found)))
}

fn clauses(found: &[&Estimate], name: impl Fn(&Estimate) -> &str) -> Prose {
    let clause = |one: &&Estimate| prose!("{} {}", name(one), judged(one));
    let mut clauses: Vec<Prose> = found.iter().take(MAX_CLAUSES).map(clause).collect();
    if found.len() > MAX_CLAUSES {
        clauses.push(prose!("and {} more in the table", found.len() - MAX_CLAUSES));
    }
    Prose::join(clauses, ", ")
}

/// The section; `None` if the study switches nothing.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    if facts.study.treatments.iter().all(|treatment| treatment.arm.is_as_found()) {
        return None;
    }
    let mut table = Table::new(
        "Arms switched inside blocks",
        vec![
            Column::text("arm"),
            Column::text("treatments").shorten_at(2),
            Column::figure("logical CPUs online"),
            Column::figure("switches"),
            Column::figure("a switch took").drop_at(1),
            Column::figure("first rounds after it over later ones"),
        ],
        [],
    );
    table.rows = facts.study.arms().into_iter().map(|arm| row(facts, arm)).collect();
    let text = match facts.is_simulated() {
        true => prose!("Results are from a model: nothing was switched."),
        false => prose!(
            "Each block has every arm {}. When the study ends, the machine is restored to the state that it was found \
             in; the notes list what could not be restored (docs/SMT.md). After each switch the treatments of the arm \
             run unmeasured for {} in turns, if a block has several rounds.{}",
            // A round of whole runs cannot be divided.
            match facts.study.design.rounds {
                1 => "once, in random order, and the next block in its reverse",
                _ => "twice, in random order and its reverse",
            },
            numbers::nanoseconds(SETTLE_NS as f64),
            match facts.study.takes_siblings() {
                true => " Treatments with one thread of a core use the first one in all arms.",
                false => "",
            }
        ),
    };
    Some(Section::new("switched", "Arms", vec![Block::Text(text, Shown::Everywhere), Block::Table(table)]))
}

fn row(facts: &Facts<'_>, arm: &Arm) -> Row {
    let names: Vec<&str> =
        facts.study.treatments.iter().filter(|one| one.arm == *arm).map(|one| one.name.as_str()).collect();
    // All treatments of an arm are switched together, so one run of a block is enough.
    let first = names.first().copied().unwrap_or_default();
    let runs: Vec<&Run> = facts.runs.iter().filter(|run| run.treatment == first).collect();
    let values = |metric: &str| -> Vec<f64> { runs.iter().filter_map(|run| reading(run, metric)).collect() };
    let (online, switches) = (values("online_logical_cpus"), values("switches").iter().sum::<f64>());
    let online = match (online.iter().copied().reduce(f64::min), online.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) if least == most => Cell::Count(most as u64),
        (Some(least), Some(most)) => Cell::text(format!("{least}-{most}")),
        _ => Cell::none(),
    };
    let took_ns = values("switch_ns").iter().sum::<f64>() / switches;
    Row::Cells(vec![
        Cell::text(arm.to_string()),
        Cell::text(names.join(", ")),
        online,
        Cell::Count(switches as u64),
        if switches > 0.0 { Cell::text(numbers::nanoseconds(took_ns)) } else { Cell::none() },
        left(facts, arm),
    ])
}

/// Effect that a switch leaves, as a ratio of rates.
fn left(facts: &Facts<'_>, arm: &Arm) -> Cell {
    let found = facts.analysis.found("settling").and_then(|found| found.of(&arm.to_string()));
    found.map_or_else(Cell::none, |one| Cell::Interval(one.ratio.interval()))
}

fn reading(run: &Run, metric: &str) -> Option<f64> {
    run.readings.iter().find(|one| one.sampler == "switch" && one.metric == metric)?.value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::estimate;

    fn ways(ratios: &[(f64, f64, f64)]) -> Vec<Estimate> {
        ratios
            .iter()
            .map(|&(value, low, high)| estimate("no-smt/system : smt=mask", value, low, high))
            .collect()
    }

    #[test]
    fn a_mask_is_as_good_only_where_every_ratio_says_so() {
        let said = |ratios: &[(f64, f64, f64)]| mask(&ways(ratios).iter().collect::<Vec<_>>());
        assert_eq!(said(&[(1.0, 0.99, 1.01), (1.01, 0.99, 1.02)]), "; a mask is as good here");
        assert_eq!(said(&[(1.0, 0.99, 1.01), (1.08, 1.05, 1.11)]), "; a mask is not the same here");
        assert_eq!(said(&[(1.0, 0.99, 1.01), (1.0, 0.9, 1.11)]), "");
    }

    #[test]
    fn many_ratios_are_counted() {
        let many = ways(&[(1.0, 0.99, 1.01); 6]);
        let text = clauses(&many.iter().collect::<Vec<_>>(), |one| &one.name).to_string();
        assert!(text.ends_with("and 2 more in the table"), "{text}");
    }
}
