//! Parallel scans: the rates of treatments, and what the processes of their queries did.

mod findings;
mod sections;

use super::rate;
use crate::Facts;
use crate::kind::Kind;
use crate::parts::Parts;
use crate::workload::Nouns;
use threadwise_document::Section;
use threadwise_document::chart::ChartWords;
use threadwise_study::{Study, parallel};

/// The kind.
pub struct Scans;

impl Kind for Scans {
    fn is(&self, study: &Study) -> bool {
        study.workload == parallel::WORKLOAD
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        rate::NOUNS
    }

    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    fn scope(&self, _study: &Study) -> Option<String> {
        Some("one parallel, CPU-bound scan of a table in memory; every answer is checked".to_owned())
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        let mut parts = rate::Rates.findings(facts);
        parts.lead = parts.lead.or(Some(findings::KIND));
        parts.found.extend(findings::workers(facts));
        parts.limits.splice(0..0, findings::too_few(facts));
        parts
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        sections::workers(facts).into_iter().chain(rate::Rates.answers(facts)).collect()
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        rate::Rates.tables(facts)
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        rate::Rates.chart_words(facts)
    }
}
