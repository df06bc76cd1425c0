//! The verdict of a study.

use crate::findings::{looks, machine, trust, versions};
use crate::looks::words::windows;
use crate::sections::lost_cpu;
use crate::words::finding;
use crate::{
    Analysis, Facts, Finding, advice, arms, by_state, changed_with, diagnostics, drift, external_arms, kinds,
    long_windows, quota,
};
use threadwise_machine::Topology;
use threadwise_study::Study;

/// The verdict of a study without a probe; see [`verdict`].
pub fn plain_verdict(study: &Study, topology: &Topology, analysis: &Analysis) -> Vec<Finding> {
    verdict(&Facts::new(study, topology, analysis))
}

/// The verdict: about six lines, in reading order (`parts`): problems of the study, advice, the answer, the rest. If
/// the hardware was probed, the measurement is given with the declaration, and a difference between the two comes
/// first. Notes about where a server ran are about validity: a placement that a server did not have says nothing.
///
/// Without a usable block it says that nothing can be said, and why.
pub fn verdict(facts: &Facts<'_>) -> Vec<Finding> {
    let mut parts = kinds::of(facts.study).findings(facts);
    parts.advice = advice::findings(&advice::advice(facts));
    let simulated = "SIMULATED: from a model, not from a machine";
    parts.validity.extend(facts.analysis.simulated.then(|| finding("simulated", simulated, &[])));
    parts.validity.extend(machine::emulated(facts.topology));
    parts.validity.extend(trust::not_placed(facts.notes));
    parts.validity.extend(facts.hardware.and_then(trust::declared_wrongly));
    parts.validity.extend(trust::alarm(facts));
    parts.found.splice(0..0, quota::finding_of(facts));
    let arms = arms::findings(facts);
    if arms.iter().any(|found| found.kind == arms::SMT_ARMS) {
        parts.lead = Some(arms::SMT_ARMS);
        // That finding reports the gain of the two threads of a core.
        parts.found.retain(|found| found.kind != "not-measurable");
    }
    if diagnostics::neighbours::has_yield(facts) {
        // What a core did for two sessions is said by the question about neighbours.
        parts.found.retain(|found| found.kind != "not-measurable");
    }
    parts.found.extend(arms);
    if let Some(finding) = versions::finding_of(facts) {
        parts.lead = Some(versions::VERSIONS);
        parts.found.push(finding);
    }
    parts.found.extend(by_state::findings(facts));
    parts.found.extend(changed_with::finding_of(facts));
    if let Some(finding) = external_arms::finding_of(facts) {
        parts.lead = Some("arms");
        parts.found.insert(0, finding);
    }
    let ran = facts.analysis.looks.as_ref().map(|found| looks::looks(found, windows(facts.study)));
    parts.setting.splice(0..0, [machine::machine(facts.topology, facts.hardware)].into_iter().chain(ran));
    let scope = parts.limits.iter().position(|finding| finding.kind == "scope");
    let scope = scope.unwrap_or(parts.limits.len());
    let lost = lost_cpu::finding_of(facts).into_iter().chain(drift::finding_of(facts));
    let found = lost.chain(diagnostics::findings(facts)).chain(long_windows::findings(facts));
    parts.limits.splice(scope..scope, found);
    parts.in_order()
}
