//! Findings and the verdict: what the estimates say, what they do not, and how far to trust them.
//!
//! A finding calls nothing a difference that is no effect (docs/METHODOLOGY.md), and "not
//! measurable here" is an answer. Figures carry their intervals; adjectives are left out.

pub(crate) mod activity;
mod facts;
pub(crate) mod machine;
mod order;
pub(crate) mod scaling;
pub(crate) mod smt;
mod sweep;
pub(crate) mod trust;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub use words::group_words;

use crate::{Analysis, Facts, Finding, kinds};
pub use order::Parts;
use sweep::Sweep;
use threadwise_document::Prose;
use threadwise_machine::Topology;
use threadwise_study::Study;

/// The verdict of a study without a probe; see [`verdict`].
pub fn plain_verdict(study: &Study, topology: &Topology, analysis: &Analysis) -> Vec<Finding> {
    verdict(&Facts::new(study, topology, analysis))
}

/// The verdict: six lines or so, in the order in which they should be read (`findings::order`): what is wrong with
/// the study, the answer, the rest. Where the hardware was probed, what was measured stands beside what is
/// declared, and where the two differ that is said first. What notes say about where a server ran is about
/// validity: a placement of which a server knew nothing says nothing.
///
/// Without a usable block it says that nothing can be said, and why.
pub fn verdict(facts: &Facts<'_>) -> Vec<Finding> {
    let mut parts = kinds::of(facts.study).findings(facts);
    let simulated = "SIMULATED: from a model, not from a machine";
    parts.validity.extend(facts.analysis.simulated.then(|| finding("simulated", simulated, &[])));
    parts.validity.extend(trust::not_placed(facts.notes));
    parts.validity.extend(facts.hardware.and_then(trust::declared_wrongly));
    parts.setting.insert(0, machine::machine(facts.topology, facts.hardware));
    parts.in_order()
}

/// What the ratios of a study of rates say.
pub(crate) fn rates(facts: &Facts<'_>) -> Parts {
    let sweeps = sweep::sweeps(facts);
    let mut found = throughput(facts, &sweeps);
    found.extend(sweep::advice(facts, &sweeps));
    found.extend(activity::activity(facts));
    Parts {
        validity: trust::validity(facts).into_iter().collect(),
        found,
        lead: sweep::is_the_question(facts, &sweeps).then_some("sweep"),
        limits: vec![trust::trust(facts), trust::scope(facts, &sweeps)],
        ..Parts::default()
    }
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
pub(crate) fn finding(kind: &str, line: impl Into<Prose>, evidence: &[&str]) -> Finding {
    let mut names: Vec<String> = Vec::new();
    for name in evidence {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    Finding { kind: kind.to_owned(), line: line.into(), evidence: names }
}
