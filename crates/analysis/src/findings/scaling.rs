//! Two sessions: on two cores, on one logical CPU, elsewhere.

use super::facts::{by_group, estimates};
use super::locality::levels;
use super::smt::core_yield;
use super::sweep::Sweep;
use crate::Facts;
use crate::estimate::THROUGHPUT;
use crate::groups::bare;
use crate::shape::Shape;
use crate::words::{change_decisive, finding, judged, judged_decisive, names};
use crate::{Answer, Estimate, Finding, FindingKind};
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::Pin;
use threadwise_study::workload::Nouns;
use threadwise_study::{ComparisonKind, Role, Treatment};

/// Two sessions on two cores against one alone.
pub fn two_cores(facts: &Facts<'_>, nouns: &Nouns) -> Option<Finding> {
    let ratio_of = |group: &str| facts.against_alone(facts.two_cores(group)?, THROUGHPUT);
    let found = estimates(facts, ratio_of);
    let all_shown = facts.alone_is_one()
        && found.iter().all(|estimate| matches!(estimate.ratio.answer, Answer::Larger | Answer::Smaller));
    let text = by_group(facts, |group| {
        let text = judged(ratio_of(group)?);
        Some(if all_shown { prose!("{} one session's {}", text, nouns.noun) } else { text })
    })?;
    let mut text = if all_shown {
        prose!("Two sessions on two cores do {}.", text)
    } else {
        let alone = facts.alone("one session alone");
        prose!("{} of two sessions on two cores against {}: {}.", numbers::capital(nouns.noun), alone, text)
    };
    text.push(better_than_linear(facts, nouns).unwrap_or_default());
    Some(finding(FindingKind::Scaling, text, &names(&found)))
}

/// Two sessions with more than twice the throughput of one: a reader would doubt the figure, so it is reported with the
/// change of CPU per read, and with the note that the cause is unknown here.
fn better_than_linear(facts: &Facts<'_>, nouns: &Nouns) -> Option<Prose> {
    let text = by_group(facts, |group| {
        let two = facts.two_cores(group)?;
        let each = facts.against_alone(two, "rows_per_s_per_session")?;
        if !facts.alone_is_one() || !each.ratio.is_higher() {
            return None;
        }
        let cpu = facts.against_alone(two, "cpu_ns_per_row");
        let cpu = cpu.map(|cpu| prose!(", CPU per {} {}", nouns.noun_one, change_decisive(&cpu.ratio)));
        Some(prose!("each session does {} of one alone{}", &each.ratio.decisive(), cpu.unwrap_or_default()))
    })?;
    Some(prose!(" Better than linear: {}; this study cannot distinguish {}.", text, nouns.causes))
}

/// Two sessions on one logical CPU against one alone: reported only if it differs, since taking turns should change
/// nothing, or if there is nothing else to report.
pub fn one_cpu(facts: &Facts<'_>, is_all: bool) -> Option<Finding> {
    let ratio_of = |group: &str| facts.shapes(group, Shape::OneCpu, Shape::Alone, THROUGHPUT);
    let found = estimates(facts, ratio_of);
    if !is_all && !found.iter().any(|estimate| !estimate.ratio.is_same()) {
        return None;
    }
    // Reported as measured, with the interval that decides.
    let shown =
        |estimate: &Estimate| if is_all { judged(estimate) } else { judged_decisive(&estimate.ratio) };
    let text = by_group(facts, |group| Some(shown(ratio_of(group)?)))?;
    let alone = facts.alone("one alone");
    let text = prose!("Two sessions taking turns on one logical CPU against {}: {}.", alone, text);
    Some(finding(FindingKind::OneCpu, text, &names(&found)))
}

/// Most treatments of a group in [`others`].
const MAX_OTHERS: usize = 4;

/// Treatments that no other finding reports, against the baseline.
pub fn others(facts: &Facts<'_>, sweeps: &[Sweep<'_>]) -> Option<Finding> {
    let ratios = |group: &str| -> Vec<(&Treatment, &Estimate)> {
        let of_group = facts.study.treatments.iter().filter(|treatment| treatment.group == group);
        of_group
            .filter(|treatment| is_other(facts, sweeps, treatment))
            .filter_map(|treatment| Some((treatment, facts.against_alone(treatment, THROUGHPUT)?)))
            .collect()
    };
    let text = by_group(facts, |group| {
        let found = ratios(group);
        let tell = |(treatment, estimate): &(&Treatment, &Estimate)| {
            prose!("{} {}", label(treatment), judged(estimate))
        };
        let mut clauses: Vec<Prose> = found.iter().take(MAX_OTHERS).map(tell).collect();
        if found.len() > MAX_OTHERS {
            clauses.push(prose!("and {} more in the table", found.len() - MAX_OTHERS));
        }
        (!clauses.is_empty()).then(|| Prose::join(clauses, ", "))
    })?;
    let groups = facts.study.groups();
    let found: Vec<&Estimate> =
        groups.iter().flat_map(|group| ratios(group)).map(|(_, estimate)| estimate).collect();
    let text = prose!("Against {}: {}.", facts.alone("one session alone"), text);
    Some(finding(FindingKind::Scaling, text, &names(&found)))
}

