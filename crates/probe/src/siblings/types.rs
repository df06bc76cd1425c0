//! What is asked about cores, and what is found.

use threadwise_machine::CpuSet;
use threadwise_study::probe::{PairSharing, ProbeForm, SetTest};

/// What to find out.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Logical CPUs by OS number, each once; those given twice count once.
    pub cpus: &'a [u32],
    /// What is declared: the logical CPUs of each core. Declared siblings are always tested pair by
    /// pair; nothing else is taken from it.
    pub declared_cores: &'a [CpuSet],
    /// How much is measured.
    pub form: ProbeForm,
    /// Seed of every order that is drawn.
    pub seed: u64,
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Pairs that were tested on their own, in order of their numbers.
    pub pairs: Vec<PairSharing>,
    /// Sets that clear the other pairs.
    pub sets: Vec<SetTest>,
    /// What could not be had, one line each.
    pub gaps: Vec<String>,
    /// The user stopped it; what is there was measured.
    pub interrupted: bool,
}
