//! The answer to a diagnostic question about a study.

use crate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct QuestionAnswer {
    /// The question.
    pub question: &'static str,
    /// What was estimated, judged together.
    pub estimates: Vec<Estimate>,
    /// Counts and bounds, which have no interval.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<&'static str, f64>,
    /// Why nothing was estimated.
    pub gap: Option<String>,
}

impl QuestionAnswer {
    /// The estimate of a treatment, an arm or a comparison.
    pub fn of(&self, name: &str) -> Option<&Estimate> {
        self.estimates.iter().find(|one| one.name == name)
    }

    /// Estimates that are shown to differ.
    pub fn shown(&self) -> impl Iterator<Item = &Estimate> {
        self.estimates.iter().filter(|one| one.ratio.is_different())
    }
}
