//! Kinds of workload: what a report asks of each.

use crate::{Facts, Finding, FindingKind};
use threadwise_document::chart::ChartWords;
use threadwise_document::{Fact, Prose, Section, numbers};
use threadwise_study::{Design, Study};

/// A kind of workload. Every kind fills the same places of a report, so that all are read in the same way.
pub trait Kind: Sync {
    /// A metric's name as people and programs read it.
    fn metric_name(&self, _study: &Study, metric: &str) -> String {
        metric.to_owned()
    }

    /// The study's heading.
    fn title(&self, study: &Study) -> String {
        if study.title.is_empty() { study.name.clone() } else { study.title.clone() }
    }

    /// Text below the heading with engine and workload, such as the size of the data.
    fn about(&self, _facts: &Facts<'_>) -> Option<String> {
        None
    }

    /// The noise floor shown with the verdict, of the group where it is widest; `None` if unknown.
    fn floor(&self, facts: &Facts<'_>) -> Option<Fact> {
        let widest = facts.widest_floor().filter(|widest| widest.floor.is_finite())?;
        let name = facts.common_baseline();
        Some(Fact {
            name: "noise floor".to_owned(),
            value: format!("±{}", numbers::percent(widest.floor.exp_m1())),
            note: format!("{name} against {name}"),
        })
    }

    /// What a treatment does in a round, to follow `every treatment`.
    fn turn(&self, facts: &Facts<'_>) -> String {
        turn(&facts.study.design, facts.study.is_fixed_work())
    }

    /// Paragraphs about its method that other kinds do not have.
    fn method(&self, _facts: &Facts<'_>) -> Vec<Prose> {
        Vec::new()
    }

    /// Why a run does not count, as displayed.
    fn reason(&self, message: &str) -> String {
        message.to_owned()
    }

    /// Its rows and what was run, for the verdict's scope, if its findings do not say so.
    fn scope(&self, study: &Study) -> Option<String> {
        study.workload.known().unit.map(str::to_owned)
    }

    /// What may be compared between studies side by side, and what may not.
    fn comparable(&self) -> &'static str {
        COMPARABLE
    }

    /// Its findings, in the places of a verdict.
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding>;

    /// The kind of the finding that answers the study's question; `None`: the first answer.
    fn lead(&self, _facts: &Facts<'_>) -> Option<FindingKind> {
        None
    }

    /// The sections that answer its question: they come first.
    fn answers(&self, facts: &Facts<'_>) -> Vec<Section>;

    /// Every figure of every treatment, after what all studies show.
    fn tables(&self, facts: &Facts<'_>) -> Vec<Section>;

    /// Titles of the axes of charts.
    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords;
}

/// What may be compared between studies, even of different kinds.
pub const COMPARABLE: &str = "Ratios may be compared side by side: each is of an engine to itself. Rows per second are not: \
     each engine's rows are its own work.";

/// What a treatment of sessions does in a round.
fn turn(design: &Design, is_fixed_work: bool) -> String {
    let nanoseconds = |ns: u64| numbers::nanoseconds(ns as f64);
    let slice = nanoseconds(design.slice_ns);
    let Some(rewarm) = design.rewarm_ns.map(nanoseconds) else {
        return format!("gets one slice of {slice} after a warm-up whose length was measured for it");
    };
    match is_fixed_work {
        true => format!(
            "does its fixed amount of work once, after {rewarm} of re-warming and within {slice}: elapsed is the time from \
             the common start to the end of the last session"
        ),
        false => format!("gets one slice of {slice} after {rewarm} of re-warming"),
    }
}
