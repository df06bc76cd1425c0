//! What is known of halves of slices, as JSON has it (docs/JSON.md).

use super::judged::is_beyond;
use crate::estimate::{Paired, PairedRatio};
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
        let size = |shift: &&Shift| shift.ratio.value.ln().abs();
        let most = |too_short: bool| {
            let some = self.treatments.iter().filter(move |shift| shift.too_short == too_short);
            some.max_by(|one, other| size(one).total_cmp(&size(other)))
        };
        most(true).or_else(|| most(false))
    }
}

/// Rate of a treatment's second halves over that of its first ones, divided by the same of its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// The treatment.
    pub treatment: String,
    /// Above 1 the second halves are faster; adjusted for the treatments of the group.
    #[serde(flatten)]
    pub ratio: PairedRatio,
    /// Whether the warm-up is too short: the whole adjusted interval lies beyond the margin.
    pub too_short: bool,
}

impl Shift {
    /// What was judged of a treatment.
    pub(super) fn new(treatment: &str, paired: &Paired, margin: f64) -> Self {
        Self { treatment: treatment.to_owned(), ratio: paired.into(), too_short: is_beyond(paired, margin) }
    }
}
