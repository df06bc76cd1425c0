//! Cells and columns that several sections have.

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
