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
pub(crate) mod sweep;
pub(crate) mod trust;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub use words::group_words;

use crate::{Analysis, Facts, Finding, kinds};
pub use order::Parts;
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
