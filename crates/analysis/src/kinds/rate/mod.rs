//! Work at a rate: cached reads, inserts, sweeps of sessions, and whatever no other kind takes.

mod findings;
mod growth;
pub mod sections;

use crate::Facts;
use crate::findings::trust;
use crate::kind::Kind;
use crate::parts::Parts;
use crate::workload::{Nouns, reads_cached};
use threadwise_document::Section;
use threadwise_document::chart::ChartWords;
use threadwise_study::{Options, Study, transaction};

/// The kind.
pub struct Rates;

/// What it calls its work.
pub(super) const NOUNS: Nouns = Nouns {
    rate: "rows/s",
    rate_in_full: "Rows per second",
    cpu: "CPU/row",
    row: "row",
    session: "session",
    sessions: "sessions",
    noun: "rows",
    noun_one: "row",
    causes: "clocks and caches",
};

fn inserts(study: &Study) -> bool {
    study.workload == "insert"
}

fn is_users_transaction(study: &Study) -> bool {
    study.workload == transaction::WORKLOAD
}

impl Kind for Rates {
    fn is(&self, _study: &Study) -> bool {
        true
    }

    fn nouns(&self, study: &Study) -> Nouns {
        match study {
            _ if reads_cached(study) => Nouns { noun: "reads", noun_one: "read", ..NOUNS },
            // Commits of several sessions may wait for one flush of the log together.
            _ if inserts(study) => Nouns {
                noun: "inserts",
                noun_one: "inserted row",
                causes: "shared flushes, clocks and caches",
                ..NOUNS
            },
            _ if is_users_transaction(study) => Nouns {
                rate: "transactions/s",
                rate_in_full: "Transactions per second",
                cpu: "CPU/transaction",
                row: "transaction",
                noun: "transactions",
                noun_one: "transaction",
                ..NOUNS
            },
            _ => NOUNS,
        }
    }

    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    fn scope(&self, study: &Study) -> Option<String> {
        let text = match study {
            _ if reads_cached(study) => "reads are rows read from the engine's cache",
            _ if inserts(study) => "inserts are rows of committed transactions",
            _ if is_users_transaction(study) => {
                "transactions are the user's own, and their answers were not checked"
            }
            _ => return None,
        };
        // Only what was asked for everywhere: a factor's levels are reported as such.
        let all = |name: &str, value: &str| {
            let is_so = |options: &Options| options.get(name).is_some_and(|set| set.to_string() == value);
            !study.treatments.is_empty() && study.treatments.iter().all(|one| is_so(&one.options))
        };
        let relaxed = all("durability", "relaxed").then_some(", commits do not wait for the disk");
        let unlogged = all("table", "unlogged").then_some(", a crash may empty the table");
        Some([Some(text), relaxed, unlogged].into_iter().flatten().collect())
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        match facts.throughput().next() {
            Some(_) => findings::rates(facts, self),
            None => trust::nothing_found(facts, self),
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        sections::answers(facts, self)
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        vec![sections::all_treatments(facts, &self.nouns(facts.study))]
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        let rate = self.nouns(facts.study).rate;
        let ratio = match is_users_transaction(facts.study) {
            true => "ratio of transactions/s",
            false => "ratio of rows/s",
        };
        ChartWords { rate, ratio, slice: rate, sessions: NOUNS.sessions }
    }
}
