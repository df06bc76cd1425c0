//! The declared machine.

use crate::Facts;
use threadwise_document::{Block, Section};

/// The drawing of packages, NUMA nodes, caches, cores and logical CPUs.
pub fn section(facts: &Facts<'_>) -> Section {
    Section::new("machine", "The machine", vec![Block::Machine(Box::new(facts.topology.clone()))])
}
