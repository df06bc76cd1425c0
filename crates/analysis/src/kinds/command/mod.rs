//! Commands: every run is a whole command; compared are elapsed time, CPU, memory and metrics of its output.

pub mod findings;
pub mod sections;

use crate::Facts;
use crate::commands::{Commands as Found, SAID};
use crate::estimate::{ROWS_PER_JOULE, THROUGHPUT};
use crate::findings::trust;
use crate::kind::Kind;
use crate::parts::Parts;
use crate::workload::Nouns;
use threadwise_document::chart::ChartWords;
use threadwise_document::{Prose, Section, prose};
use threadwise_study::Study;

/// The kind.
pub struct Commands;

/// Words for whole runs.
pub const NOUNS: Nouns = Nouns {
    rate: "runs/s",
    rate_in_full: "Runs per second",
    cpu: "CPU/run",
    row: "run",
    session: "process",
    sessions: "processes",
    noun: "runs",
    noun_one: "run",
    causes: "clocks and caches",
};

impl Kind for Commands {
    fn is(&self, study: &Study) -> bool {
        study.runs_whole()
    }

    fn nouns(&self, _study: &Study) -> Nouns {
        NOUNS
    }

    /// `runs_per_s`, `cpu_ns_per_run`; a metric of a command's output keeps the name that its user gave it.
    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        match (metric.strip_suffix("_per_row"), metric.strip_prefix(THROUGHPUT)) {
            _ if metric.starts_with(SAID) => metric.to_owned(),
            (Some(what), _) => format!("{what}_per_run"),
            _ if metric == ROWS_PER_JOULE => "runs_per_joule".to_owned(),
            (None, Some(rest)) => format!("runs_per_s{}", rest.replace("session", "process")),
            (None, None) => metric.to_owned(),
        }
    }

    fn turn(&self, _facts: &Facts<'_>) -> String {
        "runs its command once, to the end".to_owned()
    }

    fn method(&self, _facts: &Facts<'_>) -> Vec<Prose> {
        vec![method("command")]
    }

    fn scope(&self, study: &Study) -> Option<String> {
        Some(findings::scope(study))
    }

    fn comparable(&self) -> &'static str {
        "Ratios may be compared side by side: each is of a command to itself. Times and metrics may be compared only where \
         command, input and machine are the same."
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        let Some(found) = measured(facts) else { return trust::nothing_found(facts, self) };
        Parts {
            validity: trust::validity(facts).into_iter().collect(),
            found: findings::commands(facts, found),
            limits: vec![trust::trust(facts), trust::scope(facts, self, &[])],
            ..Parts::default()
        }
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        facts.analysis.commands.as_ref().map_or_else(Vec::new, |found| sections::answers(facts, found))
    }

    fn tables(&self, facts: &Facts<'_>) -> Vec<Section> {
        facts
            .analysis
            .commands
            .as_ref()
            .map(|found| sections::all_treatments(facts, found))
            .into_iter()
            .collect()
    }

    fn chart_words(&self, _facts: &Facts<'_>) -> ChartWords {
        ChartWords { rate: "s", ratio: "ratio", slice: "elapsed, s", sessions: NOUNS.sessions }
    }
}

/// The findings, if any block is usable.
pub fn measured<'a>(facts: &Facts<'a>) -> Option<&'a Found> {
    facts.analysis.commands.as_ref().filter(|_| facts.analysis.blocks > 0)
}

/// The method if the work is runs of a command, or of a list of them.
pub fn method(what: &str) -> Prose {
    prose!(
        "A run of the {} is a whole run, so a block has one number for each treatment and two for the baseline, whose \
         logarithms are averaged, also in the baseline's own figures. The ratios of the headline are one family for \
         Holm's method; those of all other quantities together are another. Each quantity has its own noise floor. A \
         number of 0 or less has no ratio, and then the whole comparison has none, since leaving out the block would \
         leave out just the small values.",
        what
    )
}
