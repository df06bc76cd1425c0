//! A study as a document: its sections and their order. Every kind fills the same places.

use crate::kind::Kind;
use crate::questions::{all_sections, verdict};
use crate::screen::screen;
use crate::sections::{choices, hardware, neighbours, time, usage};
use crate::validity::Counts;
use crate::{Facts, advice, kinds};
use threadwise_document::chart::Shared;
use threadwise_document::{Block, Document, Fact, Figure, Section, numbers};

/// The report of a study.
pub fn document(facts: &Facts<'_>) -> Document {
    let study = facts.study;
    let kind = kinds::of(study);
    let engine = format!("{} {}", study.engine, facts.engine_version);
    let data = kind.about(facts).unwrap_or_default();
    let about = [engine.trim(), study.workload.name(), &data, facts.created_utc, facts.source];
    let sections = all_sections(facts);
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
pub(crate) fn first_figure(sections: &[Section]) -> Option<Box<Figure>> {
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
