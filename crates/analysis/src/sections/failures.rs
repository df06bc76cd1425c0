//! Runs that do not count, with their reasons.

use crate::Facts;
use threadwise_document::Section;

/// The section.
pub fn section(_facts: &Facts<'_>) -> Section {
    Section::new("failures", "Failures", vec![])
}
