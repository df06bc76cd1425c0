//! Ratios without lost CPU time and as measured, if that moves one by more than the margin.

use super::cells::{NAMES, columns, names, with_ends};
use crate::words::{MAX_LISTED, finding};
use crate::{Estimate, Facts, Finding, FindingKind};
use threadwise_document::{Cell, Prose, Table, numbers, prose};

/// The ratios whose sides may differ in lost CPU time by more than the margin. They are not chosen by the width of
/// their adjusted interval: of those that are narrow by chance fewer intervals hold.
pub fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let is_moved = |estimate: &&Estimate| {
        let margin = estimate.ratio.margin;
        estimate.ratio.has_ends()
            && estimate.adjusted.as_ref().is_some_and(|adjusted| {
                let share = &adjusted.cpu_share_ratio;
                share.low < 1.0 / (1.0 + margin) || share.high > 1.0 + margin
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
    let text =
        prose!("Without the CPU time that sessions lost to the hypervisor and others: {}{}.", all, more);
    (!found.is_empty()).then(|| finding(FindingKind::LostCpu, text, &evidence))
}

/// `same-package to alone 1.98x [1.88, 2.09] instead of 1.91x [1.75, 2.08]`.
fn sentence(facts: &Facts<'_>, estimate: &Estimate) -> Option<Prose> {
    let adjusted = &estimate.adjusted.as_ref()?.ratio;
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
        ends(adjusted.mean, adjusted.low, adjusted.high),
        ends(ratio.value, ratio.low, ratio.high)
    ))
}

/// The table; none if nothing can be adjusted.
pub fn table(facts: &Facts<'_>) -> Option<Table> {
    let rows = facts.throughput().filter_map(|estimate| {
        let adjusted = estimate.adjusted.as_ref()?;
        let figures = [
            Cell::BareRatio(estimate.ratio.clone()),
            with_ends(&estimate.ratio, &adjusted.ratio, adjusted.blocks),
            Cell::text(numbers::ratio(adjusted.slope)),
            Cell::text(numbers::ratio_near_1(adjusted.cpu_share_ratio.mean)),
            Cell::Count(adjusted.blocks.into()),
        ];
        Some(names(facts, estimate).into_iter().chain(figures).collect())
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns =
        columns(&NAMES, &["as measured", "without lost CPU time", "slope", "time with a CPU", "blocks"]);
    (!rows.is_empty()).then(|| Table::new("Ratios without lost CPU time", columns, rows))
}
