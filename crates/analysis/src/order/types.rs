//! What is known of the order of slices, as JSON has it (docs/JSON.md).

use super::judged::Judged;
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
        let size = |after: &&After| after.value.ln().abs();
        let shown = self.after.iter().filter(|after| after.shown);
        let largest = shown.max_by(|one, other| size(one).total_cmp(&size(other)));
        largest.or_else(|| self.after.iter().max_by(|one, other| size(one).total_cmp(&size(other))))
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
    /// The ratio.
    pub value: f64,
    /// Lower end of its interval; 0 with one block.
    pub low: f64,
    /// Upper end; infinite with one block.
    pub high: f64,
    /// Lower end of the interval that holds for all treatments together.
    pub adjusted_low: f64,
    /// Its upper end.
    pub adjusted_high: f64,
    /// Blocks that it is from.
    pub blocks: u32,
    /// p of the t test.
    pub p_t: f64,
    /// The same adjusted by Holm's procedure for all treatments.
    pub adjusted_p: f64,
    /// Whether carry-over is shown.
    pub shown: bool,
}

impl After {
    /// What was judged of a treatment.
    pub(super) fn new(treatment: &str, slices: u32, judged: &Judged) -> Self {
        Self {
            treatment: treatment.to_owned(),
            slices,
            value: judged.mean.exp(),
            low: judged.low.exp(),
            high: judged.high.exp(),
            adjusted_low: judged.adjusted_low.exp(),
            adjusted_high: judged.adjusted_high.exp(),
            blocks: judged.blocks,
            p_t: judged.p_t,
            adjusted_p: judged.adjusted_p,
            shown: judged.is_shown,
        }
    }
}

/// The most that carry-over within its intervals shifts a throughput ratio, by how often each treatment came after each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// Name of the comparison.
    pub comparison: String,
    /// Distance from 1 of the factor: 0.001 is 0.1%.
    pub share: f64,
}
