//! Whether a study is valid as a whole: which of its runs count, and whether every treatment has data. One rule for the
//! verdict's first line and for the program's exit code (docs/EXIT-CODES.md).

use crate::estimate::first_reason;
use crate::external_arms::ExternalArms;
use crate::queries::short_reason;
use crate::words::shortened;
use crate::{Analysis, TreatmentSummary};
use threadwise_document::numbers::counted;

/// Largest share of runs that may fail or be left out. Above it the remaining runs may differ from the missing ones:
/// runs that fail are seldom a random sample of all.
pub const MAX_LOST_SHARE: f64 = 0.1;

/// Longest reason of a treatment without data; the JSON report has the whole.
const MAX_REASON: usize = 80;

/// What is wrong with a study, in one sentence without its full stop; `None` if every treatment has data and at most
/// [`MAX_LOST_SHARE`] of all runs failed or were left out.
pub fn problem(analysis: &Analysis) -> Option<String> {
    let counts = Counts::of(analysis);
    let missing = without_data(analysis);
    let parts = [
        counts.are_too_few().then(|| {
            let failed = (counts.failed > 0).then(|| format!("{} failed", counts.failed));
            let be = if counts.excluded == 1 { "was" } else { "were" };
            let excluded = (counts.excluded > 0).then(|| format!("{} {be} left out", counts.excluded));
            let lost: Vec<String> = [failed, excluded].into_iter().flatten().collect();
            format!("of {} {}, more than a tenth", counted(counts.all() as usize, "run"), lost.join(" and "))
        }),
        (!missing.is_empty()).then(|| format!("no data for {}", shortened(&missing))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Runs of all treatments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Runs that count.
    pub used: u32,
    /// Runs that failed.
    pub failed: u32,
    /// Runs left out as invalid, or because their block's baseline was not usable.
    pub excluded: u32,
}

impl Counts {
    /// Those of an analysis.
    pub fn of(analysis: &Analysis) -> Self {
        let sum = |count: fn(&TreatmentSummary) -> u32| analysis.treatments.iter().map(count).sum();
        Self {
            used: sum(|summary| summary.runs),
            failed: sum(|summary| summary.failed),
            excluded: sum(|summary| summary.excluded),
        }
    }

    /// All of them.
    pub fn all(self) -> u32 {
        self.used + self.failed + self.excluded
    }

    fn are_too_few(self) -> bool {
        f64::from(self.failed + self.excluded) > MAX_LOST_SHARE * f64::from(self.all())
    }
}

/// Treatments without a usable run, each with the first reason, except those that no external arm has had so far:
/// another arm may have them.
fn without_data(analysis: &Analysis) -> Vec<String> {
    let is_for_later = |treatment: &TreatmentSummary| {
        analysis.get::<ExternalArms>().is_some() && treatment.failed + treatment.excluded == 0
    };
    let without =
        analysis.treatments.iter().filter(|treatment| treatment.runs == 0 && !is_for_later(treatment));
    without
        .map(|treatment| {
            let reason = first_reason(&analysis.excluded_blocks, &treatment.name, &treatment.group);
            let reason = short_reason(reason.unwrap_or("no run is finished"), MAX_REASON);
            format!("{} ({reason})", treatment.name)
        })
        .collect()
}
