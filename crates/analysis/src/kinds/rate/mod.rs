//! Work at a rate: cached reads, inserts, sweeps of sessions, and whatever no other kind takes.

pub mod sections;

use super::{Kind, Nouns, command};
use crate::Facts;
use crate::findings::{self, Parts, trust};
use threadwise_document::chart::ChartWords;
use threadwise_document::{Fact, Section};
use threadwise_study::Study;

/// The kind.
pub struct Rates;

const NOUNS: Nouns = Nouns {
    rate: "rows/s",
    rate_in_full: "Rows per second",
    cpu: "CPU/row",
    row: "row",
    session: "session",
    sessions: "sessions",
};

impl Kind for Rates {
    fn is(&self, _study: &Study) -> bool {
        true
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        NOUNS
    }

    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    fn floor(&self, facts: &Facts<'_>) -> Option<Fact> {
        command::floor(facts)
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        match facts.throughput().next() {
            Some(_) => findings::rates(facts),
            None => trust::nothing_found(facts),
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        sections::answers(facts)
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        vec![sections::all_treatments(facts)]
    }

    fn chart_words(&self, _facts: &Facts<'_>) -> ChartWords {
        ChartWords { rate: NOUNS.rate, ratio: "ratio of rows/s", slice: NOUNS.rate, sessions: NOUNS.sessions }
    }
}
