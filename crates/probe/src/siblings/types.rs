//! Requests about cores, and their results.

use threadwise_machine::CpuSet;
use threadwise_study::probe::{PairSharing, ProbeForm, SetTest};

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Logical CPUs by OS number; duplicates count once.
    pub cpus: &'a [u32],
    /// The declared logical CPUs of each core. Declared siblings are always tested pair by
    /// pair; the declaration has no other use.
    pub declared_cores: &'a [CpuSet],
    /// How much is measured.
    pub form: ProbeForm,
    /// Seed of every random order.
    pub seed: u64,
}

/// Which logical CPUs share cores, by tests of pairs and of sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SiblingResults {
    /// Pairs that were tested separately, in order of their numbers.
    pub pairs: Vec<PairSharing>,
    /// Sets that clear the other pairs.
    pub sets: Vec<SetTest>,
    /// What is missing, one line each.
    pub gaps: Vec<String>,
    /// The user stopped it; the rest was measured.
    pub interrupted: bool,
}
