//! Lookups and inserts in one index, by the kind of lock around it.

mod findings;
mod sections;

use super::rate;
use crate::Facts;
use crate::kind::Kind;
use crate::lock_gains::LockGains;
use crate::parts::Parts;
use crate::workload::Nouns;
use threadwise_document::Section;
use threadwise_document::chart::ChartWords;
use threadwise_study::{Study, index};

/// The kind.
pub struct Indexes;

impl Kind for Indexes {
    fn is(&self, study: &Study) -> bool {
        study.workload == index::WORKLOAD
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        Nouns { noun: "operations", noun_one: "operation", ..rate::NOUNS }
    }

    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    fn scope(&self, _study: &Study) -> Option<String> {
        Some("one lookup or insert is a row, without a transaction or a log".to_owned())
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        match compared(facts) {
            Some(gains) => findings::gains(facts, self, gains),
            None => rate::Rates.findings(facts),
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        match compared(facts) {
            Some(gains) => sections::answers(facts, self, gains),
            None => rate::Rates.answers(facts),
        }
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}

/// Gains under several locks, where a study has them and they were measured.
fn compared<'a>(facts: &Facts<'a>) -> Option<&'a LockGains> {
    facts.analysis.lock_gains.as_ref().filter(|gains| gains.pairs.iter().any(|pair| pair.ratio.is_some()))
}
