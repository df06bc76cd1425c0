//! One place per kind of workload: what it calls its work, what it finds, and the sections that show it. A new kind
//! is a folder here and a line in [`KINDS`].

pub mod command;
pub mod queries;
pub mod rate;
pub mod worklist;

use crate::Facts;
use crate::findings::Parts;
use crate::sections::method;
use threadwise_document::chart::ChartWords;
use threadwise_document::{Fact, Prose, Section};
use threadwise_study::Study;

/// What a workload calls its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nouns {
    /// Unit of throughput, as a column heading.
    pub rate: &'static str,
    /// The same in full, at the start of a sentence.
    pub rate_in_full: &'static str,
    /// Unit of CPU cost, as a column heading.
    pub cpu: &'static str,
    /// One unit of work.
    pub row: &'static str,
    /// One that works.
    pub session: &'static str,
    /// Several.
    pub sessions: &'static str,
    /// What its rows are to people, many of them: `reads`.
    pub noun: &'static str,
    /// One of them: `inserted row`, as in "CPU per inserted row".
    pub noun_one: &'static str,
    /// What more than linear scaling can come from.
    pub causes: &'static str,
}

/// A kind of workload. Every kind fills the same places of a report, so that all are read in the same way.
pub trait Kind: Sync {
    /// Whether a study is of this kind. The first of [`KINDS`] that says so is taken.
    fn is(&self, study: &Study) -> bool;

    /// What it calls its work.
    fn nouns(&self, study: &Study) -> Nouns;

    /// A metric's name as people and programs read it.
    fn metric_name(&self, study: &Study, metric: &str) -> String;

    /// The study's heading.
    fn title(&self, study: &Study) -> String {
        if study.title.is_empty() { study.name.clone() } else { study.title.clone() }
    }

    /// What stands below the heading beside engine and workload, such as the size of the data.
    fn about(&self, _facts: &Facts<'_>) -> Option<String> {
        None
    }

    /// The noise floor beside the verdict; `None` where it is not known.
    fn floor(&self, facts: &Facts<'_>) -> Option<Fact>;

    /// What a treatment does in a round, to stand behind `every treatment`.
    fn turn(&self, facts: &Facts<'_>) -> String {
        method::turn(&facts.study.design, facts.study.is_fixed_work())
    }

    /// What its method has that others have not, a paragraph each.
    fn method(&self) -> Vec<Prose> {
        Vec::new()
    }

    /// Why a run does not count, as it is shown.
    fn reason(&self, message: &str) -> String {
        message.to_owned()
    }

    /// What its rows are and what was run, for the verdict's scope, where its findings do not say so.
    fn scope(&self, _study: &Study) -> Option<String> {
        None
    }

    /// What may be compared of several studies side by side, and what may not.
    fn comparable(&self) -> &'static str {
        COMPARABLE
    }

    /// What it finds, in the places of a verdict.
    fn findings(&self, facts: &Facts<'_>) -> Parts;

    /// The sections that answer its question: they come first.
    fn answers(&self, facts: &Facts<'_>) -> Vec<Section>;

    /// Every figure of every treatment: behind what all studies show.
    fn tables(&self, facts: &Facts<'_>) -> Vec<Section>;

    /// Words on the axes of charts.
    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords;
}

/// What may be compared of studies that differ in kind, too.
pub const COMPARABLE: &str = "Ratios may be compared side by side: each is of an engine to itself. Rows per second are not: \
     each engine's rows are its own work.";

/// All kinds; the last one takes what no other does.
pub const KINDS: [&dyn Kind; 4] = [&worklist::Worklists, &command::Commands, &queries::Queries, &rate::Rates];

/// The kind of a study.
pub fn of(study: &Study) -> &'static dyn Kind {
    KINDS.into_iter().find(|kind| kind.is(study)).unwrap_or(&rate::Rates)
}
