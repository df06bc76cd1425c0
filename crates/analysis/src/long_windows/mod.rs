//! Long windows beside slices: ratios by both, whether they differ, stalls, and whether rates fall within a window.
//!
//! A slice loses at most its own length to a stall, and ends before a turbo clock's limit begins. In each block of long
//! windows the ratio of a treatment to its baseline is one number; Student's t over such blocks, and the difference to
//! the ratio by slices, which are other blocks (docs/METHODOLOGY.md, "Long windows").

mod compared;
mod fall;
mod stalls;
mod types;
mod windows;

#[cfg(test)]
mod tests;

pub use compared::{difference, differences};
pub use types::{Fall, LongTreatment, LongWindows, RatioBy, Stalls};

use crate::estimate::{THROUGHPUT, standard_error};
use crate::statistics::MeanEstimate;
use crate::{Analysis, Direction, Estimate, estimate::Rule};
use threadwise_study::{Role, Run, Study};
use windows::Windows;

/// What long windows show, beside an analysis of the slices of the same study; `None` in a study without.
///
/// `alpha_share` is as in [`crate::analyse`].
pub fn long_windows(
    study: &Study,
    analysis: &Analysis,
    long_runs: &[Run],
    alpha_share: f64,
) -> Option<LongWindows> {
    let design = study.design.long_windows?;
    let alpha = (1.0 - study.design.level) * alpha_share;
    let windows = Windows::new(study, long_runs);
    let rule = Rule { margin: study.design.margin, alpha, direction: Direction::HigherIsBetter };
    let mut compared = compared::compared(study, analysis, &windows, rule);
    let mut falls = fall::falls(study, &windows, alpha);
    let slice_ns = study.design.slice_ns;
    let treatments = study.treatments.iter().enumerate().map(|(at, treatment)| LongTreatment {
        treatment: treatment.name.clone(),
        windows: windows.of(at).count() as u32,
        compared: compared[at].take(),
        stalls: stalls::stalls(windows.of(at), slice_ns),
        fall: falls[at].take(),
    });
    Some(LongWindows {
        window_ns: design.window_ns,
        planned: design.blocks,
        blocks: windows.usable_blocks(study),
        treatments: treatments.collect(),
        left_out: windows.left_out.clone(),
    })
}

/// The ratio of each treatment to its baseline by slices, as a mean of logarithms.
fn by_slices(analysis: &Analysis, treatment: &str) -> Option<MeanEstimate> {
    let is_it = |estimate: &&Estimate| {
        estimate.kind == "baseline" && estimate.treatment == treatment && estimate.metric == THROUGHPUT
    };
    let ratio = &analysis.estimates.iter().find(is_it)?.ratio;
    Some(MeanEstimate {
        n: ratio.blocks as usize,
        mean: ratio.value.ln(),
        standard_error: standard_error(ratio)?,
        correlation: 0.0,
        degrees: f64::from(ratio.blocks) - 1.0,
    })
}

/// Treatments of a group with a role.
fn with_role(study: &Study, group: &str, role: Role) -> Vec<usize> {
    let all = study.treatments.iter().enumerate();
    all.filter(|(_, one)| one.group == group && one.role == role).map(|(at, _)| at).collect()
}
