//! A study as a document: its sections and their order. Every kind fills the same places.

use crate::kind::Kind;
use crate::kinds;
use crate::screen::screen;
use crate::sections::{
    activity, choices, failures, hardware, logical_cpus, looks, machine, method, neighbours, readings,
    scaling_law, server_locks, time, usage,
};
use crate::validity::Counts;
use crate::{
    Facts, advice, arms, by_state, changed_with, cost, external_arms, long_windows, published, quota, verdict,
};
use threadwise_document::chart::Shared;
use threadwise_document::{Block, Document, Fact, Figure, Section, numbers};

/// The report of a study.
pub fn document(facts: &Facts<'_>) -> Document {
    let study = facts.study;
    let kind = kinds::of(study);
    let nouns = kind.nouns(study);
    let engine = format!("{} {}", study.engine, facts.engine_version);
    let data = kind.about(facts).unwrap_or_default();
    let about = [engine.trim(), study.workload.name(), &data, facts.created_utc, facts.source];
    let mut sections: Vec<_> = external_arms::section(facts).into_iter().collect();
    sections.extend(kind.answers(facts));
    sections.extend(choices::section(facts));
    sections.extend(cost::section(facts));
    sections.extend(scaling_law::section(facts, &nouns));
    sections.extend(quota::section(facts));
    sections.extend(arms::section(facts));
    sections.extend(long_windows::section(facts));
    sections.extend(neighbours::section(facts));
    sections.extend(looks::section(facts));
    sections.push(usage::section(facts, &nouns));
    sections.extend(logical_cpus::section(facts, &nouns));
    sections.extend(activity::section(facts, &nouns));
    sections.extend(server_locks::section(facts, &nouns));
    sections.extend(changed_with::section(facts, &nouns));
    sections.extend(readings::section(facts));
    sections.push(machine::section(facts));
    sections.extend(hardware::section(facts));
    sections.extend(by_state::section(facts));
    sections.push(time::section(facts, &nouns));
    sections.extend(kind.tables(facts));
    sections.extend([
        method::section(facts, kind),
        method::configuration(facts),
        failures::section(facts, kind),
    ]);
    sections.extend(published::beside_same(facts).map(|beside| published::section(facts, &beside)));
    let (verdict, advice) = (verdict(facts), advice::advice(facts));
    Document {
        screen: screen(facts, &verdict, &advice, &sections),
        title: kind.title(study),
        about: about.into_iter().filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        simulated: facts.is_simulated(),
        advice,
        // A choice is drawn for one group; a profile has all.
        picture: neighbours::profile(std::slice::from_ref(facts))
            .or_else(|| choices::picture(facts))
            .or_else(|| first_figure(&sections)),
        verdict,
        facts: figures(facts, kind),
        sections,
        footer: format!("threadwise {} · study {} · seed {}", facts.program_version, study.name, study.seed),
        charts: Shared {
            words: kind.chart_words(facts),
            labels: time::labels(facts),
            usage: usage::chart(facts),
            pairs: hardware::chart(facts),
        },
    }
}

/// The first figure of all sections: that of the section that answers the study's question.
fn first_figure(sections: &[Section]) -> Option<Box<Figure>> {
    let mut blocks = sections.iter().flat_map(|section| &section.blocks);
    blocks.find_map(|block| if let Block::Figure(figure) = block { Some(figure.clone()) } else { None })
}

/// The figures in the summary of the verdict.
fn figures(facts: &Facts<'_>, kind: &dyn Kind) -> Vec<Fact> {
    let study = facts.study;
    let fact = |name: &str, value: String, note: String| Fact { name: name.to_owned(), value, note };
    let rounds = numbers::counted(study.design.rounds as usize, "round");
    let note = if study.runs_whole() { "a run of each treatment".to_owned() } else { format!("of {rounds}") };
    let covariates = &facts.analysis.covariates;
    let counts = Counts::of(facts.analysis);
    let mut all = vec![fact("blocks", facts.analysis.blocks.to_string(), note)];
    all.extend(kind.floor(facts));
    all.push(fact(
        "stolen time",
        numbers::percent(covariates.steal_share),
        format!("worst block {}", numbers::percent(covariates.steal_share_max)),
    ));
    all.push(fact(
        "valid runs",
        format!("{}/{}", counts.used, counts.all()),
        format!("{} failed, {} left out", counts.failed, counts.excluded),
    ));
    all
}
