//! What is known of gains by kind of lock, as JSON has it (docs/JSON.md).

use crate::estimate::Change;
use crate::groups::bare;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_study::{Comparison, Study};

/// Gains of a study, and pairs of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockGains {
    /// In the order of the study's comparisons.
    pub gains: Vec<Gain>,
    /// Every two that are the same but for their lock.
    pub pairs: Vec<LockGain>,
}

impl LockGains {
    /// The gain of a comparison.
    pub fn gain(&self, comparison: &str) -> Option<&Gain> {
        self.gains.iter().find(|gain| gain.comparison == comparison)
    }
}

/// A ratio that says what is gained under one lock. Its figures are those of the estimate with its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Name of the comparison.
    pub comparison: String,
    /// What is compared, without levels: `2-threads : alone`.
    pub of: String,
    /// The lock.
    pub lock: String,
    /// The other levels by factor.
    pub levels: BTreeMap<String, String>,
}

impl Gain {
    /// That of a comparison; `None` where its treatment is not there or has no such factor.
    pub(super) fn of(study: &Study, comparison: &Comparison, factor: &str) -> Option<Self> {
        let (_, treatment) = study.treatment(&comparison.treatment)?;
        let mut levels = treatment.factors.clone();
        let lock = levels.remove(factor)?;
        Some(Self { comparison: comparison.name.clone(), of: sides(comparison), lock, levels })
    }
}

/// One gain over another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockGain {
    /// Comparison of the gain on top.
    pub top: String,
    /// Comparison of the gain below.
    pub below: String,
    /// The gain on top over the one below, adjusted for all pairs; `None` where no block has both.
    pub ratio: Option<Change>,
}

impl LockGain {
    /// Whether a difference is shown: the adjusted interval leaves out 1.
    pub fn is_shown(&self) -> bool {
        self.ratio.as_ref().is_some_and(|ratio| ratio.shown)
    }
}

/// What a comparison compares, by names without levels.
fn sides(comparison: &Comparison) -> String {
    let below = comparison.baseline.first().map_or("", |name| bare(name));
    format!("{} : {below}", bare(&comparison.treatment))
}
