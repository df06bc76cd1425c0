//! What is known of the order of slices, as JSON has it (docs/JSON.md).

use crate::estimate::{Change, largest};
use serde::Serialize;

/// Neighbours and carry-over of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// How often treatments came after each other.
    pub pairs: Pairs,
    /// What slices after each treatment were like, in study order; empty where that is not tested.
    pub after: Vec<After>,
    /// The throughput ratio that carry-over may shift most; `None` where that is not known.
    pub shift: Option<Shift>,
    /// Why nothing is tested.
    pub gap: Option<String>,
}

impl Order {
    /// The treatment after which slices differ most from slices after others, of those of which it is shown
    /// where there is one.
    pub fn largest(&self) -> Option<&After> {
        largest(&self.after, |after| &after.change, |after| after.change.shown)
    }
}

/// Ordered pairs of treatments that have slices, each with itself included, and how often the second came right after
/// the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// How many pairs there are.
    pub pairs: u32,
    /// How often the rarest occurred.
    pub least: u32,
    /// How often the commonest did.
    pub most: u32,
}

/// Rates of slices after a treatment over those after the others, adjusted for round and treatment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct After {
    /// The treatment that ran before.
    pub treatment: String,
    /// Slices that came after it.
    pub slices: u32,
    /// The ratio; shown where its p adjusted for all treatments is small enough.
    #[serde(flatten)]
    pub change: Change,
}

/// The most that carry-over within its intervals shifts a throughput ratio, by how often each treatment came after each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// Name of the comparison.
    pub comparison: String,
    /// Distance from 1 of the factor: 0.001 is 0.1%.
    pub share: f64,
}
