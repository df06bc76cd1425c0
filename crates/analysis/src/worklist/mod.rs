//! What a study of work lists shows beside its commands' quantities: seconds per item by number of jobs,
//! the ratios of one number of jobs to the next, of both threads to one, and what the end of the list
//! costs. Pure.
//!
//! Ratios are ratios of speed: the inverse of those of seconds per item, whose logarithms they share, so
//! that 1.83x is what the published table of a backup and restore calls the step from 1 to 2.

pub(crate) mod items;
pub(crate) mod jobs;
pub(crate) mod schedule;
pub(crate) mod series;
mod types;

#[cfg(test)]
mod tests;

pub use types::{Bar, Computed, ITEM_S, Pair, Point, Series, Step, Timeline, Worklist};

use crate::Analysis;
use crate::estimate::Observed;
use crate::setting::Setting;
use threadwise_study::worklist::{WORKLOAD, WorklistOptions};
use threadwise_study::{Role, Run, Study};

/// Puts what work lists say into an analysis that has what commands say.
pub(crate) fn add(analysis: &mut Analysis, setting: &Setting<'_>, observed: &Observed, runs: &[Run]) {
    let study = setting.study;
    let Some(commands) = analysis.commands.as_ref().filter(|_| study.workload == WORKLOAD) else { return };
    let mut series = series::series(analysis, commands, setting, observed, runs);
    let pairs = series::pairs(study, &analysis.estimates);
    if pairs.iter().any(|pair| pair.kind == "schedule") {
        // What was run needs no computing.
        series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.computed.clear());
    }
    let all: Vec<usize> = (0..study.treatments.len()).collect();
    let recorded = items::Runs::of(observed, runs, &all).items();
    let timelines = all
        .into_iter()
        .filter(|at| study.treatments[*at].role != Role::BaselineTwin)
        .filter_map(|at| items::Runs::of(observed, runs, &[at]).timeline())
        .collect();
    let items = recorded.or_else(|| items::asked(study));
    analysis.worklist = Some(Worklist { recipe: recipe(study), items, series, pairs, timelines });
}

/// The recipe of all treatments, which is the same for all.
fn recipe(study: &Study) -> String {
    let read = study.treatments.first().map(|first| WorklistOptions::read(&first.options));
    read.and_then(Result::ok).map_or_else(String::new, |read| read.recipe)
}