/// Whether no other finding reports a treatment: it has no known shape, or is the second of its shape in its group, or
/// its counterpart is missing.
fn is_other(facts: &Facts<'_>, sweeps: &[Sweep<'_>], treatment: &Treatment) -> bool {
    let group = treatment.group.as_str();
    let is = |known: Option<&Treatment>| known.is_some_and(|known| known.name == treatment.name);
    let shape = Shape::of(treatment);
    let is_first = is(facts.find(group, shape));
    let is_a_level = || levels(facts, group).iter().any(|(_, estimate)| estimate.treatment == treatment.name);
    let is_named = match shape {
        Shape::Alone | Shape::OneCpu => is_first,
        Shape::SameCore => is_first && core_yield(facts, group).is_some(),
        Shape::SameL2 | Shape::SameL3 | Shape::CrossNode | Shape::CrossPackage => is_a_level(),
        Shape::SamePackage | Shape::Spread | Shape::Other => false,
    };
    let under_another_policy = || {
        let mut of_memory = facts.throughput().filter(|one| one.kind == ComparisonKind::Memory);
        of_memory.any(|one| one.treatment == treatment.name)
    };
    treatment.role == Role::Compared
        && !is_named
        && !under_another_policy()
        && !is(facts.two_cores(group))
        && !sweeps.iter().any(|sweep| sweep.has(treatment))
}

/// `A (2c1t, 2 sessions, pin=set)`: the placement if the name is another, and the binding if sessions float.
fn label(treatment: &Treatment) -> String {
    let (name, placement) = (bare(&treatment.name), treatment.placement.text.as_str());
    let mut about: Vec<String> = Vec::new();
    if name != placement {
        about.push(placement.to_owned());
    }
    about.push(numbers::counted(treatment.sessions as usize, "session"));
    if treatment.pin == Pin::Set {
        about.push("pin=set".to_owned());
    }
    if let Some(memory) = treatment.factors.get("memory") {
        about.push(format!("memory={memory}"));
    }
    format!("{name} ({})", about.join(", "))
}

/// Kinds of comparisons that other findings report.
const KNOWN_KINDS: [ComparisonKind; 21] = [
    ComparisonKind::Baseline,
    ComparisonKind::SmtYield,
    ComparisonKind::Cores,
    ComparisonKind::SharedL2,
    ComparisonKind::SharedL3,
    ComparisonKind::Nodes,
    ComparisonKind::Packages,
    ComparisonKind::Memory,
    ComparisonKind::Orders,
    ComparisonKind::SweepStep,
    ComparisonKind::BeyondCores,
    ComparisonKind::DopStep,
    ComparisonKind::SmtDop,
    ComparisonKind::BothThreads,
    ComparisonKind::Quota,
    ComparisonKind::SmtWay,
    ComparisonKind::SmtOff,
    ComparisonKind::Turbo,
    ComparisonKind::Governor,
    ComparisonKind::Instance,
    ComparisonKind::Version,
];

/// Most of the study's own comparisons in the verdict.
const MAX_ASKED: usize = 6;

/// The comparisons that the user wrote.
pub fn asked(facts: &Facts<'_>) -> Option<Finding> {
    let asked: Vec<&Estimate> =
        facts.throughput().filter(|estimate| !KNOWN_KINDS.contains(&estimate.kind)).collect();
    let tell = |estimate: &&Estimate| prose!("{}: {}", &estimate.name, judged(estimate));
    let mut clauses: Vec<Prose> = asked.iter().take(MAX_ASKED).map(tell).collect();
    if asked.len() > MAX_ASKED {
        clauses.push(prose!("and {} more", asked.len() - MAX_ASKED));
    }
    let text = prose!("As asked: {}.", Prose::join(clauses, "; "));
    (!asked.is_empty()).then(|| finding(FindingKind::Asked, text, &names(&asked)))
}
