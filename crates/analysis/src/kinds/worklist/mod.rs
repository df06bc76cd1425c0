//! Work lists: commands for each item of a list, by N jobs. What is compared is seconds per item; everything else is as
//! of commands.

mod findings;
pub mod sections;

use super::command::{self, Commands, NOUNS};
use crate::Facts;
use crate::findings::trust;
use crate::kind::Kind;
use crate::parts::Parts;
use crate::workload::Nouns;
use threadwise_document::chart::ChartWords;
use threadwise_document::{Prose, Section};
use threadwise_study::{Study, worklist};

/// The kind.
pub struct Worklists;

impl Kind for Worklists {
    fn is(&self, study: &Study) -> bool {
        study.workload == worklist::WORKLOAD
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        NOUNS
    }

    fn metric_name(&self, study: &Study, metric: &str) -> String {
        Commands.metric_name(study, metric)
    }

    fn turn(&self, _facts: &Facts<'_>) -> String {
        "does the whole list once".to_owned()
    }

    fn method(&self, _facts: &Facts<'_>) -> Vec<Prose> {
        vec![command::method("list")]
    }

    fn scope(&self, study: &Study) -> Option<String> {
        findings::scope(study)
    }

    fn comparable(&self) -> &'static str {
        Commands.comparable()
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        let Some((runs, lists)) = command::measured(facts).zip(facts.analysis.worklist.as_ref()) else {
            return trust::nothing_found(facts, self);
        };
        Parts {
            validity: trust::validity(facts).into_iter().collect(),
            found: findings::worklist(facts, runs, lists),
            limits: vec![trust::trust(facts), trust::scope(facts, self, &[])],
            ..Parts::default()
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        let mut sections = Commands.answers(facts);
        if let Some((runs, lists)) = facts.analysis.commands.as_ref().zip(facts.analysis.worklist.as_ref()) {
            sections::about_lists(&mut sections, runs);
            sections.splice(0..0, sections::jobs(facts, lists));
        }
        sections
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        Commands.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        Commands.chart_words(facts)
    }
}
