//! Long windows of a study, and their number: from the file, the command line and the available time.

use super::overrides::Overrides;
use super::rows;
use super::source::{LoadError, StudyFile};
use crate::plan::long::MOST_BLOCKS;
use crate::study::LongWindows;
use crate::{Stopping, Study};

/// Default length, seconds.
const WINDOW_S: f64 = 10.0;
/// Default minimum of windows of a treatment: two hardly give an interval.
const LEAST: u32 = 3;
/// Default maximum of windows of a treatment.
const MOST: u32 = 30;
/// Shortest study that has long windows by default, seconds.
const LONG_STUDY_S: f64 = 600.0;
/// Share of a budget for long windows, where that gives more than the minimum.
const USUAL_SHARE: f64 = 1.0 / 6.0;
/// If the minimum takes more than this share of a budget, long windows are left out unless requested.
const MOST_SHARE: f64 = 0.5;

/// Estimated seconds for the study's long windows; the factor covers the time between them.
pub(super) fn needed_s(study: &Study, factor: f64) -> f64 {
    let blocks = study.design.long_windows.map_or(0, |long| long.blocks);
    f64::from(blocks) * study.long_block_floor_s() * factor
}

/// Adds long windows to the study.
///
/// # Errors
/// Long windows are requested, but the study cannot have them.
pub(super) fn settle(study: &mut Study, file: &StudyFile, overrides: &Overrides) -> Result<(), LoadError> {
    let design = &file.definition.design;
    let refused = |why: String| match design.long_windows.filter(|_| overrides.long_windows.is_none()) {
        Some(_) => file.source.at(&["design", "long_windows"], format!("long_windows: {why}")),
        None => LoadError::option("--long-windows", why),
    };
    let asked = overrides.long_windows.or(design.long_windows);
    match asked {
        Some(0) => return Ok(()),
        // A boot has slices alone, so that all boots of an arm are alike.
        None if study.external.is_some() => return Ok(()),
        Some(blocks) if blocks > MOST_BLOCKS => {
            return Err(refused(format!("{blocks} windows; 0 to {MOST_BLOCKS} are allowed")));
        }
        _ => {}
    }
    let window_ns = (design.long_window_s.unwrap_or(WINDOW_S) * 1e9).round() as u64;
    match (impossible(study, window_ns), asked) {
        (Some(why), Some(_)) => Err(refused(why)),
        (Some(_), None) => Ok(()),
        (None, _) => {
            give(study, asked, window_ns);
            if asked.is_none() {
                rows::without_long_windows(study, overrides);
            }
            Ok(())
        }
    }
}

/// Why a study cannot have long windows.
fn impossible(study: &Study, window_ns: u64) -> Option<String> {
    if study.is_fixed_work() {
        return Some(
            "sessions do a fixed amount of work, so their windows are as long as it takes".to_owned(),
        );
    }
    if study.quota.is_some() {
        return Some("a CPU quota would throttle them: it saves up nothing for so long".to_owned());
    }
    let (long_s, slice_s) = (window_ns as f64 / 1e9, study.design.slice_ns as f64 / 1e9);
    (window_ns <= study.design.slice_ns)
        .then(|| format!("windows of {long_s} s are no longer than slices of {slice_s} s"))
}

fn give(study: &mut Study, asked: Option<u32>, window_ns: u64) {
    let length_s = match study.design.stopping {
        Stopping::Budget { budget_s } => budget_s,
        Stopping::Blocks { blocks } => f64::from(blocks) * study.block_floor_s(),
        // The study may end long before its budget.
        Stopping::Until { .. } => 0.0,
    };
    let block_s = study.treatments.len() as f64 * window_ns as f64 / 1e9;
    let usual = ((USUAL_SHARE * length_s / block_s) as u32).clamp(LEAST, MOST);
    let blocks = match asked {
        Some(blocks) => blocks,
        None if length_s < LONG_STUDY_S => return,
        None if f64::from(LEAST) * block_s > MOST_SHARE * length_s => {
            let seconds = f64::from(LEAST) * block_s;
            study.left_out.push(format!(
                "long windows: {LEAST} of each treatment take {seconds} s, more than half of the study; \
                 --long-windows {LEAST} asks for them"
            ));
            return;
        }
        None => usual,
    };
    study.design.long_windows = Some(LongWindows { blocks, window_ns });
}
