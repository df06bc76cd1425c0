//! What is known of halves of slices, as JSON has it (docs/JSON.md).

use super::judged::is_beyond;
use crate::estimate::Paired;
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
        let size = |shift: &&Shift| shift.value.ln().abs();
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
    /// The ratio: above 1 the second halves are faster.
    pub value: f64,
    /// Lower end of its interval; 0 with one block.
    pub low: f64,
    /// Upper end; infinite with one block.
    pub high: f64,
    /// Lower end of the interval adjusted for the treatments of the group.
    pub adjusted_low: f64,
    /// Its upper end.
    pub adjusted_high: f64,
    /// Blocks that it is from.
    pub blocks: u32,
    /// p of the t test adjusted for the treatments of the group.
    pub adjusted_p: f64,
    /// Whether the warm-up is too short: the whole adjusted interval lies beyond the margin.
    pub too_short: bool,
}

impl Shift {
    /// What was judged of a treatment.
    pub(super) fn new(treatment: &str, paired: &Paired, margin: f64) -> Self {
        Self {
            treatment: treatment.to_owned(),
            value: paired.mean.mean.exp(),
            low: paired.low.exp(),
            high: paired.high.exp(),
            adjusted_low: paired.adjusted_low.exp(),
            adjusted_high: paired.adjusted_high.exp(),
            blocks: paired.mean.n as u32,
            adjusted_p: paired.adjusted_p,
            too_short: is_beyond(paired, margin),
        }
    }
}
