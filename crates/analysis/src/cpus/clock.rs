//! Whether the clock of the busy logical CPUs differs between treatments, paired by block.
//!
//! Only the processor's own counters are taken: cpufreq's figure may be the clock that was asked for. Method:
//! `estimate::change`; docs/METHODOLOGY.md, "Clock and power of each treatment".

use super::types::ClockChange;
use crate::estimate::member::sides;
use crate::estimate::{Change, Digest, Observed, paired};
use crate::setting::Setting;

/// How far the clock may be from the same in any of the comparisons, in logarithms: the furthest end of their adjusted
/// intervals, which hold together. `None` without a comparison.
pub fn furthest<'a>(ratios: impl Iterator<Item = &'a Change>) -> Option<f64> {
    ratios.map(|one| one.adjusted_low.ln().abs().max(one.adjusted_high.ln().abs())).reduce(f64::max)
}

/// Whether the clock is shown to differ by what may be more than a margin, in logarithms.
pub fn differs(ratio: &Change, margin: f64) -> bool {
    ratio.shown && furthest(std::iter::once(ratio)).is_some_and(|reach| reach > margin)
}

/// One entry for each comparison whose sides both have a clock, judged together.
pub(super) fn changes(setting: &Setting<'_>, observed: &Observed) -> Vec<ClockChange> {
    let study = setting.study;
    let log = |run: &Digest| run.telemetry.counted_mhz.map(f64::ln);
    let compared: Vec<_> = study
        .comparisons
        .iter()
        .filter_map(|comparison| {
            let (top, below) = sides(study, comparison)?;
            let series = observed.differences(top, &below, &log);
            (!series.d.is_empty()).then_some((comparison, series.d))
        })
        .collect();
    let series: Vec<Vec<f64>> = compared.iter().map(|(_, d)| d.clone()).collect();
    let twins: Vec<Vec<f64>> = observed
        .twins(study)
        .into_iter()
        .map(|(twin, base)| observed.differences(twin, &[base], &log).d)
        .collect();
    let judged = paired(&series, &twins, setting.alpha);
    let changes = compared.into_iter().zip(judged).filter_map(|((comparison, _), one)| {
        Some(ClockChange {
            comparison: comparison.name.clone(),
            treatment: comparison.treatment.clone(),
            baseline: comparison.baseline.join(" and "),
            ratio: one?.ratio(),
        })
    });
    changes.collect()
}
