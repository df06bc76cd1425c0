//! What ratios would have been had nobody lost CPU time, where that is known better than what they were.

use crate::words::{MAX_LISTED, finding};
use crate::{Estimate, Facts, Finding};
use threadwise_document::{Prose, numbers, prose};

/// The ratios whose sides may have lost more CPU time than each other by more than the margin. They are not chosen by how narrow their adjusted
/// interval is: of those that come out narrow by chance fewer intervals hold.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let is_moved = |estimate: &&Estimate| {
        let margin = estimate.ratio.margin;
        estimate.ratio.has_ends()
            && estimate.adjusted.is_some_and(|adjusted| {
                adjusted.cpu_share_ratio_low < 1.0 / (1.0 + margin)
                    || adjusted.cpu_share_ratio_high > 1.0 + margin
            })
    };
    let found: Vec<&Estimate> = facts.throughput().filter(is_moved).collect();
    let sentences = found.iter().take(MAX_LISTED).filter_map(|estimate| sentence(facts, estimate));
    let all = Prose::join(sentences, "; ");
    let evidence: Vec<&str> = found.iter().map(|estimate| estimate.name.as_str()).collect();
    let more = match found.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("; {more} more in the report"),
    };
    let text = prose!("Had sessions lost no CPU time to the hypervisor and others: {}{}.", all, more);
    (!found.is_empty()).then(|| finding("lost-cpu", text, &evidence))
}

/// `same-package to alone 1.98x [1.88, 2.09] instead of 1.91x [1.75, 2.08]`.
fn sentence(facts: &Facts<'_>, estimate: &Estimate) -> Option<Prose> {
    let adjusted = estimate.adjusted?;
    let [label, against] = facts.compared(estimate);
    let group = facts.group_words(facts.group_of(&estimate.treatment));
    let place = if group.is_empty() { String::new() } else { format!(" {group}") };
    let ends = |value: f64, low: f64, high: f64| {
        Prose::figure(format!(
            "{}x [{}, {}]",
            numbers::ratio(value),
            numbers::ratio(low),
            numbers::ratio(high)
        ))
    };
    let ratio = &estimate.ratio;
    Some(prose!(
        "{} {}{} {} instead of {}",
        label,
        against,
        place,
        ends(adjusted.value, adjusted.low, adjusted.high),
        ends(ratio.value, ratio.low, ratio.high)
    ))
}
