//! What is known of halves of slices, as JSON has it (docs/JSON.md).

use crate::estimate::{Change, largest};
use serde::Serialize;

/// Halves of a study's slices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Halves {
    /// Of each compared treatment with halves, group by group.
    pub treatments: Vec<Shift>,
    /// Why there is nothing.
    pub gap: Option<String>,
}

impl Halves {
    /// The treatment whose halves differ most, of those whose warm-up is too short where there is one.
    pub fn largest(&self) -> Option<&Shift> {
        largest(&self.treatments, |shift| &shift.change, |shift| shift.too_short)
    }
}

/// Rate of a treatment's second halves over that of its first ones, divided by the same of its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// The treatment.
    pub treatment: String,
    /// Above 1 the second halves are faster; adjusted for the treatments of the group.
    #[serde(flatten)]
    pub change: Change,
    /// Whether the warm-up is too short: the whole adjusted interval lies beyond the margin.
    pub too_short: bool,
}
