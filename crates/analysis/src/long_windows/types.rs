//! What is known of long windows, as JSON has it (docs/JSON.md).

use crate::Ratio;
use crate::estimate::Change;
use serde::Serialize;

/// Long windows of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongWindows {
    /// Length of a window.
    pub window_ns: u64,
    /// Windows of each treatment that were planned.
    pub planned: u32,
    /// Blocks of long windows in which the baseline of at least one group was usable.
    pub blocks: u32,
    /// In study order.
    pub treatments: Vec<LongTreatment>,
    /// Windows that were left out and why, one line each.
    pub left_out: Vec<String>,
}

impl LongWindows {
    /// Treatments of which long windows are shown to differ from slices, by more than the margin or by how much is open;
    /// the largest difference first.
    pub fn different(&self) -> Vec<(&LongTreatment, &RatioBy)> {
        let all = self.treatments.iter().filter_map(|one| Some((one, one.compared.as_ref()?)));
        let mut found: Vec<_> =
            all.filter(|(_, by)| by.difference.is_different() && !by.difference.is_same()).collect();
        let size = |by: &RatioBy| by.difference.value.ln().abs();
        found.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        found
    }
}

/// The long windows of one treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongTreatment {
    /// The treatment.
    pub treatment: String,
    /// Windows that are usable.
    pub windows: u32,
    /// Its ratio to the baseline by long windows and by slices; `None` of a baseline, and where one of them is not known.
    #[serde(flatten)]
    pub compared: Option<RatioBy>,
    /// Steps longer than a slice; `None` where the engine has no latencies of steps.
    pub stalls: Option<Stalls>,
    /// The rate of the last three tenths of a window over that of its first tenth, windows as units, all treatments judged
    /// together; `None` where rows were not counted by piece.
    pub fall: Option<Change>,
    /// Whether the rate is shown to change by more than the margin within a window.
    pub changes: bool,
}

/// A ratio to the baseline by long windows and by slices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatioBy {
    /// By long windows; an estimate without a family, so that its answer is its own.
    #[serde(serialize_with = "Ratio::judged")]
    pub by_long_windows: Ratio,
    /// By slices.
    #[serde(serialize_with = "Ratio::judged")]
    pub by_slices: Ratio,
    /// The first over the second. All treatments are judged together.
    #[serde(serialize_with = "Ratio::judged")]
    pub difference: Ratio,
    /// Change from slices to long windows, as a fraction, that would have been found in four of five studies like
    /// this; `None` with fewer than two long windows.
    pub detectable: Option<f64>,
}

/// Steps of a treatment's long windows that took longer than a slice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stalls {
    /// How many.
    pub steps: u64,
    /// Share of the time of its sessions that passed in them.
    pub share: f64,
    /// The longest step of all, whether longer than a slice or not.
    pub longest_ns: u64,
    /// 99th percentile of all steps.
    pub p99_ns: u64,
    /// Time of all windows together, nanoseconds.
    pub windows_ns: u64,
}
