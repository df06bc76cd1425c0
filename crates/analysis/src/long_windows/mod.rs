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
pub use types::{LongTreatment, LongWindows, RatioBy, Stalls};

use crate::estimate::{Change, Rule};
use crate::{Analysis, Direction};
use threadwise_study::{Run, Study};
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
    let is_beyond = |fall: &Change| fall.is_beyond(study.design.margin);
    let treatments = study.treatments.iter().enumerate().map(|(at, treatment)| LongTreatment {
        treatment: treatment.name.clone(),
        windows: windows.of(at).count() as u32,
        compared: compared[at].take(),
        stalls: stalls::stalls(windows.of(at), slice_ns),
        changes: falls[at].as_ref().is_some_and(is_beyond),
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
