//! Latencies of steps, treatment by treatment: percentiles of all steps, of slices, and shares of steps above bounds.

use super::cells::{columns, group_name};
use crate::Facts;
use threadwise_document::{Cell, Table};

/// Metrics of a treatment with their headings.
const FIGURES: [(&str, &str); 7] = [
    ("latency_ns_p50", "p50"),
    ("latency_ns_p99", "p99 of all steps"),
    ("latency_ns_p99_of_slices", "p99 of slices"),
    ("latency_above_100us_share", "above 0.1 ms"),
    ("latency_above_1ms_share", "above 1 ms"),
    ("latency_above_10ms_share", "above 10 ms"),
    ("latency_above_100ms_share", "above 100 ms"),
];

/// The table; none if no treatment has enough steps.
pub fn table(facts: &Facts<'_>) -> Option<Table> {
    let known = facts.analysis.treatments.iter().filter(|summary| summary.metrics.contains_key(FIGURES[1].0));
    let rows = known.map(|summary| {
        let figures = FIGURES.iter().map(|(metric, _)| Cell::interval(summary.metrics.get(*metric)));
        let name = Cell::text(facts.label(&summary.name, &summary.group));
        [group_name(&summary.group), name].into_iter().chain(figures).collect()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let headings = FIGURES.map(|(_, heading)| heading);
    (!rows.is_empty())
        .then(|| Table::new("Latency of steps", columns(&["group", "treatment"], &headings), rows))
}
