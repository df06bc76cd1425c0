//! The method, and the raw configuration.

use crate::Facts;
use threadwise_document::Section;

/// The method.
pub fn section(_facts: &Facts<'_>) -> Section {
    Section::new("method", "Method", vec![])
}

/// Study and machine.
pub fn configuration(_facts: &Facts<'_>) -> Section {
    Section::new("configuration", "Raw configuration", vec![])
}
