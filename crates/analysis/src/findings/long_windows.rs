//! That long windows show what slices do not: a ratio that differs, and stalls that they met.

use super::order::name;
use crate::long_windows::{LongTreatment, LongWindows, RatioBy, Stalls};
use crate::words::{finding, share};
use crate::{Facts, Finding};
use threadwise_document::{Prose, numbers, prose};

/// Both, as far as there is something to say.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(long) = &facts.analysis.long_windows else { return Vec::new() };
    [disagreement(facts, long), stalls(facts, long)].into_iter().flatten().collect()
}

/// A ratio by long windows that is shown to differ from that by slices.
fn disagreement(facts: &Facts<'_>, long: &LongWindows) -> Option<Finding> {
    let different = long.different();
    let (largest, by) = different.first()?;
    let mut text = prose!(
        "Long windows disagree with slices: of {}, windows of {} give a ratio to the baseline {} of that by slices, {} \
         beside {}",
        name(facts, &largest.treatment),
        Prose::figure(numbers::nanoseconds(long.window_ns as f64)),
        adjusted(by),
        &by.by_long_windows,
        &by.by_slices
    );
    if let more @ 1.. = different.len() - 1 {
        text.push(prose!(" (and for {} more)", numbers::counted(more, "treatment")));
    }
    text.push("; what lasts longer than a slice is in the long windows alone.");
    Some(finding("long-windows", text, &[&largest.treatment]))
}

/// The difference with the interval that decided: the largest of several is named.
fn adjusted(by: &RatioBy) -> Prose {
    let mut difference = by.difference.clone();
    (difference.low, difference.high) = (difference.holm_low, difference.holm_high);
    prose!("of {}", &difference)
}

/// What was met in the treatment whose sessions spent most of their time in steps longer than a slice, where that is more
/// than the margin. It is a count, and no claim about other windows.
fn stalls(facts: &Facts<'_>, long: &LongWindows) -> Option<Finding> {
    let known = |one| stalled(one, facts.study.design.margin);
    let met: Vec<(&LongTreatment, Stalls)> = long.treatments.iter().filter_map(known).collect();
    let (most, stalls) = met.iter().max_by(|(_, one), (_, other)| one.share.total_cmp(&other.share))?;
    let time = |ns: u64| Prose::figure(numbers::nanoseconds(ns as f64));
    let mut text = prose!(
        "Stalls: in {} of long windows, {} of {} took longer than a slice ({}), the longest {}; its sessions spent {} of \
         their time in them",
        time(stalls.windows_ns),
        numbers::counted(stalls.steps as usize, "step"),
        name(facts, &most.treatment),
        time(facts.study.design.slice_ns),
        time(stalls.longest_ns),
        share(stalls.share)
    );
    if let more @ 1.. = met.len() - 1 {
        text.push(prose!(" (and so did those of {} more)", more));
    }
    text.push(".");
    Some(finding("stalls", text, &[&most.treatment]))
}

fn stalled(one: &LongTreatment, margin: f64) -> Option<(&LongTreatment, Stalls)> {
    one.stalls.filter(|stalls| stalls.steps > 0 && stalls.share > margin).map(|stalls| (one, stalls))
}
