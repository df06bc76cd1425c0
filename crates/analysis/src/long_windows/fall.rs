//! Whether the rate changes within long windows, as a turbo clock with a limit would have it.
//!
//! Source of the family: `estimate::change`.

use super::windows::Windows;
use crate::estimate::{Change, paired};
use threadwise_study::plan::long::PIECES;
use threadwise_study::{Slice, Study};

/// Pieces at the end of a window whose mean is compared with the first one.
const LAST: usize = 3;

/// Of each treatment, in study order; `None` where no window has pieces.
pub fn falls(study: &Study, windows: &Windows<'_>, alpha: f64) -> Vec<Option<Change>> {
    let series: Vec<Vec<f64>> =
        (0..study.treatments.len()).map(|at| windows.of(at).filter_map(change).collect()).collect();
    paired(&series, &[], alpha).into_iter().map(|one| one.map(Change::ratio)).collect()
}

/// Logarithm of the mean rate of the last pieces over that of the first; `None` where a session has no pieces, or where
/// nothing was done in them.
fn change(window: &Slice) -> Option<f64> {
    let pieces = PIECES as usize;
    let is_counted = |rows: &Vec<u64>| rows.len() == pieces;
    if window.sessions.is_empty() || !window.sessions.iter().all(|one| is_counted(&one.rows_by_piece)) {
        return None;
    }
    let rows = |piece: usize| window.sessions.iter().map(|one| one.rows_by_piece[piece] as f64).sum::<f64>();
    let last = (pieces - LAST..pieces).map(rows).sum::<f64>() / LAST as f64;
    Some((last / rows(0)).ln()).filter(|change| change.is_finite())
}
