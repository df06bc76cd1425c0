//! What taking SMT really away, turbo clocks and governors change, and other instances of the engine: arms of a study
//! against each other.
//!
//! Each ratio is one within blocks (docs/METHODOLOGY.md, "Arms"), judged as all others are.

use crate::words::{finding, judged, names};
use crate::{Estimate, Facts, Finding};
use threadwise_document::{Prose, prose};
use threadwise_study::Role;

/// Most ratios that a sentence has.
const MAX_CLAUSES: usize = 4;

/// Kind of the finding about SMT: where there is one, it answers the study's question.
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

/// Both threads against SMT taken away, and whether a mask is as good as that.
fn smt(facts: &Facts<'_>) -> Option<Finding> {
    let (both, ways) = (of_kind(facts, &["smt-off"]), of_kind(facts, &["smt-way"]));
    let mut sentences = Vec::new();
    if !both.is_empty() {
        sentences.push(prose!(
            "Both threads of a core against one with SMT taken away: {}.",
            clauses(&both, |one| &one.name)
        ));
    }
    if !ways.is_empty() {
        let verdict = mask(&ways);
        sentences.push(prose!(
            "SMT taken away against siblings that are only left idle (a mask): {}{}.",
            clauses(&ways, |one| &one.treatment),
            verdict
        ));
    }
    let evidence: Vec<&Estimate> = both.into_iter().chain(ways).collect();
    (!sentences.is_empty()).then(|| finding(SMT_ARMS, Prose::join(sentences, " "), &names(&evidence)))
}

/// What the ratios of ways say of a mask, where they say it.
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

/// That something is left of switches, where it is shown: the arm with the most.
pub fn settling(facts: &Facts<'_>) -> Option<Finding> {
    let shown = facts.analysis.settling.iter().filter(|one| one.change.shown);
    let most = shown.max_by(|one, other| one.change.size().total_cmp(&other.change.size()))?;
    let ratio = most.change.adjusted();
    let text = prose!(
        "A switch leaves something behind: rates in first rounds after a switch to {} are {} times those of later rounds. \
         Ratios of arms have a part of it; with more rounds a block it is smaller ({}).",
        &most.arm,
        &ratio,
        Prose::command(format!("--rounds {}", 2 * facts.study.design.rounds))
    );
    Some(finding("settling", text, &[]))
}

fn clauses(found: &[&Estimate], name: impl Fn(&Estimate) -> &str) -> Prose {
    let clause = |one: &&Estimate| prose!("{} {}", name(one), judged(one));
    let mut clauses: Vec<Prose> = found.iter().take(MAX_CLAUSES).map(clause).collect();
    if found.len() > MAX_CLAUSES {
        clauses.push(prose!("and {} more in the table", found.len() - MAX_CLAUSES));
    }
    Prose::join(clauses, ", ")
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
