//! Cells and columns of several sections.

use crate::{Estimate, Facts, Interval, Ratio};
use threadwise_document::{Cell, Column};

/// Columns of words, then columns of figures.
pub fn columns(texts: &[&str], figures: &[&str]) -> Vec<Column> {
    let texts = texts.iter().map(|name| Column::text(*name));
    texts.chain(figures.iter().map(|name| Column::figure(*name))).collect()
}

/// A share, as a percentage.
pub fn share(value: f64) -> Cell {
    Cell::Value { value, unit: "share" }
}

/// A group's name.
pub fn group_name(group: &str) -> Cell {
    Cell::text(if group.is_empty() { "all" } else { group })
}

/// Group of an estimate, its name and what it compares.
pub fn names(facts: &Facts<'_>, estimate: &Estimate) -> [Cell; 3] {
    let [label, against] = facts.compared(estimate).map(Cell::Text);
    [group_name(facts.group_of(&estimate.treatment)), label, against]
}

/// Headings of [`names`].
pub const NAMES: [&str; 3] = ["group", "comparison", "compared"];

/// A ratio in the place of another, without a judgement.
pub fn with_ends(ratio: &Ratio, found: &Interval, blocks: u32) -> Cell {
    Cell::BareRatio(Ratio { value: found.mean, low: found.low, high: found.high, blocks, ..ratio.clone() })
}
