//! Arms inside blocks, with SMT, turbo or the governor switched, and instances of a server: their effect on each
//! treatment, and what was switched.

use crate::hardware::shown::extent;
use crate::words::{finding, first, judged, names};
use crate::{Estimate, Facts, Finding, FindingKind};
use threadwise_document::{Block, Cell, Column, Prose, Section, Table, numbers, prose};
use threadwise_study::arm::SETTLE_NS;
use threadwise_study::{Arm, ComparisonKind, Role, Run};

/// Most ratios in a sentence.
const MAX_CLAUSES: usize = 4;

/// The findings: SMT first, then clocks, then instances of the engine.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    smt(facts).into_iter().chain(clocks(facts)).chain(instances(facts)).collect()
}

/// Ratios of some kinds, those of baselines last.
fn of_kind<'a>(facts: &Facts<'a>, kinds: &[ComparisonKind]) -> Vec<&'a Estimate> {
    let mut found: Vec<&Estimate> = facts.throughput().filter(|one| kinds.contains(&one.kind)).collect();
    let is_baseline = |one: &&Estimate| {
        facts.study.treatment(&one.treatment).is_some_and(|(_, top)| top.role == Role::Baseline)
    };
    found.sort_by_key(is_baseline);
    found
}

/// Both threads against SMT disabled, and whether a mask is as good as that.
fn smt(facts: &Facts<'_>) -> Option<Finding> {
    let (both, ways) = (of_kind(facts, &[ComparisonKind::SmtOff]), of_kind(facts, &[ComparisonKind::SmtWay]));
    let mut sentences = Vec::new();
    if !both.is_empty() {
        let clauses = clauses(&both, |one| &one.name);
        sentences.push(prose!("Both threads of a core against one with SMT disabled: {}.", clauses));
    }
    if !ways.is_empty() {
        let clauses = clauses(&ways, |one| &one.treatment);
        let verdict = mask(&ways);
        sentences.push(prose!("SMT disabled against siblings left idle by a mask: {}{}.", clauses, verdict));
    }
    let evidence: Vec<&Estimate> = both.into_iter().chain(ways).collect();
    (!sentences.is_empty())
        .then(|| finding(FindingKind::SmtArms, Prose::join(sentences, " "), &names(&evidence)))
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
    let found = of_kind(facts, &[ComparisonKind::Turbo, ComparisonKind::Governor]);
    let text = prose!("Clocks, each arm against the first one: {}.", clauses(&found, |one| &one.treatment));
    (!found.is_empty()).then(|| finding(FindingKind::ClockArms, text, &names(&found)))
}

/// Versions and settings of the engine, devices and caches.
fn instances(facts: &Facts<'_>) -> Option<Finding> {
    let found = of_kind(facts, &[ComparisonKind::Instance]);
    let text = prose!("The same treatments under another level: {}.", clauses(&found, |one| &one.name));
    (!found.is_empty()).then(|| finding(FindingKind::Instances, text, &names(&found)))
}

fn clauses(found: &[&Estimate], name: impl Fn(&Estimate) -> &str) -> Prose {
    let clauses = found.iter().map(|one| prose!("{} {}", name(one), judged(one)));
    Prose::join(first(clauses, MAX_CLAUSES, |more| prose!("and {} more in the table", more)), ", ")
}

/// The section; `None` if the study switches nothing.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    if facts.study.treatments.iter().all(|treatment| treatment.arm.is_as_found()) {
        return None;
    }
    let sum = |arm: &Arm, metric: &str| readings(facts, arm, metric).iter().sum::<f64>();
    let table = Table::of(
        "Arms switched inside blocks",
        facts.study.arms(),
        &[
            (Column::text("arm"), &|arm| Cell::Text(arm.to_string())),
            (Column::text("treatments").shorten_at(2), &|arm| Cell::Text(members(facts, arm).join(", "))),
            (Column::figure("logical CPUs online"), &|arm| online(facts, arm)),
            (Column::figure("switches"), &|arm| Cell::Count(sum(arm, "switches") as u64)),
            (Column::figure("a switch took").drop_at(1), &|arm| match sum(arm, "switches") {
                some if some > 0.0 => Cell::Text(numbers::nanoseconds(sum(arm, "switch_ns") / some)),
                _ => Cell::none(),
            }),
            (Column::figure("first rounds after it over later ones"), &|arm| {
                let found = facts.analysis.found("settling").and_then(|found| found.of(&arm.to_string()));
                found.map_or_else(Cell::none, |one| Cell::Interval(one.ratio.interval()))
            }),
        ],
    );
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
    Some(Section::new("switched", "Arms", vec![Block::text(text), Block::Table(table)]))
}

/// Names of the treatments of an arm.
fn members<'a>(facts: &Facts<'a>, arm: &Arm) -> Vec<&'a str> {
    let members = facts.study.treatments.iter().filter(|one| one.arm == *arm);
    members.map(|one| one.name.as_str()).collect()
}

/// What was read at the switches of an arm. All treatments of an arm are switched together, so one run of a block is
/// enough.
fn readings(facts: &Facts<'_>, arm: &Arm, metric: &str) -> Vec<f64> {
    let first = members(facts, arm).first().copied().unwrap_or_default();
    let runs = facts.runs.iter().filter(|run| run.treatment == first);
    let reading =
        |run: &Run| run.readings.iter().find(|one| one.sampler == "switch" && one.metric == metric)?.value;
    runs.filter_map(reading).collect()
}

fn online(facts: &Facts<'_>, arm: &Arm) -> Cell {
    match extent(readings(facts, arm, "online_logical_cpus").into_iter()) {
        Some((least, _, most)) if least == most => Cell::Count(most as u64),
        Some((least, _, most)) => Cell::Text(format!("{least}-{most}")),
        None => Cell::none(),
    }
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
