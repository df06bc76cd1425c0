//! Ratios adjusted for CPU time that sessions lost, beside the plain ones.

use super::cells::{NAMES, columns, names};
use crate::{Facts, Ratio};
use threadwise_document::{Cell, Table, numbers};

/// The table; none where nothing can be adjusted.
pub fn table(facts: &Facts<'_>) -> Option<Table> {
    let rows = facts.throughput().filter_map(|estimate| {
        let adjusted = estimate.adjusted?;
        let (value, low, high, blocks) = (adjusted.value, adjusted.low, adjusted.high, adjusted.blocks);
        let ratio = Ratio { value, low, high, blocks, ..estimate.ratio.clone() };
        let figures = [
            Cell::BareRatio(estimate.ratio.clone()),
            Cell::BareRatio(ratio),
            Cell::text(numbers::ratio(adjusted.slope)),
            Cell::text(numbers::ratio_near_1(adjusted.cpu_share_ratio)),
            Cell::Count(blocks.into()),
        ];
        Some(names(facts, estimate).into_iter().chain(figures).collect())
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns =
        columns(&NAMES, &["as measured", "without lost CPU time", "slope", "time with a CPU", "blocks"]);
    (!rows.is_empty()).then(|| Table::new("Ratios without lost CPU time", columns, rows))
}
