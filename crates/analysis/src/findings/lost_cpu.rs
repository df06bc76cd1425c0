//! What ratios would have been had nobody lost CPU time, where that is known better than what they were.

use crate::estimate::Adjusted;
use crate::words::{MAX_LISTED, finding};
use crate::{Estimate, Facts, Finding};
use threadwise_document::{Prose, numbers, prose};

/// Said of ratios whose adjusted interval is at most this much as wide.
const NARROWER: f64 = 0.85;

/// The ratios that lost CPU time made uncertain.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let narrower = |estimate: &&Estimate| {
        estimate.adjusted.is_some_and(|adjusted| {
            estimate.ratio.has_ends()
                && width(&adjusted) <= NARROWER * (estimate.ratio.high / estimate.ratio.low).ln()
        })
    };
    let found: Vec<&Estimate> = facts.throughput().filter(narrower).collect();
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

fn width(adjusted: &Adjusted) -> f64 {
    (adjusted.high / adjusted.low).ln()
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
