//! Findings and the verdict: what the estimates say, what they do not, and how far to trust them.
//!
//! A finding calls nothing a difference that is no effect (docs/METHODOLOGY.md), and "not
//! measurable here" is an answer. Figures carry their intervals; adjectives are left out.

mod activity;
mod commands;
mod facts;
mod machine;
mod order;
mod queries;
mod scaling;
mod smt;
mod sweep;
mod trust;
pub(crate) mod words;
mod worklist;

#[cfg(test)]
mod tests;

pub use words::group_words;

use crate::hardware::Hardware;
use crate::{Analysis, Finding};
use facts::Facts;
use order::Parts;
use sweep::Sweep;
use threadwise_machine::Topology;
use threadwise_study::Study;

/// The verdict of a study without a probe; see [`verdict_probed`].
pub fn verdict(study: &Study, topology: &Topology, analysis: &Analysis) -> Vec<Finding> {
    verdict_probed(study, topology, None, analysis)
}

/// The verdict: six lines or so, in the order in which they should be read (`findings::order`): what is wrong with
/// the study, the answer, the rest. Where the hardware was probed, what was measured stands beside what is
/// declared, and where the two differ that is said first.
///
/// Without a usable block it says that nothing can be said, and why.
pub fn verdict_probed(
    study: &Study,
    topology: &Topology,
    hardware: Option<&Hardware>,
    analysis: &Analysis,
) -> Vec<Finding> {
    verdict_noted(study, topology, hardware, &[], "", analysis)
}

/// The same with the notes of the study and the version that its engine gave. What notes say about where
/// a server ran is about validity: a placement of which a server knew nothing says nothing.
pub fn verdict_noted(
    study: &Study,
    topology: &Topology,
    hardware: Option<&Hardware>,
    notes: &[String],
    engine_version: &str,
    analysis: &Analysis,
) -> Vec<Finding> {
    let facts = Facts { study, topology, analysis, engine_version };
    let mut parts = parts(&facts);
    let simulated = "SIMULATED: from a model, not from a machine".to_owned();
    parts.validity.extend(analysis.simulated.then(|| finding("simulated", simulated, &[])));
    parts.validity.extend(trust::not_placed(notes));
    parts.validity.extend(hardware.and_then(trust::declared_wrongly));
    parts.setting.insert(0, machine::machine(topology, hardware));
    parts.in_order()
}

/// What runs and ratios say, by kind of study.
fn parts(facts: &Facts<'_>) -> Parts {
    let analysis = facts.analysis;
    let validity = trust::validity(facts).into_iter().collect();
    if let Some(of_commands) = analysis.commands.as_ref().filter(|_| analysis.blocks > 0) {
        let found = match &analysis.worklist {
            Some(of_lists) => worklist::worklist(facts, of_commands, of_lists),
            None => commands::commands(facts, of_commands),
        };
        let limits = vec![trust::trust(facts), trust::scope(facts, &[])];
        return Parts { validity, found, limits, ..Parts::default() };
    }
    if facts.throughput().next().is_none() {
        let of_queries = analysis.queries.as_ref().map(|own| queries::scope(facts, own));
        let scope = of_queries.unwrap_or_else(|| trust::scope(facts, &[]));
        // Why nothing can be said is all that there is to say of validity.
        return Parts { validity: vec![trust::nothing(facts)], limits: vec![scope], ..Parts::default() };
    }
    if let Some(of_queries) = &analysis.queries {
        let mut found = queries::queries(facts, of_queries);
        found.extend(activity::of_queries(facts));
        let setting = queries::data_size(of_queries).into_iter().collect();
        let limits = vec![queries::trust(facts, of_queries), queries::scope(facts, of_queries)];
        return Parts { validity, found, setting, limits, lead: None };
    }
    let sweeps = sweep::sweeps(facts);
    let mut found = throughput(facts, &sweeps);
    found.extend(sweep::advice(facts, &sweeps));
    found.extend(activity::activity(facts));
    let limits = vec![trust::trust(facts), trust::scope(facts, &sweeps)];
    let lead = sweep::is_the_question(facts, &sweeps).then_some("sweep");
    Parts { validity, found, lead, limits, ..Parts::default() }
}

/// What the ratios of throughput say. The yield is reported in any case, if only that there is none.
fn throughput(facts: &Facts<'_>, sweeps: &[Sweep<'_>]) -> Vec<Finding> {
    let first: Vec<Finding> =
        [scaling::two_cores(facts), scaling::others(facts, sweeps)].into_iter().flatten().collect();
    let smt_yield = smt::smt_yield(facts);
    let rest = [
        smt::half_busy(facts),
        scaling::packages(facts),
        sweep::growth(facts, sweeps),
        scaling::asked(facts),
    ];
    let rest: Vec<Finding> = rest.into_iter().flatten().collect();
    let is_all = first.is_empty() && rest.is_empty() && smt_yield.kind == "not-measurable";
    let one_cpu = scaling::one_cpu(facts, is_all);
    first.into_iter().chain(one_cpu).chain([smt_yield]).chain(rest).collect()
}

/// Puts a finding together; `evidence` names estimates or treatments.
pub(crate) fn finding(kind: &str, text: String, evidence: &[&str]) -> Finding {
    let mut names: Vec<String> = Vec::new();
    for name in evidence {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    Finding { kind: kind.to_owned(), text, evidence: names }
}
