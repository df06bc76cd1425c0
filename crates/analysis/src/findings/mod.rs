//! Findings and the verdict: what the estimates say, what they do not, and how far to trust them.
//!
//! A finding calls nothing a difference that is no effect (docs/METHODOLOGY.md), and "not
//! measurable here" is an answer. Figures carry their intervals; adjectives are left out.

mod activity;
mod commands;
mod facts;
mod machine;
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
use sweep::Sweep;
use threadwise_machine::Topology;
use threadwise_study::Study;

/// The verdict of a study without a probe; see [`verdict_probed`].
pub fn verdict(study: &Study, topology: &Topology, analysis: &Analysis) -> Vec<Finding> {
    verdict_probed(study, topology, None, analysis)
}

/// The verdict: six lines or so, in the order in which they should be read. Where the hardware was
/// probed, what was measured stands beside what is declared, and before everything else that
/// rests on the declaration it is told when the two differ.
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

/// The same with the notes of the study and the version that its engine told. What notes say about where
/// a server ran comes first: a placement of which a server knew nothing says nothing.
pub fn verdict_noted(
    study: &Study,
    topology: &Topology,
    hardware: Option<&Hardware>,
    notes: &[String],
    engine_version: &str,
    analysis: &Analysis,
) -> Vec<Finding> {
    let facts = Facts { study, topology, analysis, engine_version };
    let mut findings = Vec::new();
    if analysis.simulated {
        findings.push(finding("simulated", "SIMULATED: from a model, not from a machine".to_owned(), &[]));
    }
    findings.extend(trust::not_placed(notes));
    findings.push(machine::machine(topology, hardware));
    findings.extend(hardware.and_then(trust::declared_wrongly));
    if let Some(of_commands) = analysis.commands.as_ref().filter(|_| analysis.blocks > 0) {
        findings.extend(match &analysis.worklist {
            Some(of_lists) => worklist::worklist(&facts, of_commands, of_lists),
            None => commands::commands(&facts, of_commands),
        });
        findings.push(trust::trust(&facts));
        findings.push(trust::scope(&facts, &[]));
        return findings;
    }
    if facts.throughput().next().is_none() {
        findings.push(trust::nothing(&facts));
        let of_queries = analysis.queries.as_ref().map(|own| queries::scope(&facts, own));
        findings.push(of_queries.unwrap_or_else(|| trust::scope(&facts, &[])));
        return findings;
    }
    if let Some(of_queries) = &analysis.queries {
        findings.extend(queries::queries(&facts, of_queries));
        findings.extend(activity::of_queries(&facts));
        findings.push(queries::trust(&facts, of_queries));
        findings.push(queries::scope(&facts, of_queries));
        return findings;
    }
    let sweeps = sweep::sweeps(&facts);
    findings.extend(throughput(&facts, &sweeps));
    findings.extend(sweep::advice(&facts, &sweeps));
    findings.extend(activity::activity(&facts));
    findings.push(trust::trust(&facts));
    findings.push(trust::scope(&facts, &sweeps));
    findings
}

/// What the ratios of throughput say. The yield is told in any case, if only that there is none.
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
