//! The SMT yield of a core, its cost for each session, and what "50% busy" then means.
//!
//! Yield of a core: throughput with two siblings busy over one sibling busy, two sessions in both
//! (docs/GLOSSARY.md).

use super::facts::{by_group, estimates};
use super::machine::{declares_siblings, has_allowed_siblings, smt_switched_off};
use crate::Facts;
use crate::choices::Choice;
use crate::estimate::THROUGHPUT;
use crate::shape::Shape;
use crate::words::{change, finding, judged, names, share};
use crate::{Estimate, Finding, FindingKind, Interval, Ratio};
use threadwise_document::{Prose, prose};
use threadwise_study::workload::Nouns;
use threadwise_study::{Treatment, Workload};

/// The yield with its cost, or why there is none.
pub fn smt_yield(facts: &Facts<'_>, nouns: &Nouns) -> Finding {
    let ratio_of = |group: &str| core_yield(facts, group);
    let found = estimates(facts, ratio_of);
    let Some(text) = by_group(facts, |group| Some(judged(ratio_of(group)?))) else {
        return not_measured(facts);
    };
    let mut evidence = names(&found);
    let mut text = prose!(
        "SMT yield, two sessions on a core's two siblings against the same two on one of them: {}.",
        text
    );
    let price = by_group(facts, |group| {
        let per_session = facts.shapes(group, Shape::SameCore, Shape::Alone, "rows_per_s_per_session")?;
        let cpu = facts.shapes(group, Shape::SameCore, Shape::Alone, "cpu_ns_per_row");
        let cpu = cpu.map(|cpu| prose!(", CPU per {} {}", nouns.noun_one, change(cpu))).unwrap_or_default();
        Some(prose!("{}{}", judged(per_session), cpu))
    });
    if let Some(price) = price {
        let alone = facts.alone("");
        let alone = if alone.is_empty() { "one alone".to_owned() } else { format!("each of {alone}") };
        text.push(prose!(" Each session against {}: {}.", alone, price));
        evidence.extend(names(&estimates(facts, |group| {
            facts.shapes(group, Shape::SameCore, Shape::Alone, THROUGHPUT)
        })));
    }
    finding(FindingKind::SmtYield, text, &evidence)
}

/// Busy share of its logical CPUs from which a treatment of writes shows what "50% busy" leaves.
const BUSY_SHARE: f64 = 0.9;

/// What "50% busy" leaves: with one sibling of every core busy a system shows 50%, and the capacity in use is 1 /
/// yield. The whole machine's figure is used if the sweep measured it directly.
pub fn half_busy(facts: &Facts<'_>) -> Option<Finding> {
    let ratio_of = |group: &str| {
        whole_machine(facts, group)
            .or_else(|| core_yield(facts, group))
            .filter(|estimate| keeps_busy(facts, estimate))
    };
    let found = estimates(facts, ratio_of);
    let text = by_group(facts, |group| {
        let used = ratio_of(group)?;
        let scope = if whole_machine(facts, group).is_some() { "all cores" } else { "one core" };
        if !used.ratio.is_higher() {
            return Some(prose!("no yield is shown on {}, so the capacity left is unknown", scope));
        }
        let Ratio { value: mean, low, high, .. } = used.ratio.inverse();
        Some(prose!("{} of what {} did", &Interval { mean, low, high, unit: "share".to_owned() }, scope))
    })?;
    let text = prose!("With one sibling of each core busy, \"50% busy\" is: {}.", text);
    Some(finding(FindingKind::Capacity, text, &names(&found)))
}

/// The ratio of both threads to one of a choice.
pub fn both_over_one<'a>(facts: &Facts<'a>, choice: &Choice) -> Option<&'a Estimate> {
    let [one, both] = choice.candidates.as_slice() else { return None };
    facts.throughput().find(|found| {
        let comparison = facts.study.comparisons.iter().find(|comparison| comparison.name == found.name);
        comparison.is_some_and(|comparison| {
            comparison.treatment == both.treatment
                && comparison.baseline.as_slice() == [one.treatment.as_str()]
        })
    })
}

/// Whether the logical CPUs of an estimate's treatment were busy: sessions that wait for a disk leave them idle, and
/// they are not "50% busy" then.
pub fn keeps_busy(facts: &Facts<'_>, estimate: &Estimate) -> bool {
    let mut treatments = facts.analysis.treatments.iter();
    let summary = treatments.find(|treatment| treatment.name == estimate.treatment);
    let share = summary.and_then(|summary| summary.metrics.get("busy_share"));
    facts.study.workload == Workload::LogicalIo || share.is_some_and(|share| share.mean >= BUSY_SHARE)
}

/// Two siblings over one of them, two sessions on both sides.
pub fn core_yield<'a>(facts: &Facts<'a>, group: &str) -> Option<&'a Estimate> {
    facts.shapes(group, Shape::SameCore, Shape::OneCpu, THROUGHPUT)
}

/// One session per logical CPU against one per core, over the whole machine, if every core has two logical CPUs (only
/// then is one of each "50%") and the study compares the two directly.
pub fn whole_machine<'a>(facts: &Facts<'a>, group: &str) -> Option<&'a Estimate> {
    let cores = facts.topology.cores.len();
    if cores < 2 || facts.topology.cores.iter().any(|core| core.cpus.len() != 2) {
        return None;
    }
    let with =
        |sessions: usize| -> Option<&'a Treatment> {
            facts.study.treatments.iter().find(|t| {
                t.group == group && Shape::of(t) == Shape::Spread && t.sessions as usize == sessions
            })
        };
    facts.against(with(2 * cores)?, with(cores)?, THROUGHPUT)
}

/// Why there is no yield.
pub fn not_measured(facts: &Facts<'_>) -> Finding {
    let topology = facts.topology;
    let why = if smt_switched_off(topology) {
        "SMT is switched off"
    } else if has_allowed_siblings(topology) {
        let text = match facts.study.treatments.iter().any(|t| Shape::of(t) == Shape::SameCore) {
            true => "SMT yield: not measured, no block has usable runs of both sides.",
            false => "SMT yield: not part of this study, although the machine has cores with siblings.",
        };
        return finding(FindingKind::NotMeasurable, text, &[]);
    } else if declares_siblings(topology) {
        "the machine has siblings, but they are not allowed"
    } else {
        match &topology.identity.hypervisor {
            Some(_) => "no core is declared with two logical CPUs, but a hypervisor may hide siblings",
            None => "no core has two logical CPUs",
        }
    };
    let text = prose!("SMT yield: not measurable here ({}); that does not mean none.", why);
    finding(FindingKind::NotMeasurable, text, &[])
}

/// Share of siblings' busy time, for the trust line.
pub fn left_over_text(facts: &Facts<'_>) -> Option<Prose> {
    let busy = facts.analysis.covariates.left_over_busy_share;
    (declares_siblings(facts.topology) && busy > 0.0)
        .then(|| prose!("siblings left free were busy {}", share(busy)))
}
