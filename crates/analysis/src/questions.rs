//! The table of questions, in the order of a report's sections. Findings stand in the order of their kinds
//! (`threadwise_document::FindingKind::part`), those of one part in the order of this table.

use crate::diagnostics::{QuestionAnswer, clock, first_block, halves, neighbours, order, settling};
use crate::findings::{looks, machine, trust, versions};
use crate::kinds::{self, indexes};
use crate::looks::words::windows;
use crate::question::{Case, Question};
use crate::sections::{
    self, activity, failures, hardware, logical_cpus, lost_cpu, memory_nodes, method, readings, server_locks,
    time, usage,
};
use crate::words::finding;
use crate::{
    Facts, Finding, FindingKind, advice, arms, by_state, changed_with, cost, drift, external_arms,
    long_windows, published, quota, round_trips, vcpus,
};
use threadwise_document::finding::in_order;
use threadwise_document::{Prose, Section};
use threadwise_study::Study;

const QUESTIONS: [Question; 36] = [
    Question { findings: validity, ..Question::new("validity") },
    Question { findings: |facts| advice::findings(&advice::advice(facts)), ..Question::new("advice") },
    Question {
        findings: |facts| list(external_arms::finding_of(facts)),
        sections: |facts| list(external_arms::section(facts)),
        ..Question::new("external")
    },
    Question {
        findings: |facts| kinds::of(facts.study).findings(facts),
        sections: |facts| kinds::of(facts.study).answers(facts),
        ..Question::new("workload")
    },
    vcpus::VCPUS,
    Question { sections: |facts| list(sections::choices::section(facts)), ..Question::new("choices") },
    Question { sections: |facts| list(cost::section(facts)), ..Question::new("cost") },
    Question {
        sections: |facts| list(sections::scaling_law::section(facts)),
        ..Question::new("scaling-law")
    },
    Question {
        findings: |facts| list(quota::finding_of(facts)),
        sections: |facts| list(quota::section(facts)),
        ..Question::new("quota")
    },
    round_trips::ROUND_TRIPS,
    Question { findings: |facts| list(versions::finding_of(facts)), ..Question::new("versions") },
    Question {
        findings: arms::findings,
        sections: |facts| list(arms::section(facts)),
        ..Question::new("arms")
    },
    Question { findings: |facts| list(lost_cpu::finding_of(facts)), ..Question::new("lost-cpu") },
    Question { findings: |facts| list(drift::finding_of(facts)), ..Question::new("drift") },
    clock::CLOCK,
    order::CARRY_OVER,
    halves::HALVES,
    settling::SETTLING,
    first_block::FIRST_BLOCK,
    indexes::LOCK_GAINS,
    Question {
        findings: long_windows::findings,
        sections: |facts| list(long_windows::section(facts)),
        ..Question::new("long-windows")
    },
    Question { sections: |facts| list(sections::neighbours::section(facts)), ..neighbours::NEIGHBOURS },
    Question {
        findings: |facts| {
            let looked = facts.analysis.looks.as_ref();
            list(looked.map(|found| looks::looks(found, windows(facts.study))))
        },
        sections: |facts| list(sections::looks::section(facts)),
        ..Question::new("looks")
    },
    Question { sections: |facts| vec![usage::section(facts)], ..Question::new("usage") },
    Question { sections: |facts| list(logical_cpus::section(facts)), ..Question::new("logical-cpus") },
    Question { sections: |facts| list(activity::section(facts)), ..Question::new("activity") },
    Question { sections: |facts| list(server_locks::section(facts)), ..Question::new("server-locks") },
    Question {
        findings: |facts| list(changed_with::finding_of(facts)),
        sections: |facts| list(changed_with::section(facts)),
        ..Question::new("changed-with")
    },
    Question { sections: |facts| list(memory_nodes::section(facts)), ..Question::new("memory-nodes") },
    Question { sections: |facts| list(readings::section(facts)), ..Question::new("readings") },
    Question {
        findings: |facts| vec![machine::machine(facts.topology, facts.hardware)],
        sections: |facts| {
            std::iter::once(sections::machine::section(facts)).chain(hardware::section(facts)).collect()
        },
        ..Question::new("machine")
    },
    Question {
        findings: by_state::findings,
        sections: |facts| list(by_state::section(facts)),
        ..Question::new("by-state")
    },
    Question { sections: |facts| vec![time::section(facts)], ..Question::new("time") },
    Question { sections: |facts| kinds::of(facts.study).tables(facts), ..Question::new("treatments") },
    Question { sections: how, ..Question::new("method") },
    Question {
        sections: |facts| {
            let beside = published::beside_same(facts);
            list(beside.map(|beside| published::section(facts, &beside)))
        },
        ..Question::new("published")
    },
];

fn list<T>(one: Option<T>) -> Vec<T> {
    one.into_iter().collect()
}

/// Problems of the whole study.
fn validity(facts: &Facts<'_>) -> Vec<Finding> {
    let simulated = "SIMULATED: from a model, not from a machine";
    let simulated = facts.analysis.simulated.then(|| finding(FindingKind::Simulated, simulated, &[]));
    let all = [
        trust::validity(facts),
        simulated,
        machine::emulated(facts.topology),
        trust::not_placed(facts),
        facts.hardware.and_then(trust::declared_wrongly),
        trust::alarm(facts),
    ];
    all.into_iter().flatten().collect()
}

/// How it was measured.
fn how(facts: &Facts<'_>) -> Vec<Section> {
    let kind = kinds::of(facts.study);
    let paragraphs: Vec<Prose> = QUESTIONS.iter().filter_map(|one| (one.method)(facts)).collect();
    vec![
        method::section(facts, kind, paragraphs),
        method::configuration(facts),
        failures::section(facts, kind),
    ]
}

/// Answers to the questions that apply to a study.
pub(crate) fn ask(case: &Case<'_>) -> Vec<QuestionAnswer> {
    let answer = |one: &Question| Some(QuestionAnswer { question: one.name, ..(one.ask)(case)? });
    QUESTIONS.iter().filter_map(answer).collect()
}

/// All sections.
pub(crate) fn all_sections(facts: &Facts<'_>) -> Vec<Section> {
    QUESTIONS.iter().flat_map(|one| (one.sections)(facts)).collect()
}

/// The verdict of a study, from its estimates alone.
pub fn plain_verdict(
    study: &Study,
    topology: &threadwise_machine::Topology,
    analysis: &crate::Analysis,
) -> Vec<Finding> {
    verdict(&Facts::new(study, topology, analysis))
}

/// The verdict of a study.
pub fn verdict(facts: &Facts<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = QUESTIONS.iter().flat_map(|one| (one.findings)(facts)).collect();
    if all.iter().any(|finding| finding.kind == FindingKind::Nothing) {
        all.retain(|finding| finding.kind != FindingKind::Validity);
    }
    let has = |kind: FindingKind| all.iter().any(|finding| finding.kind == kind);
    let leads = [FindingKind::Arms, FindingKind::Versions, FindingKind::SmtArms];
    let lead = leads.into_iter().find(|kind| has(*kind)).or_else(|| kinds::of(facts.study).lead(facts));
    // What a core does for two sessions is known from arms or from its host's neighbours.
    if has(FindingKind::SmtArms) || neighbours::has_yield(facts) {
        all.retain(|finding| finding.kind != FindingKind::NotMeasurable);
    }
    in_order(all, lead)
}
